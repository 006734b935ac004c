"""Tokens to the syntax tree: operator-precedence parsing with explicit limits on nesting and height."""

from __future__ import annotations

from collections.abc import Callable
from functools import lru_cache

from kernelcat_core.dtypes import DTYPES
from kernelcat_core.errors import KernelcatError, Span
from kernelcat_core.formula import limits
from kernelcat_core.formula.hints import complete
from kernelcat_core.formula.lexer import Token, tokenize
from kernelcat_core.formula.syntax import (
    BINDING,
    REDUCERS,
    Assign,
    Binary,
    Binder,
    Call,
    Compare,
    Declaration,
    Formula,
    Keyword,
    Name,
    Node,
    Number,
    Reduce,
    Sequence,
    Slice,
    Statement,
    Subscript,
    Text,
    Unary,
    parts,
)

COMPARISONS = frozenset({"<", "<=", ">", ">=", "==", "!="})
LEVEL = {"or": 1, "and": 2, **dict.fromkeys(COMPARISONS, 4), "|": 5, "^": 6, "&": 7, "<<": 8, ">>": 8, "+": 9, "-": 9,
         "*": 10, "/": 10, "//": 10, "%": 10, "@": 10, "**": 12}
NOT_LEVEL, UNARY_LEVEL = 3, 11
_SUM_SIGNS = {"Σ": "sum", "∑": "sum", "Π": "prod", "∏": "prod"}


def parse(source: str) -> Formula:
    """The syntax tree of a formula text.

    Raises KernelcatError (KC-F001 character, KC-F002 token, KC-F003 limit, KC-F008 left subscript, KC-F018
    declaration), located in `source`.
    """
    limits.ensure_stack()
    try:
        return _Parser(source).formula()
    except KernelcatError as error:
        raise complete(error, source) from None


@lru_cache(maxsize=512)
def parse_cached(source: str) -> Formula:
    """`parse`, remembered: operator bodies are texts that come back."""
    return parse(source)


class _Parser:
    def __init__(self, source: str) -> None:
        self.source = source
        self.tokens = tokenize(source)
        self.at = 0
        self.depth = 0
        self.height: dict[int, int] = {}

    # -- tokens

    @property
    def token(self) -> Token:
        return self.tokens[self.at]

    def advance(self) -> Token:
        token = self.tokens[self.at]
        if token.kind != "end":
            self.at += 1
        return token

    def sees(self, text: str) -> bool:
        return self.token.kind == "op" and self.token.text == text

    def accept(self, text: str) -> Token | None:
        return self.advance() if self.sees(text) else None

    def expect(self, text: str, hint: str = "") -> Token:
        if not self.sees(text):
            raise self.unexpected(f"'{text}'", hint)
        return self.advance()

    def unexpected(self, wanted: str, hint: str = "") -> KernelcatError:
        t = self.token
        shown = {"end": "the end of the text", "newline": "the end of the statement"}.get(t.kind, f"'{t.text}'")
        return KernelcatError("KC-F002", f"expected {wanted}, found {shown}", span=Span(t.start, max(t.end, t.start + 1)),
                              hint=hint)

    def made(self, node: Node) -> Node:
        """Count the height of a fresh node."""
        height = 1 + max((self.height.get(id(p), 1) for p in parts(node)), default=0)
        if height > limits.HEIGHT:
            raise KernelcatError("KC-F003", f"an expression is more than {limits.HEIGHT} operations high", span=node.span,
                                 hint="give a part of it a name in a statement of its own")
        self.height[id(node)] = height
        return node

    def nest(self) -> None:
        self.depth += 1
        if self.depth > limits.NESTING:
            raise KernelcatError("KC-F003", f"nesting is deeper than {limits.NESTING}", span=self.token.span,
                                 hint="give a part of it a name in a statement of its own")

    # -- statements

    def formula(self) -> Formula:
        statements: list[Statement] = []
        outputs: tuple[Name, ...] | None = None
        while True:
            while self.token.kind == "newline":
                self.advance()
            if self.token.kind == "end":
                break
            if outputs is not None:
                raise self.unexpected("nothing", "the line with -> is the last one")
            if self.accept("->"):
                outputs = self.output_names()
            else:
                statements.append(self.statement())
                if len(statements) > limits.STATEMENTS:
                    raise KernelcatError("KC-F003", f"more than {limits.STATEMENTS} statements",
                                         span=statements[-1].span, hint="split the formula")
            if self.token.kind not in ("newline", "end"):
                raise self.unexpected("an operator or the end of the statement", self.missing_operator())
        return Formula(tuple(statements), outputs, self.source)

    def missing_operator(self) -> str:
        if self.token.kind in ("name", "number") or self.sees("("):
            return "write * between factors, and ; or a new line between statements"
        return "assignment is name[i, j] = value" if self.sees("=") else ""

    def output_names(self) -> tuple[Name, ...]:
        names = [self.name("an output name")]
        while self.accept(","):
            names.append(self.name("an output name"))
            if len(names) > limits.STATEMENTS:
                raise KernelcatError("KC-F003", f"more than {limits.STATEMENTS} outputs", span=names[-1].span,
                                     hint="split the formula")
        return tuple(names)

    def name(self, wanted: str) -> Name:
        if self.token.kind != "name":
            raise self.unexpected(wanted)
        token = self.advance()
        return Name(token.text, token.span)

    def statement(self) -> Statement:
        first = self.token
        after = self.tokens[self.at + 1] if first.kind == "name" else None
        if after is not None and after.kind == "op" and after.text == ":":
            return self.declaration()
        end = self.target_end()
        if end is None:
            value = self.expression()
            return Assign(None, None, "=", value, value.span, value.span)
        target = self.name("a name")
        if target.id in REDUCERS or target.id in DTYPES:
            raise KernelcatError("KC-F002", f"'{target.id}' is a reserved name", span=target.span, hint="use another name")
        subscripts = self.left_subscripts() if self.sees("[") else None
        op = self.advance().text
        value = self.expression()
        return Assign(target.id, subscripts, op, value, target.span.to(value.span), target.span)

    def target_end(self) -> int | None:
        """Where the = or += of an assignment stands, or None for an expression."""
        at = self.at
        if self.tokens[at].kind != "name":
            return None
        at += 1
        if self.tokens[at].kind == "op" and self.tokens[at].text == "[":
            depth = 0
            while self.tokens[at].kind not in ("end",):
                text = self.tokens[at].text if self.tokens[at].kind == "op" else ""
                depth += (text in ("(", "[")) - (text in (")", "]"))
                at += 1
                if depth == 0:
                    break
        token = self.tokens[at]
        return at if token.kind == "op" and token.text in ("=", "+=") else None

    def target_before(self, token: Token) -> bool:
        """Whether the name just read begins an assignment, so that what stood before it was meant as a label."""
        self.at -= 1
        assigned = self.token is token and self.target_end() is not None
        self.at += 1
        return assigned or self.sees("(")

    def left_subscripts(self) -> tuple[Binder, ...]:
        self.expect("[")
        found: list[Binder] = []
        while not self.sees("]"):
            start = self.token
            value = self.expression()
            if not isinstance(value, Name):
                raise KernelcatError("KC-F008", "a left subscript is a plain index", span=value.span,
                                     hint="write the arithmetic on the right, e.g. Y[i] = X[2*i]")
            bound = self.expression() if self.accept("in") else None
            found.append(Binder(value.id, bound, start.span if bound is None else start.span.to(bound.span)))
            if not self.accept(","):
                break
        self.expect("]")
        seen: set[str] = set()
        for b in found:
            if b.name in seen:
                raise KernelcatError("KC-F008", f"index '{b.name}' stands twice on the left", span=b.span,
                                     hint="left subscripts are distinct indices")
            seen.add(b.name)
        return tuple(found)

    def declaration(self) -> Declaration:
        name = self.name("a name")
        self.expect(":")
        dtype: str | None = None
        last = name.span
        if self.token.kind == "name":
            token = self.advance()
            if token.text not in DTYPES and self.target_before(token):
                raise KernelcatError("KC-F018", f"a statement has no label: '{name.id}:'", span=name.span,
                                     hint=f"leave it out, or make it a comment: # {name.id}")
            if token.text not in DTYPES:
                raise KernelcatError("KC-F018", f"unknown element type '{token.text}'", span=token.span,
                                     hint="types are " + " ".join(DTYPES))
            dtype, last = token.text, token.span
        elif not self.sees("["):
            raise self.unexpected("an element type such as f32")
        dims: list[Node] = []
        if self.accept("["):
            while not self.sees("]"):
                dims.append(self.expression())
                if not self.accept(","):
                    break
            last = self.expect("]", "a declaration is X: f32[64, K]").span
        span = name.span.to(last)
        if len(dims) > limits.RANK:
            raise KernelcatError("KC-F003", f"more than {limits.RANK} axes", span=span, hint="merge axes")
        return Declaration(name.id, dtype, tuple(dims), span)

    # -- expressions

    def expression(self, level: int = 0) -> Node:
        """An expression whose operators bind at least as tightly as `level`."""
        self.nest()
        left = self.prefix()
        while self.token.kind == "op":
            op = self.token.text
            mine = LEVEL.get(op, -1)
            if mine < level or mine < 0:
                break
            if op in COMPARISONS:
                left = self.comparison(left)
                continue
            self.advance()
            right = self.expression(UNARY_LEVEL if op == "**" else mine + 1)
            left = self.made(Binary(op, left, right, left.span.to(right.span)))
        self.depth -= 1
        return left

    def comparison(self, first: Node) -> Node:
        ops: list[str] = []
        rest: list[Node] = []
        while self.token.kind == "op" and self.token.text in COMPARISONS:
            ops.append(self.advance().text)
            rest.append(self.expression(LEVEL["|"]))
        return self.made(Compare(first, tuple(ops), tuple(rest), first.span.to(rest[-1].span)))

    def prefix(self) -> Node:
        token = self.token
        if token.kind == "op" and token.text in ("-", "+", "~", "not"):
            self.advance()
            operand = self.expression(NOT_LEVEL if token.text == "not" else UNARY_LEVEL)
            return self.made(Unary(token.text, operand, token.span.to(operand.span)))
        if token.kind == "op" and token.text == "√":
            self.advance()
            self.nest()
            operand = self.prefix() if self.sees("√") else self.postfix()
            self.depth -= 1
            return self.made(Call("sqrt", (operand,), (), token.span.to(operand.span), token.span))
        return self.postfix()

    def postfix(self) -> Node:
        node = self.primary()
        while self.sees("["):
            self.advance()
            indices = self.items("]", self.subscript)
            end = self.expect("]")
            if len(indices) > limits.RANK:
                raise KernelcatError("KC-F003", f"more than {limits.RANK} subscripts", span=node.span, hint="merge axes")
            node = self.made(Subscript(node, tuple(indices), node.span.to(end.span)))
        return node

    def items(self, close: str, item: Callable[[], Node]) -> list[Node]:
        """Comma-separated items up to (not with) `close`; a trailing comma is allowed."""
        found: list[Node] = []
        while not self.sees(close):
            found.append(item())
            if not self.accept(","):
                break
        return found

    def subscript(self) -> Node:
        start = self.token
        first = None if self.sees(":") else self.expression()
        if not self.sees(":"):
            assert first is not None
            return first
        limits_: list[Node | None] = [first, None, None]
        for k in (1, 2):
            if not self.accept(":"):
                break
            if not (self.sees(":") or self.sees(",") or self.sees("]")):
                limits_[k] = self.expression()
        span = start.span.to(self.tokens[self.at - 1].span)
        return self.made(Slice(limits_[0], limits_[1], limits_[2], span))

    def primary(self) -> Node:
        token = self.token
        if token.kind == "number":
            self.advance()
            return self.number(token)
        if token.kind == "string":
            self.advance()
            return Text(token.text, token.span)
        if token.kind == "name" or (token.kind == "op" and token.text in _SUM_SIGNS):
            return self.named()
        if self.sees("(") or self.sees("["):
            return self.bracketed()
        raise self.unexpected("a value")

    def number(self, token: Token) -> Node:
        value: int | float
        if token.text.isdigit():
            value = int(token.text) if len(token.text) < 40 else limits.LITERAL + 1
            good = value <= limits.LITERAL
        else:
            value = float(token.text)
            good = value != float("inf")
        if not good:
            raise KernelcatError("KC-F003", "the number is too large", span=token.span, hint="write inf for infinity")
        return Number(value, token.span)

    def named(self) -> Node:
        token = self.advance()
        name = _SUM_SIGNS.get(token.text, token.text) if self.sees("[") else token.text
        if name in BINDING and self.sees("["):
            return self.reducer(name, token)
        if self.sees("("):
            return self.call(token)
        if token.kind == "op":
            raise self.unexpected("'['", f"write {token.text}[k](...)")
        return Name(token.text, token.span)

    def reducer(self, name: str, token: Token) -> Node:
        self.expect("[")
        binders: list[Binder] = []
        while not self.sees("]"):
            index = self.name("an index name")
            bound = self.expression() if self.accept("in") else None
            binders.append(Binder(index.id, bound, index.span if bound is None else index.span.to(bound.span)))
            if not self.accept(","):
                break
        end = self.expect("]", "a reducer is sum[k, r in 2](...)")
        if not binders:
            raise KernelcatError("KC-F002", f"{name}[] has no index", span=token.span.to(end.span),
                                 hint=f"write {name}[k](...)")
        if len(binders) > limits.RANK:
            raise KernelcatError("KC-F003", f"more than {limits.RANK} indices", span=token.span, hint="split the reducer")
        opening = self.expect("(", f"a reducer is {name}[k](...): put its body in parentheses")
        if name == "scatter":
            items = self.items(")", self.expression)
            end = self.expect(")")
            body: Node = Sequence(tuple(items), opening.span.to(end.span))
            return self.made(Reduce(name, tuple(binders), body, token.span.to(end.span)))
        body = self.expression()
        end = self.expect(")")
        return self.made(Reduce(name, tuple(binders), body, token.span.to(end.span)))

    def call(self, token: Token) -> Node:
        self.expect("(")
        args: list[Node] = []
        keywords: list[Keyword] = []
        while not self.sees(")"):
            following = self.tokens[self.at + 1] if self.token.kind == "name" else None
            if following is not None and following.kind == "op" and following.text == "=":
                name = self.advance()
                self.advance()
                value = self.expression()
                keywords.append(Keyword(name.text, value, name.span.to(value.span)))
            elif keywords:
                raise self.unexpected("name=value", "arguments with a name come last")
            else:
                args.append(self.expression())
            if not self.accept(","):
                break
        end = self.expect(")")
        return self.made(Call(token.text, tuple(args), tuple(keywords), token.span.to(end.span), token.span))

    def bracketed(self) -> Node:
        opening = self.advance()
        close = ")" if opening.text == "(" else "]"
        items = self.items(close, self.expression)
        trailing = self.tokens[self.at - 1].text == ","
        end = self.expect(close)
        if close == ")" and len(items) == 1 and not trailing:
            return items[0]
        return self.made(Sequence(tuple(items), opening.span.to(end.span)))
