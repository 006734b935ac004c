"""The public names: `from kernelcat import KernelBuilder, KernelProfiler, kernel, register_op`."""

from kernelcat_core.api import Kernel, KernelBuilder, KernelProfiler, kernel, register_op
from kernelcat_core.errors import KernelcatError

__all__ = ["Kernel", "KernelBuilder", "KernelProfiler", "KernelcatError", "kernel", "register_op"]
