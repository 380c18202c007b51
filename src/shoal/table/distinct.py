"""Distinct combinations of codes, in the one order that every engine can give them: ascending."""

from __future__ import annotations

import numpy as np

from shoal.kernels.grouping import group_rows, pack_keys


def distinct(codes: np.ndarray, cards: np.ndarray) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Number the distinct combinations of codes by the first code, then the second, ...

    Parameters
    ----------
    codes
        int32, shape (columns, rows).
    cards
        Number of codes of each column.

    Returns
    -------
    tuple
        int32 combination of every row; codes (columns, combinations) and int64 rows of every combination.
    """
    ids, first, counts = group_rows(codes, cards)
    found = np.take(codes, first, axis=1)
    # Keys in mixed radix sort as the codes themselves do, where they fit.
    fits = np.prod(cards.astype(float)) < 2.0**63
    order = np.argsort(pack_keys(found, cards)) if fits else np.lexsort(found[::-1])
    place = np.empty(order.size, dtype=np.int32)
    place[order] = np.arange(order.size, dtype=np.int32)
    return place[ids], np.take(found, order, axis=1), counts[order].astype(np.int64)
