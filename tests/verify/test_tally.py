"""What folds remember: numbers that do not depend on batches, and counts that add up."""

from __future__ import annotations

from typing import Any

import numpy as np
import polars as pl
import pytest

from shoal.verify import tally
from shoal.verify.tally import Counts, Dictionary, Numbering, Standing
from shoal.verify.values import Coded
from tests.verify.whole import parts

ROWS: list[tuple[Any, Any]] = [
    ("a", 1.0), (None, 1.0), ("a", None), ("a", 1.0), (None, 1.0), ("b", float("nan")), ("b", float("nan")),
    ("a", -0.0), ("a", 0.0), (None, None),
]  # fmt: skip
FRAME = pl.DataFrame(ROWS, schema={"x": pl.String, "y": pl.Float64}, orient="row")


@pytest.mark.parametrize("size", [1, 2, 3, 10])
def test_rows_are_numbered_as_they_first_come(size: int) -> None:
    """Nulls are one value, so are numbers that are none, and so are both zeros."""
    found = Numbering()
    seen = [found.see(FRAME[part]) for part in parts(FRAME.height, size)]
    assert [int(code) for one in seen for code in one.codes] == [0, 1, 2, 0, 1, 3, 3, 4, 4, 5]
    assert (found.count, found.rows["x"].to_list()) == (6, ["a", None, "a", "b", "a", None])
    assert found.find(FRAME[[9, 0, 5]]).tolist() == [5, 0, 3]
    assert found.find(pl.DataFrame({"x": ["c"], "y": [1.0]})).tolist() == [-1]
    for one, part in zip(seen, parts(FRAME.height, size), strict=True):
        assert one.distinct[one.place].equals(FRAME[part], null_equal=True)
        assert one.number.tolist() == found.find(one.distinct).tolist()


def test_nothing_seen_is_nothing_known() -> None:
    assert (Numbering().count, Numbering().rows.shape, Counts().total().shape, Counts().size) == (0, (0, 0), (0, 0), 0)
    assert (Dictionary("numeric").texts.to_list(), len(Dictionary("numeric").numbers)) == ([], 0)
    assert (Standing().columns, Standing().rows, Standing().cells) == (None, 0, {})


@pytest.mark.parametrize("size", [1, 2, 9])
def test_values_in_other_spellings_are_one(size: int) -> None:
    column = pl.Series(["3", "3.0", None, "x", "03", "4", "<missing>", "x"])
    found = Dictionary("numeric")
    codes = [int(code) for part in parts(len(column), size) for code in found.see(column[part])]
    assert codes == [0, 0, 1, 2, 0, 3, 1, 2]
    assert found.texts.to_list() == ["3", None, "x", "4"]
    assert np.array_equal(found.numbers, [3.0, np.nan, np.nan, 4.0], equal_nan=True)


@pytest.mark.parametrize("room", [1, 4, 1 << 16])
@pytest.mark.parametrize("size", [1, 3, 100])
def test_counts_add_up(monkeypatch: pytest.MonkeyPatch, size: int, room: int) -> None:
    monkeypatch.setattr(tally, "_TALLIED_ROWS", room)
    random = np.random.default_rng(3)
    frame = pl.DataFrame({"a": random.integers(0, 4, 40), "b": random.integers(0, 3, 40)})
    found = Counts()
    for part in parts(40, size):
        found.see(frame[part])
        assert found.size <= max(room, 36) + min(size, 12)
    expected = frame.group_by("a", "b").agg(rows=pl.len().cast(pl.Int64)).sort("a", "b")
    assert found.total().equals(expected)
    assert found.total() is found.total()
    assert found.counted().sort("a", "b").equals(expected)
    found.add(pl.DataFrame({"a": [0], "b": [0], "rows": [7]}))
    assert found.total()["rows"].sum() == 47


def test_what_stands_in_a_table() -> None:
    found = Standing()
    for part in parts(FRAME.height, 4):
        found.see(Coded(FRAME[part]))
    assert (found.columns, found.rows, list(found.cells)) == (["x", "y"], 10, ["x"])
    assert sorted(found.cells["x"].to_list(), key=str) == [None, "a", "b"]
