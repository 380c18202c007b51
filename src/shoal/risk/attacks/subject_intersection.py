"""Several rows of a person in one release: the values that all of their classes have in common."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import ClassVar, NamedTuple

import numpy as np

from shoal.data.column import Column
from shoal.recoding.kinds import Trait
from shoal.risk.attacks.base import Attack, AttackFigure, AttackResult, clustered, figure
from shoal.risk.attacks.case import AttackCase, People, View
from shoal.risk.attacks.guess import attacked, pools
from shoal.risk.attacks.views import in_own_class, pooled
from shoal.utility.randomised import wilson

_ROUNDS = 20
# Bytes of the values of rows that are looked at in one go.
_BYTES = 1 << 26


class Candidates(NamedTuple):
    """People whose known value is the same in all of their rows, and what is possible for them.

    Attributes
    ----------
    truth
        Code of each person's value.
    only
        Code of the only value that all classes of the person's rows have, -2 where they have none or several.
    alone
        Share of the person's rows whose class has the true value alone.
    values
        How many values that all of their classes have.
    """

    truth: np.ndarray
    only: np.ndarray
    alone: np.ndarray
    values: np.ndarray


@dataclass(frozen=True, kw_only=True)
class SubjectIntersection(Attack):
    """The attacker knows the quasi-identifiers of all rows of a person and keeps the values that their classes share.

    Each class may have many values although all of them together have one in common. It works on values that are the
    same in every row of a person, such as a chronic diagnosis; people whose values differ are left out. Where cells of
    several classes cover a row, the class is taken to be known; the figure of all of them together, and with it the
    control, stands beside as ``subject-intersection-pooled:COLUMN``.
    """

    name: ClassVar = "subject-intersection"
    aim: ClassVar = Trait.CLASSES
    needs: ClassVar = ("sensitive", "subjects")

    def run(self, case: AttackCase) -> AttackResult:
        """One figure a sensitive column."""
        own = in_own_class(case)
        known = _released(own)
        found, left, notes = [], {}, []
        for column in attacked(known):
            people = _candidates(known.view, known.people, column)
            if not people.truth.size:
                notes.append(f"Nobody has the same '{column.name}' in all of their rows.")
                continue
            found.append(_figure(known, column, people))
            left[column.name] = float(people.values.mean())
        if own is not case:
            known = _released(case)
            beside = [(column, _candidates(known.view, known.people, column)) for column in attacked(known)]
            found += [pooled(_figure(known, column, people)) for column, people in beside if people.truth.size]
        notes += [own.no_control] if found and own.control is None else []
        return self.result(found, " ".join(notes), values_left=left)


def _released(case: AttackCase) -> AttackCase:
    """The same case without rows that the publisher knows to be suppressed: nobody finds their class."""
    classes = case.own_classes
    if classes is None or (classes >= 0).all():
        return case
    kept = np.flatnonzero(classes >= 0)
    return replace(case, people=case.people.take(kept), own=classes[kept], input_rows=None)


def _figure(case: AttackCase, column: Column, people: Candidates) -> AttackFigure:
    right = (people.only == people.truth).astype(np.float64)
    share, trials = clustered(right, np.arange(right.size))
    generator = case.keys.generator(f"attack subject intersection {column.name}")
    dealt = [(people.only == generator.permutation(people.truth)).mean() for _ in range(_ROUNDS)]
    naive = max(float(people.alone.mean()), float(np.mean(dealt)))
    control = None
    if case.control is not None and column.name in case.control.truth and case.control.person is not None:
        others = _candidates(case.view, case.control, column)
        control = float((others.only == others.truth).mean()) if others.truth.size else None
        outside = others.truth.size
    ending = "" if control is None else f", and for {control:.1%} of people who are not in the data"
    sentence = (
        f"The classes of a person's rows have one '{column.name}' alone in common, the true one, for {share:.1%} of "
        f"{right.size:,} people; a single class, or the same guess about a random person, is right for {naive:.1%}"
        f"{ending}. {people.values.mean():.1f} values are left on average."
    )
    return figure(
        f"subject-intersection:{column.name}",
        share,
        trials,
        sentence,
        baseline=naive,
        control=control,
        control_interval=None if control is None else wilson(control, outside),
    )


def _candidates(view: View, people: People, column: Column) -> Candidates:
    """What the classes of people's rows leave possible, of those with one known value."""
    assert people.person is not None
    truth, empty = people.truth[column.name], np.empty(0)
    whose, of = np.unique(people.person, return_inverse=True)
    known = truth >= 0
    low, high = np.full(whose.size, np.iinfo(np.int64).max), np.full(whose.size, -1, dtype=np.int64)
    np.minimum.at(low, of[known], truth[known])
    np.maximum.at(high, of[known], truth[known])
    constant = np.flatnonzero(low == high)
    if not constant.size:
        return Candidates(empty, empty, empty, empty)
    bits, group = _bits(view, people, column)
    rows = np.argsort(of, kind="stable")
    starts = np.searchsorted(of[rows], np.arange(whose.size + 1))
    only, left = np.empty(whose.size, dtype=np.int64), np.empty(whose.size, dtype=np.int64)
    step = max(1, _BYTES // bits.shape[1])
    for some in np.split(np.arange(whose.size), np.searchsorted(starts[1:], np.arange(step, rows.size, step))):
        if some.size:
            mine = group[rows[starts[some[0]] : starts[some[-1] + 1]]]
            common = np.bitwise_and.reduceat(bits[mine], starts[some] - starts[some[0]], axis=0)
            only[some], left[some] = _only(common), np.bitwise_count(common).sum(axis=1)
    single = (_only(bits)[group] == high[of]).astype(np.float64)
    alone = np.bincount(of, weights=single)[constant] / np.bincount(of)[constant]
    return Candidates(high[constant], only[constant], alone, left[constant])


def _bits(view: View, people: People, column: Column) -> tuple[np.ndarray, np.ndarray]:
    """Packed bits a group of rows: which values the classes that could be theirs have; all where these have none.

    Beside them stands the group of every row.
    """
    groups = view.n_classes if people.vectors is None else people.vectors.shape[0]
    bits = np.zeros((groups, (column.card + 7) // 8), dtype=np.uint8)
    for pool in pools(view, people, column):
        flags = np.zeros((pool.groups.size, column.card), dtype=bool)
        flags[:, pool.codes] = pool.counts > 0
        flags[~flags.any(axis=1)] = True
        bits[pool.groups] = np.packbits(flags, axis=1)
    of = people.classes if people.vector is None else people.vector
    assert of is not None
    return bits, of


def _only(bits: np.ndarray) -> np.ndarray:
    """The value of sets of one, -2 for others."""
    one = np.bitwise_count(bits).sum(axis=1) == 1
    found = np.full(bits.shape[0], -2, dtype=np.int64)
    found[one] = np.unpackbits(bits[one], axis=1).argmax(axis=1)
    return found
