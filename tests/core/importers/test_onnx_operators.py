"""Every operator of the catalog: its ONNX definition is accepted by the checker and agrees with the oracle."""

from __future__ import annotations

import itertools

import onnx
import pytest

from kernelcat_core.errors import KernelcatError
from kernelcat_core.formula import operators
from kernelcat_core.formula.lower import Lowered, lower
from kernelcat_core.formula.parser import parse_cached
from kernelcat_core.importers.onnx_definition import DOMAIN, onnx_model, onnx_text
from kernelcat_core.ir.graph import Graph
from kernelcat_core.ir.verify import verify_graph
from kernelcat_core.numerics.distributions import make_inputs

from .onnx_checks import verdict

CATALOG = {entry.name: entry for entry in operators.REGISTRY.values()}


def small_sizes(lowered: Lowered) -> dict[str, int]:
    """The first small sizes that the formula accepts."""
    names = lowered.graph.size_names
    for chosen in itertools.islice(itertools.product((4, 5, 6, 3, 8, 2, 1), repeat=len(names)), 20000):
        sizes = {**dict(zip(names, chosen, strict=True)), **lowered.bindings}
        try:
            lowered.check(sizes)
        except KernelcatError:
            continue
        return sizes
    raise AssertionError(f"no small sizes fit {lowered.formula.source}")


def agrees(
    source: Lowered | Graph, graph: Graph, sizes: dict[str, int], distribution: str = "normal"
) -> onnx.ModelProto:
    model = onnx_model(source)
    found = verdict(model, graph, make_inputs(graph, sizes, 0, distribution))
    assert found.ok, found.message
    assert found.unstable < max(1, found.checked)
    return model


@pytest.mark.parametrize("name", CATALOG)
def test_definition(name: str) -> None:
    lowered = lower(parse_cached(CATALOG[name].example))
    verify_graph(lowered.graph)
    model = agrees(lowered, lowered.graph, small_sizes(lowered))
    assert lowered.call is not None, "an example is one call"
    (last,) = (n for n in model.graph.node if n.op_type != "Constant")
    hint = CATALOG[name].onnx
    if hint is not None and hint.applies(lowered.call.arguments):
        assert (last.domain, last.op_type) == (hint.domain, hint.op_type)
        assert not model.functions
    else:
        assert (last.domain, last.op_type) == (DOMAIN, name)
        assert [f.name for f in model.functions] == [name]
        assert {n.domain for n in model.functions[0].node} == {""}
    assert last.op_type in onnx_text(lowered)


@pytest.mark.parametrize("name", CATALOG)
def test_primitives_of_an_operator_as_standard_nodes(name: str) -> None:
    """The same operator as a bare graph, which has to do without its standard node."""
    lowered = lower(parse_cached(CATALOG[name].example))
    agrees(lowered.graph, lowered.graph, small_sizes(lowered), "ties")
