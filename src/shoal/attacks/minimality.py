"""The minimality attack on full-domain releases: what follows from the fact that less generalisation would not do."""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from itertools import product
from typing import Any, ClassVar

import numpy as np

from shoal.attacks.base import Attack, AttackFigure, AttackResult, clustered, figure
from shoal.attacks.case import AttackCase
from shoal.kernels.grouping import group_rows
from shoal.models.base import Judge
from shoal.models.feasible import whole_reference
from shoal.params import whole
from shoal.recoding.recodings import FullDomain
from shoal.recoding.released import apply_recoding
from shoal.registry import load, make
from shoal.results import Release
from shoal.table.column import Column
from shoal.table.counting import count_groups

# Assignments are all looked at where there are no more than this.
_ALL = 4096
# A draw's share must lie so many standard errors above the class's before the attacker trusts it.
_ERRORS = 3.0
_FEWEST = 20


@dataclass(frozen=True, eq=False, kw_only=True)
class _World:
    """What the attacker knows: classes, and for every lower node who would be together there.

    ``lower`` holds group ids of the released rows at each node one level below that the quasi-identifiers alone would
    allow; at each of them, more than ``allowed`` rows were in classes that fail.
    """

    release: Release
    judge: Judge
    rows: np.ndarray
    classes: np.ndarray
    lower: Sequence[np.ndarray]
    allowed: float

    def fits(self, source: np.ndarray) -> bool:
        """Whether an assignment (the row that each row has its values from) would have forced this release."""
        table = self.release.table
        codes = np.full(table.n, -1)
        codes[self.rows] = source
        for ids in self.lower:
            groups = int(ids.max(initial=-1)) + 1
            attributes = [replace(one, codes=one.codes[np.maximum(codes, 0)]) for one in self.judge.attributes]
            every = np.full(table.n, -1, dtype=np.int32)
            every[self.rows] = ids
            stats = count_groups(table, every, groups, attributes)
            bad = ~self.judge.ok(stats)
            if stats.rows[bad].sum() <= self.allowed:
                return False
        return True


@dataclass(frozen=True, kw_only=True)
class Minimality(Attack):
    """The attacker knows everybody's quasi-identifiers and that the publisher would have generalised less if possible.

    At every node one level below, the quasi-identifiers are known and so is who would have been together; where their
    numbers alone would have allowed it, sensitive values must have forbidden it. Assignments of values to people that
    would have allowed it are excluded (Wong et al. 2007). The baseline is the commonest value of the class.

    Parameters
    ----------
    draws
        Assignments looked at where there are too many to look at all.
    """

    name: ClassVar = "minimality"
    needs: ClassVar = ("input", "sensitive", "full-domain")
    draws: int = 200

    def __post_init__(self) -> None:
        whole("minimality", "draws", self.draws, least=_FEWEST)

    def run(self, case: AttackCase) -> AttackResult:
        """One figure a sensitive column."""
        assert case.release is not None
        world = _world(case.release)
        columns = case.release.table.sensitive
        none = "People outside the data are in no assignment, so there is no control."
        if not world.lower:
            told = "At every node below, the quasi-identifiers alone would have failed, so that nothing follows."
            found = [_figure(world, column, *_class_guess(world, column), 1.0) for column in columns]
            return self.result(found, f"{told} {none}", constraints=0, consistent=1.0)
        every, drawn = _assignments(world, case.keys.generator("attack minimality"), self.draws)
        atoms = _atoms(world)
        tallies = [_Tally.of(atoms, column, world) for column in columns]
        tried = fit = 0
        for source in drawn:
            tried += 1
            if world.fits(source):
                fit += 1
                for tally in tallies:
                    tally.add(source)
        share = fit / tried
        told = f"Of {tried:,} {'possible' if every else 'drawn'} assignments {share:.1%} fit."
        also = {"constraints": len(world.lower), "consistent": share, "all": every}
        if fit < (1 if every else _FEWEST):
            return self.result([], f"{told} These are too few to guess from. {none}", **also)
        found = [
            _figure(world, column, tally.guess(every), _class_guess(world, column)[1], share)
            for column, tally in zip(columns, tallies, strict=True)
        ]
        return self.result(found, f"{told} {none}", **also)


def _world(release: Release) -> _World:
    table, released = release.table, release.released
    assert released.levels is not None
    engine = load("engine", "memory")()
    models = [make("model", spec) for spec in release.evidence["models"]]
    judge = Judge(models, whole_reference(table, models, engine))
    limit = float(release.evidence["algorithm"].get("suppression_limit", 0.0)) * table.n
    rows = np.flatnonzero(released.classes >= 0)
    lower = []
    for name, level in released.levels.items():
        if level == 0:
            continue
        below = apply_recoding(table, FullDomain(levels={**released.levels, name: level - 1}))
        ids = np.unique(below.classes[rows], return_inverse=True)[1].astype(np.int32)
        sizes = count_groups(table, below.classes, below.n_classes, []).sizes
        small = int((sizes[below.classes] < judge.k).sum())
        if small <= limit + 1e-9:  # the numbers of people would have allowed it
            lower.append(ids)
    # What is suppressed here is suppressed below too, so it counts towards the limit there.
    allowed = limit - released.n_suppressed + 1e-9
    return _World(release=release, judge=judge, rows=rows, classes=released.classes[rows], lower=lower, allowed=allowed)


def _atoms(world: _World) -> np.ndarray:
    """Number of each released row among those that no node below tells apart."""
    codes = np.stack([world.classes, *world.lower]).astype(np.int32)
    return group_rows(codes, codes.max(axis=1, initial=0).astype(np.int64) + 1)[0]


def _values(world: _World) -> np.ndarray:
    """Number of each released row's combination of sensitive values."""
    columns = world.release.table.sensitive
    codes = np.stack([column.codes[world.rows] for column in columns])
    return group_rows(codes, np.array([column.card for column in columns]))[0]


def _assignments(world: _World, generator: np.random.Generator, draws: int) -> tuple[bool, Iterator[np.ndarray]]:
    """Whether these are all assignments, and for each the row that every released row has its values from."""
    order = np.argsort(world.classes, kind="stable")
    bounds = np.flatnonzero(np.diff(world.classes[order], prepend=-1, append=-1))
    values = _values(world)
    logs = 0.0
    for start, stop in zip(bounds[:-1], bounds[1:], strict=True):
        counts = np.unique(values[order[start:stop]], return_counts=True)[1]
        logs += math.lgamma(stop - start + 1) - sum(math.lgamma(count + 1) for count in counts)
        if logs > math.log(_ALL) + 1e-6:
            return False, (_draw(world, generator) for _ in range(draws))
    members = [order[start:stop] for start, stop in zip(bounds[:-1], bounds[1:], strict=True)]
    return True, _every(world, members, values)


def _draw(world: _World, generator: np.random.Generator) -> np.ndarray:
    """Values dealt at random within every class."""
    order = np.argsort(world.classes, kind="stable")
    dealt = np.lexsort((generator.random(world.rows.size), world.classes))
    source = np.empty(world.rows.size, dtype=np.int64)
    source[order] = world.rows[dealt]
    return source


def _every(world: _World, members: list[np.ndarray], values: np.ndarray) -> Iterator[np.ndarray]:
    """All different ways to deal the values of every class to its members."""
    ways = [[_matched(rows, values, way) for way in _arrangements(sorted(values[rows].tolist()))] for rows in members]
    for chosen in product(*ways):
        source = np.empty(world.rows.size, dtype=np.int64)
        for rows, place in zip(members, chosen, strict=True):
            source[rows] = world.rows[place]
        yield source


def _matched(rows: np.ndarray, values: np.ndarray, way: tuple[int, ...]) -> np.ndarray:
    """A row of the class for each value of an arrangement, each once."""
    have, want = np.argsort(values[rows], kind="stable"), np.argsort(np.array(way), kind="stable")
    place = np.empty(rows.size, dtype=np.int64)
    place[want] = rows[have]
    return place


def _arrangements(values: list[int]) -> Iterator[tuple[int, ...]]:
    """Distinct orders of a multiset."""
    if not values:
        yield ()
    for place, value in enumerate(values):
        if place and values[place - 1] == value:
            continue
        for rest in _arrangements(values[:place] + values[place + 1 :]):
            yield (value, *rest)


@dataclass(eq=False)
class _Tally:
    """How often each value went to each atom over the assignments that fit."""

    atoms: np.ndarray
    codes: np.ndarray
    card: int
    world: _World
    total: np.ndarray
    fitting: int = 0

    @classmethod
    def of(cls, atoms: np.ndarray, column: Column, world: _World) -> _Tally:
        size = (int(atoms.max(initial=-1)) + 1) * column.card
        return cls(atoms, column.codes, column.card, world, np.zeros(size))

    def add(self, source: np.ndarray) -> None:
        """Count one assignment."""
        key = self.atoms.astype(np.int64) * self.card + self.codes[source]
        self.total += np.bincount(key, minlength=self.total.size)
        self.fitting += 1

    def guess(self, every: bool) -> np.ndarray:
        """Likeliest value of each row; the class's commonest where draws tell no other beyond their error."""
        sizes = np.bincount(self.atoms)[:, None]
        share = self.total.reshape(-1, self.card) / (sizes * self.fitting)
        prior = self._prior()
        # Values in an atom are dealt without replacement, so this error is if anything too large.
        error = np.sqrt(np.maximum(prior * (1.0 - prior), 1e-12) / (sizes * self.fitting))
        known = share if every else np.where(np.abs(share - prior) > _ERRORS * error, share, prior)
        return known.argmax(axis=1)[self.atoms]

    def _prior(self) -> np.ndarray:
        """Share of each value in the class of each atom."""
        own = self.codes[self.world.rows].astype(np.int64)
        classes = self.world.classes.astype(np.int64)
        counts = np.bincount(classes * self.card + own, minlength=(int(classes.max()) + 1) * self.card)
        table = counts.reshape(-1, self.card) / np.bincount(classes)[:, None]
        first = np.zeros(int(self.atoms.max()) + 1, dtype=np.int64)
        first[self.atoms] = classes
        return table[first]


def _class_guess(world: _World, column: Column) -> tuple[np.ndarray, np.ndarray]:
    """The commonest value of each row's class, twice: as the guess and as the baseline."""
    classes, own = world.classes.astype(np.int64), column.codes[world.rows]
    table = np.bincount(classes * column.card + own, minlength=(int(classes.max()) + 1) * column.card)
    best = table.reshape(-1, column.card).argmax(axis=1)[classes]
    return best, best


def _figure(world: _World, column: Column, guess: np.ndarray, naive: np.ndarray, fit: float) -> AttackFigure:
    own = column.codes[world.rows]
    share, trials = clustered((guess == own).astype(np.float64), world.classes)
    baseline = float((naive == own).mean())
    changed = float((guess != naive).mean())
    sentence = (
        f"Knowing that less generalisation would not do, an attacker guesses the '{column.name}' of {share:.1%} of "
        f"{own.size:,} people; without that it is {baseline:.1%}. {fit:.1%} of the assignments fit, and they change "
        f"the guess about {changed:.1%} of the people."
    )
    return figure(f"minimality:{column.name}", share, trials, sentence, baseline=baseline)


def full_domain(release: Release | None) -> bool:
    """Whether a release generalises every column to one level."""
    return release is not None and release.released.levels is not None and _models_known(release.evidence)


def _models_known(evidence: Any) -> bool:
    return "models" in evidence and "algorithm" in evidence
