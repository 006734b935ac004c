import type { Extension } from "@codemirror/state";
import { EditorView } from "@codemirror/view";

let nonce = "";

/** The content security policy's nonce for style elements; the page's context has it. */
export function useStyleNonce(value: string | undefined): void {
  nonce = value ?? "";
}

export const styleNonce = (): Extension => (nonce ? EditorView.cspNonce.of(nonce) : []);
