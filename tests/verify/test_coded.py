"""Different cells of a batch, found once."""

from __future__ import annotations

import numpy as np
import polars as pl
import pytest

from shoal.verify.classes import packed
from shoal.verify.leaks import Shown
from shoal.verify.values import Coded, Held, numbered

FRAME = pl.DataFrame({"x": ["b", None, "a", "b", "", None], "y": [3, 1, 1, None, 3, 3]})


def rows_of(held: Held) -> list[object]:
    return held.distinct.gather(held.codes).to_list()


def test_cells_are_kept_as_they_stand_in_the_order_in_which_they_come() -> None:
    batch = Coded(FRAME)
    assert (batch["x"].distinct.to_list(), batch["x"].codes.tolist()) == (["b", None, "a", ""], [0, 1, 2, 0, 3, 1])
    assert batch["x"].rows.tolist() == [2, 2, 1, 1]
    assert batch["y"] is batch["y"]
    assert batch.select(["y"]).frame.columns == ["y"]
    assert batch.select(["y"])["y"] is batch["y"]


def test_texts_that_are_kept_as_numbers_are_the_same_cells() -> None:
    batch = Coded(FRAME.with_columns(FRAME["x"].cast(pl.Enum(["", "z", "a", "b"]))))
    assert (batch["x"].distinct.to_list(), batch["x"].codes.tolist()) == (["b", None, "a", ""], [0, 1, 2, 0, 3, 1])
    assert batch["x"].distinct.dtype == pl.String
    assert batch.texts == Coded(FRAME).texts == ["x"]
    assert batch.plain.equals(FRAME)
    often = pl.concat([FRAME] * 8)
    assert isinstance(numbered(often)["x"].dtype, pl.Categorical)
    assert Coded(numbered(often))["x"].codes.tolist() == Coded(often)["x"].codes.tolist()
    assert numbered(FRAME).equals(FRAME)


def test_cells_that_are_read_alike_are_one() -> None:
    held = Coded(FRAME)["x"]
    read = held.read(pl.Series(["same", None, "same", "other"]))
    assert rows_of(read) == ["same", None, "same", "same", "other", None]
    assert read.distinct.n_unique() == len(read.distinct)
    assert held.read(pl.Series(["p", "q", "r", "s"])).codes is held.codes


@pytest.mark.parametrize("rows", [[], [4], [5, 2, 0], [0, 1, 2, 3, 4, 5]])
def test_some_rows_have_their_own_cells_only(rows: list[int]) -> None:
    mine = Coded(FRAME)["x"].of(np.array(rows, dtype=np.int64))
    assert rows_of(mine) == FRAME["x"].gather(rows).to_list()
    assert len(mine.distinct) == FRAME["x"].gather(rows).n_unique()


@pytest.mark.parametrize("counts", [[1, 1], [3, 5], [2**31, 2**31, 2], [2**32 + 1, 2**31, 1, 2**63]])
def test_rows_of_numbers_are_packed_without_loss(counts: list[int]) -> None:
    rng = np.random.default_rng(1)
    numbers = [rng.choice(np.array([0, (count - 1) // 2, count - 1]), 200) for count in counts]
    rows = pl.DataFrame({str(place): column for place, column in enumerate(numbers)})
    words = packed(numbers, counts)
    assert words.width <= rows.width
    assert (
        words.n_unique()
        == rows.n_unique()
        == pl.concat([rows, words.rename(lambda name: f"w{name}")], how="horizontal").n_unique()
    )


def test_tables_may_share_a_name_that_is_of_another_type_in_each() -> None:
    shown = Shown()
    for values in (pl.Series("group", [2, 1, 2]), pl.Series("group", ["1", "a"])):
        shown.see(values.to_frame())
    assert [sorted(column.to_list()) for column in shown.columns] == [["1", "2", "a"]]


def test_what_was_looked_up_counts_for_that_very_frame_alone() -> None:
    frame, other = (pl.DataFrame({"age": ages, "sex": ["f", "m", "f"]}) for ages in ([1, 2, 1], [3, 4, 3]))
    before = Coded(other)
    before.look_up()
    assert Coded.known(other, before) is before
    for known in (None, before, Coded(frame.clone())):
        found = Coded.known(frame, known)
        assert found is not known
        assert found.frame is frame
        assert found["age"].distinct.to_list() == [1, 2]
