"""Rows as matrices: the same columns on both sides, cells as they are."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

import numpy as np
import polars as pl
import pytest

import shoal
from shoal.errors import ParameterError, SchemaError
from shoal.utility.features import Column, Rows, Scale, columns_of, find, first_seen, frame_features
from shoal.utility.reading import read_release
from tests.evaluation.samples import starred
from tests.evaluation.test_reading import EXACT, people, released


def both(reading: object) -> tuple[Rows, Rows]:
    features = list(reading.features.values())  # type: ignore[attr-defined]
    return (
        Rows(features=features, released=True, rows=np.arange(reading.rows)),  # type: ignore[attr-defined]
        Rows(features=features, released=False, rows=reading.source),  # type: ignore[attr-defined]
    )


def names_of(columns: Sequence[Column]) -> list[str]:
    return [name for column in columns for name in column.names]


def test_exact_cells_give_the_original_matrix_bit_by_bit() -> None:
    release, original = both(read_release(released(shoal.NoAlgorithm(), people(), read=EXACT)))
    columns = columns_of(release.features)
    assert np.array_equal(release.matrix(columns), original.matrix(columns))
    assert len(names_of(columns)) == release.matrix(columns).shape[1]


def test_generalised_cells_are_centres_and_shares() -> None:
    reading = read_release(released(shoal.Mondrian(k=5), people()))
    release, _ = both(reading)
    columns = columns_of(release.features)
    names, matrix = names_of(columns), release.matrix(columns)
    age, job = reading.features["age"], reading.features["job"]
    for row in range(0, reading.rows, 7):
        text = age.texts[age.cell[row]]
        ends = [float(end) for end in text.strip("[]").split(",")]
        assert matrix[row, names.index("age")] == (ends[0] + ends[-1]) / 2
        covered = {"care": ["nurse", "doctor"], "office": ["clerk", "lawyer"], "*": list(job.values)}
        inside = covered.get(job.texts[job.cell[row]], [job.texts[job.cell[row]]])
        for value in job.values:
            assert matrix[row, names.index(f"job = {value}")] == pytest.approx((value in inside) / len(inside))
    # Every text is spread, none is lost: the shares of a column sum to one in every row.
    assert np.allclose(matrix[:, [i for i, name in enumerate(names) if name.startswith("job = ")]].sum(axis=1), 1)
    # The marginal agrees with the matrix, and with what rows spread to.
    assert np.allclose(
        release.marginal(job),
        [matrix[:, names.index(f"job = {value}")].sum() for value in job.values],
    )
    row, code, share = release.spread(job)
    assert np.allclose(np.bincount(code, weights=share), release.marginal(job))
    assert np.allclose(np.bincount(row, weights=share), 1)


def test_missing_numbers_have_a_column_and_are_put_at_the_mean() -> None:
    frame = pl.DataFrame({"age": [1.0, None, 5.0], "same": [2, 2, 2]})
    features = list(frame_features(frame).values())
    rows = Rows(features=features, released=True, rows=np.arange(3))
    columns = columns_of(features)
    assert names_of(columns) == ["age", "age is missing", "same"]
    assert np.array_equal(rows.matrix(columns)[:, 1], [0, 1, 0])
    assert np.array_equal(Scale.of(rows, columns)(rows.matrix(columns)), [[-1, 0, 0], [0, 1, 0], [1, 0, 0]])


def test_a_star_says_nothing_and_names_do_not_matter() -> None:
    one = frame_features(pl.DataFrame({"x": ["b", "a", "b", "c"]}))["x"]
    star = Rows(features=[starred(one)], released=True, rows=np.arange(4)).matrix(columns_of([starred(one)]))
    assert np.allclose(star, 1 / 3)
    assert [one.values[code] for code in first_seen(one)] == ["b", "a", "c"]
    renamed = frame_features(pl.DataFrame({"x": ["1", "9", "1", "0"]}))["x"]
    matrices = [Rows(features=[x], released=False, rows=np.arange(4)).matrix(columns_of([x])) for x in (one, renamed)]
    assert np.array_equal(*matrices)


def test_rare_texts_share_a_column() -> None:
    frame = pl.DataFrame({"town": ["a", "b", "b", "c", "c", "c"]})
    feature = frame_features(frame)["town"]
    columns = columns_of([feature], widest=2)
    assert names_of(columns) == ["town = c", "town = b", "town = (other)"]
    matrix = Rows(features=[feature], released=False, rows=np.arange(6)).matrix(columns)
    assert matrix.sum(axis=0).tolist() == [3, 2, 1]


def test_frames_and_names_have_to_fit() -> None:
    with pytest.raises(SchemaError, match="same columns"):
        frame_features(pl.DataFrame({"a": [1]}), pl.DataFrame({"b": [1]}))
    with pytest.raises(SchemaError, match="no values"):
        frame_features(pl.DataFrame({"a": [None]}, schema={"a": pl.String}))
    features = frame_features(pl.DataFrame({"income": [1.5, 2.0]}))
    assert list(features["income"].values) == ["1.5", "2"]
    with pytest.raises(ParameterError, match="'income'"):
        find(features, "incom")
    assert replace(features["income"]).exact
