"""A Kernel: a group of primitives that one launch (or a few, with a workspace) computes."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

from kernelcat_core.ir.graph import Primitive

KernelClass = Literal["elementwise", "row", "column", "contraction", "attention", "select", "scan", "scatter"]


@dataclass(frozen=True)
class Kernel:
    """`nodes` in order. `stored` names the tensors that leave the kernel; the others live in its tiles.

    `rows` has one tuple a node: the places, among the node's axes, of the axes that all nodes share (in shared order).
    An intermediate's axes are exactly the shared ones. `kernel_class` was found by analysis of the index maps.
    """

    name: str
    kernel_class: KernelClass
    nodes: tuple[Primitive, ...]
    rows: tuple[tuple[int, ...], ...]
    stored: frozenset[str]
