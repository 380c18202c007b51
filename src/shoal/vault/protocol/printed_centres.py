"""Cluster centres as text: Weka's SimpleKMeans, R's ``kmeans``, and numpy's arrays under the names of their columns."""

from __future__ import annotations

import re
from collections.abc import Sequence

from shoal.vault.forms import NUMBER
from shoal.vault.protocol.blocks import Block, columns_of, is_number
from shoal.vault.protocol.conditions import Conditions

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
