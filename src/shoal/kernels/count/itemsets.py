"""Weigh sets of items for association rules: records by cells that stand for one value or for several."""

from __future__ import annotations

import numpy as np

from shoal.kernels import _native


def cross_counts(
    rows: np.ndarray,
    weight: np.ndarray,
    begin: int,
    cells: np.ndarray,
    at: np.ndarray,
    item: np.ndarray,
    share: np.ndarray,
    target: np.ndarray,
    found: np.ndarray,
) -> None:
    """Add up the weight of every item of the columns from ``begin`` on together with every target.

    Cost: O(rows times columns times items of a cell).

    Parameters
    ----------
    rows, weight
        int64 records, and float64: how much of each has the items so far.
    cells
        int32 (columns, records): the cell of each column, all columns' cells numbered together.
    at, item, share
        Cell c stands for items ``item[at[c]:at[c + 1]]`` with these shares; int64, int64 and float64.
    target
        int32, one a record.
    found
        float64 (items, targets); overwritten.
    """
    _native.cross_counts(rows, weight, begin, cells, at, item, share, target, found)


def narrow(
    rows: np.ndarray,
    weight: np.ndarray,
    cells: np.ndarray,
    at: np.ndarray,
    item: np.ndarray,
    share: np.ndarray,
    wanted: int,
) -> tuple[np.ndarray, np.ndarray]:
    """Select the records that may have one more item: int64 records, and float64 how much of each does.

    Other arguments are those of `cross_counts`. Cost: O(rows times items of a cell).

    Parameters
    ----------
    cells
        int32, one a record: the cell of the item's column.
    wanted
        The item.
    """
    kept, weights = _native.narrow(rows, weight, cells, at, item, share, wanted)
    return kept, weights
