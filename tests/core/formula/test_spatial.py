"""Resizing, sampling, padding and blocks against PyTorch, ONNX's reference evaluator and onnxruntime."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
import torch.nn.functional as F  # noqa: N812

from tests.core.formula.operator_cases import Case, agrees, onnxruntime, reference
from tests.core.formula.running import Array, fails, normal, run

X = {"x": (1, 2, 5, 7)}


@pytest.mark.parametrize("size", [(8, 9), (3, 4), (10, 14), (5, 1)])
@pytest.mark.parametrize(("mode", "align"), [("nearest", None), ("nearest-exact", None), ("bilinear", False),
                                             ("bilinear", True), ("bicubic", False), ("bicubic", True)])
def test_interpolate_to_sizes(mode: str, align: bool | None, size: tuple[int, int]) -> None:
    agrees((f'y = interpolate(x, size={size}, mode="{mode}", align_corners={bool(align)})', X,
            lambda x: F.interpolate(x, size, mode=mode, align_corners=align)))


@pytest.mark.parametrize("mode", ["bilinear", "bicubic"])
@pytest.mark.parametrize("size", [(8, 9), (3, 4), (5, 1)])
def test_interpolate_antialiased(mode: str, size: tuple[int, int]) -> None:
    agrees((f'y = interpolate(x, size={size}, mode="{mode}", antialias=True)', X,
            lambda x: F.interpolate(x, size, mode=mode, antialias=True)))


@pytest.mark.parametrize("mode", ["nearest", "bilinear", "bicubic"])
@pytest.mark.parametrize("scale", [(2.0, 1.5), (0.6, 0.5), (0.7, 2.3)])
def test_interpolate_by_scales(mode: str, scale: tuple[float, float]) -> None:
    agrees((f'y = interpolate(x, scale_factor={scale}, mode="{mode}")', {"x": (1, 2, 5, 10)},
            lambda x: F.interpolate(x, scale_factor=scale, mode=mode)))


def _resized(x: Any, kind: str, value: tuple[Any, ...], roi: tuple[float, ...] | None, **attributes: Any) -> Array:
    """onnxruntime where lengths are rounded (the reference evaluator does not round them), else the reference."""
    region = None if roi is None else np.array(roi, "f4")
    scales = np.array(value, "f4") if kind == "scales" else None
    sizes = np.array(value, "i8") if kind == "sizes" else None
    inputs = [x, region, scales] + ([sizes] if sizes is not None else [])
    exact = attributes.get("coordinate_transformation_mode") not in ("align_corners", "tf_crop_and_resize",
                                                                     "pytorch_half_pixel")
    return reference("Resize", *inputs, opset=19, **attributes) if exact else onnxruntime("Resize", *inputs, opset=19,
                                                                                          **attributes)


@pytest.mark.parametrize("mode", ["nearest", "linear", "cubic"])
@pytest.mark.parametrize("coordinates", ["half_pixel", "half_pixel_symmetric", "pytorch_half_pixel", "align_corners",
                                         "asymmetric", "tf_crop_and_resize"])
@pytest.mark.parametrize(("kind", "value"), [("scales", (1.0, 1.0, 0.8, 0.6)), ("sizes", (1, 2, 7, 9)),
                                             ("scales", (1.0, 1.0, 2.0, 3.0)), ("sizes", (1, 2, 1, 3))])
def test_onnx_coordinates(mode: str, coordinates: str, kind: str, value: tuple[Any, ...]) -> None:
    if coordinates == "half_pixel_symmetric" and (kind == "sizes" or mode == "nearest"):
        pytest.skip("differs from half_pixel for scales only; a tie there is decided by rounding in the reference")
    roi = (0, 0, 0.4, 0.25, 1, 1, 0.9, 1.2) if coordinates == "tf_crop_and_resize" else None
    region = f", roi={roi}, extrapolation_value=9.5" if roi else ""
    agrees((f'y = resize(x, {kind}={value}, mode="{mode}", coordinates="{coordinates}"{region})', X,
            lambda x: _resized(x, kind, value, roi, mode=mode, coordinate_transformation_mode=coordinates,
                               extrapolation_value=9.5)))


@pytest.mark.parametrize("rounding", ["round_prefer_floor", "round_prefer_ceil", "floor", "ceil"])
def test_onnx_roundings(rounding: str) -> None:
    agrees((f'y = resize(x, scales=(1.0,1.0,2.0,3.0), rounding="{rounding}")', X,
            lambda x: _resized(x, "scales", (1, 1, 2, 3), None, nearest_mode=rounding)))


@pytest.mark.parametrize("mode", ["linear", "cubic"])
@pytest.mark.parametrize("excluded", [False, True])
def test_onnx_antialias(mode: str, excluded: bool) -> None:
    scales = (1.0, 1.0, 0.6, 0.45)
    agrees((f'y = resize(x, scales={scales}, mode="{mode}", antialias=True, exclude_outside={excluded})', X,
            lambda x: _resized(x, "scales", scales, None, mode=mode, antialias=1, exclude_outside=int(excluded))))


@pytest.mark.parametrize("policy", ["not_larger", "not_smaller"])
def test_proportions_kept(policy: str) -> None:
    agrees((f'x: f32[1,2,5,7]; y = resize(x, sizes=(8,9), axes=(2,3), mode="linear", keep_aspect_ratio_policy="{policy}")', X,
            lambda x: _resized(x, "sizes", (8, 9), None, axes=[2, 3], mode="linear", keep_aspect_ratio_policy=policy)))


def test_a_resized_tie_is_exact() -> None:
    """(1 + 0.5)/0.6 - 0.5 is 2: rounded scales give 1.9999999."""
    x = np.arange(5, dtype="f4")
    assert run('y = resize(x, scales=0.6, rounding="floor")', x=x).tolist() == [0, 2, 3]


GRID = np.random.default_rng(5).uniform(-1.6, 1.6, (2, 4, 5, 2)).astype("f4")


@pytest.mark.parametrize("mode", ["bilinear", "nearest", "bicubic"])
@pytest.mark.parametrize("padding", ["zeros", "border", "reflection"])
@pytest.mark.parametrize("align", [False, True])
def test_grid_sample(mode: str, padding: str, align: bool) -> None:
    agrees((f'y = grid_sample(x, g, mode="{mode}", padding_mode="{padding}", align_corners={align})',
            {"x": (2, 3, 6, 7), "g": GRID}, lambda x, g: F.grid_sample(x, g, mode, padding, align)))


ROIS = np.array([[0, 0, 5, 4], [1.2, 0.7, 6.5, 5.1], [2, 1, 2.3, 1.2], [-1, -2, 3, 9]], "f4")


@pytest.mark.parametrize("ratio", [0, 2])
@pytest.mark.parametrize("mode", ["avg", "max"])
@pytest.mark.parametrize("coordinates", ["half_pixel", "output_half_pixel"])
def test_roi_align(ratio: int, mode: str, coordinates: str) -> None:
    agrees((f'y = roi_align(x, r, b, 3, 2, sampling_ratio={ratio}, spatial_scale=0.9, mode="{mode}", '
            f'coordinate_transformation_mode="{coordinates}")',
            {"x": (2, 3, 7, 8), "r": ROIS, "b": np.array([0, 1, 1, 0])},
            lambda x, r, b: reference("RoiAlign", x, r, b, output_height=3, output_width=2, sampling_ratio=ratio,
                                      spatial_scale=0.9, mode=mode, coordinate_transformation_mode=coordinates)))


CASES: dict[str, Case] = {
    "trilinear": ('y = interpolate(x, size=(3,8,5), mode="trilinear")', {"x": (1, 2, 4, 5, 6)},
                  lambda x: F.interpolate(x, (3, 8, 5), mode="trilinear")),
    "grid 3d": ("y = grid_sample(x, g)",
                {"x": (1, 2, 4, 5, 6), "g": np.random.default_rng(5).uniform(-1.3, 1.3, (1, 2, 3, 4, 3)).astype("f4")},
                lambda x, g: F.grid_sample(x, g, align_corners=False)),
    "affine": ("y = affine_grid(t, (2,3,4,5))", {"t": (2, 2, 3)},
               lambda t: F.affine_grid(t, (2, 3, 4, 5), align_corners=False)),
    "affine 3d": ("y = affine_grid(t, (2,3,4,5,6), align_corners=True)", {"t": (2, 3, 4)},
                  lambda t: F.affine_grid(t, (2, 3, 4, 5, 6), align_corners=True)),
    "deformed": ("y = deform_conv2d(x, w, o, b, m, padding=1)",
                 {"x": (1, 2, 5, 6), "w": (3, 2, 3, 3), "o": (1, 18, 5, 6), "b": (3,), "m": (1, 9, 5, 6)},
                 lambda x, w, o, b, m: reference("DeformConv", x, w, o, b, m, pads=[1] * 4, kernel_shape=[3, 3])),
    "deformed groups": ("y = deform_conv2d(x, w, o, stride=2, offset_groups=2, groups=2)",
                        {"x": (1, 4, 5, 6), "w": (6, 2, 2, 2), "o": (1, 16, 2, 3)},
                        lambda x, w, o: reference("DeformConv", x, w, o, strides=[2, 2], kernel_shape=[2, 2],
                                                  offset_group=2, group=2)),
    "columns": ("y = im2col(x, (3,2), padding=1, stride=2)", {"x": (2, 3, 6, 7)},
                lambda x: F.unfold(x, (3, 2), padding=1, stride=2)),
    "columns dilated": ("y = im2col(x, 2, dilation=2)", {"x": (2, 3, 6, 7)}, lambda x: F.unfold(x, 2, dilation=2)),
    "folded": ("y = col2im(x, (6,7), (3,2), padding=1, stride=2)", {"x": (2, 18, 12)},
               lambda x: F.fold(x, (6, 7), (3, 2), padding=1, stride=2)),
    "folded dilated": ("y = col2im(x, (6,7), 2, dilation=2)", {"x": (2, 12, 20)},
                       lambda x: F.fold(x, (6, 7), 2, dilation=2)),
    "folded 3d": ("y = col2im(x, (4,5,5), (1,2,3))", {"x": (1, 12, 48)},
                  lambda x: reference("Col2Im", x, np.array([4, 5, 5]), np.array([1, 2, 3]))),
    "pixel shuffle": ("y = pixel_shuffle(x, 2)", {"x": (2, 2, 8, 3, 4)}, lambda x: F.pixel_shuffle(x, 2)),
    "pixel unshuffle": ("y = pixel_unshuffle(x, 2)", {"x": (2, 2, 6, 4)}, lambda x: F.pixel_unshuffle(x, 2)),
    "depth to space": ("y = depth_to_space(x, 2)", {"x": (2, 8, 3, 4)}, lambda x: reference("DepthToSpace", x, blocksize=2)),
    "space to depth": ("y = space_to_depth(x, 2)", {"x": (2, 2, 6, 4)}, lambda x: reference("SpaceToDepth", x, blocksize=2)),
    "channel shuffle": ("y = channel_shuffle(x, 3)", {"x": (2, 6, 4, 4)}, lambda x: F.channel_shuffle(x, 3)),
    "unfold": ("y = unfold(x, 1, 3, 2)", {"x": (2, 8, 3)}, lambda x: x.unfold(1, 3, 2)),
    "pad symmetric": ('y = pad(x, ((2,1),(5,6)), mode="symmetric")', {"x": (3, 4)},
                      lambda x: np.pad(x.numpy(), ((2, 1), (5, 6)), mode="symmetric")),
    "pad reflected often": ('y = pad(x, ((2,1),(7,9)), mode="reflect")', {"x": (1, 4)},
                            lambda x: np.pad(x.numpy(), ((2, 1), (7, 9)), mode="reflect")),
    "pad crops": ("y = pad(x, ((-1,2),(3,-2)), value=1.5)", {"x": (3, 4)}, lambda x: F.pad(x, (3, -2, -1, 2), value=1.5)),
    "pad edge crops": ('y = pad(x, ((-1,2),(3,-2)), mode="edge")', {"x": (3, 4)},
                       lambda x: np.pad(x.numpy(), ((0, 2), (3, 0)), mode="edge")[1:, :-2]),
    "center": ("y = center_crop_pad(x, (6,3))", {"x": (3, 8)}, lambda x: reference("CenterCropPad", x, np.array([6, 3]))),
    "center axis": ("y = center_crop_pad(x, 5, axes=(1,))", {"x": (3, 8)},
                    lambda x: reference("CenterCropPad", x, np.array([5]), axes=[1])),
    **{f"pad {mode}": (f'y = pad(x, ((0,0),(0,0),(2,1),(3,2)), mode="{mode}")', {"x": (2, 3, 4, 5)},
                       lambda x, other=other: F.pad(x, (3, 2, 2, 1), mode=other))
       for mode, other in (("reflect", "reflect"), ("edge", "replicate"), ("wrap", "circular"))},
}


@pytest.mark.parametrize("case", CASES)
def test_operator(case: str) -> None:
    agrees(CASES[case])


def test_other_types() -> None:
    x = np.arange(12, dtype="u1").reshape(1, 1, 3, 4)
    found = run('x: u8[A,B,C,D]; y = resize(x, scales=(1,1,2,2), mode="nearest")', x=x)
    assert found.dtype == np.uint8
    assert found[0, 0, :, ::2].tolist() == np.repeat(x[0, 0], 2, 0).tolist()
    h = normal(1, 1, 4, 4, dtype="float16")
    found = run('y = interpolate(x, size=(7,5), mode="bilinear")', x=h)
    exact = run('y = interpolate(x, size=(7,5), mode="bilinear")', x=h.astype("f4"))
    np.testing.assert_allclose(found, exact.astype("f2"), rtol=1e-3)


def test_arguments_are_checked() -> None:
    fails("KC-F005", "y = resize(x)", x="3x4")
    fails("KC-F005", "y = resize(x, sizes=(2,3,4))", x="3x4")
    fails("KC-F005", 'y = resize(x, scales=2.0, mode="area")', x="3x4")
    fails("KC-F005", 'y = pad(x, ((1,1),(1,1)), mode="nearest")', x="3x4")
    fails("KC-F005", 'y = grid_sample(x, g, padding_mode="ones")')
    fails("KC-F017", "y = pixel_shuffle(x, 2)", x="1x6x3x3")
