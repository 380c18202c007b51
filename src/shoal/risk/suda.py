"""Special uniques (Elliot, Manning & Ford 2002; Manning, Haglin & Keane 2008): records that few keys single out.

A *minimal sample unique* (MSU) of a record is a set of keys on which it is alone and of which no part does. With K keys
and sets of at most M of them, an MSU of s keys scores the product of K - i over i = s .. min(M, K - 1), which is
(K - s)! when all sizes are searched, as in sdcMicro; a record's SUDA score is the sum over its MSUs.

DIS (Skinner & Elliot 2002): with U unique records, P records in pairs and the sampling fraction f, a match with a
unique record is right with the probability D = U f / (U f + P (1 - f)). DIS-SUDA spreads D over the records by their
scores, as sdcMicro does: 1 / (1 + (U/D - U) / (score**Q A)), with Q = 1 + (8 - K)/20 and A the sum of score**-Q over
the records with a score.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass

import numpy as np

from shoal.data.domain import Domain
from shoal.data.rows import Frequency, PeopledRows
from shoal.data.stats import Attribute, GroupStats, Histogram, Key
from shoal.errors import ParameterError
from shoal.kernels.grouping import group_rows
from shoal.kernels.suda import extend_uniques, new_uniques
from shoal.results import Risk
from shoal.risk.attackers import Z
from shoal.risk.classes import Classes
from shoal.risk.report import SudaSummary

MOST_KEYS = 62


@dataclass(frozen=True, eq=False, kw_only=True)
class Uniques:
    """Minimal sample uniques: the class (of one person) that each belongs to, and its keys as bits."""

    classes: np.ndarray
    masks: np.ndarray
    keys: int
    most: int

    @property
    def sizes(self) -> np.ndarray:
        """Number of keys of each."""
        return np.bitwise_count(self.masks).astype(np.int64)

    @property
    def scores(self) -> np.ndarray:
        """Score of each."""
        last = min(self.most, self.keys - 1)
        table = [math.prod(self.keys - i for i in range(s, last + 1)) for s in range(self.keys + 1)]
        return np.array(table, dtype=np.float64)[self.sizes]


def find_uniques(
    rows: PeopledRows, cells: Frequency, most: int, progress: Callable[[str], None] | None = None
) -> Uniques:
    """Every minimal sample unique of at most ``most`` keys.

    People are counted: where there is a subject column, a set of keys singles a person out, whatever the number of
    rows. Missing is a value of its own.
    """
    columns = rows.domain.quasi
    if len(columns) > MOST_KEYS:
        raise ParameterError(
            f"SUDA takes up to {MOST_KEYS} quasi-identifiers, and there are {len(columns)}: use fewer."
        )
    # Keys of many values go to the high bits: below them groups soon have one record left, and the search ends.
    order = np.argsort([column.card for column in columns], kind="stable")
    codes = np.ascontiguousarray(cells.codes[order])
    cards = np.array([columns[key].card for key in order], dtype=np.int64)
    owner = np.where(cells.sizes == 1, _owners(rows, cells.sizes.size), -1).astype(np.int32)
    most = min(most, len(columns))
    last, items, masks, earlier, count = new_uniques(owner.size)
    for top in range(len(columns)):
        if progress is not None:
            progress(f"looking for minimal uniques, key {top + 1} of {len(columns)}")
        items, masks, earlier, count = extend_uniques(
            codes, cards, owner, top, most, last, items, masks, earlier, count
        )
    shuffled = np.zeros(count, dtype=np.int64)
    for bit, key in enumerate(order):
        shuffled |= ((masks[:count] >> bit) & 1) << int(key)
    return Uniques(classes=items[:count], masks=shuffled, keys=len(columns), most=most)


def _owners(rows: PeopledRows, cells: int) -> np.ndarray:
    """Somebody of every cell: its person where there is one."""
    if not rows.domain.by_people:
        return np.arange(cells)
    at, _, person = rows.held(None)
    somebody = np.zeros(cells, dtype=np.int64)
    somebody[at] = person
    return somebody


def class_scores(found: Uniques, classes: Classes) -> np.ndarray:
    """SUDA score of every class."""
    return np.bincount(found.classes, weights=found.scores, minlength=classes.sizes.size)


def dis_scores(scores: np.ndarray, keys: int, chance: float, unique: int) -> np.ndarray:
    """DIS-SUDA score of every record with a score; ``chance`` is D and ``unique`` U."""
    power = 1.0 + (8.0 - keys) / 20.0
    scored = scores > 0
    raised = scores[scored] ** power
    found = np.zeros(scores.size)
    if scored.any():
        found[scored] = 1.0 / (1.0 + unique * (1.0 / chance - 1.0) / (raised * (1.0 / raised).sum()))
    return found


def dis_figure(classes: Classes, fraction: float) -> Risk | None:
    """D with an interval, the numbers of uniques and of pairs taken as Poisson; None when nobody is unique."""
    unique, pairs = int((classes.sizes == 1).sum()), int((classes.sizes == 2).sum())
    if unique == 0:
        return None
    value = unique * fraction / (unique * fraction + 2 * pairs * (1.0 - fraction))
    interval = (value, value)
    if fraction < 1.0:
        centre = math.log(unique * fraction / ((1.0 - fraction) * 2 * (pairs or 0.5)))
        reach = Z * math.sqrt(1.0 / unique + 1.0 / (pairs or 0.5))
        low, high = (1.0 / (1.0 + math.exp(-x)) for x in (centre - reach, centre + reach))
        interval = (low, max(high, value))
    text = f"A match with a record that is unique here is the right person with a probability of about {value:.0%}."
    return Risk(value=value, interval=interval, baseline=None, sentence=text)


def summarise(found: Uniques, domain: Domain, cells: Frequency) -> SudaSummary:
    """Counts and shares fit to be shown."""
    scores = found.scores
    total = float(scores.sum()) or 1.0
    sizes, counts = np.unique(found.sizes, return_counts=True)
    hit = np.zeros(cells.rows.size, dtype=bool)
    hit[found.classes] = True
    return SudaSummary(
        most=found.most,
        by_size={int(size): int(count) for size, count in zip(sizes, counts, strict=True)},
        records=int(cells.rows[hit].sum()),
        contributions={
            column.name: float(scores[(found.masks >> key) & 1 == 1].sum() / total)
            for key, column in enumerate(domain.quasi)
        },
    )


# ----------------------------------------
# Group statistics when a missing quasi-identifier matches anything.
#
# "Matches" is then no equivalence, so a record's group is everybody it could be confused with. Records are sorted
# by which columns they miss; two such patterns are compared on the columns that both of them have.


def wildcard_stats(
    rows: PeopledRows, codes: np.ndarray, stats: GroupStats, attributes: Sequence[Attribute]
) -> GroupStats | None:
    """Statistics of everybody each combination could be, None when no quasi-identifier is ever missing.

    Parameters
    ----------
    codes
        The combinations, as in the frequency table.
    """
    columns, groups = rows.domain.quasi, codes.shape[1]
    gone = codes == np.array([column.missing for column in columns])[:, None]
    if not gone.any():
        return None
    cards = np.array([column.card for column in columns])
    pattern = np.unique(gone, axis=1, return_inverse=True)[1].ravel()
    pairs = _matches(codes, cards, gone, pattern)
    total = _sum(pairs, stats.rows, groups)
    sizes = _count_people(pairs, rows, groups) if rows.domain.by_people else total
    found: dict[Key, Histogram] = {}
    for one in attributes:
        found[one.key] = _histogram(rows, one, pairs, stats.histograms[one.key], groups)
    return GroupStats(sizes=sizes, rows=total, histograms=found)


def _matches(
    codes: np.ndarray, cards: np.ndarray, gone: np.ndarray, pattern: np.ndarray
) -> tuple[np.ndarray, np.ndarray]:
    """Pairs (combination, combination it could be), each with itself included."""
    members = [np.flatnonzero(pattern == p) for p in range(pattern.max() + 1)]
    left: list[np.ndarray] = []
    right: list[np.ndarray] = []
    for mine in members:
        for theirs in members:
            shared = ~(gone[:, mine[0]] | gone[:, theirs[0]])
            both = np.concatenate((mine, theirs))
            keys = group_rows(np.ascontiguousarray(codes[shared][:, both]), cards[shared])[0]
            a, b = _join(keys[: mine.size], keys[mine.size :])
            left.append(mine[a])
            right.append(theirs[b])
    return np.concatenate(left), np.concatenate(right)


def _join(left: np.ndarray, right: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Places of all pairs of equal keys."""
    order = np.argsort(right, kind="stable")
    start = np.searchsorted(right[order], left, side="left")
    stop = np.searchsorted(right[order], left, side="right")
    counts = stop - start
    a = np.repeat(np.arange(left.size), counts)
    within = np.arange(a.size) - np.repeat(np.cumsum(counts) - counts, counts)
    return a, order[np.repeat(start, counts) + within]


def _sum(pairs: tuple[np.ndarray, np.ndarray], values: np.ndarray, groups: int) -> np.ndarray:
    return np.bincount(pairs[0], weights=values[pairs[1]], minlength=groups).astype(np.int64)


def _expand(
    pairs: tuple[np.ndarray, np.ndarray], cells: np.ndarray, groups: int
) -> tuple[np.ndarray, np.ndarray]:
    """Pairs (combination, place of somebody it could be), by the ascending cells of these."""
    counts = np.bincount(cells, minlength=groups)
    starts = np.cumsum(counts) - counts
    repeats = counts[pairs[1]]
    group = np.repeat(pairs[0], repeats)
    within = np.arange(group.size) - np.repeat(np.cumsum(repeats) - repeats, repeats)
    return group, np.repeat(starts[pairs[1]], repeats) + within


def _count_people(pairs: tuple[np.ndarray, np.ndarray], rows: PeopledRows, groups: int) -> np.ndarray:
    cells, _, people = rows.held(None)
    group, place = _expand(pairs, cells, groups)
    distinct = np.unique(np.stack([group, people[place]]), axis=1)
    return np.bincount(distinct[0], minlength=groups)


def _histogram(
    rows: PeopledRows, one: Attribute, pairs: tuple[np.ndarray, np.ndarray], own: Histogram, groups: int
) -> Histogram:
    if one.people and rows.domain.by_people:
        cells, values, people = rows.held(one)
        group, place = _expand(pairs, cells, groups)
        triples = np.unique(np.stack([group, values[place], people[place]]), axis=1)
        known = np.unique(triples[:, one.unknown[triples[1]] == 0][[0, 2]], axis=1)
        return _compress(
            triples[0], triples[1], np.ones(triples.shape[1]), groups, np.bincount(known[0], minlength=groups)
        )
    lengths = np.diff(own.indptr)
    repeats = lengths[pairs[1]]
    group = np.repeat(pairs[0], repeats)
    within = np.arange(group.size) - np.repeat(np.cumsum(repeats) - repeats, repeats)
    at = np.repeat(own.indptr[pairs[1]], repeats) + within
    return _compress(group, own.codes[at], own.counts[at], groups, _sum(pairs, own.known, groups))


def _compress(
    group: np.ndarray, codes: np.ndarray, counts: np.ndarray, groups: int, known: np.ndarray
) -> Histogram:
    """Add up equal (group, code) pairs into compressed rows."""
    card = int(codes.max(initial=0)) + 1
    keys, places = np.unique(group.astype(np.int64) * card + codes, return_inverse=True)
    sums = np.bincount(places, weights=counts, minlength=keys.size).astype(np.int64)
    indptr = np.searchsorted(keys // card, np.arange(groups + 1)).astype(np.int64)
    return Histogram(indptr, (keys % card).astype(np.int32), sums, known)
