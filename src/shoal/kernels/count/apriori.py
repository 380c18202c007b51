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
