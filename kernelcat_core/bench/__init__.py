"""Benchmarks against other libraries: one process a runtime, interleaved, medians with intervals."""

from kernelcat_core.bench.run import run

__all__ = ["run"]
