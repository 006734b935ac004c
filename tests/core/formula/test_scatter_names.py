"""The axes of a scatter's output and of its updates keep apart, whatever the formula calls its indices."""

from __future__ import annotations

from kernelcat_core.formula import lower, parse
from kernelcat_core.ir.graph import Scatter


def test_updates_may_be_called_as_the_axes_of_the_base() -> None:
    graph = lower(parse("x: f32[2,2]; I: i64[2,2]; base: f32[4,5]\n"
                        "y = scatter[i0, i1](base, (I[i0,i1]//5, I[i0,i1] % 5), x[i0,i1])")).graph
    (node,) = (n for n in graph.nodes if isinstance(n, Scatter))
    assert not {a.name for a in node.axes} & {a.name for a in node.updates}
