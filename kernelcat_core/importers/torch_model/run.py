"""Runs a graph of ATen operators symbolically: nodes in order, each through its mapping."""

from __future__ import annotations

import operator
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from kernelcat_core.errors import KernelcatError
from kernelcat_core.importers.torch_model import nodes as nodes  # fills the table
from kernelcat_core.importers.torch_model.node import TABLE, Node, Spec
from kernelcat_core.importers.torch_model.tensors import element_type, to_array
from kernelcat_core.importers.trace import Array, Evaluate, Trace, Value

_PLAIN = {operator.getitem, operator.add, operator.sub, operator.mul, operator.floordiv, operator.truediv, operator.neg,
          operator.mod, min, max}
"""Functions of Python that occur between operators: taking a result apart, arithmetic on sizes."""


_DRAWN = frozenset(f"aten.{name}" for name in (
    "rand.default", "rand_like.default", "randn.default", "randn_like.default", "bernoulli.p", "randint.default", "randint.low",
    "randint_like.default", "randint_like.low_dtype", "randperm.default", "uniform.default", "normal_functional.default"))
"""Random numbers come from torch's own generator, anew for every run, as inputs of the kernels."""


@dataclass(frozen=True)
class Imported:
    """A traced graph: its trace, the names of its inputs in the trace (None for numbers), and its outputs.

    An output is a Value, a number or None; `strides` is how torch expects each to lie in memory. `written` are inputs
    that the graph overwrites at its end (by place), with what they become. `drawn` are inputs that a function draws at random.
    """

    trace: Trace
    inputs: tuple[str | None, ...]
    outputs: tuple[Any, ...]
    strides: tuple[tuple[int, ...] | None, ...]
    written: tuple[tuple[int, Value], ...] = ()
    drawn: tuple[tuple[str, Callable[[], Any]], ...] = ()


def trace_graph(module: Any, inputs: Sequence[Any], evaluate: Evaluate, constants: Mapping[int, Any] | None = None) -> Imported:
    """Trace a torch.fx.GraphModule of ATen operators whose nodes hold fake tensors in meta["val"].

    `inputs` are arrays (or numbers) for the placeholders in order; `constants` are tensors for placeholders that are
    weights, by place. Raises KC-I004 for an operator that nothing maps, KC-I002 for a tensor type without kernels.
    """
    trace = Trace(evaluate)
    scope: dict[Any, Any] = {}
    names: list[str | None] = []
    outputs: Any = ()
    place = 0
    written: dict[Any, Value] = {}
    drawn: list[tuple[str, Callable[[], Any]]] = []
    for n in module.graph.nodes:
        match n.op:
            case "placeholder":
                given = (constants or {}).get(place)
                if given is not None:
                    scope[n] = trace.constant(to_array(given))
                    names.append(None)
                elif isinstance(inputs[place], np.ndarray):
                    scope[n] = trace.input(n.name, inputs[place])
                    names.append(scope[n].name)
                else:
                    scope[n] = inputs[place]
                    names.append(None)
                place += 1
            case "get_attr":
                scope[n] = _attribute(module, n.target, trace)
            case "call_function" if str(n.target) == "aten.copy_.default" and n.args[0].op == "placeholder":
                written[n.args[0]] = scope[n] = _called(n, scope, trace)
            case "call_function" if str(n.target) in _DRAWN:
                spec = _specs(n.meta["val"])[0]
                assert spec is not None
                scope[n] = trace.input("random", np.zeros(spec.shape, spec.dtype.numpy))
                drawn.append((scope[n].name, _draw(n)))
            case "call_function":
                scope[n] = _called(n, scope, trace)
            case "output":
                outputs = n.args[0]
            case _:
                raise KernelcatError("KC-I003", f"the graph holds a {n.op} node ({n.target})",
                                     hint="export it to ATen operators first")
    listed = list(outputs) if isinstance(outputs, (list, tuple)) else [outputs]
    order = [n for n in module.graph.nodes if n.op == "placeholder"]
    final = {**scope, **written}  # who returns an overwritten input means what it became
    return Imported(trace, tuple(names), tuple(_resolved(o, final) for o in listed), tuple(_stride(o) for o in listed),
                    tuple((order.index(n), v) for n, v in written.items()), tuple(drawn))


def _draw(n: Any) -> Callable[[], Any]:
    """A call of the operator on what its arguments look like: their contents do not matter to it."""
    import torch

    def concrete(item: Any) -> Any:
        return torch.empty(item.shape, dtype=item.dtype) if isinstance(item, torch.Tensor) else item

    args, kwargs = [concrete(a) for a in _fakes(n.args)], {k: concrete(v) for k, v in _fakes(n.kwargs).items()}
    return lambda: n.target(*args, **kwargs)


def _attribute(module: Any, target: str, trace: Trace) -> Any:
    found = module
    for part in target.split("."):
        found = getattr(found, part)
    return trace.constant(to_array(found)) if hasattr(found, "dtype") else found


def _called(n: Any, scope: dict[Any, Any], trace: Trace) -> Any:
    args, kwargs = _resolved(n.args, scope), _resolved(n.kwargs, scope)
    if n.target in _PLAIN:
        return n.target(*args, **kwargs)
    name = str(n.target)
    schema = getattr(n.target, "_schema", None)
    found = TABLE.get(name)
    if found is None or schema is None:
        raise KernelcatError("KC-I004", f"the operator {name} is not mapped",
                             hint="`kernelcat coverage torch` lists what is; run this operator outside of the compiled part")
    positional, keywords = _bound(schema, args, kwargs)
    metas, _ = _bound(schema, _fakes(n.args), _fakes(n.kwargs))
    specs = _specs(n.meta.get("val"))
    node = Node(name, trace, specs, keywords, tuple(metas))
    try:
        if specs and all(s is None or s.size == 0 for s in specs):
            made: Any = [None if s is None else trace.constant(np.empty(s.shape, s.dtype.numpy)) for s in specs]
        else:
            made = found(node, *positional)
        results = [made] if isinstance(made, Value) else list(made)
        fitted = [_fitted(node, v, s) for v, s in zip(results, specs, strict=True)]
    except KernelcatError as error:
        if error.code.startswith("KC-I"):
            raise
        raise KernelcatError("KC-I004", f"{name}: {error.message} ({error.code})", hint=error.hint) from None
    return fitted if isinstance(n.meta.get("val"), (list, tuple)) else fitted[0]


def _fitted(node: Node, value: Any, spec: Spec | None) -> Any:
    """A result with the type that torch gives it. A wrong shape is a fault of the mapping."""
    if spec is None or not isinstance(value, Value):
        return value
    if value.shape != spec.shape:
        raise KernelcatError("KC-I001", f"{node.op} became {list(value.shape)}, torch says {list(spec.shape)}",
                             hint="this is a fault of the importer, please report the model")
    return node.cast(value, spec.dtype)


def _bound(schema: Any, args: Sequence[Any], kwargs: Mapping[str, Any]) -> tuple[list[Any], dict[str, Any]]:
    """Positional arguments with defaults filled in, and keyword-only ones."""
    positional: list[Any] = []
    keywords: dict[str, Any] = {}
    for k, a in enumerate(schema.arguments):
        value = args[k] if k < len(args) and not a.kwarg_only else kwargs.get(a.name, a.default_value)
        if a.kwarg_only:
            keywords[a.name] = value
        else:
            positional.append(value)
    return positional, keywords


def _resolved(item: Any, scope: dict[Any, Any]) -> Any:
    if isinstance(item, (list, tuple)):
        return type(item)(_resolved(x, scope) for x in item) if type(item) in (list, tuple) else [_resolved(x,
                                                                                                            scope) for x in item]
    if isinstance(item, dict):
        return {k: _resolved(v, scope) for k, v in item.items()}
    if isinstance(item, slice):
        return slice(_resolved(item.start, scope), _resolved(item.stop, scope), _resolved(item.step, scope))
    return scope[item] if hasattr(item, "op") and hasattr(item, "meta") else item


def _fakes(item: Any) -> Any:
    """Arguments with each node replaced by its fake tensor."""
    if isinstance(item, (list, tuple)):
        return [_fakes(x) for x in item]
    if isinstance(item, dict):
        return {k: _fakes(v) for k, v in item.items()}
    return item.meta.get("val") if hasattr(item, "meta") else item


def _specs(val: Any) -> tuple[Spec | None, ...]:
    listed = val if isinstance(val, (list, tuple)) else [val]
    return tuple(_spec(v) for v in listed)


def _spec(v: Any) -> Spec | None:
    if not hasattr(v, "dtype"):
        return None
    return Spec(element_type(v.dtype), tuple(int(s) for s in v.shape), tuple(int(s) for s in v.stride()))


def _stride(node: Any) -> tuple[int, ...] | None:
    val = node.meta.get("val") if hasattr(node, "meta") else None
    return tuple(int(s) for s in val.stride()) if val is not None and hasattr(val, "stride") else None


__all__ = ["Array", "Imported", "trace_graph"]
