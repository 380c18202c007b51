"""Recursive partitioning: known small trees in words, and the splits of Morton et al. on Adult."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import polars as pl
import pytest

from shoal.errors import ParameterError
from shoal.utility.partition_tree import Partitioning, Question, count_rules, grow_frame
from tests.evaluation.samples import people, reading, without_quasi
from tests.test_adult import COLUMNS


def small() -> pl.DataFrame:
    return pl.DataFrame(
        {
            "age": [20, 25, 30, 40, 45, 50, 60, 65],
            "job": ["x", "y", "z", "x", "y", "z", "x", "z"],
            "ill": ["no", "no", "no", "yes", "no", "yes", "yes", "yes"],
        }
    )


def test_a_small_tree_in_words() -> None:
    grown = grow_frame(small(), "ill", smallest=1)
    assert [one.words() for one in grown.buckets] == [
        "age >= 40 and job != y: 4 records, 100.0 % yes",
        "age < 40: 3 records, 100.0 % no",
        "age >= 40 and job = y: 1 records, 100.0 % no",
    ]
    assert [one.leaf for one in grown.nodes].count(False) == 2
    assert grown.nodes[0].words() == "all: 8 records, 50.0 % no"
    assert count_rules(grown, support=3, confidence=1.0) == 2
    assert count_rules(grow_frame(small(), "ill", leaves=2, smallest=1), confidence=0.9) == 1
    assert len(grow_frame(small(), "ill", smallest=5).buckets) == 1


def test_only_the_order_of_numbers_counts() -> None:
    frame = people(300)
    names = {"north": "a", "city": "b"}
    other = frame.with_columns(pl.col("age").cast(pl.Float64).exp(), pl.col("town").replace(names))
    one, two = (grow_frame(table, "disease", leaves=12, smallest=5) for table in (frame, other))
    assert [(b.records, b.share) for b in one.nodes] == [(b.records, b.share) for b in two.nodes]


def test_questions_in_words() -> None:
    assert Question(column="born", value=None, least=7305, is_date=True).words(True) == "born >= 1990-01-01"
    assert Question(column="age", value=None, least=17.5, missing=True).words(False) == "age < 17.5 or missing"
    assert Question(column="sex", value="m", least=1.0, other="f").words(False) == "sex = f"
    assert Question(column="job", value="cook", least=0.5).words(False) == "job is cook by less than 0.5"


def test_missing_numbers_answer_no() -> None:
    frame = pl.DataFrame({"age": [None, None, 30, 40, 50, 60], "ill": ["no"] * 3 + ["yes"] * 3})
    assert [one.words() for one in grow_frame(frame, "ill", smallest=1).buckets] == [
        "age < 40 or missing: 3 records, 100.0 % no",
        "age >= 40: 3 records, 100.0 % yes",
    ]


def test_equal_rows_have_equal_buckets_and_stars_have_one() -> None:
    one = Partitioning().run(reading(people()))[0]
    assert one.value == one.also["original"]
    assert one.value is not None
    assert 0.4 < one.value < 1.0
    assert one.also["release_buckets"] == one.also["original_buckets"]
    assert "centres" not in one.sentence
    nothing = Partitioning().run(without_quasi(people()))[0]
    assert nothing.value == nothing.baseline == 0.0
    assert len(nothing.also["release_buckets"]) == 1
    assert "'age', 'income' are centres" in nothing.sentence
    with pytest.raises(ParameterError, match="criterion"):
        Partitioning(criterion="chi")


def test_the_share_of_uncertainty_by_hand() -> None:
    frame = pl.DataFrame({"x": ["a", "a", "b", "b"], "y": ["p", "p", "p", "q"]})
    one = Partitioning(target="y", smallest=1, leaves=2).run(reading(frame))[0]
    before = -(0.75 * np.log2(0.75) + 0.25 * np.log2(0.25))
    assert one.value == pytest.approx(1 - 0.5 / before)


def test_adult_splits_at_7298_and_28(adult: Path) -> None:
    frame = pl.read_csv(adult, has_header=False, new_columns=COLUMNS, schema_overrides=[pl.String] * 15)
    frame = frame.select(pl.all().str.strip_chars()).filter(
        pl.col("salary-class").is_not_null(), ~pl.any_horizontal(pl.all() == "?")
    )
    frame = frame.with_columns(pl.col("age", "education-num", "capital-gain").cast(pl.Int64))
    columns = ["age", "workclass", "education-num", "occupation", "race", "sex", "native-country", "capital-gain"]
    assert [one.words() for one in grow_frame(frame, "salary-class", columns=columns, leaves=3).buckets] == [
        "capital-gain < 7298 and age >= 28: 21,670 records, 72.4 % <=50K",
        "capital-gain < 7298 and age < 28: 7,162 records, 97.1 % <=50K",
        "capital-gain >= 7298: 1,330 records, 98.6 % >50K",
    ]
    # With marital status, that is asked first.
    first = grow_frame(frame, "salary-class", columns=[*columns, "marital-status"], leaves=2).buckets
    assert first[0].words() == "marital-status != Married-civ-spouse: 16,097 records, 93.1 % <=50K"
