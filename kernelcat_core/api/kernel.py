"""`kernel(formula, target)`: a callable on NumPy arrays."""

from __future__ import annotations

import html
import warnings
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt

from kernelcat_core.backends.device import shown
from kernelcat_core.errors import Failure, KernelcatError
from kernelcat_core.formula.scope import closest
from kernelcat_core.ir.expr import Size, evaluate
from kernelcat_core.ir.graph import Graph
from kernelcat_core.numerics.compare import Oracle, worst
from kernelcat_core.pipeline import hops
from kernelcat_core.pipeline.evidence import Evidence
from kernelcat_core.pipeline.measuring import operations
from kernelcat_core.pipeline.variants import Bucket, Buckets, specialised
from kernelcat_core.runtime.device import usable_cores
from kernelcat_core.runtime.load import LoadedKernel, aligned_empty, load
from kernelcat_core.schedule.knobs import Config

Array = npt.NDArray[Any]
_COMPARED_OPERATIONS = 1 << 20  # a first call of at most this much work is compared with the oracle (milliseconds)


@dataclass(frozen=True)
class Variant:
    """A text for some range of sizes, compiled and loaded."""

    rendering: hops.Rendering
    loaded: LoadedKernel
    toolchain: str

    @property
    def source(self) -> str:
        return self.rendering.source.text

    @property
    def config(self) -> dict[str, int]:
        return self.rendering.config.as_dict()


class Kernel:
    """A compiled formula. Call it with one array an input, by keyword; sizes come from the arrays.

    Returns one array, or a tuple of them in the order of the formula's outputs. Targets without hardware here run on
    their functional model. `source` is the kernel text, `config` the schedule, `evidence` what was seen so far: a first
    call that is small enough is compared with the oracle, and then says executed (or emulated, on a model).

    A kernel with buckets of sizes takes, at each call, the variant made for its sizes; a variant is compiled when it is
    first needed. `variants` are those made so far, by the buckets they are for ("M=1, N=2..64").
    """

    def __init__(self, analysis: hops.Analysis, general: Variant, evidence: tuple[Evidence, ...], buckets: Buckets,
                 make: Callable[[Graph], Variant]) -> None:
        self._analysis = analysis
        self._general = general
        self._buckets = buckets
        self._make = make
        self._made: dict[tuple[tuple[str, Bucket], ...], Variant] = {(): general}
        self._seen: set[str] = set()  # digests of texts that have been called
        self.evidence = evidence

    @property
    def variants(self) -> dict[str, Variant]:
        return {", ".join(f"{n}={b}" for n, b in chosen): v for chosen, v in self._made.items() if chosen}

    @property
    def _rendering(self) -> hops.Rendering:
        return self._general.rendering

    def _variant(self, sizes: Mapping[str, int]) -> Variant:
        chosen = self._buckets.chosen(sizes)
        if chosen not in self._made:
            self._made[chosen] = self._make(specialised(self._analysis.graph, chosen))
        return self._made[chosen]

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
        return self._general.source

    @property
    def config(self) -> dict[str, int]:
        return self._general.config

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
        call, given, sizes, r = self._prepare(arrays)
        outputs = call()
        if r.source.digest not in self._seen and operations(self._analysis.graph, sizes) <= _COMPARED_OPERATIONS:
            self._compare(r, given, outputs if isinstance(outputs, tuple) else (outputs,), sizes)
        self._seen.add(r.source.digest)
        return outputs

    def prepared(self, **arrays: Any) -> Callable[[], Any]:
        """The call on these arrays with everything checked once: repeated calls write the same output arrays."""
        return self._prepare(arrays)[0]

    def _prepare(self, arrays: Mapping[str, Any]
                 ) -> tuple[Callable[[], Any], dict[str, Array], dict[str, int], hops.Rendering]:
        module = self._rendering.module
        for name in arrays:
            if name not in self.inputs:
                raise KernelcatError("KC-F020", f"the formula has no input {name!r}",
                                     hint=closest(name, self.inputs) or "inputs: " + ", ".join(self.inputs))
        given = {t.name: self._argument(t, arrays) for t in module.inputs}
        sizes = self._sizes(given)
        variant = self._variant(sizes)
        inputs = [given[t.name] for t in module.inputs]
        outputs = tuple(aligned_empty(spec) for spec in hops.output_specs(module, sizes))
        values = [sizes[n] for n in variant.rendering.module.sizes]

        def call() -> Any:
            variant.loaded.call_into(inputs, outputs, values)
            return outputs[0] if len(outputs) == 1 else outputs

        return call, given, sizes, variant.rendering

    def _compare(self, r: hops.Rendering, given: Mapping[str, Array], outputs: tuple[Array, ...], sizes: Mapping[str, int]
                 ) -> None:
        """Evidence from a call: the fact when its outputs match the oracle, a warning when they do not."""
        found = {t.name: x for t, x in zip(r.module.outputs, outputs)}
        inputs = {t.name: given[t.name].reshape(hops.shape_of(t, sizes)) for t in r.module.inputs}
        verdict = worst(list(Oracle(self._analysis.graph, inputs, sizes).check(found).values()))
        if not verdict.ok:
            warnings.warn(f"KC-N001: {verdict.message}", RuntimeWarning, stacklevel=3)
            return
        device = hops.device_of(r)
        where = ", ".join(f"{t.name}={'x'.join(map(str, given[t.name].shape)) or 'scalar'}:{t.dtype}" for t in r.module.inputs)
        self.evidence += (Evidence(r.source.digest, r.target.name, r.target.arch, "", device.describe().name, where,
                                   shown(device.runs_as, r.target), "this call matched the reference"),)

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
           config: Mapping[str, int] | None = None, threads: int | None = None,
           buckets: Mapping[str, Iterable[int]] | None = None) -> Kernel:
    """Compile `formula` for `target` ("c", "cuda:sm_80", "ascend:910b" or a device name).

    `threads` (default: all usable cores) is for targets that run on this machine's CPU. `buckets` names sizes and the
    bounds of ranges to have a variant for: {"M": (1, 16)} makes one for M = 1 and one for 2 to 16; beyond them the general
    kernel serves, which has `config`. Raises KernelcatError: F codes for the formula, KC-B002 when nothing here can run
    the target.
    """
    a = hops.analyse(formula, shapes)

    def made(graph: Graph, chosen: Config = Config()) -> Variant:
        r = hops.render(graph, target, chosen)
        library = hops.device_of(r).library(r.source, r.target)
        if isinstance(library, Failure):
            raise KernelcatError(library.code, library.message, hint=library.hint)
        loaded = load(library.path("shared"), r.source.entry, threads or usable_cores())
        return Variant(r, loaded, library.toolchain.label)

    ranges = Buckets.made(a.graph, buckets or {})
    general = made(a.graph, Config.of(config or {}))
    r = general.rendering
    rows: tuple[Evidence, ...] = (Evidence(r.source.digest, r.target.name, r.target.arch, "", "", "", "rendered"),)
    if hops.device_of(r).runs_as == "executed":
        rows += (Evidence(r.source.digest, r.target.name, r.target.arch, general.toolchain, "", "", "compiled"),)
    return Kernel(a, general, rows, ranges, made)
