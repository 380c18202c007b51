"""What readers of a release make of its hierarchies: whose values lie under which of the labels that were published.

A manifest shows the paths of the labels that stand in the cells, and how the hierarchy was built. That is enough to
place anybody's value where labels can be read (dates, prefixes, intervals); else the hierarchy has to be given.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from decimal import Decimal, InvalidOperation
from typing import Any

import polars as pl

from shoal.data.coding import canonical_text
from shoal.data.dictionary import in_order
from shoal.data.domain import Domain
from shoal.data.hierarchy import MISSING, ROOT, Hierarchy
from shoal.data.hierarchy_files import build
from shoal.data.table import Table
from shoal.errors import InputError
from shoal.recoding.cover import is_readable
from shoal.recoding.foreign_cells import Span, span

Row = Sequence[str | None]


def publisher_manifest(manifest: Mapping[str, Any], table: Table | Domain) -> dict[str, Any]:
    """The manifest of a release with the whole hierarchies that its publisher has."""
    columns = []
    for entry in manifest["columns"]:
        column = table.columns.get(entry["name"])
        tree = None if column is None or "coded" in entry else column.hierarchy
        columns.append(dict(entry) if tree is None else entry | {"hierarchy": tree.rows(), "whole": True})
    return {**manifest, "columns": columns}


def readers_manifest(
    manifest: Mapping[str, Any],
    people: Sequence[pl.DataFrame | None],
    hierarchies: Mapping[str, Any] | None = None,
) -> dict[str, Any]:
    """The manifest with hierarchies over some people's values, as far as what is published tells them.

    Parameters
    ----------
    people
        Tables of people who are held against the release.
    hierarchies
        Those that its reader has, by column: a file, a `Hierarchy` or a builder.
    """
    given = dict(hierarchies or {})
    labelled = [entry["name"] for entry in manifest["columns"] if entry.get("hierarchy")]
    strange = [name for name in given if name not in labelled]
    if strange:
        raise InputError(f"The release has no hierarchy of a column '{strange[0]}': leave the one given out.")
    columns = []
    for entry in manifest["columns"]:
        name = entry["name"]
        if name not in labelled or (entry.get("whole") and name not in given):
            columns.append(dict(entry))
            continue
        texts = [canonical_text(frame[name]) for frame in people if frame is not None and name in frame.columns]
        values = pl.concat([pl.Series([], dtype=pl.String), *texts]).drop_nulls().unique()
        columns.append(completed(entry, values, given.get(name)))
    return {**manifest, "columns": columns}


def completed(entry: Mapping[str, Any], values: pl.Series, given: Any = None) -> dict[str, Any]:
    """A column's entry with a whole hierarchy over some people's distinct values."""
    name, rows = entry["name"], entry["hierarchy"]
    kind = entry["type"]
    # What cannot be read is refused where people are held against the release, with the share of it.
    known = [text for text in values.to_list() if kind not in ("numeric", "date") or is_readable(kind, text)]
    texts = in_order(kind, pl.Series([text for text in known if text not in (MISSING, ROOT)], dtype=pl.String))
    builder = entry.get("builder", {})
    if given is not None:
        paths = _given(name, given, texts, len(rows[0]))
    elif texts and {"dates", "prefix"} & set(builder):
        paths = build(name, builder, texts).rows()
    else:
        paths = _under_labels(entry, texts)
    return {**entry, "hierarchy": _in_value_order(_joined(rows, paths)), "whole": True}


def _in_value_order(paths: list[list[str]]) -> list[list[str]]:
    """Paths by their numbers, as far as values are numbers: nodes that are intervals keep that order."""
    try:
        return sorted(paths, key=lambda path: float(path[0]))
    except ValueError:
        return paths


def _given(name: str, given: Any, texts: Sequence[str], depth: int) -> list[list[str]]:
    tree = given if isinstance(given, Hierarchy) else build(name, given, texts)
    if tree.height + 1 != depth:
        raise InputError(f"The hierarchy given for '{name}' has {tree.height + 1} levels, that of the release {depth}.")
    return tree.rows()


def _joined(rows: Sequence[Row], paths: Sequence[Sequence[str]]) -> list[list[str]]:
    """Paths of values, and labels that nobody's value is under as values of their own."""
    found = [list(path) for path in paths]
    there = {label for path in found for label in path}
    for row in sorted(rows, key=lambda row: sum(label is None for label in row)):  # a node comes with those below it
        first = _first(row)
        if first not in there and (first != row[-1] or not found):
            found.append(_filled(row, first))
            there.update(found[-1])
    return found


def _under_labels(entry: Mapping[str, Any], values: Sequence[str]) -> list[list[str]]:
    """Paths of values by how labels are written; where that is not told, each must be a label itself."""
    name, rows, kind = entry["name"], entry["hierarchy"], entry["type"]
    root = [*[None] * (len(rows[0]) - 1), rows[0][-1]]
    leaves = {_same(kind, row[0]): row for row in rows if row[0] is not None}
    inner = [row for row in rows if row[0] is None and _first(row) != row[-1]]
    read = [(span(_first(row), kind), row) for row in inner] if kind in ("numeric", "date") else []
    spans = [(found, row) for found, row in read if found is not None]
    paths = [_filled(row, row[0]) for row in leaves.values()]
    lost = 0
    for value in values:
        if _same(kind, value) in leaves:
            continue
        row = _narrowest(value, kind, spans, root) if len(spans) == len(inner) else None
        lost += row is None
        paths.append(_filled(row or root, value))
    if lost:
        raise InputError(
            f"{lost} of {len(values)} different values of '{name}' are under no label that the manifest explains, as "
            f"its hierarchy is not public: give it, such as --hierarchy {name}=FILE."
        )
    return paths


def _same(kind: str, text: str) -> Any:
    """What equal values have in common: 39.0 is the 39 of a hierarchy."""
    try:
        return Decimal(text) if kind == "numeric" else text
    except InvalidOperation:
        return text


def _narrowest(value: str, kind: str, spans: Sequence[tuple[Span, Row]], root: Row) -> Row | None:
    """The path of the finest label whose span holds a value; None where labels that hold it are not above each other.

    A label such as 40+ may end where the next begins, which its hierarchy knows.
    """
    point = span(value, kind) if spans else None
    if point is None or point[0] is None:
        return root
    holding = [row for found, row in spans if _holds(found, point[0])]
    finest = min(holding, key=lambda row: sum(label is None for label in row), default=root)
    return finest if all(_first(row) in finest for row in holding) else None


def _holds(found: Span, value: Any) -> bool:
    low, with_low, high, with_high = found
    above = low is None or low < value or (with_low and low == value)
    return above and (high is None or value < high or (with_high and value == high))


def _first(row: Row) -> str:
    return next(label for label in row if label is not None)


def _filled(row: Row, leaf: str) -> list[str]:
    """A path without gaps: what is not said is the leaf, or the label below."""
    path = [leaf]
    for label in row[1:]:
        path.append(path[-1] if label is None else label)
    return path
