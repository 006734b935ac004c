"""Which operators torch itself takes apart before they come to the table: all that it can and the table does not have."""

from __future__ import annotations

from collections.abc import Callable
from functools import cache
from typing import Any

_LEFT_WHOLE = frozenset({"aten.empty_like", "aten.lift_fresh"})


@cache
def decompositions() -> dict[Any, Callable[..., Any]]:
    """Operator overload -> function over simpler operators, for what has no mapping of its own."""
    import torch
    import torch._decomp
    import torch._refs  # registers more

    from kernelcat_core.importers.torch_model import nodes as nodes
    from kernelcat_core.importers.torch_model.node import TABLE

    found = dict(torch._decomp.decomposition_table)
    return {op: f for op, f in found.items() if str(op) not in TABLE and str(op) not in _LEFT_WHOLE
            and isinstance(op, torch._ops.OpOverload)}


def export_table() -> Any:
    """The same for torch.export, which otherwise keeps operators that torch defines by others."""
    from torch.export import default_decompositions

    from kernelcat_core.importers.torch_model.node import TABLE

    table = default_decompositions()
    table.update(decompositions())
    for op in list(table.keys()):
        if str(op) in TABLE or str(op) in _LEFT_WHOLE:
            table.pop(op)
    return table
