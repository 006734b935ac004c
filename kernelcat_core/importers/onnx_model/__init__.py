"""ONNX models: every node becomes a formula of a trace; control flow, shapes and sequences stay on the host."""

from kernelcat_core.importers.onnx_model.run import Imported, trace_model

__all__ = ["Imported", "trace_model"]
