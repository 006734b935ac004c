"""Tracing: what importers write into. Every imported operator is a formula; their graphs join into one.

A `Value` is a tensor of the traced network: known to the host (a constant, a shape) or made by the graph. Shapes are
numbers: a trace is made for given input shapes. Its owner may ask for the contents of a value (`Trace.host`), which
runs the part of the graph that makes it: that is how data decide control flow and sizes.
"""

from __future__ import annotations

import hashlib
import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import lru_cache
from typing import Any

import numpy as np
import numpy.typing as npt

from kernelcat_core.dtypes import BOOL, I64, DType, from_numpy
from kernelcat_core.errors import KernelcatError
from kernelcat_core.formula import lower, parse
from kernelcat_core.ir.expr import Const, Expr, Load, Size, cast, index, transform
from kernelcat_core.ir.graph import Graph, Primitive, Tensor, map_expressions, reads
from kernelcat_core.ir.interpreter import evaluate

Array = npt.NDArray[Any]
Evaluate = Callable[[Graph, Mapping[str, Array]], Mapping[str, Array]]
"""Runs a graph of constant sizes on arrays for its inputs; gives every output by name."""


CODED = frozenset({"float8_e4m3fnuz", "float8_e5m2fnuz", "float8_e8m0fnu", "float4_e2m1fn", "int2", "uint2"})
"""NumPy types (of ml_dtypes) that the language lacks. Traces hold them as u8 codes, one an element; kernels decode them."""


@dataclass(frozen=True, eq=False)
class Value:
    """A tensor of a trace. `constant` holds the contents where the host knows them; then `name` is "" unless kernels
    are to read them from memory. `code` names the type in CODED that u8 elements stand for.
    """

    dtype: DType
    shape: tuple[int, ...]
    name: str = ""
    constant: Array | None = None
    code: str = ""

    @property
    def rank(self) -> int:
        return len(self.shape)

    @property
    def size(self) -> int:
        """How many elements."""
        return math.prod(self.shape)


class Trace:
    """One graph under construction, with what is known of its inputs.

    `feeds` are the arrays of inputs and of constants by tensor name. A trace holds for the shapes of its inputs, for the
    contents of the inputs in `looked_at`, and, once it is `volatile` (computed data were looked at), for this run only.
    """

    def __init__(self, evaluate: Evaluate) -> None:
        self._evaluate = evaluate
        self.inputs: dict[str, Tensor] = {}
        self.nodes: list[Primitive] = []
        self.feeds: dict[str, Array] = {}
        self.constants: dict[str, str] = {}
        self.looked_at: dict[str, Array] = {}
        self.volatile = False
        self._made: dict[str, Primitive] = {}
        self._known: dict[str, Array] = {}

    # -- values

    def input(self, name: str, array: Array) -> Value:
        """An input of the network, with the contents of this run."""
        array, code = coded(np.asarray(array))
        dtype = element_type(array.dtype)
        tensor = Tensor(self._fresh(name), dtype, tuple(index(n) for n in array.shape))
        self.inputs[tensor.name] = tensor
        self.feeds[tensor.name] = array
        return Value(dtype, array.shape, tensor.name, None, code)

    def constant(self, array: Any, dtype: DType | None = None) -> Value:
        """Contents that the host knows: weights, shapes, attributes."""
        array, code = coded(np.asarray(array) if dtype is None else np.asarray(array).astype(dtype.numpy))
        return Value(element_type(array.dtype), array.shape, "", array, code)

    def stored(self, array: Any) -> Value:
        """Contents that the host knows but that kernels read from memory: a count of turns, so that all turns are one kernel."""
        value = self.constant(array)
        return replace(value, name=self._read(value))

    def host(self, value: Value) -> Array:
        """The contents of a value, computed now where the host does not know them."""
        if value.constant is not None:
            return value.constant
        if value.name in self.inputs:
            if value.name not in self.constants.values():
                self.looked_at[value.name] = self.feeds[value.name]
            return self.feeds[value.name]
        self.compute(value)
        return self._known[value.name]

    def compute(self, *values: Value) -> None:
        """Compute values now, in one go: what is asked of the trace later starts from them."""
        wanted = [v.name for v in values if v.constant is None and v.name not in self.inputs and v.name not in self._known]
        if not wanted:
            return
        graph = self.graph(wanted)
        fixed = self.fixed
        self.volatile = self.volatile or any(t.name not in fixed for t in graph.inputs)
        self._known.update(self._evaluate(graph, {t.name: self.contents(t.name) for t in graph.inputs}))

    def contents(self, name: str) -> Array:
        """What an input of `graph` holds in this run."""
        return self._known[name] if name in self._known else self.feeds[name]

    @property
    def weights(self) -> dict[str, Array]:
        """Contents of constants by tensor name."""
        return {n: self.feeds[n] for n in self.constants.values()}

    @property
    def fixed(self) -> dict[str, Array]:
        """Contents of constants, and of what was computed already, by tensor name."""
        return {**self.weights, **self._known}

    # -- operators

    def formula(self, text: str, /, **values: Value) -> Value:
        """The first output of a formula over `values`."""
        return self.formulas(text, **values)[0]

    def formulas(self, text: str, /, **values: Value) -> tuple[Value, ...]:
        """The outputs of a formula whose inputs are `values`, by name."""
        heads = tuple((n, v.dtype.name, v.shape) for n, v in values.items())
        graph = _graph(text, heads)
        return self.splice(graph, values)

    def call(self, operator: str, /, *tensors: Value | None, **arguments: Any) -> Value:
        """A named operator of the formula language; trailing `arguments` are its static ones or more values."""
        return self.calls(operator, *tensors, **arguments)[0]

    def calls(self, operator: str, /, *tensors: Value | None, **arguments: Any) -> tuple[Value, ...]:
        """The same for an operator with several outputs."""
        values: dict[str, Value] = {}
        texts: list[str] = []
        for k, t in enumerate(tensors):
            assert t is not None or all(x is None for x in tensors[k:])
            if t is not None:
                values[f"x{k}"] = t
                texts.append(f"x{k}")
        for name, argument in arguments.items():
            if isinstance(argument, Value):
                values[f"a_{name}"] = argument
                texts.append(f"{name}=a_{name}")
            elif argument is not None:
                texts.append(f"{name}={literal(argument)}")
        return self.formulas(f"y = {operator}({', '.join(texts)})", **values)

    def splice(self, graph: Graph, values: Mapping[str, Value]) -> tuple[Value, ...]:
        """Join a graph of constant sizes whose inputs are `values`; gives its outputs.

        Arithmetic of shapes (a few numbers that the host knows) is done at once, by the meaning of the graph.
        """
        if graph.nodes and values and all(_is_shape(v) for v in values.values()) and all(
                math.prod(_numbers(node.output)) <= SHAPE_LIMIT for node in graph.nodes):
            known = {n: v.constant for n, v in values.items() if v.constant is not None}
            made_now = evaluate(graph, {t.name: known[t.name] for t in graph.inputs})
            return tuple(self.constant(made_now[n]) for n in graph.outputs)
        names: dict[str, str] = {}
        literals: dict[str, Const] = {}
        for t in graph.inputs:
            v = values[t.name]
            found = _as_literal(v)
            if found is not None and t.name not in graph.outputs:
                literals[t.name] = found
            else:
                names[t.name] = self._read(v)
        made: dict[str, Value] = {}
        for node in graph.nodes:
            names[node.output.name] = self._fresh("v")

            def renamed(e: Expr) -> Expr | None:
                if not isinstance(e, Load) or e.tensor.startswith("@"):
                    return None
                if e.tensor in literals:
                    return literals[e.tensor]
                return replace(e, tensor=f"@{names[e.tensor]}")  # marked: names of the trace and of the formula may agree

            joined = map_expressions(node, lambda e: transform(transform(e, renamed), _unmarked))
            joined = replace(joined, output=replace(node.output, name=names[node.output.name]))
            self.nodes.append(joined)
            self._made[joined.output.name] = joined
            made[node.output.name] = Value(joined.output.dtype, _numbers(joined.output), joined.output.name)
        return tuple(made[n] if n in made else values[n] for n in graph.outputs)

    def _read(self, value: Value) -> str:
        """The tensor name of a value, which becomes an input of the graph when only the host knows it."""
        if value.constant is None or value.name:
            return value.name
        array = np.asarray(value.constant, order="C")
        digest = hashlib.sha256(f"{array.dtype}{array.shape}".encode() + array.tobytes()).hexdigest()
        if digest not in self.constants:
            name = self._fresh(f"c{digest[:8]}_")
            self.constants[digest] = name
            self.inputs[name] = Tensor(name, value.dtype, tuple(index(n) for n in value.shape))
            self.feeds[name] = array
        return self.constants[digest]

    def named(self, value: Value) -> str:
        """The name under which `graph` can give this value; host values become constants of the graph."""
        return self._read(value)

    def graph(self, outputs: Sequence[str]) -> Graph:
        """The part of what was traced that `outputs` need; what was computed already is an input."""
        needed = set(outputs)
        kept: list[Primitive] = []
        known: list[Tensor] = []
        for node in reversed(self.nodes):
            if node.output.name in self._known and node.output.name in needed:
                known.append(node.output)
            elif node.output.name in needed:
                kept.append(node)
                needed.update(reads(node))
        inputs = (*(t for n, t in self.inputs.items() if n in needed), *known)
        return Graph(inputs, tuple(reversed(kept)), tuple(dict.fromkeys(outputs)))

    def _fresh(self, stem: str) -> str:
        clean = "".join(ch if ch.isalnum() and ch.isascii() else "_" for ch in stem) or "x"
        clean = clean if clean[0].isalpha() else f"x{clean}"
        name = f"{clean}{len(self.nodes)}" if stem == "v" else clean
        count = 0
        while name in self.inputs or name in self._made:
            count += 1
            name = f"{clean}_{count}" if stem != "v" else f"{clean}{len(self.nodes)}_{count}"
        return name


SHAPE_LIMIT = 64
"""Elements of a constant that still counts as a shape."""


def _is_shape(v: Value) -> bool:
    """Whether a value is a small constant: whole numbers, flags, or up to eight fractions (scales of sizes)."""
    return v.constant is not None and not v.name and not v.code and v.size <= (8 if v.dtype.is_float else SHAPE_LIMIT)


def _unmarked(e: Expr) -> Expr | None:
    return replace(e, tensor=e.tensor[1:]) if isinstance(e, Load) and e.tensor.startswith("@") else None


@lru_cache(maxsize=4096)
def _graph(text: str, heads: tuple[tuple[str, str, tuple[int, ...]], ...]) -> Graph:
    """The graph of a formula with declared inputs; formulas recur (layers of a network), so they are kept."""
    declared = [f"{n}: {d}[{', '.join(map(str, s))}]" if s else f"{n}: {d}" for n, d, s in heads]
    lowered = lower(parse("\n".join([*declared, text])))
    given = {name: shape for name, _, shape in heads}
    for t in lowered.graph.inputs:
        if t.name not in given:
            raise KernelcatError("KC-I001", f"the formula {text!r} has an input {t.name!r} without a value",
                                 hint="this is a fault of the importer, please report the model")
    if lowered.graph.size_names:
        raise AssertionError(f"sizes {lowered.graph.size_names} are open in {text!r}")
    return lowered.graph


def _numbers(t: Tensor) -> tuple[int, ...]:
    from kernelcat_core.ir.expr import evaluate

    assert not any(isinstance(d, Size) for d in t.shape)
    return tuple(evaluate(d, {}) for d in t.shape)


def _as_literal(value: Value) -> Const | None:
    """A constant of one element as a literal, so that it costs no memory access and folds."""
    if value.constant is None or value.name or value.size != 1 or value.dtype.bits < 8 or value.dtype.name.startswith("f8"):
        return None
    number = value.constant.reshape(()).item() if value.dtype.kind != "f" else float(value.constant.reshape(()))
    if isinstance(number, float) and not math.isfinite(number):
        return None
    made = cast(Const(number, value.dtype), value.dtype)
    return made if isinstance(made, Const) else None


def literal(value: Any) -> str:
    """A static argument as text of the formula language."""
    if isinstance(value, bool):
        return str(value)
    if isinstance(value, (list, tuple, np.ndarray)):
        items = [literal(v) for v in (value.tolist() if isinstance(value, np.ndarray) else value)]
        return f"({', '.join(items)}{',' if len(items) == 1 else ''})"
    if isinstance(value, np.generic):
        return literal(value.item())
    if isinstance(value, float):
        if math.isinf(value) or math.isnan(value):
            return {"inf": "inf", "-inf": "-inf", "nan": "nan"}[str(value)]
        return repr(value)
    if isinstance(value, DType):
        return value.name
    return repr(value)


def coded(array: Array) -> tuple[Array, str]:
    """The codes of an array whose type the language lacks, and that type's name; else the array itself and ""."""
    name = array.dtype.name
    return (array.view(np.uint8), name) if name in CODED else (array, "")


def uncoded(array: Array, code: str) -> Array:
    """Codes as an array of the type that they stand for."""
    if not code:
        return array
    import ml_dtypes

    found: Array = array.view(getattr(ml_dtypes, code))
    return found


def element_type(dtype: np.dtype[Any]) -> DType:
    """The DType of an array. Raises KC-I002 for types that the language does not have (strings, complex)."""
    try:
        return from_numpy(dtype)
    except KeyError:
        raise KernelcatError("KC-I002", f"arrays of {dtype} have no kernels",
                             hint="convert to a float, integer or bool type first") from None


__all__ = ["BOOL", "I64", "Array", "Evaluate", "Trace", "Value", "element_type", "literal"]
