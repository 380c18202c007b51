"""Figures of the models class by class, where one class's figure would hide behind another's."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from shoal.verify.facts import Sample
from shoal.verify.gate import gate
from shoal.verify.manifest import read_claims
from shoal.verify.terms import diversity
from shoal.verify.terms.diversity import DistinctL, entropy, recursive_ratio
from shoal.verify.terms.numeric import EpsM, input_values
from tests.verify.cases import judged, sensitive_case
from tests.verify.test_cells import column as described
from tests.verify.test_distances import attribute, counted
from tests.verify.whole import facts_of

NUMERIC = {"type": "numeric"}


def sample(classes: list[list[Any]], model: dict[str, Any], **column: Any) -> Sample:
    """A release of one sensitive column, without its input."""
    case = sensitive_case(classes, model, column=column)
    claims = read_claims(case.manifest)
    return Sample(facts_of(case.released, claims), ("s",), "")


# Diversity


def test_entropy_of_every_class() -> None:
    found = entropy(counted([[0, 0, 0], [], [0, 1], [0, 0, 0, 1]], 2))
    assert found == pytest.approx([0, 0, np.log(2), 0.75 * np.log(4 / 3) + 0.25 * np.log(4)])
    assert not np.signbit(found).any()


def test_distinct_values_of_every_class() -> None:
    model = {"name": "distinct-l", "l": 2}
    found = DistinctL().judge(model, sample([["a", "b"], ["a", "a"], [None], ["a", None, "b", "c"]], model))
    assert found.value.tolist() == [2, 1, 0, 3]
    assert found.judged.tolist() == [True, True, False, True]
    assert found.passes.tolist() == [True, False, True, True]


def test_ratios_of_every_class() -> None:
    """0 without any value, infinite without a tail."""
    view = counted([[0, 1, 2], [], [0, 0, 0, 1], [1], [0, 0, 1, 1, 2]], 3)
    tails = {1: [1 / 3, 0, 3 / 4, 1, 2 / 5], 2: [1 / 2, 0, 3, np.inf, 2 / 3], 3: [1, 0, np.inf, np.inf, 2]}
    for first, expected in tails.items():
        assert recursive_ratio({"l": first}, view) == pytest.approx(expected)


@pytest.mark.parametrize(
    "model, shares",
    [
        ({"name": "alpha-k-simple", "alpha": 0.3, "k": 2, "value": "b"}, [1, 0.3, 1]),
        ({"name": "alpha-k-complete", "alpha": {"a": 0.2, "c": 0.1}, "k": 2}, [0.2, 1, 0.1]),
        ({"name": "alpha-k-complete", "alpha": {"a": 0.2}, "default": 0.5, "k": 2}, [0.2, 0.5, 0.5]),
    ],
)
def test_the_share_that_each_value_may_have(model: dict[str, Any], shares: list[float]) -> None:
    one = sample([["a", "b", "c"]], model)
    assert one.attribute.texts.to_list() == ["a", "b", "c"]
    alpha_of = diversity.alpha_of_simple if model["name"] == "alpha-k-simple" else diversity.alpha_of
    assert alpha_of(model, one).tolist() == shares


def test_a_value_is_named_in_any_spelling() -> None:
    alpha_of = diversity.alpha_of_simple
    model = {"name": "alpha-k-simple", "alpha": 0.3, "k": 1, "value": "3.0"}
    assert alpha_of(model, sample([[3, 30]], model, type="numeric")).tolist() == [0.3, 1]
    assert alpha_of(model, sample([["3", "3.0"]], model)).tolist() == [1, 0.3]
    missing = model | {"value": "<missing>"}
    assert alpha_of(missing, sample([["3", None]], missing)).tolist() == [1, 1]


# Numbers


CLASSES: list[list[Any]] = [[1, 2, 30, 31, 32], [5], [2, 2, 9, 40], [None, None], [40, 40, 41, 1, -7]]


@pytest.mark.parametrize("eps", [0, 1, 7.5, 100])
@pytest.mark.parametrize("relative", [False, True])
def test_proximity_of_every_class(eps: float, relative: bool) -> None:
    model = {"name": "eps-m", "eps": eps, "m": 2, "relative": relative}
    found = EpsM().judge(model, sample(CLASSES, model, type="numeric"))
    plain = [
        max(
            (sum(abs(other - own) <= (eps * abs(own) if relative else eps) for other in group) / len(group)
             for own in group), default=0.0,
        )
        for group in ([value for value in one if value is not None] for one in CLASSES)
    ]  # fmt: skip
    assert found.value == pytest.approx(plain)
    assert found.passes.tolist() == [value <= 0.5 for value in plain]


@pytest.mark.parametrize("pair, eps", [([0.1, 0.4], 0.3), ([1e6 + 0.1, 1e6 + 0.8], 0.7), ([1e7 + 0.2, 1e7 + 0.3], 0.1)])
def test_a_pair_exactly_eps_apart_is_near_however_large(pair: list[float], eps: float) -> None:
    assert judged([pair], {"name": "eps-m", "eps": eps, "m": 1}, column=NUMERIC).value == 1


@pytest.mark.parametrize(
    "model, value",
    [
        ({"name": "variance", "v": 0}, 0.75),
        ({"name": "eps-m", "eps": 1, "m": 1}, 0.75),
        ({"name": "k-e", "k": 1, "e": 0}, 0),
    ],
)
def test_a_model_that_asks_for_nothing_holds_of_what_is_everybodys(model: dict[str, Any], value: float) -> None:
    """Both people have 50; a limit that every class meets is met by this one too."""
    found = judged([[50, 50, 52, 50]], model, column=NUMERIC, subjects=["p", "q", "q", "p"])
    assert (found.holds, found.classes) == (True, 0)
    assert found.value == pytest.approx(value)


def test_answers_that_are_no_numbers_have_no_spread() -> None:
    """They fail elsewhere, and the figure must still be one that a manifest can hold."""
    (found,) = gate(sensitive_case([["x", "y"], ["1", "3"]], {"name": "variance", "v": 0}, column=NUMERIC)).verdicts
    assert (found.value, found.holds) == (0, True)


# max-range

RANGE = {"name": "max-range", "limit": 1}
TREE = [["a", "x", "*"], ["b", "x", "*"], ["c", "y", "*"]]


def test_an_attribute_without_answers_is_left_out_of_the_mean() -> None:
    column = NUMERIC | {"domain": ["0", "10"]}
    assert judged([[(None, 0), (None, 5)]], RANGE, column=column).value == 0.5
    assert judged([[(0, None), (5, None)], [(0, 0), (10, 10)]], RANGE, column=column).value == 0.5


@pytest.mark.parametrize(
    "column, classes, others, value",
    [
        (NUMERIC, [[None, None]], [], 1),
        ({}, [["a", "b"], [None, None]], ["c"], 0.5),
        ({"hierarchy": TREE}, [["a", "b"], [None, None]], [], 0.5),
        ({"hierarchy": [["a", "*"]]}, [["a", "a"]], [], 1),
        ({"hierarchy": [["a"]]}, [["a", "a"]], [], 1),
        ({"hierarchy": TREE}, [["a", "c"], ["c"]], [], 1),
        ({"type": "ordinal", "order": ["i", "ii", "iii"]}, [["i", "iii"], [None]], [], 0),
    ],
)
def test_ranges_beside_classes_without_answers(
    column: dict[str, Any], classes: list[list[Any]], others: list[Any], value: float
) -> None:
    assert judged(classes, RANGE, column=column, others=others).value == pytest.approx(value)


def test_what_is_no_number_does_not_widen_the_domain() -> None:
    report = gate(sensitive_case([["1", "2"]], RANGE, column=NUMERIC, others=["x", "5"]))
    assert report.verdicts[0].value == pytest.approx(0.75)


def test_values_of_the_input_are_known_at_the_gate_alone() -> None:
    one = attribute(["a", "b"], described("value"))
    with pytest.raises(ValueError, match="^the input is only known at the gate$"):
        input_values(one)
