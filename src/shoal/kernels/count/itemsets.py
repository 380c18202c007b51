"""Weights of sets of items, for association rules: records by cells that stand for one value or for several."""

from __future__ import annotations

import numpy as np

from shoal.kernels.compiled import kernel


@kernel
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

    Parameters
    ----------
    rows, weight
        Records, and how much of each has the items so far.
    cells
        int32 (columns, records): the cell of each column, all columns' cells numbered together.
    at, item, share
        Cell c stands for items ``item[at[c]:at[c + 1]]`` with these shares.
    target
        int32, one a record.
    found
        float64 (items, targets); overwritten.
    """
    found[:] = 0.0
    for place in range(rows.size):
        row = rows[place]
        for column in range(begin, cells.shape[0]):
            cell = cells[column, row]
            for i in range(at[cell], at[cell + 1]):
                found[item[i], target[row]] += weight[place] * share[i]


@kernel
def narrow(
    rows: np.ndarray,
    weight: np.ndarray,
    cells: np.ndarray,
    at: np.ndarray,
    item: np.ndarray,
    share: np.ndarray,
    wanted: int,
) -> tuple[np.ndarray, np.ndarray]:
    """The records that may have one more item, and how much of each does.

    Parameters
    ----------
    cells
        int32, one a record: the cell of the item's column.
    """
    kept, much = np.empty(rows.size, dtype=np.int64), np.empty(rows.size)
    count = 0
    for place in range(rows.size):
        cell = cells[rows[place]]
        for i in range(at[cell], at[cell + 1]):
            if item[i] == wanted:
                kept[count] = rows[place]
                much[count] = weight[place] * share[i]
                count += 1
    return kept[:count], much[:count]
