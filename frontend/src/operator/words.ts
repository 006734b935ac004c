import { t } from "../i18n";
import type { Store } from "./store";

/** The short name of a target, as the server labels it. */
export function targetLabel(store: Store, target: string): string {
  const known =
    store.catalogTargets.value.find((item) => item.target === target) ??
    store.preview.answer.value?.targets.find((item) => item.target === target);
  return known?.label ?? target;
}

/** Why what the panes show is older than the text; empty when it is not. */
export function staleWords(store: Store): string {
  if (store.preview.error.value) return t("pane.stale");
  return store.preview.pending.value ? t("status.stale") : "";
}
