"""Geometry that convolutions and pools share: per-axis numbers, padding, window subscripts, guards."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from kernelcat_core.formula.operators.definition import wrong

Sizes = int | tuple[int, ...]


def per_axis(value: object, rank: int, name: str, least: int = 1) -> tuple[int, ...]:
    """One integer an axis, from a number or a tuple."""
    items: tuple[Any, ...] = value if isinstance(value, tuple) else (value,) * rank
    if len(items) != rank or any(isinstance(v, bool) or not isinstance(v, int) or v < least for v in items):
        raise wrong(f"{name} is a number or {rank} numbers, each at least {least}")
    return tuple(int(v) for v in items)


@dataclass(frozen=True)
class Window:
    """One spatial axis n: output index o{n}, window index k{n}; `before` and `after` are texts of size expressions.

    The text names the input's size D{n} and the window's size `size` (a number or a name).
    """

    n: int
    size: str
    stride: int
    dilation: int
    before: str
    after: str
    same: bool = False

    @property
    def reach(self) -> str:
        """How far the last element of a window is from its first."""
        if self.size.isdigit():
            return str(self.dilation * (int(self.size) - 1))
        return f"{self.dilation}*({self.size} - 1)" if self.dilation != 1 else f"({self.size} - 1)"

    @property
    def padded(self) -> bool:
        return (self.before, self.after) != ("0", "0")

    @property
    def output(self) -> str:
        """The number of windows."""
        if self.same:
            return f"(D{self.n} + {self.stride - 1})//{self.stride}"
        return f"(D{self.n} + {self.before} + {self.after} - {self.reach} - 1)//{self.stride} + 1"

    @property
    def place(self) -> str:
        """The subscript of the input."""
        o = f"o{self.n}" if self.stride == 1 else f"{self.stride}*o{self.n}"
        k = f"k{self.n}" if self.dilation == 1 else f"{self.dilation}*k{self.n}"
        return f"{o} + {k}" + ("" if self.before == "0" else f" - {self.before}")

    @property
    def guard(self) -> str:
        """Where the window's element is inside the input."""
        links = []
        if self.before != "0":
            links.append(f"0 <= {self.place}")
        if self.after != "0":
            links.append(f"{self.place} < D{self.n}")
        return " and ".join(links)


def windows(name: str, sizes: tuple[str, ...], stride: object, padding: object, dilation: object) -> list[Window]:
    """The windows of every spatial axis.

    `padding` is a number, one number an axis, one (before, after) pair an axis, "valid", or "same" (outputs =
    ceil(input / stride); of an odd total the larger half comes after).
    """
    rank = len(sizes)
    strides, dilations = per_axis(stride, rank, f"stride of {name}"), per_axis(dilation, rank, f"dilation of {name}")
    found: list[Window] = []
    for n in range(rank):
        s, d = strides[n], dilations[n]
        if padding == "same":
            reach = Window(n, sizes[n], s, d, "0", "0").reach
            if s == 1:
                total = reach
            else:
                total = f"maximum(((D{n} + {s - 1})//{s} - 1)*{s} + {reach} + 1 - D{n}, 0)"
            before, after = f"({total})//2", f"(({total}) - ({total})//2)"
            if total.isdigit():
                before, after = str(int(total) // 2), str(int(total) - int(total) // 2)
            found.append(Window(n, sizes[n], s, d, before, after, same=True))
            continue
        low, high = _pair(name, padding, n, rank)
        found.append(Window(n, sizes[n], s, d, str(low), str(high)))
    return found


def _pair(name: str, padding: object, n: int, rank: int) -> tuple[int, int]:
    if padding == "valid":
        return 0, 0
    item = padding
    if isinstance(padding, tuple):
        if len(padding) != rank:
            raise wrong(f"padding of {name} is a number, {rank} numbers, {rank} (before, after) pairs, 'same' or 'valid'")
        item = padding[n]
    pair = item if isinstance(item, tuple) else (item, item)
    if len(pair) != 2 or any(isinstance(v, bool) or not isinstance(v, int) or v < 0 for v in pair):
        raise wrong(f"padding of {name} is a number, {rank} numbers, {rank} (before, after) pairs, 'same' or 'valid'")
    return int(pair[0]), int(pair[1])


def guards(found: list[Window]) -> str:
    return " and ".join(w.guard for w in found if w.padded)


def pads(found: list[Window]) -> list[int] | None:
    """ONNX's pads attribute (all befores, then all afters); None when they depend on sizes."""
    texts = [w.before for w in found] + [w.after for w in found]
    return [int(t) for t in texts] if all(t.isdigit() for t in texts) else None
