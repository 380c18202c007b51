"""Attacks on values that are close to each other: numbers within eps, and values of one node of a hierarchy."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

import numpy as np

from shoal.attacks.base import AttackFigure, by_person, clustered, figure
from shoal.attacks.case import AttackCase, People
from shoal.attacks.classes import ClassAttack
from shoal.attacks.guessing import Answer, Pool, nothing
from shoal.attacks.sure import attack_both
from shoal.params import real, whole
from shoal.table.column import TREE, Column
from shoal.table.stats import unknown_flags

_SHARE_OF_RANGE = 0.05


@dataclass(frozen=True, kw_only=True)
class Proximity(ClassAttack):
    """The attacker wants a number about right: the value of the class with most others within eps of it.

    Different numbers count as diverse however close they are, so a class of salaries 30,000 to 31,000 passes
    l-diversity. A guess succeeds when the person's number is within eps of it.

    Parameters
    ----------
    eps
        How close is close enough; by default 5 % of the range of the released values.
    """

    name: ClassVar = "proximity"
    eps: float | None = None

    def __post_init__(self) -> None:
        if self.eps is not None:
            real("proximity", "eps", self.eps, low=0.0)

    def applies(self, column: Column) -> bool:
        """Numbers and dates."""
        return column.numbers is not None and column.numbers.size > 0

    def figures(self, case: AttackCase, column: Column) -> list[AttackFigure]:
        """The attack, and how often it is nearly certain."""
        places = np.where(unknown_flags(column) == 1, np.nan, column.positions)
        seen = places[np.isfinite(places) & (column.frequencies > 0)]
        eps = _SHARE_OF_RANGE * float(np.ptp(seen)) if self.eps is None and seen.size else float(self.eps or 0.0)
        slack = eps + 1e-9 * max(1.0, eps)

        def rule(pool: Pool) -> Answer:
            return _densest(pool, places, slack)

        def right(value: np.ndarray, people: People, chosen: np.ndarray) -> np.ndarray:
            guessed = np.append(places, np.nan)[value]
            with np.errstate(invalid="ignore"):
                return np.abs(guessed - people.numbers[column.name][chosen]) <= slack

        return attack_both(
            case, "proximity", column, rule,
            f"The '{column.name}' of {{share}} of {{people}} people is guessed within {eps:g}; the same guesses about "
            "random people would be right for {naive}{control}.", right,
        )  # fmt: skip


def _densest(pool: Pool, places: np.ndarray, eps: float) -> Answer:
    """Place of the value with the most records within eps, a group, which agree; ties go to the lowest."""
    here = places[pool.codes]
    known = np.flatnonzero(np.isfinite(here))
    if not known.size:
        return Answer(np.full(pool.groups.size, -1), nothing(pool), np.zeros(pool.groups.size))
    known = known[np.argsort(here[known], kind="stable")]
    values, counts = here[known], pool.counts[:, known]
    total = np.concatenate([np.zeros((counts.shape[0], 1)), np.cumsum(counts, axis=1)], axis=1)
    low, high = np.searchsorted(values, values - eps), np.searchsorted(values, values + eps, side="right")
    # Nobody guesses a value that a group does not have.
    near = np.where(counts > 0, total[:, high] - total[:, low], -1.0)
    most = near.max(axis=1)
    return Answer(np.where(most > 0, known[near.argmax(axis=1)], -1), nothing(pool), most)


@dataclass(frozen=True, kw_only=True)
class Divergence(ClassAttack):
    """The attacker knows that a person is unlike most of the class, sets these aside and guesses from the rest.

    Set aside are the records of the node, at a level of the hierarchy, that holds most of the class. The rate is among
    people outside that node. Beside it stands the divergence breach: the mean share of a class whose values are unlike
    the person's own.

    Parameters
    ----------
    level
        Level of the sensitive column's hierarchy at which values of one node are alike.
    """

    name: ClassVar = "divergence"
    level: int = 1

    def __post_init__(self) -> None:
        whole("divergence", "level", self.level, least=1)

    def applies(self, column: Column) -> bool:
        """Columns whose hierarchy has the level below its root."""
        return column.kind == TREE and column.hierarchy is not None and self.level < column.hierarchy.height

    def figures(self, case: AttackCase, column: Column) -> list[AttackFigure]:
        """The attack, how often it is nearly certain, and the breach."""
        assert column.hierarchy is not None
        node = column.hierarchy.ancestors[self.level]

        def rule(pool: Pool) -> Answer:
            return _beside_most(pool, node[pool.codes])

        both = attack_both(
            case, "divergence", column, rule,
            f"Setting aside the group of values (level {self.level}) that most of a class has, an attacker guesses the "
            f"'{column.name}' of {{share}} of {{people}} people who are outside it; the same guesses about random "
            "people would be right for {naive}{control}.", marks=node,
        )  # fmt: skip
        return [*both, _breach(case, column, node)]


def _beside_most(pool: Pool, node: np.ndarray) -> Answer:
    """Commonest value outside the commonest node, and that node, which the attacker excludes."""
    names, of = np.unique(node, return_inverse=True)
    sums = np.stack([pool.counts[:, of == one].sum(axis=1) for one in range(int(of.max(initial=-1)) + 1)], axis=1)
    most = sums.argmax(axis=1)
    inside = of[None, :] == most[:, None]
    rest = np.where(inside, 0.0, pool.counts)
    best = np.where(rest.max(axis=1, initial=0.0) > 0, rest.argmax(axis=1), -1)
    return Answer(best, names[most][:, None].astype(np.int64))


def _breach(case: AttackCase, column: Column, node: np.ndarray) -> AttackFigure:
    """Mean share of a person's class that is unlike the person's own value."""
    codes = case.view.codes[column.name]
    known = unknown_flags(column)[codes] == 0
    classes, own = case.view.classes[known], node[codes[known]]
    pair = classes.astype(np.int64) * (int(node.max()) + 1) + own
    _, of, counts = np.unique(pair, return_inverse=True, return_counts=True)
    size = np.bincount(classes, minlength=case.view.n_classes)
    unlike = 1.0 - counts[of] / size[classes]
    person = None if case.view.subjects is None else case.view.subjects.of_row[known]
    share, trials = clustered(*by_person(unlike, classes, person))
    table = np.bincount(own) / max(own.size, 1)
    baseline = float(1.0 - (table**2).sum())
    sentence = (
        f"On average {share:.1%} of a person's class are unlike the person in '{column.name}'; of the whole release "
        f"it is {baseline:.1%}."
    )
    return figure(f"divergence-breach:{column.name}", share, trials, sentence)
