"""Names of axes and checks of axis arguments that several operators share."""

from __future__ import annotations

from kernelcat_core.formula.operators.definition import wrong


def letters(rank: int) -> list[str]:
    """Index names of a tensor with this many axes."""
    return [f"i{k}" for k in range(rank)]


def normalised(axis: int, rank: int, name: str) -> int:
    """A non-negative axis; KC-F005 when it does not exist."""
    if isinstance(axis, bool) or not isinstance(axis, int):
        raise wrong(f"axis of {name} is an integer")
    if not -rank <= axis < rank:
        raise wrong(f"axis {axis} of {name} does not exist: the tensor has {rank} axes", "axes count from 0, or from -1 back")
    return axis % rank


def axis_list(axis: int | tuple[int, ...] | None, rank: int, name: str) -> list[int]:
    """Sorted distinct axes; all of them for None."""
    if axis is None:
        return list(range(rank))
    items = axis if isinstance(axis, tuple) else (axis,)
    found = [normalised(a, rank, name) for a in items]
    if len(set(found)) != len(found):
        raise wrong(f"axes of {name} repeat")
    return sorted(found)
