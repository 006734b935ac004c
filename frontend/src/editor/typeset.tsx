/** The formula as mathematics (MathML), one line a statement. */
import { type ComponentChild, type ComponentChildren, h } from "preact";
import { useMemo } from "preact/hooks";
import { readFormula, type Statement, type Term } from "./math-parse";

/** MathML elements by name: JSX's own types know only a few of them. */
const m = (tag: string, children: ComponentChildren, attributes: object = {}): ComponentChild =>
  h(tag, attributes, children);
const sign = (text: string, attributes: object = {}): ComponentChild => m("mo", text, attributes);
const row = (...children: ComponentChildren[]): ComponentChild => m("mrow", children);

const SIGNS: Record<string, string> = {
  "*": "·",
  "·": "·",
  "<=": "≤",
  ">=": "≥",
  "==": "=",
  "!=": "≠",
  and: "∧",
  or: "∨",
  "-": "−",
  "%": "mod",
  in: "∈",
};
const LARGE: Record<string, string> = { sum: "∑", Σ: "∑", prod: "∏", Π: "∏" };

const inner = (term: Term): Term =>
  term.kind === "paren" && term.items.length === 1 && term.items[0] ? term.items[0] : term;

const commas = (items: readonly Term[]): ComponentChild[] =>
  items.flatMap((item, place) => (place === 0 ? [set(item)] : [sign(","), set(item)]));

const fenced = (open: string, children: ComponentChildren, close: string): ComponentChild =>
  row(sign(open), children, sign(close));

const word = (text: string): ComponentChild =>
  m("mi", text, text.length > 1 ? { mathvariant: "normal" } : {});

function set(term: Term): ComponentChild {
  switch (term.kind) {
    case "name":
      return word(term.text);
    case "number":
      return m("mn", term.text);
    case "text":
      return m("mtext", term.text);
    case "paren":
      return fenced("(", commas(term.items), ")");
    case "subscript":
      return m("msub", [set(term.base), row(...commas(term.items))]);
    case "unary":
      return row(sign(SIGNS[term.operator] ?? term.operator), set(term.body));
    case "reduce":
      return row(
        m("munder", [
          sign(LARGE[term.name] ?? term.name, {
            movablelimits: "false",
            largeop: term.name in LARGE ? "true" : "false",
          }),
          row(...commas(term.items)),
        ]),
        m("mspace", null, { width: "0.17em" }),
        term.body.kind === "binary" && /^[-+]$/.test(term.body.operator)
          ? fenced("(", set(term.body), ")")
          : set(term.body),
      );
    case "call":
      return call(term.name, term.items);
    case "binary":
      return binary(term.operator, term.left, term.right);
  }
}

function call(name: string, items: readonly Term[]): ComponentChild {
  const [first, second, third] = items;
  if (name === "sqrt" && first && items.length === 1) return m("msqrt", set(inner(first)));
  if (name === "abs" && first && items.length === 1) return fenced("|", set(first), "|");
  if (name === "where" && first && second && third) {
    const lines = [
      m("mtr", [m("mtd", set(second)), m("mtd", set(inner(first)))]),
      m("mtr", [m("mtd", set(third)), m("mtd", m("mtext", "else"))]),
    ];
    return row(sign("{"), m("mtable", lines, { columnalign: "left" }));
  }
  return row(m("mi", name, { mathvariant: "normal" }), fenced("(", commas(items), ")"));
}

function binary(operator: string, left: Term, right: Term): ComponentChild {
  if (operator === "/") return m("mfrac", [set(inner(left)), set(inner(right))]);
  if (operator === "//") return fenced("⌊", m("mfrac", [set(inner(left)), set(inner(right))]), "⌋");
  if (operator === "**") return m("msup", [set(left), set(inner(right))]);
  return row(set(left), sign(SIGNS[operator] ?? operator), set(right));
}

function line(statement: Statement): ComponentChild {
  switch (statement.kind) {
    case "declaration":
      return row(
        word(statement.name),
        sign("∈"),
        statement.sizes.length === 0
          ? m("mtext", statement.dtype)
          : m("msup", [
              m("mtext", statement.dtype),
              row(
                ...statement.sizes.flatMap((size, place) =>
                  place === 0 ? [set(size)] : [sign("×"), set(size)],
                ),
              ),
            ]),
      );
    case "assignment":
      return row(set(statement.left), sign(statement.operator), set(statement.right));
    case "outputs":
      return row(sign("→"), ...commas(statement.items));
    case "expression":
      return set(statement.body);
  }
}

export function Typeset({ source, label }: { source: string; label: string }) {
  const statements = useMemo(() => readFormula(source), [source]);
  if (!statements || statements.length === 0) return null;
  const declared = statements.filter((statement) => statement.kind === "declaration");
  const computed = statements.filter((statement) => statement.kind !== "declaration");
  const math = (statement: Statement, place: number) =>
    h("math", { key: place, display: "block" }, line(statement));
  return (
    <figure class="kc-typeset" aria-label={label}>
      {declared.length > 0 && <div class="is-declared">{declared.map(math)}</div>}
      {computed.map(math)}
    </figure>
  );
}
