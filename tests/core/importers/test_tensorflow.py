"""Keras models through tf2onnx in its own environment, on generated kernels, against TensorFlow's own outputs."""

from __future__ import annotations

import os
import subprocess
from pathlib import Path

import numpy as np
import pytest

import kernelcat
from kernelcat_core.errors import KernelcatError
from kernelcat_core.importers import tensorflow

_MAKE = """
import os, sys
os.environ["TF_CPP_MIN_LOG_LEVEL"] = "3"
os.environ["CUDA_VISIBLE_DEVICES"] = ""
import numpy as np, tensorflow as tf
from tensorflow import keras
from tensorflow.keras import layers as L
keras.utils.set_random_seed(5)
rng = np.random.default_rng(5)
mlp = keras.Sequential([keras.Input((20,)), L.Dense(32, "relu"), L.LayerNormalization(), L.Dense(7, "softmax")])
image = keras.Input((24, 24, 3))
y = L.Conv2D(8, 3, strides=2, padding="same", use_bias=False)(image)
y = L.ReLU(6.0)(L.BatchNormalization()(y))
y = L.DepthwiseConv2D(3, padding="same", activation="relu")(y)
skip = y
y = L.Conv2D(8, 1, activation="swish")(y)
y = L.Add()([skip, y])
y = L.MaxPooling2D()(y)
cnn = keras.Model(image, L.Dense(5)(L.GlobalAveragePooling2D()(y)))
words = keras.Input((12,), dtype="int32")
y = L.Embedding(50, 16)(words)
y = L.Bidirectional(L.LSTM(10, return_sequences=True))(y)
tagger = keras.Model(words, L.Dense(4, "softmax")(L.GRU(9, return_sequences=True)(y)))
inputs = {"mlp": rng.normal(size=(3, 20)).astype("float32"), "cnn": rng.normal(size=(2, 24, 24, 3)).astype("float32"),
          "tagger": rng.integers(0, 50, (3, 12)).astype("int32")}
for name, model in (("mlp", mlp), ("cnn", cnn), ("tagger", tagger)):
    model.save(os.path.join(sys.argv[1], name + ".keras"))
    np.savez(os.path.join(sys.argv[1], name + ".npz"), x=inputs[name], y=model(inputs[name], training=False).numpy())
"""


@pytest.fixture(scope="module")
def models(tmp_path_factory: pytest.TempPathFactory) -> Path:
    interpreter = tensorflow.python()
    if interpreter is None:
        pytest.skip("no TensorFlow environment: `make tensorflow` builds one")
    folder = tmp_path_factory.mktemp("keras")
    ran = subprocess.run([str(interpreter), "-c", _MAKE, str(folder)], capture_output=True, text=True, timeout=600)
    assert ran.returncode == 0, ran.stderr[-2000:]
    return folder


@pytest.mark.parametrize("name", ["mlp", "cnn", "tagger"])
def test_a_keras_model_gives_what_tensorflow_gives(models: Path, name: str) -> None:
    model = kernelcat.load(models / f"{name}.keras")
    data = np.load(models / f"{name}.npz")
    (made,) = model.run({model.inputs[0]: data["x"]}).values()
    np.testing.assert_allclose(made, data["y"], rtol=1e-4, atol=1e-5)


def test_without_an_environment_the_error_says_how_to_get_one(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(os.environ, "KERNELCAT_TENSORFLOW", str(tmp_path / "absent"))
    (tmp_path / "model.keras").write_text("not a model")
    with pytest.raises(KernelcatError) as caught:
        kernelcat.load(tmp_path / "model.keras")
    assert caught.value.code == "KC-I006" and "make tensorflow" in caught.value.hint
