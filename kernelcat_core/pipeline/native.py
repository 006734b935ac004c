"""Hand-written kernels: compiled, run in the sandbox on the same cases as generated ones, compared with a formula."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import replace
from itertools import chain
from pathlib import Path

from kernelcat_core.backends import resolve
from kernelcat_core.codegen.native import Native, arguments, launch
from kernelcat_core.codegen.source import Source
from kernelcat_core.errors import Failure, KernelcatError
from kernelcat_core.ir.tile import TileModule
from kernelcat_core.pipeline import entering, hops
from kernelcat_core.pipeline.cases import cases
from kernelcat_core.pipeline.checking import TargetReport, Timed, check_rendering
from kernelcat_core.runtime import client
from kernelcat_core.schedule.knobs import Config


def require_language(native: Native, target_name: str) -> None:
    """Raise KC-R001 when the kernel is not in the target's language."""
    backend, target = resolve(target_name)
    if backend.name != native.language:
        raise KernelcatError("KC-R001", f"{native.name} is {native.language} source, {target.name} takes {backend.name}",
                             hint=f"build it for a {native.language} target, or return a formula for all targets")


def source(native: Native, target_name: str) -> Source:
    """The text as it is, for compiling only."""
    require_language(native, target_name)
    return Source(native.text, native.name, native.language, resolve(target_name)[1].name)


def rendering(native: Native, a: hops.Analysis, target_name: str, spec: Mapping[str, object] | None) -> hops.Rendering:
    """The kernel in the place of what `a`'s formula would generate: same inputs, outputs and sizes."""
    require_language(native, target_name)
    backend, target = resolve(target_name)
    adapter = backend.load_native()
    if adapter is None:
        raise KernelcatError("KC-R001", f"hand-written {backend.label} source cannot be run here",
                             hint="build it without reference=: it is compiled where a compiler is at hand")
    g = a.graph
    outputs = tuple(g.tensors[n] for n in g.outputs)
    values = arguments(native, g.inputs, outputs, g.size_names)
    made = adapter(native, values, (*g.inputs, *outputs), g.size_names, launch(spec), target)
    return hops.Rendering(target, backend, TileModule(native.name, g.size_names, g.inputs, outputs, (), ()), made, Config())


def check(native: Native, a: hops.Analysis, target_name: str, spec: Mapping[str, object] | None, seeds: int = 3,
          on_progress: Callable[[str], None] | None = None, *, secret: int | None = None,
          timed_at: Mapping[str, int] | None = None, timeout_s: float = 30.0) -> TargetReport:
    """Compile, run on every case and some secret ones, compare with the formula of `a`, and time from outside at the
    workload of `a` or at the sizes `timed_at`."""
    chosen = entering.fresh_secret() if secret is None else secret

    def timer(a: hops.Analysis, r: hops.Rendering, library: Path, count: int) -> Timed | Failure:
        timing = entering.measure(a, r, library, chosen, timeout_s)
        if isinstance(timing, Failure):
            return timing
        return Timed(timing.measurement, timing.baseline, entering.audit(timing, count, client.layers()))

    r = rendering(native, a, target_name, spec)
    real = "measured" in hops.device_of(r).describe().facts  # nobody is ranked by a model, which is slow
    every = chain(cases(a, seeds), entering.secret_cases(a, chosen) if real else ())
    at = replace(a, workload=timed_at or a.workload)
    return check_rendering(at, r, every, on_progress, timer,
                           timeout_s)
