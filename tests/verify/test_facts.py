"""Counts that models are judged on: by class and value, of rows or people, with and without answers."""

from __future__ import annotations

from collections import Counter
from itertools import product
from typing import Any

import numpy as np
import polars as pl
import pytest

from shoal.verify.facts import Facts, Histogram, Sample
from shoal.verify.manifest import read_claims
from tests.verify.cases import manifest
from tests.verify.whole import facts_of

QUASI = {"name": "q", "role": "quasi", "type": "categorical", "cells": "set"}
SENSITIVE = {"role": "sensitive", "type": "categorical", "cells": "value", "non_answers": ["no"]}


def facts(rows: list[tuple[str, Any]], models: Any = ({"name": "k", "k": 1},), **given: Any) -> Facts:
    """Rows of a class and a value of ``s``; subjects and the like as they are given."""
    frame = pl.DataFrame(rows, schema={"q": pl.String, "s": pl.String}, orient="row")
    claims = read_claims(manifest([QUASI, {"name": "s", **SENSITIVE}], models))
    return facts_of(frame, claims, **given)


def histogram() -> Histogram:
    """Two values of the first class, the second of which is no answer, none of the second, one of the third."""
    return Histogram(
        group=np.array([0, 0, 2]), value=np.array([0, 1, 0]), count=np.array([2, 1, 3]), rows=np.array([4, 1, 5]),
        known=np.array([True, False]), known_size=np.array([2, 0, 3]),
    )  # fmt: skip


def test_answers_are_told_from_what_is_none() -> None:
    found = histogram()
    assert (found.classes, found.has_unknown) == (3, True)
    answers = found.answers()
    assert (answers.group.tolist(), answers.value.tolist()) == ([0, 2], [0, 0])
    assert (answers.count.tolist(), answers.rows.tolist()) == ([2, 3], [4, 5])
    assert not answers.has_unknown
    assert answers.answers() is answers


def test_sums_and_extremes_of_every_class() -> None:
    found = histogram()
    assert found.sums(np.array([1.0, 2.0, 4.0])).tolist() == [3, 0, 4]
    low, high = found.extremes(np.array([5.0, 3.0, 7.0]))
    assert (low[[0, 2]].tolist(), high[[0, 2]].tolist()) == ([3, 7], [5, 7])
    assert np.isnan([low[1], high[1]]).all()
    endless = found.extremes(np.array([5.0, 3.0, np.inf]))
    assert (endless[0][2], endless[1][2]) == (np.inf, np.inf)


@pytest.mark.parametrize(
    "subject, real, sizes, everybody",
    [
        (None, None, [2, 3], [2, 3]),
        (None, [True, False, True, True, True], [1, 3], [2, 3]),
        ([0, 0, 0, 1, 1], None, [1, 2], [1, 2]),
        ([0, 1, 0, 1, 1], [True, True, False, True, True], [2, 1], [2, 2]),
    ],
)
def test_people_in_every_class(subject: Any, real: Any, sizes: list[int], everybody: list[int]) -> None:
    given = {"subject": subject, "real": real}
    found = facts(
        [("a", "x"), ("a", "y"), ("b", "x"), ("b", "y"), ("b", "z")],
        **{key: None if value is None else np.array(value) for key, value in given.items()},
    )
    assert found.sizes.tolist() == sizes
    assert found.all_sizes.tolist() == everybody
    assert Sample(found, ("s",), "").sizes.tolist() == sizes


@pytest.mark.parametrize("subject", [None, [0, 1, 2, 2, 0, 3, 3]])
def test_people_with_an_answer(subject: Any) -> None:
    rows = [("a", "x"), ("a", "x"), ("a", "no"), ("b", "x"), ("b", None), ("b", "*"), ("c", "no")]
    found = facts(rows, subject=None if subject is None else np.array(subject))
    counted = found.histogram(["s"])
    assert counted.known_size.tolist() == [2, 1, 0]
    assert counted.has_unknown
    assert Sample(found, ("s",), "").judged.tolist() == [True, True, False]
    answers = counted.answers()
    assert list(zip(answers.group.tolist(), answers.count.tolist(), strict=True)) == [(0, 2), (1, 1)]
    assert found.histogram(["s"]) is counted
    assert found.attribute(["s"]) is found.attribute(["s"])


MODELS = {
    "t-closeness": {"name": "t-closeness", "t": 1, "on": "s"},
    "max-range": {"name": "max-range", "limit": 1, "on": "s"},
    "range-diversity": {"name": "range-diversity", "p": 1, "on": "s"},
}


@pytest.mark.parametrize("name", MODELS)
def test_models_that_compare_with_the_input_have_its_values(name: str) -> None:
    original = pl.DataFrame({"s": ["x", "x", "z"]})
    models = [{"name": "k", "k": 1}, MODELS[name]]
    found = facts(
        [("a", "y"), ("a", "x")], models, original=original, subject=np.array([0, 1]), input_subject=np.array([0, 0, 1])
    )
    attribute = found.attribute(["s"])
    texts = attribute.texts.to_list()
    assert (texts, attribute.rows.tolist()) == (["y", "x", "z"], [1, 1, 0])
    assert attribute.given is not None
    assert attribute.given.tolist() == [False, True, True]
    assert dict(zip(texts, found.table(["s"], "input").tolist(), strict=True)) == {"y": 0, "x": 1, "z": 1}
    assert dict(zip(texts, found.table(["s"], "").tolist(), strict=True)) == {"y": 1, "x": 1, "z": 0}
    assert Sample(found, ("s",), "input").table.tolist() == found.table(["s"], "input").tolist()
    assert facts([("a", "y")], original=original).attribute(["s"]).given is None
    with pytest.raises(ValueError, match="the input is only known at the gate"):
        facts([("a", "y")], models).table(["s"], "input")


# What is everybody's


def sample(rows: list[tuple[str, Any, int]]) -> Sample:
    return Sample(facts([row[:2] for row in rows], subject=np.array([row[2] for row in rows])), ("s",), "")


def shown(found: Histogram, texts: list[str]) -> list[tuple[int, str]]:
    return [(group, texts[value]) for group, value in zip(found.group.tolist(), found.value.tolist(), strict=True)]


def test_an_answer_that_everybody_has_gives_a_class_away() -> None:
    """In the first class one has a value beside the common one, the second has two common ones, the third none."""
    rows = [
        ("a", "u", 0), ("a", "x", 0), ("a", "x", 1), ("b", "u", 2), ("b", "x", 2), ("b", "y", 2), ("b", "x", 3),
        ("b", "y", 3), ("c", "x", 4), ("c", "y", 5), ("c", "no", 4), ("c", "no", 5),
    ]  # fmt: skip
    found = sample(rows)
    texts = found.attribute.texts.to_list()
    assert texts == ["u", "x", "y", "no"]
    pairs = shown(found.histogram, texts)
    common = {(0, "x"), (1, "x"), (1, "y")}
    assert [pair for pair, shared in zip(pairs, found.shared, strict=True) if shared] == sorted(common)
    assert found.given_away.tolist() == [True, True, False]
    assert shown(found.diversity, texts) == [(0, "x"), (1, "x"), (2, "x"), (2, "y"), (2, "no")]


def test_nothing_is_everybodys_where_rows_are_counted() -> None:
    found = Sample(facts([("a", "x"), ("b", "y")]), ("s",), "")
    assert found.shared.tolist() == [False, False]
    assert found.given_away.tolist() == [False, False]
    assert found.diversity is found.histogram


def test_a_class_without_a_common_answer_stays_as_it_is() -> None:
    found = sample([("a", "x", 0), ("a", "y", 1)])
    assert found.shared.tolist() == [False, False]
    assert found.diversity is found.histogram


# Several columns as one


Pair = tuple[Any, Any]
PLACES = {"s": ["x", "y", "no"], "t": ["u", "no", "w"]}


def joint(rows: list[Pair], given: list[Pair] | None = None, subject: list[int] | None = None) -> Facts:
    """One class of pairs of values of ``s`` and ``t``, which a model takes together."""
    schema = {"s": pl.String, "t": pl.String}
    frame = pl.DataFrame(rows, schema=schema, orient="row").with_columns(q=pl.lit("a"))
    both = {"name": "t-closeness", "t": 1, "on": ["s", "t"], "distance": "equal"}
    columns = [QUASI, {"name": "s", **SENSITIVE}, {"name": "t", **SENSITIVE}]
    original = None if given is None else pl.DataFrame(given, schema=schema, orient="row")
    who = None if subject is None else np.array(subject)
    return facts_of(
        frame, read_claims(manifest(columns, [both])), original=original, subject=who, input_subject=who
    )


@pytest.mark.parametrize("inputs", [False, True])
def test_several_columns_are_one_attribute(inputs: bool) -> None:
    """Every combination is a value of its own, and an answer only where every part is one."""
    pairs = list(product(PLACES["s"], PLACES["t"]))
    found = joint(pairs, [("y", "u"), ("x", "no"), ("new", "w")] if inputs else None)
    both = found.attribute(["s", "t"])
    assert len(both.known) == len(both.texts) == len(both.numbers) == len(both.rows) == 9 + inputs
    assert both.rows.tolist() == [1] * 9 + [0] * inputs
    assert both.known.tolist() == ["no" not in pair for pair in pairs] + [True] * inputs
    assert [column.name for column in both.columns] == ["s", "t"]
    assert both.texts.null_count() == 9 + inputs
    assert both.texts.dtype == pl.String
    assert np.isnan(both.numbers).all()
    held = [pairs.index(("x", "no")), pairs.index(("y", "u")), 9]
    assert (None if both.given is None else np.flatnonzero(both.given).tolist()) == (held if inputs else None)
    if inputs:
        assert np.flatnonzero(found.table(["s", "t"], "input")).tolist() == held
    assert found.table(["s", "t"], "").tolist() == both.rows.tolist()


def test_pairs_are_told_apart_whatever_their_parts_share() -> None:
    found = joint([("x", "u"), ("y", "u"), ("x", "u"), ("y", None), ("y", "u")], subject=[0, 0, 0, 1, 1])
    counted = found.histogram(["s", "t"])
    assert (counted.value.tolist(), counted.rows.tolist(), counted.count.tolist()) == ([0, 1, 2], [2, 2, 1], [1, 2, 1])
    assert counted.known.tolist() == [True, True, False]
    assert counted.known_size.tolist() == [2]


def test_no_rows_have_no_combination() -> None:
    found = joint([])
    assert (len(found.attribute(["s", "t"]).rows), len(found.histogram(["s", "t"]).group)) == (0, 0)


def test_pairs_are_counted_in_rows_and_people() -> None:
    random = np.random.default_rng(1)
    group, value, subject = (random.integers(0, size, 60) for size in (3, 4, 5))
    # The first row of each comes in order, so that codes are what they are here.
    order = np.lexsort((value, group))
    group, value, subject = group[order], value[order], subject[order]
    keys = list(zip(group.tolist(), value.tolist(), strict=True))
    rows = Counter(keys)
    people = {key: len({who for one, who in zip(keys, subject.tolist(), strict=True) if one == key}) for key in rows}
    for given, counted in ((None, rows), (subject, people)):
        found = facts([(f"g{one}", f"v{two}") for one, two in keys], subject=given, size=7).histogram(["s"])
        assert list(zip(found.group.tolist(), found.value.tolist(), strict=True)) == sorted(rows)
        assert found.count.tolist() == [counted[key] for key in sorted(rows)]
        assert found.rows.tolist() == [rows[key] for key in sorted(rows)]


def test_people_of_neighbouring_pairs_are_different() -> None:
    found = facts([("a", "x"), ("a", "y"), ("b", "x")], subject=np.array([1, 0, 1])).histogram(["s"])
    assert (found.group.tolist(), found.value.tolist()) == ([0, 0, 1], [0, 1, 0])
    assert (found.count.tolist(), found.rows.tolist()) == ([1, 1, 1], [1, 1, 1])
