"""Clusters of the largest research value: local recoding, after what Morton et al. announce (Section 8)."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any, ClassVar

import numpy as np

from shoal.algorithms.base import Problem, shuffled_codes
from shoal.algorithms.cluster.k_members import Members
from shoal.algorithms.cluster.records import Parts
from shoal.algorithms.grouping import mend
from shoal.algorithms.lattice.verdicts import infeasible
from shoal.algorithms.polish import held
from shoal.algorithms.prices import ColumnPrices, prices_of, quasi_columns
from shoal.algorithms.research.base import Researched
from shoal.algorithms.research.search import unfound
from shoal.data.domain import Domain
from shoal.data.table import Table
from shoal.errors import InfeasibleError
from shoal.kernels.cluster.k_members import COST
from shoal.kernels.median_split import halve
from shoal.recoding.lattice import top_level
from shoal.recoding.recoded import apply_recoding
from shoal.recoding.recodings import Grouping
from shoal.registry import load, make

# ----------------------------------------
# Rows by the sides of rules that they are on: clusters within such regions mix no two sides.


def regions(problem: Problem, rules: Sequence[Any]) -> np.ndarray | None:
    """Region of every row (-1: of none, as too few are on the same sides); None where there is just one.

    Whoever is on no side of a rule may be with either. Regions of fewer than k join the largest that they may.
    """
    k = problem.judge.k
    kinds, region = np.unique(_signs(problem.table, rules), axis=0, return_inverse=True)
    region = region.ravel()
    sizes = np.bincount(region)
    names = np.arange(sizes.size)
    for small in np.argsort(sizes, kind="stable").tolist():
        if not 0 < sizes[small] < k:
            continue
        fits = ~((kinds > 0) & (kinds[small] > 0) & (kinds != kinds[small])).any(axis=1) & (sizes > 0)
        fits[small] = False
        if fits.any():
            into = int(np.where(fits, sizes, -1).argmax())
            kinds[into] = np.maximum(kinds[into], kinds[small])
            sizes[into] += sizes[small]
            names[names == small] = into
            sizes[small] = 0
    found = np.where(sizes[names[region]] >= k, names[region], -1)
    return found if np.unique(found[found >= 0]).size > 1 else None


def _signs(table: Table, rules: Sequence[Any]) -> np.ndarray:
    """By row and rule the side that the row is on, 0 for none."""
    columns = [table.columns[rule.column] for rule in rules]
    return np.stack(
        [rule.signs(column)[table.codes[column.name]] for rule, column in zip(rules, columns, strict=True)], axis=1
    )


# Strings up to which the best of them is a start; beyond, what a handful of tests finds.
_STRINGS = 20_000


@dataclass(frozen=True, kw_only=True)
class ResearchClusters(Members, Researched):
    """Group records so that their cells are worth most to researchers, every cell on a level of its own.

    Clusters grow by the record that costs least research value: in all of the table, in the classes of the best
    full-domain string, and among those who are on the same sides of the rules. All are polished, and what is worth
    most is released.

    Parameters
    ----------
    seeds, loss, prepartition, polish
        As for `KMembers`; polish raises ``rv`` unless told otherwise.
    rules, weights, normalise, rv
        How levels are valued, as for the measure ``rv``.

    Examples
    --------
    >>> ResearchClusters(k=5, prepartition=500).parameters()["polish"]
    'rv'
    """

    name: ClassVar[str] = "rv-cluster"
    polish: str | None = "rv"
    loss: str = "spread"

    def run(self, problem: Problem) -> Grouping:
        """The best of what grows from all starts."""
        research = self.research or dict(problem.domain.research)
        table = problem.table.knowing(research=research)
        measure = load("measure", "rv")().on(table.domain)
        pairs = {names: table.joined(names) for names in measure.tuples(table.domain)}
        table = table.knowing(joint={**table.domain.joint, **pairs})
        problem = replace(problem, rows=load("engine", "memory")().open(table))
        allowed = self.rows_allowed(table.n)
        limit = self.share_allowed(table.n)
        starts = [mend(problem, one, limit) for one in (self.group(problem), *self._classes(problem))]
        apart = [(mend(problem, one, limit), region) for one, region in self._apart(problem, measure.rules)]
        found = [*starts, *(one for one, _ in apart), *(self.polished(problem, one) for one in starts)]
        found += [self._polished_apart(problem, one, region) for one, region in apart]
        worth = [self._worth(problem, measure, one, allowed) for one in found]
        best = int(np.argmax(worth))
        if worth[best] == -math.inf:
            raise unreleasable(problem, measure, allowed)
        most = float(measure.bounds(apply_recoding(problem.rows, found[best]).price_stats())[1])
        gap = max(0.0, most - worth[best])
        notes = {"proven": gap == 0.0, "gap": gap, "string": worth[1] if len(starts) > 1 else None}
        return replace(found[best], notes={**found[best].notes, **notes, "worth": worth[best]})

    def group(self, problem: Problem) -> Grouping:
        """Clusters of k records."""
        return self._cluster(problem, [], [COST] * len(problem.table.quasi))

    def priced(self, domain: Domain) -> tuple[list[ColumnPrices], np.ndarray]:
        """What cells lose of their column's value, and what the columns are worth."""
        measure = load("measure", "rv")()
        return quasi_columns(domain, own=measure.node_prices(domain)), measure.spread_weights(domain, None)

    def _classes(self, problem: Problem) -> list[Grouping]:
        """The classes of a good full-domain string, and clusters in each of them, whose cells are never wider."""
        size = math.prod(top_level(column) + 1 for column in problem.domain.quasi)
        name = "rv-global" if size <= _STRINGS else "rv-local"
        spec = {"name": name, "top": 1, "suppression_limit": self.share_allowed(problem.domain.n)}
        try:
            found = make("algorithm", spec).run(problem)
        except InfeasibleError:
            return []
        released = held(problem, found)
        classes = Grouping(ids=released.classes, groups=released.n_classes, notes={})
        sizes = np.bincount(classes.ids[classes.ids >= 0])
        if (classes.ids < 0).any() or sizes.max() > 2 * (self.prepartition or problem.domain.n):
            return [classes]
        order, codes = shuffled_codes(problem)
        place = np.argsort(classes.ids[order], kind="stable")
        parts = Parts(order[place], codes[place], np.concatenate([[0], np.cumsum(sizes)]).astype(np.int64))
        return [classes, self._cluster(problem, [], [COST] * len(problem.table.quasi), parts)]

    def _apart(self, problem: Problem, rules: Sequence[Any]) -> list[tuple[Grouping, np.ndarray]]:
        """Clusters of those on the same sides of the rules that must be kept, and of all; with everybody's region."""
        must = tuple(rule for rule in rules if rule.keep)
        allowed = self.rows_allowed(problem.domain.n)
        found = []
        for some in dict.fromkeys((must, tuple(rules))):
            region = regions(problem, some) if some else None
            if region is None or (region < 0).sum() > allowed:
                continue
            one = self._cluster(problem, [], [COST] * len(problem.table.quasi), self._region_parts(problem, region))
            ids = np.full(region.size, -1, dtype=np.int32)
            ids[region >= 0] = one.ids
            found.append((replace(one, ids=ids), region))
        return found

    def _region_parts(self, problem: Problem, region: np.ndarray) -> Parts:
        """Every region in subspaces of its own, rows numbered without those that are in none."""
        order, codes = shuffled_codes(problem)
        number = np.cumsum(region >= 0).astype(np.int32) - 1
        rows, moved, starts = [], [], [np.zeros(1, dtype=np.int64)]
        for one in np.unique(region[region >= 0]).tolist():
            place = np.flatnonzero(region[order] == one)
            mine, first = codes[place], np.array([0, place.size], dtype=np.int64)
            if self.prepartition is not None:
                halved, first = halve(mine, prices_of(problem.domain), self.prepartition)
                place = place[halved]
            rows.append(number[order[place]])
            moved.append(mine)
            starts.append(starts[-1][-1] + first[1:])
        return Parts(np.concatenate(rows), np.concatenate(moved), np.concatenate(starts))

    def _polished_apart(self, problem: Problem, grouping: Grouping, region: np.ndarray) -> Grouping:
        """Every region polished by itself, so that none mixes with another; all at once if mending mixed them."""
        if "merged" in grouping.notes:
            return self.polished(problem, grouping)
        ids = np.full(grouping.ids.size, -1, dtype=np.int32)
        for one in np.unique(region[region >= 0]).tolist():
            mine = np.flatnonzero(region == one)
            alone = np.full(grouping.ids.size, -1, dtype=np.int32)
            alone[mine] = np.unique(grouping.ids[mine], return_inverse=True)[1]
            better = self.polished(problem, Grouping(ids=alone, groups=int(alone.max()) + 1, notes={}))
            ids[mine] = better.ids[mine] + ids.max() + 1
        return Grouping(ids=ids, groups=int(ids.max()) + 1, notes=grouping.notes)

    @staticmethod
    def _worth(problem: Problem, measure: Any, grouping: Grouping, allowed: int) -> float:
        """Research value after what fails is suppressed; nothing can be worth less than what may not be released."""
        stats = held(problem, grouping).price_stats()
        if stats.n_released == 0 or stats.n_suppressed > allowed or measure.unkept(stats):
            return -math.inf
        return float(measure.value(stats)[0])


def unreleasable(problem: Problem, measure: Any, allowed: int) -> InfeasibleError:
    """The error where no clusters can be released: for what must be kept, or else for the models."""
    kept = [rule.text for rule in measure.rules if rule.keep]
    return unfound(kept, ResearchClusters.name) if kept else infeasible(problem, allowed)
