"""Scan and Scatter as standard ONNX nodes.

A scan is CumSum, or a reduction over a further index that stays at or before the point's own place; a scatter is
ScatterElements on the flattened output, which has one more element for what is dropped.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from kernelcat_core.dtypes import BOOL, I32, I64
from kernelcat_core.errors import KernelcatError
from kernelcat_core.importers.onnx_expr import Value
from kernelcat_core.importers.onnx_scalar import cast
from kernelcat_core.ir import expr as ex
from kernelcat_core.ir.expr import ZERO, Const, Expr, Var, conjunction, op, product, substitute
from kernelcat_core.ir.graph import Axis, Monoid, Scan, Scatter, monoid

if TYPE_CHECKING:
    from kernelcat_core.importers.onnx_graph import GraphWriter

_PLAIN = {"sum": "ReduceSum", "prod": "ReduceProd", "max": "ReduceMax", "min": "ReduceMin", "any": "ReduceMax",
          "all": "ReduceMin"}
_SCATTER = {"sum": "add", "prod": "mul", "max": "max", "min": "min", "any": "max", "all": "min"}


def known(m: Monoid) -> bool:
    """Whether a monoid is the one that its name says."""
    try:
        return m == monoid(m.name, m.state[0])
    except AssertionError:
        return False


def scan(w: GraphWriter, node: Scan) -> str:
    """The value of a Scan. Raises KC-R001 for a monoid that has no name."""
    m = node.monoid
    if not known(m):
        raise KernelcatError("KC-R001", f"standard ONNX nodes cannot say the scan {m.name}")
    if m.name == "sum":
        element = w.grid(node.axes).expanded(node.element[0])
        flags = {"exclusive": int(node.exclusive), "reverse": int(node.reverse)}
        states = [w.nodes.emit("CumSum", element, w.nodes.constant(node.over, I64), **flags)]
    else:
        states = _masked(w, node, m)
    if node.finish is None:
        return states[0]
    every = frozenset(a.name for a in node.axes)
    named = {f"s{k}": Value(s, every, False) for k, s in enumerate(states)}
    return w.grid(node.axes, named).expanded(node.finish)


def _masked(w: GraphWriter, node: Scan, m: Monoid) -> list[str]:
    """The states as reductions over another index along the scanned axis."""
    n, rank, own = w.nodes, len(node.axes), node.scanned
    inner = Axis(f"{own.name} scanned", own.size)
    sign = ("gt" if node.exclusive else "ge") if node.reverse else ("lt" if node.exclusive else "le")
    inside = op(sign, inner.var, own.var)
    element = [substitute(e, {own.name: inner.var}) for e in node.element]
    axes = (*node.axes, inner)

    def folded(operator: str, e: Expr, identity: Const, states: dict[str, Value]) -> str:
        grid = w.grid(axes, states)
        return n.emit(operator, grid.expanded(op("where", inside, e, identity)), n.vector(rank), keepdims=0)

    if m.name in _PLAIN:
        return [folded(_PLAIN[m.name], element[0], m.identity[0], {})]
    largest = not m.name.startswith("argmin")
    value = folded("ReduceMax" if largest else "ReduceMin", element[0], m.identity[0], {})
    held = {"best": Value(n.emit("Unsqueeze", value, n.vector(rank)), frozenset(a.name for a in node.axes), False)}
    best = Var("best", m.state[0])
    if m.name == "logsumexp":
        shift = op("where", op("isfinite", best), best, Const(0.0, m.state[0]))
        part = op("mul", element[1], op("exp", op("sub", element[0], shift)))
        return [value, folded("ReduceSum", part, m.identity[1], held)]
    equal = op("eq", element[0], best)
    if m.state[0].is_float:
        equal = op("or", equal, op("and", op("isnan", element[0]), op("isnan", best)))
    last = m.name.endswith("_last")
    place = op("where", equal, element[1], m.identity[1])
    return [value, folded("ReduceMax" if last else "ReduceMin", place, m.identity[1], held)]


def scatter(w: GraphWriter, node: Scatter) -> str:
    """The value of a Scatter. Raises KC-R001 for a monoid that ScatterElements does not have."""
    n, m, dtype = w.nodes, node.monoid, node.output.dtype
    if m is not None and not (known(m) and m.name in _SCATTER):
        raise KernelcatError("KC-R001", f"standard ONNX nodes cannot say updates by {m.name}")
    shape, flat = node.output.shape, n.vector(-1)
    total = product(shape)
    place: Expr = ZERO
    checks: list[Expr | None] = [node.where]
    for e, size in zip(node.index, shape, strict=True):
        place = ex.add(ex.mul(place, size), e)
        checks += [op("ge", e, ZERO), op("lt", e, size)]
    inside = conjunction(*checks)
    grid = w.grid(node.updates)
    cells = n.emit("Reshape", grid.expanded(place if inside is None else op("where", inside, place, total)), flat)
    value = n.emit("Reshape", grid.expanded(node.value), flat)
    base = n.emit("Reshape", w.grid(node.axes).expanded(node.base), flat)
    whole = I32 if dtype == BOOL and m is not None else dtype  # bool has no order
    if dtype != whole:
        value, base = cast(n, value, dtype, whole), cast(n, base, dtype, whole)
    dropped = n.emit("Reshape", n.constant(0.0 if whole.is_float else 0, whole), n.vector(1))
    held = n.emit("Concat", base, dropped, axis=0)
    renewed = n.emit("ScatterElements", held, cells, value, axis=0, reduction="none" if m is None else _SCATTER[m.name])
    kept = n.emit("Slice", renewed, n.vector(0), w.sizes.vector(total), n.vector(0))
    if dtype != whole:
        kept = cast(n, kept, whole, dtype)
    return n.emit("Reshape", kept, w.sizes.vector(*shape)) if shape else n.emit("Squeeze", kept, n.vector(0))


