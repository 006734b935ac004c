/** Highlighting of the formula notation (docs/notation.md). */
import { LanguageSupport, StreamLanguage, type StringStream } from "@codemirror/language";

export const REDUCERS = [
  "sum",
  "prod",
  "max",
  "min",
  "mean",
  "any",
  "all",
  "argmax",
  "argmin",
  "logsumexp",
] as const;
export const DTYPES = [
  "f64", "f32", "f16", "bf16", "i8", "i16", "i32", "i64", "u8", "u16", "u32", "u64", "bool",
  "f8e4m3", "f8e5m2", "i4", "u4",
] as const; // biome-ignore format: a table reads better on three lines

const reducers = new Set<string>(REDUCERS);
const dtypes = new Set<string>(DTYPES);
const words = new Set(["in", "and", "or", "not", "where"]);
const constants = new Set(["True", "False", "pi", "inf", "nan", "None"]);

interface State {
  /** True right after `name:`, where a dtype stands. */
  declared: boolean;
}

const NAME = /^[\p{L}_][\p{L}\p{N}_]*/u;

function token(stream: StringStream, state: State): string | null {
  if (stream.eatSpace()) return null;
  if (stream.match(/^#.*/)) return "comment";
  if (stream.match(/^"[^"\n]*"?|^'[^'\n]*'?/)) return "string";
  if (stream.match(/^(\d+\.?\d*|\.\d+)(e[+-]?\d+)?/i)) return "number";
  if (stream.match(/^[ΣΠ√]/u)) return "keyword";
  if (stream.match(/^(->|\+=|\*\*|\/\/|<=|>=|==|!=|[-+*/%@<>=·×≤≥≠∧∨¬])/u)) {
    state.declared = false;
    return "operator";
  }
  const found = stream.match(NAME) as RegExpMatchArray | null;
  if (found) return nameKind(found[0], stream, state);
  const mark = stream.next();
  state.declared = mark === ":";
  return mark && /[[\](){}]/.test(mark) ? "bracket" : "punctuation";
}

function nameKind(name: string, stream: StringStream, state: State): string {
  const declared = state.declared;
  state.declared = false;
  if (dtypes.has(name) && (declared || stream.match(/^\s*\(/, false))) return "typeName";
  if (words.has(name)) return "keyword";
  if (constants.has(name)) return "atom";
  if (reducers.has(name) && stream.match(/^\s*\[/, false)) return "keyword";
  if (stream.match(/^\s*\(/, false)) return "variableName.standard";
  return "variableName";
}

const formulaLanguage = StreamLanguage.define<State>({
  name: "formula",
  startState: () => ({ declared: false }),
  token,
  languageData: {
    commentTokens: { line: "#" },
    closeBrackets: { brackets: ["(", "[", '"'] },
    indentOnInput: /^\s*[)\]]$/,
  },
});

export const formula = (): LanguageSupport => new LanguageSupport(formulaLanguage);
