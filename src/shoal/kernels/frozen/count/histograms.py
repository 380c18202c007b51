"""Sparse histograms of integer codes, one a group, in compressed rows sorted by code."""

from __future__ import annotations

import numpy as np

from shoal.kernels.compiled import kernel


@kernel
def run_lengths(values: np.ndarray, codes: np.ndarray, counts: np.ndarray) -> int:
    """Write the distinct values of sorted ``values`` and their counts; return how many there are."""
    found = 0
    for i in range(values.size):
        if found > 0 and codes[found - 1] == values[i]:
            counts[found - 1] += 1
        else:
            codes[found] = values[i]
            counts[found] = 1
            found += 1
    return found


@kernel
def sort_small(values: np.ndarray) -> None:
    """Sort in place: insertion for the few values of a typical group, the library's sort otherwise."""
    if values.size > 48:
        values.sort()
        return
    for i in range(1, values.size):
        x = values[i]
        j = i - 1
        while j >= 0 and values[j] > x:
            values[j + 1] = values[j]
            j -= 1
        values[j + 1] = x


@kernel
def count_segment(
    values: np.ndarray, card: int, dense: np.ndarray, codes: np.ndarray, counts: np.ndarray
) -> int:
    """Histogram of one segment; ``values`` is scratch, ``dense`` (zeros, length card) is left as zeros."""
    if values.size > card:
        for i in range(values.size):
            dense[values[i]] += 1
        found = 0
        for code in range(card):
            if dense[code]:
                codes[found] = code
                counts[found] = dense[code]
                dense[code] = 0
                found += 1
        return found
    sort_small(values)
    return run_lengths(values, codes, counts)


@kernel
def bucket_rows(ids: np.ndarray, groups: int) -> tuple:
    """Rows ordered by group (stable; rows with id < 0 left out) and each group's offset."""
    offsets = np.zeros(groups + 1, dtype=np.int64)
    for i in range(ids.size):
        if ids[i] >= 0:
            offsets[ids[i] + 1] += 1
    for g in range(groups):
        offsets[g + 1] += offsets[g]
    at = offsets[:-1].copy()
    rows = np.empty(offsets[groups], dtype=np.int32)
    for i in range(ids.size):
        if ids[i] >= 0:
            rows[at[ids[i]]] = i
            at[ids[i]] += 1
    return rows, offsets


@kernel
def histograms(rows: np.ndarray, offsets: np.ndarray, values: np.ndarray, card: int) -> tuple:
    """Compressed histograms of ``values[rows]`` for the segments given by ``offsets``."""
    groups = offsets.size - 1
    indptr = np.zeros(groups + 1, dtype=np.int64)
    codes = np.empty(rows.size, dtype=np.int32)
    counts = np.empty(rows.size, dtype=np.int64)
    dense = np.zeros(card, dtype=np.int64)
    largest = 0
    for g in range(groups):
        largest = max(largest, offsets[g + 1] - offsets[g])
    # One room for the values of every group, and none for those of one row: most groups are small.
    room = np.empty(largest, dtype=values.dtype)
    for g in range(groups):
        start, at = offsets[g], indptr[g]
        size = offsets[g + 1] - start
        if size == 1:
            codes[at], counts[at] = values[rows[start]], 1
            indptr[g + 1] = at + 1
            continue
        for i in range(size):
            room[i] = values[rows[start + i]]
        indptr[g + 1] = at + count_segment(room[:size], card, dense, codes[at:], counts[at:])
    total = indptr[groups]
    return indptr, codes[:total].copy(), counts[:total].copy()


@kernel
def subject_histograms(
    rows: np.ndarray, offsets: np.ndarray, values: np.ndarray, subjects: np.ndarray, n_subjects: int
) -> tuple:
    """As `histograms`, counting distinct subjects with the value instead of rows."""
    groups = offsets.size - 1
    indptr = np.zeros(groups + 1, dtype=np.int64)
    codes = np.empty(rows.size, dtype=np.int32)
    counts = np.empty(rows.size, dtype=np.int64)
    for g in range(groups):
        segment = rows[offsets[g] : offsets[g + 1]]
        at = indptr[g]
        indptr[g + 1] = at + pair_histogram(segment, values, subjects, n_subjects, codes[at:], counts[at:])
    total = indptr[groups]
    return indptr, codes[:total].copy(), counts[:total].copy()


@kernel
def pair_histogram(
    rows: np.ndarray,
    values: np.ndarray,
    subjects: np.ndarray,
    n_subjects: int,
    codes: np.ndarray,
    counts: np.ndarray,
) -> int:
    """Distinct subjects a value in one segment of rows; returns the number of distinct values."""
    pairs = np.empty(rows.size, dtype=np.int64)
    for i in range(rows.size):
        pairs[i] = np.int64(values[rows[i]]) * n_subjects + subjects[rows[i]]
    pairs.sort()
    found = 0
    for i in range(pairs.size):
        if i > 0 and pairs[i] == pairs[i - 1]:
            continue
        code = np.int32(pairs[i] // n_subjects)
        if found > 0 and codes[found - 1] == code:
            counts[found - 1] += 1
        else:
            codes[found] = code
            counts[found] = 1
            found += 1
    return found


@kernel
def distinct_subjects(rows: np.ndarray, subjects: np.ndarray, flags: np.ndarray, values: np.ndarray) -> int:
    """Distinct subjects among ``rows`` whose value is not flagged (``flags`` empty: all rows)."""
    mine = np.empty(rows.size, dtype=np.int32)
    kept = 0
    for i in range(rows.size):
        if flags.size == 0 or flags[values[rows[i]]] == 0:
            mine[kept] = subjects[rows[i]]
            kept += 1
    part = mine[:kept]
    sort_small(part)
    found = 0
    for i in range(kept):
        if i == 0 or part[i] != part[i - 1]:
            found += 1
    return found


@kernel
def known_sizes(
    rows: np.ndarray, offsets: np.ndarray, subjects: np.ndarray, flags: np.ndarray, values: np.ndarray
) -> np.ndarray:
    """Records (or, when ``subjects`` is not empty, people) of each group whose value is not flagged."""
    groups = offsets.size - 1
    sizes = np.zeros(groups, dtype=np.int64)
    for g in range(groups):
        segment = rows[offsets[g] : offsets[g + 1]]
        if subjects.size:
            sizes[g] = distinct_subjects(segment, subjects, flags, values)
        else:
            for row in segment:
                if flags.size == 0 or flags[values[row]] == 0:
                    sizes[g] += 1
    return sizes
