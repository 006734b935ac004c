/** Where the keyboard is: the editor's handle, and F6 from pane to pane. */
import { signal } from "@preact/signals";
import type { EditorHandle } from "../editor/formula-editor";

export const editorHandle = signal<EditorHandle | null>(null);

/** Every part marked `data-pane`, in page order; inside it the first thing that takes focus. */
export function focusNextPane(): void {
  const panes = [...document.querySelectorAll<HTMLElement>("[data-pane]")];
  const at = panes.findIndex((pane) => pane.contains(document.activeElement));
  const next = panes[(at + 1) % panes.length];
  next
    ?.querySelector<HTMLElement>(".cm-content, input, button:not(:disabled), a[href], [tabindex='0']")
    ?.focus();
}
