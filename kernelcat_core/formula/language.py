"""From loose words to operators: names and docstrings of hand-written functions, free text."""

from __future__ import annotations

import difflib
import re
from collections.abc import Iterable

from kernelcat_core.errors import KernelcatError
from kernelcat_core.formula.operators.definition import REGISTRY, Operator

_SHORT = {"attn": "attention", "mha": "attention", "sdpa": "attention", "convolution": "conv", "ln": "layer norm",
          "layernorm": "layer norm", "rmsnorm": "rms norm", "gemm": "matmul", "mm": "matmul", "bmm": "matmul",
          "nearest": "gather nearest", "neighbours": "nearest", "neighbors": "nearest", "average": "avg", "maximum": "max",
          "blocksparse": "sparse", "pooling": "pool", "normalization": "norm", "normalisation": "norm"}
_NOISE = frozenset("kernel fused fast my op the a of and over with forward cuda custom naive v1 v2 run compute fn func".split())


def words(text: str) -> list[str]:
    """Lower-case words of a name or a sentence: camelCase, snake_case and short forms taken apart."""
    spaced = re.sub(r"(?<=[a-z0-9])(?=[A-Z])", " ", text)
    found: list[str] = []
    for word in re.findall(r"[A-Za-z]+|[0-9]+d?", spaced.replace("_", " ")):
        found += _SHORT.get(word.lower(), word.lower()).split()
    return [w for w in found if w not in _NOISE]


def resolve(name: str, description: str = "") -> Operator:
    """The operator that a name means, with a docstring or free text to help.

    An exact name or alias wins; else the operator most of whose words occur in the name, then in the description.
    Raises KC-F004 when none has all its words there.
    """
    if name in REGISTRY:
        return REGISTRY[name]
    own, text = set(words(name)), set(words(description))
    best: tuple[float, int, Operator] | None = None
    for key, entry in REGISTRY.items():
        wanted = words(key)
        if not wanted or not all(w in own or w in text for w in wanted):
            continue
        score = sum(2.0 if w in own else 1.0 for w in wanted)
        if best is None or (score, -len(key)) > best[:2]:
            best = (score, -len(key), entry)
    if best is None:
        near = difflib.get_close_matches(name, list(REGISTRY), n=3, cutoff=0.5)
        hint = f"did you mean {' or '.join(near)}?" if near else "give the function a body, or a reference formula"
        raise KernelcatError("KC-F004", f"no operator is meant by '{name}'", hint=hint)
    return best[2]


def call(operator: Operator, names: Iterable[str]) -> str:
    """The formula that calls `operator` on tensors called `names`, matched by name and then in order.

    Tensors left out are added under the parameters' own names; raises KC-F005 when the operator needs a value that is
    no tensor (a radius, a kernel size).
    """
    renames = dict(operator.renames)
    given = list(dict.fromkeys(names))
    known = {p.name for p in operator.parameters if p.kind in ("tensor", "scalar")}
    matched = {renames.get(n, n): n for n in given if renames.get(n, n) in known}
    left = [n for n in given if n not in matched.values()]
    arguments = []
    for p in operator.parameters:
        if p.name in matched:
            arguments.append(f"{p.name}={matched[p.name]}")
        elif p.kind == "tensor" and p.required:
            arguments.append(f"{p.name}={left.pop(0) if left else p.name}")
        elif p.required:
            raise KernelcatError("KC-F005", f"{operator.name} needs a value for {p.name}",
                                 hint=f"return a formula instead: output = {operator.signature}")
    return f"output = {operator.name}({', '.join(arguments)})"
