"""The only file that chains the hops: text -> formula -> graph -> tile programs -> source -> binary -> run."""

from __future__ import annotations

import hashlib
from collections.abc import Mapping
from dataclasses import dataclass
from functools import lru_cache
from typing import Any

import numpy as np
import numpy.typing as npt

from kernelcat_core import debug
from kernelcat_core import formula as language
from kernelcat_core.backends import resolve
from kernelcat_core.backends.device import Compiled, Device
from kernelcat_core.backends.manifest import Backend
from kernelcat_core.codegen.source import Source
from kernelcat_core.errors import Failure, KernelcatError
from kernelcat_core.ir.expr import Expr, evaluate
from kernelcat_core.ir.graph import Graph, Tensor
from kernelcat_core.ir.printer import print_expr
from kernelcat_core.ir.tile import TileModule
from kernelcat_core.runtime.runner import KernelJob, KernelOutcome, TensorSpec, run_kernel
from kernelcat_core.schedule.knobs import Config, SearchSpace
from kernelcat_core.schedule.lower import lower as lower_graph
from kernelcat_core.schedule.lower import space as space_of
from kernelcat_core.target import Target

Array = npt.NDArray[Any]


@dataclass(frozen=True)
class Analysis:
    """Hops 1 and 2: the graph of a formula (sizes symbolic), the sizes that given shapes fix, and a whole workload."""

    source: str
    graph: Graph
    given: Mapping[str, int]
    workload: Mapping[str, int]
    lowered: language.Lowered

    def is_legal(self, sizes: Mapping[str, int]) -> bool:
        """Whether the formula has a value at these sizes."""
        return all(r.holds(sizes) for r in self.lowered.requirements) and self._negative(sizes) is None

    def require(self, sizes: Mapping[str, int]) -> None:
        """Raise the located error of the first requirement of the formula that these sizes break."""
        self.lowered.check(sizes)
        t = self._negative(sizes)
        if t is not None:
            raise KernelcatError("KC-F017", f"{t.name} would have the shape {list(shape_of(t, sizes))}",
                                 hint="the inputs are too small for this formula")

    def _negative(self, sizes: Mapping[str, int]) -> Tensor | None:
        """A tensor with an axis below zero at these sizes (a window larger than its input)."""
        return next((t for t in self.graph.tensors.values() if any(n < 0 for n in shape_of(t, sizes))), None)


@dataclass(frozen=True)
class Rendering:
    """Hops 3 to 5 for one target and Config."""

    target: Target
    backend: Backend
    module: TileModule
    source: Source
    config: Config


def analyse(source: str, shapes: Mapping[str, str] | None = None) -> Analysis:
    """Parse and lower a formula; `shapes` maps input names to texts such as "4096x1024:f32"."""
    if not isinstance(source, str):
        raise KernelcatError("KC-F005", f"a formula is text, not {type(source).__name__}",
                             hint='for example "Y = softmax(X, axis=-1)"')
    specs = {name: language.parse_shape(text) for name, text in (shapes or {}).items()}
    lowered = language.lower(language.parse(source), specs)
    debug.hop("formula", hashlib.sha256(source.encode()).hexdigest(), source)
    debug.hop("graph", lowered.graph.digest, lowered.graph.text)
    return Analysis(source, lowered.graph, lowered.bindings, language.default_workload(lowered), lowered)


@lru_cache(maxsize=512)
def _render(graph: Graph, target: Target, config: Config) -> tuple[TileModule, Source, Config]:
    backend, _ = resolve(target.name)
    module = lower_graph(graph, target, config)
    debug.hop("tile", module.digest, module.text, target.name)
    source: Source = backend.load_render()(module, target)
    debug.hop("source", source.digest, source.text, target.name)
    return module, source, Config(module.config)


def render(graph: Graph, target_name: str, config: Config = Config()) -> Rendering:
    """Schedule and render `graph` for a target or device name.

    A default that does not fit the target's on-chip memory (KC-R001) is retried with fewer lanes; a config that the
    caller chose is not changed.
    """
    backend, target = resolve(target_name)
    attempt = config
    while True:
        try:
            module, source, complete = _render(graph, target, attempt)
            return Rendering(target, backend, module, source, complete)
        except KernelcatError as error:
            smaller = _smaller(graph, target, attempt, config) if error.code == "KC-R001" else None
            if smaller is None:
                raise
            attempt = smaller


def _smaller(graph: Graph, target: Target, attempt: Config, asked: Config) -> Config | None:
    """The next smaller value for every lane knob that the caller left open; None when all are at their least."""
    space = space_of(graph, target)
    values = space.complete(attempt).as_dict()
    fixed = asked.as_dict()
    changed = False
    for knob in space.knobs:
        place = knob.values.index(values[knob.name])
        if knob.name.rpartition(".")[2] in ("lanes", "BM", "BN", "BK") and knob.name not in fixed and place > 0:
            values[knob.name] = knob.values[place - 1]
            changed = True
    return Config.of(values) if changed else None


def space(graph: Graph, target_name: str) -> SearchSpace:
    """The search space of `graph` on a target."""
    return space_of(graph, resolve(target_name)[1])


def device_of(rendering: Rendering) -> Device:
    """The device of the rendering's backend."""
    made: Device = rendering.backend.load_device()()
    return made


def compiled(rendering: Rendering, opt_level: str = "O3") -> Compiled | Failure | None:
    """Hop 6 with a vendor's compiler; None where there is none."""
    made = device_of(rendering).compile(rendering.source, rendering.target, opt_level)
    if isinstance(made, Compiled):
        debug.hop("log", rendering.source.digest, made.log, rendering.target.name)
        debug.hop("assembly", rendering.source.digest, made.assembly, rendering.target.name)
    return made


def shape_of(t: Tensor, sizes: Mapping[str, int]) -> tuple[int, ...]:
    """The shape of `t` at the given sizes."""
    return tuple(evaluate(d, sizes) for d in t.shape)


def dim_text(d: Expr) -> str:
    """A dimension as people read it."""
    return print_expr(d)


def output_specs(module: TileModule, sizes: Mapping[str, int]) -> tuple[TensorSpec, ...]:
    return tuple(TensorSpec(shape_of(t, sizes), t.dtype.numpy) for t in module.outputs)


def job(rendering: Rendering, library: Any, inputs: Mapping[str, Array], sizes: Mapping[str, int], *, threads: int = 2,
        repeats: int = 0, environment: Mapping[str, str] | None = None, timeout_s: float = 30.0, budget_s: float = 2.0
        ) -> KernelJob:
    """The sandboxed run of a compiled rendering on named inputs."""
    m = rendering.module
    arrays = tuple(np.ascontiguousarray(inputs[t.name], t.dtype.numpy) for t in m.inputs)
    return KernelJob(library=library, entry=rendering.source.entry, inputs=arrays, outputs=output_specs(m, sizes),
                     sizes=tuple(sizes[n] for n in m.sizes), threads=threads, repeats=repeats, timeout_s=timeout_s,
                     budget_s=budget_s, environment=tuple(sorted((environment or {}).items())),
                     needs=device_of(rendering).describe().needs)


def run(rendering: Rendering, library: Any, inputs: Mapping[str, Array], sizes: Mapping[str, int], **options: Any
        ) -> dict[str, Array] | Failure:
    """Run in the sandbox; outputs by name."""
    outcome: KernelOutcome | Failure = run_kernel(job(rendering, library, inputs, sizes, **options))
    if isinstance(outcome, Failure):
        return outcome
    return {t.name: a for t, a in zip(rendering.module.outputs, outcome.outputs)}


def workload_text(a: Analysis) -> str:
    """The workload in the form that shapes are given in: `X=4096x1024:f32, ...`."""
    texts = []
    for t in a.graph.inputs:
        shape = "x".join(map(str, shape_of(t, a.workload))) or "scalar"
        texts.append(f"{t.name}={shape}:{t.dtype}")
    return ", ".join(texts)
