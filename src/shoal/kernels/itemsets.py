"""k^m-anonymity of sets of items, class by class: how few records share up to m items, and generalised items.

The method is apriori anonymisation (Terrovitis, Mamoulis & Kalnis, VLDB 2008) on one class at a time: combinations of
1, 2, ..., m labels are counted in turn, and a label of each that too few records share is raised to its parent with
everything below that, or suppressed, whichever loses less.
"""

from __future__ import annotations

import numpy as np

from shoal.kernels import _native

GONE = -1  # an item that is suppressed


def fewest_sharing(
    groups: np.ndarray, ptr: np.ndarray, items: np.ndarray, counts: np.ndarray, labels: int, m: int
) -> np.ndarray:
    """Find the smallest number of records of each class that share up to m labels of a record; 0 where none has any.

    Cost: O(combinations log combinations), which are records times (items of a record over m).

    Parameters
    ----------
    groups
        int64 (classes + 1): the cells of each class.
    ptr, items
        int64: the labels of cell c are ``items[ptr[c]:ptr[c + 1]]``, negative ones none.
    counts
        int64, records of each cell.
    labels
        Number of labels.
    """
    fewest = np.empty(groups.size - 1, dtype=np.int64)
    _native.fewest_sharing(groups, ptr, items, counts, labels, m, fewest)
    return fewest


def anonymise_items(
    groups: np.ndarray,
    ptr: np.ndarray,
    items: np.ndarray,
    counts: np.ndarray,
    parent: np.ndarray,
    leaves: np.ndarray,
    k: int,
    m: int,
) -> np.ndarray:
    """Generalise each item of each cell to a node, or to GONE (int64); in a class, equal items become the same.

    Cost: that of `fewest_sharing` for each time that a label is raised, at worst.

    Parameters
    ----------
    groups, ptr, items, counts
        As for `fewest_sharing`; items are leaves of the tree, whose nodes they are numbered with.
    parent, leaves
        int64, the node above each, -1 at the top, and how many leaves lie below; the last node is the top.
    k, m
        Up to m items that a record has are shared by k records of its class at least.
    """
    out = np.empty(items.size, dtype=np.int64)
    _native.anonymise_items(groups, ptr, items, counts, parent, leaves, k, m, out)
    return out


# ----------------------------------------
# Weigh sets of items for association rules: records by cells that stand for one value or for several.


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
