"""Names of axes and checks of axis arguments that several operators share."""

from __future__ import annotations

from dataclasses import dataclass

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


@dataclass(frozen=True)
class Axes:
    """Index names of a tensor of which some axes are reduced: i0 i1.. are kept, k (or k0 k1..) reduced."""

    rank: int
    axes: tuple[int, ...]

    @staticmethod
    def over(rank: int, axes: list[int]) -> Axes:
        return Axes(rank, tuple(axes))

    @property
    def reduced(self) -> list[str]:
        return ["k"] if len(self.axes) == 1 else [f"k{n}" for n in range(len(self.axes))]

    @property
    def kept(self) -> list[str]:
        return [f"i{n}" for n in range(self.rank) if n not in self.axes]

    def _mixed(self) -> list[str]:
        names = dict(zip(self.axes, self.reduced, strict=True))
        return [names.get(n, f"i{n}") for n in range(self.rank)]

    def inner(self, tensor: str) -> str:
        """The tensor at kept and reduced indices."""
        return subscripted(tensor, self._mixed())

    def full(self, tensor: str) -> str:
        """The tensor at one plain index an axis."""
        return subscripted(tensor, letters(self.rank))

    def at(self, tensor: str) -> str:
        """A reduced tensor at the kept indices."""
        return subscripted(tensor, self.kept)

    def left(self, tensor: str, keepdims: bool) -> str:
        """The left side of a reduction."""
        if not keepdims:
            return self.at(tensor)
        return subscripted(tensor, [f"u{n} in 1" if n in self.axes else f"i{n}" for n in range(self.rank)])

    def declared(self, tensor: str) -> str:
        """A line that names the sizes N0 N1.. of the tensor."""
        return f"{tensor}: [{', '.join(f'N{n}' for n in range(self.rank))}]"

    def count(self) -> str:
        """How many elements are reduced, in sizes of `declared`."""
        return "*".join(f"N{n}" for n in self.axes)


def subscripted(tensor: str, indices: list[str]) -> str:
    return f"{tensor}[{', '.join(indices)}]" if indices else tensor
