"""From buckets to groups: cut along quasi-identifiers while every part keeps each value equally often."""

from __future__ import annotations

import numpy as np


def split(node: np.ndarray, value: np.ndarray, points: np.ndarray, scale: np.ndarray) -> np.ndarray:
    """Group of every record: one record of each value of its bucket.

    Parameters
    ----------
    node
        Bucket of every record; within a bucket every value occurs equally often.
    value
        Its value.
    points
        Shape (columns, records): codes of the quasi-identifiers, -1 for a counterfeit, which has none.
    scale
        What a step between codes counts, a column.

    Notes
    -----
    All parts are halved at once, each along the column in which it is widest, by the rank among the records of the same
    value: O(n log n) a level, and as many levels as halvings.
    """
    _, node = np.unique(node, return_inverse=True)
    while True:
        order = np.lexsort((value, node))
        new = np.ones(order.size, dtype=bool)
        new[1:] = (np.diff(node[order]) != 0) | (np.diff(value[order]) != 0)
        runs = np.bincount(np.cumsum(new) - 1)
        each = np.zeros(int(node.max(initial=-1)) + 1, dtype=np.int64)
        each[node[order][new]] = runs
        if (each <= 1).all():
            return node
        widest = _widest(node, points, scale, each.size)
        place = points[widest[node], np.arange(node.size)]
        # Counterfeits fit anywhere: the end, so that they spread over as few groups as there are others to fill.
        place = np.where(place < 0, np.iinfo(np.int64).max, place)
        order = np.lexsort((place, value, node))
        rank = np.empty(node.size, dtype=np.int64)
        rank[order] = np.arange(node.size) - np.repeat(np.cumsum(runs) - runs, runs)
        right = rank >= each[node] // 2
        right &= each[node] > 1
        _, node = np.unique(2 * node + right, return_inverse=True)


def _widest(node: np.ndarray, points: np.ndarray, scale: np.ndarray, nodes: int) -> np.ndarray:
    """The column in which each part is widest; the first of equally wide ones."""
    real = points[0] >= 0
    low = np.full((points.shape[0], nodes), np.iinfo(np.int64).max)
    high = np.full((points.shape[0], nodes), -1, dtype=np.int64)
    for column, codes in enumerate(points):
        np.minimum.at(low[column], node[real], codes[real])
        np.maximum.at(high[column], node[real], codes[real])
    return ((high - low) * scale[:, None]).argmax(axis=0)
