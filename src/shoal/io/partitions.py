"""Columns that stand in the names of folders, as Hive has them: those below ``year=2020`` have a year."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass, field
from pathlib import Path
from urllib.parse import unquote

import polars as pl

from shoal.errors import InputError
from shoal.io.folders import root_of
from shoal.io.normal import check_names, normalise

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
