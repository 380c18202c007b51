"""The last look before a release gets its name: what stands on disk is what passed the gate."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path

import polars as pl

from shoal.errors import GateError, VerificationError
from shoal.verify.folder import read_folder
from shoal.verify.recheck import recheck
from shoal.verify.values import MISSING


def check_staged(folder: Path, judged: Mapping[str, pl.DataFrame]) -> None:
    """Read a folder that is about to be published and verify it as a recipient would.

    Parameters
    ----------
    judged
        The tables that passed the gate.

    Raises
    ------
    GateError
        When the files do not hold these tables, or do not verify.
    """
    try:
        tables, manifest = read_folder(folder)
        report = recheck(tables["release"], manifest, tables.get("sensitive"))
    except VerificationError as error:
        raise GateError(f"The written files do not pass the gate, so they are not published: {error}") from None
    problems = [check.detail for check in report.checks if not check.passed]
    if set(tables) != set(judged):
        problems.append("there are other tables than were judged.")
    problems += [
        f"{cells:,} cells of '{name}' are not those that were judged."
        for table in judged
        if table in tables
        for name, cells in _changed(tables[table], judged[table]).items()
    ]
    if problems:
        raise GateError(f"The written files do not pass the gate, so they are not published: {problems[0]}")


def _changed(found: pl.DataFrame, judged: pl.DataFrame) -> dict[str, int]:
    """Cells that differ, by column; text stands for whatever a writer made of a number."""
    if found.columns != judged.columns or found.height != judged.height:
        return {"rows and columns": max(found.height, judged.height)}
    differ = {name: _differ(found[name], judged[name]) for name in judged.columns}
    return {name: cells for name, cells in differ.items() if cells}


def _differ(found: pl.Series, judged: pl.Series) -> int:
    if found.dtype == judged.dtype:
        if found.dtype == pl.String:  # in a cell, the text stands for what null stands for elsewhere
            found, judged = found.replace(MISSING, None), judged.replace(MISSING, None)
        return int(found.ne_missing(judged).sum())
    missing = found == MISSING
    if judged.dtype == pl.Boolean:
        read = (found == "true").set(missing, None)
        return int(read.ne_missing(judged).sum())
    found = found.set(missing, None)
    if judged.dtype == pl.Date:
        read = found.str.to_date("%Y-%m-%d", strict=False)
    elif isinstance(judged.dtype, pl.Datetime):
        read = found.str.to_datetime("%Y-%m-%dT%H:%M:%S%.f", time_unit=judged.dtype.time_unit, strict=False)
    else:
        read = found.cast(judged.dtype, strict=False)
    return int(read.ne_missing(judged).sum())
