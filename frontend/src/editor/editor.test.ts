import { CompletionContext } from "@codemirror/autocomplete";
import { ensureSyntaxTree } from "@codemirror/language";
import { EditorState, Text } from "@codemirror/state";
import { highlightTree, tagHighlighter, tags } from "@lezer/highlight";
import { expect, test } from "vitest";
import type { ErrorBody } from "../api/generated.gen";
import { change } from "./change";
import { completeFormula } from "./completion";
import { errorRange } from "./diagnostics";
import { formula } from "./formula";

const error = (line: number | null, column: number | null, end: number | null): ErrorBody => ({
  code: "KC-F012",
  message: "",
  hint: "",
  line,
  column,
  end_column: end,
  text: "",
});

test("an error covers exactly its columns and never leaves the text", () => {
  const doc = Text.of(["A: f32[3]", "Y[i] = X[k]", ""]);
  const slice = (found: { from: number; to: number }) => doc.sliceString(found.from, found.to);
  expect(slice(errorRange(doc, error(2, 10, 11)))).toBe("k");
  expect(slice(errorRange(doc, error(2, 10, null)))).toBe("k");
  expect(slice(errorRange(doc, error(2, 12, null)))).toBe("]");
  expect(slice(errorRange(doc, error(99, 5, null)))).toBe("");
  expect(slice(errorRange(doc, error(1, 4, 400)))).toBe("f32[3]");
  expect(slice(errorRange(doc, error(null, null, null)))).toBe("A: f32[3]");
});

test("one replacement turns any text into any other and leaves what is equal alone", () => {
  const texts = ["", "abc", "abXc", "xabc", "aaa", "aaaa", "line\nother\n", "line\nbrother\n"];
  for (const before of texts) {
    for (const after of texts) {
      const step = change(before, after);
      const got = step ? before.slice(0, step.from) + step.insert + before.slice(step.to) : before;
      expect(got).toBe(after);
    }
  }
  expect(change("line\nother\n", "line\nbrother\n")).toEqual({ from: 5, to: 5, insert: "br" });
});

const kinds = tagHighlighter([
  { tag: tags.comment, class: "comment" },
  { tag: tags.keyword, class: "keyword" },
  { tag: tags.typeName, class: "type" },
  { tag: tags.standard(tags.variableName), class: "call" },
  { tag: tags.number, class: "number" },
]);

function highlighted(text: string): string[] {
  const state = EditorState.create({ doc: text, extensions: [formula()] });
  const tree = ensureSyntaxTree(state, text.length, 1000);
  const found: string[] = [];
  if (tree) highlightTree(tree, kinds, (from, to, kind) => found.push(`${kind} ${text.slice(from, to)}`));
  return found;
}

test("declarations, reducers, calls and comments have their own colours", () => {
  expect(highlighted("X: f32[64, K]  # in")).toEqual(["type f32", "number 64", "comment # in"]);
  expect(highlighted("Y[i] = sum[k](X[i,k]) * exp(s)")).toEqual(["keyword sum", "call exp"]);
  expect(highlighted("sum = f32(max)")).toEqual(["type f32"]);
  expect(highlighted("Σ[k](A[k])")).toEqual(["keyword Σ"]);
});

const operators = [{ name: "softmax", signature: "softmax(x, axis=-1)", summary: "", example: "" }];

function labels(text: string, explicit = false): string[] | null {
  const state = EditorState.create({ doc: text });
  const found = completeFormula(() => operators)(new CompletionContext(state, text.length, explicit));
  return found?.options.map((option) => option.label) ?? null;
}

test("completion offers what fits the place", () => {
  expect(labels("Y = so")).toContain("softmax");
  expect(labels("scale: f32\nY = so")).toContain("scale");
  expect(labels("X: f")).toContain("bf16");
  expect(labels("X: f")).not.toContain("softmax");
  expect(labels("# so")).toBeNull();
  expect(labels("Y = ")).toBeNull();
  expect(labels("Y = ", true)).toContain("sum");
});
