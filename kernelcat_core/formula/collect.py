"""One walk over a statement before it is lowered: uses of indices, explicit ranges, shadowing, free indices."""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field

from kernelcat_core.errors import KernelcatError
from kernelcat_core.formula.indexing import guard, index_expression
from kernelcat_core.formula.ranges import Use, Uses
from kernelcat_core.formula.syntax import Binder, Call, Name, Node, Reduce, Slice, Subscript, parts
from kernelcat_core.formula.values import Value
from kernelcat_core.ir.expr import Expr, Var

_STATE = re.compile(r"s[0-9]+")
"""Names that finishing expressions of reductions give to their states."""


@dataclass
class Collector:
    """`tensor` gives the value of a subscripted base (None when it is not a tensor); `sizes` the declared sizes."""

    tensor: Callable[[Node], tuple[str, Value] | None]
    bound: Callable[[Node], Expr]
    uses: Uses = field(default_factory=Uses)
    keys: dict[int, dict[str, str]] = field(default_factory=dict)
    free: dict[str, Name] = field(default_factory=dict)
    """Mentioned names that are bound nowhere, with their first use."""

    def fresh(self, b: Binder) -> str:
        """A key for an index that is being bound."""
        base = f"{b.name}_" if _STATE.fullmatch(b.name) else b.name
        key, count = base, 2
        while key in self.uses.spans:
            key, count = f"{base}_{count}", count + 1
        self.uses.titles[key] = b.name
        self.uses.spans[key] = b.span
        if b.bound is not None:
            self.uses.explicit[key] = self.bound(b.bound)
        return key

    def walk(self, node: Node, names: Mapping[str, Expr], mentioned: frozenset[str], guarded: bool) -> None:
        """`names` are the visible sizes and indices (as Vars called by their key)."""
        match node:
            case Name() if node.id in mentioned and node.id not in names:
                self.free.setdefault(node.id, node)
            case Reduce():
                inner = dict(names)
                keys: dict[str, str] = {}
                for b in node.binders:
                    if b.name in names or b.name in keys or self.tensor(Name(b.name)) is not None:
                        kind = "index" if isinstance(names.get(b.name), Var) or b.name in keys else "name"
                        raise KernelcatError("KC-F010", f"{kind} '{b.name}' is already in use here", span=b.span,
                                             hint="use another name for the reduced index")
                    keys[b.name] = self.fresh(b)
                    inner[b.name] = Var(keys[b.name])
                self.keys[id(node)] = keys
                self.walk(node.body, inner, mentioned, guarded)
            case Call(name="where", args=(condition, a, b)):
                self.walk(condition, names, mentioned, guarded)
                both = guard(condition, names) is not None
                self.walk(a, names, mentioned, guarded or both)
                self.walk(b, names, mentioned, guarded or both)
            case Subscript():
                self.subscript(node, names, mentioned, guarded)
            case _:
                for p in parts(node):
                    self.walk(p, names, mentioned, guarded)

    def subscript(self, node: Subscript, names: Mapping[str, Expr], mentioned: frozenset[str], guarded: bool) -> None:
        if not isinstance(node.base, Name):
            self.walk(node.base, names, mentioned, guarded)
        for i in node.indices:
            self.walk(i, names, mentioned, guarded)
        if any(isinstance(i, Slice) for i in node.indices):
            return
        found = self.tensor(node.base)
        if found is None or found[1].rank != len(node.indices):
            return
        label, value = found
        every = {**{n: Var(n) for n in mentioned if n not in names}, **names}
        for axis, i in enumerate(node.indices):
            e = index_expression(i, every)
            if e is not None:
                self.uses.found.append(Use(label, axis, value.axes[axis].size, e, guarded, i.span))
