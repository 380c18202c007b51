"""Classifiers: equal on equal rows, the majority on rows that say nothing, and naive Bayes by hand."""

from __future__ import annotations

import json
import math
from dataclasses import replace

import numpy as np
import polars as pl
import pytest

import shoal
from shoal.errors import InputError, ParameterError
from shoal.registry import load
from shoal.utility.classifiers import LEARNERS, Classifiers, moments, naive_bayes, train_and_score
from shoal.utility.features import Rows, frame_features
from shoal.utility.holdout import split
from shoal.utility.randomised import wilson
from shoal.utility.reading import read_release
from tests.evaluation.samples import people, reading, starred, without_quasi
from tests.evaluation.test_reading import EXACT, released
from tests.evaluation.test_reading import people as mixed

ALL = ("classifiers", "partitioning", "regression", "clustering", "distributions")
KINDS = {
    "generalised": shoal.Mondrian(k=5),
    "randomised": shoal.RandomAnonymisation(),
    "bucketised": shoal.Anatomy(l=3, on="disease"),
    "microaggregated": shoal.Microaggregation(k=5),
    "missing": shoal.Mondrian(k=5),
    "exact": shoal.NoAlgorithm(),
}


@pytest.mark.sample(15)
@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("name", ALL)
def test_every_evaluation_reads_every_kind(name: str, kind: str) -> None:
    gaps = kind in ("missing", "exact")
    read = ({"missing": "value"} if gaps else {}) | (EXACT if kind == "exact" else {})
    made = read_release(released(KINDS[kind], mixed(90, missing=gaps), read=read))
    evaluation = load("evaluation", name)()
    findings = evaluation.run(made)
    assert findings == evaluation.run(made)  # the same key, the same figures
    for one in findings:
        assert one.name.split()[0] == name
        assert one.sentence.endswith(".")
        assert one.value is not None
        assert math.isfinite(one.value)
        assert one.interval is None or one.interval[0] <= one.value <= one.interval[1]
        json.dumps(dict(one.also))
        original = one.also.get("original")
        if kind == "exact" and one.name != "clustering agreement":
            assert (one.value == original) if name in ALL[:3] else one.value == 0.0
        if kind == "exact" and one.name == "clustering agreement":
            assert one.value == 1.0


def test_a_shuffled_copy_teaches_exactly_what_the_original_does() -> None:
    for one in Classifiers(held_out=0.4).run(reading(people())):
        assert one.value == one.also["original"]
        assert one.baseline is not None
        assert one.value > one.baseline + 0.2
        assert one.interval == wilson(one.value, 160)
        assert one.also["judged_on"] == 160
        assert one.also["trained_on"] == 240


def test_stars_teach_the_majority() -> None:
    frame = people()
    for one in Classifiers().run(without_quasi(frame)):
        assert one.value == one.baseline
        assert one.also["original"] > one.value + 0.2


def test_a_generalised_target_counts_for_all_that_it_covers() -> None:
    made = reading(people())
    blurred = replace(made, features={**made.features, "disease": starred(made.features["disease"])})
    assert all(one.value is not None and one.value < one.also["original"] for one in Classifiers().run(blurred))


def test_a_person_is_on_one_side_only() -> None:
    frame = people()
    made = reading(frame, people=np.arange(frame.height) // 4)
    target = made.features["disease"]
    parts = split(made, [made.features["age"]], target, held_out=0.3, most=1000)
    assert made.people is not None
    assert made.source is not None
    judged, taught = (set(made.people[rows]) for rows in (parts.test.rows, made.source[parts.release.rows]))
    assert judged
    assert not judged & taught
    assert taught == set(made.people[parts.original.rows])
    assert (len(judged), parts.trials) == (30, 30)
    assert (np.diff(made.source[parts.release.rows]) > 0).all()
    some = split(made, [made.features["age"]], target, held_out=0.3, most=50)
    assert (some.test.rows.size, some.original.rows.size) == (60, 140)


def test_a_release_of_unknown_rows_says_that_it_could_not_hold_out() -> None:
    made = reading(people(), source=None)
    one = Classifiers(learners=("naive-bayes",)).run(made)[0]
    assert one.also["held_out_known"] is False
    assert "may be among" in one.sentence
    assert "may be among" not in Classifiers(learners=("naive-bayes",)).run(reading(people()))[0].sentence


def test_mistakes_are_said() -> None:
    made = reading(people(20))
    with pytest.raises(ParameterError, match="Only 2 rows are held out, and 'disease' has 3 classes"):
        Classifiers(held_out=0.1).run(made)
    with pytest.raises(ParameterError, match="readable column 'diseas'.*'disease'"):
        Classifiers(target="diseas").run(made)
    with pytest.raises(ParameterError, match="besides the target"):
        Classifiers(target="age", columns=["age"], held_out=0.9).run(reading(people()))
    with pytest.raises(ParameterError, match="naive-bayes"):
        Classifiers(learners=("bayes",))
    with pytest.raises(ParameterError, match="one name or more"):
        Classifiers(columns=[])
    listed = Classifiers(columns=["age"], learners=["naive-bayes"])
    assert hash(listed) == hash(Classifiers(columns="age", learners="naive-bayes"))
    with pytest.raises(ParameterError, match="below 1"):
        Classifiers(held_out=1.0)
    alone = replace(made, features={"age": made.features["age"]})
    assert Classifiers().refusal(alone)
    assert not Classifiers().refusal(made)
    assert "Too few rows" in str(Classifiers(held_out=0.1).refusal(made))
    assert not Classifiers(target="disease", held_out=0.1).refusal(made)
    many = reading(people())
    numbers = replace(many, features={name: many.features[name] for name in ("income", "age")})
    assert "name a 'target'" in str(Classifiers().refusal(numbers))
    with pytest.raises(ParameterError, match="name a 'target'"):
        Classifiers().run(numbers)
    with pytest.raises(InputError, match="Too few"):
        Classifiers(target="sex", held_out=0.99).run(made)


def test_naive_bayes_by_hand() -> None:
    train = pl.DataFrame({"x": ["a", "a", "b", "b", "b"], "y": ["no", "no", "no", "yes", "yes"]})
    test = pl.DataFrame({"x": ["a", "b"], "y": ["no", "yes"]})
    # P(no) P(b|no) = 3/5 * 2/5, P(yes) P(b|yes) = 2/5 * 3/4, with one added to every count.
    told = train_and_score(train, test, "y")
    assert [told.labels[guess] for guess in told.guess] == ["no", "yes"]
    assert told.accuracy == 1.0
    heights = pl.DataFrame({"x": [1.0, 2.0, 3.0, 7.0, 9.0, 11.0], "y": ["s"] * 3 + ["l"] * 3})
    told = train_and_score(heights, pl.DataFrame({"x": [4.0, 4.9, 6.0], "y": ["s", "l", "l"]}), "y")
    # The standard deviations are 0.82 and 1.63: 4 is 2.4 and 3.1 of them away, 4.9 is 3.6 and 2.5.
    assert told.right.all()


def test_naive_bayes_spreads_a_cell_and_knows_its_width() -> None:
    feature = frame_features(pl.DataFrame({"age": [1, 2, 3, 4]}))["age"]
    cell = replace(
        feature, texts=["[1,3]", "4"], at=np.array([0, 3, 4]), code=np.arange(4, dtype=np.int32),
        share=np.array([1 / 3, 1 / 3, 1 / 3, 1]), cell=np.array([0, 0, 0, 1], dtype=np.int32),
    )  # fmt: skip
    centre, inside = moments(cell)
    assert np.allclose(centre, [2, 4])
    assert np.allclose(inside, [2 / 3, 0])
    target = frame_features(pl.DataFrame({"y": ["a", "a", "b", "b"]}))["y"]
    rows = Rows(features=[cell], released=True, rows=np.arange(4))
    tests = Rows(features=[cell], released=False, rows=np.arange(4))
    # Normal: mean 2 and variance 2/3 against mean 3 and variance 4/3. Shares of 3: 5/3 against 4/3, of 6 each.
    for numbers, expected in {"gaussian": [0, 0, 1, 1], "categories": [0, 0, 0, 1]}.items():
        assert naive_bayes(rows, tests, target, np.array([0, 1]), numbers=numbers).tolist() == expected


@pytest.mark.parametrize("learner", LEARNERS)
def test_names_of_values_do_not_matter(learner: str) -> None:
    frame = people(300)
    other = frame.with_columns(
        pl.col("town").replace_strict({"north": "z", "south": "a", "east": "m", "city": "b"}),
        pl.col("disease").replace_strict({"none": "2", "gout": "0", "asthma": "1"}),
    )
    one, two = (train_and_score(table, table, "disease", learner) for table in (frame, other))
    assert np.array_equal(one.guess, two.guess)
    assert one.accuracy == two.accuracy > 0.8
