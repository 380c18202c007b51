"""Models of sensitive ranges and of cells at the gate, and policies and cells that cannot be verified."""

from __future__ import annotations

from typing import Any

import numpy as np
import polars as pl
import pytest
from hypothesis import given
from hypothesis import strategies as st

from shoal.errors import VerificationError
from shoal.verify.gate import gate
from shoal.verify.judge import slots
from shoal.verify.manifest import read_claims
from shoal.verify.recheck import recheck
from tests.verify.cases import (
    COLUMNS,
    check_of,
    failed,
    hospital,
    hospital_case,
    judged,
    manifest,
    published,
    sensitive_case,
)

NUMERIC = {"type": "numeric"}
DOMAIN = {"type": "numeric", "domain": ["0", "99"]}
PETS = [["cat", "mammal", "*"], ["dog", "mammal", "*"], ["carp", "fish", "*"], ["eel", "fish", "*"]]


def pairs(p: float = 1.0) -> dict[str, Any]:
    return {"name": "range-diversity", "p": p}


def share(p: float = 1.0) -> dict[str, Any]:
    return {"name": "range-confidence", "p": p}


def test_without_a_policy_it_is_simpsons_index() -> None:
    verdict = judged([[1, 1, 1, 1, 1, 30, 60, 90]], pairs(0.5), column=NUMERIC)
    assert (verdict.value, verdict.holds, verdict.by) == (28 / 64, True, "rechecked")
    assert judged([[1, 1, 1, 1, 1, 30, 60, 90]], share(0.5), column=NUMERIC).value == 5 / 8


def test_asymmetric_ranges() -> None:
    policy = {"each": [["0", "0", "4"], ["22", "10", "30"]], "else": "value"}
    verdict = judged([[0, 22, 23, 24, 25, 26]], pairs(), column=DOMAIN | {"policy": policy})
    assert verdict.value == pytest.approx((5 + 485 / 99) / 36)
    assert judged([[0, 22, 23, 24, 25, 26]], share(), column=DOMAIN | {"policy": policy}).value == 5 / 6


def test_a_range_that_is_nobodys_own_is_a_range_of_the_policy() -> None:
    policy = {"intervals": [["0", "5"], ["5", "9"]], "else": "error"}
    assert judged([[5, 5, 9, 20]], share(), column=DOMAIN | {"policy": policy | {"else": "value"}}).value == 0.75


def test_trees_and_sets() -> None:
    tree = {"hierarchy": PETS, "policy": {"level": 1}}
    assert judged([["cat", "dog", "carp"]], pairs(), column=tree).value == pytest.approx((3 + 2 * 2 / 3) / 9)
    nodes = {"hierarchy": PETS[::-1], "policy": {"nodes": [["cat", "*"]], "else": "value"}}
    assert judged([["cat", "dog", "carp"]], pairs(), column=nodes).value == pytest.approx((3 + 2 / 3 + 0) / 9)
    sets = {"policy": {"sets": [["HIV", "cancer"]], "else": "value"}}
    assert judged([["HIV", "cancer", "flu"]], pairs(), column=sets).value == pytest.approx((3 + 2 * 0.5) / 9)
    assert judged([["HIV", "cancer", "flu"]], share(), column=sets).value == pytest.approx(2 / 3)


def test_ordinal_values_are_apart_by_ranks() -> None:
    column = {
        "type": "ordinal",
        "order": ["a", "b", "c", "d", "e"],
        "policy": {"intervals": [["a", "e"]], "else": "error"},
    }
    assert judged([["a", "c"]], pairs(), column=column).value == pytest.approx((2 + 2 * 0.5) / 4)


def test_numbers_beyond_floats_are_told_apart() -> None:
    big = 10**30
    policy = {"intervals": [[str(big), str(big + 1)], [str(big + 2), str(big + 2)]], "else": "error"}
    values = [str(big), str(big + 1), str(big + 2), str(big + 2)]
    assert judged([values], share(), column=NUMERIC | {"policy": policy}).value == 0.5
    assert judged([values], pairs(), column=NUMERIC | {"policy": policy}).value == pytest.approx((4 + 2 + 2 * 0.5) / 16)


def test_answers_only_and_classes_without_any() -> None:
    verdict = judged([[1, 1, None, 7], [None, None]], pairs(), column=NUMERIC | {"non_answers": ["7"]})
    assert (verdict.value, verdict.classes) == (1.0, 0)
    assert judged([[1, 1, 5, None]], share(), column=NUMERIC).value == pytest.approx(2 / 3)


def test_people_are_counted_once_for_each_value() -> None:
    who = ["p", "p", "q", "r"]
    assert judged([[1, 1, 2, 3]], pairs(), column=NUMERIC, subjects=who).value == pytest.approx(3 / 9)
    policy = {"intervals": [["1", "2"]], "else": "value"}
    verdict = judged([[1, 2, 2, 3]], share(), column=NUMERIC | {"policy": policy}, subjects=["p", "p", "q", "r"])
    assert (verdict.value, verdict.by) == (1.0, "attested")  # three counts, of whom two are one person
    alone = judged([[1, 2]], share(), column=NUMERIC | {"policy": policy}, subjects=["p", "p"])
    assert alone.value == 1.0  # two counts of one person


def test_a_value_that_should_have_a_range_and_has_none_fails() -> None:
    column = NUMERIC | {"policy": {"intervals": [["0", "9"]], "else": "error"}}
    for model in (pairs(), share()):
        verdict = judged([[1, 2, 3], [5, 50]], model, column=column)
        assert (verdict.holds, verdict.value, verdict.classes) == (False, 1.0, 1)


@given(
    st.lists(st.lists(st.integers(0, 20), min_size=1, max_size=6), min_size=1, max_size=3),
    st.lists(st.tuples(st.integers(0, 20), st.integers(0, 9)), min_size=1, max_size=3),
)
def test_both_equal_plain_loops(classes: list[list[int]], drawn: list[tuple[int, int]]) -> None:
    ranges = [(low, low + width) for low, width in drawn]
    column = {
        "type": "numeric", "domain": ["0", "40"],
        "policy": {"intervals": [[str(a), str(b)] for a, b in ranges], "else": "value"},
    }  # fmt: skip

    def own(u: int) -> tuple[int, int]:
        return next(((a, b) for a, b in ranges if a <= u <= b), (u, u))

    expected = max(
        sum(1 - abs(u - x) / 40 for u in group for x in group if own(u)[0] <= x <= own(u)[1]) / len(group) ** 2
        for group in classes
    )
    assert judged(classes, pairs(), column=column).value == pytest.approx(expected)
    expected = max(
        sum(a <= x <= b for x in group) / len(group)
        for group in classes
        for a, b in [*ranges, *((x, x) for x in group)]
    )
    assert judged(classes, share(), column=column).value == pytest.approx(expected)


def test_large_classes_equal_plain_loops() -> None:
    """Where pairs are many they are summed in another way, which must not show."""
    rng = np.random.default_rng(4)
    values = rng.choice(2000, 150, replace=False).tolist() * 2 + rng.choice(2000, 90).tolist()
    rows = [[u, u - int(rng.integers(0, 700)), u + int(rng.integers(0, 700))] for u in sorted(set(values))]
    column = NUMERIC | {"policy": {"each": [list(map(str, row)) for row in rows], "else": "error"}}
    own = {u: (low, high) for u, low, high in rows}
    width = max(values) - min(values)
    pairs_of = [1 - abs(u - x) / width for u in values for x in values if own[u][0] <= x <= own[u][1]]
    found = judged([values, values[:2]], pairs(), column=column)
    few = judged([values[:2]], pairs(), column=column, others=values[2:])
    assert max(sum(pairs_of) / len(values) ** 2, few.value) == pytest.approx(found.value, abs=1e-12)
    assert sum(pairs_of) / len(values) ** 2 < few.value  # or the test would not see the second class
    alone = judged([values], pairs(), column=column)
    assert alone.value == pytest.approx(sum(pairs_of) / len(values) ** 2, abs=1e-12)


def by(model: dict[str, Any], column: dict[str, Any], people: bool = False) -> str:
    columns = [
        {"name": "q", "role": "quasi", "type": "categorical", "cells": "set"},
        {"name": "s", "role": "sensitive", "type": "categorical", "cells": "value"} | column,
    ]
    (slot,) = slots(read_claims(manifest(columns, [model], people=people)))
    return slot.by


def test_what_can_be_derived_from_the_release() -> None:
    interval = {"intervals": [["0", "9"]], "else": "value"}
    assert by(pairs(), NUMERIC) == "rechecked"
    assert by(pairs(), NUMERIC | {"policy": interval}) == "attested"
    assert by(pairs(), DOMAIN | {"policy": interval}) == "rechecked"
    assert by(pairs(), {"hierarchy": PETS, "whole": True, "policy": {"level": 1}}) == "rechecked"
    assert by(pairs(), {"hierarchy": PETS, "policy": {"level": 1}}) == "attested"
    assert by(share(), {"hierarchy": PETS, "policy": {"level": 1}}) == "rechecked"
    assert by(pairs(), {"policy": {"sets": [["a"]], "else": "value"}}) == "attested"
    assert by(share(), NUMERIC | {"policy": interval}) == "rechecked"
    assert by(pairs(), NUMERIC, people=True) == by(share(), NUMERIC, people=True) == "attested"


BAD_POLICIES: list[tuple[dict[str, Any], Any]] = [
    (NUMERIC, 3), (NUMERIC, {}), (NUMERIC, {"else": "value"}), (NUMERIC, {"ranges": [["0", "9"]], "else": "value"}),
    (NUMERIC, {"intervals": [["0", "9"]]}), (NUMERIC, {"intervals": [["0", "9"]], "else": "drop"}),
    (NUMERIC, {"intervals": [], "else": "value"}), (NUMERIC, {"intervals": [["0"]], "else": "value"}),
    (NUMERIC, {"intervals": [[0, 9]], "else": "value"}), (NUMERIC, {"intervals": "09", "else": "value"}),
    (NUMERIC, {"intervals": [["0", "9"]], "sets": [["1"]], "else": "value"}),
    ({}, {"intervals": [["a", "b"]], "else": "value"}), ({}, {"nodes": [["a", "b"]], "else": "value"}),
    (NUMERIC, {"sets": [["1"]], "else": "value"}), ({"hierarchy": PETS}, {"sets": [["cat"]], "else": "value"}),
    ({}, {"level": 1}), ({"hierarchy": PETS}, {"level": 3}), ({"hierarchy": PETS}, {"level": -1}),
    ({"hierarchy": PETS}, {"level": True}), ({"hierarchy": PETS}, {"level": 1, "else": "value"}),
]  # fmt: skip


@pytest.mark.parametrize("column, policy", BAD_POLICIES)
def test_policies_that_cannot_be_read(column: dict[str, Any], policy: Any) -> None:
    with pytest.raises(VerificationError, match="column 's' has a .*policy"):
        gate(sensitive_case([["1", "2"]], pairs(), column=column | {"policy": policy}))


@pytest.mark.parametrize(
    "column, policy",
    [
        (NUMERIC, {"intervals": [["9", "0"]], "else": "value"}),
        (NUMERIC, {"intervals": [["zero", "9"]], "else": "value"}),
        (NUMERIC, {"each": [["1", "2", "9"]], "else": "value"}),
        (NUMERIC, {"each": [["1", "0", "9"], ["1.0", "1", "1"]], "else": "value"}),
        ({}, {"sets": [["1", "2"], ["2"]], "else": "value"}),
        ({"hierarchy": [["1", "a", "*"], ["2", "b", "*"]]}, {"nodes": [["1", "b"]], "else": "value"}),
        ({"hierarchy": [["1", "a", "*"], ["2", "b", "*"]]}, {"nodes": [["3", "b"]], "else": "value"}),
        ({"hierarchy": [["1", "a", "*"], ["2", "b", "*"]]}, {"nodes": [["1", "a"], ["1", "*"]], "else": "value"}),
        ({"type": "ordinal", "order": ["1", "2"]}, {"intervals": [["1", "3"]], "else": "value"}),
    ],
)
def test_ranges_that_contradict_themselves(column: dict[str, Any], policy: Any) -> None:
    with pytest.raises(VerificationError, match="policy of 's'"):
        gate(sensitive_case([["1", "2"]], share(), column=column | {"policy": policy}))


@pytest.mark.parametrize(
    "model", [pairs(0.5) | {"p": 0}, share() | {"p": 1.5}, {"name": "worst-group-utility", "u": -1}]
)
def test_impossible_parameters(model: dict[str, Any]) -> None:
    with pytest.raises(VerificationError, match="impossible"):
        gate(sensitive_case([["1", "2"]], model))


def test_neither_tuples_nor_targets_where_there_are_none() -> None:
    with pytest.raises(VerificationError, match="several columns together"):
        gate(sensitive_case([[("a", "b"), ("c", "d")]], pairs() | {"on": ["s0", "s1"]}))
    with pytest.raises(VerificationError, match="unknown parameter 'on'"):
        gate(sensitive_case([["1", "2"]], {"name": "worst-group-utility", "u": 1, "on": "s"}))


# Cells


def utility(u: float) -> dict[str, Any]:
    return {"name": "worst-group-utility", "u": u}


def test_cells_of_every_kind() -> None:
    """Age 5 of 120, zip 2 of 4 leaves, both jobs, one sex of two: (5/120 + 1/3 + 1 + 0) / 4."""
    expected = (5 / 120 + 1 / 3 + 1 + 0) / 4
    for u, holds in ((0.35, True), (0.34, False)):
        report = gate(hospital_case(manifest=manifest(models=[utility(u)])))
        (verdict,) = report.verdicts
        assert (verdict.value, verdict.holds, verdict.on) == (pytest.approx(expected), holds, None)
        assert verdict.by == "attested"  # how many jobs and sexes there were is not public
    assert "fails in 4 classes" in check_of(report, "worst-group-utility").detail


def test_public_domains_let_anybody_derive_it() -> None:
    columns = [column for column in COLUMNS if column["name"] in ("age", "zip", "disease")]
    names = [column["name"] for column in columns]
    original, released = hospital()
    case = hospital_case(manifest=manifest(columns, [utility(0.2)]))
    case = hospital_case(
        manifest=manifest(columns, [utility(0.2)]),
        original=original.select(names),
        released=released[case.source].select(names),
        source=case.source,
    )
    report = gate(case)
    assert not failed(report)
    assert report.verdicts[0].by == "rechecked"
    written = published(case, report)
    assert recheck(case.released, written).passed
    wider = case.released.with_columns(zip=pl.lit("*"))
    assert "worst-group-utility" in failed(recheck(wider, written))


@pytest.mark.parametrize(
    "column, cells, expected",
    [
        ({"type": "numeric", "cells": "interval"}, ["[1,3]", "[1,3]"], 0.5),
        ({"type": "numeric", "cells": "interval"}, ["*", "*"], 1.0),
        ({"type": "numeric", "cells": "interval", "domain": ["0", "8"]}, ["[1,3]", "[1,3]"], 0.25),
        ({"type": "ordinal", "cells": "set", "order": ["1", "2", "3"]}, ["{1|2|3}", "{1|2|3}"], 1.0),
        ({"type": "categorical", "cells": "set"}, ["{1|3}", "{1|3}"], 0.5),
        ({"type": "categorical", "cells": "set"}, ["*", "*"], 1.0),
    ],
)
def test_spread_of_one_column(column: dict[str, Any], cells: list[str], expected: float) -> None:
    """Three input rows, 1, 3 and a suppressed 5 (2 in an order)."""
    last = "2" if column["type"] == "ordinal" else "5"
    entry = {"name": "q", "role": "quasi"} | column
    sensitive = {"name": "s", "role": "sensitive", "type": "categorical", "cells": "value"}
    case = sensitive_case([["a", "b"]], utility(1), others=["c"])
    case = sensitive_case(
        [["a", "b"]], utility(1), others=["c"],
        original=case.original.with_columns(q=pl.Series(["1", "3", last])),
        released=case.released.with_columns(q=pl.Series(cells)),
        manifest=manifest([entry, sensitive], [utility(1)], order="kept"),
    )  # fmt: skip
    report = gate(case)
    assert not failed(report)
    assert report.verdicts[0].value == pytest.approx(expected)
