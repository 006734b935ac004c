/** A read-only listing with highlighting, search and line numbers; keeps its place when the text changes. */
import { cpp } from "@codemirror/lang-cpp";
import {
  bracketMatching,
  codeFolding,
  foldEffect,
  type LanguageSupport,
  unfoldAll,
} from "@codemirror/language";
import { highlightSelectionMatches, search, searchKeymap } from "@codemirror/search";
import { EditorState } from "@codemirror/state";
import { EditorView, keymap, lineNumbers } from "@codemirror/view";
import { useEffect, useRef } from "preact/hooks";
import { t } from "../i18n";
import { change } from "./change";
import { formula } from "./formula";
import { kernelStart } from "./kernel-start";
import { listing } from "./listing";
import { look } from "./look";
import { styleNonce } from "./nonce";

export type CodeLanguage = "c" | "formula" | "listing";

const languages: Record<CodeLanguage, () => LanguageSupport> = { c: cpp, formula, listing };

interface CodeViewProps {
  text: string;
  language: CodeLanguage;
  label: string;
  /** Folds what stands above the kernel (includes, helpers) into one line; a click opens it. */
  foldHelpers?: boolean;
}

/** Fewer lines than this are not worth a fold. */
const WORTH_FOLDING = 4;

/** The lines between the first one and the kernel, and where their count is shown. */
const helperFold = codeFolding({
  preparePlaceholder: (state, range) =>
    state.doc.lineAt(range.to).number - state.doc.lineAt(range.from).number + 1,
  placeholderDOM: (_view, onclick, count: number) => {
    const button = document.createElement("button");
    button.type = "button";
    button.className = "kc-fold";
    button.textContent = t("code.helpers", { count });
    button.title = t("code.helpers_open");
    button.onclick = onclick;
    return button;
  },
});

function foldAbove(view: EditorView): void {
  const { doc } = view.state;
  const to = doc.lineAt(kernelStart(doc.toString())).from - 1;
  if (to <= 0 || doc.lineAt(to).number <= WORTH_FOLDING) return;
  const from = doc.line(2).from; // the first line says what the text is
  unfoldAll(view);
  view.dispatch({ effects: foldEffect.of({ from, to }) });
}

export function CodeView({ text, language, label, foldHelpers = false }: CodeViewProps) {
  const place = useRef<HTMLDivElement>(null);
  const view = useRef<EditorView | null>(null);
  /** Once a reader opened the helpers they stay open. */
  const opened = useRef(false);

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
          foldHelpers ? helperFold : [],
          look,
        ],
      }),
    });
    view.current = made;
    const host = place.current;
    const onOpen = (event: Event) => {
      if ((event.target as HTMLElement).classList.contains("kc-fold")) opened.current = true;
    };
    host.addEventListener("click", onOpen, { capture: true });
    if (foldHelpers) foldAbove(made);
    return () => {
      host.removeEventListener("click", onOpen, { capture: true });
      made.destroy();
    };
    // The text is brought in by the effect below; a new language or label makes a new view.
  }, [language, label]);

  useEffect(() => {
    const held = view.current;
    if (!held) return;
    const difference = change(held.state.doc.toString(), text);
    if (!difference) return;
    held.dispatch({ changes: difference });
    if (foldHelpers && !opened.current) foldAbove(held);
  }, [text]);

  return <div class="kc-code" ref={place} />;
}
