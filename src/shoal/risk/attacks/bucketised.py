"""Attacks on bucketised releases, whose quasi-identifiers are exact: who is in it, and whose value is whose.

The attacker holds the release alone. Quasi-identifiers and sensitive values that go together in the population still do
so across groups, and what is learned from all groups tells the members of each apart.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np

from shoal.data.column import INTERVAL, Column
from shoal.data.stats import unknown_flags
from shoal.data.table import Table
from shoal.kernels.grouping import group_rows
from shoal.recoding.recodings import Bucketed
from shoal.risk.attacks.base import AttackFigure, figure
from shoal.utility.randomised import wilson

# Numbers are learned from by so many classes of about equal size.
BINS = 32
# Record-value pairs looked at together.
_PAIRS = 1 << 22
# Record-value pairs that the control may look at; of more records so many are drawn, but never fewer than these.
_CONTROLS, _FEWEST = 1 << 27, 500
# Classes of a feature and values that are counted in a table of all of them; of more only those that occur.
_DENSE = 1 << 22


def attack_bucketised(table: Table, bucketed: Bucketed) -> list[AttackFigure]:
    """All attacks: uniqueness of the quasi-identifiers, then homogeneity and relinking of every sensitive column."""
    figures = [uniqueness(table, bucketed)]
    for column in table.sensitive:
        figures += [homogeneity(table, bucketed, column), relinking(table, bucketed, column)]
    return figures


def uniqueness(table: Table, bucketed: Bucketed) -> AttackFigure:
    """Records that nobody else's quasi-identifiers equal: whoever knows these finds the row, and its group."""
    rows = np.flatnonzero(bucketed.ids >= 0)
    codes = table.quasi_codes[:, rows]
    ids, _, counts = group_rows(codes, np.array([column.card for column in table.quasi]))
    share = float((counts[ids] == 1).mean()) if rows.size else 0.0
    sentence = f"{share:.1%} of the records are alone with their exact quasi-identifiers, so that being in it is known."
    return figure("uniqueness", share, rows.size, sentence)


def homogeneity(table: Table, bucketed: Bucketed, column: Column) -> AttackFigure:
    """Records whose group has one value only, which is then theirs."""
    rows = _known_rows(table, bucketed, column)
    pairs = np.unique(bucketed.ids[rows].astype(np.int64) * column.card + table.codes[column.name][rows])
    values = np.bincount(pairs // column.card, minlength=bucketed.groups)
    share = float((values[bucketed.ids[rows]] == 1).mean()) if rows.size else 0.0
    sentence = f"{share:.1%} of the records are in a group with a single value of '{column.name}', which is theirs."
    return figure(f"homogeneity of {column.name}", share, rows.size, sentence)


def relinking(
    table: Table, bucketed: Bucketed, column: Column, *, rounds: int = 0, name: str | None = None
) -> AttackFigure:
    """Guess everybody's value by naive Bayes learned from the release itself.

    Every record counts towards each value of its group by that value's share in it; each guess is the value of the
    group that fits the record's quasi-identifiers best. Ties succeed in part. The baseline guesses the group's
    commonest value; the control knows no group and leaves the record itself out, so that only what goes beyond it is
    due to being in the release.

    Parameters
    ----------
    rounds
        How often records count anew, by what was learned before instead of by shares (Kifer's deFinetti attack).
    """
    rows = _known_rows(table, bucketed, column)
    name = name or f"relinking of {column.name}"
    if not rows.size:
        return figure(name, 0.0, 0, f"No value of '{column.name}' is known, so there is none to guess.", baseline=0.0)
    case = _Case.of(table, bucketed, column, rows)
    first = model = _learn(case)
    for _ in range(rounds):
        model = _learn(case, _weights(case, model))
    share, baseline = float(np.mean(_guess(case, model))), _commonest(case)
    controls = _controls(case)
    control = float(np.mean(_guess_without_group(case, first, controls)))
    sentence = (
        f"By learning from the release alone, {share:.1%} of the values of '{column.name}' are guessed right within "
        f"their groups; the commonest value of each group is right for {baseline:.1%}."
    )
    return figure(
        name, share, rows.size, sentence, baseline=baseline, control=control,
        control_interval=wilson(control, controls.size),
    )  # fmt: skip


@dataclass(frozen=True, eq=False)
class _Case:
    """Records sorted by group, what they show, and the values that each group holds (compressed rows)."""

    features: list[np.ndarray]
    cards: list[int]
    group: np.ndarray
    truth: np.ndarray
    card: int
    start: np.ndarray
    value: np.ndarray
    share: np.ndarray

    @classmethod
    def of(cls, table: Table, bucketed: Bucketed, column: Column, rows: np.ndarray) -> _Case:
        rows = rows[np.argsort(bucketed.ids[rows], kind="stable")]
        groups, group = np.unique(bucketed.ids[rows], return_inverse=True)
        values, truth = np.unique(table.codes[column.name][rows], return_inverse=True)
        pairs, counts = np.unique(group * values.size + truth, return_counts=True)
        of, value = np.divmod(pairs, values.size)
        share = counts / np.bincount(group)[of]
        binned = [_binned(table, one, rows) for one in table.quasi]
        return cls(
            features=binned, cards=[int(one.max()) + 1 for one in binned], group=group, truth=truth, card=values.size,
            start=np.searchsorted(of, np.arange(groups.size + 1)), value=value, share=share,
        )  # fmt: skip

    def pairs(self) -> Iterator[tuple[np.ndarray, np.ndarray, np.ndarray]]:
        """Pairs of a record and a value of its group, with that value's share, in parts of whole records."""
        many = np.diff(self.start)[self.group]
        ends = np.cumsum(many)
        low = 0
        while low < many.size:
            before = ends[low] - many[low]
            high = max(low + 1, int(np.searchsorted(ends, before + _PAIRS, side="right")))
            record = np.repeat(np.arange(low, high), many[low:high])
            first = ends[record] - many[record] - before
            place = self.start[self.group[record]] + np.arange(record.size) - first
            yield record, self.value[place], self.share[place]
            low = high


def _known_rows(table: Table, bucketed: Bucketed, column: Column) -> np.ndarray:
    return np.flatnonzero((bucketed.ids >= 0) & (unknown_flags(column)[table.codes[column.name]] == 0))


def _binned(table: Table, column: Column, rows: np.ndarray) -> np.ndarray:
    """Codes of a column, numbers of many values in classes of about equal size."""
    codes = table.codes[column.name][rows].astype(np.int64)
    if column.kind != INTERVAL or column.card <= BINS:
        return codes
    below = np.cumsum(np.bincount(codes, minlength=column.card)) - np.bincount(codes, minlength=column.card)
    return (below * BINS // rows.size)[codes]


class _Joint:
    """Expected records of every class of a feature together with every value."""

    def __init__(self, cells: int, card: int) -> None:
        self.cells, self._card = cells, card
        self._table = np.zeros(cells * card if cells * card <= _DENSE else 0)
        self._keys: np.ndarray = np.zeros(0, dtype=np.int64)
        self._counts: np.ndarray = np.zeros(0)

    def add(self, feature: np.ndarray, value: np.ndarray, share: np.ndarray) -> None:
        """Count records towards values."""
        keys = feature * self._card + value
        if self._table.size:
            self._table += np.bincount(keys, weights=share, minlength=self._table.size)
            return
        self._keys, place = np.unique(np.concatenate([self._keys, keys]), return_inverse=True)
        self._counts = np.bincount(place, weights=np.concatenate([self._counts, share]))

    def at(self, feature: np.ndarray, value: np.ndarray) -> np.ndarray:
        """Expected records of some classes together with a value each."""
        keys = feature * self._card + value
        if self._table.size:
            return self._table[keys]
        place = np.minimum(np.searchsorted(self._keys, keys), self._keys.size - 1)
        return np.where(self._keys[place] == keys, self._counts[place], 0.0)

    def with_all(self, feature: np.ndarray) -> np.ndarray:
        """Expected records of some classes together with all values, shape (classes, values)."""
        if self._table.size:
            return self._table.reshape(-1, self._card)[feature]
        found = np.zeros((feature.size, self._card))
        for row, one in zip(found, feature.tolist(), strict=True):
            low, high = np.searchsorted(self._keys, [one * self._card, (one + 1) * self._card])
            row[self._keys[low:high] - one * self._card] = self._counts[low:high]
        return found


@dataclass(frozen=True, eq=False)
class _Learned:
    """Expected records of every value, and of every class of every feature together with it."""

    total: np.ndarray
    joint: list[_Joint]


def _learn(case: _Case, weights: list[np.ndarray] | None = None) -> _Learned:
    """Count every record towards the values of its group, by their shares or by weights that were found before."""
    total = np.zeros(case.card)
    joint = [_Joint(cells, case.card) for cells in case.cards]
    for part, (record, value, share) in enumerate(case.pairs()):
        if weights is not None:
            share = weights[part]
        total += np.bincount(value, weights=share, minlength=case.card)
        for feature, found in zip(case.features, joint, strict=True):
            found.add(feature[record], value, share)
    return _Learned(total, joint)


def _fit(case: _Case, model: _Learned, record: np.ndarray, value: np.ndarray, share: np.ndarray) -> np.ndarray:
    """Log of how well each value fits its record."""
    score = np.log(share)
    for feature, joint in zip(case.features, model.joint, strict=True):
        score += np.log((joint.at(feature[record], value) + 1.0) / (model.total[value] + joint.cells))
    return score


def _weights(case: _Case, model: _Learned) -> list[np.ndarray]:
    """Probability of each value for its record, by what was learned; part by part of the pairs."""
    found = []
    for record, value, share in case.pairs():
        score = _fit(case, model, record, value, share)
        first = np.flatnonzero(np.diff(record, prepend=-1))
        of = record - record[0]
        weight = np.exp(score - np.maximum.reduceat(score, first)[of])
        found.append(weight / np.bincount(of, weights=weight)[of])
    return found


def _guess(case: _Case, model: _Learned) -> np.ndarray:
    """Success of each record's best guess among the values of its group."""
    success = np.empty(case.truth.size)
    for record, value, share in case.pairs():
        score = _fit(case, model, record, value, share)
        first = np.flatnonzero(np.diff(record, prepend=-1))
        best = np.maximum.reduceat(score, first)
        of = record - record[0]
        top = score >= best[of] - 1e-9
        right = np.bincount(of, weights=top & (value == case.truth[record]))
        success[record[first]] = right / np.bincount(of, weights=top)
    return success


def _controls(case: _Case) -> np.ndarray:
    """The records that the control looks at: each one is held against all values."""
    n = case.truth.size
    many = min(n, max(_CONTROLS // case.card, _FEWEST))
    return np.sort(np.random.default_rng(n).choice(n, many, replace=False)) if many < n else np.arange(n)


def _guess_without_group(case: _Case, model: _Learned, records: np.ndarray) -> np.ndarray:
    """Success of naive Bayes on some records as if they were somebody else's: own parts out, groups unknown."""
    success = np.empty(records.size)
    step = max(1, _PAIRS // case.card)
    for low in range(0, records.size, step):
        rows = records[low : low + step]
        own = _own_shares(case, rows)
        rest = model.total - own
        score = np.log(np.maximum(rest, 0.0) + 1e-12)
        for feature, joint in zip(case.features, model.joint, strict=True):
            score += np.log((np.maximum(joint.with_all(feature[rows]) - own, 0.0) + 1.0) / (rest + joint.cells))
        top = score >= score.max(axis=1, keepdims=True) - 1e-9
        success[low : low + step] = top[np.arange(rows.size), case.truth[rows]] / top.sum(axis=1)
    return success


def _own_shares(case: _Case, rows: np.ndarray) -> np.ndarray:
    """What each record adds to every value, shape (records, values)."""
    own = np.zeros((rows.size, case.card))
    many = np.diff(case.start)[case.group[rows]]
    record = np.repeat(np.arange(rows.size), many)
    place = np.arange(record.size) - np.repeat(np.cumsum(many) - many, many) + case.start[case.group[rows]][record]
    own[record, case.value[place]] = case.share[place]
    return own


def _commonest(case: _Case) -> float:
    """Expected success of guessing each group's commonest value."""
    most = np.maximum.reduceat(case.share, case.start[:-1])
    return float(most[case.group].mean())
