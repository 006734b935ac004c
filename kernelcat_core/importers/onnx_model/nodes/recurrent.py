"""RNN, GRU and LSTM: the products with the inputs of all times at once, then one formula a step.

The host walks the times. A step reads its time from a tensor, so that all steps are the same kernels.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np

from kernelcat_core.importers.onnx_model.node import Item, Node, onnx_op
from kernelcat_core.importers.onnx_model.nodes.layout import concatenated, reshaped
from kernelcat_core.importers.trace import Value

_DEFAULTS = {"LSTM": ("Sigmoid", "Tanh", "Tanh"), "GRU": ("Sigmoid", "Tanh"), "RNN": ("Tanh",)}
_GATES = {"LSTM": 4, "GRU": 3, "RNN": 1}
_ALPHA = {"LeakyRelu": 0.01, "ThresholdedRelu": 1.0, "Elu": 1.0, "HardSigmoid": 0.2, "Affine": 1.0, "ScaledTanh": 1.0}
_BETA = {"HardSigmoid": 0.5, "Affine": 0.0, "ScaledTanh": 1.0}


def activation(name: str, alpha: float, beta: float) -> str:
    """An activation of ONNX's recurrent operators as an expression of {0}."""
    texts = {
        "sigmoid": "sigmoid({0})", "tanh": "tanh({0})", "relu": "maximum({0}, 0)", "softsign": "softsign({0})",
        "softplus": "softplus({0})", "affine": f"({alpha!r}*({{0}}) + {beta!r})",
        "leakyrelu": f"where({{0}} < 0, {alpha!r}*({{0}}), {{0}})",
        "thresholdedrelu": f"where({{0}} > {alpha!r}, {{0}}, 0)", "scaledtanh": f"{alpha!r}*tanh({beta!r}*({{0}}))",
        "hardsigmoid": f"minimum(maximum({alpha!r}*({{0}}) + {beta!r}, 0), 1)",
        "elu": f"where({{0}} < 0, {alpha!r}*(exp({{0}}) - 1), {{0}})",
    }
    return texts[name.lower()]


@dataclass(frozen=True)
class _Cell:
    """What is the same at every step of one direction: its number, hidden size, activations, limits."""

    n: Node
    direction: int
    hidden: int
    acts: tuple[str, ...]

    def act(self, k: int, text: str) -> str:
        clip = self.n.attr("clip")
        return self.acts[k].format(f"minimum(maximum({text}, {-clip!r}), {clip!r})" if clip else text)


def _activations(n: Node, direction: int) -> tuple[str, ...]:
    default = _DEFAULTS[n.op]
    names = n.attr("activations") or default * 2
    alphas, betas = list(n.attr("activation_alpha") or ()), list(n.attr("activation_beta") or ())
    made = []
    for name in names:
        alpha = alphas.pop(0) if alphas and name in _ALPHA else _ALPHA.get(name, 0.0)
        beta = betas.pop(0) if betas and name in _BETA else _BETA.get(name, 0.0)
        made.append(activation(name, float(alpha), float(beta)))
    return tuple(made[direction * len(default):(direction + 1) * len(default)])


def _lstm(c: _Cell, values: dict[str, Value]) -> str:
    d, size = c.direction, c.hidden
    peep = "Q" in values
    z = [f"z[b, h + {k * size}]" if k else "z[b, h]" for k in range(4)]
    look = [f" + Q[{d}, h + {k * size}]*" if peep else "" for k in range(3)]
    old, new = ("C[b, h]", "c2[b, h]") if peep else ("", "")
    forget = "1 - i[b, h]" if c.n.attr("input_forget", 0) else c.act(0, f"{z[2]}{look[2]}{old}")
    return "\n".join([
        f"z[b, g] = P[t[0], b, g] + sum[k](H[b, k]*R[{d}, g, k])",
        f"i[b, h in {size}] = {c.act(0, f'{z[0]}{look[0]}{old}')}",
        f"c2[b, h in {size}] = ({forget})*C[b, h] + i[b, h]*{c.act(1, z[3])}",
        f"h2[b, h in {size}] = ({c.act(0, f'{z[1]}{look[1]}{new}')})*({c.acts[2].format('c2[b, h]')})"])


def _gru(c: _Cell, values: dict[str, Value]) -> str:
    d, size = c.direction, c.hidden
    lines = [f"z[b, g in {2 * size}] = P[t[0], b, g] + sum[k](H[b, k]*R[{d}, g, k])",
             f"r[b, h in {size}] = {c.act(0, f'z[b, h + {size}]')}"]
    if c.n.attr("linear_before_reset", 0):
        bias = f" + B[{d}, h + {5 * size}]" if "B" in values else ""
        product = f"sum[k](H[b, k]*R[{d}, h + {2 * size}, k]){bias}"
        lines.append(f"n[b, h in {size}] = P[t[0], b, h + {2 * size}] + r[b, h]*({product})")
    else:
        lines += [f"rh[b, h in {size}] = r[b, h]*H[b, h]",
                  f"n[b, h in {size}] = P[t[0], b, h + {2 * size}] + sum[k](rh[b, k]*R[{d}, h + {2 * size}, k])"]
    return "\n".join([*lines, f"u[b, h in {size}] = {c.act(0, 'z[b, h]')}",
                      f"h2[b, h in {size}] = (1 - u[b, h])*({c.act(1, 'n[b, h]')}) + u[b, h]*H[b, h]"])


def _rnn(c: _Cell, values: dict[str, Value]) -> str:
    product = f"P[t[0], b, h] + sum[k](H[b, k]*R[{c.direction}, h, k])"
    return f"n[b, h in {c.hidden}] = {product}\nh2[b, h in {c.hidden}] = {c.act(0, 'n[b, h]')}"


_STEPS: dict[str, Callable[[_Cell, dict[str, Value]], str]] = {"LSTM": _lstm, "GRU": _gru, "RNN": _rnn}


@onnx_op("LSTM GRU RNN")
def recurrent(n: Node) -> tuple[Item, ...]:
    x, weights = n.x(0), n.x(1)
    batchwise = bool(n.attr("layout", 0))
    if batchwise:
        x = n.call("transpose", x, axes=(1, 0, 2))
    starts = [_start(n, k, batchwise) for k in (5, 6)]
    kind = n.attr("direction", "forward")
    runs = [_direction(n, d, kind == "reverse" or d == 1, x, starts) for d in range(weights.shape[0])]
    outputs: list[Item] = []
    if n.outputs and n.outputs[0]:
        sides = [concatenated(n, [reshaped(n, h, (1, 1, *h.shape)) for h in run[0]], 0) for run in runs]
        whole = concatenated(n, sides, 1)
        outputs.append(n.call("transpose", whole, axes=(2, 0, 1, 3)) if batchwise else whole)
    else:
        outputs.append(None)
    for last in ([run[1] for run in runs], [run[2] for run in runs])[:2 if n.op == "LSTM" else 1]:
        ends = concatenated(n, [reshaped(n, v, (1, *v.shape)) for v in last], 0)
        outputs.append(n.call("transpose", ends, axes=(1, 0, 2)) if batchwise else ends)
    return tuple(outputs)


def _start(n: Node, place: int, batchwise: bool) -> Value | None:
    if not n.has(place):
        return None
    return n.call("transpose", n.x(place), axes=(1, 0, 2)) if batchwise else n.x(place)


def _direction(n: Node, d: int, backwards: bool, x: Value, starts: list[Value | None]
               ) -> tuple[list[Value], Value, Value]:
    """(hidden states in order of time, the last hidden state, the last cell state)."""
    steps, batch, _ = x.shape
    hidden = n.x(2).shape[2]
    gates = _GATES[n.op] * hidden
    late = n.op == "GRU" and n.attr("linear_before_reset", 0)
    product = f"P[t, b, g in {gates}] = sum[k](x[t, b, k]*W[{d}, g, k])"
    values = {"x": x, "W": n.x(1)}
    if n.has(3):
        values["B"] = n.x(3)
        own = f"where(g < {2 * hidden}, B[{d}, g + {gates}], 0)" if late else f"B[{d}, g + {gates}]"
        product = f"{product} + B[{d}, g] + {own}"
    inputs = n.formula(product, **values)
    zero = n.const(np.zeros((batch, hidden), x.dtype.numpy))
    h, c = (zero if s is None else n.formula(f"y[b, h] = s[{d}, b, h]", s=s) for s in starts)
    cell = _Cell(n, d, hidden, _activations(n, d))
    shared = {"P": inputs, "R": n.x(2)}
    if n.op == "GRU" and late and n.has(3):
        shared["B"] = n.x(3)
    if n.op == "LSTM" and n.has(7):
        shared["Q"] = n.x(7)
    states: list[Value] = []
    for turn in range(steps):
        time = steps - 1 - turn if backwards else turn
        made = _step(cell, {**shared, "H": h, "t": n.trace.stored(np.full(1, time, np.int64)),
                            **({"C": c} if n.op == "LSTM" else {}), **({"L": n.x(4)} if n.has(4) else {})})
        h, c = made[0], made[1] if n.op == "LSTM" else c
        states.append(made[-1])
    return states[::-1] if backwards else states, h, c


def _step(cell: _Cell, values: dict[str, Value]) -> tuple[Value, ...]:
    """(hidden state, cell state of an LSTM, what the step puts out) after one time."""
    text, lstm = _STEPS[cell.n.op](cell, values), cell.n.op == "LSTM"
    kind = values["H"].dtype
    if "L" not in values:
        made = cell.n.formulas(f"{text}\n-> h2{', c2' if lstm else ''}", **values)
        return (*made, made[0])
    text += "\nh3[b, h] = where(t[0] < L[b], h2[b, h], H[b, h])\ny[b, h] = where(t[0] < L[b], h2[b, h], 0)"
    if lstm:
        text += "\nc3[b, h] = where(t[0] < L[b], c2[b, h], C[b, h])"
    assert kind.is_float
    return cell.n.formulas(f"{text}\n-> h3{', c3' if lstm else ''}, y", **values)
