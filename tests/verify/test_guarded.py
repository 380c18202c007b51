"""Personalised anonymity at the gate: what people guard, and how likely they are found under it."""

from __future__ import annotations

from itertools import combinations
from math import prod
from typing import Any

import numpy as np
import polars as pl
import pytest

from shoal.errors import VerificationError
from shoal.verify.facts import Sample
from shoal.verify.gate import gate
from shoal.verify.manifest import read_claims
from shoal.verify.terms.personalised import Personalised, breach_probabilities
from tests.verify.cases import failed, judged, sensitive_case
from tests.verify.whole import facts_of

TREE = [["flu", "lungs", "*"], ["asthma", "lungs", "*"], ["ulcer", "stomach", "*"], ["polyp", "stomach", "*"],
        ["gastritis", "stomach", "*"]]  # fmt: skip
LEAVES = {label: {row[0] for row in TREE if label in row} for row in TREE for label in row}
COLUMN = {"hierarchy": TREE}
LIFTED = COLUMN | {"cells": "label"}


def guarded(p: float = 1.0, **parameters: Any) -> dict[str, Any]:
    return {"name": "personalised", "p": p} | parameters


def plain(labels: list[str], owners: list[Any], guards: list[str | None]) -> list[float]:
    """Each record's breach within one class, over every choice of as many records as its owner has."""
    shares = {
        guard: [len(LEAVES[label] & LEAVES[guard]) / len(LEAVES[label]) for label in labels]
        for guard in guards
        if guard is not None
    }
    found = []
    for owner, guard in zip(owners, guards, strict=True):
        if guard is None:
            found.append(0.0)
            continue
        choices = list(combinations(shares[guard], owners.count(owner)))
        found.append(1 - sum(prod(1 - share for share in choice) for choice in choices) / len(choices))
    return found


CLASSES = [
    (["flu", "asthma", "ulcer"], ["p", "q", "r"], ["flu", "lungs", None]),
    (["lungs", "stomach", "stomach", "*"], ["p", "q", "r", "s"], ["asthma", "ulcer", "stomach", "*"]),
    (["flu", "flu", "stomach", "polyp"], ["p", "p", "q", "r"], ["lungs", "flu", "polyp", None]),
    (["lungs", "*", "stomach", "flu", "ulcer"], ["p", "p", "p", "q", "q"], ["flu", "lungs", "*", "stomach", "flu"]),
    (["flu", "flu", "flu"], ["p", "p", "p"], ["flu", None, "stomach"]),
]


def test_breaches_equal_plain_enumeration() -> None:
    labels = [label for one in CLASSES for label in one[0]]
    owners = [f"{place}{owner}" for place, one in enumerate(CLASSES) for owner in one[1]]
    guards = [guard for one in CLASSES for guard in one[2]]
    classes = np.repeat(np.arange(len(CLASSES)), [len(one[0]) for one in CLASSES])
    people = np.unique(owners, return_inverse=True)[1]
    expected = [chance for one in CLASSES for chance in plain(*one)]
    found = breach_probabilities(TREE, pl.Series(labels), pl.Series(guards), classes, people)
    assert found == pytest.approx(expected, abs=1e-12)
    alone = [chance for one in CLASSES for chance in plain(one[0], list(range(len(one[0]))), one[2])]
    found = breach_probabilities(TREE, pl.Series(labels), pl.Series(guards), classes)
    assert found == pytest.approx(alone, abs=1e-12)


def test_the_same_person_in_two_classes_is_drawn_in_each() -> None:
    labels, guards = pl.Series(["flu", "ulcer", "flu", "ulcer"]), pl.Series(["flu", None, "flu", None])
    classes, people = np.array([0, 0, 1, 1]), np.array([7, 8, 7, 9])
    assert breach_probabilities(TREE, labels, guards, classes, people) == pytest.approx([0.5, 0, 0.5, 0])


def test_records_of_unknown_value_take_no_part() -> None:
    labels, guards = pl.Series(["flu", None, "ulcer", None]), pl.Series(["flu", "flu", None, None])
    classes = np.zeros(4, dtype=np.int64)
    found = breach_probabilities(TREE, labels, guards, classes, np.array([0, 0, 1, 2]))
    assert found == pytest.approx([0.5, 0, 0, 0])
    nobody = pl.Series([None] * 4, dtype=pl.String)
    assert breach_probabilities(TREE, labels, nobody, classes).tolist() == [0] * 4
    assert breach_probabilities(TREE, nobody, guards, classes).tolist() == [0] * 4


def test_labels_and_guards_must_be_nodes() -> None:
    one, zero = pl.Series(["flu"]), np.zeros(1, dtype=np.int64)
    with pytest.raises(VerificationError, match="^A guard is no node of the sensitive hierarchy.$"):
        breach_probabilities(TREE, one, pl.Series(["gout"]), zero)
    with pytest.raises(VerificationError, match="^A released sensitive cell is no node of its hierarchy.$"):
        breach_probabilities(TREE, pl.Series(["gout"]), one, zero)


# At the gate


def case(classes: list[list[Any]], guards: list[str | None], **options: Any) -> Any:
    return judged(classes, options.pop("model", guarded()), column=options.pop("column", COLUMN),
                  guard=pl.Series(guards, dtype=pl.String), **options)  # fmt: skip


def test_the_likeliest_breach_of_every_class() -> None:
    classes, guards = [["flu", "ulcer"], ["flu", "asthma", "ulcer", "polyp"]], ["flu", None, "lungs", "", " ", "polyp"]
    for p, failing in ((0.5, 0), (0.499, 2), (0.25, 2)):
        verdict = case(classes, guards, model=guarded(p))
        assert (verdict.value, verdict.classes, verdict.holds) == (0.5, failing, failing == 0)
        assert verdict.by == "attested"
    assert case(classes, [None] * 6).value == 0.0
    assert case(classes, ["*", *[None] * 5]).value == 1.0


def test_guards_at_a_level_above_the_own_value() -> None:
    classes = [["flu", "asthma", "ulcer", "polyp"], ["ulcer", "flu", "flu", "flu"]]
    for level, value in ((0, 0.75), (1, 0.75), (2, 1.0), (9, 1.0)):
        assert judged(classes, guarded(guard_level=level), column=COLUMN).value == value
    assert judged([classes[0]], guarded(guard_level=0), column=COLUMN).value == 0.25
    assert judged([classes[0]], guarded(guard_level=1), column=COLUMN).value == 0.5


def test_lifted_labels_hide_and_are_judged_as_published() -> None:
    one = sensitive_case([["flu", "ulcer"]], guarded(0.6), column=LIFTED, guard=pl.Series(["flu", None]))
    for labels, value in ((["flu", "ulcer"], 0.5), (["lungs", "ulcer"], 0.25), (["*", "ulcer"], 0.1)):
        released = one.released.with_columns(s=pl.Series(labels))
        report = gate(type(one)(**(vars(one) | {"released": released})))
        assert failed(report) == []
        assert report.verdicts[0].value == pytest.approx(value)


@pytest.mark.parametrize("unknown", [None, "*", "refused"])
def test_unknown_values_are_not_drawn_and_guard_nothing(unknown: str | None) -> None:
    column = COLUMN | {"non_answers": ["refused"]}
    guards = ["flu", None, "flu", "flu"]
    verdict = case([["flu", "ulcer", unknown, unknown]], guards, column=column)
    assert verdict.value == 0.5
    assert case([["ulcer", "ulcer", unknown, unknown]], [None, None, "*", "*"], column=column).value == 0
    silent = case([[unknown, unknown], ["flu", "ulcer"]], ["flu", None, "flu", None], column=column, model=guarded(0.4))
    assert (silent.value, silent.classes) == (0.5, 1)
    quiet = case([[unknown, unknown]], ["flu", None], column=column, model=guarded(0.4))
    assert (quiet.value, quiet.holds) == (0.4, True)


def test_people_with_several_records_are_drawn_together() -> None:
    verdict = case([["flu", "flu", "ulcer", "polyp"]], ["flu", "flu", None, None], subjects=["p", "p", "q", "r"])
    assert verdict.value == pytest.approx(1 - 1 / 6)


def test_the_gate_must_be_told_what_people_guard() -> None:
    with pytest.raises(VerificationError, match="^The gate was not told what people guard.$"):
        gate(sensitive_case([["flu", "ulcer"]], guarded(), column=COLUMN))


def test_what_people_guard_is_not_known_after_the_gate() -> None:
    """A re-check has no input: it must refuse, not guess."""
    case = sensitive_case([["flu", "ulcer"]], guarded(guard_level=0), column=COLUMN)
    claims = read_claims(case.manifest)
    facts = facts_of(case.released, claims)
    with pytest.raises(VerificationError, match="^What people guard is only known at the gate.$"):
        Personalised().judge(guarded(guard_level=0), Sample(facts, ("s",), ""))


def test_somebody_whose_first_class_is_not_theirs_alone() -> None:
    """People are told apart by class and number; the last of them may have no known value."""
    labels, guards = pl.Series(["flu", "ulcer", "flu", None]), pl.Series(["flu", None, "flu", None])
    found = breach_probabilities(TREE, labels, guards, np.array([0, 0, 1, 1]), np.array([3, 3, 3, 9]))
    assert found == pytest.approx([1, 0, 1, 0])
