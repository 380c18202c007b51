"""Tables on disk in batches: where records end, and files that change while they are read."""

from __future__ import annotations

import hashlib
from pathlib import Path
from typing import Any

import polars as pl
import pytest

from shoal.errors import InputError, VerificationError
from shoal.verify.folder import check_hash, stored_batches

FRAME = pl.DataFrame(
    {
        "a,b": ["1", 'say "so"', "two\nlines", "", ",", '"', '\n"\n'],
        "c\nd": ["x", "y", "'=1", "\n\n", "ü", "-5", "z"],
    }
)


def entry(path: Path, rows: int, **changes: Any) -> dict[str, Any]:
    return {"file": path.name, "sha256": hashlib.sha256(path.read_bytes()).hexdigest(), "rows": rows} | changes


@pytest.mark.parametrize("size", [1, 2, 5, 11, 1000])
def test_csv_ends_a_batch_where_a_record_ends(tmp_path: Path, size: int) -> None:
    path = tmp_path / "release.csv"
    FRAME.write_csv(path)
    batches = list(stored_batches(tmp_path, entry(path, FRAME.height), size=size))
    assert pl.concat(batches).equals(FRAME)
    assert all(batch.height for batch in batches)
    assert (len(batches) == 1) is (size == 1000)
    unescaped = pl.concat(list(stored_batches(tmp_path, entry(path, FRAME.height), escaped=True, size=size)))
    assert unescaped["c\nd"].to_list() == ["x", "y", "=1", "\n\n", "ü", "-5", "z"]


@pytest.mark.parametrize("size", [1, 1000])
def test_names_of_columns_may_hold_quotes(tmp_path: Path, size: int) -> None:
    path = tmp_path / "release.csv"
    frame = pl.DataFrame({'a"b': ["x", "y"], 'c, ""': ["1", "2"], '"': ["3", "4"]})
    frame.write_csv(path)
    assert pl.concat(list(stored_batches(tmp_path, entry(path, 2), size=size))).equals(frame)


@pytest.mark.parametrize("size", [1, 3, 1000])
def test_parquet_in_batches_of_rows(tmp_path: Path, size: int) -> None:
    path = tmp_path / "release.parquet"
    frame = FRAME.with_columns(n=pl.Series([1, None, 3, 4, 5, 6, 7]))
    frame.write_parquet(path, row_group_size=2)
    batches = list(stored_batches(tmp_path, entry(path, 7), size=size))
    assert pl.concat(batches).equals(frame, null_equal=True)
    assert [batch.height for batch in batches] == {1: [1] * 7, 3: [3, 3, 1], 1000: [7]}[size]


@pytest.mark.parametrize("format", ["csv", "parquet"])
def test_a_table_without_rows_is_one_empty_batch(tmp_path: Path, format: str) -> None:
    path = tmp_path / f"release.{format}"
    empty = FRAME.clear()
    empty.write_csv(path) if format == "csv" else empty.write_parquet(path)
    (batch,) = stored_batches(tmp_path, entry(path, 0))
    assert (batch.height, batch.columns) == (0, FRAME.columns)


@pytest.mark.parametrize("format, size", [("csv", 8), ("parquet", 2)])
def test_a_file_that_changes_while_it_is_read(tmp_path: Path, format: str, size: int) -> None:
    path = tmp_path / f"release.{format}"
    FRAME.write_csv(path) if format == "csv" else FRAME.write_parquet(path)
    batches = stored_batches(tmp_path, entry(path, 7), size=size)
    next(batches)
    with path.open("ab") as file:
        file.write(b"1,1\n")
    with pytest.raises(VerificationError, match="its hash differs"):
        list(batches)


@pytest.mark.parametrize("format", ["csv", "parquet"])
def test_other_rows_than_the_manifest_says(tmp_path: Path, format: str) -> None:
    path = tmp_path / f"release.{format}"
    FRAME.write_csv(path) if format == "csv" else FRAME.write_parquet(path)
    with pytest.raises(VerificationError, match=f"^'release.{format}' has 7 rows and the manifest says 8.$"):
        list(stored_batches(tmp_path, entry(path, 8), size=3))


def test_a_file_that_is_none(tmp_path: Path) -> None:
    (tmp_path / "folder").mkdir()
    with pytest.raises(InputError, match="is no file.$"):
        check_hash(tmp_path, {"file": "folder", "sha256": ""})
    with pytest.raises(InputError, match="cannot be read: No such file or directory.$"):
        check_hash(tmp_path, {"file": "nothing", "sha256": ""})
