"""Sets of codes as lists side by side: they take room for the codes that are in them, however many others there are."""

from __future__ import annotations

import numpy as np

from shoal.kernels.compiled import kernel

_SPREAD = np.uint64(0x9E3779B97F4A7C15)


@kernel
def group_sets(codes: np.ndarray, ids: np.ndarray, groups: int, card: int) -> tuple:
    """The different codes of each group, ascending; rows with a negative id are left out.

    Returns
    -------
    tuple
        int64 start of every group's codes, one more at the end, and int32 codes.
    """
    n = ids.size
    place = np.zeros(card + 1, dtype=np.int64)
    for i in range(n):
        place[codes[i] + 1] += 1
    for code in range(card):
        place[code + 1] += place[code]
    by_code = np.empty(n, dtype=np.int32)
    for i in range(n):
        by_code[place[codes[i]]] = i
        place[codes[i]] += 1
    # In the order of their codes, equal ones of a group come one after the other.
    last = np.full(groups, -1, dtype=np.int32)
    starts = np.zeros(groups + 1, dtype=np.int64)
    for at in range(n):
        g, code = ids[by_code[at]], codes[by_code[at]]
        if g >= 0 and last[g] != code:
            last[g] = code
            starts[g + 1] += 1
    for g in range(groups):
        starts[g + 1] += starts[g]
        last[g] = -1
    free = starts.copy()
    members = np.empty(starts[groups], dtype=np.int32)
    for at in range(n):
        g, code = ids[by_code[at]], codes[by_code[at]]
        if g >= 0 and last[g] != code:
            last[g] = code
            members[free[g]] = code
            free[g] += 1
    return starts, members


@kernel
def number_sets(starts: np.ndarray, members: np.ndarray) -> tuple:
    """Number sets as they first come: int32 number of every set, and int64 first set of every number."""
    count = starts.size - 1
    bits = 4
    while (1 << bits) < 2 * count:
        bits += 1
    shift = np.uint64(64 - bits)
    table = np.zeros(1 << bits, dtype=np.int32)
    numbers, first = np.empty(count, dtype=np.int32), np.empty(count, dtype=np.int64)
    found = 0
    for g in range(count):
        size = starts[g + 1] - starts[g]
        key = np.uint64(size)
        for at in range(starts[g], starts[g + 1]):
            key = (key ^ np.uint64(members[at])) * _SPREAD
            key ^= key >> np.uint64(32)
        slot = np.int64((key * _SPREAD) >> shift)
        while table[slot]:
            other = first[table[slot] - 1]
            same = starts[other + 1] - starts[other] == size
            for at in range(size if same else 0):
                if members[starts[other] + at] != members[starts[g] + at]:
                    same = False
                    break
            if same:
                break
            slot = (slot + 1) & (table.size - 1)
        if not table[slot]:
            first[found] = g
            found += 1
            table[slot] = found
        numbers[g] = table[slot] - 1
    return numbers, first[:found]
