"""What quasi-identifiers tell about a column that will be predicted: how much, and where their axes should be cut.

Cuts of an ordered column are Fayyad & Irani's (1993): the one that leaves the least entropy, again on both sides, while
it saves more than it takes to describe it.
"""

from __future__ import annotations

import math

import numpy as np

from shoal.data.coding import canonical_text, code_numbers, infer_type
from shoal.data.column import FLAT, Column
from shoal.data.table import Table
from shoal.errors import ParameterError

# A target of numbers is cut into quarters above this many distinct values; one of texts is refused above the other.
_FEW, _MANY = 20, 200
_BITS = 1.0 / math.log(2.0)


def target_classes(table: Table, name: str) -> np.ndarray:
    """int64 class of every row: the target's values, or quarters of its rows where it has many numbers."""
    series = table.series(name)
    spec = table.schema.spec(name)
    if infer_type(name, series, spec) == "numeric" and series.n_unique() > _FEW:
        codes, numbers = code_numbers(name, series)
        below = np.cumsum(np.bincount(codes, minlength=len(numbers) + 1)) / codes.size
        quarter = np.minimum((np.concatenate([[0.0], below[:-1]]) * 4).astype(np.int64), 3)
        quarter[len(numbers) :] = 4  # missing is a class of its own
        return np.unique(quarter[codes], return_inverse=True)[1]
    texts = canonical_text(series).fill_null("")
    found = texts.unique().sort()
    if found.len() > _MANY:
        raise ParameterError(
            f"The target '{name}' of the workload has {found.len()} distinct values, and {_MANY} is the most that can "
            "be told apart: choose a coarser column."
        )
    return found.search_sorted(texts).to_numpy().astype(np.int64)


def class_counts(column: Column, codes: np.ndarray, classes: np.ndarray) -> np.ndarray:
    """Rows by code and class."""
    width = int(classes.max()) + 1
    flat = np.bincount(codes * np.int64(width) + classes, minlength=column.card * width)
    return flat.reshape(column.card, width).astype(np.float64)


def information(counts: np.ndarray) -> float:
    """Mutual information of rows and columns of a table in bits, less what chance alone gives (Miller & Madow)."""
    n = float(counts.sum())
    rows, columns = (int((counts.sum(axis=axis) > 0).sum()) for axis in (1, 0))
    chance = (rows - 1) * (columns - 1) * _BITS / (2.0 * n)
    whole = entropy(counts.sum(axis=0)[None])[0]
    within = float((entropy(counts) * counts.sum(axis=1)).sum()) / n
    return max(0.0, float(whole) - within - chance)


def entropy(counts: np.ndarray) -> np.ndarray:
    """Entropy in bits of every row of counts, 0 for an empty one."""
    total = np.maximum(counts.sum(axis=-1, keepdims=True), 1.0)
    share = counts / total
    return np.asarray(-(share * np.log2(np.where(share > 0, share, 1.0))).sum(axis=-1))


def told(column: Column, codes: np.ndarray, classes: np.ndarray) -> tuple[float, np.ndarray, np.ndarray]:
    """Bits a column tells about the classes, the codes at which to cut it, and the bits that each cut gives.

    A column without an order has no cuts; that of a hierarchy is the order of its leaves. O(cuts x codes x classes).
    """
    counts = class_counts(column, codes, classes)
    if column.kind == FLAT:
        return information(counts), np.empty(0, dtype=np.int64), np.empty(0)
    known = column.card - (column.missing >= 0)
    found = sorted(_cut(counts[:known], 0, known, classes.size))
    at = np.array([code for code, _ in found], dtype=np.int64)
    gain = np.array([bits for _, bits in found])
    parts = np.add.reduceat(counts, np.concatenate([[0], at]), axis=0)
    return information(parts), at, gain


def _cut(counts: np.ndarray, lo: int, hi: int, n: int) -> list[tuple[int, float]]:
    """Cuts between two codes, each with its gain in bits a row of the whole table."""
    mine = counts[lo:hi]
    size = float(mine.sum())
    if hi - lo < 2 or size < 2:
        return []
    left = np.cumsum(mine, axis=0)[:-1]
    right = mine.sum(axis=0) - left
    sizes = left.sum(axis=1)
    kept = (sizes * entropy(left) + (size - sizes) * entropy(right)) / size
    kept[(sizes == 0) | (sizes == size)] = np.inf
    best = int(np.argmin(kept))
    if not np.isfinite(kept[best]):
        return []
    sides = mine.sum(axis=0), left[best], right[best]
    whole, first, second = (float(entropy(side[None])[0]) for side in sides)
    present, ours, theirs = (int((side > 0).sum()) for side in sides)
    gain = whole - float(kept[best])
    described = math.log2(3.0**present - 2.0) - (present * whole - ours * first - theirs * second)
    if gain <= (math.log2(size - 1.0) + described) / size:
        return []
    middle = lo + best + 1
    return [(middle, gain * size / n), *_cut(counts, lo, middle, n), *_cut(counts, middle, hi, n)]
