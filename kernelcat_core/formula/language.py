"""From words to an operator: a function's name and documentation say which named operator is meant.

No model is asked: names are compared word by word (an abbreviation matches the word it begins), then the documentation
is searched for an operator's words, then the nearest spellings are offered.
"""

from __future__ import annotations

import difflib
import re
from typing import Iterable

from kernelcat_core.errors import KernelcatError
from kernelcat_core.formula.operators.definition import REGISTRY, Operator

_NOISE = frozenset("a an the of for and with by over on kernel op operator fused fast my compute computes".split())


def words(text: str) -> list[str]:
    """Lower-case words of an identifier or a sentence; conv2d and Conv2D are one word."""
    split = re.sub(r"(?<=[a-z])(?=[A-Z])", " ", text)
    return [w for w in re.findall(r"[a-z0-9]+", split.lower()) if w not in _NOISE]


def find_operator(name: str, documentation: str = "") -> Operator:
    """The operator that `name` (an identifier) and `documentation` (a sentence or more) mean.

    Raises KC-F004 when none or several fit equally well, with the nearest names as hint.
    """
    operators = {o.name: o for o in REGISTRY.values()}
    wanted, said = words(name), set(words(documentation))
    scored = sorted(((max(_score(wanted, said, words(n)) for n in (o.name, *o.aliases)), o.name) for o in operators.values()),
                    reverse=True)
    best = [n for s, n in scored if s == scored[0][0]]
    if scored[0][0] == 0:
        near = difflib.get_close_matches(name.lower(), list(operators), 3, 0.5)
        raise KernelcatError("KC-F004", f"no operator is meant by {name!r}",
                             hint=f"did you mean {', '.join(near)}?" if near else "write a body, or return a formula")
    if len(best) > 1:
        raise KernelcatError("KC-F004", f"{name!r} could mean {' or '.join(best[:4])}",
                             hint="name the operator in the function's name or docstring")
    return operators[best[0]]


def _score(wanted: list[str], said: set[str], own: list[str]) -> int:
    """0 = no match; words of the name count most, then how closely both agree, then words of the documentation."""
    if own == wanted or "".join(own) == "".join(wanted):
        return 1000
    hits = sum(1 for w in own if any(_abbreviates(x, w) for x in wanted))
    if hits == len(own):
        return 500 + 10 * hits - (len(wanted) - hits)
    told = sum(1 for w in own if w in said or any(_abbreviates(x, w) for x in wanted))
    return 100 + told if told == len(own) and len(own) > 0 and (hits or len(own) > 1) else 0


def _abbreviates(short: str, word: str) -> bool:
    return word == short or (len(short) >= 3 and word.startswith(short))


def call(operator: Operator, names: Iterable[str]) -> str:
    """The formula that calls `operator` on tensors called `names`, matched by name and then in order.

    Names left out are added under the parameters' own names; raises KC-F005 when the operator needs a value that is no
    tensor (a radius, a kernel size).
    """
    renames = dict(operator.renames)
    given = list(dict.fromkeys(names))
    tensors = [p for p in operator.parameters if p.kind in ("tensor", "scalar")]
    matched = {renames.get(n, n): n for n in given if any(p.name == renames.get(n, n) for p in tensors)}
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
