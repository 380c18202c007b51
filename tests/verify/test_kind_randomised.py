"""The verifier's own view of a randomised release: it passes what the method makes, and no tampering with it."""

from __future__ import annotations

from typing import Any

import numpy as np
import polars as pl
import pytest
from hypothesis import assume, given, settings
from hypothesis import strategies as st

from shoal.data.table import Table
from shoal.recipe.source import read
from tests.algorithms.links.test_random import randomise, small
from tests.strategies import frames
from tests.verify.whole import check_randomised

ORIGINAL = pl.DataFrame(
    {"age": [30, 30, 41, 58], "sex": ["f", "m", "f", None], "s": ["a", "b", "a", "c"], "note": [1.5, 2.0, None, 3.0]}
)
CLAIMS: dict[str, Any] = {
    "redraw": 1,
    "columns": [
        {"name": "age", "role": "quasi", "type": "numeric", "p": 0.5},
        {"name": "sex", "role": "quasi", "type": "categorical", "p": 0.5},
        {"name": "s", "role": "sensitive", "type": "categorical"},
        {"name": "note", "role": "neutral", "type": "numeric"},
    ],
}
SOURCE = np.array([2, 0, 3, 1])
RELEASED = ORIGINAL[SOURCE].with_columns(age=pl.Series([58, 30, 58, 30]), sex=pl.Series(["f", None, None, "f"]))


def failed(released: pl.DataFrame, source: np.ndarray = SOURCE, **claims: Any) -> list[str]:
    checks = check_randomised(ORIGINAL, released, source, CLAIMS | claims)
    return [check.name for check in checks if not check.passed]


def test_noise_within_its_limits_passes() -> None:
    assert failed(RELEASED) == []
    # A file read back is all text.
    assert failed(RELEASED.select(pl.all().cast(pl.String))) == []


@pytest.mark.parametrize(
    "change, expected",
    [
        ({"s": pl.Series(["a", "b", "c", "b"])}, ["values"]),
        ({"note": pl.Series([None, 1.5, 3.0, 2.5])}, ["values"]),
        ({"age": pl.Series([59, 30, 58, 30])}, ["drawn values"]),
        ({"sex": pl.Series(["f", "x", None, "f"])}, ["drawn values"]),
        ({"sex": pl.Series(["m", None, None, "f"])}, ["redrawn cells"]),
    ],
)
def test_tampering_is_found(change: dict[str, pl.Series], expected: list[str]) -> None:
    assert failed(RELEASED.with_columns(**change)) == expected


def test_no_message_shows_a_value() -> None:
    spoilt = RELEASED.with_columns(s=pl.Series(["very secret"] * 4))
    for check in check_randomised(ORIGINAL, spoilt, SOURCE, CLAIMS):
        assert "very secret" not in check.detail


@pytest.mark.parametrize("redraw", [None, 0, True, "1", 1.0])
def test_a_manifest_must_say_how_many_cells_are_redrawn(redraw: Any) -> None:
    assert failed(RELEASED, redraw=redraw) == ["redrawn cells"]


def test_more_cells_may_differ_where_the_manifest_says_so() -> None:
    twice = RELEASED.with_columns(sex=pl.Series(["m", None, None, "f"]))
    assert failed(twice, redraw=2) == []


@pytest.mark.parametrize("source", [[2, 0, 3, 3], [2, 0, 3], [4, 0, 3, 1]])
def test_every_row_is_released_once(source: list[int]) -> None:
    assert failed(RELEASED, np.array(source)) == ["rows once"]


def published(table: Table, after: np.ndarray) -> pl.DataFrame:
    """Plain values, as they were read."""
    frame = table.frame
    for place, column in enumerate(table.quasi):
        codes = table.codes[column.name]
        known = np.unique(codes, return_index=True)[1]
        row_of = dict(zip(codes[known].tolist(), known.tolist(), strict=True))
        frame = frame.with_columns(table.frame[column.name][[row_of[code] for code in after[place].tolist()]])
    return frame


@settings(max_examples=25)
@given(frames(people=False), st.integers(0, 3))
def test_what_the_method_makes_passes(case: Any, seed: int) -> None:
    frame, roles = case
    table = read(frame, **roles)
    able = sum(int(np.count_nonzero(column.frequencies) > 1) for column in table.quasi)
    assume(able > 0)
    described = randomise(table, seed, redraw=able)
    columns = [
        {"name": column.name, "role": "quasi", "type": column.type, "p": float(p)}
        for column, p in zip(table.quasi, described.p, strict=True)
    ]
    claims = {"redraw": able, "columns": [*columns, {"name": "s", "role": "sensitive", "type": "categorical"}]}
    order = np.random.default_rng(seed).permutation(table.n)
    checks = check_randomised(table.frame, published(table, described.after)[order], order, claims)
    assert all(check.passed for check in checks), checks


def test_one_cell_too_many_is_found_in_a_larger_table() -> None:
    table = small(400)
    described = randomise(table, redraw=2)
    columns = [{"name": name, "role": "quasi", "type": "categorical", "p": 1 / 3} for name in "abc"]
    claims = {"redraw": 1, "columns": columns}
    checks = check_randomised(table.frame, published(table, described.after), np.arange(400), claims)
    assert [check.name for check in checks if not check.passed] == ["redrawn cells"]


@pytest.mark.parametrize(
    "said, wrong",
    [({"a": 1 / 3, "b": 1 / 3, "c": 1 / 3}, []), ({"a": 0.6, "b": 0.2, "c": 0.2}, ["'a'", "'b'", "'c'"]),
     ({"a": 0.5, "b": 0.5, "c": 0.0}, ["'a'", "'b'", "'c'"]), ({"a": None, "b": 0.5, "c": 0.5}, ["'a'"])],
)  # fmt: skip
def test_columns_are_redrawn_as_often_as_the_manifest_says(said: dict[str, Any], wrong: list[str]) -> None:
    table = small(3000)
    described = randomise(table)
    columns = [{"name": name, "role": "quasi", "type": "categorical", "p": p} for name, p in said.items()]
    claims = {"redraw": 1, "columns": columns}
    check = check_randomised(table.frame, published(table, described.after), np.arange(3000), claims)[-1]
    assert (check.name, check.passed) == ("chances", not wrong)
    assert all(name in check.detail for name in wrong)
