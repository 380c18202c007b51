"""Copies of a release for Excel, SPSS and Stata, each read back and held against what passed the gate."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import polars as pl

from shoal.errors import GateError, InputError, MissingExtraError
from shoal.io.cell_format import MISSING
from shoal.io.excel import read_workbook, sheet_names, write_workbook
from shoal.io.statistics_files import Labels, read_copy, write_labelled
from shoal.params import choice
from shoal.verify.folder import read_folder
from shoal.verify.report import Check

COPIES = ("xlsx", "sav", "dta")
FILES = tuple(f"{table}.{kind}" for table in ("release", "sensitive") for kind in COPIES)


def check_copies(kinds: Sequence[str]) -> list[str]:
    """Kinds of copies, each known and named once."""
    return list(dict.fromkeys(choice("the output", "copies", kind, COPIES) for kind in kinds))


def write_copies(
    tables: Mapping[str, pl.DataFrame], folder: Path, *, kinds: Sequence[str], labels: Labels | None = None
) -> list[Path]:
    """Write the tables of a release once more, in other formats; a workbook has them all.

    Missing cells are empty ones, or missing to SPSS and Stata, in the place of the text that CSV has for them.
    """
    labels = labels or Labels()
    shown = {name: _with_gaps(frame) for name, frame in tables.items()}
    written = []
    for kind in check_copies(kinds):
        if kind == "xlsx":
            path = folder / "release.xlsx"
            write_workbook(shown, path, labels)
            for name, frame in shown.items():
                _check(path, read_workbook(path, name), frame)
            written.append(path)
            continue
        for name, frame in shown.items():
            path = folder / f"{name}.{kind}"
            write_labelled(frame, path, labels)
            _check(path, read_copy(path, frame.columns), frame)
            written.append(path)
    return written


def compare_copies(folder: Path, manifest: Mapping[str, Any]) -> list[Check]:
    """One check a copy: whether its cells are those of a written release, as CSV or Parquet has them.

    Copies that nothing here reads, for want of a library, get none. Labels beside the cells are not looked at.
    """
    names = [copy["file"] for copy in manifest["data"].get("copies", ())]
    if not names:
        return []
    shown = {name: _with_gaps(frame) for name, frame in read_folder(folder)[0].items()}
    found = []
    for name in names:
        try:
            same = _holds(folder / name, shown)
        except MissingExtraError:
            continue
        except InputError:
            same = False
        detail = f"The cells of '{name}' are {'those' if same else 'not those'} of the release."
        found.append(Check(name=f"copy {name}", passed=same, detail=detail))
    return found


def _holds(path: Path, tables: Mapping[str, pl.DataFrame]) -> bool:
    """Whether a copy has the cells of the tables, or the one that it is named after, and no other table."""
    if path.suffix == ".xlsx":
        sheets = {name: read_workbook(path, name) for name in sheet_names(path)}
        sheets.pop("labels", None)
        return set(sheets) == set(tables) and all(_same(sheets[name], frame) for name, frame in tables.items())
    frame = tables.get(path.stem)
    return frame is not None and _same(read_copy(path, frame.columns), frame)


def _with_gaps(frame: pl.DataFrame) -> pl.DataFrame:
    text = pl.selectors.string()
    return frame.with_columns(pl.when(text != MISSING).then(text).name.keep())


def _check(path: Path, found: pl.DataFrame, judged: pl.DataFrame) -> None:
    """Refuse a copy that does not hold the cells that passed the gate."""
    if not _same(found, judged):
        raise GateError(f"The copy '{path.name}' does not hold what passed the gate, so nothing is written.")


def _same(found: pl.DataFrame, judged: pl.DataFrame) -> bool:
    # A sheet that ends in empty rows ends earlier.
    rows = judged.filter(~pl.all_horizontal(pl.all().is_null())) if found.height < judged.height else judged
    if found.columns != judged.columns or found.height != rows.height:
        return False
    return all(_equal(found[name], _meant(rows[name], found[name].dtype)) for name in judged.columns)


def _meant(cells: pl.Series, kind: pl.DataType) -> pl.Series:
    """Text of a CSV file as the numbers or times that a copy has in its place, where it is written so."""
    if cells.dtype != pl.String:
        return cells
    read = cells
    if kind.is_numeric():
        read = cells.cast(pl.Float64, strict=False)
    elif kind in (pl.Date, pl.Datetime):
        read = cells.str.to_datetime(time_unit="ms", strict=False)
    return read if read.null_count() == cells.null_count() else cells


def _equal(found: pl.Series, judged: pl.Series) -> bool:
    if judged.null_count() == judged.len():
        return found.null_count() == found.len() or bool((found.cast(pl.String) == "").all())
    if judged.dtype.is_numeric():
        read = found.cast(pl.Float64, strict=False)
        return bool(read.eq_missing(judged.cast(pl.Float64)).all())
    if judged.dtype in (pl.Date, pl.Datetime):
        times = pl.Datetime("ms")
        return bool(found.cast(times).eq_missing(judged.cast(times)).all())
    texts = found.cast(pl.String)
    texts = pl.select(pl.when(texts != "").then(texts)).to_series()
    return bool(texts.eq_missing(judged.cast(pl.String)).all())
