"""`kernel(formula, target)`: a callable on NumPy arrays."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

import numpy as np
import numpy.typing as npt

from kernelcat_core.errors import Failure, KernelcatError
from kernelcat_core.ir.expr import Size, evaluate
from kernelcat_core.pipeline import hops
from kernelcat_core.pipeline.evidence import Evidence
from kernelcat_core.runtime.device import usable_cores
from kernelcat_core.runtime.load import LoadedKernel, aligned_empty, load
from kernelcat_core.schedule.knobs import Config

Array = npt.NDArray[Any]


class Kernel:
    """A compiled formula. Call it with one array an input, by keyword; sizes come from the arrays.

    Returns one array, or a tuple of them in the order of the formula's outputs. Targets without hardware here run on
    their functional model. `source` is the kernel text, `config` the schedule, `evidence` what was seen so far.
    """

    def __init__(self, analysis: hops.Analysis, rendering: hops.Rendering, loaded: LoadedKernel, evidence: tuple[Evidence, ...]
                 ) -> None:
        self._analysis = analysis
        self._rendering = rendering
        self._loaded = loaded
        self.evidence = evidence

    @property
    def source(self) -> str:
        return self._rendering.source.text

    @property
    def config(self) -> dict[str, int]:
        return self._rendering.config.as_dict()

    @property
    def target(self) -> str:
        return self._rendering.target.name

    @property
    def inputs(self) -> tuple[str, ...]:
        """Names of the arguments."""
        return tuple(t.name for t in self._analysis.graph.inputs)

    def __call__(self, **arrays: Any) -> Any:
        """Run on `arrays`; scalars may be Python numbers. Raises KC-F020 where they do not fit the formula."""
        return self.prepared(**arrays)()

    def prepared(self, **arrays: Any) -> Callable[[], Any]:
        """The call on these arrays with everything checked once: repeated calls write the same output arrays."""
        module = self._rendering.module
        given = {t.name: self._argument(t, arrays) for t in module.inputs}
        for name in arrays:
            if name not in given:
                raise KernelcatError("KC-F020", f"the formula has no input {name!r}",
                                     hint="inputs: " + ", ".join(self.inputs))
        sizes = self._sizes(given)
        inputs = [given[t.name] for t in module.inputs]
        outputs = tuple(aligned_empty(spec) for spec in hops.output_specs(module, sizes))
        values = [sizes[n] for n in module.sizes]

        def call() -> Any:
            self._loaded.call_into(inputs, outputs, values)
            return outputs[0] if len(outputs) == 1 else outputs

        return call

    def _argument(self, t: Any, arrays: Mapping[str, Any]) -> Array:
        if t.name not in arrays:
            raise KernelcatError("KC-F020", f"input {t.name!r} is missing", hint="inputs: " + ", ".join(self.inputs))
        array = np.asarray(arrays[t.name])
        if array.ndim != len(t.shape):
            raise KernelcatError("KC-F020", f"{t.name} has {array.ndim} axes, the formula says {len(t.shape)}",
                                 hint=f"give {t.name} as {t.dtype}{[hops.dim_text(d) for d in t.shape]}")
        if array.dtype != t.dtype.numpy and (array.ndim or not np.can_cast(array.dtype, t.dtype.numpy, "same_kind")):
            raise KernelcatError("KC-F020", f"{t.name} is {array.dtype}, the formula says {t.dtype}",
                                 hint=f"convert it: {t.name}.astype({t.dtype.numpy.name!r})")
        return np.ascontiguousarray(array, t.dtype.numpy)

    def _sizes(self, given: Mapping[str, Array]) -> dict[str, int]:
        sizes: dict[str, int] = {}
        inputs = self._rendering.module.inputs
        for t in inputs:
            for d, n in zip(t.shape, given[t.name].shape):
                if isinstance(d, Size) and sizes.setdefault(d.name, n) != n:
                    raise KernelcatError("KC-F017", f"size {d.name} is {sizes[d.name]} and {n} (in {t.name})",
                                         hint="axes that share an index must have one size")
        for t in inputs:
            for k, (d, n) in enumerate(zip(t.shape, given[t.name].shape)):
                if evaluate(d, sizes) != n:
                    raise KernelcatError("KC-F017", f"axis {k} of {t.name} is {n}, the formula says {evaluate(d, sizes)}",
                                         hint=f"{t.name} has shape {[hops.dim_text(d) for d in t.shape]}")
        self._analysis.require(sizes)
        return sizes


def kernel(formula: str, target: str = "c", *, shapes: Mapping[str, str] | None = None,
           config: Mapping[str, int] | None = None, threads: int | None = None) -> Kernel:
    """Compile `formula` for `target` ("c", "cuda:sm_80", "ascend:910b" or a device name).

    `threads` (default: all usable cores) is for targets that run on this machine's CPU. Raises KernelcatError: F codes
    for the formula, KC-B002 when nothing here can run the target.
    """
    a = hops.analyse(formula, shapes)
    r = hops.render(a.graph, target, Config.of(config or {}))
    device = hops.device_of(r)
    library = device.library(r.source, r.target)
    if isinstance(library, Failure):
        raise KernelcatError(library.code, library.message, hint=library.hint)
    loaded = load(library.path("shared"), r.source.entry, threads or usable_cores())
    rows: tuple[Evidence, ...] = (Evidence(r.source.digest, r.target.name, r.target.arch, "", "", "", "rendered"),)
    if device.runs_as == "executed":
        rows += (Evidence(r.source.digest, r.target.name, r.target.arch, library.toolchain.label, "", "", "compiled"),)
    return Kernel(a, r, loaded, rows)
