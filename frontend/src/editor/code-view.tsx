/** A read-only listing with highlighting, search and line numbers; keeps its place when the text changes. */
import { cpp } from "@codemirror/lang-cpp";
import { bracketMatching, type LanguageSupport } from "@codemirror/language";
import { highlightSelectionMatches, search, searchKeymap } from "@codemirror/search";
import { EditorState } from "@codemirror/state";
import { EditorView, keymap, lineNumbers } from "@codemirror/view";
import { useEffect, useRef } from "preact/hooks";
import { change } from "./change";
import { formula } from "./formula";
import { listing } from "./listing";
import { look } from "./look";
import { styleNonce } from "./nonce";

export type CodeLanguage = "c" | "formula" | "listing";

const languages: Record<CodeLanguage, () => LanguageSupport> = { c: cpp, formula, listing };

interface CodeViewProps {
  text: string;
  language: CodeLanguage;
  label: string;
  /** The function to open at: what stands above it (includes, helpers) is read less often. */
  start?: string;
}

/** Where the definition of `name` begins (device code before host code): the last unindented line that has it. */
function definitionOf(text: string, name: string): number {
  const device = text.search(/^(extern "C" )?__global__/m);
  if (device >= 0) return device;
  const pattern = new RegExp(`^\\w.*${name}\\w*\\s*\\(`, "gm");
  let at = 0;
  for (const found of text.matchAll(pattern)) at = found.index;
  return at;
}

export function CodeView({ text, language, label, start }: CodeViewProps) {
  const place = useRef<HTMLDivElement>(null);
  const view = useRef<EditorView | null>(null);

  useEffect(() => {
    if (!place.current) return;
    const made = new EditorView({
      parent: place.current,
      state: EditorState.create({
        doc: text,
        extensions: [
          styleNonce(),
          EditorState.readOnly.of(true),
          EditorView.contentAttributes.of({ "aria-label": label, tabindex: "0" }),
          EditorView.editable.of(false),
          lineNumbers(),
          bracketMatching(),
          highlightSelectionMatches(),
          search({ top: true }),
          keymap.of(searchKeymap),
          languages[language](),
          look,
        ],
      }),
    });
    view.current = made;
    const at = start ? definitionOf(text, start) : 0;
    if (at > 0) made.dispatch({ effects: EditorView.scrollIntoView(at, { y: "start" }) });
    return () => made.destroy();
    // The text is brought in by the effect below; a new language or label makes a new view.
  }, [language, label]);

  useEffect(() => {
    const held = view.current;
    if (!held) return;
    const difference = change(held.state.doc.toString(), text);
    if (difference) held.dispatch({ changes: difference });
  }, [text]);

  return <div class="kc-code" ref={place} />;
}
