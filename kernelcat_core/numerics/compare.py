"""Is a kernel's output right? The answer is a Verdict, a value.

An element is right when it agrees, within the bound of stability.error_bounds, with the oracle in f64 or with
the oracle at the declared dtypes. Where these two disagree beyond the bound (or the bound is in doubt) the
formula is unstable on that input: such elements are counted (KC-N002), not held against the kernel. Positions
(argmax, selections) are right when they are optimal within the bound.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np

from kernelcat_core.errors import Failure, KernelcatError
from kernelcat_core.ir.evaluation import Array
from kernelcat_core.ir.graph import Compute, Graph, Select, Tensor
from kernelcat_core.ir.interpreter import evaluate_tensors, infer_sizes
from kernelcat_core.numerics.positions import optimal_positions, valid_selections
from kernelcat_core.numerics.stability import error_bounds
from kernelcat_core.numerics.tolerance import ULPS, Approximations
from kernelcat_core.numerics.ulp import ulp, ulp_distance


@dataclass(frozen=True)
class Verdict:
    """`max_error` and `max_ulps` are over stable elements, against the nearer oracle; `tolerance` is the
    largest bound.

    `ok` is False when a stable element is wrong; `first_wrong` is its index. `unstable` counts elements on
    which the formula itself is unstable. `failure` is what boards and people get to see.
    """

    ok: bool
    max_error: float
    max_ulps: float
    tolerance: float
    checked: int
    wrong: int
    unstable: int
    output: str = ""
    first_wrong: tuple[int, ...] | None = None
    message: str = ""

    @property
    def failure(self) -> Failure | None:
        """KC-N001 for a wrong output, KC-N002 when no element of it could be checked, None otherwise."""
        if not self.ok:
            return Failure("KC-N001", self.message)
        if self.unstable and self.unstable == self.checked:
            return Failure("KC-N002", self.message, hint="rewrite the formula, for example by subtracting a maximum")
        return None

    def to_dict(self) -> dict[str, Any]:
        """Plain values for reports."""
        return {
            "ok": self.ok,
            "max_error": self.max_error,
            "max_ulps": self.max_ulps,
            "tolerance": self.tolerance,
            "checked": self.checked,
            "wrong": self.wrong,
            "unstable": self.unstable,
            "output": self.output,
            "first_wrong": None if self.first_wrong is None else list(self.first_wrong),
            "message": self.message,
        }


def compare(
    actual: Array, expected64: Array, declared: Array, bound: Array, tensor: Tensor, accepted: Array | None = None
) -> Verdict:
    """Compare one output with both oracles, element by element, within `bound` (absolute, f64, same shape).

    `accepted` marks elements that are right for another reason; where it is given, what is uncertain has been decided.
    A wrong shape or dtype is wrong.
    """
    if actual.shape != declared.shape or actual.dtype != tensor.dtype.numpy:
        message = (
            f"{tensor.name} is {actual.dtype} {list(actual.shape)}, expected {tensor.dtype} {list(declared.shape)}"
        )
        return Verdict(False, np.inf, np.inf, 0.0, declared.size, max(1, declared.size), 0, tensor.name, None, message)
    with np.errstate(all="ignore"):
        if tensor.dtype.is_float:  # overflow in f64's range is an infinity at the declared dtype
            rounded = np.asarray(expected64.astype(tensor.dtype.numpy), np.float64)
            expected64 = np.where(np.isinf(rounded), rounded, np.asarray(expected64, np.float64))
        limit = _limit(expected64, declared, bound, tensor)
        unstable = np.array(~_agree(declared, expected64, limit) | np.isinf(limit))
        right = np.array(_agree(actual, expected64, limit) | _agree(actual, declared, limit))
        if tensor.dtype.kind == "b":  # a bool is a byte that holds 0 or 1; NumPy would take any other for True
            right &= np.ascontiguousarray(actual).view(np.uint8).reshape(actual.shape) <= 1
        if accepted is not None:
            right |= accepted
            unstable[...] = False
        wrong = ~right & ~unstable
        return _verdict(actual, expected64, declared, limit, tensor, wrong, unstable, accepted)


def _limit(expected64: Array, declared: Array, bound: Array, tensor: Tensor) -> Array:
    """The bound where it is a number; infinite where it is in doubt (NaN).

    Where it is infinite an intermediate may overflow. If both oracles agree nevertheless, what overflowed did not
    count, and the error of one documented function at the output is allowed.
    """
    allowed = max(ULPS.values()) * ulp(declared, tensor.dtype) if tensor.dtype.is_float else np.zeros(declared.shape)
    apart = _distance(expected64, declared)
    limit = np.where(np.isinf(bound) & (apart <= allowed), allowed, bound)
    limit = np.where(np.isnan(bound), np.inf, limit)
    return np.where(_equal(expected64, declared) & ~np.isfinite(_wide(declared)), 0.0, limit)


def _verdict(
    actual: Array,
    expected64: Array,
    declared: Array,
    limit: Array,
    tensor: Tensor,
    wrong: Array,
    unstable: Array,
    accepted: Array | None,
) -> Verdict:
    counted = ~unstable if accepted is None else ~unstable & ~accepted
    error = np.where(counted, np.minimum(_distance(actual, expected64), _distance(actual, declared)), 0.0)
    ulps = np.minimum(ulp_distance(actual, expected64, tensor.dtype), ulp_distance(actual, declared, tensor.dtype))
    wrongs, unstables = int(np.count_nonzero(wrong)), int(np.count_nonzero(unstable))
    first, message = None, ""
    if wrongs:
        first = tuple(int(i) for i in np.unravel_index(int(np.argmax(wrong)), wrong.shape))
        message = (
            f"{tensor.name}[{', '.join(map(str, first))}] is {actual[first]}, expected {declared[first]}"
            f" within {float(limit[first]):.3g}; {wrongs} of {wrong.size} elements are wrong"
        )
    elif unstables:
        first_unstable = tuple(int(i) for i in np.unravel_index(int(np.argmax(unstable)), wrong.shape))
        message = (
            f"the formula is unstable on {unstables} of {wrong.size} elements of {tensor.name}: at "
            f"[{', '.join(map(str, first_unstable))}] it gives {float(_wide(expected64)[first_unstable]):.9g} in f64 "
            f"and {float(_wide(declared)[first_unstable]):.9g} at the declared types"
        )
    finite = limit[np.isfinite(limit)]
    return Verdict(
        not wrongs,
        float(error.max(initial=0.0)),
        float(np.where(counted, ulps, 0.0).max(initial=0.0)),
        float(finite.max(initial=0.0)),
        int(wrong.size),
        wrongs,
        unstables,
        tensor.name,
        first,
        message,
    )


def _wide(x: Array) -> Array:
    return np.asarray(x, np.float64)


def _equal(a: Array, b: Array) -> Array:
    return np.asarray((a == b) | ((a != a) & (b != b)))


def _agree(a: Array, b: Array, limit: Array) -> Array:
    """Equal, both NaN, or finite and within the limit."""
    x, y = _wide(a), _wide(b)
    return np.asarray(_equal(a, b) | (np.abs(x - y) <= limit) & np.isfinite(x) & np.isfinite(y))


def _distance(a: Array, b: Array) -> Array:
    return np.where(_equal(a, b), 0.0, np.nan_to_num(np.abs(_wide(a) - _wide(b)), nan=np.inf, posinf=np.inf))


@dataclass(frozen=True)
class Oracle:
    """Everything that a kernel for `graph` on `inputs` is held against, computed once and used for many
    kernels."""

    graph: Graph
    inputs: Mapping[str, Array]
    sizes: Mapping[str, int] | None = None
    approximations: Approximations | None = None

    @cached_property
    def exact(self) -> dict[str, Array]:
        """Every tensor in f64."""
        return evaluate_tensors(self.graph, self.inputs, self.sizes, "float64")

    @cached_property
    def declared(self) -> dict[str, Array]:
        """Every tensor at its declared dtype."""
        return evaluate_tensors(self.graph, self.inputs, self.sizes, "declared")

    @cached_property
    def bounds(self) -> dict[str, Array]:
        """Absolute error bounds of every node."""
        return error_bounds(self.graph, self.inputs, self.sizes, self.approximations, self.exact)

    def check(self, outputs: Mapping[str, Array]) -> dict[str, Verdict]:
        """A verdict an output; raises KC-N001 when one is missing."""
        verdicts = {}
        for name in self.graph.outputs:
            if name not in outputs:
                raise KernelcatError("KC-N001", f"the kernel gave no output '{name}'")
            verdicts[name] = self._compare(name, np.asarray(outputs[name]))
        return verdicts

    def _compare(self, name: str, actual: Array) -> Verdict:
        tensor = self.graph.tensors[name]
        bound = self.bounds.get(name, np.zeros(self.exact[name].shape))
        verdict = compare(actual, self.exact[name], self.declared[name], bound, tensor)
        node = next((n for n in self.graph.nodes if n.output.name == name), None)
        if node is None or actual.shape != self.declared[name].shape or tensor.dtype.is_float:
            return verdict
        if not verdict.wrong and not verdict.unstable:
            return verdict
        sizes = infer_sizes(self.graph, self.inputs, self.sizes)
        accepted = None
        if isinstance(node, Select):
            accepted = valid_selections(node, actual, self.exact, self.bounds, sizes)
        elif isinstance(node, Compute) and node.monoid is not None and node.monoid.name in ("argmax", "argmin"):
            accepted = optimal_positions(node, actual, self.exact, self.bounds, sizes)
        if accepted is None:
            return verdict
        # what is uncertain was decided just now: a position that is not optimal is wrong
        return compare(actual, self.exact[name], self.declared[name], np.zeros(actual.shape), tensor, accepted)


def compare_outputs(
    graph: Graph,
    inputs: Mapping[str, Array],
    outputs: Mapping[str, Array],
    sizes: Mapping[str, int] | None = None,
    approximations: Approximations | None = None,
) -> Verdict:
    """All outputs of one run of a kernel against the oracle: the worst verdict of them (see `Oracle` to reuse
    it)."""
    verdicts = Oracle(graph, inputs, sizes, approximations).check(outputs)
    return worst(list(verdicts.values()))


def worst(verdicts: list[Verdict]) -> Verdict:
    """The verdict that fails first, else the one with the most unstable elements, else with the largest
    error."""
    return max(verdicts, key=lambda v: (not v.ok, v.failure is not None, v.unstable, v.max_ulps))
