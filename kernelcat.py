"""The public names: `from kernelcat import KernelBuilder, KernelProfiler, compile, kernel, load, register_op`."""

from kernelcat_core.api import Kernel, KernelBuilder, KernelProfiler, Model, compile, kernel, load, register_op
from kernelcat_core.errors import KernelcatError

__all__ = ["Kernel", "KernelBuilder", "KernelProfiler", "KernelcatError", "Model", "compile", "kernel", "load", "register_op"]
