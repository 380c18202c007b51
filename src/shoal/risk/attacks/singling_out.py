"""Singling out: descriptions made from a release that fit exactly one person."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

import numpy as np

from shoal.data.column import Column
from shoal.data.stats import unknown_flags
from shoal.kernels.grouping import group_rows
from shoal.risk.attacks.base import Attack, AttackFigure, AttackResult, clustered, figure
from shoal.risk.attacks.case import AttackCase, People
from shoal.risk.attacks.guess import attacked
from shoal.utility.randomised import wilson

_ROUNDS = 20


@dataclass(frozen=True, kw_only=True)
class SinglingOut(Attack):
    """The attacker makes descriptions from the release that should fit one person, without knowing who it is.

    A description is the cells of a class together with a sensitive value that only one of its records has. It singles
    out where exactly one person of the original data fits it. The baseline puts the same values beside the cells of
    other classes.
    """

    name: ClassVar = "singling-out"
    needs: ClassVar = ("people", "sensitive", "everybody")

    def run(self, case: AttackCase) -> AttackResult:
        """One figure a sensitive column."""
        found = [one for column in attacked(case) if (one := self._column(case, column)) is not None]
        if case.control is None:
            return self.result(found, case.no_control)
        return self.result(found, "The control counts descriptions that fit exactly one person outside the data.")

    def _column(self, case: AttackCase, column: Column) -> AttackFigure | None:
        row, code = _descriptions(case, column)
        name = f"singling-out:{column.name}"
        if not row.size:
            told = f"No '{column.name}' is alone in its class, so nobody is described by it."
            return figure(name, 0.0, 0, told, baseline=0.0)
        # Suppressed people hide others all the same: a description that fits them too singles nobody out.
        fits = _Fits.of(case, case.everybody, column)
        right = fits.single(row, code).astype(np.float64)
        share, trials = clustered(right, row)
        generator = case.keys.generator(f"attack singling {column.name}")
        naive = float(np.mean([fits.single(row, generator.permutation(code)).mean() for _ in range(_ROUNDS)]))
        control = None
        if case.control is not None and column.name in case.control.truth:
            control = float(_Fits.of(case, case.control, column).single(row, code).mean())
        sentence = (
            f"Of {row.size:,} descriptions by a class and a '{column.name}' that one of its records has, {share:.1%} "
            f"fit exactly one person; with values of other classes it would be {naive:.1%}."
        )
        return figure(
            name, share, trials, sentence, baseline=naive, control=control,
            control_interval=None if control is None else wilson(control, row.size),
        )  # fmt: skip


def _descriptions(case: AttackCase, column: Column) -> tuple[np.ndarray, np.ndarray]:
    """Distinct rows of cells, and values that exactly one of their records has."""
    matcher = case.view.cells
    codes = case.view.codes[column.name]
    rows = np.flatnonzero(unknown_flags(column)[codes] == 0)
    pair = np.stack([matcher.of_row[rows], codes[rows]]).astype(np.int32)
    _, first, counts = group_rows(pair, np.array([matcher.sizes.size, column.card]))
    return tuple(pair[:, np.sort(first[counts == 1])].astype(np.int64))  # type: ignore[return-value]


@dataclass(frozen=True, eq=False)
class _Fits:
    """Who fits each description: sorted keys of distinct row and value, and the first and the last person."""

    keys: np.ndarray
    low: np.ndarray
    high: np.ndarray
    card: int

    @classmethod
    def of(cls, case: AttackCase, people: People, column: Column) -> _Fits:
        truth = people.truth[column.name]
        vectors, of_person = people.places
        card = column.card + 1
        known = np.flatnonzero(truth >= 0)
        whose = known if people.person is None else people.person[known]
        pair, first, last = _ends(of_person[known].astype(np.int64) * card + truth[known], whose, whose)
        start = np.searchsorted(pair // card, np.arange(vectors.shape[0] + 1))
        keys, low, high = (np.empty(0, dtype=np.int64) for _ in range(3))
        for part, vector, row in case.view.cells.pairs(vectors):
            of = part.start + vector
            times = start[of + 1] - start[of]
            place = np.arange(times.sum()) - np.repeat(np.cumsum(times) - times, times) + np.repeat(start[of], times)
            mine = np.repeat(row.astype(np.int64), times) * card + pair[place] % card
            both = (np.concatenate(two) for two in ((keys, mine), (low, first[place]), (high, last[place])))
            keys, low, high = _ends(*both)
        return cls(keys, low, high, card)

    def single(self, row: np.ndarray, code: np.ndarray) -> np.ndarray:
        """Whether some descriptions fit exactly one person."""
        if not self.keys.size:
            return np.zeros(row.size, dtype=bool)
        wanted = row * self.card + code
        at = np.minimum(np.searchsorted(self.keys, wanted), self.keys.size - 1)
        return (self.keys[at] == wanted) & (self.low[at] == self.high[at])


def _ends(keys: np.ndarray, low: np.ndarray, high: np.ndarray) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Distinct keys, with the smallest and the largest number that comes with each."""
    found, at = np.unique(keys, return_inverse=True)
    first, last = np.full(found.size, np.iinfo(np.int64).max), np.full(found.size, -1)
    np.minimum.at(first, at, low)
    np.maximum.at(last, at, high)
    return found, first, last
