"""Tables of counts and means as text: R's ``table`` and data frames, pandas' series, frames and ``crosstab``."""

from __future__ import annotations

import re
from collections.abc import Sequence

from shoal.vault.protocol.blocks import CLUSTERS, Block, Record, columns_of, filled, is_count, is_number
from shoal.vault.protocol.conditions import Conditions
from shoal.vault.protocol.tables import is_figure

_NAME = re.compile(r"[A-Za-z_.][\w.%-]*(?:\(\w+\))?")
_DTYPE = re.compile(r"^(?:Name: (?P<name>.+?), )?(?:Length: \d+, )?dtype: (?P<kind>[a-z]+)\d*$")
_TYPES = re.compile(r"\s*(?:<\w+>\s*)+")  # below the header of a tibble


def crossed(lines: Sequence[str], at: int, reader: Conditions) -> Block | None:
    """Counts by two columns: R has the second one's name above, pandas the first one's below."""
    if at + 2 >= len(lines):
        return None
    first, second = lines[at].split(), lines[at + 1].split()
    if len(first) == 1 and len(second) > 1:
        names, values = [second[0], first[0]], second[1:]
    elif len(first) > 1 and len(second) == 1:
        names, values = [second[0], first[0]], first[1:]
    else:
        return None
    columns = columns_of(names, reader)
    if not columns or columns[0] == columns[1] or not _are_values(values, columns[1], reader):
        return None
    block = Block(lines=[at, at + 1])
    for place in range(at + 2, len(lines)):
        mine, *counts = lines[place].split() or [""]
        if len(counts) != len(values) or not all(map(is_count, counts)):
            break
        block.lines.append(place)
        for value, number in zip(values, counts, strict=True):
            block.records.append((place, {columns[0]: mine, columns[1]: value, "n": number}))
    return block if block.records else None


def counted(lines: Sequence[str], at: int, reader: Conditions) -> Block | None:
    """R's ``table`` of one column: its name, then values and counts, a line each, in several parts where it is wide."""
    names = lines[at].split()
    columns = columns_of(names, reader) if len(names) == 1 else []
    if not columns:
        return None
    block = Block(lines=[at])
    for place in range(at + 1, len(lines) - 1, 2):
        values, counts = lines[place].split(), lines[place + 1].split()
        fitting = values and len(values) == len(counts) and all(map(is_count, counts))
        if not fitting or not _are_values(values, columns[0], reader):
            break
        block.lines += [place, place + 1]
        block.records += [(place, {columns[0]: one, "n": n}) for one, n in zip(values, counts, strict=True)]
    return block if block.records else None


def series(lines: Sequence[str], at: int, end: int, reader: Conditions) -> Block | None:
    """Of pandas, up to the line with its type at ``end``: counts where they are whole, else means or shares."""
    found = _DTYPE.match(lines[end].strip()) if end > at else None
    if found is None:
        return None
    keys = columns_of(lines[at].split(), reader)
    named = found["name"] and reader.names.column(found["name"])
    start = at + 1
    if not keys and named and found["kind"] == "int":  # value_counts before pandas 2
        keys, start = [named], at
    figure = "n" if found["kind"] == "int" else f"mean_{named}" if named else None
    figure = "support" if found["name"] == "proportion" else figure
    if not keys or figure is None:
        return None
    records = _keyed(lines, start, end, [*keys, figure])
    return Block(records=records, lines=[at, *(place for place, _ in records), end]) if records else None


def frame(lines: Sequence[str], at: int, reader: Conditions) -> Block | None:
    """A data frame of R or pandas: names, perhaps those of keys below them, and rows with or without a number each."""
    found = _header(lines, at, reader)
    if found is None:
        return None
    header, keys, start = found
    numbered = not keys and start < len(lines) and len(lines[start].split()) == len(header) + 1
    names = [*keys, *header] if not numbered else ["", *header]
    records = _keyed(lines, start, len(lines), names) if len(set(names)) == len(names) else []
    # Rows with names of their own say something that stands under no column.
    if not records or (numbered and not all(is_count(cells[""]) for _, cells in records)):
        return None
    renamed = _renamed(names, keys, records, reader)
    made = [(place, {name: cells[old] for old, name in renamed.items() if name}) for place, cells in records]
    return Block(records=made, lines=[*range(at, start), *(place for place, _ in records)])


def _header(lines: Sequence[str], at: int, reader: Conditions) -> tuple[list[str], list[str], int] | None:
    """Names of a data frame, those of its keys, and the line where its rows begin; None where no frame does."""
    header = lines[at].split()
    if not header or not all(_NAME.fullmatch(one) for one in header) or at + 1 >= len(lines):
        return None
    below = lines[at + 1].split()
    keys = below if all(reader.names.column(one) or CLUSTERS.fullmatch(one) for one in below) else []
    known = [one for one in [*keys, *header] if reader.names.column(one)]
    if not known or (len(header) < 2 and not keys) or not below or below[0].startswith(("[", "array(")):
        return None
    return header, keys, at + 2 if keys or _TYPES.fullmatch(lines[at + 1]) else at + 1


def _keyed(lines: Sequence[str], start: int, end: int, names: Sequence[str]) -> list[Record]:
    """Rows of as many words as there are names, one of them a number; up to the first that is none."""
    found: list[Record] = []
    before: list[str] = []
    for place in range(start, end):
        row = filled(lines[place], lines[place].split(), len(names), before)
        if row is None or not any(map(is_number, row)):
            break
        found.append((place, dict(zip(names, row, strict=True))))
        before = row
    return found


def _renamed(names: Sequence[str], keys: Sequence[str], rows: Sequence[Record], reader: Conditions) -> dict[str, str]:
    """What the columns of a frame are: as they are called, or means where nothing else is stated; "" is left out.

    Rows that are numbered one after the other, of nothing but columns of numbers, are cluster centres.
    """
    given = [name for name in names if name]
    numbers = [name for name in given if name not in keys and _is_numbers(name, rows, reader)]
    known = {name: name for name in names}
    if any(CLUSTERS.fullmatch(name) for name in given):
        return known
    if len(numbers) == len(given):
        first = [cells.get("") for _, cells in rows]
        ranks = [[str(place + start) for place in range(len(rows))] for start in (0, 1)]
        return known | {"": "cluster"} if first in ranks else known
    if keys or not any(is_figure(name, reader) for name in given):
        return known | {name: f"mean_{name}" for name in numbers}
    return known


def _is_numbers(name: str, rows: Sequence[Record], reader: Conditions) -> bool:
    """Whether a name is that of a column, below which there are only numbers."""
    column = reader.names.column(name)
    return column is not None and reader.is_number(column) and all(is_number(cells[name]) for _, cells in rows)


def _are_values(words: Sequence[str], column: str, reader: Conditions) -> bool:
    return bool(words) and all(reader.is_value(column, word) for word in words)
