/**
 * A reading of formula text for the eye only: enough structure to set it as mathematics. The server decides what is
 * right; text that does not fit here is simply not set (null).
 */
export type Term =
  | { kind: "name" | "number" | "text"; text: string }
  | { kind: "paren"; items: Term[] }
  | { kind: "call"; name: string; items: Term[] }
  | { kind: "subscript"; base: Term; items: Term[] }
  | { kind: "reduce"; name: string; items: Term[]; body: Term }
  | { kind: "unary"; operator: string; body: Term }
  | { kind: "binary"; operator: string; left: Term; right: Term };

export type Statement =
  | { kind: "declaration"; name: string; dtype: string; sizes: Term[] }
  | { kind: "assignment"; operator: "=" | "+="; left: Term; right: Term }
  | { kind: "outputs"; items: Term[] }
  | { kind: "expression"; body: Term };

const TOKEN =
  /\s*(?:(?<number>(?:\d+\.?\d*|\.\d+)(?:e[+-]?\d+)?)|(?<name>[\p{L}_][\p{L}\p{N}_]*)|(?<text>"[^"]*"|'[^']*')|(?<mark>->|\+=|\*\*|\/\/|<=|>=|==|!=|[-+*/%@<>=·×≤≥≠∧∨¬√()[\],:]))/iuy;

const REDUCERS = new Set("sum prod max min mean any all argmax argmin logsumexp Σ Π".split(" "));

/** How tightly each infix operator binds, as in Python. */
const BINDING: Record<string, number> = {
  "=": 1, or: 2, "∨": 2, and: 3, "∧": 3, in: 4, "<": 4, ">": 4, "<=": 4, ">=": 4, "==": 4, "!=": 4, "≤": 4, "≥": 4,
  "≠": 4, "+": 5, "-": 5, "*": 6, "/": 6, "//": 6, "%": 6, "@": 6, "·": 6, "×": 6, "**": 8,
}; // biome-ignore format: a table
const NOT = 3.5;
const SIGN = 7;
const RIGHT_ASSOCIATIVE = new Set(["**"]);

interface Token {
  kind: "number" | "name" | "text" | "mark";
  text: string;
}

const DEEPEST = 200;

class Misfit extends Error {}

function tokensOf(text: string): Token[] {
  const tokens: Token[] = [];
  const pattern = new RegExp(TOKEN);
  let at = 0;
  while (text.slice(at).trim() !== "") {
    pattern.lastIndex = at;
    const found = pattern.exec(text);
    if (!found?.groups) throw new Misfit();
    const [kind, word] = Object.entries(found.groups).find(([, part]) => part !== undefined) as [
      Token["kind"],
      string,
    ];
    tokens.push({ kind, text: word });
    at = pattern.lastIndex;
  }
  return tokens;
}

class Reader {
  private at = 0;
  private depth = 0;
  constructor(private readonly tokens: readonly Token[]) {}

  peek(): string {
    return this.tokens[this.at]?.text ?? "";
  }
  get isOver(): boolean {
    return this.at >= this.tokens.length;
  }
  take(wanted?: string): Token {
    const token = this.tokens[this.at];
    if (!token || (wanted !== undefined && token.text !== wanted)) throw new Misfit();
    this.at += 1;
    return token;
  }

  expression(least = 0): Term {
    this.depth += 1;
    if (this.depth > DEEPEST) throw new Misfit();
    const term = this.infix(least);
    this.depth -= 1;
    return term;
  }

  private infix(least: number): Term {
    let left = this.prefix();
    for (;;) {
      const operator = this.peek();
      const binding = BINDING[operator];
      if (binding === undefined || binding < least || operator === "") return left;
      this.take();
      const right = this.expression(RIGHT_ASSOCIATIVE.has(operator) ? binding : binding + 0.1);
      left = { kind: "binary", operator, left, right };
    }
  }

  list(close: string): Term[] {
    const items: Term[] = [];
    while (this.peek() !== close) {
      items.push(this.expression());
      if (this.peek() !== ",") break;
      this.take(",");
    }
    this.take(close);
    return items;
  }

  private prefix(): Term {
    const operator = this.peek();
    if (operator === "-" || operator === "+" || operator === "√") {
      this.take();
      const body = this.expression(operator === "√" ? 9 : SIGN);
      return operator === "√"
        ? { kind: "call", name: "sqrt", items: [body] }
        : { kind: "unary", operator, body };
    }
    if (operator === "not" || operator === "¬") {
      this.take();
      return { kind: "unary", operator: "¬", body: this.expression(NOT) };
    }
    return this.postfix(this.primary());
  }

  private primary(): Term {
    const token = this.take();
    if (token.kind === "mark") {
      if (token.text !== "(") throw new Misfit();
      return { kind: "paren", items: this.list(")") };
    }
    if (token.kind !== "name") return { kind: token.kind, text: token.text };
    if (REDUCERS.has(token.text) && this.peek() === "[") {
      this.take("[");
      const items = this.list("]");
      this.take("(");
      const body = this.expression();
      this.take(")");
      return { kind: "reduce", name: token.text, items, body };
    }
    if (this.peek() === "(") {
      this.take("(");
      return { kind: "call", name: token.text, items: this.list(")") };
    }
    return { kind: "name", text: token.text };
  }

  private postfix(base: Term): Term {
    let term = base;
    while (this.peek() === "[") {
      this.take("[");
      term = { kind: "subscript", base: term, items: this.list("]") };
    }
    return term;
  }
}

function statementOf(text: string): Statement {
  const reader = new Reader(tokensOf(text));
  if (reader.peek() === "->") {
    reader.take();
    const items = [reader.expression()];
    while (reader.peek() === ",") {
      reader.take();
      items.push(reader.expression());
    }
    if (!reader.isOver) throw new Misfit();
    return { kind: "outputs", items };
  }
  const declared = /^\s*([\p{L}_][\p{L}\p{N}_]*)\s*:/u.exec(text);
  if (declared) {
    const name = reader.take().text;
    reader.take(":");
    const dtype = reader.take().text;
    const sizes = reader.peek() === "[" && reader.take() ? reader.list("]") : [];
    if (!reader.isOver) throw new Misfit();
    return { kind: "declaration", name, dtype, sizes };
  }
  const left = reader.expression(1.5);
  if (reader.isOver) return { kind: "expression", body: left };
  const operator = reader.take().text;
  if (operator !== "=" && operator !== "+=") throw new Misfit();
  const right = reader.expression(1.5);
  if (!reader.isOver) throw new Misfit();
  return { kind: "assignment", operator, left, right };
}

const LONGEST = 4000;

/** The statements of a formula; null when some of it cannot be set. */
export function readFormula(source: string): Statement[] | null {
  if (source.length > LONGEST) return null;
  try {
    return source
      .replace(/#.*$/gm, "")
      .split(/[\n;]/)
      .filter((line) => line.trim() !== "")
      .map(statementOf);
  } catch (problem) {
    if (problem instanceof Misfit) return null;
    throw problem;
  }
}
