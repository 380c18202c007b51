"""How a text file is written: encoding, separator and header, from its first bytes and lines."""

from __future__ import annotations

import codecs
import csv
import gzip
import re
import zlib
from collections import Counter
from collections.abc import Iterator, Sequence
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from pathlib import Path
from typing import IO, cast

from shoal.errors import InputError
from shoal.io.csv import check_separator

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
