"""Texts kept as numbers of the different ones are the same texts, and take what they should."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import polars as pl
import pytest

import shoal
from shoal.data.dictionary import code_column, code_held
from shoal.data.schema import ColumnSpec, Schema
from shoal.data.texts import all_held, all_told, counted, held, is_held, told
from shoal.errors import InputError
from shoal.io import files
from shoal.io.evidence import input_hash

TEXTS = pl.Series("x", ["b", None, "a", "b", "é|,", "b", None, "a", "é|,", "a"])


def test_texts_that_repeat_are_numbers_and_the_same_texts() -> None:
    found = held(TEXTS)
    assert is_held(found.dtype)
    assert found.name == "x"
    assert told(found).equals(TEXTS, null_equal=True)
    assert told(found[[4, 1, 0]]).to_list() == ["é|,", None, "b"]
    assert held(TEXTS.cast(counted())).dtype != pl.String
    assert held(found).equals(found)
    whole = pl.DataFrame({"x": TEXTS, "n": range(10)})
    assert all_told(all_held(whole)).equals(whole, null_equal=True)


@pytest.mark.parametrize("texts", [[], [None, None], ["a", "b", "c"], ["a", "b", "c", "a", "b"]])
def test_texts_that_hardly_repeat_stay_texts(texts: list[str | None]) -> None:
    column = pl.Series("x", texts, dtype=pl.String)
    assert held(column).dtype == pl.String
    assert held(column.cast(counted())).equals(column, null_equal=True)


@pytest.mark.parametrize("different, size", [(200, 1), (300, 2), (70_000, 4)])
def test_numbers_are_as_narrow_as_they_can_be(different: int, size: int) -> None:
    texts = pl.Series([f"text {place // 2 % different}" for place in range(4 * different)])
    assert held(texts).to_physical().to_numpy().itemsize == size


def test_a_file_is_kept_as_numbers_and_read_as_texts(tmp_path: Path) -> None:
    """However many columns there are, and whatever is missing in them."""
    rows = [f"{place:05},{place % 90},{'mf'[place % 2]},{'' if place % 7 else 'flu'}" for place in range(4000)]
    (tmp_path / "x.csv").write_text("id,age,sex,ill\n" + "\n".join(rows) + "\n")
    table = shoal.read(
        tmp_path / "x.csv", identifiers=["id"], quasi=["age", "sex"], sensitive=["ill"], missing="value"
    )
    assert table.kept.estimated_size() < 22 * table.n  # eighty in texts
    plain = files.read_frame(tmp_path / "x.csv")
    assert table.frame.equals(plain, null_equal=True)
    assert table.series("ill").equals(plain["ill"], null_equal=True)
    assert {*table.domain.types.values()} == {pl.String}
    assert input_hash(table.kept, "00" * 32) == input_hash(plain, "00" * 32)


@pytest.mark.parametrize(
    "cells, spec",
    [
        (["3", "1.5", None, "3", "10", "1.5"] * 2, {}),
        (["2024-01-03", "2023-12-31", "2024-01-03", "2023-12-31"], {}),
        (["low", "high", "low", None, "high", "low"], {"order": ["low", "high"]}),
        (["10", "9", "10", "9"], {"type": "categorical"}),
    ],
)
def test_codes_of_numbers_are_codes_of_texts(cells: list[str | None], spec: dict[str, object]) -> None:
    schema, series = Schema(quasi=["x"], specs={"x": ColumnSpec(**spec)}), pl.Series("x", cells)  # type: ignore[arg-type]
    column, codes = code_column("x", schema, series, None)
    same, again = code_held("x", schema, held(series), None)
    assert is_held(held(series).dtype)
    assert np.array_equal(codes, again)
    assert codes.dtype == again.dtype
    assert same.texts.equals(column.texts)
    assert np.array_equal(same.frequencies, column.frequencies)
    assert (same.type, same.kind, same.missing) == (column.type, column.kind, column.missing)


def test_faults_are_told_by_rows_all_the_same() -> None:
    schema = Schema(quasi=["x"], specs={"x": ColumnSpec(type="numeric")})
    series = held(pl.Series("x", ["1", "1", "odd", "2", "2", "odd", "1", "1"]))
    with pytest.raises(InputError, match="2 cells are not numbers, the first in row 3"):
        code_held("x", schema, series, None)


@pytest.mark.parametrize("formulas", ["keep", "escape"])
def test_a_file_is_written_in_pieces_as_it_is_in_one(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, formulas: str
) -> None:
    frame = pl.DataFrame({"x": TEXTS, "=n": ["=1", '"', "a,b", "", None, "-3", "x\ny", " ", "=1", "*"]})
    files.write_frame(frame, tmp_path / "one.csv", formulas=formulas)
    monkeypatch.setattr(files, "_WRITTEN", 3)
    files.write_frame(all_held(frame), tmp_path / "pieces.csv", formulas=formulas)
    assert (tmp_path / "pieces.csv").read_bytes() == (tmp_path / "one.csv").read_bytes()
    files.write_frame(frame.clear(), tmp_path / "none.csv", formulas=formulas)
    assert len((tmp_path / "none.csv").read_text().splitlines()) == 1
