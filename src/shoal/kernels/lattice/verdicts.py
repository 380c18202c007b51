"""Judging the classes of one node: which fail, and what of them fails at every finer node too.

A class that fails in both ways is settled, and no rule looks at its values again.
"""

from __future__ import annotations

import math
from collections import namedtuple

import numpy as np

from shoal.kernels.compiled import kernel
from shoal.kernels.frozen.count.histograms import bucket_rows, sort_small
from shoal.kernels.judge.rules import DISTINCT, TOTAL_VARIATION, RuleView, passes, rule_value, variation
from shoal.kernels.lattice.nodes import Layout, Room, Slots, count_node

# What a node is counted on. codes: (levels of all attributes, entries); weight: rows of each entry.
Entries = namedtuple("Entries", "codes weight layout")
# What tells lost rows by their leaf codes, of which those of all attributes are one list. weight: rows of each entry;
# places: (entries, attributes that are not rolled up), its leaf codes. Of the one that is: deep and rows, leaf codes
# and how many rows have them, entry after entry; offsets: where each entry's start.
Losing = namedtuple("Losing", "weight places deep rows offsets")
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
    entries: Entries, levels: np.ndarray, slots: Slots, room: Room, least: np.ndarray, flags: Flags, out: np.ndarray
) -> int:
    """Number a node's classes, judge them by their sizes and tally them; -1 when its keys do not fit into 64 bits."""
    found = count_node(entries.codes, entries.weight, entries.layout, levels, slots, room)
    if found >= 0:
        flag_small(room.sizes, found, least, flags.bad, flags.inherits, flags.gone)
        tally(room.sizes, found, flags.bad, flags.inherits, flags.gone, out)
    return found


@kernel
def class_histograms(
    class_of: np.ndarray, classes: int, histogram: tuple, flags: np.ndarray, bad: np.ndarray, inherits: np.ndarray
) -> tuple:
    """Compressed histograms of classes, and each class's records of known value.

    Out of owner, code and count, where an owner is in the class that ``class_of`` says: one flat list, since the ends
    of many short ones would be guessed wrong. Histograms of settled classes stay empty; without ``bad`` and
    ``inherits`` none is settled.
    """
    owner, codes, counts = histogram
    card = flags.size
    out_ptr = np.zeros(classes + 1, dtype=np.int64)
    known = np.zeros(classes, dtype=np.int64)
    start, room = _starts(classes, card, bad, inherits)
    # One entry more than there can be: what is absent is written there too, and overwritten.
    most = min(codes.size, room - card) + 1
    out_codes = np.empty(most, dtype=np.int32)
    out_counts = np.empty(most, dtype=np.int64)
    wide = room > 4 * codes.size + 1024
    table = np.zeros(card if wide else room, dtype=np.int64)
    touched = np.empty(card if wide else 0, dtype=np.int32)
    rows, offsets = bucket_rows(class_of[owner] if wide else class_of[:0], classes)
    if not wide:
        for i in range(codes.size):
            # Unsigned, so that no index is looked at whether it is negative.
            table[np.uint64(start[np.uint64(class_of[np.uint64(owner[i])])] + codes[i])] += counts[i]
    at = 0
    for c in range(classes):
        if start[c] > 0:
            if wide:
                mine = rows[offsets[c] : offsets[c + 1]]
                at = _gather(codes, counts, mine, table, touched, out_codes, out_counts, at)
            else:
                for code in range(card):
                    count = table[start[c] + code]
                    out_codes[at] = code
                    out_counts[at] = count
                    at += count != 0
            for entry in range(out_ptr[c], at):
                known[c] += out_counts[entry] if flags[out_codes[entry]] == 0 else 0
        out_ptr[c + 1] = at
    return out_ptr, out_codes[:at], out_counts[:at], known


@kernel
def _starts(classes: int, card: int, bad: np.ndarray, inherits: np.ndarray) -> tuple:
    """Where the counts of each class start, and where all end; those of settled classes share the first place."""
    start = np.zeros(classes, dtype=np.int64)
    room = card
    for c in range(classes):
        if bad.size == 0 or not (bad[c] and inherits[c]):
            start[c] = room
            room += card
    return start, room


@kernel
def _gather(
    codes: np.ndarray, counts: np.ndarray, rows: np.ndarray, dense: np.ndarray, touched: np.ndarray,
    out_codes: np.ndarray, out_counts: np.ndarray, at: int,
) -> int:  # fmt: skip
    """Histogram of one class of few values out of many; ``dense`` is left as zeros."""
    found = 0
    for i in rows:
        if dense[codes[i]] == 0:
            touched[found] = codes[i]
            found += 1
        dense[codes[i]] += counts[i]
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
    distinct = view.op == DISTINCT and not view.mixed and not view.shared
    for c in range(indptr.size - 1):
        if not (sets & FAILS and not bad[c]) and not ((sets & INHERITS or bounds) and not inherits[c]):
            continue
        start, stop, rows = indptr[c], indptr[c + 1], float(known[c])
        # What `rule_value` does where all values are known and there are some, which takes most of the time otherwise.
        if bounds:
            value = variation(codes[start:stop], counts[start:stop], rows, view.ref)
        elif distinct:
            value = float(stop - start)
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
            inherits[c] = most < k - _ROUNDING
            gone[c] = max(gone[c], math.ceil(rows - most - _ROUNDING))  # which `tally` forgets where the class inherits


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
            # Nobody can guess which, so both are added, one of them nothing.
            all_of_it = counts[i] < share * n
            have += counts[i] if all_of_it else 0.0
            rest += 0.0 if all_of_it else share
        if have + rest * n >= left * n:
            break
        n = have / (left - rest)
    return n


@kernel
def lost_codes(losing: Losing, class_of: np.ndarray, flags: np.ndarray, every: np.ndarray, lost: np.ndarray) -> None:
    """Rows of flagged classes by leaf code, one attribute after another; ``class_of`` is the class of each entry.

    Where more entries are flagged than not, what the others leave of ``every`` row by leaf code. Which of them are is
    anybody's guess, so they are listed first.
    """
    flagged = 0
    for entry in range(class_of.size):
        flagged += flags[class_of[entry]] != 0
    wanted = 2 * flagged <= class_of.size
    picked = np.empty(class_of.size + 1, dtype=np.int32)
    found = 0
    for entry in range(class_of.size):
        picked[found] = entry
        found += (flags[class_of[entry]] != 0) == wanted
    lost[:] = 0.0
    places, own = losing.places.reshape(-1), losing.places.shape[1]
    # All attributes of an entry at once: one code after another would wait for each other's sum. Indices are unsigned,
    # so that none is looked at whether it is negative.
    for j in range(found):
        entry = picked[j]
        rows = float(losing.weight[entry])
        for at in range(entry * own, (entry + 1) * own):
            lost[np.uint64(places[np.uint64(at)])] += rows
        for i in range(losing.offsets[entry], losing.offsets[entry + 1]):
            lost[np.uint64(losing.deep[np.uint64(i)])] += float(losing.rows[np.uint64(i)])
    if not wanted:
        for place in range(lost.size):
            lost[place] = every[place] - lost[place]


@kernel
def lost_prices(lost: np.ndarray, prices: np.ndarray, card_at: np.ndarray) -> np.ndarray:
    """What the suppressed rows would cost in each attribute at each level, from rows by leaf code."""
    out = np.zeros((card_at.size - 1, prices.shape[0]))
    for a in range(out.shape[0]):
        for level in range(out.shape[1]):
            for place in range(card_at[a], card_at[a + 1]):
                if lost[place] != 0.0:
                    out[a, level] += lost[place] * prices[level, place]
    return out


@kernel
def price_others(
    sizes: np.ndarray, bad: np.ndarray, inherits: np.ndarray, codes: np.ndarray, first: np.ndarray,
    levels: np.ndarray, layout: Layout, prices: np.ndarray,
) -> np.ndarray:  # fmt: skip
    """What the rows of bad classes would cost in each attribute at its level, less those of classes that inherit.

    ``codes`` and ``first`` give leaf codes of one combination of each class, which cost what all of them do there.
    """
    sums = np.zeros(levels.size)
    for c in range(sizes.size):
        if bad[c] != inherits[c]:
            rows = float(sizes[c]) if bad[c] else -float(sizes[c])
            for a in range(levels.size):
                sums[a] += rows * prices[levels[a], layout.card_at[a] + codes[layout.row_at[a], first[c]]]
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
