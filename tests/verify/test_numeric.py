"""Models of numeric attributes and of the spread of a class."""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from shoal.errors import VerificationError
from shoal.verify.gate import gate
from tests.verify.cases import check_of, failed, judged, sensitive_case

NUMERIC = {"type": "numeric"}
A, B = [0, 50, 150, 250], [-1, 1, 100, 200]


def eps_m(eps: float, m: float, **parameters: Any) -> dict[str, Any]:
    return {"name": "eps-m", "eps": eps, "m": m} | parameters


# (eps, m)


def test_each_class_alone_passes() -> None:
    for values in (A, B):
        verdict = judged([values], eps_m(1, 4), column=NUMERIC)
        assert (verdict.holds, verdict.value, verdict.limit) == (True, 0.25, 0.25)


def test_the_merged_class_fails() -> None:
    verdict = judged([A + B], eps_m(1, 4), column=NUMERIC)
    assert (verdict.holds, verdict.value) == (False, 3 / 8)


def test_a_pair_exactly_eps_apart_is_near_whatever_the_rounding() -> None:
    verdict = judged([[0.1, 0.4]], eps_m(0.3, 2), column=NUMERIC)
    assert (verdict.holds, verdict.value) == (False, 1)


def test_relative_distance_is_to_the_own_value() -> None:
    # 100 reaches 80..120, 80 reaches 64..96, 125 reaches 100..150.
    verdict = judged([[80, 100, 125, 1000]], eps_m(0.2, 2, relative=True), column=NUMERIC)
    assert verdict.value == 0.5
    assert judged([[80, 100, 125, 1000]], eps_m(20, 2), column=NUMERIC).value == 0.5


def test_proximity_counts_rows_and_answers_only() -> None:
    assert judged([[1, 1, 5, None]], eps_m(0, 2), column=NUMERIC).value == pytest.approx(2 / 3)
    assert judged([[1, 1, 5]], eps_m(0, 2), column=NUMERIC, subjects=["p", "p", "q"]).value == pytest.approx(
        2 / 3
    )


@given(
    classes=st.lists(st.lists(st.integers(-5, 5), min_size=1, max_size=7), min_size=1, max_size=4),
    eps=st.sampled_from([0, 1, 2.5]),
    relative=st.booleans(),
)
def test_proximity_equals_plain_loops(classes: list[list[int]], eps: float, relative: bool) -> None:
    worst = max(
        sum(abs(other - own) <= (eps * abs(own) if relative else eps) for other in group) / len(group)
        for group in classes
        for own in group
    )
    assert judged(classes, eps_m(eps, 2, relative=relative), column=NUMERIC).value == pytest.approx(worst)


# (k, e) and variance


@pytest.mark.parametrize("k, e, holds", [(3, 30, True), (4, 30, False), (3, 31, False)])
def test_k_e(k: int, e: float, holds: bool) -> None:
    verdict = judged([[10, 20, 40, 40], [1, 2, 99]], {"name": "k-e", "k": k, "e": e}, column=NUMERIC)
    assert (verdict.holds, verdict.value, verdict.limit) == (holds, 30, e)


def test_variance_is_of_the_population() -> None:
    verdict = judged([[0, 40, 40]], {"name": "variance", "v": 3200 / 9}, column=NUMERIC)
    assert verdict.holds
    assert verdict.value == pytest.approx(3200 / 9)
    assert not judged([[0, 40, 40]], {"name": "variance", "v": 355.56}, column=NUMERIC).holds


def test_unknown_numbers_do_not_spread() -> None:
    column = NUMERIC | {"non_answers": ["999"]}
    values = [[10, 20, 999, None]]
    assert judged(values, {"name": "k-e", "k": 2, "e": 11}, column=column).value == 10
    assert judged(values, {"name": "variance", "v": 26}, column=column).value == 25
    assert judged([[999, None], [1, 3]], {"name": "variance", "v": 1}, column=column).holds


def test_dates_are_measured_in_days() -> None:
    verdict = judged(
        [["2020-01-01", "2020-01-31"]], {"name": "k-e", "k": 2, "e": 30}, column={"type": "date"}
    )
    assert (verdict.holds, verdict.value) == (True, 30)


def test_a_numeric_model_needs_numbers() -> None:
    with pytest.raises(VerificationError, match="variance"):
        gate(sensitive_case([["a", "b"]], {"name": "variance", "v": 1}))
    report = gate(sensitive_case([["1", "x", "3"]], {"name": "variance", "v": 0.5}, column=NUMERIC))
    assert failed(report) == ["sensitive values"]
    assert "'s'" in check_of(report, "sensitive values").detail


def test_values_must_lie_in_a_declared_domain() -> None:
    model = {"name": "max-range", "limit": 1}
    report = gate(sensitive_case([[1, 30]], model, column=NUMERIC | {"domain": ["0", "20"]}))
    assert failed(report) == ["sensitive values"]


# max-range


def max_range(
    classes: list[list[Any]], column: dict[str, Any], others: list[Any] | None = None
) -> tuple[float, str]:
    verdict = judged(classes, {"name": "max-range", "limit": 1}, column=column, others=others or [])
    return verdict.value, verdict.by


def test_numbers_over_a_declared_domain() -> None:
    assert max_range([[10, 20]], NUMERIC | {"domain": ["0", "40"]}) == (0.75, "rechecked")


def test_numbers_over_the_inputs_range() -> None:
    assert max_range([[10, 20]], NUMERIC, others=[0, 50, None]) == (pytest.approx(0.8), "attested")


def test_a_tree_by_its_leaves() -> None:
    rows = [["a", "x", "*"], ["b", "x", "*"], ["c", "y", "*"], ["d", "y", "*"], ["e", "y", "*"]]
    for values, spread in ((["a", "b"], 1 / 4), (["c", "e"], 2 / 4), (["a", "a"], 0), (["a", "c"], 1)):
        assert max_range([values], {"hierarchy": rows, "whole": True}) == (pytest.approx(1 - spread), "rechecked")
    with_missing = [*rows, ["<missing>", "<missing>", "*"]]
    assert max_range([["a", "b", None]], {"hierarchy": with_missing, "whole": True})[0] == pytest.approx(3 / 4)


def test_ordinal_by_rank_and_flat_by_count() -> None:
    order = {"type": "ordinal", "order": ["i", "ii", "iii", "iv", "v"]}
    assert max_range([["iv", "ii"]], order) == (0.5, "rechecked")
    assert max_range([["a", "b"]], {}, others=["c", "d", "e"]) == (0.75, "attested")


def test_a_constant_column_has_no_spread() -> None:
    assert max_range([["a", "a"]], {})[0] == 1
    assert max_range([[3, 3]], NUMERIC)[0] == 1


def test_a_list_is_averaged_not_joined() -> None:
    column = NUMERIC | {"domain": ["0", "10"]}
    classes = [[(0, 0), (10, 0)], [(None, 0), (None, 5)]]
    verdict = judged(classes, {"name": "max-range", "limit": 0.5}, column=column)
    # First class: (0 + 1) / 2; second: the attribute without answers is left out.
    assert (verdict.holds, verdict.value, verdict.on) == (True, 0.5, ["s0", "s1"])
    assert not judged(classes, {"name": "max-range", "limit": 0.5, "on": ["s1"]}, column=column).holds
