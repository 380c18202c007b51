"""Leftovers of parts that were grouped by themselves: settled among the groups of all parts.

Records of one part that end in no group that holds may fit into a group of another part. Nobody looks at the records of
all parts for that: every group is described by the corners of its cells, so many groups at most, and leftovers join the
group whose cells grow least. A group that holds must hold with them, and growing it must cost less than losing them.
"""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from shoal.algorithms.base import Problem
from shoal.algorithms.prices import prices_of
from shoal.data.classes import RowIds
from shoal.data.column import FLAT
from shoal.kernels.cluster.bottom_up import nearest_groups, price_groups
from shoal.kernels.grouping import group_ranges
from shoal.kernels.histograms import group_sets
from shoal.models.suppression import settled
from shoal.recoding.recoded import member_codes
from shoal.recoding.recodings import Grouping

# Groups that are described at once, and leftovers that are settled in a round.
_DESCRIBED, _UNITS, _ROUNDS = 8192, 1024, 12
# Bytes that sets of values of described groups may take, a bit for each value of a flat column.
_SETS = 1 << 28


def settle_leftovers(problem: Problem, grouping: Grouping) -> Grouping:
    """The grouping of all parts with leftovers in groups of other parts, where that costs less than losing them.

    What models say that look beyond counts of classes is left to suppression.
    """
    judge = problem.judge
    if judge.needs_spreads or judge.needs_population or judge.needs_breaches or not grouping.groups:
        return grouping
    work = _Settling(problem, grouping)
    for _ in range(_ROUNDS):
        if not work.round():
            break
    return work.result()


class _Settling:
    """Groups of all parts on their way to fewer leftovers; a group that joins another leaves its number empty."""

    def __init__(self, problem: Problem, grouping: Grouping) -> None:
        self.problem, self.grouping = problem, grouping
        self.prices = prices_of(problem.domain)
        words = sum((column.card + 63) // 64 for column in problem.domain.quasi if column.kind == FLAT)
        self.most = max(_SETS // (8 * max(words, 1)), 2)  # groups that are described at once
        self.ids = grouping.ids.copy()
        alone = np.flatnonzero(self.ids < 0)[:_UNITS]
        self.ids[alone] = grouping.groups + np.arange(alone.size)
        self.groups = grouping.groups + alone.size
        # Leftovers that a group could not take.
        self.barred = np.zeros(self.groups, dtype=bool)
        self.first = self._lost()

    def round(self) -> bool:
        """Let every leftover join its nearest group; whether any did."""
        sizes = np.bincount(self.ids[self.ids >= 0], minlength=self.groups)
        good = self._good()
        failing = np.flatnonzero(~good & (sizes > 0) & ~self.barred)
        failing = failing[np.argsort(sizes[failing], kind="stable")][: min(_UNITS, self.most // 2)]
        if not failing.size:
            return False
        holding = np.flatnonzero(good & (sizes > 0))
        most = min(_DESCRIBED, self.most - failing.size)
        chosen = self.problem.keys.generator("leftovers").permutation(holding.size)[:most]
        listed = np.concatenate([failing, np.sort(holding[chosen])])
        codes, owner, weights = self._described(listed, sizes)
        which = np.arange(failing.size)
        nearest = nearest_groups(self.prices, codes, owner, listed.size, which, listed.size, weights)
        pairs = self._worth(codes, owner, weights, nearest, sizes[listed])
        return self._join([(int(listed[one]), int(listed[to])) for one, to in pairs], good)

    def _worth(
        self, codes: np.ndarray, owner: np.ndarray, weights: np.ndarray, nearest: np.ndarray, sizes: np.ndarray
    ) -> list[tuple[int, int]]:
        """Leftovers, which come first, and what each joins, every group once, where losing them costs more."""
        pairs, taken = [], set[int]()
        for one, to in enumerate(nearest.tolist()):
            if to >= 0 and not taken & {one, to}:
                taken |= {one, to}
                pairs.append((one, to))
        number = np.arange(sizes.size, dtype=np.int32)
        for one, to in pairs:
            number[one] = to
        before = price_groups(self.prices, codes, owner, sizes.size, weights).loss
        after = price_groups(self.prices, codes, number[owner], sizes.size, weights).loss
        return [(one, to) for one, to in pairs if after[to] - before[to] < self.prices.one * sizes[one]]

    def _described(self, listed: np.ndarray, sizes: np.ndarray) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
        """Corners of some groups' cells: their codes, whose they are, and how many records each stands for."""
        domain, count = self.problem.domain, listed.size
        number = np.full(self.groups + 1, -1, dtype=np.int32)
        number[listed] = np.arange(count, dtype=np.int32)
        ids, members = number[self.ids], member_codes(self.problem.rows, self.grouping)
        cells, corners = [], np.full(count, 2)
        for column in domain.quasi:
            codes = members(column.name)
            if column.kind == FLAT:
                starts, values = group_sets(codes, ids, count, column.card)
                cells.append((values, starts))
                corners = np.maximum(corners, np.diff(starts))
            else:
                both = np.stack(group_ranges(codes, ids, count), axis=1)
                cells.append((both.ravel(), np.arange(count + 1) * 2))
        # As many corners as records do for any group.
        corners = np.minimum(corners, sizes[listed])
        owner = np.repeat(np.arange(count, dtype=np.int32), corners)
        place = np.arange(owner.size) - np.repeat(np.cumsum(corners) - corners, corners)
        found = [values[starts[owner] + np.minimum(place, np.diff(starts)[owner] - 1)] for values, starts in cells]
        weights = np.where(place == 0, (sizes[listed] - corners + 1)[owner], 1)
        return np.stack(found).astype(np.int32), owner, weights.astype(np.int64)

    def _join(self, pairs: list[tuple[int, int]], held: np.ndarray) -> bool:
        """Join pairs of groups, and part those again after which a group that held does not."""
        target = np.full(self.groups + 1, -1, dtype=np.int32)  # the last one for rows in no group
        target[[one for one, _ in pairs]] = [to for _, to in pairs]
        moved = np.flatnonzero(target[self.ids] >= 0)
        before = self.ids[moved]
        self.ids[moved] = target[before]
        good = self._good()
        broken = [one for one, to in pairs if held[to] and not good[to]]
        self.barred[broken] = True
        back = self.barred[before]
        self.ids[moved[back]] = before[back]
        return bool(pairs)

    def _good(self) -> np.ndarray:
        """Groups in which the models hold."""
        classes = RowIds(self.ids, self.groups)
        stats = self.problem.rows.stats(classes, self.problem.judge.attributes)
        return settled(self.problem.judge, stats, classes, self.problem.rows)

    def _lost(self) -> int:
        """Records in no group that holds."""
        kept = self.ids >= 0
        return int((~self._good()[self.ids[kept]]).sum()) + int((~kept).sum())

    def result(self) -> Grouping:
        """Groups numbered without gaps; what is left over fails the models as before."""
        there, ids = np.unique(self.ids, return_inverse=True)
        none = int((there < 0).sum())
        ids = (ids - none).astype(np.int32)
        notes = {**self.grouping.notes, "left_over": {"before": self.first, "after": self._lost()}}
        return replace(self.grouping, ids=ids, groups=there.size - none, notes=notes)
