"""Read a table from a file, or say in one sentence why that cannot be done; write one back."""

from __future__ import annotations

import zlib
from collections.abc import Sequence
from contextlib import nullcontext
from pathlib import Path
from typing import BinaryIO

import polars as pl

from shoal.data.texts import all_told, held
from shoal.data.values import normal_text
from shoal.errors import EmptyTableError, InputError, ParameterError
from shoal.io.cell_format import MISSING, escape_formulas, normalise
from shoal.io.csv import parse
from shoal.io.excel import is_workbook, read_workbook
from shoal.io.frames import clean
from shoal.io.statistics_files import is_labelled, read_labelled
from shoal.io.text import UNPACK_LIMIT, Text, too_large
from shoal.params import choice, whole

TEXT_EXTENSIONS = (".csv", ".tsv", ".txt", ".data")
FORMATS = ("csv", "parquet")
FORMULAS = ("keep", "escape")
_CELL_BYTES = 8
_WRITTEN = 1 << 17  # rows of text that are made at a time


def read_frame(
    path: str | Path,
    *,
    columns: Sequence[str] | None = None,
    separator: str | None = None,
    sheet: str | None = None,
    encoding: str = "utf-8",
    missing_markers: Sequence[str] = (),
    unpack_limit: int = UNPACK_LIMIT,
    hold: bool = False,
) -> pl.DataFrame:
    """Read a table from a file.

    Parameters
    ----------
    path
        A ``.csv``, ``.tsv``, ``.txt`` or ``.data`` file, also with ``.gz`` behind it, a ``.parquet`` file, a workbook
        (``.xlsx``), or a file of SPSS (``.sav``), Stata (``.dta``) or SAS (``.sas7bdat``, ``.xpt``).
    columns
        Names of the columns, for a text file without a header.
    separator
        One character; by default a tab for ``.tsv`` and a comma otherwise.
    sheet
        Which sheet of a workbook; it may be left out where there is one.
    encoding
        Encoding of a text file.
    missing_markers
        Cells that stand for a missing value, such as ``"?"``.
    unpack_limit
        MiB that a gzip or Parquet file may unpack to.
    hold
        Keep texts that repeat as numbers of the different ones (:mod:`shoal.data.texts`).

    Returns
    -------
    polars.DataFrame
        From text: text columns. From other files: typed columns. Text is normalised (:mod:`shoal.io.cell_format`).
    """
    path = _checked(Path(path))
    whole("the source", "unpack_limit", unpack_limit, least=1)
    if sheet is not None and not is_workbook(path):
        raise ParameterError(f"'{path.name}' is no workbook, so it has no sheet '{sheet}': leave 'sheet' out.")
    if is_typed(path):
        frame = normalise(_read_typed(path, columns, sheet, unpack_limit), f"'{path.name}'", missing_markers)
    else:
        extension = extension_of(path)
        markers = [MISSING, *map(normal_text, missing_markers)]
        fallback = "\t" if extension == ".tsv" else ","
        text = Text.open(path, encoding, unpack_limit)
        plain = text.is_plain()
        frame = parse(text, separator=separator or fallback, columns=columns, markers=markers, hold=hold and plain)
        # Parsing has trimmed blanks, which is all there is to do for plain text.
        frame = frame if plain else normalise(frame, f"'{path.name}'", missing_markers)
        del text
    if frame.height == 0:
        raise EmptyTableError(f"'{path.name}' has column names and no rows: there is nothing to work on.")
    # Rows are taken in the order of a shuffle, which is ten times slower where each has to be found among many chunks.
    for place in range(frame.width):  # one after another, so that none but one is there twice
        frame.replace_column(place, _in_one(frame.to_series(place), hold))
    return frame


def _in_one(column: pl.Series, hold: bool) -> pl.Series:
    """A column in one chunk."""
    return (held(column) if hold else column).rechunk()


def _checked(path: Path) -> Path:
    """A path that names a file."""
    if "\0" in str(path):
        raise InputError("The path of the source has a zero byte in it, which no file name can: check the path.")
    if path.is_dir():
        raise InputError(f"'{path}' is a folder: name the file in it.")
    if not path.exists():
        if any(mark in path.name for mark in "*?["):
            raise InputError(f"'{path}' names several files, which the engine 'duckdb' reads: choose it, or name one.")
        raise InputError(f"There is no file '{path}': check the path.")
    return path


def write_frame(
    frame: pl.DataFrame, path: str | Path | BinaryIO, format: str = "csv", formulas: str = "keep", header: bool = True
) -> None:
    """Write a frame; equal frames give equal bytes.

    In CSV a null cell is written as ``<missing>``, and ``formulas = "escape"`` keeps spreadsheets from running cells.
    """
    if choice("the output", "format", format, FORMATS) == "csv":
        escaped = choice("the output", "formulas", formulas, FORMULAS) == "escape"
        with Path(path).open("wb") if isinstance(path, str | Path) else nullcontext(path) as file:
            # Texts that are kept as numbers are written by them; those that are escaped are made a few at a time.
            for start in range(0, max(frame.height, 1), _WRITTEN):
                rows = frame.slice(start, _WRITTEN)
                rows = escape_formulas(all_told(rows)) if escaped else rows
                rows.write_csv(file, null_value=MISSING, check_extension=False, include_header=header and not start)
    else:
        # One chunk a column, or the bytes would depend on how the frame was put together.
        all_told(frame).rechunk().write_parquet(path)


def is_typed(path: Path) -> bool:
    """Whether a file, by its name, says itself what types its columns have."""
    return path.suffix.lower() == ".parquet" or is_workbook(path) or is_labelled(path)


def is_data(path: Path) -> bool:
    """Whether a file is data by its name, so that it can be no recipe; of ``.txt`` files that is not certain."""
    name = path.name.lower()
    return is_typed(path) or name.removesuffix(".gz").endswith((".csv", ".tsv", ".data"))


def extension_of(path: Path) -> str:
    """What the name says the file holds, whether it is compressed or not."""
    endings = [suffix.lower() for suffix in path.suffixes]
    if endings[-1:] == [".parquet"]:
        return ".parquet"
    if endings[-1:] == [".gz"]:
        endings.pop()
    if endings and endings[-1] in TEXT_EXTENSIONS:
        return endings[-1]
    known = ", ".join(TEXT_EXTENSIONS)
    if is_typed(path):
        raise InputError(
            f"'{path.name}' is read by the engine 'memory' alone: use that engine, or save the file as Parquet or CSV."
        )
    others = ".parquet, .xlsx, .sav, .dta, .sas7bdat or .xpt"
    raise InputError(f"The kind of '{path.name}' is unknown: its name must end in {known} (or .gz), {others}.")


def _read_typed(path: Path, columns: Sequence[str] | None, sheet: str | None, limit: int) -> pl.DataFrame:
    where = f"'{path.name}'"
    if is_workbook(path):
        return clean(read_workbook(path, sheet, None if columns is None else list(columns)), where)
    if columns is not None:
        kind = "Parquet" if path.suffix.lower() == ".parquet" else f"a {path.suffix} file"
        raise ParameterError(f"{where} is {kind} and names its columns itself: leave 'columns' out.")
    return clean(read_labelled(path), where) if is_labelled(path) else _read_parquet(path, limit)


def _read_parquet(path: Path, limit: int) -> pl.DataFrame:
    try:
        # Known from the end of the file: a column of one value packs a billion rows into a kilobyte.
        lazy = pl.scan_parquet(path, glob=False, hive_partitioning=False)
        cells = lazy.select(pl.len()).collect().item() * len(lazy.collect_schema())
        if cells * _CELL_BYTES > limit << 20:
            raise too_large(path.name, limit)
        frame = pl.read_parquet(path, glob=False, hive_partitioning=False)
    except (pl.exceptions.PolarsError, OSError, pl.exceptions.PanicException) as error:
        raise not_parquet(path, error) from None
    return clean(frame, f"'{path.name}'")


def not_parquet(path: Path, error: BaseException | None) -> InputError:
    """Why a file is no Parquet that we read; the words of the error may hold more than is good."""
    if isinstance(error, pl.exceptions.DuplicateError):
        return InputError(f"'{path.name}' has two columns of one name: rename one.")
    return InputError(f"'{path.name}' cannot be read as Parquet: check that it is whole.")


# ----------------------------------------
# The beginning of what a gzip file holds, and no more: a few kilobytes can unpack to gigabytes.


_BLOCK = 1 << 14  # bytes that are unpacked at a time; what is left of one is copied for every member in it
_BESIDE = 1 << 20  # bytes of headers and the like, beside what is unpacked
_MEMBERS = 100_000  # of which a file may be put together, each with nothing in it
_GZIP = 16 + zlib.MAX_WBITS


def first_unpacked(path: Path, most: int) -> tuple[bytes, bool]:
    """The first bytes that a gzip file holds, at most so many, and whether they are all there are.

    What is read of the file is bounded, too, however little comes of it.
    """
    data = bytearray()
    try:
        with path.open("rb") as file:
            whole = _unpack(file, data, most)
    except (zlib.error, EOFError):
        raise InputError(f"'{path.name}' is not a whole gzip file: check how it was made.") from None
    return bytes(data), whole


class _Packed:
    """A file that is read up to a bound."""

    def __init__(self, file: BinaryIO, most: int) -> None:
        self._file, self._left = file, most

    def read(self) -> bytes:
        """The next bytes of it, none at its end."""
        block = self._file.read(_BLOCK)
        self._left -= len(block)
        return block

    @property
    def exhausted(self) -> bool:
        """Whether more was read than allowed for."""
        return self._left < 0


def _unpack(file: BinaryIO, data: bytearray, most: int) -> bool:
    """Unpack member after member; whether the file came to its end before anything else did."""
    source, members = _Packed(file, most + _BESIDE), 0
    packed = source.read()
    if not packed:
        raise EOFError
    while packed:
        member = zlib.decompressobj(_GZIP)
        members += 1
        while not member.eof:
            if len(data) > most or source.exhausted or members > _MEMBERS:
                del data[most:]
                return False
            data += member.decompress(packed, most + 1 - len(data))
            if not member.eof and not member.unconsumed_tail:
                packed = source.read()
                if not packed:
                    raise EOFError
            else:
                packed = member.unconsumed_tail
        packed = _next_member(member.unused_data, source)
    whole = len(data) <= most and not source.exhausted
    del data[most:]
    return whole


def _next_member(rest: bytes, source: _Packed) -> bytes:
    """Where another member begins; zeros may stand behind the last one."""
    while not (rest := rest.lstrip(b"\0")) and not source.exhausted:
        if not (rest := source.read()):
            break
    return rest
