"""How a text file is written: encoding, separator and header, from its first bytes and lines."""

from __future__ import annotations

import codecs
import csv
import gzip
import re
import zlib
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field
from pathlib import Path
from typing import IO, Any, cast

import polars as pl

from shoal.data.schema import Schema
from shoal.errors import InputError, ParameterError
from shoal.io.cell_format import Notation
from shoal.io.csv import check_separator
from shoal.io.databases import Relation, check_url, without_password
from shoal.io.files import extension_of, is_typed, read_frame
from shoal.io.statistics_files import Labels, is_labelled, read_labels

_BYTES = 1 << 20
_LINES = 200
SEPARATORS = (",", ";", "\t", "|")
# Bytes that latin-1 has control characters for, and Windows letters and marks.
_WINDOWS = frozenset(range(0x80, 0xA0)) - {0x81, 0x8D, 0x8F, 0x90, 0x9D}
_VALUE = re.compile(
    r"[+-]?[\d.,' ]+%?|\d{1,4}[./-]\d{1,2}[./-]\d{1,4}(?:[ T].*)?|[^@\s]+@[^@\s]+\.\w+|\?|-|true|false", re.IGNORECASE
)


@dataclass(frozen=True, kw_only=True)
class Layout:
    """How a text file is written.

    Attributes
    ----------
    encoding
        ``"utf-8"``, ``"utf-16"``, ``"cp1252"`` or ``"latin-1"``.
    guessed
        Whether the encoding is one of several that would do.
    names
        The header; None where the first row looks like one of values.
    width
        Number of columns.
    """

    encoding: str
    guessed: bool
    separator: str
    names: Sequence[str] | None
    width: int


def sniff(path: Path, *, encoding: str | None = None, separator: str | None = None) -> Layout:
    """How a text file is written; what is given is not looked for.

    The first mebibyte decides, except that a file that begins in UTF-8 has to be so to its end.
    """
    data = _head(path)
    found, guessed = (encoding, False) if encoding is not None else _encoding(path, data)
    try:
        with suppress(UnicodeError):  # of half a character
            b"a".decode(found)  # refuses what is none of text, such as bz2, of which a kilobyte unpacks to gigabytes
        text = codecs.getincrementaldecoder(found)().decode(data)
    except (LookupError, ValueError):  # no such encoding, no name of one, or other bytes
        raise InputError(f"'{path.name}' is not {found} text: give its --encoding, such as latin-1.") from None
    lines = text.removeprefix("\ufeff").splitlines(keepends=True)
    lines = [line for line in (lines[:-1] if len(data) >= _BYTES else lines) if line.strip()][:_LINES]
    if not lines and text.removeprefix("\ufeff").strip():
        raise InputError(
            f"The first line of '{path.name}' is longer than the mebibyte that is looked at: give its columns shorter "
            "names, or save it as Parquet."
        )
    if not lines:
        raise InputError(f"'{path.name}' holds nothing but blank lines.")
    if separator is not None:
        check_separator(separator)
    mark = separator if separator is not None else _separator(path, lines)
    rows = _rows(lines, mark)
    return Layout(
        encoding=found, guessed=guessed, separator=mark, names=_header(rows), width=len(rows[0]) if rows else 1
    )


@contextmanager
def _opened(path: Path) -> Iterator[IO[bytes]]:
    """A file, unpacked, after which what is wrong with it is told."""
    try:
        with gzip.open(path) if path.suffix.lower() == ".gz" else path.open("rb") as file:
            yield cast("IO[bytes]", file)
    except (EOFError, zlib.error, gzip.BadGzipFile):
        raise InputError(f"'{path.name}' is not a whole gzip file: check how it was made.") from None
    except OSError as error:
        raise InputError(f"'{path}' cannot be read: {error.strerror}.") from None


def _head(path: Path) -> bytes:
    with _opened(path) as file:
        data = file.read(_BYTES)
    if not data:
        raise InputError(f"'{path.name}' is empty: there is nothing to read.")
    return data


def _encoding(path: Path, data: bytes) -> tuple[str, bool]:
    if data.startswith((codecs.BOM_UTF16_LE, codecs.BOM_UTF16_BE)):
        return "utf-16", False
    if b"\0" in data:
        raise InputError(f"'{path.name}' contains zero bytes, so it is no text file that is read here: check its kind.")
    if _is_utf8(path):
        return "utf-8", False
    # Both are read to their ends; they differ in marks such as the euro sign and curled quotes.
    return ("cp1252" if _WINDOWS.intersection(data) else "latin-1"), True


def _is_utf8(path: Path) -> bool:
    decoder = codecs.getincrementaldecoder("utf-8")()
    with _opened(path) as file:
        try:
            while chunk := file.read(_BYTES):
                decoder.decode(chunk)
            decoder.decode(b"", final=True)
        except UnicodeDecodeError:
            return False
    return True


def _separator(path: Path, lines: Sequence[str]) -> str:
    """The mark that cuts every line into as many cells; one that does so into several, where any does."""
    if path.name.lower().endswith((".tsv", ".tsv.gz")):
        return "\t"
    best, most = ",", (0.0, 0)
    for mark in SEPARATORS:
        widths = Counter(len(row) for row in _rows(lines, mark))
        width, rows = max(widths.items(), key=lambda one: (one[1], one[0]), default=(1, 0))
        score = (rows / sum(widths.values()), width) if width > 1 else (0.0, 0)
        if score > most:
            best, most = mark, score
    return best


def _rows(lines: Sequence[str], mark: str) -> list[list[str]]:
    """Rows of a sample by one mark, up to a line that is no CSV, which reading itself refuses later."""
    found = []
    with suppress(csv.Error):
        for row in csv.reader(lines, delimiter=mark):
            found.append([cell.strip() for cell in row])
    return found


def _header(rows: Sequence[Sequence[str]]) -> list[str] | None:
    """The names in the first row; None where it looks like values.

    Names are texts, each once. Numbers, dates and the like among them, or a cell that comes again below, make it a row.
    """
    if not rows:
        return None
    first, below = rows[0], rows[1:]
    if not any(first):
        return None
    values = sum(bool(_VALUE.fullmatch(cell)) for cell in first)
    again = sum(any(cell == row[place] for row in below if place < len(row)) for place, cell in enumerate(first))
    return None if values or 2 * again >= len(first) else list(first)


# ----------------------------------------
# The raw rows of a file or of a table in a database, and how they are written.


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
