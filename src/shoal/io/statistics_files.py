"""Files of SPSS, Stata and SAS: rows, and the labels of their values and columns, by pyreadstat.

A cell whose value has a label is read as that label where every value of its column has one; otherwise the values are
kept, since labels are then mostly words for non-answers. What SPSS and Stata declare missing is missing.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import polars as pl

from shoal.data.values import format_number, normal_text
from shoal.errors import InputError, MissingExtraError

READERS = {
    ".sav": "read_sav", ".zsav": "read_sav", ".por": "read_por", ".dta": "read_dta", ".sas7bdat": "read_sas7bdat",
    ".xpt": "read_xport",
}  # fmt: skip
WRITERS = {".sav": "write_sav", ".dta": "write_dta"}
_WHOLE = 1 << 53
_LONGEST_LABEL = {".sav": 120, ".dta": 32_000}  # bytes
_LONGEST_NAME = {".sav": 64, ".dta": 32}
# What their writers take from the clock: equal releases are equal files.
_STAMPS = {
    ".sav": (rb"(?s)\A(.{92})\d\d [A-Z][a-z]{2} \d\d\d\d:\d\d:\d\d", rb"\g<1>01 Jan 7000:00:00"),
    ".dta": (rb"(?s)<timestamp>\x11.{17}</timestamp>", b"<timestamp>\x1101 Jan 1970 00:00</timestamp>"),
}


@dataclass(frozen=True, kw_only=True)
class Labels:
    """What a file says of its columns beside their cells.

    Attributes
    ----------
    columns
        What a column is called in words.
    values
        By column, its values and their labels, in the order of the values.
    measures
        ``"nominal"``, ``"ordinal"`` or ``"scale"``, where SPSS knows it.
    """

    columns: Mapping[str, str] = field(default_factory=dict)
    values: Mapping[str, Mapping[Any, str]] = field(default_factory=dict)
    measures: Mapping[str, str] = field(default_factory=dict)


def is_labelled(path: Path) -> bool:
    """Whether a file is one of SPSS, Stata or SAS, by its name."""
    return path.suffix.lower() in READERS


def read_labelled(path: Path) -> pl.DataFrame:
    """The rows of such a file, labels in the place of values that all have one."""
    frame, about = _read(path)
    labels = _labels(about)
    return frame.with_columns(_plain(frame[name], labels.values.get(name, {})) for name in frame.columns)


def read_labels(path: Path) -> Labels:
    """What such a file says of its columns; nothing where it is another kind of file."""
    return _labels(_read(path, metadataonly=True)[1]) if is_labelled(path) else Labels()


def _read(path: Path, **how: Any) -> tuple[pl.DataFrame, Any]:
    library = _library()
    try:
        return getattr(library, READERS[path.suffix.lower()])(str(path), output_format="polars", **how)  # type: ignore[no-any-return]
    except Exception:  # what the library raises may quote cells
        raise InputError(f"'{path.name}' cannot be read as a {path.suffix} file: check that it is whole.") from None


def _library() -> Any:
    try:
        import pyreadstat
    except ImportError:
        raise MissingExtraError("A file of SPSS, Stata or SAS", "pyreadstat", "formats") from None
    return pyreadstat


def _labels(about: Any) -> Labels:
    return Labels(
        columns={name: text for name, text in about.column_names_to_labels.items() if text},
        values={name: _told_apart(values) for name, values in about.variable_value_labels.items()},
        measures={name: kind for name, kind in (about.variable_measure or {}).items() if kind != "unknown"},
    )


def _told_apart(values: Mapping[Any, str]) -> dict[Any, str]:
    """Labels in the order of their values; where two values share one, each with its value behind it."""
    normal = {value: normal_text(label) for value, label in values.items()}
    often = Counter(normal.values())
    ordered = sorted(normal, key=lambda value: (isinstance(value, str), value))
    return {
        value: label if label and often[label] == 1 else f"{label} ({_text(value)})".strip()
        for value, label in ((value, normal[value]) for value in ordered)
    }


def _text(value: Any) -> str:
    return value if isinstance(value, str) else format_number(float(value))


def _plain(series: pl.Series, labels: Mapping[Any, str]) -> pl.Series:
    """A column as it is read: labels, or whole numbers as such."""
    known = series.drop_nulls().unique()
    if labels and known.len() and set(known.to_list()) <= set(labels):
        return _labelled(series, labels)
    return whole_numbers(series)


def whole_numbers(series: pl.Series) -> pl.Series:
    """A column of a format that knows no whole numbers, as such where all of its numbers are."""
    known = series.drop_nulls()
    if not series.dtype.is_float() or known.is_empty() or not known.is_finite().all():
        return series
    whole = (known == known.round()).all() and (known.abs() < _WHOLE).all()
    return series.cast(pl.Int64) if whole else series


def _labelled(series: pl.Series, labels: Mapping[Any, str]) -> pl.Series:
    return series.replace_strict(list(labels), list(labels.values()), default=None, return_dtype=pl.String)


def write_labelled(frame: pl.DataFrame, path: Path, labels: Labels) -> None:
    """Write a release as a file of SPSS or Stata, cells of labelled columns as values with labels."""
    library, kind = _library(), path.suffix
    names = _names(frame.columns, _LONGEST_NAME[kind])
    columns, values = [], {}
    for name in frame.columns:
        coded = _coded(frame[name], labels.values.get(name, {}), _LONGEST_LABEL[kind])
        if coded is None:
            columns.append(frame[name].cast(pl.String) if frame[name].dtype == pl.Boolean else frame[name])
        else:
            columns.append(coded[0])
            values[names[name]] = coded[1]
    written = pl.DataFrame(columns).rename(names)
    titles = {names[name]: labels.columns.get(name, name) for name in frame.columns}
    how: dict[str, Any] = {"column_labels": titles, "variable_value_labels": values}
    if kind == ".sav":
        how["variable_measure"] = {names[name]: one for name, one in labels.measures.items() if name in names}
    getattr(library, WRITERS[kind])(written, str(path), **how)
    pattern, fixed = _STAMPS[kind]
    path.write_bytes(re.sub(pattern, fixed, path.read_bytes(), count=1))


def read_copy(path: Path, names: list[str]) -> pl.DataFrame:
    """The cells of such a file as they were released, under the names they had."""
    frame, about = _read(path)
    labels = _labels(about).values
    shown = [_labelled(frame[name], labels[name]) if name in labels else frame[name] for name in frame.columns]
    return pl.DataFrame(shown).rename(dict(zip(frame.columns, names, strict=True)))


def _names(names: list[str], longest: int) -> dict[str, str]:
    """Names that these programs take, by the names they stand for; the original is the column's label."""
    found: dict[str, str] = {}
    for name in names:
        plain = re.sub(r"[^A-Za-z0-9_]", "_", name)[:longest]
        plain = plain if plain[:1].isalpha() else f"v_{plain}"[:longest]
        number, taken = 1, {one.lower() for one in found.values()}
        free = plain
        while free.lower() in taken:
            number += 1
            free = f"{plain[: longest - 8]}_{number}"
        found[name] = free
    return found


def _coded(
    series: pl.Series, known: Mapping[Any, str], longest: int
) -> tuple[pl.Series, dict[Any, str]] | None:
    """A column as numbers with labels: those it had for values that stand as they are, further ones for other cells."""
    if series.dtype != pl.String or not known or not all(isinstance(value, float | int) for value in known):
        return None
    cells = series.drop_nulls().unique().sort().to_list()
    numbers = {label: int(value) for value, label in known.items() if float(value).is_integer()}
    if len(numbers) != len(known) or any(len(cell.encode()) > longest for cell in cells):
        return None
    if not any(cell in numbers for cell in cells) and not all(cell[:1] in "{*" for cell in cells):
        return None  # values that had no labels
    free = max(numbers.values(), default=0) + 1
    codes = {cell: numbers[cell] for cell in cells if cell in numbers}
    codes |= {cell: free + at for at, cell in enumerate(cell for cell in cells if cell not in numbers)}
    coded = series.replace_strict(list(codes), list(codes.values()), default=None, return_dtype=pl.Int64)
    # Nothing but what the release shows: the label of a value that nobody is left with is not in it.
    return coded, {number: cell for cell, number in sorted(codes.items(), key=lambda one: one[1])}
