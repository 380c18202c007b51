"""What a search that takes the best node gives away: no node below the one that it took was better."""

from __future__ import annotations

import math
from collections.abc import Iterator
from dataclasses import dataclass
from itertools import product

import numpy as np

from shoal.catalogue import load, make
from shoal.kernels.rules import SIZE
from shoal.models.base import merging_keeps
from shoal.models.feasibility import whole_reference
from shoal.models.judge import Judge
from shoal.recoding.recodings import FullDomain
from shoal.results import Release
from shoal.utility.base import Prices

# Searches that take the best of all nodes; the others stop where they stand.
BEST = ("optimal", "incognito", "samarati")
# Costs nearer than this, as a share, count as equal.
_TIE = 1e-9
# Lattices below a node that are looked at as a whole.
_NODES = 4096


@dataclass(frozen=True, eq=False, kw_only=True)
class Forced:
    """Why the nodes below a released one were not taken.

    A node below was not taken because too many rows would have been in classes that fail, or because suppressing them
    would have cost more than finer cells are worth. Nothing else is possible: with no class failing it would have been
    better.

    Attributes
    ----------
    judge
        The models, on the whole table.
    allowed
        Rows of the release, beside those that are suppressed, that might have been suppressed too.
    prices
        What a search by prices minimised; None where only failing counts (a smallest height), or the measure is not one
        of single records.
    by_height
        Whether a node of less height is better whatever it suppresses.
    """

    release: Release
    judge: Judge
    allowed: int
    prices: Prices | None
    by_height: bool

    @property
    def levels(self) -> dict[str, int]:
        """Level of each column of the release."""
        levels = self.release.released.levels
        assert levels is not None
        return dict(levels)

    @property
    def sizes_only(self) -> bool:
        """Whether classes can fail by their numbers of rows alone."""
        rules = [rule for _, rules in self.judge.sets for rule in rules]
        return self.release.table.subjects is None and all(rule.op == SIZE for rule in rules)

    @property
    def inherited(self) -> bool:
        """Whether a node that fails makes all below it fail, so that only the nearest ones tell anything."""
        return self.allowed == 0 and all(merging_keeps(model, rules) for model, rules in self.judge.sets)

    def below(self) -> Iterator[dict[str, int]]:
        """Levels of the nodes below, the nearest first; only these where others follow from them."""
        levels = self.levels
        deep = not self.inherited and math.prod(level + 1 for level in levels.values()) <= _NODES
        if deep:
            drops = sorted(product(*(range(level + 1) for level in levels.values())), key=lambda one: (sum(one), one))
        else:
            drops = [tuple(int(name == one) for one in levels) for name, level in levels.items() if level]
        for drop in drops:
            if any(drop):
                yield {name: level - down for (name, level), down in zip(levels.items(), drop, strict=True)}

    def refused(self, levels: dict[str, int], bad: np.ndarray, rows: np.ndarray) -> bool:
        """Whether a node below is or may be worse than the released one if some of its rows were in failing classes.

        Parameters
        ----------
        bad
            Flags of the released rows.
        rows
            Their places in the table.
        """
        many = int(bad.sum())
        if many == 0 or many > self.allowed:
            return many > self.allowed
        if self.by_height:
            return False
        if self.prices is None:
            return True
        return self.change(levels, bad, rows) >= -_TIE

    def change(self, levels: dict[str, int], bad: np.ndarray, rows: np.ndarray) -> float:
        """What a node below costs more, as a share of the released one's cost on the released rows."""
        assert self.prices is not None
        table, own = self.release.table, self.levels
        before = after = 0.0
        for place, column in enumerate(table.quasi):
            unit = self.prices.weight[place] * self.prices.factor[place]
            leaf, full = self.prices.leaf[place], self.prices.full[place]
            codes = table.codes[column.name][rows]
            before += unit * float(leaf[own[column.name], codes].sum())
            after += unit * float(np.where(bad, full[codes], leaf[levels[column.name], codes]).sum())
        return (after - before) / max(abs(before), 1e-300)


def best_of_all(release: Release | None) -> bool:
    """Whether a release is the best node that a search found, and the search saw all of them."""
    if release is None or release.released.levels is None or not isinstance(release.released.recoding, FullDomain):
        return False
    algorithm = release.evidence.get("algorithm", {})
    proven = release.released.recoding.notes.get("proven", True)
    # A research value may rise with a level, so less generalisation need not be better; a workload has its own prices.
    known = "models" in release.evidence and algorithm.get("name") in BEST and algorithm.get("measure") != "rv"
    return bool(known and proven and algorithm.get("node") is None and release.table.domain.workload is None)


def forced(release: Release) -> Forced:
    """What follows from a release of :func:`best_of_all`."""
    table, algorithm = release.table, release.evidence["algorithm"]
    prices = None
    limit = make("algorithm", algorithm).rows_allowed(table.n)
    measure = "height" if algorithm["name"] == "samarati" else algorithm["measure"]
    if measure not in ("dm", "c-avg", "height"):
        prices = load("measure", measure)().prices(table.domain)
    return Forced(
        release=release, judge=judge_of(release), by_height=measure == "height",
        allowed=max(0, min(limit, table.n - 1) - release.released.n_suppressed),
        prices=None if prices is None or prices.log else prices,
    )  # fmt: skip


def judge_of(release: Release) -> Judge:
    """The models of a release, on its table."""
    models = [make("model", spec) for spec in release.evidence["models"]]
    return Judge(models, whole_reference(load("engine", "memory")().open(release.table), models))
