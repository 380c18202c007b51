"""Guesses made from the records that could be a person's: pooled counts, rules that guess from them, and the score.

Every class-level attack is a rule. A rule sees how often each sensitive value occurs among the records that could be a
person's and guesses one value, or none. The same rule is put to people in the data, to people outside it (the control),
and its guesses are dealt to people at random (the baseline): what goes beyond these is what the release gives away.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace
from typing import NamedTuple

import numpy as np

from shoal.data.column import Column
from shoal.data.stats import unknown_flags
from shoal.kernels.grouping import group_rows
from shoal.risk.attacks.base import AttackFigure, by_person, clustered, figure
from shoal.risk.attacks.case import AttackCase, People, View
from shoal.utility.randomised import wilson

_CELLS = 1 << 22
# Columns of more values than this are looked at by the few that each part of the groups holds.
_WIDE = 4096
_ROUNDS = 20
# A guess is sure where at least this share of the records that are left agrees with it.
SURE = 0.9


@dataclass(frozen=True, eq=False)
class Pool:
    """Counts of sensitive values among the records that could be some people's.

    ``counts`` is (groups, values); ``codes`` are the values' codes; ``groups`` the groups' numbers; ``shared`` tells
    which values are everybody's, where it is known whose records they are.
    """

    counts: np.ndarray
    codes: np.ndarray
    groups: np.ndarray
    shared: np.ndarray | None = None


@dataclass(frozen=True, eq=False, kw_only=True)
class Guesses:
    """What is guessed of each person: a code (-1: nothing), what was excluded before, and the person's cluster.

    ``excluded`` holds codes, or ``marks`` of codes where these are given; nothing is excluded by -2. ``sure`` tells
    where the records that are left nearly all agree.
    """

    value: np.ndarray
    excluded: np.ndarray
    cluster: np.ndarray
    sure: np.ndarray
    marks: np.ndarray | None = None

    def surely(self) -> Guesses:
        """Only the sure ones."""
        return replace(self, value=np.where(self.sure, self.value, -1))

    def possible(self, chosen: np.ndarray, truth: np.ndarray) -> np.ndarray:
        """Whether the true codes of some people are known and not excluded."""
        seen = truth if self.marks is None else np.append(self.marks, -1)[np.minimum(truth, self.marks.size)]
        return (truth >= 0) & (self.excluded[chosen] != seen[:, None]).all(axis=1)


class Answer(NamedTuple):
    """What a rule says of every group of a pool.

    Attributes
    ----------
    value
        Guessed place among the pool's values, -1 for none.
    excluded
        Excluded places or marks (groups, any number), -1 for none.
    agreeing
        Records that agree with the guess; None for those that have the value guessed.
    """

    value: np.ndarray
    excluded: np.ndarray
    agreeing: np.ndarray | None = None


Rule = Callable[[Pool], Answer]
# Whether guesses (codes) are right for people, given their places among ``chosen`` people.
Right = Callable[[np.ndarray, People, np.ndarray], np.ndarray]


@dataclass(frozen=True, eq=False)
class Counts:
    """Sensitive values of each class in compressed rows, unknown ones left out.

    ``lacking`` counts the people of a class who do not have the value; None where rows are people.
    """

    start: np.ndarray
    code: np.ndarray
    count: np.ndarray
    lacking: np.ndarray | None = None

    @classmethod
    def of(cls, view: View, column: Column) -> Counts:
        """Count one column of a release."""
        codes = view.codes[column.name]
        rows = np.flatnonzero(unknown_flags(column)[codes] == 0)
        pair = np.stack([view.classes[rows], codes[rows]]).astype(np.int32)
        _, first, counts = group_rows(pair, np.array([max(view.n_classes, 1), column.card]))
        group, code = pair[:, first]
        order = np.lexsort((code, group))
        start = np.searchsorted(group[order], np.arange(view.n_classes + 1))
        lacking = None
        if view.subjects is not None:
            lacking = _lacking(pair.astype(np.int64), view.subjects.of_row[rows], column.card)
        return cls(start, code[order].astype(np.int64), counts[order].astype(np.float64), lacking)


def _lacking(pair: np.ndarray, subject: np.ndarray, card: int) -> np.ndarray:
    """People of its class who lack each value that occurs there, by class and then value."""
    sizes = [int(codes.max(initial=0)) + 1 for codes in (*pair, subject)]
    _, once, _ = group_rows(np.stack([pair[0], subject]).astype(np.int32), np.array([sizes[0], sizes[2]]))
    everybody = np.bincount(pair[0][once])
    _, once, _ = group_rows(np.stack([*pair, subject]).astype(np.int32), np.array(sizes))
    found, having = np.unique(pair[0][once] * card + pair[1][once], return_counts=True)
    return everybody[found // card] - having


def guess(view: View, people: People, column: Column, rule: Rule, marks: np.ndarray | None = None) -> Guesses:
    """Put a rule to people; with ``marks``, one a code, it excludes these instead of values."""
    group, groups, cluster = _grouped(view, people)
    value = np.full(groups, -1, dtype=np.int64)
    sure = np.zeros(groups, dtype=bool)
    excluded: np.ndarray | None = None
    for pool in pools(view, people, column):
        answer = rule(pool)
        out = answer.excluded
        codes = np.append(pool.codes, -1)
        value[pool.groups] = codes[answer.value]
        sure[pool.groups] = _is_sure(pool, answer, marks)
        if excluded is None:
            excluded = np.full((groups, out.shape[1]), -2, dtype=np.int64)
        excluded[pool.groups] = np.where(out < 0, -2, codes[out] if marks is None else out)
    none = np.empty((groups, 0), dtype=np.int64)
    left = (none if excluded is None else excluded)[group]
    return Guesses(value=value[group], excluded=left, cluster=cluster, sure=sure[group], marks=marks)


def _is_sure(pool: Pool, answer: Answer, marks: np.ndarray | None) -> np.ndarray:
    """Groups in which nearly all records that are not excluded agree with the guess."""
    agreeing = _having(pool, answer.value) if answer.agreeing is None else answer.agreeing
    left = pool.counts.sum(axis=1)
    for excluded in answer.excluded.T:
        if marks is not None:
            left = left - np.where(marks[pool.codes][None, :] == excluded[:, None], pool.counts, 0.0).sum(axis=1)
        else:
            left = left - np.where(excluded >= 0, _having(pool, excluded), 0.0)
    # Rounding must not cost a class that agrees exactly as much.
    return (answer.value >= 0) & (agreeing >= (SURE - 1e-9) * left)


def _having(pool: Pool, place: np.ndarray) -> np.ndarray:
    """Records with the value at a place of the pool, one number a group; anything where the place is none."""
    return pool.counts[np.arange(place.size), place] if pool.codes.size else np.zeros(place.size)


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
    width = max(codes.size, 1)
    table = np.bincount(of * width + code, weights=count, minlength=groups * width).reshape(groups, -1)[:, : codes.size]
    shared = None
    if counts.lacking is not None:
        # A value is everybody's where every class of the group has it and nobody in any of them lacks it.
        held = np.bincount(of * width + code, weights=counts.lacking[place] == 0, minlength=groups * width)
        many = np.bincount(group, weights=many > 0, minlength=groups)
        shared = (held.reshape(groups, -1) == np.maximum(many, 1)[:, None])[:, : codes.size]
    return Pool(table, codes, np.arange(first, first + groups), shared)


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


def commonest(pool: Pool) -> Answer:
    """Guess the commonest value."""
    return Answer(_silent(pool.counts.argmax(axis=1), pool.counts.max(axis=1, initial=0) > 0), nothing(pool))


def _silent(place: np.ndarray, speaks: np.ndarray) -> np.ndarray:
    return np.where(speaks, place, -1)


def nothing(pool: Pool) -> np.ndarray:
    """Nothing excluded."""
    return np.empty((pool.groups.size, 0), dtype=np.int64)


def only_value(pool: Pool) -> Answer:
    """Guess where there is a single value, or where one is everybody's; the commonest of several such."""
    shared = pool.counts > 0
    if pool.shared is None:
        shared &= (shared.sum(axis=1) == 1)[:, None]
    else:
        shared &= pool.shared
    return Answer(_silent((pool.counts * shared).argmax(axis=1), shared.sum(axis=1) > 0), nothing(pool))


def same_code(column: str) -> Right:
    """A guess is right when it is the person's own code."""

    def right(value: np.ndarray, people: People, chosen: np.ndarray) -> np.ndarray:
        return value == people.truth[column][chosen]

    return right


def has_code(column: str) -> Right:
    """A guess is right when any row of the person has it."""

    def right(value: np.ndarray, people: People, chosen: np.ndarray) -> np.ndarray:
        person = people.person_of(chosen)
        if person is None or people.person is None:
            return value == people.truth[column][chosen]
        width = int(max(people.truth[column].max(initial=0), value.max(initial=0))) + 2
        return np.isin(person * width + value + 1, people.person * width + people.truth[column] + 1)

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
    """Share of people guessed right, of those whose value is known and not among those excluded.

    A guess is about a row; whoever has several counts once, with the share of them that is guessed right.
    """
    chosen = np.flatnonzero(made.possible(np.arange(people.n), people.truth[column]))
    success = (right(made.value[chosen], people, chosen) & (made.value[chosen] >= 0)).astype(np.float64)
    found, cluster = by_person(success, made.cluster[chosen], people.person_of(chosen))
    share, trials = clustered(found, cluster)
    return Score(share=share, trials=trials, people=found.size)


def chance(case: AttackCase, made: Guesses, people: People, column: str, right: Right) -> float:
    """Success of the same guesses dealt to people at random: what they are worth when they are about nobody."""
    truth = people.truth[column]
    known = np.flatnonzero(truth >= 0)
    if not known.size:
        return 0.0
    won = tried = 0.0
    generator = case.keys.generator(f"attack baseline {column}")
    for _ in range(_ROUNDS):
        other = known[generator.permutation(known.size)]
        fits = made.possible(known, truth[other])
        guessed = made.value[known][fits]
        weight = people.weights[other[fits]]
        won += float(((right(guessed, people, other[fits]) & (guessed >= 0)) * weight).sum())
        tried += float(weight.sum())
    return won / tried if tried else 0.0


@dataclass(frozen=True, eq=False)
class Tried:
    """A rule put to the people in the data, and to those outside it where there are any whose values are known."""

    inside: Guesses
    outside: Guesses | None

    @classmethod
    def of(cls, case: AttackCase, column: Column, rule: Rule, marks: np.ndarray | None = None) -> Tried:
        """Guess of everybody."""
        control = case.control if case.control is not None and column.name in case.control.truth else None
        return cls(
            guess(case.view, case.people, column, rule, marks),
            None if control is None else guess(case.view, control, column, rule, marks),
        )

    def surely(self) -> Tried:
        """The same guesses where they are sure, silence elsewhere."""
        return Tried(self.inside.surely(), None if self.outside is None else self.outside.surely())


def attack_with(
    case: AttackCase, name: str, column: Column, rule: Rule, sentence: str, right: Right | None = None
) -> AttackFigure:
    """Main run, control and baseline of a rule on one sensitive column; sentence and right are as of `measured`."""
    return measured(case, name, column, Tried.of(case, column, rule), sentence, right)


def measured(
    case: AttackCase, name: str, column: Column, tried: Tried, sentence: str, right: Right | None = None
) -> AttackFigure:
    """What guesses are worth, beside the control and the baseline.

    Parameters
    ----------
    sentence
        With ``{share}``, ``{people}``, ``{naive}`` and ``{control}`` to be filled in; the last is an ending.
    """
    hit = right or same_code(column.name)
    found = score(tried.inside, case.people, column.name, hit)
    naive = chance(case, tried.inside, case.people, column.name, hit)
    beside = None
    if tried.outside is not None and case.control is not None:
        beside = score(tried.outside, case.control, column.name, hit)
    ending = "" if beside is None else f", and for {beside.share:.1%} of people who are not in the data"
    told = sentence.format(share=f"{found.share:.1%}", people=f"{found.people:,}", naive=f"{naive:.1%}", control=ending)
    return figure(
        name, found.share, found.trials, told, baseline=naive, control=None if beside is None else beside.share,
        control_interval=None if beside is None else beside.interval,
    )  # fmt: skip


def attacked(case: AttackCase) -> Sequence[Column]:
    """Sensitive columns of which the people's values are known."""
    return [column for name, column in case.view.sensitive.items() if name in case.people.truth]


# ----------------------------------------
# People of whom an attacker is nearly certain: a share that shows a leak about few where a mean over all does not.


def attack_both(
    case: AttackCase,
    name: str,
    column: Column,
    rule: Rule,
    sentence: str,
    right: Right | None = None,
    marks: np.ndarray | None = None,
) -> list[AttackFigure]:
    """A rule on one sensitive column, and the same rule where it is sure: ``NAME:COLUMN`` and ``NAME-sure:COLUMN``.

    Parameters
    ----------
    name
        The attack's name.
    sentence, right
        As of `measured`.
    marks
        As of `guess`.
    """
    tried = Tried.of(case, column, rule, marks)
    surely = (
        f"The '{column.name}' of {{share}} of {{people}} people is guessed right where at least {SURE:.0%} of the "
        "records left agree with the guess; the same guesses about random people would be right for {naive}{control}."
    )
    return [
        measured(case, f"{name}:{column.name}", column, tried, sentence, right),
        measured(case, f"{name}-sure:{column.name}", column, tried.surely(), surely, right),
    ]
