"""Imported models: `load(path)` gives a callable on NumPy arrays."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any

from kernelcat_core.errors import KernelcatError
from kernelcat_core.pipeline.network.model import OnnxNetwork


class Model:
    """A model on generated C kernels. Call it with one array an input by keyword; gives a dict of outputs by name."""

    def __init__(self, network: OnnxNetwork) -> None:
        self._network = network

    @property
    def inputs(self) -> tuple[str, ...]:
        """Names of the inputs that have no default."""
        graph = self._network.model.graph
        known = {t.name for t in graph.initializer}
        return tuple(i.name for i in graph.input if i.name not in known)

    def __call__(self, **arrays: Any) -> dict[str, Any]:
        unknown = sorted(set(arrays) - {i.name for i in self._network.model.graph.input})
        if unknown:
            raise KernelcatError("KC-I005", f"the model has no input {unknown[0]!r}", hint="inputs: " + ", ".join(self.inputs))
        return self._network(arrays)

    def run(self, arrays: Mapping[str, Any]) -> dict[str, Any]:
        """The same for names that are no Python names."""
        return self._network(arrays)

    def __repr__(self) -> str:
        return f"<model with inputs {', '.join(self.inputs)}>"


def load(path: str | Path, *, threads: int | None = None, opt_level: str = "O3") -> Model:
    """An ONNX file, a TensorFlow SavedModel folder or a .keras file as a callable.

    Raises KC-I003 for a file that is no model, KC-I004 for one with operators that are not mapped (when it is first run),
    KC-I006 where a TensorFlow model cannot be converted.
    """
    place = Path(path)
    if not place.exists():
        raise KernelcatError("KC-I003", f"{place} does not exist", hint="give an .onnx file, a .keras file or a SavedModel")
    if place.is_dir() or place.suffix in (".keras", ".h5"):
        from kernelcat_core.importers.tensorflow import to_onnx

        return Model(OnnxNetwork(to_onnx(place), threads=threads, opt_level=opt_level))
    import onnx
    from google.protobuf.message import DecodeError  # type: ignore[import-untyped]

    try:
        model = onnx.load(place, load_external_data=False)
    except (DecodeError, ValueError) as error:
        raise KernelcatError("KC-I003", f"{place} is no ONNX model: {error}", hint="give an .onnx file") from None
    if not model.graph.node and not model.graph.output:
        raise KernelcatError("KC-I003", f"{place} is no ONNX model: it holds no graph", hint="give an .onnx file")
    return Model(OnnxNetwork(model, threads=threads, opt_level=opt_level, folder=place.parent))
