/** The formula editor: own highlighting, completion, problems at their place. */
import {
  acceptCompletion,
  autocompletion,
  closeBrackets,
  closeBracketsKeymap,
  completionKeymap,
} from "@codemirror/autocomplete";
import { defaultKeymap, history, historyKeymap, indentWithTab } from "@codemirror/commands";
import { bracketMatching, indentUnit } from "@codemirror/language";
import { lintGutter, lintKeymap, setDiagnostics } from "@codemirror/lint";
import { highlightSelectionMatches, search, searchKeymap } from "@codemirror/search";
import { EditorState, Prec } from "@codemirror/state";
import {
  drawSelection,
  EditorView,
  highlightActiveLine,
  highlightActiveLineGutter,
  keymap,
  lineNumbers,
  placeholder,
} from "@codemirror/view";
import { useEffect, useRef } from "preact/hooks";
import type { CatalogOperator, ErrorBody } from "../api/generated.gen";
import { t } from "../i18n";
import { completeFormula } from "./completion";
import { diagnosticsOf, errorRange } from "./diagnostics";
import { formula } from "./formula";
import { look } from "./look";
import { styleNonce } from "./nonce";

export interface EditorHandle {
  focus: () => void;
  goTo: (error: ErrorBody) => void;
}

interface FormulaEditorProps {
  /** What the editor opens with. */
  text: string;
  error: ErrorBody | null;
  operators: () => readonly CatalogOperator[];
  onChange: (text: string) => void;
  handle: (handle: EditorHandle) => void;
}

/** How long after Escape the Tab key moves the focus instead of indenting. */
const LEAVE_MS = 5000;

export function FormulaEditor({ text, error, operators, onChange, handle }: FormulaEditorProps) {
  const place = useRef<HTMLDivElement>(null);
  const view = useRef<EditorView | null>(null);
  const changed = useRef(onChange);
  changed.current = onChange;

  useEffect(() => {
    if (!place.current) return;
    const made = new EditorView({
      parent: place.current,
      state: EditorState.create({
        doc: text,
        extensions: [
          styleNonce(),
          EditorView.contentAttributes.of({
            "aria-label": t("editor.label"),
            "aria-description": t("editor.leave"),
            spellcheck: "false",
          }),
          // Tab indents, so Escape lets the next one leave.
          Prec.highest(
            EditorView.domEventHandlers({
              keydown: (event, held) => {
                if (event.key === "Escape") held.setTabFocusMode(LEAVE_MS);
                return false;
              },
            }),
          ),
          lineNumbers(),
          lintGutter(),
          history(),
          drawSelection(),
          highlightActiveLine(),
          highlightActiveLineGutter(),
          bracketMatching(),
          closeBrackets(),
          highlightSelectionMatches(),
          search({ top: true }),
          indentUnit.of("  "),
          autocompletion({ override: [completeFormula(operators)], icons: false }),
          placeholder(t("editor.placeholder")),
          EditorView.lineWrapping,
          keymap.of([
            { key: "Tab", run: acceptCompletion },
            ...closeBracketsKeymap,
            ...defaultKeymap.filter((binding) => binding.key !== "Mod-Enter"),
            ...searchKeymap,
            ...historyKeymap,
            ...completionKeymap,
            ...lintKeymap,
            indentWithTab,
          ]),
          formula(),
          look,
          EditorView.updateListener.of((update) => {
            if (update.docChanged) changed.current(update.state.doc.toString());
          }),
        ],
      }),
    });
    view.current = made;
    handle({
      focus: () => made.focus(),
      goTo: (problem) => {
        made.dispatch({
          selection: { anchor: errorRange(made.state.doc, problem).from },
          scrollIntoView: true,
        });
        made.focus();
      },
    });
    return () => made.destroy();
    // One editor for the life of the page. Its text is the truth from then on: bringing a prop back in would race with typing.
  }, []);

  useEffect(() => {
    const held = view.current;
    if (!held) return;
    const found = diagnosticsOf(held.state.doc, error, (hint) => t("trouble.hint", { hint }));
    held.dispatch(setDiagnostics(held.state, found));
  }, [error]);

  return <div class="kc-code kc-formula" ref={place} />;
}
