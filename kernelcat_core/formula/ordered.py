"""Scans, scatters and selections as values: typed primitives over whole tensors."""

from __future__ import annotations

from typing import TYPE_CHECKING

from kernelcat_core.dtypes import BF16, BOOL, F16, F32, I64, DType
from kernelcat_core.errors import KernelcatError, Span
from kernelcat_core.formula import elementwise, reducers
from kernelcat_core.formula.values import Value, at, common, convert, to_bool, widen
from kernelcat_core.ir.expr import Const, Expr, Var, cast, op, variables
from kernelcat_core.ir.graph import SELECT_DTYPE, Axis, Scan, Scatter, Select, Tensor, monoid

if TYPE_CHECKING:
    from kernelcat_core.formula.lower import Lowering

SCANS = ("sum", "prod", "max", "min", "any", "all", "argmax", "argmin", "logsumexp")
UPDATES = ("last", "sum", "prod", "max", "min", "any", "all")


def named_axes(axes: tuple[Axis, ...]) -> tuple[Axis, ...]:
    """The axes of a whole tensor under the names i0, i1.."""
    return tuple(Axis(f"i{k}", a.size) for k, a in enumerate(axes))


def scan(name: str, value: Value, axis: int, reverse: bool, exclusive: bool, low: Lowering, span: Span) -> Value:
    """Prefix folds along `axis`. Types are those of reducers; argmax and argmin give (as i64)
    the position of the best element that was met last."""
    if name not in SCANS:
        raise _wrong(f"scan has no '{name}'", span, f"one of {', '.join(SCANS)}")
    if not value.rank or not -value.rank <= axis < value.rank:
        raise _wrong(f"axis {axis} of scan does not exist: the tensor has {value.rank} axes", span, "axes count from 0")
    axes, over = named_axes(value.axes), axis % value.rank
    body = at(value, tuple(a.var for a in axes))
    label = f"{low.label}_scan"
    if name == "logsumexp":
        return _log_scan(body, axes, over, reverse, exclusive, low, label)
    if name in ("argmax", "argmin"):
        m, element = monoid(name if reverse else f"{name}_last", body.dtype), (body, axes[over].var)
        finish: Expr | None = Var("s1")
    else:
        m, element, finish = reducers.plain(name, body, (axes[over],), None)  # type: ignore[assignment]
    dtype = m.state[0] if finish is None else finish.dtype
    node = Scan(Tensor("", dtype, tuple(a.size for a in axes)), axes, over, m, element, reverse, exclusive, finish)
    return low.builder.value_of(low.builder.add(node, label))


def _log_scan(body: Expr, axes: tuple[Axis, ...], over: int, reverse: bool, exclusive: bool, low: Lowering, label: str
              ) -> Value:
    dtype = body.dtype if body.dtype.is_float else F32
    wide = F32 if dtype in (F16, BF16) else dtype
    body = widen(body, wide) if body.dtype.is_float else cast(body, wide)
    m, total = Var("s0", wide), Var("s1", wide)
    finish = cast(op("where", op("isfinite", m), op("add", m, op("log", total)), m), dtype)
    node = Scan(Tensor("", dtype, tuple(a.size for a in axes)), axes, over, monoid("logsumexp", wide),
                (body, Const(1.0, wide)), reverse, exclusive, finish)
    return low.builder.value_of(low.builder.add(node, label))


def scatter(base: Value, updates: tuple[Axis, ...], index: tuple[Expr, ...], value: Value, name: str, where: Expr | None,
            low: Lowering, span: Span) -> Value:
    """Updates over `updates` folded into `base` by `name` ("last": the last one stays); both meet in their common type."""
    if name not in UPDATES:
        raise _wrong(f"scatter has no '{name}'", span, f"one of {', '.join(UPDATES)}")
    if len(index) != base.rank:
        raise KernelcatError("KC-F014", f"scatter writes to {base.rank} axes but has {len(index)} subscripts", span=span,
                             hint="write one subscript an axis: scatter[u](base, (I[u], 0), value)")
    dtype = BOOL if name in ("any", "all") else common(base, value)
    narrow = dtype if dtype in (F16, BF16) and name not in ("last", "any", "all") else None
    dtype = F32 if narrow is not None else dtype  # folded in f32 and rounded once
    own = {a.name for a in updates}
    stem = "i"
    while own & {f"{stem}{k}" for k in range(base.rank)}:
        stem += "_"  # the primitive's two sets of axes keep apart
    axes = tuple(Axis(f"{stem}{k}", a.size) for k, a in enumerate(base.axes))
    start = _converted(Value(at(base, tuple(a.var for a in axes)), (), base.weak), dtype, span)
    added = _converted(value, dtype, span)
    for e in (*index, added, *((where,) if where is not None else ())):
        if variables(e) - own:
            raise KernelcatError("KC-F014", "scatter is a value of whole tensors: no index around it can be used inside",
                                 span=span, hint="bind every index in scatter[...]")
    node = Scatter(Tensor("", dtype, tuple(a.size for a in axes)), axes, start, updates, index, added,
                   None if name == "last" else monoid(name, dtype), where)
    found = low.builder.value_of(low.builder.add(node, f"{low.label}_scatter"))
    return found if narrow is None else Value(cast(found.expr, narrow), found.axes)


def _converted(v: Value, dtype: DType, span: Span) -> Expr:
    return to_bool(v) if dtype == BOOL and not v.weak else convert(v.expr, dtype, v.weak, span)


def select(values: list[Value], count: int | None, descending: bool, low: Lowering, span: Span) -> Value:
    """The positions (i32) of the first `count` (None: as many as there are) elements along the last axis where the
    condition holds, ordered by the key when one follows it."""
    axes, aligned = elementwise.broadcast(values, low.sizes, span)
    if not axes:
        raise _wrong("first_true takes a whole tensor", span, "leave subscripts out")
    names = named_axes(axes)
    exprs = [at(v, tuple(a.var for a in names)) if v.rank else v.expr for v in aligned]
    number = names[-1].size if count is None else Const(count, I64)
    key = exprs[1] if len(exprs) > 1 else None
    node = Select(Tensor("", SELECT_DTYPE, (*(a.size for a in names[:-1]), number)), names[:-1], names[-1], number,
                  to_bool(Value(exprs[0])), key, descending)
    return low.builder.value_of(low.builder.add(node, low.label))


def _wrong(message: str, span: Span, hint: str) -> KernelcatError:
    return KernelcatError("KC-F005", message, span=span, hint=hint)



