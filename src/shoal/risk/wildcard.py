"""Group statistics when a missing quasi-identifier matches anything.

"Matches" is then no equivalence, so a record's group is everybody it could be confused with. Records are sorted by
which columns they miss; two such patterns are compared on the columns that both of them have.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from shoal.data.rows import PeopledRows
from shoal.data.stats import Attribute, GroupStats, Histogram, Key
from shoal.kernels.grouping import group_rows


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
    sizes = _people(pairs, rows, groups) if rows.domain.by_people else total
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


def _people(pairs: tuple[np.ndarray, np.ndarray], rows: PeopledRows, groups: int) -> np.ndarray:
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
