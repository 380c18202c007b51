"""Rows of whole numbers as one number each, against Polars, which looks at the rows themselves."""

from __future__ import annotations

import numpy as np
import polars as pl
import pytest
from hypothesis import given
from hypothesis import strategies as st

from shoal.verify.values import add_counts, as_they_come, count_rows, group_keys, in_order, row_keys

NUMBERS = st.lists(st.tuples(st.integers(0, 5), st.integers(0, 2**40), st.integers(0, 3)), max_size=30)
SCHEMA = {"a": pl.Int64, "b": pl.UInt64, "c": pl.UInt8}


@given(NUMBERS)
def test_whole_numbers_are_counted_as_rows_are(rows: list[tuple[int, int, int]]) -> None:
    frame = pl.DataFrame(rows, schema=SCHEMA, orient="row")
    expected = frame.group_by(frame.columns).agg(rows=pl.len().cast(pl.Int64)).sort(frame.columns)
    assert row_keys(frame) is not None
    found = count_rows(frame)
    assert found.schema == expected.schema
    assert found.equals(expected)
    twice = add_counts(pl.concat([found[::-1], found, frame[:2].with_columns(rows=pl.lit(5, dtype=pl.Int64))]))
    more = pl.concat([expected, expected, frame[:2].with_columns(rows=pl.lit(5, dtype=pl.Int64))])
    assert twice.equals(more.group_by(frame.columns).agg(pl.col("rows").sum()).sort(frame.columns))
    assert in_order(found[::-1]).equals(expected)


@given(st.lists(st.integers(0, 9), max_size=30), st.sampled_from([1, 1000]))
def test_groups_are_numbered_as_they_first_come(keys: list[int], far: int) -> None:
    keys = [far * key for key in keys]
    groups, first = group_keys(np.array(keys, dtype=np.int64))
    seen = list(dict.fromkeys(keys))
    assert groups.tolist() == [seen.index(key) for key in keys]
    assert first.tolist() == [keys.index(key) for key in seen]


@pytest.mark.parametrize("kind", [np.int64, np.uint8, np.uint32])
@pytest.mark.parametrize("late", [4095, 4096, 4097, 36_863, 36_864, 50_000])
def test_small_numbers_that_come_late_are_found(late: int, kind: type[np.integer]) -> None:
    numbers = np.full(60_000, 2, dtype=kind)
    numbers[late:] = 0
    numbers[late + 1 :: 2] = 3
    codes, first = as_they_come(numbers)
    assert first.tolist() == [0, late, late + 1]
    assert np.array_equal(np.array([2, 0, 3])[codes], numbers)


@pytest.mark.parametrize(
    "frame",
    [
        pl.DataFrame({"a": [1, -1]}),
        pl.DataFrame({"a": [1, None]}),
        pl.DataFrame({"a": [1.0, 2.0]}),
        pl.DataFrame({"a": ["x", "y"], "b": [1, 2]}),
        pl.DataFrame({"a": [2**63, 0]}, schema={"a": pl.UInt64}),
        pl.DataFrame({"a": [2**40, 0], "b": [2**23, 1]}),
        pl.DataFrame({"a": [2**64 + 1, 1]}, schema={"a": pl.Int128}),
        pl.DataFrame({"a": [2, 1]}, schema={"a": pl.UInt128}),
        pl.DataFrame(height=2),
    ],
)
def test_other_rows_are_no_numbers(frame: pl.DataFrame) -> None:
    """Gaps, fractions, texts, what is below 0, and what does not fit together; all of it is counted nevertheless."""
    assert row_keys(frame) is None
    if frame.width:
        twice = count_rows(pl.concat([frame, frame]))
        assert sorted(twice["rows"].to_list()) == [2, 2]
        assert add_counts(pl.concat([twice, twice]))["rows"].to_list() == [4, 4]
        assert in_order(twice).drop("rows").equals(frame.sort(frame.columns))


def test_as_many_bits_as_a_number_has() -> None:
    """The largest that fit are told apart still."""
    frame = pl.DataFrame({"a": [2**40, 2**40, 0], "b": [2**21, 2**22 - 1, 2**22 - 1]})
    keys = row_keys(frame)
    assert keys is not None
    assert len(set(keys.tolist())) == 3
    assert keys.min() >= 0
