"""Values that come bit by bit: numbered as they come, however they are divided, and never all put in order again."""

from __future__ import annotations

import numpy as np
import polars as pl
import pytest

from shoal.data import value_index
from shoal.data.gather import Gathering, Numbered
from shoal.data.schema import Schema
from shoal.verify.tally import Numbering, Seen

COLUMNS = {
    "texts": pl.Series(["b", None, "a", "b", "", "ä", "a", None, "c"] * 20 + [f"{at}" for at in range(300)]),
    "floats": pl.Series([0.0, -0.0, float("nan"), None, 1.5, float("nan"), 0.0, 2.0] * 20),
    "dates": pl.Series([3, 1, None, 3, 2, 5, 1] * 30).cast(pl.Date),
    "flags": pl.Series([True, None, False, True] * 30),
}


def first_places(column: pl.Series) -> list[int]:
    """The number of every value, found one by one."""
    seen: list[object] = []
    found = []
    for value in column:
        mine = "nan" if isinstance(value, float) and np.isnan(value) else value
        if mine not in seen:
            seen.append(mine)
        found.append(seen.index(mine))
    return found


@pytest.mark.parametrize("same_hash", [False, True])
@pytest.mark.parametrize("size", [1, 7, 50, 1000])
@pytest.mark.parametrize("name", COLUMNS)
def test_values_are_numbered_as_they_come(
    name: str, size: int, same_hash: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    if same_hash:
        monkeypatch.setattr(value_index, "hashes", lambda cells: np.zeros(cells.len(), dtype=np.uint64))
        monkeypatch.setattr(pl.DataFrame, "hash_rows", lambda frame: pl.Series(np.zeros(frame.height, dtype=np.uint64)))
    column, numbered, numbering = COLUMNS[name], Numbered(), Numbering()
    parts = [column[start : start + size] for start in range(0, column.len(), size)]
    expected = first_places(column)
    assert np.concatenate([numbered.see(part) for part in parts]).tolist() == expected
    assert numbered.counts.tolist() == np.bincount(expected).tolist()
    assert first_places(numbered.values) == list(range(numbered.card))
    assert np.concatenate([numbering.see(part.to_frame("x")).codes for part in parts]).tolist() == expected
    assert numbering.rows["x"].equals(numbered.values, null_equal=True)
    assert numbering.find(column.to_frame("x")).tolist() == expected


def test_the_work_of_a_batch_does_not_grow_with_what_is_known(monkeypatch: pytest.MonkeyPatch) -> None:
    done, ordered = [0], value_index._sorted

    def counted(values: pl.Series, keys: np.ndarray, numbers: np.ndarray) -> value_index._Run:
        done[0] += keys.size
        return ordered(values, keys, numbers)

    monkeypatch.setattr(value_index, "_sorted", counted)
    numbered = Numbered()
    batches, size = 256, 10
    for batch in range(batches):
        numbered.see(pl.Series(range(batch * size, (batch + 1) * size)))
    assert numbered.card == batches * size
    assert done[0] <= 10 * batches * size  # at every batch all would be 128 times as many as there are


def test_rows_of_other_types_are_no_others() -> None:
    """Where hashes would differ of equal rows, a join says so, or finds them."""
    rows = Seen()
    rows.add(pl.DataFrame({"x": ["a", "b"]}, schema={"x": pl.Enum(["a", "b", "c"])}))
    assert rows.find(pl.DataFrame({"x": ["b", "c"]}, schema={"x": pl.Enum(["a", "b", "c"])})).tolist() == [1, -1]
    numbers = Seen()
    numbers.add(pl.DataFrame({"x": [1, 2]}))
    with pytest.raises(pl.exceptions.SchemaError):
        numbers.find(pl.DataFrame({"x": ["1"]}))
    assert Seen().find(pl.DataFrame({"x": [1]})).tolist() == [-1]


def test_rows_in_another_order_of_columns_leave_the_next_to_their_hashes(monkeypatch: pytest.MonkeyPatch) -> None:
    rows, wanted = Seen(), pl.DataFrame({"x": [1, 2], "y": ["a", "b"]})
    rows.add(wanted)
    assert rows.find(wanted.select("y", "x")).tolist() == [0, 1]
    monkeypatch.delattr(pl.DataFrame, "join")
    assert rows.find(wanted).tolist() == [0, 1]


@pytest.mark.parametrize("name", COLUMNS)
def test_different_cells_are_looked_up_batch_by_batch(name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    column = COLUMNS[name].alias("x")
    expected = column.drop_nulls().unique().sort()
    gathering = Gathering(Schema(quasi=["y"]), "drop")
    most = {"cells": 0}
    unique = pl.Series.unique

    def counted(cells: pl.Series, **how: bool) -> pl.Series:
        most["cells"] = max(most["cells"], cells.len())
        return unique(cells, **how)

    monkeypatch.setattr(pl.Series, "unique", counted)
    for start in range(0, column.len(), 20):
        part = column[start : start + 20].to_frame()
        gathering.see(part.with_columns(y=pl.lit(None, pl.String)))
    assert most["cells"] <= 20
    assert gathering.dropped["x"].name == "x"
    assert gathering.dropped["x"].sort().equals(expected)
    again = value_index.Different(gathering.dropped)
    again.see(column)
    assert again.columns["x"].sort().equals(expected)
