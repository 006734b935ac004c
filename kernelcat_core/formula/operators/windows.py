"""Geometry that convolutions and pools share: per-axis numbers, padding, window subscripts, guards."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from kernelcat_core.formula.operators.definition import wrong

Sizes = int | tuple[int, ...]
SAME = ("same", "same_upper", "same_lower")


def per_axis(value: object, rank: int, name: str, least: int = 1) -> tuple[int, ...]:
    """One integer an axis, from a number or a tuple."""
    items: tuple[Any, ...] = value if isinstance(value, tuple) else (value,) * rank
    if len(items) != rank or any(isinstance(v, bool) or not isinstance(v, int) or v < least for v in items):
        raise wrong(f"{name} is a number or {rank} numbers, each at least {least}")
    return tuple(int(v) for v in items)


@dataclass(frozen=True)
class Window:
    """One spatial axis n: output index o{n}, window index k{n}; `before` and `after` are texts of size expressions.

    The text names the input's size D{n} and the window's size `size` (a number or a name). With `ceil` a last window may
    hang over the end, if it starts inside the input or in front of it.
    """

    n: int
    size: str
    stride: int
    dilation: int
    before: str
    after: str
    same: bool = False
    ceil: bool = False

    @property
    def reach(self) -> str:
        """How far the last element of a window is from its first."""
        if self.size.isdigit():
            return str(self.dilation * (int(self.size) - 1))
        return f"{self.dilation}*({self.size} - 1)" if self.dilation != 1 else f"({self.size} - 1)"

    @property
    def padded(self) -> bool:
        return self.ceil or (self.before, self.after) != ("0", "0")

    @property
    def output(self) -> str:
        """The number of windows."""
        if self.same:
            return f"(D{self.n} + {self.stride - 1})//{self.stride}"
        room = f"D{self.n} + {self.before} + {self.after} - {self.reach} - 1"
        if self.ceil:
            return (f"minimum(({room} + {self.stride - 1})//{self.stride}, (D{self.n} + {self.before} - 1)//{self.stride})"
                    " + 1")
        return f"({room})//{self.stride} + 1"

    @property
    def start(self) -> str:
        """Where the window begins, from the input's first element."""
        o = f"o{self.n}" if self.stride == 1 else f"{self.stride}*o{self.n}"
        return o if self.before == "0" else f"({o} - {self.before})"

    def count(self, padding: bool) -> str:
        """How many elements of the window are in the input (or in its padding too): an i64 expression of o{n}."""
        d, start = self.dilation, self.start
        end = f"(D{self.n} + {self.after} - {start}" if padding else f"(D{self.n} - {start}"
        high = f"minimum({self.size}, {end} + {d - 1})//{d})" if d > 1 else f"minimum({self.size}, {end}))"
        if padding or self.before == "0":
            return high
        low = f"maximum(0, ({d - 1} - {start})//{d})" if d > 1 else f"maximum(0, -{start})"
        return f"maximum({high} - {low}, 0)"

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
        if self.after != "0" or self.ceil:
            links.append(f"{self.place} < D{self.n}")
        return " and ".join(links)


def windows(name: str, sizes: tuple[str, ...], stride: object, padding: object, dilation: object,
            ceil: bool = False) -> list[Window]:
    """The windows of every spatial axis.

    `padding` is a number, one number an axis, one (before, after) pair an axis, "valid", "causal" (all of it before), or
    "same" (outputs = ceil(input / stride); of an odd total the larger half comes after, with "same_lower" before).
    """
    rank = len(sizes)
    strides, dilations = per_axis(stride, rank, f"stride of {name}"), per_axis(dilation, rank, f"dilation of {name}")
    found: list[Window] = []
    for n in range(rank):
        s, d = strides[n], dilations[n]
        if padding == "causal":
            found.append(Window(n, sizes[n], s, d, Window(n, sizes[n], s, d, "0", "0").reach, "0", ceil=ceil))
            continue
        if padding in SAME:
            reach = Window(n, sizes[n], s, d, "0", "0").reach
            if s == 1:
                total = reach
            else:
                total = f"maximum(((D{n} + {s - 1})//{s} - 1)*{s} + {reach} + 1 - D{n}, 0)"
            before, after = f"({total})//2", f"(({total}) - ({total})//2)"
            if total.isdigit():
                before, after = str(int(total) // 2), str(int(total) - int(total) // 2)
            if padding == "same_lower":
                before, after = after, before
            found.append(Window(n, sizes[n], s, d, before, after, same=True))
            continue
        low, high = pad_pair(name, padding, n, rank)
        found.append(Window(n, sizes[n], s, d, str(low), str(high), ceil=ceil))
    return found


def pad_pair(name: str, padding: object, n: int, rank: int) -> tuple[int, int]:
    """Padding before and after spatial axis n, where it is made of numbers."""
    if padding == "valid":
        return 0, 0
    item = padding
    if isinstance(padding, tuple):
        if len(padding) != rank:
            raise wrong(f"padding of {name} is a number, {rank} numbers, {rank} (before, after) pairs, 'same', 'same_lower', "
                        "'causal' or 'valid'")
        item = padding[n]
    pair = item if isinstance(item, tuple) else (item, item)
    if len(pair) != 2 or any(isinstance(v, bool) or not isinstance(v, int) or v < 0 for v in pair):
        raise wrong(f"padding of {name} is a number, {rank} numbers, {rank} (before, after) pairs, 'same', 'same_lower', "
                        "'causal' or 'valid'")
    return int(pair[0]), int(pair[1])


def guards(found: list[Window]) -> str:
    return " and ".join(w.guard for w in found if w.padded)


def pads(found: list[Window]) -> list[int] | None:
    """ONNX's pads attribute (all befores, then all afters); None when they depend on sizes."""
    texts = [w.before for w in found] + [w.after for w in found]
    return [int(t) for t in texts] if all(t.isdigit() for t in texts) else None
