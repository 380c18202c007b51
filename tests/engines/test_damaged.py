"""Sources that are damaged, cut short while they are read, or empty: no row is lost without a word."""

from __future__ import annotations

import errno
import io
import os
import struct
from contextlib import AbstractContextManager, nullcontext
from pathlib import Path

import polars as pl
import pytest

from shoal.data.keys import Keys
from shoal.data.sampling import Sampling
from shoal.errors import InputError
from shoal.io import batches
from shoal.io.batches import draw_batches, open_batches
from shoal.io.files import read_frame
from tests.engines.alike import outcome

pytest.importorskip("duckdb")

RECIPE = """
acknowledge = ["W-UNMODELLED:ill"]
seed = 1
[source]
path = "{path}"
missing = "value"
[roles]
quasi = ["age"]
sensitive = ["ill"]
[columns.age]
type = "numeric"
[[models]]
name = "k"
k = 2
"""


def people(rows: int) -> pl.DataFrame:
    return pl.DataFrame({"age": [20 + row % 60 for row in range(rows)], "ill": ["abc"[row % 3] for row in range(rows)]})


def cut_in_the_middle(path: Path) -> None:
    """As after a broken copy: the end of the file, which says how many rows it has, is whole."""
    raw = path.read_bytes()
    footer = struct.unpack("<I", raw[-8:-4])[0] + 8
    path.write_bytes(raw[:1000] + raw[-footer:])


@pytest.mark.parametrize("engine", ["duckdb", "memory"])
def test_a_parquet_file_whose_middle_is_missing_is_refused(engine: str, tmp_path: Path) -> None:
    (tmp_path / "data").mkdir()
    people(9000).write_parquet(tmp_path / "data" / "a.parquet")
    people(50_000).write_parquet(tmp_path / "data" / "b.parquet", compression="uncompressed")
    cut_in_the_middle(tmp_path / "data" / "b.parquet")
    for path in ("data/b.parquet", "data") if engine == "duckdb" else ("data/b.parquet",):
        recipe = tmp_path / "recipe.toml"
        recipe.write_text(RECIPE.format(path=path))
        code, sentence, files = outcome(recipe, engine)
        assert (code, files) == (2, {})
        assert "cannot be read as" in sentence


@pytest.mark.parametrize(
    "name, content",
    [
        ("rows.tsv", "a\tb\n1\tx\n" + "\t\n" * 40 + "2\ty\n" + "\t\n" * 40),
        ("rows.tsv", "a\tb\n" + "\t\n" * 40 + "\n" * 40 + "2\ty\n"),
        ("rows.csv", "a\n" + "\n" * 40 + "1\n" + "\n" * 40),
        ("rows.csv", 'a\n1\n"\n"\n2\n'),
        ("rows.csv", 'a,b\n1,2\n"\n",3\n' + "\n" * 40),
    ],
    ids=range(5),
)
@pytest.mark.parametrize("size", [2, 17, 40])
def test_pieces_of_blanks_have_the_rows_that_all_of_it_has(
    name: str, content: str, size: int, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / name).write_text(content)
    monkeypatch.setattr(batches, "_BYTES", size)
    assert pl.concat(open_batches(tmp_path / name).frames()).equals(read_frame(tmp_path / name))


@pytest.mark.parametrize("name", ["rows.csv", "rows.parquet"])
def test_a_source_without_rows_is_told_so(name: str, tmp_path: Path) -> None:
    if name.endswith("csv"):
        people(0).write_csv(tmp_path / name)
    else:
        people(0).write_parquet(tmp_path / name)
    (tmp_path / "recipe.toml").write_text(RECIPE.format(path=name))
    code, sentence, _ = outcome(tmp_path / "recipe.toml", "duckdb")
    assert (code, "no rows" in sentence) == (2, True), sentence


def test_text_that_is_cut_short_while_it_is_read_is_refused(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    path = tmp_path / "rows.csv"
    people(20_000).write_csv(path)
    monkeypatch.setattr(batches, "_BYTES", 1 << 13)
    frames = open_batches(path).frames()
    next(frames)
    os.truncate(path, 1 << 12)
    with pytest.raises(InputError, match="'rows.csv' was changed while it was read"):
        list(frames)


@pytest.mark.parametrize("rows", [5000, 30_000])
def test_text_that_is_overwritten_while_it_is_read_is_refused(
    rows: int, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    path = tmp_path / "rows.csv"
    path.write_text("a,b\n" + "1,2\n" * 30_000)
    monkeypatch.setattr(batches, "_BYTES", 1 << 13)
    frames = open_batches(path).frames()
    next(frames)
    path.write_text("a,b\n" + "1,222222\n" * rows)
    with pytest.raises(InputError, match="'rows.csv' was changed while it was read"):
        list(frames)


def test_text_of_another_encoding_that_is_cut_as_it_is_decoded_is_refused(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    path = tmp_path / "rows.csv"
    path.write_text("a,b\n" + "1,Zo\xeb\n" * 300_000, "latin-1")

    def cutting() -> AbstractContextManager[None]:
        os.truncate(path, 100)
        return nullcontext()

    monkeypatch.setattr("shoal.io.text.spilling", cutting)
    with pytest.raises(InputError, match="'rows.csv' was changed while it was read"):
        list(open_batches(path, encoding="latin-1").frames())


def test_a_full_disk_is_not_told_of_the_text_that_is_decoded_to_it(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    path = tmp_path / "rows.csv"
    path.write_text("a,b\n1,Zo\xeb\n", "latin-1")

    class Full(io.BytesIO):
        def write(self, data: object) -> int:
            raise OSError(errno.ENOSPC, "No space left on device")

    monkeypatch.setattr("shoal.io.text.tempfile.TemporaryFile", lambda dir: Full())
    with pytest.raises(InputError, match="full"):
        open_batches(path, encoding="latin-1")


def test_zero_bytes_are_found_wherever_they_stand(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    path = tmp_path / "rows.csv"
    path.write_bytes(b"a,b\n" + b"1,2\n" * 200_000 + b"3,\0\n")
    monkeypatch.setattr(batches, "_BYTES", 1 << 13)
    with pytest.raises(InputError, match="'rows.csv' contains zero bytes"):
        list(open_batches(path).frames())


@pytest.mark.parametrize("rows", [500, 1500])
def test_a_source_that_changes_after_a_sample_was_drawn_is_refused(rows: int, tmp_path: Path) -> None:
    path = tmp_path / "rows.csv"
    people(1000).write_csv(path)
    drawn = draw_batches(open_batches(path), Sampling(number=100), Keys.from_seed(1), subject=None, key=None)
    people(rows).write_csv(path)
    drawn.source.__dict__.pop("_first", None)  # opened anew, as another process would
    with pytest.raises(InputError, match="changed"):
        drawn.left_out(["ill"], {})
    with pytest.raises(InputError, match="changed"):
        list(drawn.frames())
