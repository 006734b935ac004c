"""The backend of torch.compile: AOTAutograd's forward and backward graphs on generated kernels."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from kernelcat_core.importers.torch_model.decompositions import decompositions
from kernelcat_core.pipeline.network.torch_module import CompiledGraph, Options, compiled

NAME = "kernelcat"


def backend(module: Any, inputs: Sequence[Any], **chosen: Any) -> Callable[..., Any]:
    """Compile what Dynamo captured, with gradients. `chosen` are torch.compile's options: threads, opt_level.

    Parameters are inputs of the kernels. Raises KC-I004 naming the operator that has no formula.
    """
    from torch._dynamo.backends.common import aot_autograd

    options = Options(**chosen.get("options", {}))

    def compile_graph(graph: Any, examples: Sequence[Any]) -> Callable[..., Any]:
        return _boxed(graph, options)

    made: Callable[..., Any] = aot_autograd(fw_compiler=compile_graph, bw_compiler=compile_graph,
                                            decompositions=decompositions())(module, inputs)
    return made


def _boxed(graph: Any, options: Options) -> Callable[..., Any]:
    """A function of a list of tensors, which it empties, as AOTAutograd likes it."""
    from torch._functorch.aot_autograd import make_boxed_func

    ready: dict[Any, CompiledGraph] = {}

    def call(*inputs: Any) -> list[Any]:
        import torch

        key = tuple((x.dtype, tuple(x.shape)) if isinstance(x, torch.Tensor) else x for x in inputs)
        if key not in ready:
            ready[key] = compiled(_specialised(graph, inputs), inputs, options)
        with torch.no_grad():
            return ready[key](inputs)

    made: Callable[..., Any] = make_boxed_func(call)
    return made


def _specialised(graph: Any, inputs: Sequence[Any]) -> Any:
    """The graph itself where its sizes are numbers, else traced again for the sizes of these inputs."""
    import torch
    from torch.fx.experimental.proxy_tensor import make_fx

    def is_open(val: Any) -> bool:
        listed = val if isinstance(val, (list, tuple)) else [val]
        return any(isinstance(v,
                              torch.SymInt) or (isinstance(v, torch.Tensor) and any(isinstance(s, torch.SymInt) for s in v.shape))
                   for v in listed)

    if not any(is_open(n.meta.get("val")) for n in graph.graph.nodes):
        return graph
    with torch.no_grad():
        return make_fx(graph, tracing_mode="fake")(*inputs)


def register() -> None:
    """Make the name known to torch.compile; installed packages are found by their entry point as well."""
    from torch._dynamo.backends.registry import _COMPILER_FNS, register_backend

    if NAME not in _COMPILER_FNS:
        register_backend(backend, name=NAME)
