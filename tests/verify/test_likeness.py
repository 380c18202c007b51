"""The verifier's beta-likeness and delta-disclosure at the edge of their limits, against either reference."""

from __future__ import annotations

import math
from typing import Any

import pytest

from tests.verify.cases import judged

HALVES = [["a", "a", "b", "b"], ["b", "b", "b", "b"]]


def beta(limit: float, variant: str = "basic", **more: Any) -> dict[str, Any]:
    return {"name": "beta-likeness", "beta": limit, "variant": variant, **more}


def delta(limit: float, **more: Any) -> dict[str, Any]:
    return {"name": "delta-disclosure", "delta": limit, **more}


@pytest.mark.parametrize("reference", ["input", "released"])
@pytest.mark.parametrize(
    "model, figure, failing",
    [
        (beta(1.0), 1.0, 0),
        (beta(0.999), 0.5 / (0.25 * 1.999), 1),
        (beta(9, "enhanced"), 1 / (0.75 * (1 - math.log(0.75))), 1),
        (beta(0.2, "enhanced"), 0.5 / (0.25 * 1.2), 2),
        (delta(5), math.inf, 1),
    ],
)
def test_figures_at_the_edge(model: dict[str, Any], figure: float, failing: int, reference: str) -> None:
    found = judged(HALVES, {**model, "reference": reference})
    assert (found.value, found.classes, found.holds) == (pytest.approx(figure), failing, failing == 0)
    assert found.by == ("attested" if reference == "input" else "rechecked")


def test_delta_is_strict_and_looks_both_ways() -> None:
    classes = [["a", "a", "a", "b"], ["a", "b", "b", "b"]]  # b halves, then gains half as much again
    assert not judged(classes, delta(1.0)).holds
    assert judged(classes, delta(1.000001)).holds
    assert judged(classes, delta(1.000001)).value == pytest.approx(1.0)


def test_non_answers_are_in_neither_share() -> None:
    for model in (beta(0.001), delta(0.001)):
        assert judged([["a", "b", None], ["a", "b"], [None, None]], model).holds
        assert judged([["a", "b", "n/a"], ["a", "b"]], model, column={"non_answers": ["n/a"]}).holds
        assert not judged([["a", "b", "n/a"], ["a", "b"]], model).holds


def test_the_table_is_that_of_the_reference() -> None:
    """Suppressed rows are in the input and not in the release, and shares are of those who are in the table."""
    classes, others = [["a", "b"], ["a", "b"]], ["a"] * 4
    for model, released, given in ((delta(5), 0.0, 1.0), (beta(1.0), 0.5, 1.0)):
        for reference, figure in (("released", released), ("input", given)):
            assert judged(classes, {**model, "reference": reference}, others=others).value == pytest.approx(figure)


def test_a_person_with_two_answers_is_one_of_those_who_have_any() -> None:
    classes = [["a", "b", "a"], ["a", "b", "b"]]  # three of four people have each value
    assert judged(classes, delta(5), subjects=list("ppqrrs")).value == pytest.approx(math.log2(1.5))
