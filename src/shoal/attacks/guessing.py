"""Guesses made from the records that could be a person's: pooled counts, rules that guess from them, and the score.

Every class-level attack is a rule. A rule sees how often each sensitive value occurs among the records that could be a
person's and guesses one value, or none. The same rule is put to people in the data, to people outside it (the control),
and its guesses are dealt to people at random (the baseline): what goes beyond these is what the release gives away.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass

import numpy as np

from shoal.attacks.base import AttackFigure, clustered, figure, wilson
from shoal.attacks.case import AttackCase, People, View
from shoal.kernels.grouping import group_rows
from shoal.table.column import Column
from shoal.table.stats import unknown_flags

_CELLS = 1 << 22
# Columns of more values than this are looked at by the few that each part of the groups holds.
_WIDE = 4096
_ROUNDS = 20


@dataclass(frozen=True, eq=False)
class Pool:
    """Counts of sensitive values among the records that could be some people's.

    ``counts`` is (groups, values); ``codes`` are the values' codes; ``groups`` the groups' numbers.
    """

    counts: np.ndarray
    codes: np.ndarray
    groups: np.ndarray


@dataclass(frozen=True, eq=False, kw_only=True)
class Guesses:
    """What is guessed of each person: a code (-1: nothing), what was excluded before, and the person's cluster.

    ``excluded`` holds codes, or ``marks`` of codes where these are given; nothing is excluded by -2.
    """

    value: np.ndarray
    excluded: np.ndarray
    cluster: np.ndarray
    marks: np.ndarray | None = None

    def possible(self, chosen: np.ndarray, truth: np.ndarray) -> np.ndarray:
        """Whether the true codes of some people are known and not excluded."""
        seen = truth if self.marks is None else np.append(self.marks, -1)[np.minimum(truth, self.marks.size)]
        return (truth >= 0) & (self.excluded[chosen] != seen[:, None]).all(axis=1)


# Guessed place, and excluded places or marks (groups, any number), among the pool's values; -1 for none.
Rule = Callable[[Pool], tuple[np.ndarray, np.ndarray]]
# Whether guesses (codes) are right for people, given their places among ``chosen`` people.
Right = Callable[[np.ndarray, People, np.ndarray], np.ndarray]


@dataclass(frozen=True, eq=False)
class Counts:
    """Sensitive values of each class in compressed rows, unknown ones left out."""

    start: np.ndarray
    code: np.ndarray
    count: np.ndarray

    @classmethod
    def of(cls, view: View, column: Column) -> Counts:
        """Count one column of a release."""
        rows = np.flatnonzero(unknown_flags(column)[column.codes] == 0)
        pair = np.stack([view.classes[rows], column.codes[rows]]).astype(np.int32)
        _, first, counts = group_rows(pair, np.array([max(view.n_classes, 1), column.card]))
        group, code = pair[:, first]
        order = np.lexsort((code, group))
        start = np.searchsorted(group[order], np.arange(view.n_classes + 1))
        return cls(start, code[order].astype(np.int64), counts[order].astype(np.float64))


def guess(view: View, people: People, column: Column, rule: Rule, marks: np.ndarray | None = None) -> Guesses:
    """Put a rule to people; with ``marks``, one a code, it excludes these instead of values."""
    group, groups, cluster = _grouped(view, people)
    value = np.full(groups, -1, dtype=np.int64)
    excluded: np.ndarray | None = None
    for pool in pools(view, people, column):
        guessed, out = rule(pool)
        codes = np.append(pool.codes, -1)
        value[pool.groups] = codes[guessed]
        if excluded is None:
            excluded = np.full((groups, out.shape[1]), -2, dtype=np.int64)
        excluded[pool.groups] = np.where(out < 0, -2, codes[out] if marks is None else out)
    none = np.empty((groups, 0), dtype=np.int64)
    left = (none if excluded is None else excluded)[group]
    return Guesses(value=value[group], excluded=left, cluster=cluster, marks=marks)


def pools(view: View, people: People, column: Column) -> Iterator[Pool]:
    """Counts of a column for every group of people who look the same to the attacker, in parts."""
    counts = Counts.of(view, column)
    if people.vectors is None:
        every = np.arange(view.n_classes)
        for low, high in _parts(view.n_classes, column.card):
            yield _pool(counts, every[low:high], every[low:high], low, column.card)
        return
    for part, vector, found in view.cells.pairs(people.vectors):
        at = np.searchsorted(vector, np.arange(part.stop - part.start + 1))
        for low, high in _parts(part.stop - part.start, column.card):
            mine = slice(at[low], at[high])
            yield _pool(
                counts, vector[mine] - low, view.class_of[found[mine]], part.start + low, column.card, high - low
            )


def _parts(groups: int, card: int) -> Iterator[tuple[int, int]]:
    step = max(1, _CELLS // card) if card <= _WIDE else 256
    for low in range(0, groups, step):
        yield low, min(groups, low + step)


def _pool(
    counts: Counts, group: np.ndarray, classes: np.ndarray, first: int, card: int, groups: int | None = None
) -> Pool:
    """Add up the counts of the classes of each group."""
    if groups is None:
        groups, group = classes.size, np.arange(classes.size)
    many = counts.start[classes + 1] - counts.start[classes]
    of = np.repeat(group, many)
    place = np.arange(of.size) - np.repeat(np.cumsum(many) - many, many) + np.repeat(counts.start[classes], many)
    code, count = counts.code[place], counts.count[place]
    codes = np.arange(card, dtype=np.int64)
    if card > _WIDE:
        codes, code = np.unique(code, return_inverse=True)
    table = np.bincount(of * max(codes.size, 1) + code, weights=count, minlength=groups * max(codes.size, 1))
    return Pool(table.reshape(groups, -1)[:, : codes.size], codes, np.arange(first, first + groups))


def _grouped(view: View, people: People) -> tuple[np.ndarray, int, np.ndarray]:
    """Group of each person, number of groups, and the cluster in which people succeed or fail together."""
    if people.vector is None or people.vectors is None:
        assert people.classes is not None
        return people.classes, view.n_classes, people.classes
    first = np.full(people.vectors.shape[0], -1, dtype=np.int64)
    for part, vector, found in view.cells.pairs(people.vectors):
        # Written from the last to the first, so that the first stays.
        first[part.start + vector[::-1]] = view.class_of[found[::-1]]
    alone = first < 0
    first[alone] = view.n_classes + np.flatnonzero(alone)
    return people.vector, people.vectors.shape[0], first[people.vector]


def commonest(pool: Pool) -> tuple[np.ndarray, np.ndarray]:
    """Guess the commonest value."""
    return _silent(pool.counts.argmax(axis=1), pool.counts.max(axis=1, initial=0) > 0), _none(pool)


def _silent(place: np.ndarray, speaks: np.ndarray) -> np.ndarray:
    return np.where(speaks, place, -1)


def _none(pool: Pool) -> np.ndarray:
    return np.empty((pool.groups.size, 0), dtype=np.int64)


def only_value(pool: Pool) -> tuple[np.ndarray, np.ndarray]:
    """Guess where there is a single value."""
    return _silent(pool.counts.argmax(axis=1), (pool.counts > 0).sum(axis=1) == 1), _none(pool)


def same_code(column: str) -> Right:
    """A guess is right when it is the person's own code."""

    def right(value: np.ndarray, people: People, chosen: np.ndarray) -> np.ndarray:
        return value == people.truth[column][chosen]

    return right


@dataclass(frozen=True, eq=False, kw_only=True)
class Score:
    """Success of guesses: a share, the trials it is worth, and the people it is about."""

    share: float
    trials: int
    people: int

    @property
    def interval(self) -> tuple[float, float]:
        """95 % Wilson interval."""
        return wilson(self.share, self.trials)


def score(made: Guesses, people: People, column: str, right: Right) -> Score:
    """Share of people guessed right, of those whose value is known and not among those excluded."""
    chosen = np.flatnonzero(made.possible(np.arange(people.n), people.truth[column]))
    success = right(made.value[chosen], people, chosen) & (made.value[chosen] >= 0)
    share, trials = clustered(success.astype(np.float64), made.cluster[chosen])
    return Score(share=share, trials=trials, people=chosen.size)


def chance(case: AttackCase, made: Guesses, people: People, column: str, right: Right) -> float:
    """Success of the same guesses dealt to people at random: what they are worth when they are about nobody."""
    truth = people.truth[column]
    known = np.flatnonzero(truth >= 0)
    if not known.size:
        return 0.0
    won = tried = 0
    generator = case.keys.generator(f"attack baseline {column}")
    for _ in range(_ROUNDS):
        other = known[generator.permutation(known.size)]
        fits = made.possible(known, truth[other])
        guessed = made.value[known][fits]
        won += int((right(guessed, people, other[fits]) & (guessed >= 0)).sum())
        tried += int(fits.sum())
    return won / tried if tried else 0.0


def attack_with(
    case: AttackCase,
    name: str,
    column: Column,
    rule: Rule,
    sentence: str,
    right: Right | None = None,
    marks: np.ndarray | None = None,
) -> AttackFigure:
    """Main run, control and baseline of a rule on one sensitive column.

    Parameters
    ----------
    sentence
        With ``{share}``, ``{people}``, ``{naive}`` and ``{control}`` to be filled in; the last is an ending.
    """
    hit = right or same_code(column.name)
    made = guess(case.view, case.people, column, rule, marks)
    found = score(made, case.people, column.name, hit)
    naive = chance(case, made, case.people, column.name, hit)
    beside = control_score(case, column, rule, hit, marks)
    ending = "" if beside is None else f", and for {beside.share:.1%} of people who are not in the data"
    told = sentence.format(share=f"{found.share:.1%}", people=f"{found.people:,}", naive=f"{naive:.1%}", control=ending)
    return figure(
        name, found.share, found.trials, told, baseline=naive, control=None if beside is None else beside.share,
        control_interval=None if beside is None else beside.interval,
    )  # fmt: skip


def control_score(
    case: AttackCase, column: Column, rule: Rule, right: Right, marks: np.ndarray | None = None
) -> Score | None:
    """The rule put to people outside the data; None without any, or without their values."""
    control = case.control
    if control is None or column.name not in control.truth:
        return None
    return score(guess(case.view, control, column, rule, marks), control, column.name, right)


def attacked(case: AttackCase) -> Sequence[Column]:
    """Sensitive columns of which the people's values are known."""
    return [column for name, column in case.view.sensitive.items() if name in case.people.truth]
