"""Cluster centres as text: Weka's SimpleKMeans, R's ``kmeans``, and numpy's arrays under the names of their columns."""

from __future__ import annotations

import re
from collections.abc import Sequence

from shoal.vault.forms import NUMBER
from shoal.vault.protocol.conditions import Conditions
from shoal.vault.protocol.rules_trees import Sheet
from shoal.vault.protocol.tables import (
    CLUSTERS,
    Block,
    Record,
    columns_of,
    filled,
    is_count,
    is_figure,
    is_number,
    record,
)

_WEKA = re.compile(r"^Attribute\s+Full Data(?P<clusters>(?:\s+\d+)+)\s*$")
_SIZE = re.compile(r"\(\s*(\d+(?:\.\d+)?)\s*\)")
_INSTANCES = re.compile(r"^\d+\s+\d+\s+\(\s*\d+%\)\s*$")
_SIZES = re.compile(r"^K-means clustering with \d+ clusters? of sizes? (?P<sizes>[\d, ]+)$")
_VECTOR = re.compile(r"^\s*\[\d+\](?P<numbers>(?:\s+\d+)+)\s*$")
_SQUARES = re.compile(rf"^\[\d+\](?:\s+{NUMBER})+$|^\(between_SS")
_ARRAY = re.compile(r"^\s*(?:array\()?\[\[\s*[-+.\d]")
_UNNAMED = "does not say which columns it is of: write their names, in order, on the line before it"
_MEANS = "Cluster means:"
_MOST = 200  # lines of an array


def weka_centres(lines: Sequence[str], at: int, reader: Conditions) -> Block | None:
    """The table of SimpleKMeans: a line an attribute, a column a cluster, and one of all rows."""
    found = _WEKA.match(lines[at])
    if found is None:
        return None
    width = len(found["clusters"].split())
    sizes = _SIZE.findall(lines[at + 1]) if at + 1 < len(lines) else []
    block = Block(lines=[at], left=[(at, "Full Data", "is about all rows, and no part of the answer")])
    rows: dict[str, list[str]] = {"cluster": found["clusters"].split()}
    place = at + 1
    while place < len(lines) and lines[place].strip() and not _WEKA.match(lines[place]):
        words = lines[place].split()
        name = " ".join(words[: -width - 1])
        if name and name not in rows and not name.startswith("+/-"):  # these are listed, like all that is odd
            rows[name] = words[-width:]
            block.lines.append(place)
        place += 1
    block.lines += _instances(lines, place)
    if len(sizes) == width + 1:
        rows["n"] = sizes[1:]
        block.lines.append(at + 1)
    block.records = [(at, {name: values[one] for name, values in rows.items()}) for one in range(width)]
    return block


def _instances(lines: Sequence[str], at: int) -> list[int]:
    """Lines behind Weka's centres, up to the next ones, that say once more how many rows each cluster has."""
    end = next((place for place in range(at, len(lines)) if _WEKA.match(lines[place])), len(lines))
    return [place for place in range(at, end) if _INSTANCES.match(lines[place])]


def r_centres(lines: Sequence[str], at: int, reader: Conditions) -> Block | None:
    """What R prints of ``kmeans``: sizes on the first line, then means, in several parts where they are wide."""
    if lines[at].strip() != _MEANS or at + 1 >= len(lines):
        return None
    block, centres, place = Block(lines=[at]), dict[str, tuple[int, dict[str, str]]](), at + 1
    while place < len(lines) and lines[place].strip():
        columns = columns_of(lines[place].split(), reader)
        if not columns or any(known.keys() & set(columns) for _, known in centres.values()):
            return Block(lines=[at], left=[(place, lines[place], f"is above a table that {_UNNAMED}")])
        rows = _rows(lines, place + 1, len(columns))
        for line, (cluster, *values) in rows:
            _, known = centres.setdefault(cluster, (line, {"cluster": cluster}))
            known.update(zip(columns, values, strict=True))
        block.lines += range(place, place + 1 + len(rows))
        place += 1 + len(rows)
    for line, found in ((line, _SIZES.match(lines[line].strip())) for line in range(max(0, at - 5), at)):
        sizes = [] if found is None else [one.strip() for one in found["sizes"].split(",")]
        if len(sizes) == len(centres):
            block.lines.append(line)
            for size, (_, known) in zip(sizes, centres.values(), strict=True):
                known["n"] = size
    block.lines += _beside(lines, place, len(centres))
    block.records = list(centres.values())
    return block


def _rows(lines: Sequence[str], at: int, width: int) -> list[tuple[int, list[str]]]:
    """Lines of a number and as many numbers as there are columns."""
    found = []
    for place in range(at, len(lines)):
        words = lines[place].split()
        if len(words) != width + 1 or not all(map(is_number, words)):
            break
        found.append((place, words))
    return found


def _beside(lines: Sequence[str], at: int, clusters: int) -> list[int]:
    """Lines behind R's means that hold no codes: the cluster of every row, and sums of squares, up to a blank line."""
    found, part = [], ""
    for place in range(at, len(lines)):
        text = lines[place].strip()
        if text == _MEANS:
            break
        if text.endswith(":") or not text:
            part = text
        vector = _VECTOR.match(text)
        numbers = [] if vector is None else vector["numbers"].split()
        is_vector = part == "Clustering vector:" and numbers and all(0 < int(one[:9]) <= clusters for one in numbers)
        squares = part.startswith("Within cluster sum of squares") and _SQUARES.match(text)
        if is_vector or squares:
            found.append(place)
    return found


def _end_of_array(lines: Sequence[str], at: int) -> int:
    """Where an array ends; its first line where another one begins before it does."""
    for place in range(at, min(at + _MOST, len(lines))):
        if place > at and _ARRAY.match(lines[place]):
            break
        if "]]" in lines[place]:
            return place
    return at


def array_centres(lines: Sequence[str], at: int, reader: Conditions) -> Block | None:
    """``print(model.cluster_centers_)``, with the columns' names on the line before."""
    if _ARRAY.match(lines[at]) is None:
        return None
    end = _end_of_array(lines, at)
    text = " ".join(lines[at : end + 1])
    rows = [re.split(r"[\s,]+", one.strip(" ,")) for one in re.findall(r"\[([^\[\]]*)\]", text)]
    before = max((place for place in range(max(0, at - 2), at) if lines[place].strip()), default=None)
    named = [] if before is None else re.findall(r"[^\s,;\[\]()'\"]+", lines[before].strip().removeprefix("columns:"))
    columns = columns_of(named, reader)
    if before is None or not columns:
        return Block(lines=[], left=[(at, "[[", f"is an array that {_UNNAMED}")])
    fitting = all(len(row) == len(columns) and all(map(is_number, row)) for row in rows)
    if not fitting or "]]" not in text or "..." in text:
        why = f"is an array of other rows than the {len(columns):,} columns above it: print it whole"
        return Block(lines=[], left=[(at, "[[", why)])
    records = [(at, {"cluster": str(place), **dict(zip(columns, row, strict=True))}) for place, row in enumerate(rows)]
    return Block(records=records, lines=[before, *range(at, end + 1)])


# ----------------------------------------
# Tables of counts and means as text: R's ``table`` and data frames, pandas' series, frames and ``crosstab``.


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


# ----------------------------------------
# Prints of cluster centres and of tables within a text: read like CSV, and the rest of the text is left for others.


def read_printed(text: str, reader: Conditions) -> tuple[Sheet, str]:
    """Statements of all prints in a text, and the text with words that mean nothing in the place of their lines."""
    lines = text.splitlines()
    rest = list(lines)
    ends = _ends(lines)
    sheet, at = Sheet(), 0
    while at < len(lines):
        block = _block(lines, at, ends[at], reader) if lines[at].strip() else None
        if block is not None:
            for place, what, why in block.left:
                sheet.leave(place + 1, what, why)
            for place, cells in block.records:
                sheet.pieces.append((place + 1, " \t ".join(cells.values())))
                record(cells, place + 1, reader, sheet)
            for place in block.lines:
                lines[place], rest[place] = "", "(printed)"  # no list of rules is whole without them
        at += 1
    return sheet, "\n".join(rest)


def _block(lines: Sequence[str], at: int, end: int, reader: Conditions) -> Block | None:
    """The print that begins at a line, if one does."""
    found = (
        weka_centres(lines, at, reader) or r_centres(lines, at, reader) or array_centres(lines, at, reader)
    )  # fmt: skip
    found = found or series(lines, at, end, reader) or crossed(lines, at, reader)
    return found or counted(lines, at, reader) or frame(lines, at, reader)


def _ends(lines: Sequence[str]) -> list[int]:
    """For every line, the last one before the next that is blank."""
    ends, end = [0] * len(lines), len(lines) - 1
    for place in range(len(lines) - 1, -1, -1):
        if not lines[place].strip():
            end = place - 1
        ends[place] = end
    return ends
