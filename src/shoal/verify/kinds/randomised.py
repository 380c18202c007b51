"""A randomised release against its input: what the noise was allowed to touch, and nothing else."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np
import polars as pl

from shoal.verify.accounts import Accounts
from shoal.verify.tally import Counts
from shoal.verify.types import Check
from shoal.verify.values import read_together


class Randomised:
    """What must hold for random anonymisation, looked at batch by batch.

    Parameters
    ----------
    claims
        The manifest: ``columns`` with name, role and type, and ``redraw``, the largest number of quasi-identifier
        cells of a row that may differ from its source.
    inputs
        By quasi-identifier, the canonical texts of the different values of the whole input.
    """

    def __init__(self, claims: Mapping[str, Any], inputs: Mapping[str, pl.Series]) -> None:
        columns = claims["columns"]
        self._types = {column["name"]: column["type"] for column in columns}
        self._quasi = [column["name"] for column in columns if column["role"] == "quasi"]
        self._differ = {column["name"]: 0 for column in columns if column["role"] in ("sensitive", "neutral")}
        self._strange = dict.fromkeys(self._quasi, 0)
        self._inputs, self._redraw = inputs, claims.get("redraw")
        self._changes = Counts()

    def see(self, released: pl.DataFrame, original: pl.DataFrame) -> None:
        """Compare rows with those they come from."""
        changed = np.zeros(released.height, dtype=np.int64)
        for name, kind in self._types.items():
            values, theirs = read_together(released[name], original[name], kind)
            differs = values.codes != theirs
            if name in self._differ:
                self._differ[name] += int(differs.sum())
            elif name in self._strange:
                known = values.texts.is_in(self._inputs[name].implode(), nulls_equal=True).to_numpy()
                self._strange[name] += int((~known)[values.codes].sum())
                changed += differs
        self._changes.see(pl.DataFrame({"changed": changed}))

    def checks(self, accounts: Accounts) -> list[Check]:
        """What all batches hold."""
        rows = _check_rows(accounts.everybody)
        if not rows.passed:
            return [rows]
        return [rows, self._check_others(), self._check_values(), self._check_changes()]

    def _check_others(self) -> Check:
        """Sensitive and neutral cells are those of the source row."""
        problems = _counted(self._differ)
        detail = (
            f"Values differ from their source in {problems}."
            if problems
            else "Sensitive and neutral values are those of their source rows."
        )
        return Check(name="values", passed=not problems, detail=detail)

    def _check_values(self) -> Check:
        """Every released quasi-identifier value occurs in the same column of the input."""
        problems = _counted(self._strange)
        detail = (
            f"Values that the input's column does not have stand in {problems}."
            if problems
            else "Every quasi-identifier value occurs in its column of the input."
        )
        return Check(name="drawn values", passed=not problems, detail=detail)

    def _check_changes(self) -> Check:
        """No row differs from its source in more quasi-identifiers than are redrawn."""
        name, redraw = "redrawn cells", self._redraw
        if not isinstance(redraw, int) or isinstance(redraw, bool) or redraw < 1:
            told = "The manifest does not say how many cells of a row are redrawn."
            return Check(name=name, passed=False, detail=told)
        counted = self._changes.total()
        over = int(counted.filter(pl.col("changed") > redraw)["rows"].sum())
        cells = "cell" if redraw == 1 else "cells"
        detail = (
            f"{over:,} rows differ from their source in more than {redraw} quasi-identifier {cells}."
            if over
            else f"No row differs from its source in more than {redraw} quasi-identifier {cells}."
        )
        return Check(name=name, passed=not over, detail=detail)


def _check_rows(once: bool) -> Check:
    """Every input row is released exactly once: noise suppresses nobody."""
    detail = "Every input row is released exactly once." if once else "Some input rows are not released exactly once."
    return Check(name="rows once", passed=once, detail=detail)


def _counted(rows: Mapping[str, int]) -> str:
    """Rows a column, those without any left out."""
    return " and ".join(f"{count:,} rows of '{name}'" for name, count in rows.items() if count)
