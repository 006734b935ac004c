/** Text that was typed and not saved survives a reload of the tab. */
import type { Configs } from "./store";

export interface Draft {
  source: string;
  shapes: Record<string, string>;
  configs: Configs;
  /** The version the text started from. */
  base: number | null;
}

export const draftKey = (operator: string | undefined, slug: string | undefined): string =>
  `kc.draft:${operator ?? `new:${slug ?? ""}`}`;

/** A draft counts only for the version it started from; a new formula's draft only after a reload, not a fresh visit. */
export function readDraft(key: string, base: number | null): Draft | null {
  const [visit] = performance.getEntriesByType("navigation") as PerformanceNavigationTiming[];
  if (base === null && visit?.type === "navigate") return null;
  const text = sessionStorage.getItem(key);
  if (!text) return null;
  const draft = JSON.parse(text) as Draft;
  return draft.base === base ? draft : null;
}

export function storeDraft(key: string, draft: Draft | null): void {
  if (draft) sessionStorage.setItem(key, JSON.stringify(draft));
  else sessionStorage.removeItem(key);
}
