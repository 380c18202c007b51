"""Minimal sample uniques: the smallest sets of keys on which a record is alone (Elliot, Manning & Ford 2002).

Sets of keys are bit masks, visited in increasing order by depth-first refinement: a set's parent lacks its lowest
key. Every subset of a set is then visited before it, so a record that is alone on a set is minimal there exactly when
none of the sets already found for it lies inside. Groups without anybody who could still be alone are left out.
"""

from __future__ import annotations

import numpy as np

from shoal.kernels.compiled import kernel

_NOBODY = -1
_ALONE = -1
_GONE = -2


@kernel
def _refine(
    column: np.ndarray, owner: np.ndarray, rows: np.ndarray, starts: np.ndarray, groups: int, keep: bool,
    made: np.ndarray, made_starts: np.ndarray, alone: np.ndarray, scratch: np.ndarray, touched: np.ndarray,
) -> tuple:  # fmt: skip
    """Split groups by one more key: groups of several owners into ``made``, items with one owner into ``alone``.

    ``scratch`` has three rows, one entry a code: items, owner (or nobody), items that could still be alone.
    """
    counts, who, could = scratch[0], scratch[1], scratch[2]
    found, place, single = 0, 0, 0
    for g in range(groups):
        values = 0
        for i in range(starts[g], starts[g + 1]):
            code, mine = column[rows[i]], owner[rows[i]]
            if counts[code] == 0:
                touched[values] = code
                values += 1
                who[code] = mine
                could[code] = 0
            elif who[code] != mine:
                who[code] = _NOBODY
            counts[code] += 1
            could[code] += mine != _NOBODY
        for v in range(values):
            code = touched[v]
            if who[code] != _NOBODY:
                slot = _ALONE
            elif not keep or could[code] == 0:
                slot = _GONE
            else:
                slot = place
                made_starts[found] = place
                found += 1
                place += counts[code]
            who[code] = slot
            counts[code] = 0
        for i in range(starts[g], starts[g + 1]):
            row = rows[i]
            slot = who[column[row]]
            if slot == _ALONE:
                alone[single] = row
                single += 1
            elif slot >= 0:
                made[slot] = row
                who[column[row]] = slot + 1
    made_starts[found] = place
    return found, single


@kernel
def _grown(array: np.ndarray) -> np.ndarray:
    bigger = np.empty(2 * array.size, dtype=array.dtype)
    for i in range(array.size):
        bigger[i] = array[i]
    return bigger


@kernel
def extend_uniques(
    codes: np.ndarray, cards: np.ndarray, owner: np.ndarray, top: int, most: int,
    last: np.ndarray, items: np.ndarray, masks: np.ndarray, earlier: np.ndarray, found: int,
) -> tuple:  # fmt: skip
    """Add the minimal uniques whose highest key is ``top`` to those of all lower keys.

    Parameters
    ----------
    codes
        int32 (keys, items): distinct combinations.
    owner
        int32: whose combination it is, -1 when it is several people's.
    most
        Largest number of keys.
    last, items, masks, earlier, found
        What was found so far: the last set of each item (-1: none) and, for each set, its item, its keys as bits and
        the item's set before it. `new_uniques` starts them.
    """
    n = owner.size
    rows = np.empty((most + 1, n), dtype=np.int32)
    starts = np.empty((most + 1, n + 1), dtype=np.int32)
    groups = np.zeros(most + 1, dtype=np.int64)
    lowest = np.empty(most + 1, dtype=np.int64)
    tried = np.empty(most + 1, dtype=np.int64)
    alone = np.empty(n, dtype=np.int32)
    touched = np.empty(cards.max(), dtype=np.int32)
    scratch = np.zeros((3, cards.max()), dtype=np.int32)
    for i in range(n):
        rows[0, i] = i
    starts[0, 0], starts[0, 1], groups[0] = 0, n, 1
    # At the root only `top` is tried; below it every lower key, the lowest first.
    lowest[0], tried[0] = top + 1, top
    depth, mask = 0, 0
    while depth >= 0:
        key = tried[depth]
        if key >= lowest[depth]:
            depth -= 1
            if depth >= 0:
                mask ^= 1 << (tried[depth] - 1)
            continue
        tried[depth] = key + 1
        here = mask | (1 << key)
        keep = key > 0 and depth + 1 < most
        groups[depth + 1], single = _refine(
            codes[key], owner, rows[depth], starts[depth], groups[depth], keep, rows[depth + 1], starts[depth + 1],
            alone, scratch, touched,
        )  # fmt: skip
        for s in range(single):
            row = alone[s]
            at = last[row]
            while at >= 0 and masks[at] & here != masks[at]:
                at = earlier[at]
            if at < 0:
                if found == items.size:
                    items, masks, earlier = _grown(items), _grown(masks), _grown(earlier)
                items[found], masks[found], earlier[found] = row, here, last[row]
                last[row] = found
                found += 1
        if groups[depth + 1] > 0:
            depth += 1
            mask = here
            lowest[depth], tried[depth] = key, 0
    return items, masks, earlier, found


def new_uniques(n: int) -> tuple[np.ndarray, np.ndarray, np.ndarray, np.ndarray, int]:
    """Nothing found yet about ``n`` items: what `extend_uniques` adds to."""
    room = max(16, n)
    last = np.full(n, -1, dtype=np.int64)
    return last, np.empty(room, np.int32), np.empty(room, np.int64), np.empty(room, np.int64), 0
