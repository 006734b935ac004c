"""Operators as Python functions: `register_op` turns a function that returns a formula into something to build."""

from __future__ import annotations

import inspect
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

from kernelcat_core.api.kernel import Kernel, kernel
from kernelcat_core.codegen.native import Native
from kernelcat_core.codegen.native import parse as parse_native
from kernelcat_core.errors import KernelcatError
from kernelcat_core.formula import language


@dataclass(frozen=True)
class BoundOperator:
    """A registered operator with values for its parameters: a name, a formula and the function's documentation.

    For hand-written source `native` is its text and declaration, and `formula` the reference it is compared with ("" when
    there is none).
    """

    name: str
    formula: str
    summary: str
    native: Native | None = None
    launch: Mapping[str, Any] | None = None

    def kernel(self, target: str = "c", **options: Any) -> Kernel:
        """The operator as a callable on NumPy arrays (see kernelcat.kernel); for hand-written source, its reference."""
        if not self.formula:
            raise KernelcatError("KC-F019", f"{self.name} is hand-written and has no reference formula",
                                 hint="register it with reference=\"Y = ...\"")
        return kernel(self.formula, target, **options)


@dataclass(frozen=True)
class RegisteredOperator:
    """A function that returns a formula (or native source for one target); call it with values to bind its parameters.

    Parameters without a value: those annotated float become run-time scalar inputs of the formula, those annotated as
    tensors (or not at all) become tensor inputs, both under the parameter's name; int, bool, str and tuple parameters
    shape the kernel and must have a value.

    Native source with a body is a hand-written kernel: compiled, and compared with `reference` when that is given. With
    only a signature and comments, its name and the function's documentation name an operator, whose body is generated.
    """

    function: Callable[..., str]
    name: str
    summary: str
    reference: str | None = None
    launch: Mapping[str, Any] | None = None

    def __call__(self, *args: Any, **kwargs: Any) -> BoundOperator:
        return self.bind(*args, **kwargs)

    def bind(self, *args: Any, **kwargs: Any) -> BoundOperator:
        """The operator with its parameters set. Raises KC-F005 for parameters that are missing or unknown."""
        text = self.text(*args, **kwargs)
        native = parse_native(text)
        if native is None:
            return BoundOperator(self.name, text, self.summary)
        if native.has_body:
            return BoundOperator(self.name, self.reference or "", self.summary, native, self.launch)
        meant = language.resolve(native.name, f"{self.name} {self.summary}")
        return BoundOperator(self.name, language.call(meant, [p.name for p in native.parameters]), self.summary)

    def text(self, *args: Any, **kwargs: Any) -> str:
        """What the function returns for these parameters."""
        signature = inspect.signature(self.function)
        try:
            bound = signature.bind_partial(*args, **kwargs)
        except TypeError as error:
            raise KernelcatError("KC-F005", f"{self.name}: {error}", hint=f"parameters: {self.name}{signature}") from None
        bound.apply_defaults()
        values = dict(bound.arguments)
        for parameter in signature.parameters.values():
            if parameter.name not in values:
                values[parameter.name] = self._open(parameter)
        returned = self.function(**values)
        if not isinstance(returned, str) or not returned.strip():
            raise KernelcatError("KC-F019", f"{self.name} returned no formula",
                                 hint="return the formula as text, for example return f\"Y = softmax({x})\"")
        return returned

    def _open(self, parameter: inspect.Parameter) -> str:
        annotation = parameter.annotation
        name = annotation if isinstance(annotation, str) else getattr(annotation, "__name__", str(annotation))
        if name in ("int", "bool", "str", "tuple", "list"):
            raise KernelcatError("KC-F005", f"{self.name} needs a value for {parameter.name}: {name}",
                                 hint=f"build({parameter.name}=...) or {self.name}({parameter.name}=...)")
        return parameter.name


def register(function: Callable[..., str], *, reference: str | None = None, launch: Mapping[str, Any] | None = None
             ) -> RegisteredOperator:
    """The operator that `function` describes."""
    if not callable(function):
        raise KernelcatError("KC-F005", "register_op takes a function that returns a formula",
                             hint="put @register_op above a def")
    return RegisteredOperator(function, function.__name__, inspect.getdoc(function) or "", reference, launch)


def register_op(function: Callable[..., str] | None = None, *, reference: str | None = None,
                launch: Mapping[str, Any] | None = None) -> Any:
    """Decorator, with or without arguments.

    `reference` is the formula that hand-written native source is compared with; `launch` says how it is launched
    ({"grid": "ceil(N / 256)", "block": 256}).
    """
    if function is None:
        return lambda f: register(f, reference=reference, launch=launch)
    return register(function, reference=reference, launch=launch)
