"""`kernel(formula, target)`: a callable on NumPy arrays."""

from __future__ import annotations

import html
import warnings
from collections.abc import Callable, Mapping
from typing import Any

import numpy as np
import numpy.typing as npt

from kernelcat_core.errors import Failure, KernelcatError
from kernelcat_core.formula.scope import closest
from kernelcat_core.ir.expr import Size, evaluate
from kernelcat_core.numerics.compare import Oracle, worst
from kernelcat_core.pipeline import hops
from kernelcat_core.pipeline.evidence import Evidence
from kernelcat_core.pipeline.measuring import operations
from kernelcat_core.runtime.device import usable_cores
from kernelcat_core.runtime.load import LoadedKernel, aligned_empty, load
from kernelcat_core.schedule.knobs import Config

Array = npt.NDArray[Any]
_COMPARED_OPERATIONS = 1 << 20  # a first call of at most this much work is compared with the oracle (milliseconds)


class Kernel:
    """A compiled formula. Call it with one array an input, by keyword; sizes come from the arrays.

    Returns one array, or a tuple of them in the order of the formula's outputs. Targets without hardware here run on
    their functional model. `source` is the kernel text, `config` the schedule, `evidence` what was seen so far: a first
    call that is small enough is compared with the oracle, and then says executed (or emulated, on a model).
    """

    def __init__(self, analysis: hops.Analysis, rendering: hops.Rendering, loaded: LoadedKernel, evidence: tuple[Evidence, ...]
                 ) -> None:
        self._analysis = analysis
        self._rendering = rendering
        self._loaded = loaded
        self._calls = 0
        self.evidence = evidence

    def __repr__(self) -> str:
        """`Kernel Y = softmax(X) for c: X: f32[X_0, X_1] -> Y: f32[X_0, X_1] (rendered, compiled)`."""
        facts = ", ".join(e.fact for e in self.evidence)
        return f"<Kernel for {self.target}: {self.signature} ({facts})>"

    def _repr_html_(self) -> str:
        """For notebooks: the formula, the signature, the facts, and the source behind a disclosure."""
        rows = "".join(f"<li>{html.escape(repr(e))}</li>" for e in self.evidence)
        return (f"<div><code>{html.escape(self._analysis.source.strip())}</code><p>{html.escape(self.target)}: "
                f"<code>{html.escape(self.signature)}</code></p><ul>{rows}</ul><details><summary>source</summary>"
                f"<pre>{html.escape(self.source)}</pre></details></div>")

    @property
    def signature(self) -> str:
        """Inputs and outputs as declarations: `X: f32[M, K] -> Y: f32[M]`."""
        g = self._analysis.graph
        names = [[_declared(t) for t in g.inputs], [_declared(g.tensors[n]) for n in g.outputs]]
        return " -> ".join(", ".join(n) for n in names)

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

    def __call__(self, *positional: Any, **arrays: Any) -> Any:
        """Run on `arrays`, given by name; scalars may be Python numbers. Raises KC-F020 where they do not fit."""
        if positional:
            names = ", ".join(f"{n}=..." for n in self.inputs)
            raise KernelcatError("KC-F020", "arrays are given by name", hint=f"kernel({names})")
        self._calls += 1
        call, given, sizes = self._prepare(arrays)
        outputs = call()
        if self._calls == 1 and operations(self._analysis.graph, sizes) <= _COMPARED_OPERATIONS:
            self._compare(given, outputs if isinstance(outputs, tuple) else (outputs,), sizes)
        return outputs

    def prepared(self, **arrays: Any) -> Callable[[], Any]:
        """The call on these arrays with everything checked once: repeated calls write the same output arrays."""
        return self._prepare(arrays)[0]

    def _prepare(self, arrays: Mapping[str, Any]) -> tuple[Callable[[], Any], dict[str, Array], dict[str, int]]:
        module = self._rendering.module
        for name in arrays:
            if name not in self.inputs:
                raise KernelcatError("KC-F020", f"the formula has no input {name!r}",
                                     hint=closest(name, self.inputs) or "inputs: " + ", ".join(self.inputs))
        given = {t.name: self._argument(t, arrays) for t in module.inputs}
        sizes = self._sizes(given)
        inputs = [given[t.name] for t in module.inputs]
        outputs = tuple(aligned_empty(spec) for spec in hops.output_specs(module, sizes))
        values = [sizes[n] for n in module.sizes]

        def call() -> Any:
            self._loaded.call_into(inputs, outputs, values)
            return outputs[0] if len(outputs) == 1 else outputs

        return call, given, sizes

    def _compare(self, given: Mapping[str, Array], outputs: tuple[Array, ...], sizes: Mapping[str, int]) -> None:
        """Evidence from a call: the fact when its outputs match the oracle, a warning when they do not."""
        r = self._rendering
        found = {t.name: x for t, x in zip(r.module.outputs, outputs)}
        inputs = {t.name: given[t.name].reshape(hops.shape_of(t, sizes)) for t in r.module.inputs}
        verdict = worst(list(Oracle(self._analysis.graph, inputs, sizes).check(found).values()))
        if not verdict.ok:
            warnings.warn(f"KC-N001: {verdict.message}", RuntimeWarning, stacklevel=3)
            return
        device = hops.device_of(r)
        where = ", ".join(f"{t.name}={'x'.join(map(str, given[t.name].shape)) or 'scalar'}:{t.dtype}" for t in r.module.inputs)
        self.evidence += (Evidence(r.source.digest, r.target.name, r.target.arch, "", device.describe().name, where,
                                   device.runs_as, "this call matched the reference"),)

    def _argument(self, t: Any, arrays: Mapping[str, Any]) -> Array:
        if t.name not in arrays:
            raise KernelcatError("KC-F020", f"input {t.name!r} is missing", hint="inputs: " + ", ".join(self.inputs))
        array = np.asarray(arrays[t.name])
        if array.ndim != len(t.shape):
            raise KernelcatError("KC-F020", f"{t.name} has {array.ndim} ax{'is' if array.ndim == 1 else 'es'}, "
                                 f"the formula says {len(t.shape)}",
                                 hint=f"give {_declared(t)}, or declare the axes you mean in the formula")
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
                                         hint=f"the formula says {_declared(t)}")
        self._analysis.require(sizes)
        return sizes


def _declared(t: Any) -> str:
    """A tensor as it is declared: `X: f32[M, K]`."""
    dims = ", ".join(hops.dim_text(d) for d in t.shape)
    return f"{t.name}: {t.dtype}" + (f"[{dims}]" if t.shape else "")


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
