"""Folders made by hand: what each of their files may hold, and what is said about one that may not."""

from __future__ import annotations

import datetime
import hashlib
import io
import json
import re
from pathlib import Path
from typing import Any

import polars as pl
import pytest

from shoal.errors import InputError, ShoalError, VerificationError
from shoal.verify.folder import open_folder, read_folder, read_manifest

CSV = b"q,s\n1,a\n2,b\n"


def sha256(raw: bytes) -> str:
    return hashlib.sha256(raw).hexdigest()


def parquet(frame: pl.DataFrame) -> bytes:
    raw = io.BytesIO()
    frame.write_parquet(raw)
    return raw.getvalue()


def folder(
    path: Path, raw: bytes = CSV, *, format: str = "csv", rows: int = 2, apart: bytes | None = None, **data: Any
) -> Path:
    """A release of one or two tables, whose manifest is in shape and says little."""
    report = b"<p>all that is said</p>"
    given = {"file": f"release.{format}", "format": format, "rows": rows, "sha256": sha256(raw)} | data
    files = {"report.html": report, given["file"]: raw}
    if apart is not None:
        given["sensitive"] = {"file": f"sensitive.{format}", "rows": rows, "sha256": sha256(apart)}
        files[f"sensitive.{format}"] = apart
    manifest = {
        "shoal": "1.0", "manifest": 1, "kind": "generalised", "source": None, "statement": "", "not_protected": [],
        "data": given, "report": {"file": "report.html", "sha256": sha256(report)}, "suppressed": "drop",
        "order": "shuffled", "people": False, "models": [], "verdicts": [], "acknowledged": [],
        "columns": [{"name": "q", "role": "quasi", "type": "categorical", "cells": "value"}],
        "classes": {"count": 1, "smallest": 2, "digest": {"quasi": ""}},
    }  # fmt: skip
    path.mkdir(exist_ok=True)
    for name, content in (files | {"manifest.json": json.dumps(manifest).encode()}).items():
        (path / name).write_bytes(content)
    return path


def refused(path: Path, message: str, kind: type[ShoalError] = VerificationError) -> None:
    for size in (None, 1, 3):
        with pytest.raises(kind, match=f"^{re.escape(message)}$"):
            read_batches(path, size)


def read_batches(path: Path, size: int | None) -> list[pl.DataFrame]:
    return [batch for batches in open_folder(path, size)[0].values() for batch in batches]


def test_every_cell_of_csv_is_text(tmp_path: Path) -> None:
    tables, manifest = read_folder(str(folder(tmp_path)))
    assert {name: table.to_dict(as_series=False) for name, table in tables.items()} == {
        "release": {"q": ["1", "2"], "s": ["a", "b"]}
    }
    assert manifest["data"]["rows"] == 2


def test_two_tables(tmp_path: Path) -> None:
    tables, _ = read_folder(folder(tmp_path, apart=b"g,s\n1,x\n2,y\n"))
    assert list(tables) == ["release", "sensitive"]
    assert tables["sensitive"]["s"].to_list() == ["x", "y"]
    (tmp_path / "sensitive.csv").write_bytes(b"g,s\n1,x\n2,z\n")
    refused(tmp_path, "'sensitive.csv' is not the file that the manifest describes: its hash differs.")


def test_parquet_keeps_its_types(tmp_path: Path) -> None:
    frame = pl.DataFrame({"q": [1, None], "s": ["a", ""], "d": [datetime.date(2026, 1, 31), None]})
    tables, _ = read_folder(folder(tmp_path, parquet(frame), format="parquet"))
    assert tables["release"].equals(frame)
    assert tables["release"].schema == frame.schema


@pytest.mark.parametrize("extra, told", [
    (["raw.csv"], "The folder also holds 'raw.csv', which its manifest does not list."),
    (["b.csv", "a.csv"], "The folder also holds 'a.csv' and 1 more, which its manifest does not list."),
    (["b", "c", "a"], "The folder also holds 'a' and 2 more, which its manifest does not list."),
    (["sensitive.csv"], "The folder also holds 'sensitive.csv', which its manifest does not list."),
])  # fmt: skip
def test_files_that_nobody_lists(tmp_path: Path, extra: list[str], told: str) -> None:
    path = folder(tmp_path)
    for name in extra:
        (path / name).write_bytes(b"")
    refused(path, told)


def test_folders_that_are_none(tmp_path: Path) -> None:
    path = tmp_path / "empty"
    path.mkdir()
    refused(path, f"'{path}' holds no manifest.json: name the folder of a release.", InputError)
    (path / "manifest.json").write_bytes(b"{")
    told = f"'{path / 'manifest.json'}' is not JSON: the release has to be written again."
    refused(path, told, InputError)
    (path / "manifest.json").write_bytes(b"\xff")
    refused(path, told, InputError)
    (path / "manifest.json").write_bytes(b"[]")
    refused(path, "The manifest is not a JSON object.")
    (path / "manifest.json").unlink()
    (path / "manifest.json").mkdir()
    refused(path, f"'{path / 'manifest.json'}' is no file.", InputError)
    file = path / "manifest.json" / "x"
    file.write_bytes(b"")
    refused(file, f"'{file}' holds no manifest.json: name the folder of a release.", InputError)


@pytest.mark.parametrize("name", ["report.html", "release.csv"])
def test_a_file_that_is_gone_or_none(tmp_path: Path, name: str) -> None:
    path = folder(tmp_path)
    (path / name).unlink()
    refused(path, f"The file '{path / name}' cannot be read: No such file or directory.", InputError)
    (path / name).mkdir()
    refused(path, f"'{path / name}' is no file.", InputError)


def test_a_manifest_may_be_read_alone(tmp_path: Path) -> None:
    path = folder(tmp_path)
    (path / "release.csv").unlink()
    assert read_manifest(str(path))["kind"] == "generalised"


@pytest.mark.parametrize("rows", [1, 3])
def test_another_number_of_rows(tmp_path: Path, rows: int) -> None:
    refused(folder(tmp_path, rows=rows), f"'release.csv' has 2 rows and the manifest says {rows}.")


UNREAD = "'release.csv' cannot be read back as CSV: write the release again."
SPELLED = "'release.csv' is not spelled as Shoal writes CSV, so it could be read in two ways."


@pytest.mark.parametrize("raw, message", [
    (b"", UNREAD), (b"q,s\n1,a,x\n2,b\n", UNREAD), (b"q,s\n1,\xff\n2,b\n", UNREAD),
    (b"q,s\n1,\n2,b\n", SPELLED), (b"q,s\n1,a\n2,b", SPELLED), (b'q,s\n"1",a\n2,b\n', SPELLED),
    (b"q,s\r\n1,a\r\n2,b\r\n", SPELLED), (b"q,q\n1,a\n2,b\n", SPELLED),
])  # fmt: skip
def test_csv_that_could_be_read_in_two_ways(tmp_path: Path, raw: bytes, message: str) -> None:
    refused(folder(tmp_path, raw), message)


def test_an_empty_text_is_quoted(tmp_path: Path) -> None:
    tables, _ = read_folder(folder(tmp_path, b'q,s\n1,""\n2,"a,b"\n'))
    assert tables["release"]["s"].to_list() == ["", "a,b"]


# Formulas


def test_escaped_cells_and_names_are_read_without_their_apostrophes(tmp_path: Path) -> None:
    raw = b"q,'=s\n'=1+1,'+a\n''-x,-5\n'quoted',+1.5e3\n-.5,'\n"
    tables, _ = read_folder(folder(tmp_path, raw, rows=4, formulas="escaped"))
    assert tables["release"].to_dict(as_series=False) == {
        "q": ["=1+1", "'-x", "'quoted'", "-.5"], "=s": ["+a", "-5", "+1.5e3", "'"],
    }  # fmt: skip
    tables, _ = read_folder(folder(tmp_path, raw, rows=4))
    assert tables["release"]["q"].to_list() == ["'=1+1", "''-x", "'quoted'", "-.5"]


@pytest.mark.parametrize("raw, count", [
    (b"q,s\n=1,a\n2,b\n", 1), (b"q,s\n1,+a\n2,@b\n", 2), (b"q,s\n1,-a\n2,-1\n", 1), (b"q,@s\n1,a\n2,b\n", 1),
    (b"q,s\n1,\ta\n2,b\n", 1), (b'q,s\n1,a\n2,"\rb"\n', 1), (b"q,s\n-1-1,a\n2,b\n", 1),
])  # fmt: skip
def test_a_formula_that_is_not_escaped(tmp_path: Path, raw: bytes, count: int) -> None:
    told = f"'release.csv' has {count} formulas that are not escaped, against its manifest."
    refused(folder(tmp_path, raw, formulas="escaped"), told)
    assert read_folder(folder(tmp_path, raw))[0]["release"].height == 2


def test_formulas_of_both_tables(tmp_path: Path) -> None:
    path = folder(tmp_path, CSV, apart=b"g,s\n1,'=x\n2,y\n", formulas="escaped")
    assert read_folder(path)[0]["sensitive"]["s"].to_list() == ["=x", "y"]


# Parquet


def test_parquet_that_is_none(tmp_path: Path) -> None:
    told = "'release.parquet' cannot be read back as Parquet: write the release again."
    refused(folder(tmp_path, b"PAR1", format="parquet"), told)
    refused(folder(tmp_path, b"", format="parquet"), told)
    refused(folder(tmp_path, CSV, format="parquet"), told)


def test_notes_beside_the_rows(tmp_path: Path) -> None:
    raw = io.BytesIO()
    pl.DataFrame({"q": [1, 2]}).write_parquet(raw, metadata={"people": "Ann", "more": "Bob"})
    told = "'release.parquet' carries 2 notes beside its rows, which nothing describes."
    refused(folder(tmp_path, raw.getvalue(), format="parquet"), told)


@pytest.mark.parametrize("cells", [[[1], [2]], [b"a", b"b"], [{"a": 1}, {"a": 2}]], ids=["list", "bytes", "struct"])
def test_columns_that_hold_something_else(tmp_path: Path, cells: list[Any]) -> None:
    raw = parquet(pl.DataFrame({"q": [1, 2], "odd": cells, "other": cells}))
    told = "The column 'odd' of 'release.parquet' holds neither text nor numbers nor dates."
    refused(folder(tmp_path, raw, format="parquet"), told)


def test_columns_that_are_kept_as_categories(tmp_path: Path) -> None:
    """Their list is part of the file, and may name somebody who was suppressed."""
    told = (
        "The column 'q' of 'release.parquet' is kept as categories, whose list may name values that stand in no row: "
        "write the release again."
    )
    for kind in (pl.Enum(["a", "b", "hidden"]), pl.Categorical()):
        raw = parquet(pl.DataFrame({"q": pl.Series(["a", "b"], dtype=kind)}))
        refused(folder(tmp_path, raw, format="parquet"), told)
