"""Columns whose values were redrawn, or had noise added, row by row: as often and as much as the manifest says."""

from __future__ import annotations

import math
from collections.abc import Mapping

import numpy as np
import polars as pl

from shoal.verify.inputs import Inputs
from shoal.verify.values import read_together

# What happens by chance less than once in 100 million releases is no chance (Bernstein), nor are so many deviations.
_RARE, _DEVIATIONS = math.log(1e9), 7.0
# Whole numbers are rounded by so much at most.
_ROUNDED = 0.5


def _most(variance: float) -> float:
    """How far a count is off its expectation at most, given its variance."""
    return _RARE / 3.0 + math.sqrt(_RARE**2 / 9.0 + 2.0 * _RARE * variance)


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
