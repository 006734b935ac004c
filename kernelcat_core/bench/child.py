"""One runtime in a process of its own: `python -m kernelcat_core.bench.child RUNTIME SUITE THREADS`.

Reads one JSON object a line, answers one: {"prepare": row, "inputs": folder, "output": file} loads a row and stores its
output; {"sample": seconds} calls it for about that long and answers the seconds of each call.
"""

from __future__ import annotations

import json
import sys
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np

from kernelcat_core.bench.rows import SUITES, Row

Call = Callable[[], Any]


def _ours(row: Row, arrays: dict[str, Any], threads: int) -> Call:
    """The generated kernel at its default config, outputs in arrays that are kept, as peers have it."""
    from kernelcat_core.api import kernel

    k = kernel(row.formula, "c", shapes=row.shapes, threads=threads)
    return k.prepared(**arrays)


def _torch(row: Row, arrays: dict[str, Any], threads: int) -> Call:
    import torch

    torch.set_num_threads(threads)
    tensors = {n: torch.from_numpy(a) for n, a in arrays.items()}
    function = row.torch(torch, torch.nn.functional)

    def call() -> Any:
        with torch.inference_mode():
            return function(tensors)

    return lambda: np.asarray(call())


def _onnxruntime(row: Row, arrays: dict[str, Any], threads: int) -> Call:
    """ONNX Runtime on the formula's ONNX definition, inputs and outputs bound once."""
    import onnxruntime as ort

    from kernelcat_core.formula import lower, parse, parse_shape
    from kernelcat_core.importers.onnx_definition import onnx_model

    lowered = lower(parse(row.formula), {n: parse_shape(t) for n, t in row.shapes.items()})
    model = onnx_model(lowered)
    options = ort.SessionOptions()
    options.intra_op_num_threads = threads
    options.log_severity_level = 3
    session = ort.InferenceSession(model.SerializeToString(), options, providers=["CPUExecutionProvider"])
    binding = session.io_binding()
    for name, array in arrays.items():
        binding.bind_cpu_input(name, array)
    first = session.run(None, arrays)[0]
    output = ort.OrtValue.ortvalue_from_numpy(np.empty_like(first))
    binding.bind_ortvalue_output(session.get_outputs()[0].name, output)

    def call() -> Any:
        session.run_with_iobinding(binding)
        return output

    return call


def _numpy(row: Row, arrays: dict[str, Any], threads: int) -> Call:
    if row.numpy is None:
        raise LookupError("NumPy has no single call for this")
    function = row.numpy(np)
    return lambda: function(arrays)


RUNTIMES: dict[str, Callable[[Row, dict[str, Any], int], Call]] = {
    "ours": _ours, "torch": _torch, "onnxruntime": _onnxruntime, "numpy": _numpy}


def _array(value: Any) -> Any:
    return value.numpy() if hasattr(value, "numpy") else np.asarray(value)


def main() -> None:
    runtime, suite, threads = sys.argv[1], sys.argv[2], int(sys.argv[3])
    rows = {r.name: r for r in SUITES[suite]}
    call: Call = lambda: None  # noqa: E731
    for line in sys.stdin:
        request = json.loads(line)
        answer: dict[str, Any] = {}
        try:
            if "prepare" in request:
                arrays = {p.stem: np.load(p) for p in Path(request["inputs"]).glob("*.npy")}
                call = RUNTIMES[runtime](rows[request["prepare"]], arrays, threads)
                np.save(request["output"], _array(call()))
            else:
                answer["samples"] = _samples(call, request["sample"])
        except Exception as error:  # whatever a peer raises becomes its missing row
            answer["error"] = f"{type(error).__name__}: {error}"
        print(json.dumps(answer), flush=True)


def _samples(call: Call, seconds: float) -> list[float]:
    call()
    taken: list[float] = []
    end = time.perf_counter() + seconds
    while len(taken) < 3 or time.perf_counter() < end:
        start = time.perf_counter()
        call()
        taken.append(time.perf_counter() - start)
    return taken


if __name__ == "__main__":
    main()
