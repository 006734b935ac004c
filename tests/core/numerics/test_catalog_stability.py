"""Every operator, on every distribution and float type: the two oracles agree within the bounds.

So a formula of the catalog is never called unstable, and the bounds hold for roundings that really happen.
"""

from __future__ import annotations

import pytest

from kernelcat_core.formula import Lowered, default_workload, lower, operators, parse
from kernelcat_core.numerics.compare import Oracle
from kernelcat_core.numerics.distributions import distributions_of, make_inputs

CATALOG = {entry.name: entry for entry in operators.REGISTRY.values()}
# Samples at computed positions: the floor of a position jumps, and that the weights go to 0 there is not seen.
JUMPS = {"grid_sample", "roi_align", "deform_conv2d", "histogram"}


def example(name: str, dtype: str) -> Lowered:
    """The operator's example with its float inputs declared as `dtype`."""
    text = CATALOG[name].example.replace("f32[", f"{dtype}[")
    plain = lower(parse(text))
    lines = [
        f"{t.name}: {dtype}[{', '.join(f'{t.name}_{k}' for k in range(t.rank))}]" if t.rank else f"{t.name}: {dtype}"
        for t in plain.graph.inputs
        if t.dtype.is_float and f"{t.name}: {dtype}[" not in text
    ]
    return lower(parse("\n".join([*lines, text])))


@pytest.mark.parametrize("dtype", ["f32", "f16", "bf16"])
@pytest.mark.parametrize("name", CATALOG)
def test_oracles_agree(name: str, dtype: str) -> None:
    lowered = example(name, dtype)
    sizes = default_workload(lowered)
    for distribution in distributions_of(lowered.graph):
        oracle = Oracle(lowered.graph, make_inputs(lowered.graph, sizes, 0, distribution))
        for verdict in oracle.check({n: oracle.declared[n] for n in lowered.graph.outputs}).values():
            assert verdict.ok, verdict.message
            assert name in JUMPS or not verdict.unstable, f"{distribution}: {verdict.message}"
