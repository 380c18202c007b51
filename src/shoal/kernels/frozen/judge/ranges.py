"""How much of a group lies in the sensitive ranges of its values.

A policy gives every code a place on an axis on which the range of each code is a stretch. Codes of ordered and tree
columns are their own places; those of flat columns are ordered by blocks.
"""

from __future__ import annotations

import numpy as np

from shoal.kernels.compiled import kernel

# How close two values are: by their distance, by the leaves under their common ancestor, or equal or not.
POSITIONS, LEAVES, EQUAL = range(3)


@kernel
def _along_axis(codes: np.ndarray, axis: np.ndarray, sort: bool) -> np.ndarray:
    """Entries of a histogram in the order of their places."""
    keys = np.empty(codes.size, dtype=np.int64)
    for i in range(codes.size):
        keys[i] = i
        if sort:
            keys[i] += np.int64(axis[codes[i]]) * codes.size
    if not sort:
        return keys
    keys = np.sort(keys)
    for i in range(codes.size):
        keys[i] %= codes.size
    return keys


@kernel
def _tree_mass(
    i: int, first: int, after: int, codes: np.ndarray, counts: np.ndarray, scale: float, leaves: np.ndarray,
    tree: np.ndarray, card: int,
) -> float:  # fmt: skip
    """Records from ``first`` to ``after``, each weighed by its closeness to the value at ``i``.

    The common ancestor only rises with the distance in depth-first order.
    """
    own = codes[i]
    mass = 0.0
    for step in (-1, 1):
        level = 0
        j = i if step < 0 else i + 1
        while first <= j < after:
            while tree[level * card + codes[j]] != tree[level * card + own]:
                level += 1
            mass += counts[j] * (1.0 - (leaves[level * card + own] - 1.0) / scale)
            j += step
    return mass


@kernel
def pair_share(
    codes: np.ndarray, counts: np.ndarray, total: float, kind: int, scale: float, ref: np.ndarray,
    tree: np.ndarray, card: int,
) -> float:  # fmt: skip
    """Range diversity (Loukides, Def. 5.1.4): mean over ordered pairs of closeness, 0 outside the first one's range.

    ``ref`` holds place, low and high end of the range of every code, then positions or leaf counts. Distances add up
    from running sums, so that only trees look at every pair.
    """
    order = _along_axis(codes, ref, kind == EQUAL)
    size = codes.size
    places = np.empty(size)
    mass = np.zeros(size + 1)
    moment = np.zeros(size + 1)
    for i in range(size):
        code = codes[order[i]]
        count = counts[order[i]]
        places[i] = ref[code]
        mass[i + 1] = mass[i] + count
        if kind == POSITIONS and scale > 0.0:
            moment[i + 1] = moment[i] + count * (ref[3 * card + code] / scale)
    pairs = 0.0
    for i in range(size):
        code = codes[order[i]]
        count = counts[order[i]]
        a = np.searchsorted(places, ref[card + code])
        b = np.searchsorted(places, ref[2 * card + code] + 0.5)
        near = mass[b] - mass[a]
        if scale > 0.0 and b - a > 1:
            if kind == POSITIONS:
                x = ref[3 * card + code] / scale
                near -= x * (mass[i] - mass[a]) - (moment[i] - moment[a])
                near -= (moment[b] - moment[i]) - x * (mass[b] - mass[i])
            elif kind == LEAVES:
                near = _tree_mass(i, a, b, codes, counts, scale, ref[3 * card :], tree, card)
            else:
                near -= (near - count) / scale
        pairs += count * near
    return min(1.0, pairs / (total * total))


@kernel
def range_share(codes: np.ndarray, counts: np.ndarray, known: float, sort: bool, ref: np.ndarray, card: int) -> float:
    """Largest share of a group in one sensitive range of the policy.

    ``ref`` holds the place of every code, then how far a range that begins at or before it reaches. A range that
    holds anybody holds a first value of the group, and of those with that first value the farthest holds most.
    """
    order = _along_axis(codes, ref, sort)
    worst = 0.0
    inside = 0.0
    after = 0
    for i in range(codes.size):
        reach = ref[card + codes[order[i]]]
        while after < codes.size and ref[codes[order[after]]] <= reach:
            inside += counts[order[after]]
            after += 1
        worst = max(worst, inside / known)
        inside -= counts[order[i]]
    # People with several values in one range are counted once for each.
    return min(1.0, worst)
