"""Operators of the ml domain against onnxruntime."""

from __future__ import annotations

from typing import Any

import numpy as np
import onnxruntime
import pytest
from onnx import helper

from kernelcat_core.errors import KernelcatError
from kernelcat_core.pipeline.network.model import OnnxNetwork

X = np.random.default_rng(2).normal(size=(7, 4)).astype(np.float32)


def model(op: str, inputs: list[Any], outputs: int, attributes: dict[str, Any],
          domain: str = "ai.onnx.ml") -> Any:
    names, made = [f"i{k}" for k in range(len(inputs))], [f"o{k}" for k in range(outputs)]
    node = helper.make_node(op, names, made, domain=domain, **attributes)
    kinds = [helper.make_tensor_value_info(n, helper.np_dtype_to_tensor_dtype(a.dtype), a.shape)
             for n, a in zip(names, inputs, strict=True)]
    graph = helper.make_graph([node], "g", kinds, [helper.make_empty_tensor_value_info(m) for m in made])
    return helper.make_model(graph, ir_version=8, opset_imports=[helper.make_opsetid("", 17),
                                                                 helper.make_opsetid("ai.onnx.ml", 3)])


def agree(op: str, inputs: list[Any], outputs: int = 1, domain: str = "ai.onnx.ml", **attributes: Any) -> None:
    proto = model(op, inputs, outputs, attributes, domain)
    feeds = {f"i{k}": a for k, a in enumerate(inputs)}
    wanted = onnxruntime.InferenceSession(proto.SerializeToString(), providers=["CPUExecutionProvider"]).run(None, feeds)
    got = OnnxNetwork(proto, threads=1, opt_level="O1")(feeds)
    for a, b in zip(got.values(), wanted, strict=True):
        assert a.dtype == b.dtype
        np.testing.assert_allclose(a, b.reshape(a.shape), rtol=1e-4, atol=1e-5)


@pytest.mark.parametrize("post", ["NONE", "LOGISTIC", "SOFTMAX"])
def test_linear_regressor(post: str) -> None:
    agree("LinearRegressor", [X], coefficients=X[:3].reshape(-1).tolist(), intercepts=[0.1, 0.2, 0.3], targets=3,
          post_transform=post)


@pytest.mark.parametrize("post", ["NONE", "LOGISTIC", "SOFTMAX"])
@pytest.mark.parametrize("count", [1, 3])
def test_linear_classifier(count: int, post: str) -> None:
    if count == 1 and post == "SOFTMAX":
        post = "LOGISTIC"
    agree("LinearClassifier", [X], 2, coefficients=X[:count].reshape(-1).tolist(), intercepts=[0.1]*count,
          classlabels_ints=[4, 7] if count == 1 else [3, 1, 2], post_transform=post)


@pytest.mark.parametrize("kernel", ["LINEAR", "POLY", "RBF", "SIGMOID"])
def test_support_vectors(kernel: str) -> None:
    agree("SVMRegressor", [X], kernel_type=kernel, kernel_params=[0.4, 0.3, 3.0], n_supports=3, rho=[0.7],
          coefficients=[0.5, -1.0, 2.0], support_vectors=X[:3].reshape(-1).tolist())


def test_columns_are_scaled_and_rows_normalised() -> None:
    agree("Scaler", [X], offset=[0.1, 0.2, 0.3, 0.4], scale=[1.0, 2.0, 3.0, 4.0])
    for norm in ("MAX", "L1", "L2"):
        agree("Normalizer", [np.abs(X)], norm=norm)


def test_missing_values_are_filled_in() -> None:
    x = np.where(X > 0.5, np.nan, X).astype(np.float32)
    agree("Imputer", [x], imputed_value_floats=[1.0, 2.0, 3.0, 4.0], replaced_value_float=float("nan"))
    agree("Imputer", [(X > 0).astype(np.int64)], imputed_value_int64s=[5], replaced_value_int64=1)


def test_features_are_put_together_and_categories_spread_out() -> None:
    agree("FeatureVectorizer", [X, X[:, :2]], inputdimensions=[4, 2])
    agree("OneHotEncoder", [np.asarray([3, 9, 5, 3])], cats_int64s=[5, 3], zeros=1)


def test_labels_are_looked_up() -> None:
    x = np.asarray([3, 9, 5, 3])
    agree("LabelEncoder", [x], keys_int64s=[5, 3], values_floats=[0.5, 0.25], default_float=-1.0)
    agree("LabelEncoder", [x.astype(np.float32)], keys_floats=[5.0, 3.0], values_int64s=[50, 30])


def forest(trees: int, depth: int, width: int, seed: int, side: str, positive: bool, mode: str) -> dict[str, Any]:
    """Attributes of full binary trees with random splits; every leaf speaks of one of `width` targets."""
    draw = np.random.default_rng(seed)
    found: dict[str, list[Any]] = {k: [] for k in (
        "nodes_treeids", "nodes_nodeids", "nodes_featureids", "nodes_modes", "nodes_values", "nodes_truenodeids",
        "nodes_falsenodeids", "nodes_hitrates", "nodes_missing_value_tracks_true", f"{side}_treeids", f"{side}_nodeids",
        f"{side}_ids", f"{side}_weights")}
    for t in range(trees):
        for v in range((1 << depth + 1) - 1):
            is_leaf = v >= (1 << depth) - 1
            found["nodes_treeids"].append(t)
            found["nodes_nodeids"].append(v)
            found["nodes_featureids"].append(0 if is_leaf else int(draw.integers(4)))
            found["nodes_modes"].append("LEAF" if is_leaf else mode)
            found["nodes_values"].append(0.0 if is_leaf else float(draw.normal()))
            found["nodes_truenodeids"].append(0 if is_leaf else 2*v + 1)
            found["nodes_falsenodeids"].append(0 if is_leaf else 2*v + 2)
            found["nodes_hitrates"].append(1.0)
            found["nodes_missing_value_tracks_true"].append(0 if is_leaf else int(draw.integers(2)))
            if is_leaf:
                weight = float(draw.normal())
                found[f"{side}_treeids"].append(t)
                found[f"{side}_nodeids"].append(v)
                found[f"{side}_ids"].append(int(draw.integers(width)))
                found[f"{side}_weights"].append(abs(weight)/trees if positive else weight)
    return found


@pytest.mark.parametrize("how", ["SUM", "AVERAGE", "MIN", "MAX"])
@pytest.mark.parametrize("mode", ["BRANCH_LEQ", "BRANCH_GT"])
def test_regression_by_trees(how: str, mode: str) -> None:
    x = np.where(X > 1, np.nan, X).astype(np.float32)
    agree("TreeEnsembleRegressor", [x], n_targets=1, aggregate_function=how, base_values=[0.5],
          **forest(5, 3, 1, 11, "target", False, mode))


def test_regression_of_several_targets() -> None:
    agree("TreeEnsembleRegressor", [X], n_targets=3, **forest(6, 2, 3, 12, "target", False, "BRANCH_LT"))


@pytest.mark.parametrize("post", ["NONE", "SOFTMAX", "LOGISTIC"])
def test_classes_by_trees(post: str) -> None:
    agree("TreeEnsembleClassifier", [X], 2, classlabels_int64s=[10, 20, 30], post_transform=post,
          **forest(6, 3, 3, 13, "class", True, "BRANCH_LEQ"))


@pytest.mark.parametrize("post", ["NONE", "LOGISTIC"])
@pytest.mark.parametrize("positive", [True, False])
def test_two_classes_by_trees(positive: bool, post: str) -> None:
    agree("TreeEnsembleClassifier", [X], 2, classlabels_int64s=[10, 20], post_transform=post,
          **forest(6, 3, 1, 14, "class", positive, "BRANCH_LEQ"))


def test_regions_are_pooled() -> None:
    image = np.random.default_rng(4).normal(size=(2, 3, 12, 10)).astype(np.float32)
    rois = np.asarray([[0, 0, 0, 9, 9], [1, 4, 2, 18, 22], [0, 3, 3, 3, 3], [1, 30, 30, 40, 40]], np.float32)
    agree("MaxRoiPool", [image, rois], domain="", pooled_shape=[3, 2], spatial_scale=0.5)


def test_labels_that_are_strings_are_refused() -> None:
    proto = model("LinearClassifier", [X], 2, {"coefficients": [1.0]*4, "intercepts": [0.0], "classlabels_strings": ["a", "b"]})
    with pytest.raises(KernelcatError) as raised:
        OnnxNetwork(proto, threads=1)({"i0": X})
    assert raised.value.code == "KC-I004"
