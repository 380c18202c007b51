"""A randomised release against its input: what the noise was allowed to touch, and nothing else."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np
import polars as pl

from shoal.verify.types import Check
from shoal.verify.values import read_together


def check_randomised(
    original: pl.DataFrame, released: pl.DataFrame, source: np.ndarray, claims: Mapping[str, Any]
) -> list[Check]:
    """What must hold for random anonymisation.

    Parameters
    ----------
    original
        Input rows, before any coding.
    released
        The frame that would be written; cells are plain values, as in sensitive columns.
    source
        Row of ``original`` of each released row.
    claims
        The manifest: ``columns`` with name, role and type, and ``redraw``, the largest number of quasi-identifier
        cells of a row that may differ from its source.
    """
    rows = _check_rows(original, released, source)
    if not rows.passed:
        return [rows]
    columns = claims["columns"]
    quasi = [column for column in columns if column["role"] == "quasi"]
    others = [column for column in columns if column["role"] in ("sensitive", "neutral")]
    pairs = {
        column["name"]: read_together(released[column["name"]], original[column["name"]], column["type"])
        for column in columns
    }
    codes = {name: (values.codes, theirs, theirs[source]) for name, (values, theirs) in pairs.items()}
    return [
        rows,
        _check_others([column["name"] for column in others], codes),
        _check_values([column["name"] for column in quasi], codes),
        _check_changes([column["name"] for column in quasi], codes, claims.get("redraw")),
    ]


_Codes = Mapping[str, tuple[np.ndarray, np.ndarray, np.ndarray]]


def _check_rows(original: pl.DataFrame, released: pl.DataFrame, source: np.ndarray) -> Check:
    """Every input row is released exactly once: noise suppresses nobody."""
    once = len(source) == released.height == original.height and bool(
        (np.sort(np.asarray(source)) == np.arange(original.height)).all()
    )
    detail = "Every input row is released exactly once." if once else "Some input rows are not released exactly once."
    return Check(name="rows once", passed=once, detail=detail)


def _check_others(names: list[str], codes: _Codes) -> Check:
    """Sensitive and neutral cells are those of the source row."""
    problems = _counted({name: int((codes[name][0] != codes[name][2]).sum()) for name in names})
    detail = (
        f"Values differ from their source in {problems}."
        if problems
        else "Sensitive and neutral values are those of their source rows."
    )
    return Check(name="values", passed=not problems, detail=detail)


def _check_values(names: list[str], codes: _Codes) -> Check:
    """Every released quasi-identifier value occurs in the same column of the input."""
    problems = _counted({name: int((~np.isin(codes[name][0], codes[name][1])).sum()) for name in names})
    detail = (
        f"Values that the input's column does not have stand in {problems}."
        if problems
        else "Every quasi-identifier value occurs in its column of the input."
    )
    return Check(name="drawn values", passed=not problems, detail=detail)


def _check_changes(names: list[str], codes: _Codes, redraw: Any) -> Check:
    """No row differs from its source in more quasi-identifiers than are redrawn."""
    name = "redrawn cells"
    if not isinstance(redraw, int) or isinstance(redraw, bool) or redraw < 1:
        return Check(name=name, passed=False, detail="The manifest does not say how many cells of a row are redrawn.")
    changed = sum(
        ((codes[column][0] != codes[column][2]).astype(np.int64) for column in names),
        start=np.zeros(1, dtype=np.int64),
    )
    over = int((changed > redraw).sum())
    cells = "cell" if redraw == 1 else "cells"
    detail = (
        f"{over:,} rows differ from their source in more than {redraw} quasi-identifier {cells}."
        if over
        else f"No row differs from its source in more than {redraw} quasi-identifier {cells}."
    )
    return Check(name=name, passed=not over, detail=detail)


def _counted(rows: Mapping[str, int]) -> str:
    """Rows a column, those without any left out."""
    return " and ".join(f"{count:,} rows of '{name}'" for name, count in rows.items() if count)
