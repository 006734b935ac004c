"""Every scalar operation's derivative against torch.autograd, and the conventions where there is none."""

from __future__ import annotations

import importlib.util
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from kernelcat_core.ir.differentiate.scalar_rules import CHOICES, FLAT, RULES
from kernelcat_core.ir.expr import OPS

torch = pytest.importorskip("torch")

_spec = importlib.util.spec_from_file_location("differentiate_autograd_scalar", Path(__file__).with_name("autograd.py"))
assert _spec is not None and _spec.loader is not None
autograd = importlib.util.module_from_spec(_spec)
sys.modules[_spec.name] = autograd
_spec.loader.exec_module(autograd)
agree, gradients = autograd.agree, autograd.gradients

_RANDOM = np.random.default_rng(7)
WIDE = _RANDOM.uniform(-3, 3, 40)
UNIT = _RANDOM.uniform(-0.95, 0.95, 40)
POSITIVE = _RANDOM.uniform(0.2, 4, 40)
ABOVE_ONE = _RANDOM.uniform(1.1, 4, 40)
OTHER = _RANDOM.uniform(-3, 3, 40)

ONE: list[tuple[str, str, Any, Callable[..., Any]]] = [
    ("exp", "exp", WIDE, torch.exp), ("exp2", "exp2", WIDE, torch.exp2), ("expm1", "expm1", WIDE, torch.expm1),
    ("log", "log", POSITIVE, torch.log), ("log2", "log2", POSITIVE, torch.log2), ("log10", "log10", POSITIVE, torch.log10),
    ("log1p", "log1p", POSITIVE, torch.log1p), ("sqrt", "sqrt", POSITIVE, torch.sqrt), ("rsqrt", "rsqrt", POSITIVE, torch.rsqrt),
    ("cbrt", "cbrt", POSITIVE, lambda x: x ** (1 / 3)), ("sin", "sin", WIDE, torch.sin), ("cos", "cos", WIDE, torch.cos),
    ("tan", "tan", UNIT, torch.tan), ("asin", "asin", UNIT, torch.asin), ("acos", "acos", UNIT, torch.acos),
    ("atan", "atan", WIDE, torch.atan), ("sinh", "sinh", WIDE, torch.sinh), ("cosh", "cosh", WIDE, torch.cosh),
    ("tanh", "tanh", WIDE, torch.tanh), ("asinh", "asinh", WIDE, torch.asinh), ("acosh", "acosh", ABOVE_ONE, torch.acosh),
    ("atanh", "atanh", UNIT, torch.atanh), ("erf", "erf", WIDE, torch.erf), ("neg", "negative", WIDE, torch.neg),
    ("abs", "abs", WIDE, torch.abs), ("floor", "floor", WIDE, torch.floor), ("ceil", "ceil", WIDE, torch.ceil),
    ("trunc", "trunc", WIDE, torch.trunc), ("rint", "rint", WIDE, torch.round), ("sign", "sign", WIDE, torch.sign),
]
TWO: list[tuple[str, str, Any, Any, Callable[..., Any]]] = [
    ("add", "add", WIDE, OTHER, torch.add), ("sub", "subtract", WIDE, OTHER, torch.sub),
    ("mul", "multiply", WIDE, OTHER, torch.mul), ("div", "divide", WIDE, POSITIVE, torch.div),
    ("pow", "power", POSITIVE, OTHER, torch.pow), ("max", "maximum", WIDE, OTHER, torch.maximum),
    ("min", "minimum", WIDE, OTHER, torch.minimum), ("fmax", "fmax", WIDE, OTHER, torch.fmax),
    ("fmin", "fmin", WIDE, OTHER, torch.fmin), ("atan2", "atan2", WIDE, OTHER, torch.atan2),
    ("hypot", "hypot", WIDE, OTHER, torch.hypot), ("copysign", "copysign", WIDE, OTHER, torch.copysign),
    ("fmod", "fmod", WIDE, POSITIVE, torch.fmod), ("floordiv", "floor_divide", WIDE, POSITIVE, lambda x, y: (x / y).floor()),
]


def test_every_operation_has_a_derivative_or_none() -> None:
    assert sorted([*RULES, *CHOICES, *FLAT]) == sorted(OPS)


def test_every_float_operation_is_compared() -> None:
    compared = {n for n, *_ in ONE} | {n for n, *_ in TWO}
    assert {*RULES, *CHOICES} - compared == {"where", "cast", "mod"}


@pytest.mark.parametrize(("name", "function", "points", "reference"), ONE, ids=[n for n, *_ in ONE])
def test_one_operand(name: str, function: str, points: Any, reference: Callable[..., Any]) -> None:
    agree(f"Y = {function}(X)", lambda X: reference(X), {"X": points})
    agree(f"Y = {function}(X*X*0.25 + 0.1)" if name not in ("acosh",) else f"Y = {function}(X + 1)",
          lambda X: reference(X * X * 0.25 + 0.1 if name not in ("acosh",) else X + 1), {"X": points})


@pytest.mark.parametrize(("name", "function", "x", "y", "reference"), TWO, ids=[n for n, *_ in TWO])
def test_two_operands(name: str, function: str, x: Any, y: Any, reference: Callable[..., Any]) -> None:
    agree(f"Y = {function}(X, Z)", lambda X, Z: reference(X, Z), {"X": x, "Z": y})


F = torch.nn.functional
ACTIVATIONS: dict[str, Callable[..., Any]] = {
    "relu": F.relu, "relu6": F.relu6, "sigmoid": torch.sigmoid, "silu": F.silu, "softplus": F.softplus,
    "logsigmoid": F.logsigmoid, "elu": F.elu, "selu": F.selu, "leaky_relu": F.leaky_relu, "hardsigmoid": F.hardsigmoid,
    "hardswish": F.hardswish, "mish": F.mish, "softsign": F.softsign, "tanhshrink": F.tanhshrink, "gelu": F.gelu,
    "hardtanh": F.hardtanh, "hardshrink": F.hardshrink, "softshrink": F.softshrink, "celu": F.celu,
}


@pytest.mark.parametrize("name", ACTIVATIONS)
def test_activations_far_out(name: str) -> None:
    far = np.array([-800.0, -90.0, -20.0, -1.3, -0.2, 0.3, 1.7, 20.0, 90.0, 800.0])
    agree(f"Y = {name}(X)", lambda X: ACTIVATIONS[name](X), {"X": far}, tolerance=1e-6)


@pytest.mark.parametrize("name", ["relu", "relu6", "softplus", "logsigmoid", "mish", "silu", "gelu"])
def test_activations_at_zero(name: str) -> None:
    agree(f"Y = {name}(X)", lambda X: ACTIVATIONS[name](X), {"X": np.zeros(2)})


def slope(text: str, x: float) -> float:
    return float(gradients(text, {"X": np.array([x])}, ["X"])["X"][0])


def test_conventions() -> None:
    assert slope("Y = abs(X)", 0.0) == 0.0
    assert slope("Y = relu(X)", 0.0) == 0.0
    assert slope("Y = relu6(X)", 6.0) == 0.0
    assert slope("Y = maximum(X, 2*X)", 0.0) == 1.5
    assert slope("Y = sqrt(X)", 0.0) == np.inf
    assert slope("Y = X**3", 0.0) == 0.0
    assert slope("Y = X**0.5", 4.0) == 0.25
    assert slope("Y = where(X > 0, sqrt(X), 0)", 0.0) == 0.0
    assert slope("Y = where(X > 0, log(X), X)", -1.0) == 1.0
    assert slope("Y = copysign(X, -1.0)", 0.0) == 0.0


def test_power_edges() -> None:
    arrays = {"X": np.array([0.0, 0.0, 2.0, 0.0]), "Z": np.array([0.0, 2.0, 0.0, 1.0])}
    agree("Y = power(X, Z)", lambda X, Z: X**Z, arrays)


def test_conditions_that_exclude_infinities_leave_no_nan() -> None:
    x = np.array([0.0, -4.0, 4.0])
    found = gradients("Y = where(X > 0, log(X)/X, 1/(X - 1))", {"X": x}, ["X"])["X"]
    np.testing.assert_allclose(found, [-1.0, -1 / 25, (1 - np.log(4)) / 16])
