"""What the documents show can be typed as it stands."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from kernelcat_core.__main__ import parser
from kernelcat_core.formula import lower, parse

ROOT = Path(__file__).resolve().parents[3]


def test_the_first_example_of_the_readme_is_a_formula() -> None:
    text = (ROOT / "README.md").read_text(encoding="utf-8")
    block = re.search(r"```\n(.*?)```", text, re.DOTALL)
    assert block is not None and lower(parse(block[1])).graph.outputs == ("Y",)


def test_commands_of_the_documents_exist() -> None:
    texts = "\n".join((ROOT / name).read_text(encoding="utf-8") for name in ("README.md", "docs/notation.md", "CONTRIBUTING.md"))
    said = set(re.findall(r"(?:^|`|/)kernelcat ([a-z]+)", texts, re.MULTILINE))
    choices = next(a.choices for a in parser()._actions if isinstance(a.choices, dict))
    assert said and said <= set(choices)


@pytest.mark.parametrize("text", ["W: f32[2*M]\nX: f32[M]\nY[i] = X[i] + W[2*i]", "X: f32[M]\nW: f32[2*M]\nY[i] = X[i] + W[2*i]"])
def test_sizes_may_be_declared_in_any_order(text: str) -> None:
    assert lower(parse(text)).graph.size_names == ("M",)


def test_a_scalar_name_is_used_elementwise() -> None:
    graph = lower(parse("cnt = sum[n](X[n])\nloss = sum[n](Z[n]) / max(cnt, 1)")).graph
    assert graph.tensors["loss"].rank == 0
