"""From a graph to tile programs for one target: partition, then one rule a kernel class."""

from __future__ import annotations

from dataclasses import replace
from functools import lru_cache

from kernelcat_core.ir.expr import sizes as sizes_of
from kernelcat_core.ir.graph import Graph, Select, Tensor
from kernelcat_core.ir.tile import TileModule, TileProgram
from kernelcat_core.schedule.chains import chains_of
from kernelcat_core.schedule.emit import Emitter
from kernelcat_core.schedule.kernel import Kernel
from kernelcat_core.schedule.knobs import Config, Knob, SearchSpace
from kernelcat_core.schedule.partition import Partition, partition
from kernelcat_core.schedule.rules import attention, column, contraction, order, row, scan, scatter, select, whole
from kernelcat_core.schedule.rules.common import place
from kernelcat_core.schedule.stored import stored_as_bytes
from kernelcat_core.target import ExecutionModel, Target

# Elements a statement works on at once: what fills vector registers, a block of threads, an on-chip buffer.
_LANES: dict[ExecutionModel, Knob] = {
    "vector": Knob("lanes", (64, 128, 256, 512, 1024, 2048, 4096, 8192), 1024),
    "simt": Knob("lanes", (128, 256, 512, 1024, 2048), 512),
    "dma": Knob("lanes", (256, 512, 1024, 2048, 4096), 2048),
}
# Accumulators of a CPU kernel should stay in registers, so its reductions take few lanes.
_REDUCING = Knob("lanes", (16, 32, 64, 128, 256, 512), 64)
_PARTS: dict[ExecutionModel, Knob] = {
    "vector": Knob("parts", (1, 4, 16, 64), 16),
    "simt": Knob("parts", (32, 64, 128, 256), 128),
    "dma": Knob("parts", (8, 16, 32, 64), 32),
}
# Elements of a row that a core may keep in its first-level cache between sweeps; 0: read it again each time.
_RESIDENT = Knob("resident", (0, 1024, 2048, 4096), 2048)
# Chained reductions in one sweep (rows that are not resident, columns), or one after the other.
_ONLINE = Knob("online", (0, 1), 1)
_THREADS = Knob("threads", (64, 128, 256, 512), 128)


# Positions that are sorted by rank before runs are merged: ranking costs their square.
_BLOCK: dict[ExecutionModel, Knob] = {
    "vector": Knob("block", (8, 16, 32, 64), 32),
    "simt": Knob("block", (32, 64, 128, 256), 128),
    "dma": Knob("block", (32, 64, 128), 64),
}


def _is_order(kernel: Kernel) -> bool:
    node = kernel.nodes[0]
    return isinstance(node, Select) and order.applies(node)


@lru_cache(maxsize=256)
def _partition(graph: Graph, fuse: bool, weighted: bool = True) -> Partition:
    return partition(graph, fuse, weighted)


def kernels(graph: Graph, fuse: bool = True) -> tuple[Kernel, ...]:
    """The fusion groups of `graph` in launch order."""
    return _partition(graph, fuse).kernels


def rewritten(graph: Graph) -> Graph:
    """The graph that `kernels` speaks of: after the rewrites that come before partition."""
    return _partition(graph, True).graph


def _as_held(graph: Graph, target: Target) -> Graph:
    """The graph as the target keeps it in memory. A module's inputs and outputs stay as declared: the bytes are the same."""
    return graph if target.limit("storage_types", 1) else stored_as_bytes(graph)


def _knobs(kernel: Kernel, graph: Graph, target: Target) -> tuple[Knob, ...]:
    if kernel.kernel_class == "contraction":
        found = contraction.match(kernel.nodes[0], graph)
        assert found is not None
        own = contraction.knobs(found, target)
    elif kernel.kernel_class == "attention":
        own = attention.KNOBS
    else:
        own = (_REDUCING if target.model == "vector" and kernel.kernel_class == "row" else _LANES[target.model],)
        if target.model == "vector" and kernel.kernel_class == "row":
            own = (*own, _RESIDENT)
        if target.model == "vector" and kernel.kernel_class in ("row", "column") and _has_chain(kernel, graph):
            own = (*own, _ONLINE)
            if kernel.kernel_class == "column":
                own = (replace(own[0], default=512), *own[1:])
        if whole.applies(kernel):
            own = (*own, _PARTS[target.model])
        if _is_order(kernel):
            own = (*own, _BLOCK[target.model])
    if target.model == "simt" and kernel.kernel_class != "contraction":
        most = target.limit("threads", _THREADS.values[-1])
        own = (*own, replace(_THREADS, values=tuple(n for n in _THREADS.values if n <= most)))
    stem = kernel.nodes[-1].output.name
    return tuple(replace(k, name=f"{stem}.{k.name}") for k in own)


def _has_chain(kernel: Kernel, graph: Graph) -> bool:
    return bool(chains_of(place(Emitter(graph, kernel.name, kernel.kernel_class), kernel)[1]))


def space(graph: Graph, target: Target) -> SearchSpace:
    """Every knob of `graph` on `target`: `fuse`, then `<tensor>.<knob>` for the kernel that makes each tensor."""
    graph = _as_held(graph, target)
    fused, split = _partition(graph, True, target.model in attention.MODELS), _partition(graph, False)
    knobs: dict[str, Knob] = {}
    if len(fused.kernels) != len(split.kernels):
        knobs["fuse"] = Knob("fuse", (0, 1), 1)
    for p in (fused, split) if "fuse" in knobs else (fused,):
        for kernel in p.kernels:
            knobs.update({k.name: k for k in _knobs(kernel, p.graph, target) if k.name not in knobs})
    return SearchSpace(tuple(knobs.values()))


def lower(graph: Graph, target: Target, config: Config = Config(), name: str = "kernel") -> TileModule:
    """The tile programs of `graph` for `target` under `config` (missing knobs take their defaults).

    Raises KC-S002 for a knob or value outside `space(graph, target)`.
    """
    complete = space(graph, target).complete(config)
    values = complete.as_dict()
    declared, graph = graph, _as_held(graph, target)
    p = _partition(graph, bool(values.get("fuse", 1)), target.model in attention.MODELS)
    programs: list[TileProgram] = []
    temporaries: list[Tensor] = []
    for kernel in p.kernels:
        stem = kernel.nodes[-1].output.name
        own = {k.removeprefix(f"{stem}."): v for k, v in values.items() if k.startswith(f"{stem}.")}
        made, extra = _lower_kernel(kernel, p, own, target)
        programs += [replace(m, threads=own["threads"]) if "threads" in own else m for m in made]
        temporaries += extra
        temporaries += [n.output for n in kernel.nodes if n.output.name in kernel.stored
                        and n.output.name not in p.graph.outputs]
    tensors = p.graph.tensors
    outputs = tuple(replace(tensors[n], dtype=declared.tensors[n].dtype) for n in p.graph.outputs)
    names = dict.fromkeys(graph.size_names)
    for t in (*outputs, *temporaries):
        for d in t.shape:
            names.update(dict.fromkeys(sizes_of(d)))
    return TileModule(name, tuple(names), declared.inputs, outputs, tuple(temporaries), tuple(programs), complete.values)


def _lower_kernel(kernel: Kernel, p: Partition, values: dict[str, int], target: Target
                  ) -> tuple[list[TileProgram], list[Tensor]]:
    graph = p.graph
    if kernel.kernel_class == "attention":
        weighted = next(p.sums[n.output.name] for n in kernel.nodes if n.output.name in p.sums)
        return [attention.lower(kernel, weighted, graph, values)], []
    if kernel.kernel_class == "contraction":
        found = contraction.match(kernel.nodes[0], graph)
        assert found is not None
        programs, temporaries = contraction.lower(kernel, found, graph, values, target)
        return list(programs), list(temporaries)
    if whole.applies(kernel):
        return whole.lower(kernel, graph, values["lanes"], values["parts"])
    if kernel.kernel_class == "row":
        return [row.lower(kernel, graph, values["lanes"], values.get("resident", 0), bool(values.get("online", 0)))], []
    if kernel.kernel_class == "scan":
        return [scan.lower(kernel, graph, values["lanes"], target)], []
    if _is_order(kernel):
        return order.lower(kernel, graph, values["lanes"], values["block"], target)
    if kernel.kernel_class == "scatter":
        return scatter.lower(kernel, graph, values["lanes"], target), []
    if kernel.kernel_class == "column":
        return [column.lower(kernel, graph, values["lanes"], bool(values.get("online", 0)))], []
    rule = {"elementwise": column.lower, "select": select.lower}
    program = rule[kernel.kernel_class](kernel, graph, values["lanes"])
    return [program], []
