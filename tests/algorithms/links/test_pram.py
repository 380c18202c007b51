"""PRAM: invariant matrices, draws against them, and what is refused."""

from __future__ import annotations

from typing import Any

import numpy as np
import polars as pl
import pytest
from hypothesis import given
from hypothesis import strategies as st

import shoal
from shoal.algorithms.links.pram import draw_codes, invariant_matrix
from shoal.errors import ParameterError, RefusalError

ACCEPT = ["W-PERTURBED"]
SEX = {"f": {"f": 0.75, "m": 0.25}, "m": {"m": 1.0}}


def people(rows: int = 400) -> pl.DataFrame:
    random = np.random.default_rng(1)
    return pl.DataFrame(
        {
            "age": random.integers(18, 90, rows), "sex": random.choice(["f", "m"], rows, p=[0.7, 0.3]),
            "job": random.choice(["a", "b", "c", "d"], rows, p=[0.5, 0.3, 0.15, 0.05]), "s": ["x", "y"] * (rows // 2),
        }
    )  # fmt: skip


def read(frame: pl.DataFrame, **more: Any) -> Any:
    return shoal.read(frame, **{"quasi": ["age", "sex", "job"], "sensitive": ["s"]} | more)


def pram(frame: pl.DataFrame, seed: int = 1, **method: Any) -> Any:
    return shoal.anonymize(read(frame), algorithm=shoal.Pram(**method), acknowledge=ACCEPT, seed=seed)


@given(counts=st.lists(st.integers(0, 50), min_size=1, max_size=8), stay=st.floats(0.01, 1.0))
def test_invariant_matrices_keep_counts_in_expectation(counts: list[int], stay: float) -> None:
    given_counts = np.array(counts)
    matrix = invariant_matrix(given_counts, stay)
    assert given_counts @ matrix == pytest.approx(given_counts)
    assert matrix.sum(axis=1) == pytest.approx(1.0)
    assert matrix.min() >= -1e-12
    there = np.flatnonzero(given_counts)
    if there.size > 1:
        assert np.diag(matrix)[there].min() >= stay - 1e-9
        assert (matrix[there][:, given_counts == 0] == 0).all()


def test_frequencies_are_kept_on_average_over_seeds() -> None:
    frame = people()
    true = frame.group_by("job").len().sort("job")["len"].to_numpy()
    found = []
    for seed in range(60):
        made = pram(frame, seed, stay=0.6, columns=["job"]).aligned()
        found.append(made.group_by("job").len().sort("job")["len"].to_numpy())
    mean, spread = np.mean(found, axis=0), np.std(found, axis=0)
    assert (spread > 1).all()  # single releases do differ
    assert (np.abs(mean - true) <= 4 * spread / np.sqrt(len(found))).all()


def test_draws_follow_their_row() -> None:
    matrix = np.array([[0.5, 0.2, 0.3], [0.0, 1.0, 0.0], [0.25, 0.0, 0.75]])
    draws = (np.arange(1000) + 0.5) / 1000
    for value in range(3):
        found = draw_codes(matrix, np.full(1000, value), draws)
        assert np.bincount(found, minlength=3) / 1000 == pytest.approx(matrix[value])


def test_strata_keep_their_own_frequencies_in_expectation() -> None:
    frame = people().with_columns(job=pl.when(pl.col("sex") == "m").then(pl.lit("a")).otherwise("job"))
    made = pram(frame, columns=["job"], strata=["sex"], stay=0.5).aligned()
    assert set(made.filter(pl.col("sex") == "m")["job"]) == {"a"}  # who have one value in their stratum keep it
    assert (made["job"] != frame["job"]).mean() > 0.1


def test_a_given_matrix_is_used_as_it_is() -> None:
    frame = people(2000)
    made = pram(frame, matrix={"sex": SEX})
    aligned = made.aligned()
    assert made.manifest["perturbation"] == "pram"
    assert aligned.filter(frame["sex"] == "m")["sex"].unique().to_list() == ["m"]
    assert (aligned.filter(frame["sex"] == "f")["sex"] == "f").mean() == pytest.approx(0.75, abs=0.04)
    assert aligned.select("age", "job", "s").equals(frame.select("age", "job", "s"))
    assert {one["name"]: one.get("stay") for one in made.manifest["columns"]} == {
        "age": None, "sex": 0.75, "job": None, "s": None,
    }  # fmt: skip


def test_what_is_told_of_an_invariant_matrix_follows_from_the_recipe_alone() -> None:
    """Small chances to stay are exceeded, by how much the counts decide: exact figures would give them away."""
    made = pram(people(), stay=0.05)
    assert {one["stay"] for one in made.manifest["columns"] if "stay" in one} == {0.05}


def test_it_promises_nothing_and_says_what_it_leaves() -> None:
    made = pram(people())
    assert made.manifest["perturbation"] == "invariant-pram"
    assert made.manifest["models"] == []
    assert any(one.startswith("Links to people") for one in made.manifest["not_protected"])
    told = {one["name"]: one["value"] for one in made.manifest["measured"]}
    aligned = made.aligned()
    same = (aligned["sex"] == people()["sex"]) & (aligned["job"] == people()["job"])
    assert told["unchanged"] == round(float(same.mean()), 4)
    assert 0 < told["record-linkage"] < 1
    with pytest.raises(RefusalError, match="hide nobody among others"):
        shoal.anonymize(read(people()), algorithm=shoal.Pram(), seed=1)


def test_draws_belong_to_keys_and_not_to_places() -> None:
    frame = people().with_row_index("id")
    given_keys = {"quasi": ["age", "sex", "job"], "sensitive": ["s"], "key": "id"}
    made = [
        shoal.anonymize(shoal.read(one, **given_keys), algorithm="pram", acknowledge=ACCEPT, seed=3).aligned()
        for one in (frame, frame.reverse())
    ]
    assert made[0].equals(made[1].reverse())


def test_missing_values_are_a_category() -> None:
    frame = people().with_columns(job=pl.when(pl.col("job") != "b").then("job"))
    table = read(frame, missing="value")
    made = shoal.anonymize(table, algorithm=shoal.Pram(stay=0.5), acknowledge=ACCEPT, seed=1).aligned()
    assert 0 < (made["job"].is_null() != frame["job"].is_null()).sum() < 400


@pytest.mark.parametrize(
    "method, said",
    [
        ({"stay": 0}, "The 'stay' of Pram must be a number above 0 and up to 1"),
        ({"columns": "sex"}, "The 'columns' of Pram must be a list"),
        ({"columns": ["age"]}, "cannot redraw 'age', which is not a quasi-identifier of categories"),
        ({"columns": ["jobs"]}, "Did you mean 'job'"),
        ({"columns": ["job"], "strata": ["job"]}, "cannot redraw 'job' within itself"),
        ({"strata": ["who"]}, "cannot work within 'who'"),
        ({"matrix": {}}, "The 'matrix' of Pram must be a table"),
        ({"matrix": {"sex": {"f": 1.0}}}, "for 'sex' must have a table of probabilities a value"),
        ({"matrix": {"sex": {"f": {"f": 0.5}}}}, "Row 1 of the 'matrix' of Pram for 'sex' sums to 0.5"),
        ({"matrix": {"sex": {"f": {"f": 2.0, "m": -1.0}}}}, "The 'matrix.sex' of Pram must be a number from 0 to 1"),
        ({"matrix": {"sex": {"f": {"f": 1.0}}}}, "for 'sex' has no row for 1 of the column's values"),
        ({"matrix": {"sex": {**SEX, "x": {"x": 1.0}}}}, "names a value that 'sex' does not have"),
        ({"matrix": {"sex": SEX}, "columns": ["job"]}, "cannot redraw 'sex', which is not among its 'columns'"),
        ({"matrix": {"sex": SEX}, "columns": ["sex", "job"]}, "no 'matrix' for 'job'"),
        ({"matrix": {"sex": SEX}, "strata": ["job"]}, "one matrix of a column for everybody"),
        ({"suppression_limit": 0.1}, "Pram suppresses nobody"),
    ],
)
def test_what_is_refused(method: dict[str, Any], said: str) -> None:
    with pytest.raises(ParameterError, match=said):
        pram(people(40), **method)


def test_numbers_and_models_are_refused() -> None:
    numbers = shoal.read(people(40), quasi=["age"], sensitive=["s"], drop=["sex", "job"])
    with pytest.raises(ParameterError, match="every quasi-identifier is a number: use 'noise'"):
        shoal.anonymize(numbers, algorithm="pram", acknowledge=ACCEPT)
    with pytest.raises(ParameterError, match="leave out 'k'"):
        shoal.anonymize(read(people(40)), algorithm="pram", models=[shoal.KAnonymity(k=2)], acknowledge=ACCEPT)
