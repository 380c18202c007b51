"""Answers of count queries: exact ones over rows, expected ones over groups of cells."""

from __future__ import annotations

import numpy as np

from shoal.kernels.compiled import kernel
from shoal.kernels.cores import share_rows
from shoal.kernels.count.extents import popcount


def cell_chances(asked: np.ndarray, at: np.ndarray, code: np.ndarray) -> np.ndarray:
    """Chance that a cell's value is one of those that a query asks for, every value it covers being as likely.

    Parameters
    ----------
    asked
        uint8 (queries, values), 1 where a query asks for a value.
    at, code
        Cell c covers values ``code[at[c]:at[c + 1]]``, each once and in ascending order where they are neighbours.

    Returns
    -------
    float64 (queries, cells).
    """
    found = np.empty((asked.shape[0], at.size - 1))
    share_rows(asked.shape[0], lambda start, stop: _chances(asked, at, code, found, start, stop))
    return found


@kernel
def _chances(asked: np.ndarray, at: np.ndarray, code: np.ndarray, found: np.ndarray, start: int, stop: int) -> None:
    cells = at.size - 1
    for q in range(start, stop):
        before = np.zeros(asked.shape[1] + 1, dtype=np.int64)
        for v in range(asked.shape[1]):
            before[v + 1] = before[v] + asked[q, v]
        for c in range(cells):
            first, size = code[at[c]], at[c + 1] - at[c]
            if code[at[c + 1] - 1] - first == size - 1:  # neighbouring values, as in every interval and subtree
                hits = before[first + size] - before[first]
            else:
                hits = 0
                for i in range(at[c], at[c + 1]):
                    hits += asked[q, code[i]]
            found[q, c] = hits / size


def expected_counts(
    chance: np.ndarray,
    order: np.ndarray,
    left_at: np.ndarray,
    left: np.ndarray,
    left_rows: np.ndarray,
    right_at: np.ndarray,
    right: np.ndarray,
    right_rows: np.ndarray,
) -> np.ndarray:
    """Sum over groups of matches on the left times matches on the right over the group's rows.

    Cost: queries x (rows of the left + rows of the right of groups that match), at most.

    Parameters
    ----------
    chance
        float64 (queries, cells of all columns side by side).
    order
        int32 (queries, columns of the left): the left's columns that a query asks for, then -1.
    left_at, left, left_rows
        Group g has the left rows ``left_at[g]`` to ``left_at[g + 1]``: their cells, int32 (rows, columns) as columns of
        ``chance``, and how many records each stands for.
    right_at, right, right_rows
        The same for the right. Within a group each left record goes with each right record equally likely.
    """
    found = np.zeros(chance.shape[0])
    lefts, rights = (left_at, left, left_rows), (right_at, right, right_rows)
    share_rows(found.size, lambda start, stop: _expected(chance, order, lefts, rights, found, start, stop))
    return found


@kernel
def _expected(
    chance: np.ndarray, order: np.ndarray, lefts: tuple, rights: tuple, found: np.ndarray, start: int, stop: int
) -> None:
    left_at, left, left_rows = lefts
    right_at, right, right_rows = rights
    groups = left_at.size - 1
    for q in range(start, stop):
        total = 0.0
        for g in range(groups):
            seen = 0.0
            for i in range(left_at[g], left_at[g + 1]):
                p = left_rows[i]
                for j in order[q]:
                    if j < 0:
                        break
                    p *= chance[q, left[i, j]]
                    if p == 0.0:
                        break
                seen += p
            if seen == 0.0:
                continue
            held, size = 0.0, 0.0
            for i in range(right_at[g], right_at[g + 1]):
                p = right_rows[i]
                size += p
                for j in range(right.shape[1]):
                    p *= chance[q, right[i, j]]
                    if p == 0.0:
                        break
                held += p
            # One record on the left, or a group that matches whole, must not lose a digit.
            total += held if seen == size else seen * held / size
        found[q] = total


def exact_counts(
    asked: np.ndarray, first: np.ndarray, codes: np.ndarray, bits: np.ndarray, bit_at: np.ndarray
) -> np.ndarray:
    """Rows that meet every condition of a query, 64 at a time.

    Parameters
    ----------
    asked
        uint8 (queries, values of all columns side by side).
    first
        Where the values of each column begin, and where the last one ends.
    codes
        int32 (columns, rows).
    bits
        uint64 (values, words): the rows that have a value, for columns of few values.
    bit_at
        Where such a column begins in ``bits``, -1 for the others.
    """
    found = np.zeros(asked.shape[0], dtype=np.int64)
    share_rows(found.size, lambda start, stop: _exact(asked, first, codes, bits, bit_at, found, start, stop))
    return found


@kernel
def _exact(
    asked: np.ndarray, first: np.ndarray, codes: np.ndarray, bits: np.ndarray, bit_at: np.ndarray, found: np.ndarray,
    start: int, stop: int,
) -> None:  # fmt: skip
    rows = codes.shape[1]
    words = (rows + 63) // 64
    for q in range(start, stop):
        kept = np.full(words, ~np.uint64(0))
        for j in range(codes.shape[0]):
            mine = asked[q, first[j] : first[j + 1]]
            hits = 0
            for v in range(mine.size):
                hits += mine[v]
            if hits < mine.size:
                _keep(kept, mine, hits, codes[j], bits, bit_at[j])
        if rows % 64:
            kept[words - 1] &= (np.uint64(1) << np.uint64(rows % 64)) - np.uint64(1)
        total = 0
        for w in range(words):
            total += popcount(kept[w])
        found[q] = total


@kernel
def _keep(kept: np.ndarray, mine: np.ndarray, hits: int, codes: np.ndarray, bits: np.ndarray, at: int) -> None:
    """Clear the bits of the rows that fail one condition."""
    if at < 0:
        for i in range(codes.size):
            if not mine[codes[i]]:
                kept[i >> 6] &= ~(np.uint64(1) << np.uint64(i & 63))
    elif 2 * hits > mine.size:
        for v in range(mine.size):
            if not mine[v]:
                for w in range(kept.size):
                    kept[w] &= ~bits[at + v, w]
    else:
        some = np.zeros(kept.size, dtype=np.uint64)
        for v in range(mine.size):
            if mine[v]:
                for w in range(kept.size):
                    some[w] |= bits[at + v, w]
        for w in range(kept.size):
            kept[w] &= some[w]
