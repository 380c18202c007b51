"""Delimited text to a frame of text columns.

Polars splits the file on all cores. What it lets pass in silence (short rows, blank lines read as rows) is
found by counting separators, at a few per cent of the cost; Python's csv module reads the header, and the
whole file only to name the row at fault.
"""

from __future__ import annotations

import csv
from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

import numpy as np
import polars as pl

from shoal.data.texts import FIRST, counted, repeats
from shoal.data.values import normal_text
from shoal.errors import InputError, ParameterError
from shoal.io.cell_format import check_names
from shoal.io.text import BLANKS, CHUNK, Text, has_quotes

_ENDS_EMPTY = ""  # no column of a file can have this name
_LONE_RETURN = "\u240d"


def parse(
    text: Text, *, separator: str, columns: Sequence[str] | None, markers: Sequence[str], hold: bool = False
) -> pl.DataFrame:
    """Split a text into rows and cells.

    Parameters
    ----------
    columns
        Names of the columns; None when the first row is a header.
    markers
        Cells that become null, next to empty ones, once cells have lost their surrounding blanks.
    hold
        Number texts of columns that seem to repeat while they are read, which takes a quarter of the memory.
    """
    check_separator(separator)
    if text.data[-1] == ord(separator):
        # Polars overlooks an empty last field where no line end follows.
        ended = bytes(text.data) + b"\n"
        text = Text(text.name, ended, ended)
    names, skip, has_rows = _lines(text, separator, columns)
    schema = dict.fromkeys(names, pl.String)
    if not has_rows:
        return pl.DataFrame(schema=schema)
    if has_quotes(text):
        _check_quotes(text, separator)
    padded = text.is_padded(separator)
    text.let_go()  # Polars maps the file once more
    scan = pl.scan_csv(
        text.feed, has_header=False, skip_lines=skip, schema=schema, separator=separator, glob=False
    )
    try:
        # The streaming engine trims one batch while it parses the next, and keeps the order of the rows.
        cells = _cells(names, separator, padded, markers)
        if hold:
            first = scan.select(cells).head(FIRST).collect(engine="streaming")
            cells = [
                cell.cast(counted()) if name and repeats(first[name]) else cell
                for name, cell in zip(first.columns, cells, strict=True)
            ]
        frame = scan.select(cells).collect(engine="streaming")
    except (pl.exceptions.PolarsError, pl.exceptions.PanicException):
        # Polars quotes cells in its messages, so nothing of them is passed on.
        _blank_lines(text, len(names), separator, header=columns is None)
        raise InputError(f"'{text.name}' cannot be split into rows and cells: check its format.") from None
    ends_empty = frame.drop_in_place(_ENDS_EMPTY).any()
    if len(names) > 1 and ends_empty:
        frame = _without_blank_lines(text, frame, separator, markers, header=columns is None)
    return frame


def _cells(names: Sequence[str], separator: str, padded: bool, markers: Sequence[str]) -> list[pl.Expr]:
    """The cells as they shall be, and where a row ends in nothing, not even quotes."""
    cells = [pl.col(name) for name in names]
    ends_empty = cells[-1].is_null().alias(_ENDS_EMPTY)
    if padded:
        cells = [cell.str.strip_chars(BLANKS.replace(separator, "")) for cell in cells]
    return [*(pl.when(cell.is_in(["", *markers]).not_()).then(cell) for cell in cells), ends_empty]


@dataclass(frozen=True)
class Layout:
    """Where the rows of a text begin, for whoever parses it in pieces.

    Attributes
    ----------
    start
        Byte at which the first row begins.
    header
        Whether the names are the text's own.
    """

    text: Text
    separator: str
    names: list[str]
    start: int
    header: bool

    @classmethod
    def of(cls, text: Text, separator: str, columns: Sequence[str] | None) -> Layout:
        """Read the header, or check the names that are given."""
        check_separator(separator)
        names, skip, has_rows = _lines(text, separator, columns)
        start = 0
        for _ in range(skip):
            start = text.data.find(b"\n", start) + 1
        return cls(text, separator, names, start if has_rows else len(text.data), columns is None)


def refuse_faulty(layout: Layout) -> None:
    """Refuse the first row of a text that cannot be read, by its number; nothing where all can."""
    if has_quotes(layout.text):
        _check_quotes(layout.text, layout.separator)
    _blank_lines(layout.text, len(layout.names), layout.separator, header=layout.header)


def _lines(text: Text, separator: str, columns: Sequence[str] | None) -> tuple[list[str], int, bool]:
    """Names of the columns, number of lines before the first row, and whether there is a row."""
    records = _records(text, separator)
    filled = (record for record in records if not _is_blank(record.cells))
    first = next(filled, None)
    if first is None:
        raise InputError(f"'{text.name}' holds nothing but blank lines.")
    # A blank line is no row, except that in a file of one column it is an empty cell.
    if columns is not None:
        names = _checked_names(text.name, list(columns))
        if len(names) != len(first.cells):
            raise InputError(
                f"The first row of '{text.name}' has {len(first.cells)} fields and 'columns' gives "
                f"{len(names)} names: check the names and the separator."
            )
        return names, first.line if len(names) > 1 else 0, True
    names = _checked_names(text.name, [normal_text(name) for name in first.cells], separator)
    second = next(records if len(names) == 1 else filled, None)
    return names, 0 if second is None else second.line, second is not None


@dataclass(frozen=True)
class _Record:
    """One record as Python's csv module reads it, and the number of lines before it."""

    line: int
    cells: list[str]


def _records(text: Text, separator: str) -> Iterator[_Record]:
    # The module takes a lone carriage return for a line end; Polars, rightly, for part of a cell.
    lines = (line.replace("\r\n", "\n").replace("\r", _LONE_RETURN) for line in text.lines())
    reader = csv.reader(lines, delimiter=separator, strict=True)
    while True:
        line = reader.line_num
        try:
            cells = next(reader)
        except StopIteration:
            return
        except csv.Error:
            raise _wrong_quote(text.name, line + 1) from None
        yield _Record(line, cells)


def _is_blank(cells: Sequence[str]) -> bool:
    return not cells or (len(cells) == 1 and not cells[0].strip())


def _checked_names(file: str, names: list[str], separator: str | None = None) -> list[str]:
    """Refuse unusable names; ``separator`` is given for a header that may have been split wrongly."""
    if separator is not None and any(_LONE_RETURN in name for name in names):
        raise InputError(f"'{file}' ends its lines with carriage returns alone: save it with line feeds.")
    if separator is not None and len(names) == 1:
        other = next((mark for mark in ";\t|," if mark in names[0]), None)
        if other is not None:
            shown = "a tab" if other == "\t" else f"'{other}'"
            raise InputError(
                f"'{file}' has a single column whose name contains {shown}: give it as separator."
            )
    check_names(names, f"'{file}'")
    twice = {name for name, count in Counter(names).items() if count > 1}
    if twice:
        raise InputError(f"'{file}' has two columns called '{min(twice)}': rename one.")
    return names


def _without_blank_lines(
    text: Text, frame: pl.DataFrame, separator: str, markers: Sequence[str], header: bool
) -> pl.DataFrame:
    """Drop blank lines, which Polars reads as rows, and refuse short rows, which it fills up.

    Every separator in the file stands either between two cells or inside one, so the difference to what a
    full table would have is the number of fields that are lacking.
    """
    between = frame.width - 1
    needed = between * frame.height
    if header:
        needed += between + sum(name.count(separator) for name in frame.columns)
    if has_quotes(text):
        inside = frame.select(pl.all().str.count_matches(separator, literal=True).sum())
        needed += sum(inside.row(0))
    lacking = needed - text.count(ord(separator))
    # A marker with a separator in it has been counted out of its cell, so the sum says nothing then.
    if not any(separator in marker for marker in markers):
        if lacking == 0:
            return frame
        at_end = text.blank_lines_at_end()
        if lacking == between * at_end:
            return frame.head(frame.height - at_end)
    blank = _blank_lines(text, frame.width, separator, header)
    keep = np.ones(frame.height, bool)
    keep[blank] = False
    return frame.filter(keep)


def _blank_lines(text: Text, width: int, separator: str, header: bool) -> list[int]:
    """Positions of blank lines among the rows, after refusing the first row that cannot be read."""
    blank: list[int] = []
    position = -int(header)
    for record in _records(text, separator):
        if _is_blank(record.cells):
            # Blank lines before the first row were skipped, so they have no position.
            if position > 0:
                blank.append(position)
                position += 1
            continue
        if position >= 0:
            _refuse_faulty(text.name, record, position - len(blank) + 1, width, header)
        position += 1
    return blank


def _refuse_faulty(file: str, record: _Record, row: int, width: int, header: bool) -> None:
    where = f"Row {row} (line {record.line + 1}) of '{file}'"
    if len(record.cells) != width:
        found = "1 field" if len(record.cells) == 1 else f"{len(record.cells)} fields"
        expected = f"the header has {width}" if header else f"there are {width} column names"
        raise InputError(
            f"{where} has {found} and {expected}: put cells that contain the separator in quotes."
        )


def _check_quotes(text: Text, separator: str) -> None:
    """Refuse quotes that do not wrap a whole cell, which readers disagree about.

    Taken in turn, quotes open and close (one that is written twice closes and opens again), so an opening one
    must follow a cell's edge or a quote, and a closing one must come before such.
    """
    array = np.frombuffer(text.data, np.uint8)
    before, after = np.zeros(256, bool), np.zeros(256, bool)
    before[[ord(mark) for mark in (separator, "\n", '"')]] = True
    after[[ord(mark) for mark in (separator, "\n", "\r", '"')]] = True
    closing, last = 0, 0
    for at in range(0, array.size, CHUNK):
        places = np.flatnonzero(array[at : at + CHUNK] == ord('"')) + at
        if places.size == 0:
            continue
        opens, closes = places[closing::2], places[1 - closing :: 2]
        wrong = np.concatenate(
            [
                opens[(opens > 0) & ~before[array[opens - 1]]],
                closes[(closes < array.size - 1) & ~after[array[np.minimum(closes + 1, array.size - 1)]]],
            ]
        )
        if wrong.size:
            raise _wrong_quote(text.name, bytes(text.data[: int(wrong.min())]).count(b"\n") + 1)
        closing, last = (closing + places.size) % 2, int(places[-1])
    if closing:
        raise _wrong_quote(text.name, bytes(text.data[:last]).count(b"\n") + 1)


def _wrong_quote(file: str, line: int) -> InputError:
    return InputError(
        f"Line {line} of '{file}' has a quote that does not wrap a whole cell: put the cell in quotes, with "
        "no blanks outside them, and write a quote inside it twice."
    )


def check_separator(separator: str) -> None:
    """Refuse what cannot stand between cells."""
    if len(separator) != 1 or not separator.isascii() or separator in '"\r\n\0' or separator.isalnum():
        raise ParameterError(f"The separator must be one character, such as ';' or a tab. Got {separator!r}.")
