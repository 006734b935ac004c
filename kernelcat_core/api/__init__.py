"""The public face of the core: everything that the command line, the web and Python users call."""

from kernelcat_core.api.builder import Build, KernelBuilder, KernelProfiler
from kernelcat_core.api.facade import (
    build,
    check,
    conformance,
    gallery,
    keep_tuned,
    operators,
    preview,
    profile,
    targets,
    tune,
)
from kernelcat_core.api.kernel import Kernel, kernel
from kernelcat_core.api.models import Model, load
from kernelcat_core.api.operator import BoundOperator, RegisteredOperator, register_op
from kernelcat_core.api.torch import compile

__all__ = [
    "BoundOperator",
    "Build",
    "Kernel",
    "KernelBuilder",
    "KernelProfiler",
    "Model",
    "RegisteredOperator",
    "build",
    "check",
    "compile",
    "conformance",
    "gallery",
    "keep_tuned",
    "kernel",
    "load",
    "operators",
    "preview",
    "profile",
    "register_op",
    "targets",
    "tune",
]
