"""Sorting rows: every pass of the merge sort, with the lengths at which they begin and end."""

from __future__ import annotations

import numpy as np
import pytest

from kernelcat_core.dtypes import BOOL, F32, I32, DType
from kernelcat_core.ir import tile_interpreter
from kernelcat_core.ir.expr import Const, Load, Size, Var, index
from kernelcat_core.ir.graph import Axis, Graph, Select, Tensor
from kernelcat_core.ir.tile_verify import verify
from kernelcat_core.schedule.knobs import Config
from kernelcat_core.schedule.lower import lower
from kernelcat_core.schedule.rules import order
from kernelcat_core.target import Target

TARGETS = {m: Target(m, m, m, m, m, "c") for m in ("vector", "simt")}
BLOCK = {"vector": 8, "simt": 32}


def sort(n: int | None, dtype: DType = F32, descending: bool = False) -> Graph:
    """Positions that sort X[n], of a known length or of any."""
    size = Size("N") if n is None else index(n)
    key = Load("X", (Var("j"),), dtype)
    node = Select(Tensor("Y", I32, (size,)), (), Axis("j", size), size, Const(True, BOOL), key, descending)
    return Graph((Tensor("X", dtype, (size,)),), (node,), ("Y",))


def positions(graph: Graph, x: np.ndarray, model: str) -> np.ndarray:
    module = lower(graph, TARGETS[model], Config.of({"Y.block": BLOCK[model]}))
    verify(module)
    return tile_interpreter.run(module, {"X": x}, {"N": len(x)})["Y"]


@pytest.mark.parametrize("model", list(TARGETS))
@pytest.mark.parametrize("known", [False, True])
def test_lengths_around_the_widths_of_runs(model: str, known: bool, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(order, "_WIDEST", 64)  # longer rows of unknown length end in the pass over all runs
    for n in (1, 7, 8, 9, 16, 33, 64, 65, 127, 131, 200):
        if known and n <= 16:
            continue  # these are found one by one
        x = np.random.default_rng(n).integers(0, 9, n).astype("f4")
        x[n // 3] = np.nan
        found = positions(sort(n if known else None), x, model)
        np.testing.assert_array_equal(found, np.argsort(x, kind="stable"), err_msg=str(n))


@pytest.mark.parametrize("model", list(TARGETS))
def test_few_passes_where_the_length_is_known(model: str) -> None:
    width = BLOCK[model]
    module = lower(sort(4 * width), TARGETS[model], Config.of({"Y.block": width}))
    assert [p.name.partition("_")[2] for p in module.programs] == [
        "blocks", f"merge{width}", f"merge{2 * width}", "places"]


def test_bool_keys_and_descending_ties() -> None:
    x = np.random.default_rng(0).random(50) < 0.5
    np.testing.assert_array_equal(positions(sort(50, BOOL), x, "vector"), np.argsort(x, kind="stable"))
    np.testing.assert_array_equal(positions(sort(50, BOOL, True), x, "vector"), np.argsort(~x, kind="stable"))


def test_few_places_are_found_one_by_one() -> None:
    node = sort(None).nodes[0]
    assert isinstance(node, Select)
    assert order.applies(node)
    assert not order.applies(Select(node.output, node.axes, node.over, index(4), node.predicate, node.key))
