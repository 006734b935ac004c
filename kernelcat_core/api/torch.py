"""PyTorch on generated kernels: kernelcat.compile, and the backend of torch.compile."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any


def compile(module: Callable[..., Any], example_inputs: Sequence[Any] = (), example_kwargs: Mapping[str, Any] | None = None, *,
            threads: int | None = None, opt_level: str = "O3") -> Any:
    """A torch.nn.Module, or a function of tensors, on generated C kernels, for inference.

    The callable takes and gives what `module` does; with `example_inputs` it is ready for their shapes at once. Weights
    are constants of the kernels: after they change it compiles again. Gradients: torch.compile(m, backend="kernelcat").
    Raises KC-I004 naming an operator that has no formula, KC-I002 for complex tensors.
    """
    from kernelcat_core.pipeline.network import torch_backend
    from kernelcat_core.pipeline.network.torch_module import Options, TorchNetwork

    torch_backend.register()
    network = TorchNetwork(module, Options(threads, opt_level))
    if example_inputs or example_kwargs:
        network(*example_inputs, **(example_kwargs or {}))
    return network


def backend(module: Any, inputs: Sequence[Any], **chosen: Any) -> Callable[..., Any]:
    """What torch.compile(backend="kernelcat") calls (entry point of this package)."""
    from kernelcat_core.pipeline.network import torch_backend

    return torch_backend.backend(module, inputs, **chosen)
