"""Minimal sample uniques: the smallest sets of keys on which a record is alone (Elliot, Manning & Ford 2002).

Sets of keys are bit masks, visited in increasing order by depth-first refinement: a set's parent lacks its lowest
key. Every subset of a set is then visited before it, so a record that is alone on a set is minimal there exactly when
none of the sets already found for it lies inside. Groups without anybody who could still be alone are left out.
"""

from __future__ import annotations

import numpy as np

from shoal.kernels import _native


def extend_uniques(
    codes: np.ndarray,
    cards: np.ndarray,
    owner: np.ndarray,
    top: int,
    most: int,
    last: np.ndarray,
    items: np.ndarray,
    masks: np.ndarray,
    earlier: np.ndarray,
    found: int,
) -> tuple[np.ndarray, np.ndarray, np.ndarray, int]:
    """Add the minimal uniques whose highest key is ``top`` to those of all lower keys.

    Returns the new ``items``, ``masks``, ``earlier`` and ``found``; arrays are changed in place as long as they have
    room. Cost: O(items) a set of keys that is looked at, and at most all sets of ``most`` keys are.

    Parameters
    ----------
    codes
        int32 (keys, items): distinct combinations.
    cards
        int64, number of codes of each key.
    owner
        int32: whose combination it is, -1 when it is several people's.
    most
        Largest number of keys.
    last, items, masks, earlier, found
        What was found so far: the last set of each item (-1: none) and, for each set, its item, its keys as bits and
        the item's set before it. `new_uniques` starts them.
    """
    codes = np.ascontiguousarray(codes)
    count, *grown = _native.extend_uniques(codes, cards, owner, top, most, last, items, masks, earlier, found)
    if grown[0].size:
        items, masks, earlier = grown
    return items, masks, earlier, count


def new_uniques(n: int) -> tuple[np.ndarray, np.ndarray, np.ndarray, np.ndarray, int]:
    """Start `extend_uniques` with nothing found yet about ``n`` items, in O(n)."""
    room = max(16, n)
    last = np.full(n, -1, dtype=np.int64)
    return last, np.empty(room, np.int32), np.empty(room, np.int64), np.empty(room, np.int64), 0


# ----------------------------------------
# Moments of 1/F where F is what a sample class of f people was drawn from.
#
# F = f + a negative binomial count with parameters f and p, which is the posterior of Benedetti & Franconi (1998).
# With q = 1 - p, I(f) = E[1/F] is the integral of u**(f-1) p / (p + q u) over u from 0 to 1. Hence I(1) = (p/q)
# ln(1/p) and I(f+1) = (p/q) (1/f - I(f)), and J(f) = E[1/F**2] obeys J(1) = (p/q) Li2(q), J(f+1) = (p/q) (I(f)/f -
# J(f)).


def inverse_moments(sizes: np.ndarray, shares: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Compute E[1/F] and E[1/F**2] of every class, float64, in O(sum of sizes).

    Parameters
    ----------
    sizes
        int64: people of the class in the sample, at least 1.
    shares
        float64: share p of the class's population that is in the sample, above 0 and up to 1.
    """
    if sizes.min(initial=1) < 1:
        raise ValueError(f"The 'sizes' of inverse_moments must be at least 1. Got {sizes.min()}.")
    inverse, square = np.empty(sizes.size), np.empty(sizes.size)
    _native.inverse_moments(sizes, shares, inverse, square)
    return inverse, square
