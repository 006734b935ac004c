"""Text form of tile programs: complete, so that equal texts mean equal programs."""

from __future__ import annotations

from collections.abc import Iterator

from kernelcat_core.ir.expr import Expr
from kernelcat_core.ir.printer import print_expr, print_tensor
from kernelcat_core.ir.tile import (
    Copy,
    For,
    If,
    Lane,
    Let,
    Map,
    Mma,
    Reduce,
    Stmt,
    Store,
    TileModule,
    TileProgram,
    Wait,
)


def _lanes(lanes: tuple[Lane, ...]) -> str:
    return ", ".join(f"{lane.name} in {print_expr(lane.extent)}" for lane in lanes)


def _at(name: str, lanes: tuple[Lane, ...]) -> str:
    return f"{name}[{', '.join(lane.name for lane in lanes)}]" if lanes else name


def _guard(where: Expr | None, fill: Expr | None = None) -> str:
    if where is None:
        return ""
    return f" where {print_expr(where)}" + (f" else {print_expr(fill)}" if fill is not None else "")


def _over(lanes: tuple[Lane, ...]) -> str:
    return f"  for {_lanes(lanes)}" if lanes else ""


def print_statements(body: tuple[Stmt, ...], indent: str = "  ") -> Iterator[str]:
    """One line a statement, blocks indented."""
    for s in body:
        match s:
            case Let():
                yield f"{indent}let {s.name} = {print_expr(s.value)}"
            case Copy():
                kind = "copy" if s.is_box else "gather"
                yield (f"{indent}{s.token} = {kind} {_at(s.tile, s.lanes)} <- {s.tensor}[{print_expr(s.offset)}]"
                       f"{_guard(s.where, s.fill)}{_over(s.lanes)}")
            case Wait():
                yield f"{indent}wait {s.token}"
            case Map():
                left = ", ".join(_at(t, s.lanes) for t in s.tiles)
                yield f"{indent}map {left} = {', '.join(print_expr(v) for v in s.values)}{_over(s.lanes)}"
            case Reduce():
                kept = tuple(lane for lane in s.lanes if lane.name != s.over)
                left = ", ".join(_at(t, kept) for t in s.tiles)
                right = ", ".join(print_expr(v) for v in s.elements)
                yield f"{indent}reduce {s.monoid.name} {left} <- {right} over {s.over}{_over(s.lanes)}"
            case Mma():
                yield f"{indent}mma {s.c} += {s.a} * {s.b}{_over((s.m, s.n, s.k))}"
            case Store():
                how = "store" if s.combine is None else f"renew by {print_expr(s.combine)}"
                yield (f"{indent}{how} {s.tensor}[{print_expr(s.offset)}] <- {print_expr(s.value)}"
                       f"{_guard(s.where)}{_over(s.lanes)}")
            case For():
                stages = f" stages {s.stages}" if s.stages > 1 else ""
                yield f"{indent}for {s.var} in {print_expr(s.extent)}{stages} {{"
                yield from print_statements(s.body, indent + "  ")
                yield indent + "}"
            case If():
                yield f"{indent}if {print_expr(s.condition)} {{"
                yield from print_statements(s.body, indent + "  ")
                yield indent + "}"


def print_program(p: TileProgram) -> str:
    """One program: its tensors, class, tiles, grid and body."""
    arguments = ", ".join([print_tensor(t) for t in p.reads] + ["out " + print_tensor(t) for t in p.writes])
    grid = ", ".join(f"{a.name} in {print_expr(a.size)}" for a in p.grid) or "1"
    lines = [f"program {p.name}({arguments})  # {p.kernel_class}" + (f", {p.threads} threads" if p.threads else "")]
    lines += [f"tile {t.name}: {t.dtype}[{', '.join(map(str, t.shape))}] @{t.scope}" for t in p.tiles]
    return "\n".join([*lines, f"grid {grid} {{", *print_statements(p.body), "}"])


def print_module(m: TileModule) -> str:
    """The whole module: sizes, config, temporaries, then the programs in launch order."""
    head = [f"module {m.name}({', '.join(m.sizes)})"]
    if m.config:
        head.append("config " + ", ".join(f"{k}={v}" for k, v in m.config))
    head += [f"workspace {print_tensor(t)}" for t in m.temporaries]
    return "\n".join(head + [print_program(p) for p in m.programs]) + "\n"
