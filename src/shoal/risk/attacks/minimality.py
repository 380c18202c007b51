"""The minimality attack on full-domain releases: what follows from the fact that less generalisation would not do."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import islice
from typing import ClassVar

import numpy as np
import polars as pl

from shoal.data.classes import RowIds
from shoal.data.coding import canonical_text
from shoal.data.column import TREE, Column
from shoal.data.rows import Rows
from shoal.data.stats import value_text
from shoal.kernels.grouping import group_rows
from shoal.params import whole
from shoal.recoding.recoded import apply_recoding
from shoal.recoding.recodings import FullDomain
from shoal.registry import load
from shoal.results import Release
from shoal.risk.attacks.arrangements import LEAST, Dealing, weigh
from shoal.risk.attacks.base import Attack, AttackFigure, AttackResult, clustered, figure
from shoal.risk.attacks.case import AttackCase
from shoal.risk.attacks.optimality_leak import Forced, forced
from shoal.utility.randomised import wilson

# ----------------------------------------
# People outside the data put in the places of a full-domain release: who they would have been together with.


@dataclass(frozen=True, eq=False, kw_only=True)
class Outsiders:
    """Places of the released rows, and of people outside.

    Attributes
    ----------
    atom
        Place of each released row, from 0.
    outside, classes
        Place of each person outside, and a released row of the class that the person would be in; -1 where no released
        row is there. None without people outside.
    """

    atom: np.ndarray
    outside: np.ndarray | None = None
    classes: np.ndarray | None = None

    @classmethod
    def of(cls, atoms: np.ndarray, levels: Mapping[str, int], case: AttackCase) -> Outsiders:
        """Place released rows, whose codes at some levels are ``atoms``, and people outside, by the same levels."""
        assert case.release is not None
        released = case.release.released
        if case.outside is None or case.control is None:
            return cls(atom=_numbered(atoms))
        table = case.release.table
        columns = table.quasi
        rows = np.flatnonzero(released.classes >= 0)
        codes = [_codes(column, case.outside[column.name]) for column in columns]
        assert released.levels is not None
        own = released.levels
        fine = [_at(column, levels[column.name], mine) for column, mine in zip(columns, codes, strict=True)]
        coarse = [_at(column, own[column.name], mine) for column, mine in zip(columns, codes, strict=True)]
        held = [level_codes(column, own[column.name])[table.codes[column.name][rows]] for column in columns]
        atom, outside = _shared(atoms, np.stack(fine))
        same, theirs = _shared(np.stack(held), np.stack(coarse))
        first = np.unique(same, return_index=True)[1]
        return cls(atom=atom, outside=outside, classes=np.where(theirs >= 0, first[theirs], -1))

    def score(
        self, guess: np.ndarray, naive: np.ndarray, classes: np.ndarray, case: AttackCase, column: str
    ) -> tuple[float, tuple[float, float]] | None:
        """Share of people outside of whom guesses are right, with its interval.

        Parameters
        ----------
        guess, naive
            Value guessed in every place, and without any attack; the latter is put to people whose class is released
            but nobody of their place is.
        """
        control = case.control
        if self.outside is None or self.classes is None or control is None or column not in control.truth:
            return None
        truth = control.truth[column]
        known = truth >= 0
        usual = np.append(naive[self.atom], -1)[self.classes]
        value = np.where(self.outside >= 0, np.append(guess, -1)[self.outside], usual)
        cluster = np.where(self.classes >= 0, classes[self.classes], -1 - np.arange(self.classes.size))
        share, trials = clustered((value == truth)[known].astype(np.float64), cluster[known])
        return share, wilson(share, trials)


def level_codes(column: Column, level: int) -> np.ndarray:
    """Node of every code of a column at a level; a column without a hierarchy has its values and everything."""
    if column.kind == TREE and column.hierarchy is not None:
        return column.hierarchy.ancestors[level]
    return np.arange(column.card, dtype=np.int32) * (level == 0)


def _codes(column: Column, series: pl.Series) -> np.ndarray:
    """Code of each person's value, -1 where the column has none such."""
    texts = canonical_text(series)
    known = {text: code for code, text in enumerate(column.texts.to_list())}
    distinct = texts.unique().drop_nulls()
    found = [known.get(text, known.get(value_text(column, text), -1)) for text in distinct.to_list()]
    mapped = texts.replace_strict(distinct, pl.Series(found, dtype=pl.Int64), default=None, return_dtype=pl.Int64)
    return mapped.fill_null(column.missing).to_numpy()


def _at(column: Column, level: int, codes: np.ndarray) -> np.ndarray:
    """Nodes at a level, one more than all of them for an unknown value."""
    nodes = level_codes(column, level)
    return np.append(nodes, nodes.max(initial=-1) + 1)[codes].astype(np.int32)


def _numbered(codes: np.ndarray) -> np.ndarray:
    return group_rows(codes.astype(np.int32), codes.max(axis=1, initial=0).astype(np.int64) + 1)[0].astype(np.int64)


def _shared(codes: np.ndarray, others: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Number of each distinct column of codes, from 0, and the same of others, -1 where there is none such."""
    both = _numbered(np.concatenate([codes, others], axis=1))
    names, ids = np.unique(both[: codes.shape[1]], return_inverse=True)
    place = np.full(int(both.max(initial=-1)) + 1, -1, dtype=np.int64)
    place[names] = np.arange(names.size)
    return ids.astype(np.int64), place[both[codes.shape[1] :]]


# A share found by draws must lie so many standard errors off the class's before the attacker trusts it.
_ERRORS = 3.0
_FEWEST = 20
# So many nodes below are looked at, the nearest first, and so many of those that numbers do not explain are used.
_LOOKED_AT = 256
_NODES = 10


@dataclass(frozen=True, eq=False, kw_only=True)
class _Node:
    """A node below that numbers of people alone do not explain: class there of each released row, and their spreads.

    ``every`` is the class of each row of the table, -1 for suppressed ones.
    """

    levels: dict[str, int]
    ids: np.ndarray
    every: np.ndarray
    groups: int
    spreads: np.ndarray | None


@dataclass(frozen=True, eq=False, kw_only=True)
class World:
    """What the attacker knows: classes, and for nodes below who would be together there."""

    why: Forced
    rows: np.ndarray
    classes: np.ndarray
    lower: Sequence[_Node]

    @classmethod
    def of(cls, release: Release) -> World:
        """Look at the nodes below a released one."""
        why, released = forced(release), release.released
        rows = np.flatnonzero(released.classes >= 0)
        lower: list[_Node] = []
        hopeless: list[dict[str, int]] = []
        for levels in islice(why.below(), _LOOKED_AT):
            if len(lower) == _NODES:
                break
            # Parts of classes that are too small are too small.
            if any(all(levels[name] <= level for name, level in one.items()) for one in hopeless):
                continue
            below = apply_recoding(release.released.rows, FullDomain(levels=levels))
            kept, ids = np.unique(below.classes[rows], return_inverse=True)
            spreads = below.spreads[kept] if why.judge.needs_spreads else None
            every = np.full(release.table.n, -1, dtype=np.int32)
            every[rows] = ids
            node = _Node(levels=levels, ids=ids, every=every, groups=kept.size, spreads=spreads)
            # Rows in classes that fail by their numbers of people alone.
            small = (released.rows.stats(RowIds(every, kept.size), []).sizes < why.judge.k)[ids]
            if small.sum() > why.allowed:
                hopeless.append(levels)
            elif not why.refused(levels, small, rows):
                lower.append(node)
        return cls(why=why, rows=rows, classes=released.classes[rows].astype(np.int64), lower=lower)

    def codes(self, column: Column) -> np.ndarray:
        """A column's codes of the released rows."""
        return self.why.release.table.codes[column.name][self.rows]

    def dealt(self, source: np.ndarray) -> Rows:
        """The rows, if each released row had its sensitive values from another one."""
        table, attributes = self.why.release.table, self.why.judge.attributes
        rows = np.zeros(table.n, dtype=np.int64)
        rows[self.rows] = self.rows[source]
        codes = {name: table.codes[name][rows] for name in table.schema.sensitive}
        tuples = {one.names: table.values(one)[rows] for one in attributes if one.column is None}
        opened: Rows = load("engine", "memory")().open(replace(table, codes={**table.codes, **codes}, joint=tuples))
        return opened

    def bad(self, node: _Node, dealt: Rows) -> np.ndarray:
        """Flags of the released rows whose class at a node would fail."""
        stats = dealt.stats(RowIds(node.every, node.groups), self.why.judge.attributes)
        return ~self.why.judge.ok(replace(stats, spreads=node.spreads))[node.ids]

    def fits(self, source: np.ndarray) -> bool:
        """Whether an assignment (the place that each row has its values from) would have led to this release."""
        dealt = self.dealt(source)
        return all(self.why.refused(node.levels, self.bad(node, dealt), self.rows) for node in self.lower)

    def failing(self, source: np.ndarray, classes: int) -> np.ndarray:
        """Bits of the nodes at which some part of each class would fail."""
        mask, dealt = np.zeros(classes, dtype=np.int64), self.dealt(source)
        for bit, node in enumerate(self.lower):
            mask[np.unique(self.classes[self.bad(node, dealt)])] |= 1 << bit
        return mask

    def atoms(self, levels: dict[str, int]) -> np.ndarray:
        """Codes (columns, rows) that the finest of the nodes tells apart."""
        columns, codes = self.why.release.table.quasi, self.why.release.table.codes
        return np.stack([level_codes(one, levels[one.name])[codes[one.name][self.rows]] for one in columns])

    @property
    def finest(self) -> dict[str, int]:
        """Lowest level of each column over the nodes looked at."""
        own = self.why.levels
        return {name: min([level, *(node.levels[name] for node in self.lower)]) for name, level in own.items()}


@dataclass(frozen=True, kw_only=True)
class Minimality(Attack):
    """The attacker knows everybody's quasi-identifiers and that the publisher would have generalised less if possible.

    At every node below, the quasi-identifiers are known and so is who would have been together; where their numbers
    alone would have allowed it, sensitive values must have forbidden it. Assignments of values to people that would
    have allowed it are excluded (Wong et al. 2007). The baseline is the commonest value of the class; the control puts
    the guesses about people of a place to people outside the data who are in the same place.

    Parameters
    ----------
    draws
        Ways to deal a class's values that are looked at where there are too many to look at all.
    """

    name: ClassVar = "minimality"
    needs: ClassVar = ("input", "sensitive", "full-domain")
    draws: int = 200

    def __post_init__(self) -> None:
        whole("minimality", "draws", self.draws, least=_FEWEST)

    def run(self, case: AttackCase) -> AttackResult:
        """One figure a sensitive column."""
        assert case.release is not None
        if forced(case.release).judge.needs_breaches:
            return self.result([], "It was not carried out: a personalised model is not judged by groups alone.")
        world = World.of(case.release)
        known = _Known.of(world, case, self.draws)
        none = case.no_control if case.control is None else ""
        also = {"constraints": len(world.lower), "consistent": known.share, "all": known.every}
        if known.weights is None and world.lower:
            return self.result([], f"{known.told} These are too few to guess from. {none}".rstrip(), **also)
        places = Outsiders.of(world.atoms(world.finest), world.finest, case)
        found = [_figure(world, known, places, case, column) for column in case.release.table.sensitive]
        return self.result(found, f"{known.told} {none}".rstrip(), **also)


@dataclass(frozen=True, eq=False, kw_only=True)
class _Known:
    """What is left: the weight of every way of every class (None: they all are as likely), and how it was found."""

    weights: np.ndarray | None
    deals: Sequence[np.ndarray] | Dealing
    share: float
    every: bool
    exact: np.ndarray
    told: str

    @classmethod
    def of(cls, world: World, case: AttackCase, draws: int) -> _Known:
        """Look at the assignments: class by class where one failing class is enough, else all classes together."""
        classes = int(world.classes.max(initial=-1)) + 1
        dealing = Dealing.of(
            world.classes, _values(world), draws, lambda: case.keys.generator("attack minimality")
        )  # fmt: skip
        if not world.lower:
            told = "At every node below, the quasi-identifiers alone would have failed, so that nothing follows."
            return cls(weights=None, deals=[], share=1.0, every=True, exact=dealing.every, told=told)
        if world.why.allowed == 0:
            masks = np.stack([world.failing(source, classes) for source in dealing.apart()])
            weights, share = weigh(masks, dealing.ways, len(world.lower))
            every = bool(dealing.every.all())
            return cls(
                weights=weights if share > LEAST else None, deals=dealing, share=max(share, 0.0), every=every,
                exact=dealing.every,
                told=f"{share:.2%} of the {'possible' if every else 'drawn'} assignments fit.",
            )  # fmt: skip
        return cls._together(world, dealing, draws, classes)

    @classmethod
    def _together(cls, world: World, dealing: Dealing, draws: int, classes: int) -> _Known:
        every, drawn = dealing.together(draws)
        flags = []
        fitting: list[np.ndarray] = []
        for source in drawn:
            flags.append(world.fits(source))
            fitting += [source.astype(np.int32)] if flags[-1] else []
        share = len(fitting) / len(flags)
        enough = len(fitting) >= (1 if every else _FEWEST)
        return cls(
            weights=np.full((len(fitting), classes), 1.0 / len(fitting)) if enough else None, deals=fitting,
            share=share, every=every, exact=np.full(classes, every),
            told=f"Of {len(flags):,} {'possible' if every else 'drawn'} assignments {share:.1%} fit.",
        )  # fmt: skip

    def sources(self) -> Iterator[np.ndarray]:
        """The assignments again, as many as there are weights."""
        return self.deals.apart() if isinstance(self.deals, Dealing) else iter(self.deals)


def _values(world: World) -> np.ndarray:
    """Number of each released row's combination of sensitive values."""
    table = world.why.release.table
    columns = table.sensitive
    codes = np.stack([table.codes[column.name][world.rows] for column in columns])
    return group_rows(codes, np.array([column.card for column in columns]))[0].astype(np.int64)


def _guesses(world: World, known: _Known, column: Column, atom: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Likeliest value of every atom, and the commonest of its class; the latter where draws tell no other for sure."""
    own, count = world.codes(column), int(atom.max(initial=-1)) + 1
    classes = int(world.classes.max(initial=-1)) + 1
    held = np.bincount(world.classes * column.card + own, minlength=classes * column.card).reshape(classes, -1)
    of = np.zeros(count, dtype=np.int64)
    of[atom] = world.classes
    prior = (held / np.maximum(held.sum(axis=1, keepdims=True), 1))[of]
    naive = prior.argmax(axis=1)
    if known.weights is None:
        return naive, naive
    total = np.zeros(count * column.card)
    for weight, source in zip(known.weights, known.sources(), strict=True):
        total += np.bincount(atom * column.card + own[source], weights=weight[world.classes], minlength=total.size)
    sizes = np.bincount(atom)[:, None]
    share = total.reshape(count, -1) / sizes
    # Values of an atom are dealt without replacement, so this error is if anything too large.
    worth = 1.0 / np.maximum((known.weights**2).sum(axis=0), 1e-12)[of][:, None]
    error = np.sqrt(np.maximum(prior * (1.0 - prior), 1e-12) / (sizes * worth))
    trusted = known.exact[of][:, None] | ((np.abs(share - prior) > _ERRORS * error) & (worth >= _FEWEST))
    # Sums of weights differ in their last digits where shares are equal.
    return np.round(np.where(trusted, share, prior), 9).argmax(axis=1), naive


def _figure(world: World, known: _Known, places: Outsiders, case: AttackCase, column: Column) -> AttackFigure:
    guess, naive = _guesses(world, known, column, places.atom)
    own, value, usual = world.codes(column), guess[places.atom], naive[places.atom]
    share, trials = clustered((value == own).astype(np.float64), world.classes)
    baseline, changed = float((usual == own).mean()), float((value != usual).mean())
    beside = places.score(guess, naive, world.classes, case, column.name)
    ending = "" if beside is None else f" Of people outside the data in the same places it is {beside[0]:.1%}."
    sentence = (
        f"Knowing that less generalisation would not do, an attacker guesses the '{column.name}' of {share:.1%} of "
        f"{own.size:,} people; without that it is {baseline:.1%}. {known.share:.1%} of the assignments fit, and they "
        f"change the guess about {changed:.1%} of the people.{ending}"
    )
    return figure(
        f"minimality:{column.name}", share, trials, sentence, baseline=baseline,
        control=None if beside is None else beside[0], control_interval=None if beside is None else beside[1],
    )  # fmt: skip
