import { t } from "../i18n";
import type { Store } from "./store";

/** The short name of a target, as the server labels it. */
export function targetLabel(store: Store, target: string): string {
  const known =
    store.catalogTargets.value.find((item) => item.target === target) ??
    store.preview.answer.value?.targets.find((item) => item.target === target);
  return known?.label ?? target;
}

/** Names of languages as their makers write them; a family that is not here goes by its own id. */
const LANGUAGES: Record<string, string> = {
  c: "C",
  cuda: "CUDA",
  ascend: "Ascend C",
  hip: "HIP",
  opencl: "OpenCL",
  wgsl: "WGSL",
  cambricon: "BANG C",
  triton: "Triton",
};

const familyOf = (target: string): string => target.split(":", 1)[0] ?? target;

/** The target in one or two words, for places with no room for its label; with its model where `among` has its family twice. */
export function targetShort(target: string, among: readonly string[] = []): string {
  const family = familyOf(target);
  const alike = among.filter((item) => familyOf(item) === family).length > 1;
  const model = alike && target.includes(":") ? ` ${target.slice(family.length + 1)}` : "";
  return (LANGUAGES[family] ?? family) + model;
}

const ENDINGS: Record<string, string> = {
  c11: "c",
  c: "c",
  "cuda c++": "cu",
  cuda: "cu",
  cpp: "cpp",
  "c++": "cpp",
  "hip c++": "hip",
  "opencl c": "cl",
  wgsl: "wgsl",
  "bang c": "mlu",
  python: "py",
  triton: "py",
};

/** The file name of a target's source: `kernel.c`, `kernel.cu`, `kernel.cpp`. */
export const sourceFile = (language: string): string => `kernel.${ENDINGS[language.toLowerCase()] ?? "txt"}`;

/** Why what the panes show is older than the text; empty when it is not. */
export function staleWords(store: Store): string {
  if (!store.preview.answer.value) return "";
  if (store.preview.error.value) return t("pane.stale");
  return store.preview.pending.value ? t("status.stale") : "";
}
