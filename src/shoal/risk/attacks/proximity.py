"""Attacks on values that are close to each other: numbers within eps, and values of one node of a hierarchy."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

import numpy as np
import polars as pl

from shoal.data.column import TREE, Column
from shoal.data.stats import unknown_flags
from shoal.errors import ParameterError
from shoal.kernels.grouping import group_rows
from shoal.params import nearest, real, whole
from shoal.recoding.kinds import Trait
from shoal.results import Release
from shoal.risk.attacks.base import AttackFigure, by_person, clustered, figure
from shoal.risk.attacks.case import AttackCase, People
from shoal.risk.attacks.classes import ClassAttack
from shoal.risk.attacks.guess import Answer, Pool, attack_both, nothing

# ----------------------------------------
# Breaches record by record (Poovammal & Ponnavaikko): values close to one's own, and values that are not one's own.
#
# Whoever links a person t to a group G of records associates t with every value of G. ``P_b(t)`` is the share of G
# whose numbers lie within eps of t's (Sec. 6.4); the divergence breach of t is the share whose values are other
# than t's (Sec. 2.5: 1 - 1/L in a group of L different values).


_SHARE_OF_RANGE = 0.05


def near_share(groups: np.ndarray, numbers: np.ndarray, eps: float) -> np.ndarray:
    """float64 a record: share of its group whose numbers are within eps of its own, itself included; O(n log n)."""
    slack = eps + 1e-9 * max(1.0, eps)
    if not numbers.size:
        return np.empty(0)
    # By ranks, in whole numbers: sums with the numbers themselves would round away what is just within eps.
    values = np.unique(numbers)
    begin, end = np.searchsorted(values, numbers - slack), np.searchsorted(values, numbers + slack, side="right")
    away = groups.astype(np.int64) * (values.size + 1)
    order = np.sort(away + np.searchsorted(values, numbers))
    near = np.searchsorted(order, away + end) - np.searchsorted(order, away + begin)
    return near / np.bincount(groups)[groups]


def other_share(groups: np.ndarray, values: np.ndarray) -> np.ndarray:
    """float64 a record: share of its group whose values are not its own."""
    pair = groups.astype(np.int64) * (int(values.max(initial=0)) + 1) + values
    _, of, counts = np.unique(pair, return_inverse=True, return_counts=True)
    return 1.0 - counts[of] / np.bincount(groups)[groups]


def usual_eps(numbers: np.ndarray) -> float:
    """How close is close by default: 5 % of the range of the numbers that are released."""
    seen = numbers[np.isfinite(numbers)]
    return _SHARE_OF_RANGE * float(np.ptp(seen)) if seen.size else 0.0


def known_places(column: Column) -> np.ndarray:
    """The number of every value, NaN where it is unknown."""
    return np.where(unknown_flags(column) == 1, np.nan, column.positions)


def breaches(release: Release, column: str, *, eps: float | None = None) -> pl.DataFrame:
    """Every released record's breaches in one sensitive column, before and after; private.

    Parameters
    ----------
    eps
        How close numbers are to be close; by default 5 % of the range of those that are released.

    Returns
    -------
    polars.DataFrame
        ``row`` of the input; ``divergence_before`` and ``divergence_after``; for numbers and dates ``proximity_before``
        and ``proximity_after`` (P_b), and ``proximity_table``, where all records are one group, as the document counts
        for a table that is not grouped. Before, a group is who agrees on all quasi-identifiers; after, a class. Models
        and codes change no value here: these are those of whoever can read them. Records without a known value are
        left out.

    Examples
    --------
    >>> import shoal
    >>> people = shoal.example_census(200).select("age", "sex", "income")
    >>> table = shoal.read(people, quasi=["age", "sex"], sensitive=["income"], missing="drop")
    >>> release = shoal.anonymize(table, algorithm=shoal.Mondrian(k=5), acknowledge=["W-UNMODELLED:income"], seed=1)
    >>> breaches(release, "income")["proximity_after"].max() <= 1
    True
    """
    table = release.table
    if column not in table.schema.sensitive:
        near = nearest(column, table.schema.sensitive)
        hint = f" Did you mean '{near}'?" if near else ""
        raise ParameterError(f"Breaches are of a sensitive column, and '{column}' is none.{hint}")
    made = release.released.made
    if not made.has(Trait.ALIKE):
        raise ParameterError(f"A {made} release has no breaches by class: {made.lacks[Trait.ALIKE]}.")
    if eps is not None:
        real("breaches", "eps", eps, low=0.0)
    one, codes = table.columns[column], table.codes[column]
    real_rows = np.arange(table.n) < table.n - table.counterfeits
    rows = np.flatnonzero((release.released.classes >= 0) & real_rows & (unknown_flags(one)[codes] == 0))
    exact = group_rows(table.quasi_codes, np.array([each.card for each in table.quasi]))[0][rows].astype(np.int64)
    after = release.released.classes[rows].astype(np.int64)
    found = {
        "row": rows,
        "divergence_before": other_share(exact, codes[rows]),
        "divergence_after": other_share(after, codes[rows]),
    }
    if one.numbers is not None:
        places = known_places(one)
        numbers = places[codes[rows]]
        close = usual_eps(numbers) if eps is None else float(eps)
        groups = {"before": exact, "after": after, "table": np.zeros(rows.size, dtype=np.int64)}
        found |= {f"proximity_{when}": near_share(ids, numbers, close) for when, ids in groups.items()}
    return pl.DataFrame(found)


@dataclass(frozen=True, kw_only=True)
class Proximity(ClassAttack):
    """The attacker wants a number about right: the value of the class with most others within eps of it.

    Different numbers count as diverse however close they are, so a class of salaries 30,000 to 31,000 passes
    l-diversity. A guess succeeds when the person's number is within eps of it. Beside it stands the proximity breach
    P_b (Poovammal & Ponnavaikko, Sec. 6.4): the share of a person's class within eps of the person's number, in the
    mean and for whom it is largest.

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
        places = known_places(column)
        eps = usual_eps(places[case.view.codes[column.name]]) if self.eps is None else float(self.eps)
        slack = eps + 1e-9 * max(1.0, eps)

        def rule(pool: Pool) -> Answer:
            return _densest(pool, places, slack)

        def right(value: np.ndarray, people: People, chosen: np.ndarray) -> np.ndarray:
            guessed = np.append(places, np.nan)[value]
            with np.errstate(invalid="ignore"):
                return np.abs(guessed - people.numbers[column.name][chosen]) <= slack

        both = attack_both(
            case, "proximity", column, rule,
            f"The '{column.name}' of {{share}} of {{people}} people is guessed within {eps:g}; the same guesses about "
            "random people would be right for {naive}{control}.", right,
        )  # fmt: skip
        return [*both, *_close(case, column, places, eps)]


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
    people outside that node. Beside it stands the divergence breach of Poovammal & Ponnavaikko (Sec. 2.5), for which no
    hierarchy is needed: the share of a person's class whose values are not the person's own, which is what the person
    is falsely associated with, in the mean and for whom it is largest. With a hierarchy, ``divergence-unlike`` counts
    values of other nodes only.

    Parameters
    ----------
    level
        Level of the sensitive column's hierarchy at which values of one node are alike.
    """

    name: ClassVar = "divergence"
    level: int = 1

    def __post_init__(self) -> None:
        whole("divergence", "level", self.level, least=1)

    def figures(self, case: AttackCase, column: Column) -> list[AttackFigure]:
        """The attack and how often it is nearly certain, where the hierarchy has the level below its root; breaches."""
        own = _breach(case, column, np.arange(column.card), "divergence-breach", "of another value than theirs")
        tree = column.hierarchy if column.kind == TREE else None
        if tree is None or self.level >= tree.height:
            return own
        node = tree.ancestors[self.level]

        def rule(pool: Pool) -> Answer:
            return _beside_most(pool, node[pool.codes])

        both = attack_both(
            case, "divergence", column, rule,
            f"Setting aside the group of values (level {self.level}) that most of a class has, an attacker guesses the "
            f"'{column.name}' of {{share}} of {{people}} people who are outside it; the same guesses about random "
            "people would be right for {naive}{control}.", marks=node,
        )  # fmt: skip
        unlike = f"of a value unlike theirs (level {self.level})"
        return [*both, *own, *_breach(case, column, node, "divergence-unlike", unlike)]


def _beside_most(pool: Pool, node: np.ndarray) -> Answer:
    """Commonest value outside the commonest node, and that node, which the attacker excludes."""
    names, of = np.unique(node, return_inverse=True)
    sums = np.stack([pool.counts[:, of == one].sum(axis=1) for one in range(int(of.max(initial=-1)) + 1)], axis=1)
    most = sums.argmax(axis=1)
    inside = of[None, :] == most[:, None]
    rest = np.where(inside, 0.0, pool.counts)
    best = np.where(rest.max(axis=1, initial=0.0) > 0, rest.argmax(axis=1), -1)
    return Answer(best, names[most][:, None].astype(np.int64))


def _breach(case: AttackCase, column: Column, node: np.ndarray, name: str, what: str) -> list[AttackFigure]:
    """The share of a person's class whose values are of other nodes than the person's: the mean, and the largest."""
    codes = case.view.codes[column.name]
    known = unknown_flags(column)[codes] == 0
    classes, own = case.view.classes[known].astype(np.int64), node[codes[known]]
    table = np.bincount(own) / max(own.size, 1)
    told = f"{what} in '{column.name}'; of the whole release it would be {float(1.0 - (table**2).sum()):.1%}"
    return _mean_and_worst(case, f"{name}:{column.name}", other_share(classes, own), known, told)


def _close(case: AttackCase, column: Column, places: np.ndarray, eps: float) -> list[AttackFigure]:
    """P_b: the share of a person's class within eps of the person's number."""
    numbers = places[case.view.codes[column.name]]
    known = np.isfinite(numbers)
    classes = case.view.classes[known].astype(np.int64)
    whole = near_share(np.zeros_like(classes), numbers[known], eps)
    together = float(whole.mean()) if whole.size else 0.0
    told = f"within {eps:g} of them in '{column.name}'; of the whole release it would be {together:.1%}"
    shares = near_share(classes, numbers[known], eps)
    return _mean_and_worst(case, f"proximity-breach:{column.name}", shares, known, told)


def _mean_and_worst(
    case: AttackCase, name: str, shares: np.ndarray, known: np.ndarray, told: str
) -> list[AttackFigure]:
    """Shares of classes, one a record, as two figures; people with several records count once."""
    classes = case.view.classes[known]
    person = None if case.view.subjects is None else case.view.subjects.of_row[known]
    mean, trials = clustered(*by_person(shares, classes, person))
    worst = float(shares.max(initial=0.0))
    kind, _, column = name.partition(":")
    many = int((shares >= worst - 1e-9).sum())
    return [
        figure(name, mean, trials, f"On average {mean:.1%} of a person's class are {told}."),
        figure(f"{kind}-worst:{column}", worst, max(shares.size, 1),
               f"For {many:,} records {worst:.1%} of their class, the largest share, are {told}."),
    ]  # fmt: skip
