"""The ONNX package's node test cases on generated C kernels.

Every case is imported and run as any model is; nothing answers in place of a kernel but what `importers.onnx_model` leaves
to the host: control flow, shapes, constants. Outputs are compared as the suite says (rtol and atol of the case).
"""

from __future__ import annotations

import signal
import warnings
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import ProcessPoolExecutor, as_completed
from concurrent.futures.process import BrokenProcessPool
from dataclasses import asdict, dataclass
from typing import Any

import numpy as np

from kernelcat_core.errors import KernelcatError
from kernelcat_core.pipeline.network.model import OnnxNetwork
from kernelcat_core.runtime.device import usable_cores

COMMON = frozenset({"FLOAT", "INT32", "INT64", "BOOL"})
LIMIT_S = 120
CHUNK = 8
"""Cases that a worker takes at once."""


@dataclass(frozen=True)
class Outcome:
    """One case. `is_common`: all its inputs and outputs are f32, i32, i64 or bool tensors."""

    name: str
    passed: bool
    is_common: bool
    reason: str = ""


def run(only: str = "", progress: Callable[[str], None] | None = None, workers: int | None = None,
        exact: Sequence[str] | None = None) -> dict[str, Any]:
    """Run the cases whose name holds `only` (or those named in `exact`); counts and outcomes."""
    names = [n for n in case_names() if (n in exact if exact is not None else only in n)]
    outcomes: list[Outcome] = []
    count = workers or usable_cores()
    left = [names[k:k + CHUNK] for k in range(0, len(names), CHUNK)]
    while left:
        with ProcessPoolExecutor(count, initializer=_cases) as pool:
            waiting = {pool.submit(_outcomes, chunk): chunk for chunk in left}
            left = []
            for future in as_completed(waiting):
                chunk = waiting[future]
                try:
                    outcomes += future.result()
                except BrokenProcessPool:  # a kernel killed its process: the cases at hand run again, each by itself
                    left += [[n] for n in chunk] if len(chunk) > 1 else []
                    if len(chunk) == 1:
                        outcomes.append(_alone(chunk[0]))
                    continue
                if progress is not None:
                    progress(f"{len(outcomes)}/{len(names)}: {sum(o.passed for o in outcomes)} passed")
    outcomes.sort(key=lambda o: o.name)
    return report(outcomes)


def _alone(name: str) -> Outcome:
    """A case in a process of its own: of what broke a pool, this finds the one that did it."""
    try:
        with ProcessPoolExecutor(1) as pool:
            return pool.submit(_outcomes, [name]).result()[0]
    except BrokenProcessPool:
        return Outcome(name, False, kinds(_cases()[name].model) <= COMMON, "the process died")


def report(outcomes: Sequence[Outcome]) -> dict[str, Any]:
    common = [o for o in outcomes if o.is_common]
    return {"suite": "onnx", "passed": sum(o.passed for o in outcomes), "failed": sum(not o.passed for o in outcomes),
            "total": len(outcomes), "common_passed": sum(o.passed for o in common), "common_total": len(common),
            "outcomes": [asdict(o) for o in outcomes]}


_CASES: dict[str, Any] = {}


def _cases() -> dict[str, Any]:
    """Every case by name. Making them takes the ONNX package seconds, once a process."""
    if not _CASES:
        from onnx.backend.test.case.node import collect_testcases

        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            _CASES.update({c.name: c for c in collect_testcases(None)})
    return _CASES


def case_names() -> list[str]:
    """Names of all cases, in order."""
    return sorted(_cases())


def _outcomes(names: Sequence[str]) -> list[Outcome]:
    return [outcome(_cases()[n]) for n in names]


def outcome(case: Any) -> Outcome:
    """Import and run one case on every of its data sets."""
    common = kinds(case.model) <= COMMON
    previous = signal.signal(signal.SIGALRM, _expired)
    signal.alarm(LIMIT_S)
    try:
        network = OnnxNetwork(case.model, threads=1, opt_level="O1")
        names = [i.name for i in case.model.graph.input]
        for inputs, expected in case.data_sets:
            given = {n: _given(v) for n, v in zip(names, inputs)}
            made = network(given)
            for (name, got), wanted in zip(made.items(), expected, strict=True):
                problem = difference(got, _given(wanted), case.rtol, case.atol)
                if problem:
                    return Outcome(case.name, False, common, f"{name}: {problem}")
    except KernelcatError as error:
        return Outcome(case.name, False, common, f"{error.code}: {error.message}")
    except Exception as error:  # a fault of ours: counted, never hidden
        return Outcome(case.name, False, common, f"{type(error).__name__}: {error}"[:300])
    finally:
        signal.alarm(0)
        signal.signal(signal.SIGALRM, previous)
    return Outcome(case.name, True, common)


def _expired(*_: Any) -> None:
    raise TimeoutError(f"past {LIMIT_S} s")


def kinds(model: Any) -> set[str]:
    """Element types of a model's inputs and outputs; for other than tensors the kind of type."""
    import onnx

    found = set()
    for v in (*model.graph.input, *model.graph.output):
        kind = v.type.WhichOneof("value")
        found.add(onnx.TensorProto.DataType.Name(v.type.tensor_type.elem_type) if kind == "tensor_type" else str(kind))
    return found


def _given(item: Any) -> Any:
    """A data set's entry as arrays; TensorProtos occur among them."""
    if isinstance(item, (list, tuple)):
        return [_given(v) for v in item]
    if hasattr(item, "data_type"):
        from onnx import numpy_helper

        return numpy_helper.to_array(item)
    return None if item is None else np.asarray(item)


def difference(got: Any, wanted: Any, rtol: float, atol: float) -> str:
    """What differs, "" when nothing does: type, shape, then values within rtol and atol."""
    if wanted is None or got is None:
        return "" if wanted is None and got is None else "one is absent"
    if isinstance(wanted, list):
        if not isinstance(got, list) or len(got) != len(wanted):
            return "the sequences have different lengths"
        return next((d for a, b in zip(got, wanted) if (d := difference(a, b, rtol, atol))), "")
    if got.dtype != wanted.dtype:
        return f"type {got.dtype}, expected {wanted.dtype}"
    if got.shape != wanted.shape:
        return f"shape {got.shape}, expected {wanted.shape}"
    a, b = (x.astype(np.float64) if x.dtype.kind not in "iub" else x for x in (got, wanted))
    if a.dtype.kind in "iub":
        return "" if np.array_equal(a, b) else f"{int(np.sum(a != b))} of {a.size} elements differ"
    good = np.isclose(a, b, rtol, atol, equal_nan=True)
    return "" if good.all() else f"{int(np.sum(~good))} of {a.size} elements differ, most by {np.nanmax(np.abs(a - b)):.3g}"


def failures(outcomes: Sequence[dict[str, Any]]) -> Iterator[str]:
    for o in outcomes:
        if not o["passed"]:
            yield f"{o['name']}: {o['reason']}"
