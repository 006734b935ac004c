"""Optimiser steps of ONNX's training domain."""

from __future__ import annotations

from kernelcat_core.importers.onnx_model.node import Node, onnx_op
from kernelcat_core.importers.trace import Value

DOMAIN = "ai.onnx.preview.training"


def _groups(n: Node, states: int) -> list[dict[str, Value]]:
    """Inputs of every trained tensor: x, g (its gradient) and its states; r is the rate, t the count of updates."""
    count = (len(n) - 2) // (2 + states)
    names = ("x", "g", "v", "h")[:2 + states]
    return [{"r": n.x(0), "t": n.x(1), **{name: n.x(2 + k + j * count) for j, name in enumerate(names)}} for k in range(count)]


def _updated(n: Node, states: int, text: str) -> tuple[Value, ...]:
    """Outputs in ONNX's order: every new x, then every first state, then every second."""
    outputs = "-> " + ", ".join(("x2", "v2", "h2")[:1 + states])
    made = [n.formulas(f"{text}\n{outputs}", **group) for group in _groups(n, states)]
    return tuple(m[k] for k in range(1 + states) for m in made)


@onnx_op("Adagrad", 1, DOMAIN)
def adagrad(n: Node) -> tuple[Value, ...]:
    text = "\n".join([f"rate = r/(1 + t*{n.attr('decay_factor', 0.0)})", f"d = {n.attr('norm_coefficient', 0.0)}*x + g",
                      "v2 = v + d*d", f"x2 = x - rate*d/(sqrt(v2) + {n.attr('epsilon', 1e-6)})"])
    return _updated(n, 1, text)


@onnx_op("Momentum", 1, DOMAIN)
def momentum(n: Node) -> tuple[Value, ...]:
    alpha, beta = n.attr("alpha"), n.attr("beta")
    step = "v2" if n.attr("mode") == "standard" else f"(d + {alpha}*v2)"
    text = "\n".join([f"d = {n.attr('norm_coefficient')}*x + g", f"v2 = {alpha}*v + where(t > 0, {beta}, 1.0)*d",
                      f"x2 = x - r*{step}"])
    return _updated(n, 1, text)


@onnx_op("Adam", 1, DOMAIN)
def adam(n: Node) -> tuple[Value, ...]:
    alpha, beta = n.attr("alpha", 0.9), n.attr("beta", 0.999)
    text = "\n".join([
        f"d = {n.attr('norm_coefficient', 0.0)}*x + g", f"v2 = {alpha}*v + {1 - alpha}*d", f"h2 = {beta}*h + {1 - beta}*d*d",
        f"rate = where(t > 0, r*sqrt(1 - f32({beta})**f32(t))/(1 - f32({alpha})**f32(t)), r)",
        f"x2 = {1 - n.attr('norm_coefficient_post', 0.0)}*(x - rate*v2/(sqrt(h2) + {n.attr('epsilon', 1e-6)}))"])
    return _updated(n, 2, text)
