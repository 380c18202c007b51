"""Excel workbooks: one sheet in, and a release out with its labels on a sheet of their own."""

from __future__ import annotations

import datetime
from collections.abc import Iterable
from pathlib import Path
from typing import Any

import polars as pl

from shoal.errors import InputError, MissingExtraError
from shoal.io.statistics_files import Labels, whole_numbers
from shoal.params import nearest

EXTENSIONS = (".xlsx", ".xlsm", ".xlsb", ".xls", ".ods")
_MOST_ROWS, _LONGEST_CELL = 1_048_575, 32_767
# The library's own errors may quote cells; a panic of its Rust code is no Exception.
_BROKEN = (Exception, pl.exceptions.PanicException)
_EPOCH = datetime.datetime(1970, 1, 1)  # equal releases are equal files, whenever they are written


def is_workbook(path: Path) -> bool:
    """Whether a file is a workbook, by its name."""
    return path.suffix.lower() in EXTENSIONS


def sheets_of(path: Path) -> list[str]:
    """Names of the sheets of a workbook."""
    return list(_open(path).sheet_names)


def read_workbook(path: Path, sheet: str | None = None, columns: list[str] | None = None) -> pl.DataFrame:
    """One sheet, which must be named where there are several; its first row is the header, or ``columns`` is."""
    book = _open(path)
    filled = [name for name in book.sheet_names if _is_filled(book, name, path)]
    if sheet is None:
        if len(filled) != 1:
            what = f"has {len(filled)} sheets with cells ({', '.join(filled[:5])})" if filled else "has no cells"
            raise InputError(f"'{path.name}' {what}: name one of them as 'sheet' under [source], or --sheet.")
        sheet = filled[0]
    if sheet not in book.sheet_names:
        near = nearest(sheet, book.sheet_names)
        hint = f"did you mean '{near}'?" if near else f"there are {', '.join(book.sheet_names)}."
        raise InputError(f"'{path.name}' has no sheet '{sheet}': {hint}")
    frame = _load(book, sheet, path, header_row=None if columns else 0, column_names=columns)
    empty = [name for name in frame.columns if name.startswith("__UNNAMED__")]
    if any(frame[name].null_count() < frame.height for name in empty):
        raise InputError(
            f"Sheet '{sheet}' of '{path.name}' has a column without a name: its first row must be the header and "
            "nothing may stand above or beside the table; for one without a header, name the 'columns'."
        )
    frame = frame.drop(empty).with_columns(_plain(one) for one in frame.drop(empty))
    return frame.filter(~pl.all_horizontal(pl.all().is_null())) if frame.width else frame


def sheet_names(path: Path) -> list[str]:
    """All sheets of a workbook."""
    return list(_open(path).sheet_names)


def _plain(series: pl.Series) -> pl.Series:
    """A column as it was meant: workbooks know decimals and times alone."""
    if isinstance(series.dtype, pl.Datetime) and (series.dt.truncate("1d") == series).all():
        return series.cast(pl.Date)
    return whole_numbers(series)


def _open(path: Path) -> Any:
    try:
        import fastexcel
    except ImportError:
        raise MissingExtraError("A workbook", "fastexcel", "formats") from None
    try:
        return fastexcel.read_excel(path)
    except _BROKEN:
        raise _damaged(path) from None


def _damaged(path: Path) -> InputError:
    return InputError(f"'{path.name}' cannot be read as a workbook: check that it is whole.")


def _is_filled(book: Any, name: str, path: Path) -> bool:
    try:
        return bool(book.load_sheet(name, n_rows=1, header_row=None).width)
    except _BROKEN:  # the sheets of a workbook are read one by one, and their list may be whole
        raise _damaged(path) from None


def _load(book: Any, sheet: str, path: Path, **how: Any) -> pl.DataFrame:
    how = {key: value for key, value in how.items() if value is not None or key == "header_row"}
    try:
        return book.load_sheet(sheet, schema_sample_rows=None, **how).to_polars()  # type: ignore[no-any-return]
    except _BROKEN:
        raise InputError(
            f"Sheet '{sheet}' of '{path.name}' cannot be read as a table: its first row must be the header."
        ) from None


def write_workbook(tables: dict[str, pl.DataFrame], path: Path, labels: Labels) -> None:
    """Write frames as sheets, and what is known of columns and values that they show on one more."""
    try:
        import xlsxwriter
    except ImportError:
        raise MissingExtraError("A workbook", "xlsxwriter", "formats") from None
    literal = {"strings_to_formulas": False, "strings_to_urls": False, "strings_to_numbers": False}
    with xlsxwriter.Workbook(str(path), literal) as book:
        book.set_properties({"created": _EPOCH, "author": "", "comments": ""})
        heading, dates = book.add_format({"bold": True}), book.add_format({"num_format": "yyyy-mm-dd"})
        for name, frame in tables.items():
            _fill(book.add_worksheet(name), frame, heading, dates)
        shown = _shown(tables, labels)
        if shown.height:
            _fill(book.add_worksheet("labels"), shown, heading, dates)


def _fill(sheet: Any, frame: pl.DataFrame, heading: Any, dates: Any) -> None:
    if frame.height > _MOST_ROWS:
        raise InputError(f"A sheet holds {_MOST_ROWS:,} rows, and the release has {frame.height:,}: leave 'xlsx' out.")
    for place, name in enumerate(frame.columns):
        sheet.write_string(0, place, name, heading)
        series = frame[name]
        if series.dtype == pl.String and int(series.str.len_chars().max() or 0) > _LONGEST_CELL:  # type: ignore[arg-type]
            raise InputError(f"Column '{name}' has cells longer than a sheet takes: leave 'xlsx' out.")
        if series.dtype in (pl.Date, pl.Datetime):
            sheet.set_column(place, place, 12)
        _write_column(sheet, place, series, dates)
    sheet.freeze_panes(1, 0)


def _write_column(sheet: Any, place: int, series: pl.Series, dates: Any) -> None:
    values: Iterable[Any] = series.cast(pl.String) if series.dtype == pl.Boolean else series
    temporal, numeric = series.dtype in (pl.Date, pl.Datetime), series.dtype.is_numeric()
    for row, value in enumerate(values, start=1):
        if value is None:
            continue
        if temporal:
            sheet.write_datetime(row, place, value, dates)
        elif numeric:
            sheet.write_number(row, place, value)
        else:
            sheet.write_string(row, place, value)


def _shown(tables: dict[str, pl.DataFrame], labels: Labels) -> pl.DataFrame:
    """Labels of columns that are released, and of values that stand in their cells."""
    rows: list[tuple[str, str, str]] = []
    for frame in tables.values():
        for name in frame.columns:
            if name in labels.columns:
                rows.append((name, "", labels.columns[name]))
            cells = set(frame[name].drop_nulls().unique().to_list()) if frame[name].dtype == pl.String else set()
            values = labels.values.get(name, {})
            rows += [(name, f"{value:g}" if isinstance(value, float) else str(value), label)
                     for value, label in values.items() if label in cells]  # fmt: skip
    return pl.DataFrame(rows, schema={"column": pl.String, "value": pl.String, "label": pl.String}, orient="row")
