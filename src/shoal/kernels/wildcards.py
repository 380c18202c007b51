"""Combinations with suppressed values, where such a value matches any: count matches, suppress values, restore them.

Combinations are ``codes``, int32 (combinations, columns), all different, and ``sizes``, int64: rows of each. ``stars``
(int64) has suppressed columns as bits, ``found`` (int64) the rows that match each combination, its own included.
"""

from __future__ import annotations

import numpy as np

from shoal.kernels import _native


def count_matches(codes: np.ndarray, sizes: np.ndarray) -> np.ndarray:
    """Count the rows that match each combination, its own included; codes are -1 where a value is suppressed.

    ``codes`` is int32 (combinations, columns), ``sizes`` int64, rows of each; the result is int64. Cost: O(combinations
    times those that have something suppressed times columns).
    """
    found = np.empty_like(sizes)
    _native.count_wildcard_matches(codes, sizes, found)
    return found


def suppress_short(
    codes: np.ndarray, sizes: np.ndarray, stars: np.ndarray, found: np.ndarray, k: int, masks: np.ndarray, most: int
) -> int:
    """Suppress the cheapest values that suffice in each combination that fewer than k rows match, one after the other.

    Returns how many combinations still fall short, because none of the sets that
    may be used suffices. Cost: O(combinations (combinations + columns 2^columns)).

    Parameters
    ----------
    codes, sizes
        int32 (combinations, columns), nothing suppressed, of up to 62 columns, and int64, rows of each.
    stars, found
        int64: suppressed columns of each combination as bits, and rows that match it; changed in place.
    masks
        int64, sets of columns as bits, the cheapest first.
    most
        How many of them may be used.
    """
    return _native.suppress_short(codes, sizes, stars, found, k, masks, most)


def restore_spare(
    codes: np.ndarray,
    sizes: np.ndarray,
    stars: np.ndarray,
    found: np.ndarray,
    k: int,
    columns: np.ndarray,
    fixed: np.ndarray,
) -> None:
    """Restore suppressed values as long as k rows still match every combination; see `suppress_short`.

    ``stars`` and ``found`` are changed in place. Cost: O(suppressed values times combinations times columns).

    Parameters
    ----------
    columns
        int64, in the order in which they are tried: the dearest first.
    fixed
        int64, columns of each combination, as bits, that stay suppressed.
    """
    _native.restore_spare(codes, sizes, stars, found, k, columns, fixed)
