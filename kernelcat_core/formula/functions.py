"""Scalar functions: the names of the language and the scalar operations of the IR they stand for.

Everything here is one operation. What needs more than one is an operator, written as a formula (operators/).
"""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True)
class Function:
    """`op` is a scalar operation of ir/expr.OPS on `arity` arguments.

    `typing`: float (integers become f32), number (the common type), round (integers stay as they are), test (float in,
    bool out), compare (common type in, bool out), logic (bool in and out), bits (integers, or bool), integer.
    `onnx` is the standard ONNX node, "" where there is none.
    """

    name: str
    op: str
    arity: int
    typing: str
    onnx: str
    summary: str
    aliases: tuple[str, ...] = ()


def _f(name: str, arity: int, typing: str, onnx: str, summary: str, aliases: str = "", op: str = "") -> Function:
    return Function(name, op or name, arity, typing, onnx, summary, tuple(aliases.split()))


TABLE: tuple[Function, ...] = (
    _f("exp", 1, "float", "Exp", "e to the power x"),
    _f("exp2", 1, "float", "", "2 to the power x"),
    _f("expm1", 1, "float", "", "exp(x) - 1, exact near 0"),
    _f("log", 1, "float", "Log", "natural logarithm", "ln"),
    _f("log2", 1, "float", "", "logarithm to base 2"),
    _f("log10", 1, "float", "", "logarithm to base 10"),
    _f("log1p", 1, "float", "", "log(1 + x), exact near 0"),
    _f("sqrt", 1, "float", "Sqrt", "square root"),
    _f("rsqrt", 1, "float", "", "1 / sqrt(x)"),
    _f("cbrt", 1, "float", "", "cube root"),
    _f("sin", 1, "float", "Sin", "sine"),
    _f("cos", 1, "float", "Cos", "cosine"),
    _f("tan", 1, "float", "Tan", "tangent"),
    _f("asin", 1, "float", "Asin", "inverse sine", "arcsin"),
    _f("acos", 1, "float", "Acos", "inverse cosine", "arccos"),
    _f("atan", 1, "float", "Atan", "inverse tangent", "arctan"),
    _f("sinh", 1, "float", "Sinh", "hyperbolic sine"),
    _f("cosh", 1, "float", "Cosh", "hyperbolic cosine"),
    _f("tanh", 1, "float", "Tanh", "hyperbolic tangent", "Tanh"),
    _f("asinh", 1, "float", "Asinh", "inverse hyperbolic sine", "arcsinh"),
    _f("acosh", 1, "float", "Acosh", "inverse hyperbolic cosine", "arccosh"),
    _f("atanh", 1, "float", "Atanh", "inverse hyperbolic tangent", "arctanh"),
    _f("erf", 1, "float", "Erf", "error function"),
    _f("floor", 1, "round", "Floor", "largest integer not above x"),
    _f("ceil", 1, "round", "Ceil", "smallest integer not below x"),
    _f("trunc", 1, "round", "", "x without its fraction", "fix"),
    _f("rint", 1, "round", "Round", "nearest integer, halves to even", "round around"),
    _f("negative", 1, "number", "Neg", "minus x", "neg", "neg"),
    _f("abs", 1, "number", "Abs", "absolute value", "absolute fabs"),
    _f("sign", 1, "number", "Sign", "-1, 0 or 1"),
    _f("isnan", 1, "test", "IsNaN", "is not a number"),
    _f("isinf", 1, "test", "IsInf", "is infinite"),
    _f("isfinite", 1, "test", "", "is neither infinite nor NaN"),
    _f("signbit", 1, "test", "", "has its sign bit set"),
    _f("logical_not", 1, "logic", "Not", "not x", "", "not"),
    _f("logical_and", 2, "logic", "And", "x and y", "", "and"),
    _f("logical_or", 2, "logic", "Or", "x or y", "", "or"),
    _f("logical_xor", 2, "logic", "Xor", "exactly one of x and y", "", "xor"),
    _f("add", 2, "number", "Add", "x + y"),
    _f("subtract", 2, "number", "Sub", "x - y", "sub", "sub"),
    _f("multiply", 2, "number", "Mul", "x * y", "mul", "mul"),
    _f("divide", 2, "float", "Div", "x / y, true division", "true_divide div", "div"),
    _f("floor_divide", 2, "number", "", "floor(x / y)", "", "floordiv"),
    _f("remainder", 2, "integer", "Mod", "x - y*floor(x / y)", "mod", "mod"),
    _f("fmod", 2, "number", "Mod", "remainder with the sign of x"),
    _f("power", 2, "number", "Pow", "x to the power y", "pow", "pow"),
    _f("maximum", 2, "number", "Max", "the larger of x and y, NaN wins", "", "max"),
    _f("minimum", 2, "number", "Min", "the smaller of x and y, NaN wins", "", "min"),
    _f("fmax", 2, "number", "", "the larger of x and y, NaN loses"),
    _f("fmin", 2, "number", "", "the smaller of x and y, NaN loses"),
    _f("atan2", 2, "float", "", "angle of the point (y, x)", "arctan2"),
    _f("hypot", 2, "float", "", "sqrt(x*x + y*y)"),
    _f("copysign", 2, "float", "", "x with the sign of y"),
    _f("less", 2, "compare", "Less", "x < y", "", "lt"),
    _f("less_equal", 2, "compare", "LessOrEqual", "x <= y", "", "le"),
    _f("greater", 2, "compare", "Greater", "x > y", "", "gt"),
    _f("greater_equal", 2, "compare", "GreaterOrEqual", "x >= y", "", "ge"),
    _f("equal", 2, "compare", "Equal", "x == y", "", "eq"),
    _f("not_equal", 2, "compare", "", "x != y", "", "ne"),
    _f("bitwise_and", 2, "bits", "BitwiseAnd", "bits set in both", "", "and_bits"),
    _f("bitwise_or", 2, "bits", "BitwiseOr", "bits set in either", "", "or_bits"),
    _f("bitwise_xor", 2, "bits", "BitwiseXor", "bits set in exactly one", "", "xor_bits"),
    _f("bitwise_not", 1, "bits", "BitwiseNot", "every bit flipped", "invert", "not_bits"),
    _f("left_shift", 2, "integer", "BitShift", "x * 2**y", "", "shl"),
    _f("right_shift", 2, "integer", "BitShift", "floor(x / 2**y)", "", "shr"),
)

FUNCTIONS: dict[str, Function] = {name: f for f in TABLE for name in (f.name, *f.aliases)}

BINARY = {"+": FUNCTIONS["add"], "-": FUNCTIONS["subtract"], "*": FUNCTIONS["multiply"], "/": FUNCTIONS["divide"],
          "//": FUNCTIONS["floor_divide"], "%": FUNCTIONS["remainder"], "**": FUNCTIONS["power"],
          "&": FUNCTIONS["bitwise_and"], "|": FUNCTIONS["bitwise_or"], "^": FUNCTIONS["bitwise_xor"],
          "<<": FUNCTIONS["left_shift"], ">>": FUNCTIONS["right_shift"],
          "and": FUNCTIONS["logical_and"], "or": FUNCTIONS["logical_or"]}
COMPARE = {"<": FUNCTIONS["less"], "<=": FUNCTIONS["less_equal"], ">": FUNCTIONS["greater"],
           ">=": FUNCTIONS["greater_equal"], "==": FUNCTIONS["equal"], "!=": FUNCTIONS["not_equal"]}
