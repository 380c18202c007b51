"""Loukides' Algorithms 1, 2, 5 and 6 read line by line, on exact fractions, one record at a time."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction
from typing import Any

from shoal.algorithms.base import Problem
from shoal.data.keys import Keys
from shoal.data.table import Table
from shoal.engines.memory import MemoryEngine
from shoal.models.feasibility import whole_reference
from shoal.models.judge import Judge
from shoal.registry import make
from tests.kernels.test_median import reference as subspaces_of
from tests.measures.naive import NaiveColumn
from tests.table.random_tables import ORDER, Case, day

TOLERANCE = Fraction(1, 10**12)
ENGINE = MemoryEngine()


def problem_of(table: Table, specs: Sequence[dict[str, Any]], **keys: Any) -> Problem:
    """A table with models, its rows in their own order unless a seed is given."""
    models = [make("model", spec) for spec in specs]
    judge = Judge(models, whole_reference(ENGINE.open(table), models))
    given = Keys.from_seed(keys["seed"]) if "seed" in keys else Keys.from_seed(1, identity=True)
    return Problem(rows=ENGINE.open(table), judge=judge, keys=given)


class Secret:
    """A sensitive column: how far apart its known values are, and which of them lie in each other's range."""

    def __init__(self, case: Case, name: str, blocks: Sequence[Sequence[Any]] = ()) -> None:
        self.kind = case.kinds[name]
        unknown = {"*", *case.non_answers.get(name, ())}
        raw = case.data[name]
        self.values = [None if value is None or str(value) in unknown else value for value in raw]
        known = [value for value in self.values if value is not None]
        self.block = {value: number for number, block in enumerate(blocks) for value in block}
        if self.kind == "tree":
            self.paths = {row[0]: row for row in case.hierarchies[name]}
            self.width = Fraction(len(self.paths) - 1)
        elif self.kind == "flat":
            self.width = Fraction(len(set(known)) - 1)
        elif self.kind == "ordinal":
            self.width = Fraction(len(ORDER) - 1)
        else:
            self.width = max(map(self.place, known)) - min(map(self.place, known)) if known else Fraction(0)

    def place(self, value: Any) -> Fraction:
        if self.kind == "date":
            return Fraction(day(value))
        return Fraction(ORDER.index(value)) if self.kind == "ordinal" else Fraction(value)

    def spread(self, values: Sequence[Any]) -> Fraction:
        """1 - S-diversity of known values."""
        if len(set(values)) < 2 or self.width <= 0:
            return Fraction(0)
        if self.kind == "flat":
            return (len(set(values)) - 1) / self.width
        if self.kind == "tree":
            for level in range(1, len(self.paths[values[0]])):
                nodes = {self.paths[value][level] for value in values}
                if len(nodes) == 1:
                    return (sum(path[level] in nodes for path in self.paths.values()) - 1) / self.width
        places = [self.place(value) for value in values]
        return (max(places) - min(places)) / self.width

    def known(self, rows: Sequence[int]) -> list[Any]:
        return [self.values[row] for row in rows if self.values[row] is not None]

    def diversity(self, rows: Sequence[int]) -> Fraction:
        return 1 - self.spread(self.known(rows))

    def together(self, u: Any, x: Any) -> bool:
        """Whether x is in SR(u): in the same block, or the same value."""
        return u == x or (u in self.block and self.block[u] == self.block.get(x))

    def range_diversity(self, rows: Sequence[int]) -> Fraction:
        known = self.known(rows)
        pairs = sum((1 - self.spread([u, x]) for u in known for x in known if self.together(u, x)), Fraction(0))
        return pairs / len(known) ** 2 if known else Fraction(0)

    def confidence(self, rows: Sequence[int]) -> Fraction:
        known = self.known(rows)
        return max((Fraction(sum(self.together(u, x) for x in known), len(known)) for u in known), default=Fraction(0))


@dataclass
class Clusters:
    """Accepted clusters by subspace, and leftovers in order of appearance."""

    kept: list[list[list[int]]]
    left: list[list[int]]

    @property
    def all(self) -> list[list[int]]:
        return [cluster for part in self.kept for cluster in part]


@dataclass
class Loukides:
    """A table and the weights of its columns."""

    case: Case
    blocks: dict[str, list[list[Any]]]

    def __post_init__(self) -> None:
        self.columns = [NaiveColumn(self.case, name) for name in self.case.quasi]
        self.secrets = [Secret(self.case, name, self.blocks.get(name, ())) for name in self.case.sensitive]

    def loss(self, rows: Sequence[int], *, weighted: bool = True) -> Fraction:
        """Mean Q-diversity."""
        weights = [Fraction(column.weight) if weighted else Fraction(1) for column in self.columns]
        spreads = [
            column.spread(column.cell([column.values[row] for row in rows])) for column in self.columns
        ]
        return sum((w * s for w, s in zip(weights, spreads, strict=True)), Fraction(0)) / sum(weights)

    def mr_wtd(self, rows: Sequence[int], utility: float | Fraction, protection: float | Fraction) -> Fraction:
        utility, protection = (Fraction(one).limit_denominator(1000) for one in (utility, protection))
        value = utility * self.loss(rows)
        if protection:
            shown = [secret.diversity(rows) for secret in self.secrets]
            value += protection * sum(shown, Fraction(0)) / len(shown)
        return value

    def group_diversity(self, rows: Sequence[int]) -> Fraction:
        return (self.loss(rows) + self.exposure(rows)) / 2

    def subspaces(self, size: int | None) -> list[list[int]]:
        rows = list(range(self.case.n))
        return [rows] if size is None else subspaces_of(self.case, rows, size, False)

    def people(self, rows: Sequence[int]) -> int:
        return len(rows) if self.case.subject is None else len({self.case.subject[row] for row in rows})

    def algorithm_1(
        self, parts: list[list[int]], k: int, delta: float, weights: tuple[float, float], most: int,
        linked: bool = False,
    ) -> Clusters:  # fmt: skip
        found = Clusters([], [])
        for part in parts:
            rest, kept, left = list(part), [], []
            while rest:
                cluster = [rest.pop(0)]
                while rest and self.people(cluster) < most:
                    near = cluster if linked else cluster[:1]
                    nearest = min(rest, key=lambda t: (self.mr_wtd([*near, t], *weights), t))
                    if self.mr_wtd([*cluster, nearest], *weights) > Fraction(delta) + TOLERANCE:
                        break
                    cluster.append(nearest)
                    rest.remove(nearest)
                if self.people(cluster) >= k:
                    kept.append(cluster)
                else:
                    left += cluster
            found.kept.append(kept)
            found.left.append(left)
        return found

    def algorithm_5(
        self, found: Clusters, weights: tuple[float, float], *, everywhere: bool, increment: bool
    ) -> None:
        """Leftovers with clusters near them go first where only these are candidates."""
        near = [self._candidates(found, p, 1) for p in range(len(found.kept))]
        first = [p for p, one in enumerate(near) if one] if not everywhere else []
        for p in [*first, *(p for p in range(len(near)) if p not in first)]:
            steps = len(found.kept) if everywhere else 1
            while not self._candidates(found, p, steps):
                steps += 1
            for t in found.left[p]:
                self._best(self._candidates(found, p, steps), t, weights, increment).append(t)

    def _candidates(self, found: Clusters, p: int, steps: int) -> list[list[int]]:
        return [cluster for part in found.kept[max(0, p - steps) : p + steps + 1] for cluster in part]

    def _best(self, clusters: list[list[int]], t: int, weights: tuple[float, float], increment: bool) -> list[int]:
        def value(cluster: list[int]) -> Fraction:
            before = self.mr_wtd(cluster, *weights) if increment else Fraction(0)
            return self.mr_wtd([*cluster, t], *weights) - before

        return min(clusters, key=value)

    def algorithm_6(
        self, parts: list[list[int]], k: int, utility: float, limits: tuple[float, float], free: int, most: int,
        grows: bool = False,
    ) -> Clusters:  # fmt: skip
        found = Clusters([], [])
        for part in parts:
            rest, kept, left = list(part), [], []
            while rest:
                cluster = [rest.pop(0)]
                while rest:
                    failing = grows and self.people(cluster) >= free and not self.safe(cluster, limits)
                    if self.people(cluster) >= most and not failing:
                        break
                    offered = [t for t in rest if not failing or self._falls(cluster, t)]
                    if not offered:
                        break
                    nearest = min(offered, key=lambda t: (self.group_diversity([*cluster, t]), t))
                    grown = [*cluster, nearest]
                    small = self.people(cluster if grows else grown) < free
                    if not self.useful(grown, utility) or not (small or failing or self.safe(grown, limits)):
                        break
                    cluster = grown
                    rest.remove(nearest)
                good = self.useful(cluster, utility) and self.safe(cluster, limits)
                if self.people(cluster) >= k and good:
                    kept.append(cluster)
                else:
                    left += cluster
            found.kept.append(kept)
            found.left.append(left)
        return found

    def step_7(
        self, found: Clusters, utility: float, limits: tuple[float, float], *, everywhere: bool, increment: bool
    ) -> None:
        for p, left in enumerate(found.left):
            clusters = self._candidates(found, p, len(found.kept) if everywhere else 1)
            for t in left:
                fit = [c for c in clusters if self.useful([*c, t], utility) and self.safe([*c, t], limits)]
                if fit:
                    min(
                        fit,
                        key=lambda c: (
                            self.group_diversity([*c, t]) - (self.group_diversity(c) if increment else 0)
                        ),
                    ).append(t)

    def exposure(self, rows: Sequence[int]) -> Fraction:
        return sum((one.range_diversity(rows) for one in self.secrets), Fraction(0)) / len(self.secrets)

    def _falls(self, cluster: list[int], t: int) -> bool:
        return self.exposure([*cluster, t]) < self.exposure(cluster) - TOLERANCE

    def useful(self, rows: Sequence[int], utility: float) -> bool:
        return self.loss(rows, weighted=False) <= Fraction(utility) + TOLERANCE

    def safe(self, rows: Sequence[int], limits: tuple[float, float]) -> bool:
        return all(
            secret.range_diversity(rows) <= Fraction(limits[0]) + TOLERANCE
            and secret.confidence(rows) <= Fraction(limits[1]) + TOLERANCE
            for secret in self.secrets
        )
