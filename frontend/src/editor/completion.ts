/** Completion: named operators with signature and summary, reducers, dtypes, and the names of the text itself. */
import type { Completion, CompletionContext, CompletionResult } from "@codemirror/autocomplete";
import type { CatalogOperator } from "../api/generated.gen";
import { DTYPES, REDUCERS } from "./formula";

const WORD = /[\p{L}_][\p{L}\p{N}_]*/u;
const WORDS = /[\p{L}_][\p{L}\p{N}_]*/gu;

/** What a call looks like with the cursor between its brackets. */
function operatorCompletion(operator: CatalogOperator): Completion {
  return {
    label: operator.name,
    type: "function",
    detail: operator.signature.startsWith(operator.name)
      ? operator.signature.slice(operator.name.length)
      : operator.signature,
    info: () => {
      const box = document.createElement("div");
      const signature = document.createElement("code");
      signature.textContent = operator.signature;
      const summary = document.createElement("p");
      summary.textContent = operator.summary;
      box.append(signature, summary);
      if (operator.example) {
        const example = document.createElement("code");
        example.className = "kc-soft";
        example.textContent = operator.example;
        box.append(example);
      }
      return box;
    },
    apply: (view, _completion, from, to) => {
      const follows = view.state.sliceDoc(to, to + 1) === "(";
      view.dispatch({
        changes: { from, to, insert: follows ? operator.name : `${operator.name}()` },
        selection: { anchor: from + operator.name.length + 1 },
        userEvent: "input.complete",
      });
    },
  };
}

const reducerCompletions: Completion[] = REDUCERS.map((name) => ({
  label: name,
  type: "keyword",
  detail: "[k](…)",
  boost: -1,
  apply: (view, _completion, from, to) =>
    view.dispatch({
      changes: { from, to, insert: `${name}[]()` },
      selection: { anchor: from + name.length + 1 },
      userEvent: "input.complete",
    }),
}));

const dtypeCompletions: Completion[] = DTYPES.map((name) => ({ label: name, type: "type" }));

/** Where in the line the cursor is decides what fits: a dtype after `name:`, nothing in a comment. */
export function completeFormula(
  operators: () => readonly CatalogOperator[],
): (context: CompletionContext) => CompletionResult | null {
  return (context) => {
    const line = context.state.doc.lineAt(context.pos);
    const before = line.text.slice(0, context.pos - line.from);
    if (before.includes("#")) return null;
    if (/:\s*[\w]*$/.test(before)) {
      const word = context.matchBefore(/\w*/);
      return { from: word?.from ?? context.pos, options: dtypeCompletions, validFor: /^\w*$/ };
    }
    const word = context.matchBefore(WORD);
    if (!word && !context.explicit) return null;
    if (word && /\d/.test(context.state.sliceDoc(word.from - 1, word.from))) return null;
    const known = operators();
    const taken = new Set<string>([
      ...REDUCERS,
      ...DTYPES,
      ...known.map((operator) => operator.name),
      word?.text ?? "",
    ]);
    const names = new Set(context.state.doc.toString().match(WORDS) ?? []);
    const own: Completion[] = [...names]
      .filter((name) => !taken.has(name) && name.length > 1)
      .map((name) => ({ label: name, type: "variable", boost: 1 }));
    return {
      from: word?.from ?? context.pos,
      options: [...known.map(operatorCompletion), ...reducerCompletions, ...own],
      validFor: /^[\p{L}_][\p{L}\p{N}_]*$/u,
    };
  };
}
