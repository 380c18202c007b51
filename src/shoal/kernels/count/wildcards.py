"""Combinations with suppressed values, where such a value counts as any: who could be whom, and what to suppress."""

from __future__ import annotations

import numpy as np

from shoal.kernels.compiled import kernel


@kernel
def count_matches(codes: np.ndarray, sizes: np.ndarray) -> np.ndarray:
    """Rows of all combinations that each could be, its own included.

    Cost: combinations times those that have something suppressed.

    Parameters
    ----------
    codes
        int32, shape (combinations, columns): different ones, -1 where a value is suppressed.
    sizes
        int64, rows of each.
    """
    count, m = codes.shape
    found = sizes.copy()
    starred = np.zeros(count, dtype=np.uint8)
    for c in range(count):
        for j in range(m):
            if codes[c, j] < 0:
                starred[c] = 1
    for d in range(count):
        if starred[d] == 0:
            continue
        for c in range(count):
            if c == d:
                continue
            same = True
            for j in range(m):
                if codes[c, j] != codes[d, j] and codes[c, j] >= 0 and codes[d, j] >= 0:
                    same = False
                    break
            if same:
                found[c] += sizes[d]
                if starred[c] == 0:
                    found[d] += sizes[c]
    return found


@kernel(inline="always")
def _differing(codes: np.ndarray, stars: np.ndarray, r: int, s: int) -> int:
    """Columns, as bits, in which two combinations differ and neither is suppressed."""
    bits = 0
    for j in range(codes.shape[1]):
        if codes[r, j] != codes[s, j]:
            bits |= 1 << j
    return bits & ~(stars[r] | stars[s])


@kernel
def suppress_short(
    codes: np.ndarray, sizes: np.ndarray, stars: np.ndarray, found: np.ndarray, k: int, masks: np.ndarray, most: int
) -> int:
    """Suppress in each combination that could be fewer than k rows the cheapest values that mend that, one by one.

    ``stars`` (int64, suppressed columns as bits) and ``found`` (int64, rows that each could be) are changed. Gives how
    many combinations still fall short, because what they need is not among the first sets.

    Parameters
    ----------
    masks
        int64, sets of columns as bits, the cheapest first.
    most
        How many of them may be used.
    """
    count, m = codes.shape
    rows = np.zeros(1 << m, dtype=np.int64)
    left = 0
    for r in range(count):
        if found[r] >= k:
            continue
        rows[:] = 0
        for s in range(count):
            rows[_differing(codes, stars, r, s)] += sizes[s]
        for j in range(m):
            for mask in range(1 << m):
                if mask >> j & 1:
                    rows[mask] += rows[mask ^ (1 << j)]
        chosen = 0
        while chosen < most and rows[masks[chosen]] < k:
            chosen += 1
        if chosen == most:
            left += 1
            continue
        more = masks[chosen]
        for s in range(count):
            apart = _differing(codes, stars, r, s)
            if apart != 0 and apart & ~more == 0:
                found[r] += sizes[s]
                found[s] += sizes[r]
        stars[r] |= more
    return left


@kernel
def restore_spare(
    codes: np.ndarray, sizes: np.ndarray, stars: np.ndarray, found: np.ndarray, k: int, columns: np.ndarray,
    fixed: np.ndarray,
) -> None:  # fmt: skip
    """Take suppressed values back, as long as every combination could still be k rows.

    Parameters
    ----------
    columns
        int64, in the order in which they are tried: the dearest first.
    fixed
        int64, columns of each combination, as bits, that stay suppressed.
    """
    count = codes.shape[0]
    losing = np.empty(count, dtype=np.int64)
    for r in range(count):
        if stars[r] == 0:
            continue
        for j in columns:
            bit = 1 << j
            if stars[r] & ~fixed[r] & bit == 0:
                continue
            lost, own, fine = 0, 0, True
            for s in range(count):
                if codes[s, j] == codes[r, j] or stars[s] & bit != 0 or _differing(codes, stars, r, s) != 0:
                    continue
                losing[lost] = s
                lost += 1
                own += sizes[s]
                if found[s] - sizes[r] < k:
                    fine = False
                    break
            if not fine or found[r] - own < k:
                continue
            stars[r] ^= bit
            found[r] -= own
            for at in range(lost):
                found[losing[at]] -= sizes[r]
