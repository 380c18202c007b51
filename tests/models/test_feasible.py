"""Asked before anything runs: can the models be met, and can they fail?"""

from __future__ import annotations

from typing import Any

import pytest

from shoal.errors import InfeasibleError
from shoal.models.feasibility import refuse_infeasible, vacuous
from shoal.registry import make
from tests.models.judging import judge_of, of_classes

DISEASES = ["flu"] * 6 + ["cold"] * 3 + ["asthma"]
AMOUNTS = [1, 1, 2, 5, 9]


def check(values: list[Any], spec: dict[str, Any], *, limit: float = 0.0, **options: Any) -> None:
    table, _ = of_classes([values], **options)
    refuse_infeasible(judge_of(table, make("model", spec)), limit)


INFEASIBLE: list[tuple[list[Any], dict[str, Any], str]] = [
    (DISEASES, {"name": "k", "k": 11}, "k = 11 cannot be met: the table has only 10 rows; lower k."),
    (DISEASES, {"name": "distinct-l", "l": 4}, "reaches 3, and the limit is 4; set it to at most 3."),
    (DISEASES, {"name": "p-sensitive", "p": 4, "k": 2}, "'p-sensitive' on 's' cannot be met"),
    (DISEASES, {"name": "p-sensitive", "p": 2, "k": 11}, "k = 11"),
    (DISEASES, {"name": "entropy-l", "l": 3}, "'entropy-l' on 's' cannot be met"),
    (DISEASES, {"name": "recursive-cl", "c": 1.5, "l": 2}, "reaches 1.5, and the limit is 1.5"),
    (DISEASES, {"name": "alpha-k-general", "alpha": 0.5, "k": 2}, "set it to at least 0.6."),
    (DISEASES, {"name": "alpha-k-simple", "alpha": 0.2, "k": 2, "value": "cold"}, "at least 0.3."),
    (DISEASES, {"name": "alpha-k-complete", "alpha": {"asthma": 0.05}, "k": 2}, "'alpha-k-complete'"),
    (DISEASES, {"name": "range-diversity", "p": 0.4}, "reaches 0.46, and the limit is 0.4; set it to at least 0.46."),
    (DISEASES, {"name": "range-confidence", "p": 0.5}, "reaches 0.6, and the limit is 0.5"),
    (AMOUNTS, {"name": "k-e", "k": 2, "e": 9}, "reaches 8, and the limit is 9; set it to at most 8."),
]
FEASIBLE: list[tuple[list[Any], dict[str, Any]]] = [
    (DISEASES, {"name": "k", "k": 10}),
    (DISEASES, {"name": "distinct-l", "l": 3}),
    (DISEASES, {"name": "entropy-l", "l": 2.4}),
    (DISEASES, {"name": "recursive-cl", "c": 1.51, "l": 2}),
    (DISEASES, {"name": "t-closeness", "t": 0}),
    (DISEASES, {"name": "alpha-k-general", "alpha": 0.6, "k": 10}),
    (AMOUNTS, {"name": "k-e", "k": 4, "e": 8}),
    (AMOUNTS, {"name": "max-range", "limit": 0}),
    (DISEASES, {"name": "range-diversity", "p": 0.46}),
    (DISEASES, {"name": "worst-group-utility", "u": 0}),
]
NAMED = {"ids": lambda x: x["name"] if isinstance(x, dict) else ""}


@pytest.mark.parametrize("values,spec,message", INFEASIBLE, **NAMED)
def test_infeasible(values: list[Any], spec: dict[str, Any], message: str) -> None:
    with pytest.raises(InfeasibleError) as caught:
        check(values, spec)
    text = str(caught.value)
    assert message in text
    assert caught.value.exit_code == 3
    assert not any(value in text for value in ("flu", "cold", "asthma") if value not in spec["name"])


@pytest.mark.parametrize("values,spec", FEASIBLE, **NAMED)
def test_feasible(values: list[Any], spec: dict[str, Any]) -> None:
    check(values, spec)


def test_suppression_may_save_what_merging_cannot() -> None:
    """With suppression only models whose failing every subset inherits are hopeless."""
    check(DISEASES, {"name": "entropy-l", "l": 3}, limit=0.5)
    with pytest.raises(InfeasibleError):
        check(DISEASES, {"name": "distinct-l", "l": 4}, limit=0.5)
    check(DISEASES, {"name": "range-diversity", "p": 0.34}, limit=0.5)


def test_no_class_has_more_distinct_values_than_the_table() -> None:
    """The mean over pairs is at least one over the number of values, whatever is suppressed."""
    with pytest.raises(InfeasibleError, match="needs at least 4 different values, and the whole table has 3"):
        check(DISEASES, {"name": "range-diversity", "p": 0.33}, limit=0.9)
    with pytest.raises(InfeasibleError, match="at least 5 different values"):
        check(DISEASES, {"name": "entropy-l", "l": 4.5}, limit=0.9)
    check([*DISEASES, None], {"name": "range-diversity", "p": 0.33}, limit=0.9)  # a class of nobody known passes


def test_people_are_counted_where_there_are_subjects() -> None:
    with pytest.raises(InfeasibleError, match="only 2 people"):
        check(["flu", "cold", "flu"], {"name": "k", "k": 3}, subjects=[["ann", "ann", "bob"]])


def test_a_person_in_several_classes_does_not_make_a_model_infeasible() -> None:
    """Two classes of two people, one of whom is in both: each class is 2-diverse, their union is not."""
    with_people = {"subjects": [["ann", "bob", "cid", "bob"]]}
    check(["flu", "cold", "flu", "cold"], {"name": "entropy-l", "l": 2}, **with_people)


@pytest.mark.parametrize(
    "spec,limit",
    [({"name": "entropy-l", "l": 2}, 0.0), ({"name": "distinct-l", "l": 3}, 0.9)],
    ids=["up", "inherited"],
)
def test_classes_nobody_answered_in_save_a_model(spec: dict[str, Any], limit: float) -> None:
    """They pass, but among the known values of one class of everybody the unknown ones weigh too much."""
    check(["flu", "cold", *[None] * 8], spec, limit=limit)


def test_proximity_counts_rows_although_there_are_subjects() -> None:
    check([1, 100, 200, 300], {"name": "eps-m", "eps": 1, "m": 4}, subjects=[["ann", "bob", "ann", "bob"]])


def test_the_message_of_a_second_condition_names_it() -> None:
    """Here the span is wide enough and the distinct numbers are too few."""
    with pytest.raises(InfeasibleError) as caught:
        check([1, 200, 1, 1], {"name": "k-e", "k": 3, "e": 5})
    assert "199" not in str(caught.value)


VACUOUS: list[tuple[list[Any], dict[str, Any], bool]] = [
    (DISEASES, {"name": "k", "k": 2}, False),
    (DISEASES, {"name": "distinct-l", "l": 2}, False),
    (DISEASES, {"name": "entropy-l", "l": 1.01}, False),
    (DISEASES, {"name": "recursive-cl", "c": 1000, "l": 2}, False),
    (DISEASES, {"name": "alpha-k-general", "alpha": 1.0, "k": 2}, True),
    (DISEASES, {"name": "alpha-k-general", "alpha": 0.99, "k": 2}, False),
    (DISEASES, {"name": "alpha-k-complete", "alpha": {"flu": 1.0}, "k": 2}, True),
    # The farthest that any class can be from the table is a class of the rarest value alone.
    (DISEASES, {"name": "t-closeness", "t": 0.9}, True),
    (DISEASES, {"name": "t-closeness", "t": 0.89}, False),
    (AMOUNTS, {"name": "variance", "v": 0}, True),
    (AMOUNTS, {"name": "variance", "v": 0.1}, False),
    (AMOUNTS, {"name": "max-range", "limit": 1}, True),
    (AMOUNTS, {"name": "max-range", "limit": 0.99}, False),
    (AMOUNTS, {"name": "eps-m", "eps": 0, "m": 2}, False),
    (DISEASES, {"name": "range-diversity", "p": 1}, True),
    (DISEASES, {"name": "range-diversity", "p": 0.99}, False),
    (DISEASES, {"name": "range-confidence", "p": 1}, True),
    (DISEASES, {"name": "range-confidence", "p": 0.99}, False),
    (AMOUNTS, {"name": "k-e", "k": 2, "e": 0}, False),
]


@pytest.mark.parametrize("values,spec,void", VACUOUS, **NAMED)
def test_vacuous(values: list[Any], spec: dict[str, Any], void: bool) -> None:
    table, _ = of_classes([values])
    model = make("model", spec)
    assert vacuous(judge_of(table, model), 1.0) == ([(model, ("s",))] if void else [])


@pytest.mark.parametrize("limit, t, distance, void", [
    (0.0, 1.0, "equal", True), (0.1, 1.0, "equal", True), (0.1, 7.0, "variational", True),
    (0.0, 0.95, "equal", True), (0.1, 0.95, "equal", False), (0.1, 7.0, "kl", False), (0.0, 0.5, "equal", False),
])  # fmt: skip
def test_the_released_rows_as_reference_make_no_limit_out_of_none(
    limit: float, t: float, distance: str, void: bool
) -> None:
    """Suppressing can bring a class nearer to the limit of a distance, and never beyond it."""
    table, _ = of_classes([DISEASES])
    model = make("model", {"name": "t-closeness", "t": t, "distance": distance, "reference": "released"})
    assert vacuous(judge_of(table, model), limit) == ([(model, ("s",))] if void else [])


@pytest.mark.parametrize("u, void", [(1.0, True), (0.99, False)])
def test_a_limit_on_cells_is_vacuous_where_they_may_cover_everything(u: float, void: bool) -> None:
    table, _ = of_classes([DISEASES])
    model = make("model", {"name": "worst-group-utility", "u": u})
    assert vacuous(judge_of(table, model), 1.0) == ([(model, None)] if void else [])
