"""Tables of research values, one row a label, as ``shoal values`` writes them and experts edit them.

A level's value stands in the first of its rows; in the others it may be left blank or repeated.
"""

from __future__ import annotations

import csv
import io
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from shoal.data.column import TREE, Column
from shoal.data.hierarchy import ROOT
from shoal.errors import InputError, ParameterError, names_values
from shoal.params import nearest

HEADER = ("column", "level", "label", "count", "value", "rules kept", "breaks")
_NEEDED = ("column", "level", "value")


@dataclass(frozen=True)
class _Line:
    """Where an entry stands, for messages."""

    file: str
    number: int

    def error(self, what: str) -> ParameterError:
        return ParameterError(f"Line {self.number} of '{self.file}' {what}")


@dataclass
class _Level:
    """What a file says of one level."""

    line: _Line
    labels: set[str]
    value: float | None = None
    valued: _Line | None = None


def values_csv(levels: Iterable[Any]) -> str:
    """What :func:`shoal.value_levels` gives, as CSV text to edit and read back."""
    text = io.StringIO()
    writer = csv.DictWriter(text, HEADER, lineterminator="\n")
    writer.writeheader()
    writer.writerows(row for level in levels for row in level.rows())
    return text.getvalue()


def read_values(path: Path, columns: Sequence[Column]) -> dict[str, list[float]]:
    """Column to a value a level, from a file that fits the columns' hierarchies."""
    by_name = {column.name: column for column in columns}
    found: dict[str, dict[int, _Level]] = {}
    for line, row in _rows(path):
        column = _column(line, row["column"], by_name)
        _enter(line, row, column, found.setdefault(column.name, {}))
    return {name: _finished(path.name, by_name[name], levels) for name, levels in found.items()}


def _rows(path: Path) -> Iterable[tuple[_Line, dict[str, str]]]:
    try:
        text = path.read_text("utf-8-sig")
    except OSError as error:
        raise InputError(f"The values '{path}' cannot be read: {error.strerror}.") from None
    except UnicodeDecodeError:
        raise InputError(f"The values '{path.name}' are not UTF-8: save them as UTF-8.") from None
    reader = csv.DictReader(io.StringIO(text, newline=""), restkey="", restval="")
    lacking = [name for name in _NEEDED if name not in (reader.fieldnames or ())]
    if lacking:
        raise InputError(f"The values '{path.name}' have no column '{lacking[0]}': begin as 'shoal values --csv' does.")
    for row in reader:
        if any(isinstance(cell, str) and cell.strip() for cell in row.values()):
            yield _Line(path.name, reader.line_num), row


def _column(line: _Line, name: str, columns: Mapping[str, Column]) -> Column:
    if name in columns:
        return columns[name]
    near = nearest(name, columns)
    hint = f"Did you mean '{near}'?" if near else f"They are: {', '.join(columns)}."
    raise line.error(f"names the column '{name}', which is not a quasi-identifier. {hint}")


def _enter(line: _Line, row: Mapping[str, str], column: Column, levels: dict[int, _Level]) -> None:
    """One row, held against its column's hierarchy and the rows before it."""
    names = _labels(column)
    text = row["level"].strip()
    if not text.isdecimal() or int(text) >= len(names):
        raise line.error(f"gives '{column.name}' the level '{text}'; it has 0 to {len(names) - 1}.")
    level = int(text)
    mine = levels.setdefault(level, _Level(line, set()))
    label = row.get("label", "")
    if label:
        if label not in names[level]:
            near = nearest(label, names[level]) if names_values() else None
            hint = f"; the nearest is '{near}'" if near else ""
            raise line.error(f"has '{label}', which is no label of level {level} of '{column.name}'{hint}.")
        mine.labels.add(label)
    if row["value"].strip():
        value = _number(line, row["value"].strip(), column.name, level)
        if level == len(names) - 1 and level and value:
            raise line.error(f"must give '{column.name}' 0 at level {level}, which publishes nothing of it.")
        if mine.valued is not None and mine.value != value:
            raise line.error(
                f"gives level {level} of '{column.name}' the value {value:g}, and line {mine.valued.number} gives it "
                f"{mine.value:g}: a level has one."
            )
        mine.value, mine.valued = value, line


def _number(line: _Line, text: str, name: str, level: int) -> float:
    try:
        value = float(text)
    except ValueError:
        value = -1.0
    if not 0.0 <= value < float("inf"):
        raise line.error(f"gives level {level} of '{name}' the value '{text}', which is no number of at least 0.")
    return value


def _finished(file: str, column: Column, levels: Mapping[int, _Level]) -> list[float]:
    names = _labels(column)
    last = max(level.line.number for level in levels.values())
    found = []
    for level, labels in enumerate(names):
        mine = levels.get(level)
        if mine is None or mine.value is None:
            number = last if mine is None else mine.line.number
            raise _Line(file, number).error(
                f"leaves level {level} of '{column.name}' without a value: give every level one, or leave the column "
                "out."
            )
        lacking = [label for label in labels if label not in mine.labels] if mine.labels else []
        if lacking:
            raise mine.line.error(
                f"begins level {level} of '{column.name}', which lacks its label '{lacking[0]}': write the table anew "
                "with 'shoal values'."
            )
        found.append(mine.value)
    return found


def _labels(column: Column) -> list[list[str]]:
    """Labels of a column level by level; without a hierarchy it is published or starred."""
    if column.kind == TREE and column.hierarchy is not None:
        return [list(labels) for labels in column.hierarchy.labels]
    return [column.texts.to_list(), [ROOT]]
