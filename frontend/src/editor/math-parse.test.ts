import { expect, test } from "vitest";
import { readFormula, type Statement, type Term } from "./math-parse";

function show(term: Term): string {
  switch (term.kind) {
    case "name":
    case "number":
    case "text":
      return term.text;
    case "paren":
      return `<${term.items.map(show)}>`;
    case "call":
      return `${term.name}(${term.items.map(show)})`;
    case "subscript":
      return `${show(term.base)}[${term.items.map(show)}]`;
    case "reduce":
      return `${term.name}{${term.items.map(show)}}(${show(term.body)})`;
    case "unary":
      return `(${term.operator}${show(term.body)})`;
    case "binary":
      return `(${show(term.left)} ${term.operator} ${show(term.right)})`;
  }
}

const right = (source: string): string => {
  const statement = readFormula(source)?.[0] as Extract<Statement, { kind: "assignment" }>;
  return show(statement.right);
};

test("operators bind as in Python", () => {
  expect(right("y = a + b*c**2**d")).toBe("(a + (b * (c ** (2 ** d))))");
  expect(right("y = -a**2")).toBe("(-(a ** 2))");
  expect(right("y = a - b - c")).toBe("((a - b) - c)");
  expect(right("y = i > 0 and not j <= 3")).toBe("((i > 0) and (¬(j <= 3)))");
});

test("a reducer binds like a call and keeps its ranges", () => {
  expect(right("Y[i] = sum[k, r in 2](A[i,k])*b")).toBe("(sum{k,(r in 2)}(A[i,k]) * b)");
  expect(right("y = max(a, b)")).toBe("max(a,b)");
});

test("declarations, outputs, keyword arguments and bare calls", () => {
  const kinds = readFormula(
    "X: f32[64, K]  # in\ns: f32\nConv3D(kernel_size=(3,3), bias=True)[i]; C[i,j] += A[i,k]\n-> C",
  );
  expect(kinds?.map((statement) => statement.kind)).toEqual([
    "declaration",
    "declaration",
    "expression",
    "assignment",
    "outputs",
  ]);
});

test("what cannot be set is null, and nothing hangs or throws", () => {
  for (const text of [
    "Y[i = ",
    "a ? b",
    "x = (1",
    "x = 1 2",
    "= =",
    "((((((",
    '"open',
    "Y: ",
    "a b",
    "(".repeat(3999),
  ])
    expect(readFormula(text), text).toBeNull();
  expect(readFormula("# only a comment\n")).toEqual([]);
});
