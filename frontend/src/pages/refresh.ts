/** Keeps a server-rendered list true: when its topic changes, the page is fetched again and its rows are swapped. */
import { effect } from "@preact/signals";
import type { Session } from "../ui/frame";
import { enhanceRows } from "./rows";

const SHORTEST_WAIT = 1000;

async function swapRows(): Promise<void> {
  const answer = await fetch(location.href, { credentials: "same-origin" });
  if (!answer.ok) return;
  const fresh = new DOMParser().parseFromString(await answer.text(), "text/html").querySelector("#kc-main");
  const held = document.querySelector("#kc-main");
  if (!fresh || !held || fresh.innerHTML === held.innerHTML) return;
  const chosen = (document.activeElement as HTMLElement | null)?.dataset.href;
  for (const part of ["table[data-kc-rows]", ".kc-empty"]) {
    const before = held.querySelector(part);
    const after = fresh.querySelector(part);
    if (before && after) before.replaceWith(after);
    else if (before || after) location.reload();
  }
  enhanceRows(held);
  if (chosen) held.querySelector<HTMLElement>(`tr[data-href="${CSS.escape(chosen)}"]`)?.focus();
}

export function refreshOnChange({ workspace, hosts }: Session): void {
  let seen: string | null = null;
  let waiting = false;
  effect(() => {
    const now = `${workspace?.value.revision} ${hosts?.value.revision}`;
    const loaded = workspace?.value.snapshot && hosts?.value.snapshot;
    if (!loaded || now === seen) return;
    const first = seen === null;
    seen = now;
    if (first || waiting) return;
    waiting = true;
    setTimeout(() => {
      waiting = false;
      void swapRows();
    }, SHORTEST_WAIT);
  });
}
