"""TensorFlow and Keras models: tf2onnx makes them ONNX models, in a Python environment of its own.

tf2onnx and TensorFlow pin other versions of protobuf and NumPy than we do, so they never share an environment with us:
`make tensorflow` builds one in build/tensorflow, or KERNELCAT_TENSORFLOW names a Python that has both packages.
"""

from __future__ import annotations

import os
import subprocess
import tempfile
from pathlib import Path
from typing import Any

from kernelcat_core.errors import KernelcatError

OPSET = 18
LIMIT_S = 600
_SCRIPT = """
import os, sys
os.environ["TF_CPP_MIN_LOG_LEVEL"] = "3"
os.environ["CUDA_VISIBLE_DEVICES"] = ""
import numpy as np
if not hasattr(np, "object"):
    np.object, np.bool, np.cast = object, bool, None  # names that tf2onnx still reads
import tensorflow as tf, tf2onnx
source, target, opset = sys.argv[1], sys.argv[2], int(sys.argv[3])
if os.path.isdir(source):
    loaded = tf.saved_model.load(source)
    function = loaded.signatures["serving_default"]
    signature = [tf.TensorSpec(t.shape, t.dtype, name=n) for n, t in function.structured_input_signature[1].items()]
    call = tf.function(lambda *xs: list(function(**{s.name: x for s, x in zip(signature, xs)}).values()))
else:
    model = tf.keras.models.load_model(source, compile=False)
    signature = [tf.TensorSpec(x.shape, x.dtype, name=x.name) for x in model.inputs]
    call = tf.function(lambda *xs: model(list(xs) if len(xs) > 1 else xs[0], training=False))
made, _ = tf2onnx.convert.from_function(call, input_signature=signature, opset=opset)
open(target, "wb").write(made.SerializeToString())
"""


def python() -> Path | None:
    """The Python that has TensorFlow and tf2onnx; None without one."""
    named = os.environ.get("KERNELCAT_TENSORFLOW")
    found = Path(named) if named else Path("build/tensorflow/bin/python").absolute()
    return found if found.exists() else None


def to_onnx(path: Path, opset: int = OPSET) -> Any:
    """A SavedModel folder or a .keras file as an onnx.ModelProto.

    Raises KC-I006 where there is no TensorFlow environment, and with tf2onnx's words when it cannot convert the model.
    """
    interpreter = python()
    if interpreter is None:
        raise KernelcatError("KC-I006", "there is no TensorFlow environment here",
                             hint="`make tensorflow`, or set KERNELCAT_TENSORFLOW to a Python with tensorflow and tf2onnx")
    import onnx

    with tempfile.TemporaryDirectory(prefix="kernelcat-tf-") as folder:
        target = Path(folder) / "model.onnx"
        environment = {"PATH": os.environ.get("PATH", ""), "HOME": folder}
        try:
            ran = subprocess.run([str(interpreter), "-c", _SCRIPT, str(Path(path).absolute()), str(target), str(opset)],
                                 capture_output=True, text=True, timeout=LIMIT_S, cwd=folder, env=environment)
        except subprocess.TimeoutExpired:
            raise KernelcatError("KC-I006", f"tf2onnx took longer than {LIMIT_S} s", hint="try a smaller model") from None
        if ran.returncode != 0 or not target.exists():
            last = ran.stderr.strip().splitlines()[-1] if ran.stderr.strip() else "no message"
            raise KernelcatError("KC-I006", f"tf2onnx cannot convert {path}: {last}", hint="export the model to ONNX by hand")
        return onnx.load(target)
