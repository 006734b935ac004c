"""Properties of the language: printing round trips, and nothing but coded errors from any text."""

from __future__ import annotations

import random
import time

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from kernelcat_core import formula as language
from kernelcat_core.errors import KernelcatError
from kernelcat_core.formula.syntax import (
    REDUCERS,
    Assign,
    Binary,
    Binder,
    Call,
    Compare,
    Declaration,
    Formula,
    Keyword,
    Name,
    Number,
    Reduce,
    Sequence,
    Subscript,
    Text,
    Unary,
)
from kernelcat_core.ir.verify import verify_graph
from tests.properties import formula_fuzz

language.parse("a = 1")  # raises Python's recursion limit once, which Hypothesis wants to see before it starts

names = st.sampled_from(["X", "Y", "i", "j", "k", "alpha", "x_1", "μ"])
leaves = st.one_of(st.integers(0, 1 << 40).map(Number), st.floats(0, 1e300).map(Number), names.map(Name))
texts = st.text("ab '=", max_size=5).map(Text)


def _nodes(inner: st.SearchStrategy) -> st.SearchStrategy:  # type: ignore[type-arg]
    binary = ["+", "-", "*", "/", "//", "%", "@", "**", "&", "|", "^", "<<", ">>", "and", "or"]
    some = st.lists(inner, min_size=1, max_size=3).map(tuple)
    binders = st.lists(st.builds(Binder, names, st.one_of(st.none(), inner)), min_size=1, max_size=2).map(tuple)
    chain = st.integers(1, 3).flatmap(lambda n: st.tuples(
        st.lists(st.sampled_from(["<", "<=", ">", ">=", "==", "!="]), min_size=n, max_size=n).map(tuple),
        st.lists(inner, min_size=n, max_size=n).map(tuple)))
    return st.one_of(
        st.builds(Binary, st.sampled_from(binary), inner, inner),
        st.builds(Unary, st.sampled_from(["-", "+", "~", "not"]), inner),
        st.builds(lambda first, rest: Compare(first, *rest), inner, chain),
        st.builds(Call, st.sampled_from(["exp", "softmax", "f32"]), some,
                  st.lists(st.builds(Keyword, names, st.one_of(inner, texts)), max_size=2).map(tuple)),
        st.builds(Subscript, inner, some), st.builds(Reduce, st.sampled_from(REDUCERS), binders, inner),
        st.builds(Sequence, st.lists(inner, min_size=2, max_size=3).map(tuple)))


nodes = st.recursive(leaves, _nodes, max_leaves=12)
left = st.lists(st.sampled_from("ijk"), unique=True, max_size=3).map(lambda n: tuple(Binder(i) for i in n))
statements = st.one_of(
    st.builds(Declaration, names, st.sampled_from(["f32", "i8", "bool"]), st.lists(leaves, max_size=3).map(tuple)),
    st.builds(Assign, names, st.one_of(st.none(), left), st.sampled_from(["=", "+="]), nodes))
formulas = st.builds(Formula, st.lists(statements, min_size=1, max_size=4).map(tuple),
                     st.one_of(st.none(), st.lists(names.map(Name), min_size=1, max_size=2).map(tuple)))


@settings(max_examples=300, deadline=None)
@given(formulas)
def test_print_then_parse_gives_the_same_tree(formula: Formula) -> None:
    assert language.parse(language.print_formula(formula)) == formula


@settings(max_examples=300, deadline=None)
@given(st.text(max_size=200))
def test_any_text_parses_or_has_a_coded_error(text: str) -> None:
    _attempt(text)


def _attempt(text: str) -> bool:
    """Parse and lower within a second; whether it was accepted. Anything but a placed, coded error propagates."""
    start = time.process_time()
    refusal: KernelcatError | None = None
    try:
        formula = language.parse(text)
        assert language.parse(language.print_formula(formula)) == formula
        lowered = language.lower(formula)
        verify_graph(lowered.graph)
    except KernelcatError as error:
        refusal = error
    assert time.process_time() - start < 1.0, text[:200]
    if refusal is not None:
        assert refusal.code.startswith("KC-F") and refusal.hint and refusal.line is not None, str(refusal)
        assert str(refusal).startswith(refusal.code)
    return refusal is None


@pytest.mark.parametrize("kind", ["grammar", "mutated", "noise"])
def test_fuzzed_formulas(kind: str) -> None:
    chance = random.Random(kind)
    make = getattr(formula_fuzz, kind)
    accepted = sum(_attempt(make(chance)) for _ in range(800))
    assert kind == "noise" or accepted > 10  # the other two reach the lowering


@pytest.mark.parametrize("number", range(len(formula_fuzz.hostile())))
def test_hostile_formulas(number: int) -> None:
    _attempt(formula_fuzz.hostile()[number])
