"""Answer count queries: exactly over rows, or as expected counts over groups of generalised cells."""

from __future__ import annotations

import numpy as np

from shoal.kernels import _native
from shoal.kernels.cores import share_rows


def cell_chances(asked: np.ndarray, at: np.ndarray, code: np.ndarray) -> np.ndarray:
    """Compute the chance that a cell's value is one that a query asks for, all values it covers being as likely.

    Cost: O(queries times (values + cells)), and the size of cells whose values are not neighbours.

    Parameters
    ----------
    asked
        uint8 (queries, values), 1 where a query asks for a value.
    at, code
        int64 and int32: cell c covers values ``code[at[c]:at[c + 1]]``, each once, in ascending order where they are
        neighbours.

    Returns
    -------
    float64 (queries, cells); NaN for a cell of no values.
    """
    found = np.empty((asked.shape[0], at.size - 1))
    share_rows(asked.shape[0], lambda start, stop: _native.cell_chances(asked, at, code, found, start, stop))
    return found


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
    """Sum over groups the matches on the left times the matches on the right over the group's rows.

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
        As those of the left. Within a group each left record goes with each right record equally likely.
    """
    found = np.zeros(chance.shape[0])
    lefts, rights = (left_at, left, left_rows), (right_at, right, right_rows)
    share_rows(
        found.size, lambda start, stop: _native.expected_counts(chance, order, lefts, rights, found, start, stop)
    )
    return found


def exact_counts(
    asked: np.ndarray, first: np.ndarray, codes: np.ndarray, bits: np.ndarray, bit_at: np.ndarray
) -> np.ndarray:
    """Count the rows that meet every condition of a query, 64 at a time.

    Cost: O(queries times rows times conditions), or a 64th of that for columns in ``bits``.

    Parameters
    ----------
    asked
        uint8 (queries, values of all columns side by side).
    first
        int64, where the values of each column begin, and where the last one ends.
    codes
        int32 (columns, rows).
    bits
        uint64 (values, words): the rows that have a value, for columns of few values.
    bit_at
        int64, where such a column begins in ``bits``, -1 for the others.
    """
    found = np.zeros(asked.shape[0], dtype=np.int64)
    share_rows(
        found.size, lambda start, stop: _native.exact_counts(asked, first, codes, bits, bit_at, found, start, stop)
    )
    return found
