"""PyTorch modules and graphs as callables: traced once for every set of shapes, run on plans of generated kernels."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from kernelcat_core.importers.torch_model.decompositions import export_table
from kernelcat_core.importers.torch_model.run import Imported, trace_graph
from kernelcat_core.importers.torch_model.tensors import laid_out, to_array, to_tensor
from kernelcat_core.importers.trace import Array, Value
from kernelcat_core.ir.graph import Graph
from kernelcat_core.pipeline.network.plan import Plan


@dataclass(frozen=True)
class Options:
    """`threads` as for kernelcat.kernel; `opt_level` is the C compiler's."""

    threads: int | None = None
    opt_level: str = "O3"

    def plan(self, graph: Graph, constants: Mapping[str, Array] | None = None, deferred: bool = False) -> Plan:
        """The kernels of a graph."""
        return Plan(graph, constants, threads=self.threads, opt_level=self.opt_level, deferred=deferred)

    def evaluate(self, graph: Graph, feeds: Mapping[str, Array]) -> Mapping[str, Array]:
        """The outputs of a graph for arrays."""
        return self.plan(graph).run(feeds)


class CompiledGraph:
    """An FX graph of ATen operators on kernels, for inputs of the traced shapes. Takes and gives flat lists of tensors."""

    def __init__(self, imported: Imported, options: Options, deferred: bool = False) -> None:
        self.imported = imported
        trace = imported.trace
        self.names = [trace.named(v) if isinstance(v, Value) else None for v in imported.outputs]
        self.written = [(k, trace.named(v)) for k, v in imported.written]
        wanted = [n for n in self.names if n is not None] + [n for _, n in self.written]
        self.plan = options.plan(trace.graph(wanted), trace.fixed, deferred)
        self._fixed: set[str | None] = {*trace.fixed, *imported.inputs}

    def __call__(self, inputs: Sequence[Any]) -> list[Any]:
        """Outputs in order: tensors, numbers, None. `inputs` are tensors for every input that is no constant."""
        arrays = {name: to_array(t) for name, t in zip(self.imported.inputs, inputs) if name is not None and hasattr(t, "dtype")}
        arrays.update({name: to_array(draw()) for name, draw in self.imported.drawn})
        made = self.plan.run(arrays)
        outputs: list[Any] = []
        for value, name, stride in zip(self.imported.outputs, self.names, self.imported.strides, strict=True):
            if name is None:
                outputs.append(value)
                continue
            array = made[name]
            tensor = to_tensor(array.copy() if name in self._fixed else array, value.dtype)
            outputs.append(laid_out(tensor, stride))
        for (place, name), (_, value) in zip(self.written, self.imported.written, strict=True):
            inputs[place].detach().copy_(to_tensor(made[name], value.dtype))
        return outputs


def compiled(module: Any, inputs: Sequence[Any], options: Options, constants: Mapping[int, Any] | None = None,
             deferred: bool = False) -> CompiledGraph:
    """The kernels of a graph for tensors (numbers stay what they are). `deferred`: to be loaded by plan.load_all."""
    arrays = [to_array(t) if hasattr(t, "dtype") and k not in (constants or {}) else t for k, t in enumerate(inputs)]
    return CompiledGraph(trace_graph(module, arrays, options.evaluate, constants), options, deferred)


class TorchNetwork:
    """A torch.nn.Module (or function of tensors) on generated kernels, for inference: weights are constants.

    Call it as the module; it gives what the module gives. New shapes, and weights that changed, are traced again.
    Raises KC-I004 naming the operator that has no formula.
    """

    def __init__(self, module: Any, options: Options) -> None:
        self.module = module
        self.options = options
        self._ready: dict[Any, tuple[CompiledGraph, Any]] = {}

    def __call__(self, *args: Any, **kwargs: Any) -> Any:
        import torch
        from torch.utils import _pytree as pytree

        flat, structure = pytree.tree_flatten((args, kwargs))
        key = (tuple(_signature(x) for x in flat), structure, self._weights())
        found = self._ready.get(key)
        if found is None:
            with torch.no_grad():
                found = self._ready[key] = self._traced(args, kwargs)
        graph, finish = found
        return finish(graph(flat))

    def _weights(self) -> tuple[int, ...]:
        """Versions of parameters and buffers: a training step or load_state_dict changes them."""
        if not hasattr(self.module, "parameters"):
            return ()
        return (*(p._version for p in self.module.parameters()), *(b._version for b in self.module.buffers()),
                int(self.module.training))

    def _traced(self, args: tuple[Any, ...], kwargs: dict[str, Any]) -> tuple[CompiledGraph, Callable[[list[Any]], Any]]:
        """The graph with weights as constants, and what makes the module's results of its outputs."""
        from torch.utils import _pytree as pytree

        exported = exported_program(self.module, args, kwargs)
        signature = exported.graph_signature
        state = {**exported.state_dict, **exported.constants}
        constants: dict[int, Any] = {}
        inputs: list[Any] = []
        flat = pytree.tree_leaves((args, kwargs))
        for place, spec in enumerate(signature.input_specs):
            if spec.kind.name == "USER_INPUT":
                inputs.append(flat[len(inputs) - len(constants)])
            else:
                constants[place] = state[spec.target]
                inputs.append(None)
        graph = compiled(exported.graph_module, inputs, self.options, constants)
        places = [k for k, s in enumerate(signature.output_specs) if s.kind.name == "USER_OUTPUT"]
        first = len(constants)
        graph_inputs = _UserInputs(graph, first)
        mutated = [(k, s) for k, s in enumerate(signature.output_specs) if s.kind.name != "USER_OUTPUT"]
        buffers = dict(self.module.named_buffers()) if hasattr(self.module, "named_buffers") else {}

        def finish(outputs: list[Any]) -> Any:
            for k, s in mutated:
                if s.target in buffers:
                    buffers[s.target].copy_(outputs[k])
            return pytree.tree_unflatten([outputs[k] for k in places], exported.call_spec.out_spec)

        return graph_inputs, finish  # type: ignore[return-value]


class _UserInputs:
    """A compiled graph whose first inputs are constants."""

    def __init__(self, graph: CompiledGraph, skipped: int) -> None:
        self.graph, self._before = graph, [None] * skipped

    def __call__(self, inputs: Sequence[Any]) -> list[Any]:
        return self.graph([*self._before, *inputs])


def exported_program(module: Any, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
    """torch.export's program of a module or function, decomposed for the table."""
    import torch

    if not isinstance(module, torch.nn.Module):
        module = _Function(module).module
    program = torch.export.export(module, args, kwargs, strict=False)
    return program.run_decompositions(export_table())


class _Function:
    """A function as a module."""

    def __init__(self, function: Callable[..., Any]) -> None:
        import torch

        class Wrapped(torch.nn.Module):
            def forward(self, *args: Any, **kwargs: Any) -> Any:
                return function(*args, **kwargs)

        self.module = Wrapped()


def _signature(x: Any) -> Any:
    return (x.dtype, tuple(x.shape)) if hasattr(x, "dtype") and hasattr(x, "shape") else x


__all__ = ["CompiledGraph", "Options", "TorchNetwork", "compiled"]
