"""Convolutions, their adjoints, pools and unpools against PyTorch."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
import torch
import torch.nn.functional as F  # noqa: N812

from tests.core.formula.operator_cases import Case, agrees, reference
from tests.core.formula.running import fails, normal, run

# stride, padding, output_padding, dilation, kernel, input
TRANSPOSED = [(1, 0, 0, 1, 3, 7), (2, 1, 1, 1, 3, 6), (2, 0, 0, 1, 4, 5), (3, 2, 2, 1, 5, 4), (2, 1, 0, 2, 3, 6),
              (3, 1, 1, 2, 4, 5), (4, 3, 1, 6, 3, 5), (2, 0, 1, 3, 2, 1), (5, 0, 0, 1, 2, 3), (6, 5, 2, 4, 3, 4),
              (1, 2, 0, 3, 3, 7)]


@pytest.mark.parametrize(("stride", "padding", "extra", "dilation", "kernel", "size"), TRANSPOSED)
def test_phases_of_a_transposed_convolution(stride: int, padding: int, extra: int, dilation: int, kernel: int,
                                            size: int) -> None:
    agrees((f"y = conv_transpose1d(x, w, b, stride={stride}, padding={padding}, output_padding={extra}, dilation={dilation})",
            {"x": (2, 3, size), "w": (3, 4, kernel), "b": (4,)},
            lambda x, w, b: F.conv_transpose1d(x, w, b, stride, padding, extra, 1, dilation)))


def _unpooled(x: Any, kernel: int, stride: int, padding: int, size: tuple[int, int] | None = None) -> Any:
    y, positions = F.max_pool2d(x, kernel, stride, padding, return_indices=True)
    return F.max_unpool2d(y, positions, kernel, stride, padding, size)


CASES: dict[str, Case] = {
    "transposed 2d": ("y = conv_transpose2d(x, w, stride=(2,3), padding=(1,0), output_padding=(1,2))",
                      {"x": (2, 4, 5, 6), "w": (4, 3, 3, 2)},
                      lambda x, w: F.conv_transpose2d(x, w, None, (2, 3), (1, 0), (1, 2))),
    "transposed of numbers": ("x: f32[2,4,5,6]; w: f32[4,3,3,2]; y = conv_transpose2d(x, w, stride=(2,3), padding=(1,0))",
                              {"x": (2, 4, 5, 6), "w": (4, 3, 3, 2)},
                              lambda x, w: F.conv_transpose2d(x, w, None, (2, 3), (1, 0))),
    "transposed groups": ("y = conv_transpose2d(x, w, b, stride=2, groups=2)",
                          {"x": (2, 4, 5, 6), "w": (4, 3, 3, 2), "b": (6,)},
                          lambda x, w, b: F.conv_transpose2d(x, w, b, 2, groups=2)),
    "transposed without batch": ("y = conv_transpose2d(x, w, stride=2)", {"x": (4, 5, 6), "w": (4, 3, 3, 2)},
                                 lambda x, w: F.conv_transpose2d(x, w, None, 2)),
    "transposed of nothing": ("y = conv_transpose1d(x, w, stride=2)", {"x": (0, 3, 4), "w": (3, 4, 3)},
                              lambda x, w: F.conv_transpose1d(x, w, None, 2)),
    "transposed 3d": ("y = conv_transpose3d(x, w, stride=2, padding=1)", {"x": (1, 2, 3, 4, 3), "w": (2, 3, 3, 3, 2)},
                      lambda x, w: F.conv_transpose3d(x, w, None, 2, 1)),
    "transposed asymmetric": ("y = conv_transpose1d(x, w, stride=2, padding=((1,0),))", {"x": (1, 2, 5), "w": (2, 3, 3)},
                              lambda x, w: F.conv_transpose1d(x, w, None, 2)[:, :, 1:]),
    "transposed to a shape": ("y = conv_transpose2d(x, w, stride=(3,2), output_shape=(10,8))",
                              {"x": (1, 1, 3, 3), "w": (1, 2, 3, 3)},
                              lambda x, w: reference("ConvTranspose", x, w, strides=[3, 2], output_shape=[10, 8])),
    "transposed same": ('y = conv_transpose2d(x, w, stride=2, padding="same")', {"x": (1, 1, 3, 3), "w": (1, 2, 3, 3)},
                        lambda x, w: reference("ConvTranspose", x, w, strides=[2, 2], auto_pad="SAME_UPPER")),
    "conv without batch": ("y = conv2d(x, w, b, padding=1)", {"x": (3, 5, 6), "w": (4, 3, 3, 3), "b": (4,)},
                           lambda x, w, b: F.conv2d(x, w, b, padding=1)),
    "conv causal": ('y = conv1d(x, w, padding="causal", dilation=2)', {"x": (2, 3, 9), "w": (4, 3, 3)},
                    lambda x, w: F.conv1d(F.pad(x, (4, 0)), w, dilation=2)),
    "conv same lower": ('y = conv2d(x, w, padding="same_lower", stride=2)', {"x": (1, 2, 8, 9), "w": (3, 2, 3, 4)},
                        lambda x, w: reference("Conv", x, w, strides=[2, 2], auto_pad="SAME_LOWER")),
    "positions dilated": ("y = max_pool2d_indices(x, 3, stride=2, padding=1, dilation=2)", {"x": (2, 3, 9, 8)},
                          lambda x: F.max_pool2d(x, 3, 2, 1, 2, return_indices=True)[1]),
    "positions 1d": ("y = max_pool1d_indices(x, 3, stride=2)", {"x": (2, 3, 9)},
                     lambda x: F.max_pool1d(x, 3, 2, return_indices=True)[1]),
    "positions 3d": ("y = max_pool3d_indices(x, 3, stride=2)", {"x": (2, 3, 5, 6, 7)},
                     lambda x: F.max_pool3d(x, 3, 2, return_indices=True)[1]),
    "positions in the whole": ("y = max_pool2d_indices(x, 2, whole=True)", {"x": (2, 3, 6, 7)},
                               lambda x: reference("MaxPool", x, kernel_shape=[2, 2], strides=[2, 2], outputs=2, output=1)),
    "pool without batch": ("y = max_pool2d(x, 2)", {"x": (3, 6, 7)}, lambda x: F.max_pool2d(x, 2)),
    "lp pool": ("y = lp_pool2d(x, 2) + lp_pool2d(x, 2, p=1)", {"x": (2, 3, 6, 7)},
                lambda x: F.lp_pool2d(x, 2, 2) + F.lp_pool2d(x.abs(), 1, 2)),
    "lp pool 3": ("y = lp_pool1d(x, 3, stride=2, p=3)", {"x": (2, 3, 8)}, lambda x: F.lp_pool1d(x.abs(), 3, 3, 2)),
    "average divisor": ("y = avg_pool2d(x, 2, divisor_override=3)", {"x": (2, 3, 6, 7)},
                        lambda x: F.avg_pool2d(x, 2, divisor_override=3)),
    "average dilated": ("y = avg_pool2d(x, 3, stride=2, padding=1, dilation=2, count_include_pad=False)", {"x": (1, 2, 9, 8)},
                        lambda x: reference("AveragePool", x, kernel_shape=[3, 3], strides=[2, 2], pads=[1] * 4,
                                            dilations=[2, 2])),
    "adaptive rest": ("y = adaptive_avg_pool2d(x, (None, 3))", {"x": (2, 3, 7, 10)},
                      lambda x: F.adaptive_avg_pool2d(x, (None, 3))),
    "adaptive 3d": ("y = adaptive_avg_pool3d(x, 2)", {"x": (3, 5, 7, 4)}, lambda x: F.adaptive_avg_pool3d(x, 2)),
    "adaptive larger": ("y = adaptive_avg_pool1d(x, 7)", {"x": (2, 3, 4)}, lambda x: F.adaptive_avg_pool1d(x, 7)),
    "unpool": ("y = max_unpool2d(max_pool2d(x, 2), max_pool2d_indices(x, 2), 2)", {"x": (2, 3, 6, 8)},
               lambda x: _unpooled(x, 2, 2, 0)),
    "unpool size": ("y = max_unpool2d(max_pool2d(x, 2), max_pool2d_indices(x, 2), 2, output_size=(7,8))",
                    {"x": (2, 3, 7, 8)}, lambda x: _unpooled(x, 2, 2, 0, (7, 8))),
    "unpool overlapping": ("y = max_unpool2d(max_pool2d(x, 3, stride=2, padding=1), "
                           "max_pool2d_indices(x, 3, stride=2, padding=1), 3, stride=2, padding=1)", {"x": (2, 3, 7, 9)},
                           lambda x: _unpooled(x, 3, 2, 1)),
    "global lp": ("y = global_lp_pool(x)", {"x": (2, 3, 4, 5)}, lambda x: x.norm(2, (2, 3), keepdim=True)),
    "response": ("y = local_response_norm(x, 4, alpha=0.5, beta=0.5, k=2)", {"x": (2, 7, 3)},
                 lambda x: F.local_response_norm(x, 4, 0.5, 0.5, 2)),
    "response odd": ("y = lrn(x, 3, alpha=0.5)", {"x": (2, 7, 3, 2)}, lambda x: F.local_response_norm(x, 3, 0.5)),
}


@pytest.mark.parametrize("case", CASES)
def test_operator(case: str) -> None:
    agrees(CASES[case])


@pytest.mark.parametrize(("kernel", "stride", "padding", "size"),
                         [(3, 2, 1, 9), (3, 2, 0, 8), (2, 3, 1, 7), (3, 3, 1, 10), (2, 2, 0, 5)])
def test_windows_that_hang_over(kernel: int, stride: int, padding: int, size: int) -> None:
    options = f"{kernel}, stride={stride}, padding={padding}, ceil_mode=True"
    x = {"x": (2, 3, size, size + 1)}
    agrees((f"y = max_pool2d(x, {options})", x, lambda x: F.max_pool2d(x, kernel, stride, padding, ceil_mode=True)))
    agrees((f"y = max_pool2d_indices(x, {options})", x,
            lambda x: F.max_pool2d(x, kernel, stride, padding, ceil_mode=True, return_indices=True)[1]))
    for counted in (True, False):
        agrees((f"y = avg_pool2d(x, {options}, count_include_pad={counted})", x,
                lambda x, c=counted: F.avg_pool2d(x, kernel, stride, padding, ceil_mode=True, count_include_pad=c)))


@pytest.mark.parametrize("size", [(1, 1), (3, 5), (4, 7), (6, 2)])
@pytest.mark.parametrize("declared", ["", "x: f32[2,3,7,10]; "])
def test_adaptive_pools(size: tuple[int, int], declared: str) -> None:
    x = {"x": (2, 3, 7, 10)}
    agrees((f"{declared}y = adaptive_avg_pool2d(x, {size})", x, lambda x: F.adaptive_avg_pool2d(x, size)))
    agrees((f"{declared}y = adaptive_max_pool2d(x, {size})", x, lambda x: F.adaptive_max_pool2d(x, size)))


def test_integers_and_halves() -> None:
    x = np.random.default_rng(0).integers(-9, 9, (1, 2, 5, 6)).astype("i4")
    found = run("x: i32[N,C,H,W]; y = max_pool2d(x, 3, padding=1)", x=x)
    np.testing.assert_array_equal(found, F.max_pool2d(torch.tensor(x).double(), 3, padding=1).int().numpy())
    h = normal(1, 2, 6, 6, dtype="float16")
    w = normal(2, 3, 3, 3, dtype="float16", seed=1)
    found = run("y = conv_transpose2d(x, w, stride=2)", x=h, w=w)
    assert found.dtype == np.float16
    exact = F.conv_transpose2d(torch.tensor(h).float(), torch.tensor(w).float(), None, 2).numpy()
    np.testing.assert_allclose(found, exact.astype("f2"), rtol=1e-3, atol=1e-4)


@pytest.mark.parametrize("dilation", [1, 2])
def test_positions_lie_inside_even_where_all_is_least(dilation: int) -> None:
    x = np.full((1, 1, 6, 7), -np.inf, "f4")
    agrees((f"y = max_pool2d_indices(x, 3, stride=2, padding=1, dilation={dilation})", {"x": x},
            lambda x: F.max_pool2d(x, 3, 2, 1, dilation, return_indices=True)[1]))


def test_arguments_are_checked() -> None:
    fails("KC-F005", "y = conv_transpose1d(x, w, stride=0)")
    fails("KC-F005", 'y = conv2d(x, w, padding="wide")')
    fails("KC-F005", "y = adaptive_avg_pool2d(x, (1, 2, 3))")
    fails("KC-F005", "y = lp_pool2d(x, 2, p=0)")
