"""Named operators against an independent implementation."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

from tests.core.formula.running import Array, fails, normal, run

torch = pytest.importorskip("torch")
F = torch.nn.functional
Case = tuple[str, dict[str, tuple[int, ...]], Callable[..., Any]]


def _mask(x: Any) -> Any:
    return x > 0


UNARY: dict[str, Callable[..., Any]] = {
    **{n: getattr(torch, n) for n in ("exp exp2 expm1 sin cos tan sinh cosh tanh asinh erf floor ceil trunc abs sign sigmoid "
                                      "square atan asin acos neg isnan signbit deg2rad rad2deg round").split()},
    **{n: getattr(F, n) for n in ("relu relu6 silu softplus logsigmoid elu selu celu leaky_relu hardsigmoid hardswish mish "
                                  "softsign tanhshrink hardshrink softshrink gelu hardtanh").split()}}
POSITIVE: dict[str, Callable[..., Any]] = {n: getattr(torch, n) for n in
                                           ("log log2 log10 log1p sqrt rsqrt reciprocal atanh".split())}


@pytest.mark.parametrize("name", sorted({*UNARY, *POSITIVE}))
def test_elementwise(name: str) -> None:
    x = normal(6, 7)
    x = np.abs(x) * 0.3 + 0.01 if name in POSITIVE else np.tanh(x) if name in ("asin", "acos") else x * 2
    expected = {**UNARY, **POSITIVE}[name](torch.tensor(x)).numpy()
    np.testing.assert_allclose(run(f"y = {name}(x)", x=x), expected, rtol=3e-6, atol=2e-6)
    np.testing.assert_allclose(run(f"y[j,i] = {name}(x[i,j])", x=x), expected.T, rtol=3e-6, atol=2e-6)


@pytest.mark.parametrize("name", ["relu", "sigmoid", "silu", "softplus", "logsigmoid", "gelu", "mish", "elu", "tanh"])
def test_extreme_values(name: str) -> None:
    x = np.array([-np.inf, -1e30, -200, -1, 0, 1, 200, 1e30, np.inf, np.nan], dtype="f4")
    if name in ("silu", "mish", "gelu"):
        x = x[1:-2]  # infinities times 0
    function = getattr(torch, name, None) or getattr(F, name)
    np.testing.assert_allclose(run(f"y = {name}(x)", x=x), function(torch.tensor(x)).numpy(), rtol=1e-5, atol=1e-6)


CASES: dict[str, Case] = {
    "gelu tanh": ('y = gelu(x, approximate="tanh")', {"x": (4, 5)}, lambda x: F.gelu(x, approximate="tanh")),
    "elu alpha": ("y = elu(x, alpha=0.5)", {"x": (4, 5)}, lambda x: F.elu(x, 0.5)),
    "clip": ("y = clamp(x, -0.5, max=0.25)", {"x": (4, 5)}, lambda x: x.clamp(-0.5, 0.25)),
    "logaddexp": ("y = logaddexp(a, b)", {"a": (4, 5), "b": (4, 5)}, torch.logaddexp),
    "prelu": ("s: f32[5]; y = prelu(x, s)", {"x": (4, 5), "s": (5,)}, F.prelu),
    "maximum": ("y = maximum(a, b) + min(a, 0.0) - hypot(a, b)", {"a": (4, 5), "b": (4, 5)},
                lambda a, b: torch.maximum(a, b) + a.clamp(max=0) - torch.hypot(a, b)),
    "atan2": ("y = arctan2(a, b) + copysign(a, b) + fmod(a, b)", {"a": (4, 5), "b": (4, 5)},
              lambda a, b: torch.atan2(a, b) + torch.copysign(a, b) + torch.fmod(a, b)),
    "softmax": ("y = softmax(x, axis=1)", {"x": (3, 4, 5)}, lambda x: F.softmax(x, 1)),
    "log softmax": ("y = log_softmax(x, dim=-1)", {"x": (3, 4, 5)}, lambda x: F.log_softmax(x, -1)),
    "sum": ("y = sum(x, axis=(0, -1))", {"x": (3, 4, 5)}, lambda x: x.sum((0, 2))),
    "sum all": ("y = sum(x)", {"x": (3, 4, 5)}, lambda x: x.sum()),
    "mean keepdims": ("y = x - mean(x, axis=1, keepdims=True)", {"x": (3, 4, 5)}, lambda x: x - x.mean(1, keepdim=True)),
    "max": ("y = max(x, axis=0) + min(x, 0)", {"x": (3, 4, 5)}, lambda x: x.amax(0) + x.amin(0)),
    "prod": ("y = prod(x, axis=2)", {"x": (3, 4, 5)}, lambda x: x.prod(2)),
    "logsumexp": ("y = logsumexp(x, axis=-1)", {"x": (3, 4, 5)}, lambda x: x.logsumexp(-1)),
    "argmax": ("y = argmax(x, axis=1)", {"x": (3, 4, 5)}, lambda x: x.argmax(1)),
    "argmin": ("y = argmin(x)", {"x": (3, 4, 5)}, lambda x: x.argmin()),
    "any": ("y = any(x > 1, axis=-1)", {"x": (3, 4)}, lambda x: (x > 1).any(-1)),
    "all": ("y = all(x > -1, axis=-1)", {"x": (3, 4)}, lambda x: (x > -1).all(-1)),
    "norms": ("y = l1_norm(x, axis=1) + l2_norm(x, axis=1) + norm(x, ord=inf, axis=1)", {"x": (3, 4)},
              lambda x: x.norm(1, 1) + x.norm(2, 1) + x.norm(float("inf"), 1)),
    "var": ("y = var(x, axis=-1, correction=1) + std(x, axis=-1)", {"x": (3, 9)},
            lambda x: x.var(-1) + x.std(-1, correction=0)),
    "matmul": ("y = a @ b", {"a": (3, 4), "b": (4, 5)}, torch.matmul),
    "matmul batched": ("y = matmul(a, b)", {"a": (2, 6, 3, 4), "b": (2, 6, 4, 5)}, torch.matmul),
    "matmul broadcast": ("y = matmul(a, b)", {"a": (6, 3, 4), "b": (4, 5)}, torch.matmul),
    "matmul broadcast one": ("a: f32[2,1,3,K]; y = matmul(a, b)", {"a": (2, 1, 3, 4), "b": (6, 4, 5)}, torch.matmul),
    "matvec": ("y = a @ v", {"a": (3, 4), "v": (4,)}, torch.matmul),
    "dot": ("y = u @ v", {"u": (4,), "v": (4,)}, torch.matmul),
    "linear": ("y = linear(x, w, b)", {"x": (2, 3, 4), "w": (5, 4), "b": (5,)}, F.linear),
    "outer": ("y = outer(a, b)", {"a": (3,), "b": (4,)}, torch.outer),
    "einsum": ('y = einsum("bij,bjk->bik", a, b)', {"a": (2, 3, 4), "b": (2, 4, 5)}, torch.bmm),
    "einsum implicit": ('y = einsum("ij,kj", a, b)', {"a": (3, 4), "b": (5, 4)}, lambda a, b: a @ b.T),
    "einsum diagonal": ('y = einsum("ii->", a)', {"a": (4, 4)}, lambda a: a.trace()),
    "layer norm": ("y = layer_norm(x, g, b)", {"x": (3, 4, 5), "g": (5,), "b": (5,)},
                   lambda x, g, b: F.layer_norm(x, (5,), g, b)),
    "layer norm two axes": ("y = layer_norm(x, axis=1)", {"x": (3, 4, 5)}, lambda x: F.layer_norm(x, (4, 5))),
    "rms norm": ("y = rms_norm(x, g)", {"x": (3, 4, 5), "g": (5,)}, lambda x, g: F.rms_norm(x, (5,), g, 1e-6)),
    "batch norm": ("y = batch_norm(x, m, v*v, g, b)", {"x": (2, 3, 4, 5), "m": (3,), "v": (3,), "g": (3,), "b": (3,)},
                   lambda x, m, v, g, b: F.batch_norm(x, m, v * v, g, b)),
    "group norm": ("y = group_norm(x, 2, g, b)", {"x": (2, 6, 4, 5), "g": (6,), "b": (6,)},
                   lambda x, g, b: F.group_norm(x, 2, g, b)),
    "instance norm": ("y = instance_norm(x)", {"x": (2, 3, 4, 5)}, F.instance_norm),
    "normalize": ("y = l2_normalize(x)", {"x": (4, 5)}, F.normalize),
    "cosine": ("y = cosine_similarity(a, b)", {"a": (4, 5), "b": (4, 5)}, F.cosine_similarity),
    "conv1d": ("y = conv1d(x, w, b, stride=2, padding=1, dilation=2)", {"x": (2, 3, 15), "w": (4, 3, 3), "b": (4,)},
               lambda x, w, b: F.conv1d(x, w, b, 2, 1, 2)),
    "conv2d": ("y = Conv2D(x, w)", {"x": (2, 3, 8, 9), "w": (4, 3, 3, 2)}, F.conv2d),
    "conv2d asymmetric": ("y = conv2d(x, w, padding=((1, 2), (0, 3)))", {"x": (2, 3, 8, 9), "w": (4, 3, 3, 2)},
                          lambda x, w: F.conv2d(F.pad(x, (0, 3, 1, 2)), w)),
    "conv2d same": ('y = conv2d(x, w, padding="same", dilation=2)', {"x": (2, 3, 8, 9), "w": (4, 3, 3, 3)},
                    lambda x, w: F.conv2d(x, w, padding="same", dilation=2)),
    "conv2d same even": ('y = conv2d(x, w, padding="same")', {"x": (1, 1, 8, 9), "w": (1, 1, 4, 2)},
                         lambda x, w: F.conv2d(x, w, padding="same")),
    "conv2d same stride": ('y = conv2d(x, w, padding="same", stride=2)', {"x": (1, 2, 8, 9), "w": (3, 2, 3, 3)},
                           lambda x, w: F.conv2d(F.pad(x, (1, 1, 0, 1)), w, stride=2)),
    "conv2d groups": ("y = conv2d(x, w, groups=3)", {"x": (2, 6, 7, 7), "w": (9, 2, 3, 3)},
                      lambda x, w: F.conv2d(x, w, groups=3)),
    "conv2d depthwise": ("y = conv2d(x, w, groups=4, in_channels=4, out_channels=4, padding=1)",
                         {"x": (2, 4, 7, 7), "w": (4, 1, 3, 3)}, lambda x, w: F.conv2d(x, w, groups=4, padding=1)),
    "conv3d": ("y = Conv3D(x, w, kernel_size=(3,3,3), stride=2, dilation=1)", {"x": (1, 2, 7, 8, 9), "w": (3, 2, 3, 3, 3)},
               lambda x, w: F.conv3d(x, w, stride=2)),
    "max pool": ("y = max_pool2d(x, kernel_size=3, stride=2, padding=1)", {"x": (2, 3, 9, 10)},
                 lambda x: F.max_pool2d(x, 3, 2, 1)),
    "max pool 1d": ("y = max_pool1d(x, 2, dilation=2)", {"x": (2, 3, 9)}, lambda x: F.max_pool1d(x, 2, dilation=2)),
    "max pool 3d": ("y = max_pool3d(x)", {"x": (1, 2, 5, 6, 7)}, lambda x: F.max_pool3d(x, 2)),
    "avg pool": ("y = avg_pool2d(x, 3, stride=2, padding=1)", {"x": (2, 3, 9, 10)}, lambda x: F.avg_pool2d(x, 3, 2, 1)),
    "avg pool without padding": ("y = avg_pool2d(x, 3, stride=1, padding=1, count_include_pad=False)", {"x": (2, 3, 6, 7)},
                                 lambda x: F.avg_pool2d(x, 3, 1, 1, count_include_pad=False)),
    "global pools": ("y = global_avg_pool(x) + global_max_pool(x)", {"x": (2, 3, 6, 7)},
                     lambda x: x.mean((2, 3), keepdim=True) + x.amax((2, 3), keepdim=True)),
    "upsample": ("y = upsample_nearest(x, scale=(2, 3))", {"x": (1, 2, 3, 4)},
                 lambda x: F.interpolate(x, scale_factor=(2, 3))),
    "transpose": ("y = transpose(x, (2, 0, 1))", {"x": (3, 4, 5)}, lambda x: x.permute(2, 0, 1)),
    "swapaxes": ("y = swapaxes(x)", {"x": (3, 4, 5)}, lambda x: x.swapaxes(1, 2)),
    "reshape": ("x: f32[3,4,5]; y = reshape(x, (10, 6))", {"x": (3, 4, 5)}, lambda x: x.reshape(10, 6)),
    "reshape symbolic": ("y = reshape(x, (10, -1))", {"x": (3, 4, 5)}, lambda x: x.reshape(10, 6)),
    "flatten": ("y = flatten(x, 1)", {"x": (3, 4, 5)}, lambda x: x.flatten(1)),
    "flatten all": ("y = flatten(x)", {"x": (3, 4, 5)}, lambda x: x.flatten()),
    "expand dims": ("y = unsqueeze(x, 1)", {"x": (3, 4)}, lambda x: x.unsqueeze(1)),
    "squeeze": ("y = squeeze(x, 1)", {"x": (3, 1, 4)}, lambda x: x.squeeze(1)),
    "concat": ("y = concat((a, b, a), axis=1)", {"a": (3, 4), "b": (3, 2)}, lambda a, b: torch.cat((a, b, a), 1)),
    "stack": ("y = stack((a, b), axis=1)", {"a": (3, 4), "b": (3, 4)}, lambda a, b: torch.stack((a, b), 1)),
    "flip": ("y = flip(x, axis=0)", {"x": (3, 4)}, lambda x: x.flip(0)),
    "roll": ("y = roll(x, 2, axis=1)", {"x": (3, 5)}, lambda x: x.roll(2, 1)),
    "tile": ("y = tile(x, (2, 3))", {"x": (3, 4)}, lambda x: x.tile(2, 3)),
    "broadcast": ("x: f32[1, 4]; y = broadcast_to(x, (2, 3, 4))", {"x": (1, 4)}, lambda x: x.expand(2, 3, 4)),
    "pad": ("y = pad(x, ((1, 0), (2, 3)), value=7)", {"x": (3, 4)}, lambda x: F.pad(x, (2, 3, 1, 0), value=7)),
    "triangles": ("y = tril(x) + triu(x, k=1)*2", {"x": (4, 6)}, lambda x: x.tril() + x.triu(1) * 2),
    "attention": ("y = attention(q, k, v)", {"q": (2, 6, 4), "k": (2, 7, 4), "v": (2, 7, 5)}, F.scaled_dot_product_attention),
    "attention causal": ("y = attention(q, k, v, causal=True, scale=0.3)",
                         {"q": (2, 3, 6, 4), "k": (2, 3, 6, 4), "v": (2, 3, 6, 4)},
                         lambda q, k, v: F.scaled_dot_product_attention(q, k, v, is_causal=True, scale=0.3)),
    "attention masked": ("y = attention(q, k, v, m > 0)", {"q": (6, 4), "k": (7, 4), "v": (7, 5), "m": (6, 7)},
                         lambda q, k, v, m: F.scaled_dot_product_attention(q, k, v, m > 0)),
    "attention added mask": ("y = attention(q, k, v, m)", {"q": (6, 4), "k": (7, 4), "v": (7, 5), "m": (6, 7)},
                             F.scaled_dot_product_attention),
}


@pytest.mark.parametrize("case", CASES)
def test_operator(case: str) -> None:
    text, shapes, expected = CASES[case]
    arrays = {n: normal(*s, seed=k) for k, (n, s) in enumerate(shapes.items())}
    found = run(text, **arrays)
    wanted = expected(*(torch.tensor(a) for a in arrays.values())).numpy()
    assert found.shape == wanted.shape
    np.testing.assert_allclose(found, wanted, rtol=2e-5, atol=2e-5)


@pytest.mark.parametrize("text", ["y = softmax(x)", "y = layer_norm(x)", "y = gelu(x)", "y = sum(x, axis=1)", "y = x @ x"])
def test_sixteen_bit_operators_round_once(text: str) -> None:
    x = normal(8, 8, dtype="float16")
    exact = run(text, x=x.astype("f4"))
    found = run(text, x=x)
    assert found.dtype == np.float16
    np.testing.assert_allclose(found, exact.astype("f2"), rtol=1e-3, atol=1e-4)


def _sparse(q: Array, k: Array, v: Array, mask: Array) -> Array:
    full = np.kron(mask, np.ones((q.shape[1] // mask.shape[0], k.shape[1] // mask.shape[1]))) > 0
    s = np.where(full, q @ k.swapaxes(1, 2) / np.sqrt(q.shape[2]), -np.inf)
    e = np.where(full, np.exp(s - np.where(np.isfinite(s.max(2, keepdims=True)), s.max(2, keepdims=True), 0)), 0)
    total = e.sum(2, keepdims=True)
    return np.asarray(np.divide(e, total, out=np.zeros_like(e), where=total > 0) @ v)


def test_sparse_attention() -> None:
    q, k, v = normal(2, 8, 4), normal(2, 12, 4, seed=1), normal(2, 12, 5, seed=2)
    mask = np.random.default_rng(3).random((4, 3)) > 0.4
    mask[1] = False
    found = run("y = sparse_attention(q, k, v, m)", q=q, k=k, v=v, m=mask)
    np.testing.assert_allclose(found, _sparse(q, k, v, mask), rtol=1e-5, atol=1e-6)
    assert not found[:, 2:4].any()
    fails("KC-F013", "m: bool[QB, KB]; y = sparse_attention(q, k, v, m)", q="1x8x4", k="1x8x4", v="1x8x4", m="3x2")


def _neighbours(points: Array, centres: Array, radius: float, count: int, nearest: bool) -> Array:
    found = np.zeros((len(centres), count), dtype="i4")
    for m, c in enumerate(centres):
        d = ((points - c) ** 2).sum(1)
        hits = np.flatnonzero(d < radius * radius)
        if nearest:
            hits = hits[np.argsort(d[hits], kind="stable")]
        hits = hits[:count]
        if len(hits):
            found[m] = hits[0]
            found[m, :len(hits)] = hits
    return found


@pytest.mark.parametrize("order", ["index", "nearest"])
def test_gather_nearest(order: str) -> None:
    points = np.random.default_rng(0).random((60, 3)).astype("f4")
    centres = np.append(points[:5], [[9, 9, 9]], axis=0).astype("f4")
    found = run(f'output[i] = gather_nearest(p, 0.35, 6, centres=c, order="{order}")', p=points, c=centres)
    assert found.dtype == np.int32
    np.testing.assert_array_equal(found, _neighbours(points, centres, 0.35, 6, order == "nearest"))
    same = run("output[i] = ball_query(p, 0.35, 6)", p=points)
    np.testing.assert_array_equal(same, _neighbours(points, points, 0.35, 6, False))


def test_positions() -> None:
    table = normal(5, 3)
    i = np.array([[0, 4], [7, -1]], dtype="i8")
    found = run("y = take(t, i, axis=0)", t=table, i=i)
    np.testing.assert_array_equal(found[0], table[[0, 4]])
    assert not found[1].any()
    np.testing.assert_array_equal(run("y = embedding(i, t)", t=table, i=i), found)
    np.testing.assert_array_equal(run("y = one_hot(i, 5)", i=i[0]), np.eye(5)[[0, 4]])


def test_integer_functions() -> None:
    a, b = np.array([13, -7, 100], dtype="i4"), np.array([3, 2, 7], dtype="i4")
    text = "a: i32[N]; b: i32[N]; y = {}"
    for expression, expected in {"a % b": a % b, "mod(a, b)": a % b, "fmod(a, b)": np.fmod(a, b), "a & b": a & b,
                                 "a | b": a | b, "a ^ b": a ^ b, "~a": ~a, "a << b": a << b, "a >> b": a >> b,
                                 "abs(a)": abs(a), "sign(a)": np.sign(a), "maximum(a, b)": np.maximum(a, b), "-a": -a,
                                 "a**2": a**2}.items():
        np.testing.assert_array_equal(run(text.format(expression), a=a, b=b), expected, err_msg=expression)


@pytest.mark.parametrize("text", ["y = softmax(x, axis=7)", "y = conv2d(x, w, stride=0)", 'y = einsum("ij->k", x)',
                                  'y = gelu(x, approximate="fast")', "y = reshape(x, (-1, -1))", "y = transpose(x, (0, 0))",
                                  "y = norm(x, ord=True)", "y = linear(x) + 1", "y = linear(x, x, x, x)", "y = softmax(x, x=x)",
                                  "y = ball_query(x, 0.2, 0)"])
def test_wrong_arguments(text: str) -> None:
    fails("KC-F005", text)


def test_shapes_that_do_not_fit() -> None:
    fails("KC-F012", "y = a @ b", a="3x4", b="5x6")
    fails("KC-F017", "y = conv2d(x, w)", x="1x3x8x8", w="4x2x3x3")
    fails("KC-F017", "y = concat((a, b), axis=0)", a="3x4", b="3x5")
    fails("KC-F018", "y = conv2d(x, w)", x="1x3x1x8", w="4x3x3x3")
    fails("KC-F017", "y = reshape(x, (10, -1))", x="3x7")
    fails("KC-F017", "x: f32[3,7]; y = reshape(x, (4, 5))")
