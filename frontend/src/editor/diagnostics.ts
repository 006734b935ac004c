import type { Diagnostic } from "@codemirror/lint";
import type { Text } from "@codemirror/state";
import type { ErrorBody } from "../api/generated.gen";

/** Where a coded error stands in the text: 1-based line and column; at least one character wide where there is one. */
export function errorRange(doc: Text, error: ErrorBody): { from: number; to: number } {
  if (error.line === null) return { from: 0, to: Math.min(doc.length, doc.line(1).to) };
  const line = doc.line(Math.max(1, Math.min(doc.lines, error.line)));
  const column = Math.max(1, error.column ?? 1);
  const from = Math.min(line.to, line.from + column - 1);
  const end =
    error.end_column !== null && error.end_column > column ? line.from + error.end_column - 1 : from + 1;
  const to = Math.min(line.to, end);
  return to > from ? { from, to } : { from: Math.max(line.from, from - 1), to };
}

export function diagnosticsOf(
  doc: Text,
  error: ErrorBody | null,
  hintLabel: (hint: string) => string,
): Diagnostic[] {
  if (!error) return [];
  const hint = error.hint ? `\n${hintLabel(error.hint)}` : "";
  return [
    {
      ...errorRange(doc, error),
      severity: "error",
      source: error.code,
      message: `${error.message}${hint}`,
    },
  ];
}
