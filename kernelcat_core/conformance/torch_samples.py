"""OpInfo samples as functions of flat tensors, traced the way the backend of torch.compile traces."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import cache
from typing import Any

from kernelcat_core.pipeline.network.torch_module import CompiledGraph, Options, compiled

OPTIONS = Options(1, "O1")
RANDOM = frozenset("""bernoulli cauchy empty empty_like empty_permuted empty_strided exponential geometric log_normal multinomial
    new_empty new_empty_strided nn.functional.alpha_dropout nn.functional.dropout nn.functional.dropout2d
    nn.functional.dropout3d nn.functional.feature_alpha_dropout nn.functional.fractional_max_pool2d
    nn.functional.fractional_max_pool3d nn.functional.multi_head_attention_forward normal normal.in_place rand_like randint
    randint_like randn randn_like uniform nn.functional.rrelu torch.ops.aten._unsafe_masked_index_random""".split())
"""Operators whose results nobody can predict."""


def prepare() -> None:
    """Once a process: few threads, and the time it takes to import the samples."""
    import torch

    torch.set_num_threads(1)
    operator_names()


@cache
def _entries() -> dict[str, Any]:
    from torch.testing._internal.common_methods_invocations import op_db

    return {f"{o.name}.{o.variant_test_name}" if o.variant_test_name else o.name: o for o in op_db if o.name not in RANDOM}


def operator_names() -> list[str]:
    """Operators with predictable results; a variant has its name behind a dot."""
    return sorted(_entries())


def has(name: str, mode: str, dtype: str) -> bool:
    """Whether torch has samples of an operator for a type and mode on CPUs."""
    import torch

    entry, kind = _entries()[name], getattr(torch, dtype)
    if mode == "backward":
        return bool(entry.supports_autograd) and kind in entry.supported_backward_dtypes("cpu")
    return kind in entry.supported_dtypes("cpu")


@dataclass(frozen=True)
class Case:
    """`function` takes the tensors and gives a flat list of tensors; `expected` makes eager's answer."""

    name: str
    function: Callable[..., list[Any]]
    tensors: tuple[Any, ...]
    expected: Callable[[], list[Any]]
    tolerance: tuple[float, float] | None


@dataclass(frozen=True)
class Traced:
    """A sample's graph, with tensors for its inputs."""

    graph: CompiledGraph
    inputs: tuple[Any, ...]


def cases(name: str, mode: str, dtype: str) -> list[Case]:
    """Every sample of an operator."""
    import torch

    torch.manual_seed(7)
    entry, kind = _entries()[name], getattr(torch, dtype)
    found = []
    for sample in entry.sample_inputs("cpu", kind, requires_grad=mode == "backward"):
        flat, rebuild = _split(sample)
        function = _forward(entry, sample, rebuild)
        if mode == "backward":
            made = _backward(name, function, flat, _tolerance(entry, kind))
            if made is not None:
                found.append(made)
        else:
            flat = tuple(t.detach() for t in flat)
            found.append(Case(name, function, flat, _eager(function, flat), _tolerance(entry, kind)))
    return found


def _eager(function: Callable[..., list[Any]], tensors: Sequence[Any]) -> Callable[[], list[Any]]:
    return lambda: function(*(t.clone() for t in tensors))


def _tolerance(entry: Any, dtype: Any) -> tuple[float, float] | None:
    """(atol, rtol) that the operator's entry grants for the type in any test; None for the defaults of the type."""
    from torch.testing._internal.common_device_type import toleranceOverride

    granted = [d.tol_dict if hasattr(d, "tol_dict") else d.d for decorator in entry.decorators
               for d in getattr(decorator, "decorators", []) if isinstance(d, toleranceOverride)]
    found = [t[dtype] for t in granted if dtype in t]
    return (max(t.atol for t in found), max(t.rtol for t in found)) if found else None


def _split(sample: Any) -> tuple[tuple[Any, ...], Callable[[Sequence[Any]], Any]]:
    """The tensors of a sample, and what puts others in their places."""
    import torch
    from torch.utils import _pytree as pytree

    leaves, structure = pytree.tree_flatten((sample.input, sample.args, sample.kwargs))
    places = [k for k, x in enumerate(leaves) if isinstance(x, torch.Tensor)]

    def rebuild(tensors: Sequence[Any]) -> Any:
        copy = list(leaves)
        for k, t in zip(places, tensors, strict=True):
            copy[k] = t
        return pytree.tree_unflatten(copy, structure)

    return tuple(leaves[k] for k in places), rebuild


def _forward(entry: Any, sample: Any, rebuild: Callable[[Sequence[Any]], Any]) -> Callable[..., list[Any]]:
    import torch
    from torch.utils import _pytree as pytree

    def function(*tensors: Any) -> list[Any]:
        given, args, kwargs = rebuild(tensors)
        made = entry.op(given, *args, **kwargs)
        return [t for t in pytree.tree_leaves(made) if isinstance(t, torch.Tensor)]

    return function


def _backward(name: str, function: Callable[..., list[Any]], tensors: tuple[Any, ...], tolerance: tuple[float, float] | None
              ) -> Case | None:
    """Gradients of a sample's outputs, weighted by random tangents, for all its inputs; None where nothing has one."""
    import torch

    wanted = [k for k, t in enumerate(tensors) if t.requires_grad]
    leaves = [t.detach().clone().requires_grad_(t.requires_grad) for t in tensors]
    results = function(*(t.clone() for t in leaves))
    chosen = [k for k, r in enumerate(results) if r.requires_grad]
    if not wanted or not chosen:
        return None
    tangents = tuple(torch.randn_like(results[k], dtype=torch.float32).to(results[k].dtype) for k in chosen)

    def joint(*given: Any) -> list[Any]:
        primals = [t.detach().requires_grad_(k in wanted) for k, t in enumerate(given[:len(tensors)])]
        outs = function(*(t.view_as(t) for t in primals))
        grads = torch.autograd.grad([outs[k] for k in chosen], [primals[k] for k in wanted], given[len(tensors):],
                                    allow_unused=True)
        return [g for g in grads if g is not None]

    plain = (*(t.detach() for t in tensors), *tangents)
    return Case(name, joint, plain, _eager(joint, plain), tolerance)


def _is_open(val: Any) -> bool:
    """Whether a node's result has a size that only data tell."""
    import torch

    listed = val if isinstance(val, (list, tuple)) else [val]
    return any(isinstance(v, torch.SymInt) or any(isinstance(s, torch.SymInt) for s in getattr(v, "shape", ())) for v in listed)


def traced(case: Case) -> Traced:
    """The sample's graph of ATen operators as a deferred plan. Raises KC-I004 for an operator that nothing maps."""
    import torch
    from torch.fx.experimental.proxy_tensor import make_fx

    from kernelcat_core.importers.torch_model.decompositions import decompositions

    tensors = tuple(t.clone() for t in case.tensors)
    table = decompositions()
    mode = "fake"
    try:
        graph = make_fx(case.function, decomposition_table=table, tracing_mode=mode)(*tensors)
        is_open = any(_is_open(n.meta.get("val")) for n in graph.graph.nodes)
    except Exception:  # torch says in many ways that shapes alone do not tell
        is_open = True
    if is_open:  # data decide a size: traced with the data
        mode = "real"
        graph = make_fx(case.function, decomposition_table=table, tracing_mode=mode)(*tensors)
    if any(getattr(getattr(n.target, "_schema", None), "is_mutable", False) for n in graph.graph.nodes):
        plain = torch.func.functionalize(graph, remove="mutations_and_views")
        graph = make_fx(plain, decomposition_table=table, tracing_mode=mode)(*(t.clone() for t in tensors))
    graph.graph.eliminate_dead_code()
    with torch.no_grad():
        return Traced(compiled(graph, tensors, OPTIONS, deferred=True), tensors)


def difference(case: Case, t: Traced) -> str:
    """Runs the kernels; what differs from eager, "" when nothing does.

    Eager rounds 16-bit floats after every operation where a kernel keeps f32: where those differ by more than the tolerance,
    the kernel's results have to be at least as close to those of float64.
    """
    import torch

    torch.manual_seed(5)  # of random operators both draw the same numbers
    got = t.graph(t.inputs)
    torch.manual_seed(5)
    wanted = [w.detach() for w in case.expected()]
    tolerance: dict[str, Any] = {} if case.tolerance is None else {"atol": case.tolerance[0], "rtol": case.tolerance[1]}
    exact: list[Any] | None = None
    for k, (a, b) in enumerate(zip(got, wanted, strict=True)):
        try:
            torch.testing.assert_close(a, b, equal_nan=True, check_stride=False, **tolerance)
        except (AssertionError, ValueError) as error:
            if exact is None and a.dtype in (torch.float16, torch.bfloat16) and a.shape == b.shape:
                exact = _exact(case)
            if not exact or not _is_closer(a, b, exact[k]):
                return " ".join(str(error).split())[:300]
    return ""


def _exact(case: Case) -> list[Any]:
    """The outputs of the sample in float64; none where it cannot be taken so."""
    import torch

    torch.manual_seed(5)
    try:
        return [r.detach() for r in case.function(*(t.double() if t.is_floating_point() else t.clone() for t in case.tensors))]
    except Exception:  # torch says in many ways that an operator has no float64
        return []


def _is_closer(a: Any, b: Any, exact: Any) -> bool:
    """Whether `a` is as close to `exact` as `b` is or as one rounding gets, in root mean square.

    PyTorch judges its own compiler so (torch._dynamo.utils.same), with a factor of 2 for what `b` is off.
    """
    import torch

    if exact.dtype != torch.float64 or exact.shape != a.shape:
        return False
    rounded = exact.to(a.dtype)
    finite = rounded.isfinite()
    if not torch.equal(a.isnan() & ~finite, rounded.isnan()) or not bool((a[rounded.isinf()] == rounded[rounded.isinf()]).all()):
        return False

    def off(x: Any) -> float:
        return float((x.double() - exact)[finite].square().mean().sqrt())

    if not bool(finite.any()):
        return True
    one = torch.finfo(a.dtype).eps * float(exact[finite].square().mean().sqrt())
    theirs = off(b)
    return bool(off(a) <= max(one, theirs if theirs == theirs else float("inf")))
