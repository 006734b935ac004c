"""The public names: `from kernelcat import KernelBuilder, KernelProfiler, kernel, register_op`."""

from kernelcat_core.api import Kernel, KernelBuilder, KernelProfiler, compile, kernel, register_op
from kernelcat_core.errors import KernelcatError

__all__ = ["Kernel", "KernelBuilder", "KernelProfiler", "KernelcatError", "compile", "kernel", "register_op"]
