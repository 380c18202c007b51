"""The last look before a release gets its name: what stands on disk is what passed the gate."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping
from pathlib import Path

import polars as pl

from shoal.errors import GateError, VerificationError
from shoal.verify.folder import open_folder
from shoal.verify.recheck import Recheck
from shoal.verify.values import MISSING, Coded, is_text


def check_staged(
    folder: Path,
    judged: Mapping[str, pl.DataFrame | pl.LazyFrame],
    size: int | None = None,
    see: Callable[[Coded], None] = lambda batch: None,
    ahead: Callable[[Iterator[Coded]], Iterable[Coded]] = iter,
) -> None:
    """Read a folder that is about to be published, batch by batch, and verify it as a recipient would.

    Parameters
    ----------
    judged
        The tables that passed the gate, in memory or wherever they were put as they did. Where their texts are kept as
        numbers of the different ones, cells that were read back and are the same are looked at by these numbers.
    size
        Bytes (of CSV) or rows (of Parquet) that are read in one go.
    see
        Is shown every batch, for whoever looks at all that is published.
    ahead
        Gives the same batches in the same order; the next may be read, and compared, while one is verified.

    Raises
    ------
    GateError
        When the files do not hold these tables, or do not verify.
    """
    try:
        tables, manifest = open_folder(folder, size)
        found, changed = Recheck(manifest), {name: Changes(frame) for name, frame in judged.items()}
        for name, batches in tables.items():
            for batch in ahead(_compared(batches, changed.get(name))):
                (found.see if name == "release" else found.see_apart)(batch)
                see(batch)
        report = found.report()
    except VerificationError as error:
        raise GateError(f"The written files do not pass the gate, so they are not published: {error}") from None
    problems = [check.detail for check in report.checks if not check.passed]
    if set(tables) != set(judged):
        problems.append("there are other tables than were judged.")
    problems += [
        f"{cells:,} cells of '{name}' are not those that were judged."
        for table in judged
        if table in tables
        for name, cells in changed[table].cells().items()
    ]
    if problems:
        raise GateError(f"The written files do not pass the gate, so they are not published: {problems[0]}")


def _compared(batches: Iterable[pl.DataFrame], changes: Changes | None) -> Iterator[Coded]:
    """The batches of a table, each held against what was judged, where that is known."""
    for frame in batches:
        batch = Coded(frame)
        if changes is not None:
            changes.see(batch)
        yield batch


class Changes:
    """Cells that differ from those that were judged, by column; text stands for whatever a writer made of a number."""

    def __init__(self, judged: pl.DataFrame | pl.LazyFrame) -> None:
        self._judged, self._rows, self._same = judged, 0, True
        self._cells = dict.fromkeys(judged.lazy().collect_schema(), 0)

    def see(self, rows: pl.DataFrame | Coded) -> None:
        """Compare the next rows."""
        found = Coded.of(rows)
        height = found.frame.height
        judged = self._judged.slice(self._rows, height).lazy().collect()
        self._rows += height
        self._same &= found.frame.columns == judged.columns and judged.height == height
        for name in self._cells if self._same else ():
            theirs = judged[name]
            texts = _texts(theirs)
            same = found.frame[name].dtype == texts.dtype and found.frame[name].equals(texts)
            self._cells[name] += 0 if same else _differ(found.frame[name], texts)
            if theirs.dtype != texts.dtype and same:
                found.take_over(name, theirs)

    def cells(self) -> dict[str, int]:
        """How many there are, of columns that have any."""
        height = int(self._judged.lazy().select(pl.len()).collect().item())
        if not self._same or self._rows != height:
            return {"rows and columns": max(self._rows, height)}
        return {name: cells for name, cells in self._cells.items() if cells}


def _texts(cells: pl.Series) -> pl.Series:
    """Texts one by one, and any other column as it is."""
    if isinstance(cells.dtype, pl.Enum):  # looked up, which takes half as long as a cast
        return cells.dtype.categories.gather(cells.to_physical()).alias(cells.name)
    return cells.cast(pl.String) if is_text(cells.dtype) else cells


def _differ(found: pl.Series, judged: pl.Series) -> int:
    if found.dtype == judged.dtype:
        if found.dtype == pl.String:  # in a cell, the text stands for what null stands for elsewhere
            found, judged = found.replace(MISSING, None), judged.replace(MISSING, None)
        return int(found.ne_missing(judged).sum())
    found = found.replace(MISSING, None)
    if judged.dtype == pl.Boolean:
        return int(found.ne_missing(judged.cast(pl.String)).sum())
    if judged.dtype == pl.Date:
        read = found.str.to_date("%Y-%m-%d", strict=False)
    elif isinstance(judged.dtype, pl.Datetime):
        read = found.str.to_datetime("%Y-%m-%dT%H:%M:%S%.f", time_unit=judged.dtype.time_unit, strict=False)
    else:
        read = found.cast(judged.dtype, strict=False)
    # What cannot be read is null as well, and is not what a missing value is written as.
    return int((read.ne_missing(judged) | (read.is_null() & found.is_not_null())).sum())
