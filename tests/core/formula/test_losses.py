"""Losses against PyTorch."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
import torch.nn.functional as F  # noqa: N812

from tests.core.formula.operator_cases import Case, agrees
from tests.core.formula.running import fails

PAIR = {"x": (4, 5), "t": (4, 5)}
VECTORS = {"a": (4, 3), "b": (4, 3), "c": (4, 3)}
RNG = np.random.default_rng(0)

CASES: dict[str, Case] = {
    "huber": ("y = huber_loss(x, t, delta=0.3) + smooth_l1_loss(x, t, beta=0.4)", PAIR,
              lambda x, t: F.huber_loss(x, t, delta=0.3) + F.smooth_l1_loss(x, t, beta=0.4)),
    "soft margin": ("y = soft_margin_loss(x, sign(t))", PAIR, lambda x, t: F.soft_margin_loss(x, t.sign())),
    "hinge": ("y = hinge_embedding_loss(x, sign(t))", PAIR, lambda x, t: F.hinge_embedding_loss(x, t.sign())),
    "bce": ("y = bce_loss(sigmoid(x), sigmoid(t))", PAIR, lambda x, t: F.binary_cross_entropy(x.sigmoid(), t.sigmoid())),
    "bce certain": ("y = bce_loss(x, t)", {"x": np.array([0, 1, 1, 0], "f4"), "t": np.array([0, 1, 0, 0.5], "f4")},
                    F.binary_cross_entropy),
    "bce weighted": ('y = bce_loss(sigmoid(x), sigmoid(t), w, reduction="sum")', {**PAIR, "w": (5,)},
                     lambda x, t, w: F.binary_cross_entropy(x.sigmoid(), t.sigmoid(), w, reduction="sum")),
    "bce logits": ("y = bce_with_logits_loss(x, sigmoid(t), pos_weight=w)", {**PAIR, "w": (5,)},
                   lambda x, t, w: F.binary_cross_entropy_with_logits(x, t.sigmoid(), pos_weight=w)),
    "bce large logits": ("y = bce_with_logits_loss(100*x, sigmoid(t))", PAIR,
                         lambda x, t: F.binary_cross_entropy_with_logits(100 * x, t.sigmoid())),
    "kl logs": ('y = kl_div(log_softmax(x), log_softmax(t), log_target=True, reduction="batchmean")', PAIR,
                lambda x, t: F.kl_div(x.log_softmax(-1), t.log_softmax(-1), log_target=True, reduction="batchmean")),
    "poisson": ("y = poisson_nll_loss(x, t*t*5, full=True)", PAIR, lambda x, t: F.poisson_nll_loss(x, t * t * 5, full=True)),
    "gaussian": ("y = gaussian_nll_loss(x, t, v*v, full=True)", {**PAIR, "v": (4, 5)},
                 lambda x, t, v: F.gaussian_nll_loss(x, t, v * v, full=True)),
    "ranking": ("y = margin_ranking_loss(a, b, sign(t), margin=0.2)", {"a": (4,), "b": (4,), "t": (4,)},
                lambda a, b, t: F.margin_ranking_loss(a, b, t.sign(), margin=0.2)),
    "cosine": ("y = cosine_embedding_loss(a, b, sign(t), margin=0.2)", {"a": (4, 3), "b": (4, 3), "t": (4,)},
               lambda a, b, t: F.cosine_embedding_loss(a, b, t.sign(), margin=0.2)),
    "triplet": ("y = triplet_margin_loss(a, b, c)", VECTORS, F.triplet_margin_loss),
    "triplet 3": ("y = triplet_margin_loss(a, b, c, p=3)", VECTORS, lambda a, b, c: F.triplet_margin_loss(a, b, c, p=3)),
    "margins": ("t: i64[N]; y = multi_margin_loss(x, t, p=2)", {"x": (6, 5), "t": RNG.integers(0, 5, 6)},
                lambda x, t: F.multi_margin_loss(x, t, p=2)),
}


@pytest.mark.parametrize("case", CASES)
def test_loss(case: str) -> None:
    agrees(CASES[case])


@pytest.mark.parametrize("reduction", ["mean", "sum", "none"])
def test_reductions(reduction: str) -> None:
    for name in ("mse_loss", "l1_loss", "huber_loss", "smooth_l1_loss"):
        agrees((f'y = {name}(x, t, reduction="{reduction}")', PAIR,
                lambda x, t, name=name: getattr(F, name)(x, t, reduction=reduction)))
    # PyTorch warns that its mean divides by all elements
    total = "sum" if reduction == "mean" else reduction
    agrees((f'y = kl_div(log_softmax(x), softmax(t), reduction="{total}")', PAIR,
            lambda x, t: F.kl_div(x.log_softmax(-1), t.softmax(-1), reduction=total)))


@pytest.mark.parametrize("shape", [(6, 5), (5,), (2, 5, 3), (2, 5, 3, 2)])
@pytest.mark.parametrize("reduction", ["mean", "sum", "none"])
@pytest.mark.parametrize("ignored", [-100, 2])
def test_classes(shape: tuple[int, ...], reduction: str, ignored: int) -> None:
    labels = shape[:1] + shape[2:] if len(shape) > 1 else ()
    target = RNG.integers(0, 5, labels)
    declared = f"t: i64[{', '.join('ABCD'[:len(labels)])}]" if labels else "t: i64"
    for weighted in (False, True):
        inputs: dict[str, Any] = {"x": shape, "t": target}
        if weighted:
            inputs["w"] = RNG.random(5).astype("f4")
        options = f'{", w" if weighted else ""}, reduction="{reduction}", ignore_index={ignored}'
        agrees((f"{declared}; y = nll_loss(x, t{options})", inputs,
                lambda x, t, w=None: F.nll_loss(x, t, w, reduction=reduction, ignore_index=ignored)))
        for smoothing in (0.0, 0.1):
            agrees((f"{declared}; y = cross_entropy(x, t{options}, label_smoothing={smoothing})", inputs,
                    lambda x, t, w=None, s=smoothing: F.cross_entropy(x, t, w, reduction=reduction, ignore_index=ignored,
                                                                      label_smoothing=s)))


@pytest.mark.parametrize("shape", [(6, 5), (5,), (2, 5, 3)])
def test_soft_labels(shape: tuple[int, ...]) -> None:
    for reduction in ("mean", "none"):
        agrees((f'y = cross_entropy(x, t, w, reduction="{reduction}", label_smoothing=0.1)',
                {"x": shape, "t": RNG.random(shape).astype("f4"), "w": RNG.random(5).astype("f4")},
                lambda x, t, w, r=reduction: F.cross_entropy(x, t, w, reduction=r, label_smoothing=0.1)))


def test_arguments_are_checked() -> None:
    fails("KC-F005", 'y = mse_loss(x, t, reduction="all")')
    fails("KC-F005", "y = mse_loss(x, t)", x="3x4", t="3")
    fails("KC-F005", "y = nll_loss(x, t)", x="3x4", t="3")
    fails("KC-F005", "t: i64[N]; y = cross_entropy(x, t, label_smoothing=2)", x="3x4")
