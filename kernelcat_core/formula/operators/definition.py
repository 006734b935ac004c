"""What an operator is: a name, a Python signature, and a function that writes its formula."""

from __future__ import annotations

import inspect
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any, Literal, NamedTuple

from kernelcat_core.dtypes import DType
from kernelcat_core.errors import KernelcatError

Kind = Literal["tensor", "scalar", "static", "tensors"]


@dataclass(frozen=True)
class Tensor:
    """What the writer of a formula sees of a tensor argument; `shape` holds None where a size is not a number."""

    name: str
    dtype: DType
    shape: tuple[int | None, ...]

    @property
    def rank(self) -> int:
        return len(self.shape)


Scalar = int | float
"""A number, or a scalar of the formula; in the body it is used by its parameter's name."""


Tensors = tuple[Tensor, ...]
"""Several tensors, given as a tuple or one by one."""


@dataclass(frozen=True)
class Parameter:
    """`rank` is the number of axes that an undeclared tensor argument gets."""

    name: str
    kind: Kind
    required: bool
    default: Any
    rank: int = 2


class OnnxNode(NamedTuple):
    """A standard ONNX node: `inputs` are parameter names in order; `attributes(arguments)` gives its attributes.

    `arguments` holds every static argument by parameter name, and each tensor argument as a Tensor.
    """

    op_type: str
    inputs: tuple[str, ...]
    attributes: Callable[[Mapping[str, Any]], dict[str, Any]] = lambda arguments: {}
    domain: str = ""
    applies: Callable[[Mapping[str, Any]], bool] = lambda arguments: True


@dataclass(frozen=True)
class Operator:
    """A named operator. `build(**arguments)` writes the body: a formula over the names of its tensor parameters.

    With `elementwise` the body is one expression, used in place for scalars and whole tensors alike. Otherwise 16-bit
    floats come in as f32 and the value is rounded once at the end.
    """

    name: str
    group: str
    summary: str
    example: str
    parameters: tuple[Parameter, ...]
    build: Callable[..., str]
    signature: str
    aliases: tuple[str, ...] = ()
    renames: tuple[tuple[str, str], ...] = ()
    onnx: OnnxNode | None = None
    elementwise: bool = False
    operand_ranks: Callable[[Any], tuple[int, ...]] | None = None
    """For several tensors after one static argument: the axes of each, where that argument says it."""

    def parameter(self, name: str) -> Parameter | None:
        return next((p for p in self.parameters if p.name == name), None)


REGISTRY: dict[str, Operator] = {}
"""Name or alias -> operator."""


def operator(name: str, *, group: str, summary: str, example: str, aliases: str = "",
             ranks: Mapping[str, int] | None = None, renames: Mapping[str, str] | None = None,
             onnx: OnnxNode | None = None, elementwise: bool = False,
             operand_ranks: Callable[[Any], tuple[int, ...]] | None = None) -> Callable[[Callable[..., str]], Callable[..., str]]:
    """Register the function below as the writer of an operator's formula.

    Its parameters annotated Tensor, `Tensor | None`, Tensors (a tuple of them) and Scalar are values of the formula; all
    others are numbers, strings or tuples known when the formula is written. `ranks` says how many axes undeclared tensor
    arguments get (2 when not said); `renames` maps other spellings of parameter names (`dim` -> `axis`).
    """

    def register(build: Callable[..., str]) -> Callable[..., str]:
        parameters = tuple(_parameter(p, ranks or {}) for p in inspect.signature(build).parameters.values())
        entry = Operator(name, group, summary, example, parameters, build, _signature(name, parameters),
                         tuple(aliases.split()), tuple((renames or {}).items()), onnx, elementwise,
                         operand_ranks)
        _register(entry)
        return build

    return register


def _register(entry: Operator) -> None:
    for key in (entry.name, *entry.aliases):
        if key in REGISTRY:
            raise AssertionError(f"operator {key} is defined twice")
        REGISTRY[key] = entry


def _parameter(p: inspect.Parameter, ranks: Mapping[str, int]) -> Parameter:
    kind: Kind = "static"
    text = str(p.annotation)
    if text == "Tensors":
        kind = "tensors"
    elif text in ("Tensor", "Tensor | None"):
        kind = "tensor"
    elif text.startswith("Scalar"):
        kind = "scalar"
    required = p.default is inspect.Parameter.empty
    return Parameter(p.name, kind, required, None if required else p.default, ranks.get(p.name, 2))


def _signature(name: str, parameters: tuple[Parameter, ...]) -> str:
    shown = [p.name if p.required else f"{p.name}={p.default!r}" for p in parameters]
    return f"{name}({', '.join(shown)})"


def wrong(message: str, hint: str = "") -> KernelcatError:
    """The error of a writer that cannot use its arguments."""
    return KernelcatError("KC-F005", message, hint=hint)


def expression(name: str, tensors: tuple[str, ...], scalars: Mapping[str, float], text: str, *, group: str, summary: str,
               aliases: str = "", onnx: OnnxNode | None = None) -> None:
    """Register an elementwise operator whose body is the expression `text`."""
    parameters = (*(Parameter(t, "tensor", True, None, 2) for t in tensors),
                  *(Parameter(s, "scalar", False, default, 0) for s, default in scalars.items()))
    example = f"{name}({', '.join('XYZ'[:len(tensors)])})"
    _register(Operator(name, group, summary, example, parameters, lambda **_: text, _signature(name, parameters),
                       tuple(aliases.split()), (), onnx, True))
