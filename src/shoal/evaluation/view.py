"""What an evaluation looks at: the columns of a release, each beside what the original rows have in it."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property

import numpy as np

from shoal.data.keys import Keys
from shoal.errors import InputError
from shoal.evaluation.domains import Domain
from shoal.recoding.kinds import Kind, Trait


@dataclass(frozen=True, eq=False, kw_only=True, repr=False)
class Feature(Domain):
    """One released column: what it may hold, what its cells stand for, and the original rows' values.

    Attributes
    ----------
    name, role, type
        Of the column; its role is ``"quasi"``, ``"sensitive"`` or ``"neutral"``.
    """

    name: str
    role: str
    type: str

    def __repr__(self) -> str:
        return f"Feature({self.name!r}, {self.role}, {self.type}, {len(self.values)} values, {len(self.texts)} cells)"

    @property
    def exact(self) -> bool:
        """Whether every cell is one value."""
        return bool((np.diff(self.at) == 1).all())

    @property
    def as_they_are(self) -> bool:
        """Whether the numbers of exact cells are the values that the cells are read as, and not only near them."""
        if self.numbers is None:
            return True
        return bool(np.array_equal(self.centres(), self.numbers[self.code[self.at[:-1]]], equal_nan=True))

    @cached_property
    def place(self) -> Mapping[str, int]:
        """Place of every value."""
        return {value: at for at, value in enumerate(self.values)}

    def released(self) -> np.ndarray:
        """int32 value of every released row, -1 where its cell covers several."""
        alone = np.where(np.diff(self.at) == 1, self.code[self.at[:-1]], -1)
        return alone.astype(np.int32)[self.cell]

    def centres(self) -> np.ndarray:
        """float64 a distinct cell: the middle of an interval, else the mean of the numbers it covers."""
        if self.numbers is None:
            raise InputError(f"Column '{self.name}' holds no numbers, so that its cells have no middle.")
        known = np.isfinite(self.numbers[self.code])
        weight = np.where(known, self.share, 0.0)
        total = np.add.reduceat(weight, self.at[:-1])
        summed = np.add.reduceat(weight * np.where(known, self.numbers[self.code], 0.0), self.at[:-1])
        mean = np.divide(summed, total, out=np.full(total.size, np.nan), where=total > 0)
        if self.low is None or self.high is None:
            return mean
        return np.where(np.isfinite(self.low), self.low / 2 + self.high / 2, mean)

    def shares(self) -> np.ndarray:
        """The shares as a dense matrix, cells by values; for small domains."""
        dense = np.zeros((len(self.texts), len(self.values)))
        dense[np.repeat(np.arange(len(self.texts)), np.diff(self.at)), self.code] = self.share
        return dense


@dataclass(frozen=True, eq=False, kw_only=True, repr=False)
class Reading:
    """A release and its original, column by column.

    Attributes
    ----------
    kind, made
        Kind of release, and how its quasi-identifiers were made.
    n, rows
        Original rows, and released ones without those that are all stars.
    source
        Original row behind each released row, where that is known; for fair comparisons only.
    features
        Every released quasi, sensitive and neutral column. The sensitive values of a bucketised release are one
        pairing drawn within its groups.
    groups
        int32 class (bucketised: group) of each released row.
    suppression
        Share of the original rows that were not released; counterfeit rows make up for none.
    left_out
        Columns that are published as codes, which say nothing about values.
    coded, paired
        Columns of ``left_out`` whose codes are mined all the same, and whether it is known which code an original row
        has (:mod:`shoal.evaluation.coded`).
    after, before
        The release with its codes, and the original, each by itself; None where no codes are mined.
    keys
        Where evaluations draw from.
    people
        Person of each original row, where rows of one person are known to be; else rows are people.
    """

    kind: Kind
    made: Kind
    n: int
    rows: int
    source: np.ndarray | None
    features: Mapping[str, Feature]
    groups: np.ndarray
    suppression: float
    left_out: Sequence[str] = ()
    coded: Sequence[str] = ()
    paired: bool = True
    after: Reading | None = None
    before: Reading | None = None
    keys: Keys = field(default_factory=lambda: Keys.from_seed(0))
    people: np.ndarray | None = None

    def __repr__(self) -> str:
        return f"Reading({self.kind}, {self.rows} of {self.n} rows, {', '.join(self.features)})"

    @property
    def quasi(self) -> list[str]:
        """Names of quasi-identifiers."""
        return self.of("quasi")

    @property
    def sensitive(self) -> list[str]:
        """Names of sensitive columns."""
        return self.of("sensitive")

    @property
    def neutral(self) -> list[str]:
        """Names of neutral columns."""
        return self.of("neutral")

    def of(self, role: str) -> list[str]:
        """Names of the columns of one role."""
        return [name for name, feature in self.features.items() if feature.role == role]

    @property
    def mined(self) -> tuple[Reading, Reading]:
        """The release as it is mined, codes included, and the original; both are this one where nothing is coded."""
        return self.after or self, self.before or self

    @cached_property
    def untouched(self) -> frozenset[str]:
        """Columns that are published as they were, row by row: there is nothing to compare."""
        if self.suppression or self.rows != self.n:
            return frozenset()
        return frozenset(name for name, one in self.features.items() if self._is_untouched(one))

    def _is_untouched(self, feature: Feature) -> bool:
        # Values that were redrawn or swapped can be as common as before and stand in other rows.
        moved = (self.source is None and not self.made.has(Trait.COVERING) and feature.role == "quasi") or (
            self.made.has(Trait.GROUPS) and feature.role == "sensitive"
        )
        if moved or not feature.exact or not feature.as_they_are:
            return False
        ours = feature.released()
        if self.source is not None:
            return bool(np.array_equal(ours, feature.original[self.source]))
        mine, theirs = (np.bincount(one, minlength=len(feature.values)) for one in (ours, feature.original))
        return bool(np.array_equal(mine, theirs))
