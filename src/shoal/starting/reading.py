"""The raw rows of a file or of a table in a database, and how they are written."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import polars as pl

from shoal.data.schema import Schema
from shoal.errors import InputError, ParameterError
from shoal.io.cell_format import Notation
from shoal.io.databases import Relation, check_url, without_password
from shoal.io.files import extension_of, is_typed, read_frame
from shoal.io.statistics_files import Labels, is_labelled, read_labels
from shoal.starting.sniffing import Layout, sniff

_MOST_ROWS = 200_000  # of a database, to look at


@dataclass(frozen=True, kw_only=True)
class Given:
    """What somebody said of a source and its columns; everything else is found out.

    Attributes
    ----------
    formats
        Of columns that are dates, how they are written.
    roles
        Of columns, what they are.
    """

    columns: Sequence[str] | None = None
    separator: str | None = None
    encoding: str | None = None
    sheet: str | None = None
    decimal: str | None = None
    thousands: str | None = None
    markers: Sequence[str] = ()
    table: str | None = None
    query: str | None = None
    formats: Mapping[str, str] = field(default_factory=dict)
    roles: Mapping[str, str] = field(default_factory=dict)
    k: int = 5

    @property
    def notation(self) -> Notation:
        """How the source writes numbers, as far as somebody said."""
        return Notation(decimal=self.decimal or ".", thousands=self.thousands)


@dataclass(frozen=True, eq=False, kw_only=True)
class Raw:
    """Rows as they were read.

    Attributes
    ----------
    source
        What a recipe says under ``[source]``, as far as reading goes.
    layout
        How a text file is written; None of other files.
    url
        Where a database is, with its password.
    """

    frame: pl.DataFrame = field(repr=False)
    target: str
    title: str
    source: Mapping[str, Any]
    layout: Layout | None = None
    url: str | None = field(default=None, repr=False)
    labels: Labels = field(default_factory=Labels)

    @property
    def in_database(self) -> bool:
        """Whether the rows are in a database."""
        return self.url is not None


def read_raw(target: str, given: Given) -> Raw:
    """Read a file, or a table of a database."""
    if "://" in target:
        return _database(target, given)
    path = Path(target)
    if path.suffix.lower() == ".toml" and path.is_file():
        raise InputError(f"'{path.name}' is a recipe already: run it with shoal run {path.name}, or name a data file.")
    if path.is_file() and not is_typed(path):
        return _text(path, given)
    for name in ("separator", "encoding"):
        if getattr(given, name) is not None:
            raise ParameterError(f"--{name} is for text files, and '{path.name}' is none: leave it out.")
    frame = read_frame(path, columns=given.columns, sheet=given.sheet, missing_markers=given.markers)
    source = {"sheet": given.sheet, "columns": None if given.columns is None else list(given.columns)}
    return Raw(
        frame=frame, target=target, title=path.stem, source=_said(source),
        labels=read_labels(path) if is_labelled(path) else Labels(),
    )  # fmt: skip


def _text(path: Path, given: Given) -> Raw:
    extension = extension_of(path)
    layout = sniff(path, encoding=given.encoding, separator=given.separator)
    if layout.names is None and given.columns is None:
        raise InputError(
            f"The first row of '{path.name}' looks like values, not like the names of columns: name the "
            f"{layout.width} columns in their order by --columns A,B,..."
        )
    frame = read_frame(
        path, columns=given.columns, separator=layout.separator, encoding=layout.encoding, missing_markers=given.markers
    )
    usual = "\t" if extension == ".tsv" else ","
    source = {
        "columns": None if given.columns is None else list(given.columns),
        "separator": None if layout.separator == usual else layout.separator,
        "encoding": None if layout.encoding == "utf-8" else layout.encoding,
    }
    return Raw(frame=frame, target=str(path), title=path.name.split(".")[0], source=_said(source), layout=layout)


def _said(source: Mapping[str, Any]) -> dict[str, Any]:
    return {key: value for key, value in source.items() if value is not None}


def _database(url: str, given: Given) -> Raw:
    from shoal.engines.postgres import connected

    try:
        check_url(url)
    except ValueError as error:
        raise InputError(f"The address of the database {error}.") from None
    if (given.table is None) == (given.query is None):
        raise ParameterError("A database has many tables: name one by --table, or give a --query.")
    relation = Relation(url=url, table=given.table, query=given.query, missing_markers=given.markers)
    with connected(url) as database:
        names = database.names(relation)
        kinds = database.describe(relation, Schema(quasi=names))
        database.copy_cells(relation, kinds, names[0])
        placed = {f"x{at}": kind for at, kind in enumerate(kinds.values())}
        query = f"SELECT {', '.join(placed)} FROM pg_temp.cells ORDER BY p LIMIT {_MOST_ROWS}"
        parts = list(database.frames(query, placed))
    if not parts:
        raise InputError(f"There are no rows in {relation.where}: there is nothing to look at.")
    source = {"url": without_password(url), "table": given.table, "query": given.query}
    frame = pl.concat(parts).rename(dict(zip(placed, names, strict=True)))
    return Raw(frame=frame, target=without_password(url), title=relation.name, source=_said(source), url=url)
