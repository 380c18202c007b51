"""Files in and out."""

from __future__ import annotations

import csv
import gzip
from pathlib import Path
from typing import Any

import polars as pl
import pytest
from polars.testing import assert_frame_equal

from shoal.errors import EmptyTableError, InputError, ParameterError
from shoal.io.files import read_frame, write_frame


def make(path: Path, content: str | bytes) -> Path:
    path.write_bytes(content.encode() if isinstance(content, str) else content)
    return path


def test_csv_is_all_text(tmp_path: Path) -> None:
    frame = read_frame(make(tmp_path / "x.csv", "age,name\n 01,Zoë \n,?\n"), missing_markers=["?"])
    assert frame.schema == {"age": pl.String, "name": pl.String}
    assert frame.rows() == [("01", "Zoë"), (None, None)]


@pytest.mark.parametrize("name", ["x.csv", "x.CSV", "x.txt", "x.data", "x.tsv", "x.y.csv"])
def test_extensions(tmp_path: Path, name: str) -> None:
    separator = "\t" if name.endswith("tsv") else ","
    content = f"a{separator}b\n1{separator}2\n"
    assert read_frame(make(tmp_path / name, content)).rows() == [("1", "2")]
    assert read_frame(make(tmp_path / f"{name}.gz", gzip.compress(content.encode()))).rows() == [("1", "2")]


def test_a_given_separator_wins(tmp_path: Path) -> None:
    assert read_frame(make(tmp_path / "x.tsv", "a;b\n1;2\n"), separator=";").columns == ["a", "b"]


def test_given_columns(tmp_path: Path) -> None:
    path = make(tmp_path / "x.data", "39, State-gov\n50, ?\n\n")
    assert read_frame(path, columns=["age", "work"], missing_markers=["?"]).rows() == [
        ("39", "State-gov"),
        ("50", None),
    ]


@pytest.mark.parametrize(
    "encoding, content",
    [
        ("utf-8", b"\xef\xbb\xbfa,b\n\xc3\xa9,2\n"),
        ("utf-8-sig", b"\xef\xbb\xbfa,b\n\xc3\xa9,2\n"),
        ("latin-1", b"a,b\n\xe9,2\n"),
        ("cp1252", b"a,b\n\xe9,2\n"),
        ("utf-16", "a,b\né,2\n".encode("utf-16")),
    ],
)
def test_encodings(tmp_path: Path, encoding: str, content: bytes) -> None:
    frame = read_frame(make(tmp_path / "x.csv", content), encoding=encoding)
    assert frame.columns == ["a", "b"]
    assert frame.rows() == [("é", "2")]
    assert_frame_equal(
        read_frame(make(tmp_path / "x.csv.gz", gzip.compress(content, mtime=0)), encoding=encoding), frame
    )


def test_a_byte_order_mark_without_header(tmp_path: Path) -> None:
    path = make(tmp_path / "x.csv", b"\xef\xbb\xbf1,2\n")
    assert read_frame(path, columns=["a", "b"]).rows() == [("1", "2")]


@pytest.mark.parametrize(
    "name, content, options, part",
    [
        ("x.csv", b"a,b\n1,\xe9\n", {}, "Line 2 of 'x.csv' is not UTF-8"),
        ("x.csv", b"a,b\n1,\xe9\n", {"encoding": "ascii"}, "Line 2 of 'x.csv' is not ascii"),
        ("x.csv", "a,b\n1,2\n".encode("utf-16"), {}, "utf-16"),
        ("x.csv", b"a,b\n1,\x002\n", {}, "zero bytes"),
        ("x.csv", b"", {}, "'x.csv' is empty"),
        ("x.csv", b"\xef\xbb\xbf", {}, "'x.csv' is empty"),
        ("x.csv.gz", gzip.compress(b"", mtime=0), {}, "empty"),
        ("x.csv.gz", b"a,b\n1,2\n", {}, "gzip"),
        ("x.csv.gz", gzip.compress(b"a,b\n1,2\n", mtime=0)[:-9], {}, "gzip"),
        ("x.parquet", b"a,b\n1,2\n", {}, "Parquet"),
        ("x.odt", b"a", {}, ".parquet"),
        ("x", b"a", {}, ".parquet"),
        ("x.parquet.gz", b"a", {}, ".parquet"),
    ],
)
def test_refusals(tmp_path: Path, name: str, content: bytes, options: dict, part: str) -> None:
    with pytest.raises(InputError) as caught:
        read_frame(make(tmp_path / name, content), **options)
    assert part in str(caught.value)
    assert name in str(caught.value)
    assert caught.value.exit_code == 2


def test_missing_file_and_folder(tmp_path: Path) -> None:
    with pytest.raises(InputError, match="There is no file .*x.csv"):
        read_frame(tmp_path / "x.csv")
    with pytest.raises(InputError, match="is a folder"):
        read_frame(tmp_path)


def test_a_file_without_permission(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    path = make(tmp_path / "x.csv", "a,b\n1,2\n")

    def refuse(*_: object) -> None:
        raise PermissionError(13, "Permission denied")

    monkeypatch.setattr(Path, "open", refuse)
    with pytest.raises(InputError, match="x.csv' cannot be read: Permission denied"):
        read_frame(path)


@pytest.mark.parametrize("encoding", ["klingon", "hex", "rot13"])
def test_no_such_encoding(tmp_path: Path, encoding: str) -> None:
    with pytest.raises(ParameterError, match="encoding"):
        read_frame(make(tmp_path / "x.csv", "a,b\n1,2\n"), encoding=encoding)


@pytest.mark.parametrize("content", ["a,b\n", "a,b", "a,b\n\n"])
def test_header_only(tmp_path: Path, content: str) -> None:
    with pytest.raises(EmptyTableError, match="x.csv"):
        read_frame(make(tmp_path / "x.csv", content))


def test_parquet_keeps_types(tmp_path: Path) -> None:
    frame = pl.DataFrame(
        {"age": [1, None], "work": ["?", " x "], "level": pl.Series(["a", "b"], dtype=pl.Categorical)}
    )
    frame.write_parquet(tmp_path / "x.parquet")
    found = read_frame(tmp_path / "x.parquet", missing_markers=["?"])
    assert found.schema == {"age": pl.Int64, "work": pl.String, "level": pl.String}
    assert found.rows() == [(1, None, "a"), (None, "x", "b")]


def test_parquet_refusals(tmp_path: Path) -> None:
    path = tmp_path / "x.parquet"
    pl.DataFrame({"a": [[1], [2]]}).write_parquet(path)
    with pytest.raises(InputError, match="Column 'a' of 'x.parquet' holds list values"):
        read_frame(path)
    pl.DataFrame({"a": [1.0, float("nan")]}).write_parquet(path)
    with pytest.raises(InputError, match="1 NaN"):
        read_frame(path)
    pl.DataFrame({"a": pl.Series([], dtype=pl.Int64)}).write_parquet(path)
    with pytest.raises(EmptyTableError):
        read_frame(path)
    with pytest.raises(ParameterError, match="leave 'columns' out"):
        read_frame(path, columns=["a"])


def test_names_with_wildcards_are_names(tmp_path: Path) -> None:
    assert read_frame(make(tmp_path / "x[1]*.csv", "a,b\n1,2\n")).rows() == [("1", "2")]
    pl.DataFrame({"a": [1]}).write_parquet(tmp_path / "y[1]*.parquet")
    assert read_frame(tmp_path / "y[1]*.parquet").rows() == [(1,)]


AWKWARD = [
    "",
    " ",
    " x ",
    '"',
    '""',
    "a,b",
    "x\ny",
    "\r",
    "x\r\ny",
    ' "x"',
    "é",
    "<missing>",
    "*",
    "{a|b}",
    "\\",
    "#",
    "'",
    "\t",
]


@pytest.mark.parametrize("width", [1, 2])
def test_csv_round_trip_of_awkward_cells(tmp_path: Path, width: int) -> None:
    frame = pl.DataFrame({f" c,{i}": AWKWARD for i in range(width)})
    write_frame(frame, tmp_path / "x.csv")
    with open(tmp_path / "x.csv", encoding="utf-8", newline="") as file:
        assert list(csv.reader(file)) == [frame.columns, *map(list, frame.rows())]


@pytest.mark.parametrize("formulas", ["keep", "escape"])
def test_texts_that_are_kept_as_numbers_are_written_as_others_are(tmp_path: Path, formulas: str) -> None:
    frame = pl.DataFrame({"a": [*AWKWARD, "=1", None], "b": [*AWKWARD[::-1], None, "12"]})
    write_frame(frame, tmp_path / "x.csv", formulas=formulas)
    held = frame.with_columns(pl.all().cast(pl.Enum(pl.Series([*AWKWARD, "=1", "12"]))))
    write_frame(held, tmp_path / "y.csv", formulas=formulas)
    assert (tmp_path / "x.csv").read_bytes() == (tmp_path / "y.csv").read_bytes()


def test_nulls_are_written_as_missing(tmp_path: Path) -> None:
    write_frame(pl.DataFrame({"a": [1, None], "b": ["x", None]}), tmp_path / "x.csv")
    assert (tmp_path / "x.csv").read_bytes() == b"a,b\n1,x\n<missing>,<missing>\n"


def test_equal_frames_give_equal_parquet_bytes(tmp_path: Path) -> None:
    frame = pl.DataFrame({"a": ["x", None, "y"], "b": [1, 2, 3]})
    write_frame(frame, tmp_path / "x.parquet", "parquet")
    write_frame(pl.concat([frame[:1], frame[1:]], rechunk=False), tmp_path / "y.parquet", "parquet")
    content = (tmp_path / "x.parquet").read_bytes()
    assert content == (tmp_path / "y.parquet").read_bytes()
    assert b"pandas" not in content
    assert_frame_equal(pl.read_parquet(tmp_path / "x.parquet"), frame)


def test_a_file_that_unpacks_without_end_is_refused(tmp_path: Path) -> None:
    path = tmp_path / "x.csv.gz"
    path.write_bytes(gzip.compress(b"a,b\n" + b"1,2\n" * 1_000_000))
    with pytest.raises(InputError, match="'x.csv.gz' unpacks to more than 2 MiB: raise 'unpack_limit'"):
        read_frame(path, unpack_limit=2)
    assert read_frame(path, unpack_limit=4).height == 1_000_000


def test_a_parquet_file_of_one_value_is_refused_by_its_rows(tmp_path: Path) -> None:
    path = tmp_path / "x.parquet"
    pl.DataFrame({"a": pl.repeat(1, 10_000_000, eager=True)}).write_parquet(path)
    assert path.stat().st_size < 100_000
    with pytest.raises(InputError, match="unpacks to more than 70 MiB"):
        read_frame(path, unpack_limit=70)
    assert read_frame(path).height == 10_000_000


@pytest.mark.parametrize("limit", [0, -1, 1.5, "1", 10**400])
def test_a_limit_that_is_none(tmp_path: Path, limit: Any) -> None:
    with pytest.raises(ParameterError, match="'unpack_limit' of the source must be a whole number"):
        read_frame(make(tmp_path / "x.csv", "a\n1\n"), unpack_limit=limit)


def test_a_path_with_a_zero_byte() -> None:
    with pytest.raises(InputError, match="zero byte"):
        read_frame("a\0b.csv")


def test_unknown_format(tmp_path: Path) -> None:
    with pytest.raises(ParameterError, match="format"):
        write_frame(pl.DataFrame({"a": [1]}), tmp_path / "x", "xml")


def test_adult(adult: Path) -> None:
    frame = read_frame(adult, columns=[f"c{i}" for i in range(15)], missing_markers=["?"])
    assert frame.height == 32561
    assert frame.drop_nulls().height == 30162


def test_row_order_is_kept_in_a_large_file(tmp_path: Path) -> None:
    frame = pl.DataFrame({"a": pl.int_range(300_000, eager=True), "b": pl.Series([" x", "y"] * 150_000)})
    frame.write_csv(tmp_path / "x.csv")
    found = read_frame(tmp_path / "x.csv")
    assert found["a"].cast(pl.Int64).equals(frame["a"])
    assert found["b"].unique(maintain_order=True).to_list() == ["x", "y"]
