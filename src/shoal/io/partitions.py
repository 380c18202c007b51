"""Columns that stand in the names of folders, as Hive has them: those below ``year=2020`` have a year."""

from __future__ import annotations

import codecs
import gzip
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from urllib.parse import unquote

import polars as pl

from shoal.errors import EmptyTableError, InputError, ParameterError
from shoal.io.cell_format import check_names, normalise
from shoal.io.csv import Layout
from shoal.io.files import extension_of, not_parquet
from shoal.io.folders import files_of, name_of, root_of
from shoal.io.text import Text

_MISSING = "__HIVE_DEFAULT_PARTITION__"
# Bytes that Hive and Spark take for a letter each, and whoever writes addresses for parts of one.
_WIDE = re.compile("%[89A-Fa-f][0-9A-Fa-f]")


@dataclass(frozen=True, kw_only=True)
class Partitions:
    """Columns that the folders of files name, and the cell of each file in each of them.

    Attributes
    ----------
    names
        The columns; none where folders name none.
    cells
        Of every column, one of each file.
    root
        The folder below which they are named.
    wide
        Whether names or cells hold letters outside of ASCII as ``%C3%A4``.
    """

    names: Sequence[str] = ()
    cells: Sequence[Sequence[str | None]] = ()
    root: Path = field(default_factory=Path)
    wide: bool = False

    def behind(self, own: Sequence[str], where: str) -> list[str]:
        """All columns of files that have some of their own."""
        known = {name.casefold() for name in own}
        for name in self.names:
            if name.casefold() in known:
                raise InputError(
                    f"Column '{name}' is both in {where} and in the names of folders ('{name}=...'): rename one."
                )
        if self.names:
            check_names([*own, *self.names], where)
        return [*own, *self.names]

    def normal(self, where: str, markers: Sequence[str]) -> pl.DataFrame:
        """The cells as those of any source, a row for each file."""
        told = [pl.Series(name, list(cells), pl.String) for name, cells in zip(self.names, self.cells, strict=True)]
        return normalise(pl.DataFrame(told), where, markers)


def partitions_of(path: str | Path, files: Sequence[Path]) -> Partitions:
    """What the folders between what was named, a folder or a pattern, and its files say."""
    root = root_of(Path(path))
    folders = [file.relative_to(root).parts[:-1] for file in files]
    if not any("=" in one for parts in folders for one in parts):
        return Partitions(root=root)
    told = [[_decoded(part, path) for part in parts] for parts in folders]
    names = [name for name, _ in told[0]]
    if any([name for name, _ in parts] != names for parts in told) or len({*map(str.casefold, names)}) < len(names):
        raise _mixed(path)
    cells = list(zip(*([cell for _, cell in parts] for parts in told), strict=True))
    wide = any(_WIDE.search(one) for parts in folders for one in parts)
    return Partitions(names=names, cells=cells, root=root, wide=wide)


def _decoded(part: str, path: str | Path) -> tuple[str, str | None]:
    """The column and the cell that the name of a folder says."""
    name, sign, cell = part.partition("=")
    if not sign:
        raise _mixed(path)
    try:
        name, found = (unquote(one, errors="strict") for one in (name, cell))
        f"{name}{found}".encode()
    except UnicodeError:
        raise InputError(f"A folder below '{path}' has a name that is not UTF-8: rename it.") from None
    if not name or not cell:
        raise InputError(f"A folder below '{path}' has nothing before or behind the '=' of its name: rename it.")
    return name, None if cell == _MISSING else found


def _mixed(path: str | Path) -> InputError:
    return InputError(
        f"Some folders below '{path}' name columns, as 'year=2020' does, and others name none or other ones: put every "
        "file into folders of the same columns in the same order."
    )


# ----------------------------------------
# What files say of themselves at their beginnings and ends, for whoever has them read elsewhere.


_HEAD = 1 << 20  # bytes in which a header must end


@dataclass(frozen=True, kw_only=True)
class Looked:
    """Files of one table.

    Attributes
    ----------
    name
        What the table is called where nobody said.
    names
        Their columns, those of folders behind the others.
    partitions
        Columns that stand in the names of their folders.
    zones
        Columns of Parquet files that hold times of a zone, and which.
    """

    paths: Sequence[Path]
    name: str
    names: Sequence[str]
    partitions: Partitions
    zones: Mapping[str, str] = field(default_factory=dict)

    @property
    def own(self) -> Sequence[str]:
        """Columns that are in the files."""
        return self.names[: len(self.names) - len(self.partitions.names)]

    @property
    def places(self) -> list[Path]:
        """Where the files are, under the names that they were found by."""
        root = self.partitions.root
        return [root.resolve() / path.relative_to(root) for path in self.paths]

    @property
    def kind(self) -> str:
        """Their extension, such as ``.csv``."""
        return extension_of(self.paths[0])


def look_at(
    path: str | Path,
    *,
    base: Path = Path(),
    columns: Sequence[str] | None = None,
    separator: str | None = None,
    encoding: str = "utf-8",
) -> Looked:
    """The files that a path, a folder or a pattern names, after checking that they have the same columns.

    Parameters
    ----------
    base
        The folder that a relative path starts from.
    columns, separator, encoding
        As :func:`shoal.io.files.read_frame` takes them.
    """
    name, path = name_of(path, base), base / path
    paths = files_of(path)
    partitions, where = partitions_of(path, paths), f"'{paths[0].name}'"
    if extension_of(paths[0]) == ".parquet":
        own, zones = _parquet(paths, columns)
        return Looked(paths=paths, name=name, names=partitions.behind(own, where), partitions=partitions, zones=zones)
    names = [_header(one, columns, separator, encoding) for one in paths]
    for one, mine in zip(paths, names, strict=True):
        if mine != names[0]:
            raise InputError(f"'{one.name}' has other columns than '{paths[0].name}': name files of one table.")
    return Looked(paths=paths, name=name, names=partitions.behind(names[0], where), partitions=partitions)


def _parquet(paths: Sequence[Path], columns: Sequence[str] | None) -> tuple[list[str], dict[str, str]]:
    """Columns of Parquet files, and those that hold times of a zone, with it."""
    if columns is not None:
        raise ParameterError(f"'{paths[0].name}' is Parquet and names its columns itself: leave 'columns' out.")
    first: Mapping[str, pl.DataType] = {}
    for at, path in enumerate(paths):
        try:
            schema = pl.read_parquet_schema(path)
        except (pl.exceptions.PolarsError, OSError) as error:
            raise not_parquet(path, error) from None
        first = first if at else schema
        if set(schema) != set(first):
            raise InputError(f"'{path.name}' has other columns than '{paths[0].name}': name files of one table.")
    if not first:
        raise EmptyTableError(f"'{paths[0].name}' has no columns: there is nothing to read.")
    zones = {name: zone for name, kind in first.items() if (zone := getattr(kind, "time_zone", None)) is not None}
    return list(first), zones


def _header(path: Path, columns: Sequence[str] | None, separator: str | None, encoding: str) -> list[str]:
    """Names of the columns of a text file, of which no more than the first row is read."""
    try:
        with gzip.open(path) if path.suffix.lower() == ".gz" else path.open("rb") as file:
            line = b""
            while not line.strip() and (line := file.readline(_HEAD)):
                pass
        line = line.removeprefix(codecs.BOM_UTF8).decode(encoding).encode()
    except (OSError, EOFError):
        raise InputError(f"'{path.name}' cannot be read: check that it is whole.") from None
    except UnicodeDecodeError:
        raise InputError(f"The first row of '{path.name}' is not {encoding} text: give its 'encoding'.") from None
    if not line.strip():
        raise InputError(f"'{path.name}' is empty: there is nothing to read.")
    fallback = "\t" if extension_of(path) == ".tsv" else ","
    return Layout.of(Text(path.name, line, line), separator or fallback, columns).names
