"""How well a cut serves somebody who will predict one column: what is left to be told on both sides of it.

By labels that is the records times the entropy of their side (InfoGain Mondrian), by numbers the squared deviation from
the mean of their side (LSD Mondrian; both LeFevre, DeWitt & Ramakrishnan 2006).
"""

from __future__ import annotations

from collections import namedtuple
from typing import Any

import numpy as np

from shoal.kernels.price.cells import helper, wide

# labels: int32, one an input row, kinds of them; or numbers: float64, one an input row, of mean 0 and variance 1. The
# other ones are empty.
Aim = namedtuple("Aim", "labels kinds numbers")

# Parts of a bit (or of the column's variance) that scores are rounded to, so that what is equal ties.
STEPS = float(1 << 20)


@helper
def _bucket(values: np.ndarray, start: int, stop: int, code: int) -> int:
    """How many of the ascending cut values lie below a code."""
    low, high = start, stop
    while low < high:
        middle = (low + high) // 2
        if values[middle] < code:
            low = middle + 1
        else:
            high = middle
    return wide(low - start)


@helper
def _uncertainty(counts: np.ndarray, labels: int, rows: int) -> float:
    """Records times the entropy of their labels, in bits."""
    total = 0.0
    for label in range(labels):
        if counts[label] > 0:
            total += counts[label] * np.log2(rows / counts[label])
    return total


@helper
def _by_labels(
    work: Any, rows: tuple, a: int, aim: Aim, values: np.ndarray, cuts: tuple, scores: np.ndarray
) -> None:
    (lo, hi), (start, stop) = rows, cuts
    buckets, labels, n = stop - start + 1, wide(aim.kinds), hi - lo
    left, right = np.zeros(labels, dtype=np.int64), np.zeros(labels, dtype=np.int64)
    # Labels bucket by bucket: a table of buckets by labels would grow with the square of the rows.
    bucket, ends, ordered = np.empty(n, np.int64), np.zeros(buckets + 1, np.int64), np.empty(n, np.int64)
    for i in range(n):
        bucket[i] = _bucket(values, start, stop, work.codes[lo + i, a])
        ends[bucket[i] + 1] += 1
        right[aim.labels[work.order[lo + i]]] += 1
    for cut in range(buckets):
        ends[cut + 1] += ends[cut]
    for i in range(n):
        ordered[ends[bucket[i]]] = aim.labels[work.order[lo + i]]
        ends[bucket[i]] += 1
    below = 0
    for cut in range(buckets - 1):
        while below < ends[cut]:
            left[ordered[below]] += 1
            right[ordered[below]] -= 1
            below += 1
        told = _uncertainty(left, labels, below) + _uncertainty(right, labels, n - below)
        scores[start + cut] = np.int64(np.floor(told * STEPS + 0.5))


@helper
def _by_numbers(
    work: Any, rows: tuple, a: int, aim: Aim, values: np.ndarray, cuts: tuple, scores: np.ndarray
) -> None:
    (lo, hi), (start, stop) = rows, cuts
    buckets = stop - start + 1
    table = np.zeros((buckets, 3))
    whole = np.zeros(3)
    for i in range(lo, hi):
        number = aim.numbers[work.order[i]]
        bucket = _bucket(values, start, stop, work.codes[i, a])
        table[bucket, 0] += 1.0
        table[bucket, 1] += number
        table[bucket, 2] += number * number
    for cut in range(buckets):
        for part in range(3):
            whole[part] += table[cut, part]
    n, sums, squares = 0.0, 0.0, 0.0
    for cut in range(buckets - 1):
        n += table[cut, 0]
        sums += table[cut, 1]
        squares += table[cut, 2]
        rest = whole[1] - sums
        told = squares - sums * sums / n + (whole[2] - squares) - rest * rest / (whole[0] - n)
        scores[start + cut] = np.int64(np.floor(told * STEPS + 0.5))


@helper
def aim_scores(work: Any, lo: int, hi: int, aim: Aim, columns: np.ndarray, values: np.ndarray) -> np.ndarray:
    """What every cut leaves to be told, in steps; cuts are given column by column, by ascending values."""
    scores = np.zeros(columns.size, dtype=np.int64)
    start = 0
    while start < columns.size:
        stop = start
        while stop < columns.size and columns[stop] == columns[start]:
            stop += 1
        a = wide(columns[start])
        if aim.labels.size > 0:
            _by_labels(work, (lo, hi), a, aim, values, (start, stop), scores)
        else:
            _by_numbers(work, (lo, hi), a, aim, values, (start, stop), scores)
        start = stop
    return scores


@helper
def first_cut(scores: np.ndarray, losses: np.ndarray, gone: int) -> int:
    """The cut that leaves least to be told, of equals the least lossy, then the first; -1 when all are gone."""
    best = -1
    for cut in range(scores.size):
        if losses[cut] == gone:
            continue
        better = best < 0 or scores[cut] < scores[best]
        if better or (scores[cut] == scores[best] and losses[cut] < losses[best]):
            best = cut
    return best
