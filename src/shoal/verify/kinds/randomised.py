"""A randomised release against its input: what the noise was allowed to touch, and nothing else."""

from __future__ import annotations

import math
from collections.abc import Mapping
from typing import Any

import numpy as np
import polars as pl

from shoal.verify.accounts import Accounts
from shoal.verify.cells import Inputs
from shoal.verify.report import Check
from shoal.verify.tally import Counts, Dictionary
from shoal.verify.values import read_together

_RARE_LOG = math.log(1e9)


class Randomised:
    """What must hold for random anonymisation, looked at batch by batch.

    Parameters
    ----------
    claims
        The manifest: ``columns`` with name, role, type and ``p``, the chance to be the first one redrawn, and
        ``redraw``, the number of quasi-identifiers redrawn in every row.
    inputs
        By quasi-identifier, the canonical texts of the different values of the whole input.
    """

    def __init__(self, claims: Mapping[str, Any], inputs: Mapping[str, pl.Series]) -> None:
        columns = claims["columns"]
        self._types = {column["name"]: column["type"] for column in columns}
        self._strange = {column["name"]: 0 for column in columns if column["role"] == "quasi"}
        self._differ = {column["name"]: 0 for column in columns if column["role"] != "quasi"}
        self._inputs, self._redraw = inputs, claims.get("redraw")
        self._changes = Counts()
        self._columns = {
            column["name"]: _Column(column["type"], column.get("p")) for column in columns if column["role"] == "quasi"
        }

    def see(self, released: pl.DataFrame, original: pl.DataFrame) -> None:
        """Compare rows with those they come from."""
        changed = np.zeros(released.height, dtype=np.int64)
        for name, kind in self._types.items():
            values, theirs = read_together(released[name], original[name], kind)
            differs = values.codes != theirs
            if name in self._differ:
                self._differ[name] += int(differs.sum())
            else:
                known = values.texts.is_in(self._inputs[name].implode(), nulls_equal=True).to_numpy()
                self._strange[name] += int((~known)[values.codes].sum())
                changed += differs
                self._columns[name].see(original[name], int(differs.sum()))
        self._changes.see(pl.DataFrame({"changed": changed}))

    def checks(self, accounts: Accounts) -> list[Check]:
        """What all batches hold."""
        rows = _check_rows(accounts.everybody)
        if not rows.passed:
            return [rows]
        found = [rows, self._check_others(), self._check_values(), self._check_changes()]
        return [*found, self._check_chances()] if found[-1].passed else found

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


    def _check_chances(self) -> Check:
        """Every column differs from its source about as often as its chance to be redrawn says.

        Whoever corrects counts for the noise relies on it.
        """
        problems = [f"'{name}'" for name, column in self._columns.items() if not column.fits(self._redraw or 0)]
        detail = (
            f"Redrawn more or less often than the manifest says: {', '.join(problems)}."
            if problems
            else "Every quasi-identifier was redrawn about as often as the manifest says."
        )
        return Check(name="chances", passed=not problems, detail=detail)


class _Column:
    """How often each value of a quasi-identifier occurs in the input, and how many of its cells changed."""

    def __init__(self, kind: str, p: Any) -> None:
        self._p, self._values = p, Dictionary(kind)
        self._counts, self._changed = np.zeros(0, dtype=np.int64), 0

    def see(self, original: pl.Series, changed: int) -> None:
        found = np.bincount(self._values.see(original), minlength=len(self._counts))
        found[: len(self._counts)] += self._counts
        self._counts, self._changed = found, self._changed + changed

    def fits(self, redraw: int) -> bool:
        """Whether so many changes are no wonder: beyond the limit, not once in 100 million releases (Bernstein)."""
        if not isinstance(self._p, int | float) or isinstance(self._p, bool) or not 0 <= self._p <= 1:
            return False
        if self._p == 0 or not len(self._counts):
            return self._changed == 0
        # A cell changes if its column is redrawn and the draw gives another value.
        chance = min(redraw * self._p, 1.0) * (1.0 - self._counts / self._counts.sum())
        spread = float(self._counts @ (chance * (1.0 - chance)))
        most = _RARE_LOG / 3.0 + math.sqrt(_RARE_LOG**2 / 9.0 + 2.0 * _RARE_LOG * spread)
        return abs(self._changed - float(self._counts @ chance)) <= most


def _check_rows(once: bool) -> Check:
    """Every input row is released exactly once: noise suppresses nobody."""
    detail = "Every input row is released exactly once." if once else "Some input rows are not released exactly once."
    return Check(name="rows once", passed=once, detail=detail)


def _counted(rows: Mapping[str, int]) -> str:
    """Rows a column, those without any left out."""
    return " and ".join(f"{count:,} rows of '{name}'" for name, count in rows.items() if count)


# ----------------------------------------
# Columns whose values were redrawn, or had noise added, row by row: as often and as much as the manifest says.


# What happens by chance less than once in 100 million releases is no chance (Bernstein), nor are so many deviations.
_RARE_REDRAWN, _DEVIATIONS = math.log(1e9), 7.0
# Whole numbers are rounded by so much at most.
_ROUNDED = 0.5


def _most(variance: float) -> float:
    """How far a count is off its expectation at most, given its variance."""
    return _RARE_REDRAWN / 3.0 + math.sqrt(_RARE_REDRAWN**2 / 9.0 + 2.0 * _RARE_REDRAWN * variance)


class Untouched:
    """A column that must be that of its source rows."""

    kept = "the values of its rows"

    def __init__(self, name: str, kind: str) -> None:
        self.name, self.kind, self.changed, self.rows = name, kind, 0, 0

    def see(self, released: pl.Series, original: pl.Series) -> None:
        """Compare rows with those they stand for."""
        values, theirs = read_together(released, original, self.kind)
        self.changed += int((values.codes != theirs).sum())
        self.rows += len(released)

    def holds(self, inputs: Inputs, released: Mapping[str | None, int]) -> bool:
        """Whether all of it is as it must be, given how often each value is released."""
        return not self.changed


class Drawn(Untouched):
    """Categories that were redrawn, each staying what it was with a probability of at least ``stay``."""

    kept = "its values, or changes them more often than the manifest says"

    def __init__(self, name: str, kind: str, stay: float, *, invariant: bool) -> None:
        super().__init__(name, kind)
        self._move, self._invariant = 1.0 - stay, invariant

    def holds(self, inputs: Inputs, released: Mapping[str | None, int]) -> bool:
        """Values of the column alone, changed seldom enough; and where the matrix is invariant, each about as often."""
        counted = inputs.counted(self.name)
        expected = self._move * self.rows
        if not set(released) <= set(counted) or self.changed > expected + _most(expected):
            return False
        # Of a value with c rows, at most this share of them leave, and as many are expected to come.
        return not self._invariant or all(
            abs(released.get(text, 0) - count) <= _most(2.0 * count * self._move) for text, count in counted.items()
        )


class Noised(Untouched):
    """Numbers with noise of so many standard deviations of their column."""

    kept = "its numbers but for noise of the size that the manifest says"

    def __init__(self, name: str, kind: str, noise: float) -> None:
        super().__init__(name, kind)
        self._noise, self._sum, self._squares = noise, 0.0, 0.0

    def see(self, released: pl.Series, original: pl.Series) -> None:
        """Add up what was added."""
        values, theirs = read_together(released, original, self.kind)
        added = values.numbers[values.codes] - values.numbers[theirs]
        self.rows += len(added)
        self._sum += float(added.sum())
        self._squares += float(added @ added)

    def holds(self, inputs: Inputs, released: Mapping[str | None, int]) -> bool:
        """Noise of about no mean and of about its deviation; not a number anywhere spoils the sum."""
        true, rows = inputs.weighed(self.name)
        if not math.isfinite(self._squares) or not self.rows:
            return False
        centred = true - np.average(true, weights=rows)
        size = self._noise * float(np.sqrt(np.average(centred**2, weights=rows)))
        slack = _ROUNDED if inputs.whole(self.name) else 1e-9 * max(1.0, float(np.abs(true).max()))
        mean = self._sum / self.rows
        spread = math.sqrt(max(self._squares / self.rows - mean * mean, 0.0))
        off = _DEVIATIONS * size / math.sqrt(self.rows)
        return abs(mean) <= off + slack and abs(spread - size) <= off + slack
