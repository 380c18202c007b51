"""Judging the classes of one node: which fail, and what of them fails at every finer node too.

A class that fails in both ways is settled, and no rule looks at its values again.
"""

from __future__ import annotations

import math
from collections import namedtuple

import numpy as np

from shoal.kernels.compiled import kernel
from shoal.kernels.count.histograms import bucket_rows, sort_small
from shoal.kernels.judge.rules import TOTAL_VARIATION, RuleView, passes, rule_value, variation
from shoal.kernels.lattice.nodes import Combinations, Layout, Room, Slots, count_node

# The frequency table rolled up to some node. codes: (levels of all attributes, entries); weight: rows of each entry;
# rows and offsets: the combinations entry after entry, and where each entry's start.
Entries = namedtuple("Entries", "codes weight rows offsets")
# By class: bad, 1 where it fails a model; inherits, 1 where it does so at every finer node; gone, rows that are lost
# there of one that does not.
Flags = namedtuple("Flags", "bad inherits gone")

FAILS, INHERITS = 1, 2
_ROUNDING = 1e-6


@kernel
def flag_small(
    sizes: np.ndarray, classes: int, least: np.ndarray, bad: np.ndarray, inherits: np.ndarray, gone: np.ndarray
) -> None:
    """Begin with the classes that have too few rows: for the models, and for what finer nodes inherit."""
    for c in range(classes):
        bad[c] = sizes[c] < least[0]
        inherits[c] = sizes[c] < least[1]
        gone[c] = 0


@kernel
def tally(
    sizes: np.ndarray, classes: int, bad: np.ndarray, inherits: np.ndarray, gone: np.ndarray, out: np.ndarray
) -> None:
    """Suppressed rows, good classes, their squared sizes, all classes' squared sizes, rows lost for good.

    What is lost within a class counts only where the class itself is not.
    """
    out[:] = 0
    for c in range(classes):
        square = float(sizes[c]) * sizes[c]
        out[3] += square
        if bad[c]:
            out[0] += sizes[c]
        else:
            out[1] += 1
            out[2] += square
        if inherits[c]:
            gone[c] = 0
            out[4] += sizes[c]
        else:
            out[4] += gone[c]


@kernel
def check_sizes(
    entries: Entries, layout: Layout, levels: np.ndarray, slots: Slots, room: Room, least: np.ndarray, flags: Flags,
    out: np.ndarray,
) -> int:  # fmt: skip
    """Number a node's classes, judge them by their sizes and tally them; -1 when its keys do not fit into 64 bits."""
    found = count_node(entries.codes, entries.weight, layout, levels, slots, room)
    if found >= 0:
        flag_small(room.sizes, found, least, flags.bad, flags.inherits, flags.gone)
        tally(room.sizes, found, flags.bad, flags.inherits, flags.gone, out)
    return found


@kernel
def class_histograms(
    class_of: np.ndarray, classes: int, histogram: tuple, flags: np.ndarray, bad: np.ndarray, inherits: np.ndarray
) -> tuple:
    """Compressed histograms of classes from those of combinations, and each class's records of known value.

    Those of settled classes stay empty; without ``bad`` and ``inherits`` none is settled.
    """
    indptr, codes, counts = histogram
    card = flags.size
    out_ptr = np.zeros(classes + 1, dtype=np.int64)
    out_codes = np.empty(codes.size, dtype=np.int32)
    out_counts = np.empty(codes.size, dtype=np.int64)
    known = np.zeros(classes, dtype=np.int64)
    wide = classes * card > 4 * codes.size + 1024
    table = np.zeros(card if wide else classes * card, dtype=np.int64)
    touched = np.empty(card if wide else 0, dtype=np.int32)
    rows, offsets = bucket_rows(class_of if wide else class_of[:0], classes)
    if not wide:
        for i in range(class_of.size):
            at = class_of[i] * card
            for entry in range(indptr[i], indptr[i + 1]):
                table[at + codes[entry]] += counts[entry]
    at = 0
    for c in range(classes):
        if bad.size == 0 or not (bad[c] and inherits[c]):
            if wide:
                at = _gather(histogram, rows[offsets[c] : offsets[c + 1]], table, touched, out_codes, out_counts, at)
            else:
                mine = table[c * card : (c + 1) * card]
                for code in range(card):
                    if mine[code]:
                        out_codes[at] = code
                        out_counts[at] = mine[code]
                        at += 1
            for entry in range(out_ptr[c], at):
                if flags[out_codes[entry]] == 0:
                    known[c] += out_counts[entry]
        out_ptr[c + 1] = at
    return out_ptr, out_codes[:at], out_counts[:at], known


@kernel
def _gather(
    histogram: tuple, rows: np.ndarray, dense: np.ndarray, touched: np.ndarray, out_codes: np.ndarray,
    out_counts: np.ndarray, at: int,
) -> int:  # fmt: skip
    """Histogram of one class of few values out of many; ``dense`` is left as zeros."""
    indptr, codes, counts = histogram
    found = 0
    for i in rows:
        for entry in range(indptr[i], indptr[i + 1]):
            if dense[codes[entry]] == 0:
                touched[found] = codes[entry]
                found += 1
            dense[codes[entry]] += counts[entry]
    sort_small(touched[:found])
    for j in range(found):
        code = touched[j]
        out_codes[at + j] = code
        out_counts[at + j] = dense[code]
        dense[code] = 0
    return at + found


@kernel
def flag_values(
    view: RuleView, limit: float, sets: int, k: int, histograms: tuple, bad: np.ndarray, inherits: np.ndarray,
    gone: np.ndarray,
) -> None:  # fmt: skip
    """Flag the classes that fail one rule, for the models, for what is inherited, or for both.

    Distances between distributions do not grow when classes are merged. So what is kept of a class at a finer node is
    as near the table as each of its parts: the rest of the class, ``gone``, is lost there whatever the node.
    """
    indptr, codes, counts, known = histograms
    bounds = sets & FAILS and view.op == TOTAL_VARIATION and not view.mixed and not view.two
    for c in range(indptr.size - 1):
        if not (sets & FAILS and not bad[c]) and not ((sets & INHERITS or bounds) and not inherits[c]):
            continue
        start, stop, rows = indptr[c], indptr[c + 1], float(known[c])
        if bounds:  # what `rule_value` does where all values are known, which takes most of the time otherwise
            value = variation(codes[start:stop], counts[start:stop], rows, view.ref)
        else:
            value = rule_value(view, codes[start:stop], counts[start:stop], rows)
        if math.isnan(value) or passes(value, view.sense, limit):
            continue
        if sets & FAILS:
            bad[c] = 1
        if sets & INHERITS:
            inherits[c] = 1
        if bounds and not inherits[c]:
            most = most_within(codes[start:stop], counts[start:stop], rows, view.ref, limit)
            if most < k - _ROUNDING:
                inherits[c] = 1
            else:
                gone[c] = max(gone[c], math.ceil(rows - most - _ROUNDING))


@kernel
def most_within(codes: np.ndarray, counts: np.ndarray, total: float, shares: np.ndarray, t: float) -> float:
    """How many rows of a class can be kept at most if half their differences from the shares sum up to t at most.

    n rows can when the smaller of a value's count and its share of n sum up to (1 - t) n over the values. That sum less
    (1 - t) n is concave in n and 0 at 0, so Newton's steps from above end where it is 0 again, and never below.
    """
    n = total
    left = 1.0 - (t + _ROUNDING * 1e-3)
    for _ in range(codes.size + 1):
        have = 0.0
        rest = 0.0
        for i in range(codes.size):
            share = shares[codes[i]]
            if counts[i] < share * n:
                have += counts[i]
            else:
                rest += share
        if have + rest * n >= left * n:
            break
        n = have / (left - rest)
    return n


@kernel
def lost_codes(
    table: Combinations, entries: Entries, class_of: np.ndarray, flags: np.ndarray, lost: np.ndarray
) -> None:
    """Rows of flagged classes by leaf code, one attribute after another; ``class_of`` is the class of each entry.

    All attributes of a combination at once: rows of one code after another would wait for each other's sum.
    """
    places, weight, attributes = table.places.reshape(-1), table.weight, table.places.shape[1]
    lost[:] = 0.0
    for entry in range(class_of.size):
        if flags[class_of[entry]]:
            for place in range(entries.offsets[entry], entries.offsets[entry + 1]):
                i = entries.rows[place]
                # Unsigned, so that no index is looked at whether it is negative.
                for at in range(i * attributes, (i + 1) * attributes):
                    lost[np.uint64(places[np.uint64(at)])] += weight[i]


@kernel
def lost_prices(lost: np.ndarray, prices: np.ndarray, card_at: np.ndarray, out: np.ndarray) -> None:
    """``out[a, level]``: what the suppressed rows would cost in attribute a at a level."""
    for a in range(out.shape[0]):
        for level in range(out.shape[1]):
            total = 0.0
            for place in range(card_at[a], card_at[a + 1]):
                if lost[place] != 0.0:
                    total += lost[place] * prices[level, place]
            out[a, level] = total


@kernel
def price_classes(
    sizes: np.ndarray, flags: np.ndarray, codes: np.ndarray, first: np.ndarray, levels: np.ndarray, layout: Layout,
    prices: np.ndarray,
) -> np.ndarray:  # fmt: skip
    """What the rows of flagged classes would cost in each attribute at its level.

    ``codes`` and ``first`` give leaf codes of one combination of each class, which cost what all of them do there.
    """
    sums = np.zeros(levels.size)
    for a in range(levels.size):
        leaf, mine = codes[layout.row_at[a]], prices[levels[a], layout.card_at[a] : layout.card_at[a + 1]]
        total = 0.0
        for c in range(sizes.size):
            if flags[c]:
                total += sizes[c] * mine[leaf[first[c]]]
        sums[a] = total
    return sums


@kernel
def price_gone(
    gone: np.ndarray, codes: np.ndarray, first: np.ndarray, levels: np.ndarray, layout: Layout, prices: np.ndarray,
    out: np.ndarray,
) -> None:  # fmt: skip
    """Add prices of the rows lost within classes, the highest that there are in each, whichever rows they are.

    ``codes`` and ``first`` give the nodes of each class.
    """
    some = np.flatnonzero(gone)
    if some.size == 0:
        return
    for a in range(levels.size):
        start, stop = layout.card_at[a], layout.card_at[a + 1]
        nodes, labels = codes[layout.row_at[a] + levels[a]], layout.labels[levels[a]]
        often = np.zeros(stop - start)
        for c in some:
            often[nodes[first[c]]] += gone[c]
        for level in range(levels[a] + 1):
            peak = np.full(stop - start, -math.inf)
            for place in range(start, stop):
                peak[labels[place]] = max(peak[labels[place]], prices[level, place])
            for label in range(often.size):
                if often[label] > 0:
                    out[a, level] += often[label] * peak[label]
