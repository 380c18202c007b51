"""Copies of a release for Excel, SPSS and Stata, each read back and held against what passed the gate."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path

import polars as pl

from shoal.errors import GateError
from shoal.io.labelled import Labels, read_copy, write_labelled
from shoal.io.normal import MISSING
from shoal.io.workbook import read_workbook, write_workbook
from shoal.params import choice

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


def _with_gaps(frame: pl.DataFrame) -> pl.DataFrame:
    text = pl.selectors.string()
    return frame.with_columns(pl.when(text != MISSING).then(text).name.keep())


def _check(path: Path, found: pl.DataFrame, judged: pl.DataFrame) -> None:
    """Refuse a copy that does not hold the cells that passed the gate."""
    same = found.columns == judged.columns
    # A sheet that ends in empty rows ends earlier.
    rows = judged.filter(~pl.all_horizontal(pl.all().is_null())) if found.height < judged.height else judged
    same = same and found.height == rows.height
    if not same or not all(_equal(found[name], rows[name]) for name in judged.columns):
        raise GateError(f"The copy '{path.name}' does not hold what passed the gate, so nothing is written.")


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
