"""What transformers are made of: attention and its masks, rotary embedding, gates, normalisations."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
import torch
import torch.nn.functional as F  # noqa: N812

from tests.core.formula.operator_cases import Case, agrees, reference
from tests.core.formula.running import fails, normal

ATTENTION = F.scaled_dot_product_attention
Q = {"q": (2, 4, 5, 8), "k": (2, 4, 7, 8), "v": (2, 4, 7, 6)}
SHARED = {"q": (2, 4, 5, 8), "k": (2, 2, 7, 8), "v": (2, 2, 7, 6)}
X = {"x": (3, 4, 5, 6)}


def _windowed(q: Any, k: Any, v: Any, before: int | None, after: int | None, offset: int, causal: bool) -> Any:
    score = q @ k.mT / 8 ** 0.5
    i, j = torch.arange(score.shape[-2])[:, None] + offset, torch.arange(score.shape[-1])[None]
    seen = j <= i if causal else torch.ones(score.shape[-2:], dtype=torch.bool)
    seen = seen & (i - j <= before) if before is not None else seen
    seen = seen & (j - i <= after) if after is not None else seen
    return score.masked_fill(~seen, -torch.inf).softmax(-1).nan_to_num(0) @ v


@pytest.mark.parametrize("shape", [(5, 7), (1, 7), (2, 1, 5, 7), (2, 1, 1, 7), (4, 5, 7), (1, 4, 5, 1)])
@pytest.mark.parametrize("kind", ["f32", "bool"])
def test_masks_broadcast(shape: tuple[int, ...], kind: str) -> None:
    dims = ", ".join("1" if d == 1 else f"M{k}" for k, d in enumerate(shape))
    mask = normal(*shape, seed=9)
    agrees((f"m: {kind}[{dims}]; y = attention(q, k, v, m)", {**Q, "m": mask > -0.3 if kind == "bool" else mask},
            lambda q, k, v, m: ATTENTION(q, k, v, m)))


@pytest.mark.parametrize(("before", "after", "offset", "causal"), [(2, None, 0, True), (1, 1, 2, False), (None, 0, 1, False),
                                                                  (2, 0, 0, True), (None, None, -2, True),
                                                                  (None, None, 2, True)])
def test_windows(before: int | None, after: int | None, offset: int, causal: bool) -> None:
    window = "" if before is None and after is None else f", window=({before}, {after})"
    agrees((f"y = attention(q, k, v, causal={causal}, causal_offset={offset}{window})", Q,
            lambda q, k, v: _windowed(q, k, v, before, after, offset, causal)))


POSITIONS = np.array([[3, 1, 0, 2, 4], [0, 1, 2, 3, 4]])


@pytest.mark.parametrize("interleaved", [False, True])
@pytest.mark.parametrize("part", [0, 4])
@pytest.mark.parametrize("packed", [False, True])
def test_rotary_embedding(interleaved: bool, part: int, packed: bool) -> None:
    half = (part or 8) // 2
    options = f"interleaved={interleaved}, rotary_dim={part}{', num_heads=3' if packed else ''}"
    attributes: dict[str, Any] = {"interleaved": int(interleaved), "rotary_embedding_dim": part, "opset": 23}
    if packed:
        attributes["num_heads"] = 3
    x = (2, 5, 24) if packed else (2, 3, 5, 8)
    agrees((f"p: i64[B, S]; y = rotary_embedding(x, c, s, p, {options})", {"x": x, "c": (9, half), "s": (9, half),
                                                                          "p": POSITIONS},
            lambda x, c, s, p: reference("RotaryEmbedding", x, c, s, p, **attributes)))
    agrees((f"y = rotary_embedding(x, c, s, {options})", {"x": x, "c": (2, 5, half), "s": (2, 5, half)},
            lambda x, c, s: reference("RotaryEmbedding", x, c, s, **attributes)))


CASES: dict[str, Case] = {
    "shared heads": ("y = attention(q, k, v, enable_gqa=True)", SHARED,
                     lambda q, k, v: ATTENTION(q, k, v, enable_gqa=True)),
    "shared heads of numbers": ("q: f32[2,4,5,8]; k: f32[2,2,7,8]; v: f32[2,2,7,6]; y = attention(q, k, v)", SHARED,
                                lambda q, k, v: ATTENTION(q, k, v, enable_gqa=True)),
    "softcap": ("y = attention(q, k, v, softcap=0.5)", Q,
                lambda q, k, v: (0.5 * torch.tanh(q @ k.mT / 8 ** 0.5 / 0.5)).softmax(-1) @ v),
    "slopes": ("y = attention(q, k, v, slopes=s)", {**Q, "s": (4,)},
               lambda q, k, v, s: (q @ k.mT / 8 ** 0.5 + s[:, None, None] * (
                   torch.arange(7)[None] - torch.arange(5)[:, None])).softmax(-1) @ v),
    "rotary rows": ("y = rotary_embedding(x, c, s)", {"x": (5, 8), "c": (5, 4), "s": (5, 4)},
                    lambda x, c, s: torch.cat((x[:, :4] * c - x[:, 4:] * s, x[:, 4:] * c + x[:, :4] * s), 1)),
    "glu": ("y = glu(x, axis=0)", {"x": (4, 6)}, lambda x: F.glu(x, 0)),
    "geglu": ("y = geglu(x)", {"x": (4, 6)}, lambda x: x[:, :3] * F.gelu(x[:, 3:])),
    "reglu": ("y = reglu(x) + siglu(x) + bilinear_glu(x)", {"x": (4, 6)},
              lambda x: x[:, :3] * (F.relu(x[:, 3:]) + F.silu(x[:, 3:]) + x[:, 3:])),
    "hardmax": ("y = hardmax(x, axis=0)", {"x": (4, 6)}, lambda x: reference("Hardmax", x, axis=0)),
    "softmin": ("y = softmin(x, axis=0)", {"x": (4, 6)}, lambda x: F.softmin(x, 0)),
    "softmax2d": ("y = softmax2d(x)", X, lambda x: x.softmax(1)),
    "batch norm": ("y = batch_norm_training(x, g, b)", {**X, "g": (4,), "b": (4,)},
                   lambda x, g, b: F.batch_norm(x, None, None, g, b, True)),
    "mean variance": ("y = mean_variance_normalization(x)", X, lambda x: reference("MeanVarianceNormalization", x)),
    "weights": ("y = weight_standardize(x)", X, lambda x: F.layer_norm(x, x.shape[1:])),
    "added": ("y = add_rms_norm(x, r, g)", {"x": (3, 8), "r": (3, 8), "g": (8,)},
              lambda x, r, g: F.rms_norm(x + r, (8,), g, 1e-6)),
    **{f"unit {p}": (f"y = lp_normalize(x, axis=1, p={p}, eps=1e-12)", X, lambda x, p=p: F.normalize(x, p, 1))
       for p in (1, 2, 3)},
}


@pytest.mark.parametrize("case", CASES)
def test_operator(case: str) -> None:
    agrees(CASES[case])


def test_arguments_are_checked() -> None:
    fails("KC-F005", "y = attention(q, k, v, m)", q="4x5", k="6x5", v="6x5", m="2x4x6")
    fails("KC-F005", "y = attention(q, k, v, window=3)", q="4x5", k="6x5", v="6x5")
    fails("KC-F017", "y = glu(x)", x="4x5")
    fails("KC-F017", "y = attention(q, k, v, enable_gqa=True)", q="3x4x5", k="2x6x5", v="2x6x5")
