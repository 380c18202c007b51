"""The clustering methods straight from their specification, in plain Python, one group of records at a time."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Sequence
from fractions import Fraction
from typing import Any

import numpy as np

from shoal.algorithms.base import Problem
from shoal.algorithms.grouping import Grouper
from shoal.data.keys import Keys
from shoal.data.table import Table
from shoal.engines.memory import MemoryEngine
from shoal.models.feasibility import whole_reference
from shoal.models.judge import Judge
from shoal.recoding.recodings import Grouping
from shoal.registry import make
from tests.kernels.test_random import threefry
from tests.measures.naive import NaiveColumn
from tests.table.random_tables import Case

ENGINE = MemoryEngine()
Groups = list[list[int]]
Cost = Callable[[Sequence[int]], Fraction]


def grouped(table: Table, specs: Sequence[dict[str, Any]], algorithm: Grouper, *, seed: int = 1) -> Grouping:
    """What a method alone makes of a table in its own order, before anything is mended."""
    models = [make("model", spec) for spec in specs]
    judge = Judge(models, whole_reference(ENGINE.open(table), models))
    keys = Keys.from_seed(seed, identity=True)
    return algorithm.group(Problem(rows=ENGINE.open(table), judge=judge, keys=keys))


def as_sets(grouping: Grouping) -> set[frozenset[int]]:
    """The groups, each as the set of its rows; their numbers have no gaps."""
    assert sorted(set(grouping.ids.tolist()) - {-1}) == list(range(grouping.groups))
    return {frozenset(np.flatnonzero(grouping.ids == group).tolist()) for group in range(grouping.groups)}


def loss(case: Case, name: str) -> Cost:
    """What a record of a group costs by one of the losses, exactly."""
    columns = [NaiveColumn(case, one) for one in case.quasi]

    def price(column: NaiveColumn, rows: Sequence[int]) -> Fraction:
        values = [column.values[row] for row in rows]
        if name in ("height", "byun") and column.kind == "tree":
            return Fraction(column.level(values), column.height)
        if name == "byun" and column.kind == "flat":
            return Fraction(len(set(values)) > 1)
        cell = column.cell(values)
        return Fraction(column.spread(cell) if name == "spread" else column.penalty(cell))

    def cost(rows: Sequence[int]) -> Fraction:
        return sum((price(column, rows) * Fraction(repr(column.weight)) for column in columns), Fraction(0))

    return cost


def k_members(
    n: int, k: int, distance: Cost, deciding: Callable[[list[int]], Any], raised: Callable[[list[int], int], Any],
    *, furthest: bool,
) -> Groups:  # fmt: skip
    """Section 7: ``deciding`` judges a cluster, ``raised`` what a leftover does to one."""
    pool, clusters, last = list(range(n)), [], 0
    while len(pool) >= k:
        cluster = [max(pool, key=lambda i: (distance([last, i]), -i)) if furthest else pool[0]]
        pool.remove(cluster[0])
        while len(cluster) < k:
            cluster.append(min(pool, key=lambda i: (deciding([*cluster, i]), i)))
            pool.remove(cluster[-1])
        last = cluster[-1]
        clusters.append(cluster)
    for i in pool:
        best = min(range(len(clusters)), key=lambda c: (raised(clusters[c], i), c))
        clusters[best].append(i)
    return clusters


def increase(cost: Cost, group: Sequence[int], more: Sequence[int]) -> Fraction:
    """By how much more records raise the loss of a group as a whole."""
    both = [*group, *more]
    return len(both) * cost(both) - len(group) * cost(group)


def bottom_up(rows: Sequence[Any], k: int, cost: Cost, widest: Callable[[Sequence[int]], list[int]]) -> Groups:
    """Section 8.1, equal records first; ``widest`` orders records by the column that is widest among them."""
    equal: dict[Any, list[int]] = {}
    for i, row in enumerate(rows):
        equal.setdefault(row, []).append(i)
    groups = list(equal.values())
    while len(groups) > 1 and any(len(group) < k for group in groups):
        met: list[list[int]] = []
        for group in [group for group in groups if len(group) < k]:
            if not any(group is one for one in groups) or any(group is one for one in met) or len(groups) == 1:
                continue
            others = [one for one in groups if one is not group]
            near = min(others, key=lambda one: (len(group + one) * cost(group + one), min(one)))
            groups = [one for one in groups if one is not group and one is not near]
            met.append(sorted(group + near))
            groups = sorted([*groups, met[-1]])
    return [piece for group in groups for piece in _split(group, len(group) // k, widest)]


def _split(group: list[int], pieces: int, widest: Callable[[Sequence[int]], list[int]]) -> Groups:
    if pieces < 2:
        return [group]
    left = pieces // 2
    ordered = widest(group)
    middle = len(group) * left // pieces
    return _split(sorted(ordered[:middle]), left, widest) + _split(sorted(ordered[middle:]), pieces - left, widest)


class TopDownReference:
    """Section 8.2."""

    def __init__(self, n: int, k: int, cost: Cost, seed: int) -> None:
        self.n, self.k, self.cost = n, k, cost
        self.key = Keys.from_seed(seed, identity=True).stream("top-down seeds")

    def run(self) -> Groups:
        groups = self.partition(list(range(self.n)))
        while len(groups) > 1 and any(len(group) < self.k for group in groups):
            small = min((group for group in groups if len(group) < self.k), key=lambda group: (len(group), group[0]))
            groups = self.repair([group for group in groups if group is not small], small)
        return groups

    def partition(self, group: list[int]) -> Groups:
        if len(group) <= self.k:
            return [group]
        return [piece for side in self.bisect(group) for piece in self.partition(side)]

    def bisect(self, group: list[int]) -> Groups:
        draw = threefry((int(self.key[0]), int(self.key[1])), (int(group[0]), len(group)))
        u = v = group[int(draw) % len(group)]
        for _ in range(3):
            v = self.furthest(group, u)
            u = self.furthest(group, v)
        sides = [[u], [v]]
        for i in group:
            if i not in (u, v):
                raised = [increase(self.cost, side, [i]) for side in sides]
                sides[0 if (raised[0], len(sides[0])) <= (raised[1], len(sides[1])) else 1].append(i)
        return [sorted(side) for side in sides]

    def furthest(self, group: list[int], u: int) -> int:
        return max((i for i in group if i != u), key=lambda i: (self.cost([u, i]), -i))

    def repair(self, others: Groups, small: list[int]) -> Groups:
        near = min(others, key=lambda one: (len(small + one) * self.cost(small + one), one[0]))
        merging = increase(self.cost, near, small)
        fills = [self.fill(small, one) for one in others if len(one) >= 2 * self.k - len(small)]
        if fills:
            _, _, donor, filled = min(fills)
            rest = [i for i in donor if i not in filled]
            saved = len(donor) * self.cost(donor) - len(rest) * self.cost(rest)
            if self.k * self.cost(filled) - saved < merging:
                return [one for one in others if one is not donor] + [sorted(filled), rest]
        left = [one for one in others if one is not near]
        merged = sorted(small + near)
        if len(merged) >= 2 * self.k:
            sides = self.bisect(merged)
            if min(map(len, sides)) >= self.k:
                return left + sides
        return [*left, merged]

    def fill(self, small: list[int], donor: list[int]) -> tuple[int, int, list[int], list[int]]:
        filled = list(small)
        while len(filled) < self.k:
            filled.append(min((i for i in donor if i not in filled), key=lambda i: (self.cost([*filled, i]), i)))
        return self.cost(filled), donor[0], donor, filled


class Ordered(list[int]):
    """Records of a class, and its place among classes: the least record of those it was merged from."""

    def __init__(self, records: Sequence[int], place: int) -> None:
        super().__init__(records)
        self.place = place


class AlphaReference:
    """Section 9.3: ``values`` are the sensitive values, None where unknown; ``caps`` says what share each may have."""

    def __init__(self, k: int, cost: Cost, values: Sequence[Any], caps: Callable[[Any], float]) -> None:
        self.k, self.cost, self.values, self.caps = k, cost, values, caps
        self.suppressed: list[int] = []

    def run(self) -> Sequence[list[int]]:
        self.classes = [Ordered([i], i) for i in range(len(self.values))]
        while small := [one for one in self.classes if len(one) < self.k]:
            small.sort(key=lambda one: (len(one), one.place))
            for one in small:
                near = self.nearest(one, self.classes, 2 * self.k - 1)
                if near is not None:
                    self.merge(one, near)
                    break
            else:
                self.force(small[0])
        return self.classes

    def compatible(self, both: Sequence[int]) -> bool:
        known = [self.values[i] for i in both if self.values[i] is not None]
        people = len(known) + max(0, self.k - len(both))
        return all(count <= self.caps(value) * people + 1e-9 for value, count in Counter(known).items())

    def nearest(self, one: list[int], classes: Sequence[Ordered], most: float) -> Ordered | None:
        fits = [
            other for other in classes
            if other is not one and len(one) + len(other) <= most and self.compatible([*one, *other])
        ]  # fmt: skip
        return min(fits, key=lambda other: (self.distance(one, other), other.place), default=None)

    def distance(self, one: list[int], other: list[int]) -> float:
        return (increase(self.cost, other, one) - len(one) * self.cost(one)) / (len(one) + len(other))

    def merge(self, one: Ordered, near: Ordered) -> None:
        first, second = sorted([one, near], key=lambda both: both.place)
        rest = [other for other in self.classes if other is not one and other is not near]
        self.classes = [*rest, Ordered([*first, *second], first.place)]

    def force(self, one: Ordered) -> None:
        near = self.nearest(one, self.classes, float("inf"))
        if near is not None:
            self.merge(one, near)
            return
        self.classes = [other for other in self.classes if other is not one]
        for i in one:
            near = self.nearest([i], self.classes, float("inf"))
            if near is None:
                self.suppressed.append(i)
            else:
                near.append(i)
