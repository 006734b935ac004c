"""Generated texts, stored: a change of any schedule, lowering or renderer shows as a diff that someone reads."""

from __future__ import annotations

from pathlib import Path

import pytest

from kernelcat_core.api import preview

TEXTS = Path(__file__).parent / "texts"
FORMULAS = {
    "softmax": "Y = softmax(X)",
    "matmul_bias_gelu": "Y[i,j] = gelu(sum[k](A[i,k]*B[k,j]) + b[j])",
    "max_pool": "Y[c,y,x] = max[r in 2, s in 2](X[c,2*y+r,2*x+s])",
    "argmax": "Y[i] = argmax[k](X[i,k])",
    "stencil": "Y[i] = 0.25*X[i] + 0.5*X[i+1] + 0.25*X[i+2]",
    "total": "S = sum[i,j](X[i,j])",
}
SUFFIX = {"c": "c", "cuda:sm_80": "cu", "hip:gfx942": "hip", "opencl:generic": "cl", "ascend:910b": "ascend.cpp",
          "cambricon:mlu370": "mlu"}


@pytest.mark.parametrize("target", list(SUFFIX))
@pytest.mark.parametrize("name", list(FORMULAS))
def test_text_is_the_stored_one(name: str, target: str, request: pytest.FixtureRequest) -> None:
    shown = preview(FORMULAS[name], [target], stages=("graph", "tile", "source"))
    assert shown["ok"], shown
    entry = shown["targets"][0]
    assert entry["error"] is None, entry["error"]
    for suffix, text in ((SUFFIX[target], entry["source"]), (f"{SUFFIX[target]}.tile", entry["tile"])):
        path = TEXTS / f"{name}.{suffix}"
        if request.config.getoption("--update-golden"):
            path.parent.mkdir(exist_ok=True)
            path.write_text(text, encoding="utf-8")
        assert path.read_text(encoding="utf-8") == text, f"{path.name} changed; `make golden` stores the change"
