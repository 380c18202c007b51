"""How well a cut serves somebody who will predict one column: what is left to be told on both sides of it.

By labels that is the records times the entropy of their side (InfoGain Mondrian), by numbers the squared deviation from
the mean of their side (LSD Mondrian; both LeFevre, DeWitt & Ramakrishnan 2006).
"""

from __future__ import annotations

from collections import namedtuple
from typing import Any

import numpy as np

from shoal.kernels.frozen.price.cells import helper, wide
from shoal.kernels.partition.weights import times

# labels: int32, one an input row, kinds of them; numbers: int64, one a label and about 0, empty where labels count;
# unit: what the square of one is of the column's variance. Cells have several labels: at (int64, cells + 1) says where
# those of each begin, counts how many of its rows have each; both are None for rows.
Aim = namedtuple("Aim", "labels kinds numbers unit at counts")

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
def _entries(at: np.ndarray | None, unit: int) -> tuple:
    """First label of a row or cell, and the one after its last."""
    if at is None:
        return wide(unit), wide(unit) + 1
    return wide(at[unit]), wide(at[unit + 1])


@helper
def _by_labels(
    work: Any, rows: tuple, a: int, aim: Aim, values: np.ndarray, cuts: tuple, scores: np.ndarray
) -> None:
    (lo, hi), (start, stop) = rows, cuts
    buckets, labels, n = stop - start + 1, wide(aim.kinds), hi - lo
    left, right = np.zeros(labels, dtype=np.int64), np.zeros(labels, dtype=np.int64)
    # Rows bucket by bucket: a table of buckets by labels would grow with the square of the rows.
    bucket, ends, ordered = np.empty(n, np.int64), np.zeros(buckets + 1, np.int64), np.empty(n, np.int64)
    below, above = wide(0), wide(0)
    for i in range(n):
        bucket[i] = _bucket(values, start, stop, work.codes[lo + i, a])
        ends[bucket[i] + 1] += 1
        first, after = _entries(aim.at, work.order[lo + i])
        for e in range(first, after):
            right[aim.labels[e]] += times(aim.counts, e)
            above += times(aim.counts, e)
    for cut in range(buckets):
        ends[cut + 1] += ends[cut]
    for i in range(n):
        ordered[ends[bucket[i]]] = work.order[lo + i]
        ends[bucket[i]] += 1
    done = 0
    for cut in range(buckets - 1):
        while done < ends[cut]:
            first, after = _entries(aim.at, ordered[done])
            for e in range(first, after):
                rows_here = times(aim.counts, e)
                left[aim.labels[e]] += rows_here
                right[aim.labels[e]] -= rows_here
                below += rows_here
                above -= rows_here
            done += 1
        told = _uncertainty(left, labels, below) + _uncertainty(right, labels, above)
        scores[start + cut] = np.int64(np.floor(told * STEPS + 0.5))


@helper
def _by_numbers(
    work: Any, rows: tuple, a: int, aim: Aim, values: np.ndarray, cuts: tuple, scores: np.ndarray
) -> None:
    (lo, hi), (start, stop) = rows, cuts
    buckets = stop - start + 1
    # Whole numbers: sums of floats would depend on what was added first.
    table = np.zeros((buckets + 1, 3), dtype=np.int64)
    for i in range(lo, hi):
        bucket = _bucket(values, start, stop, work.codes[i, a])
        first, after = _entries(aim.at, work.order[i])
        for e in range(first, after):
            number, rows_here = aim.numbers[aim.labels[e]], times(aim.counts, e)
            table[bucket, 0] += rows_here
            table[bucket, 1] += rows_here * number
            table[bucket, 2] += rows_here * number * number
    for cut in range(buckets):
        for part in range(3):
            table[buckets, part] += table[cut, part]
    whole = table[buckets]
    for cut in range(buckets - 1):
        told = _deviation(table[cut]) + _deviation(whole - table[cut])
        scores[start + cut] = np.int64(np.floor(told * aim.unit * STEPS + 0.5))
        for part in range(3):
            table[cut + 1, part] += table[cut, part]


@helper
def _deviation(sums: np.ndarray) -> float:
    """Squared deviation of so many numbers from their mean, given their sum and the sum of their squares."""
    return float(sums[2]) - float(sums[1]) * float(sums[1]) / float(sums[0])


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
        if aim.numbers.size == 0:
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
