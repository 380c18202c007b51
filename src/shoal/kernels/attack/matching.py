"""Which classes of a release each person could be in, by bit sets over classes: no pair of rows is ever compared.

Columns are packed one behind another. For a block of classes every atom of every column has a set of the classes whose
cell covers it; a person's classes are the intersection of the sets of the person's atoms.
"""

from __future__ import annotations

import numpy as np

from shoal.kernels.compiled import kernel

WORD = 64


@kernel
def cover_bits(
    cells: np.ndarray,
    first: int,
    last: int,
    cell_at: np.ndarray,
    run_at: np.ndarray,
    low: np.ndarray,
    high: np.ndarray,
    atom_at: np.ndarray,
    bits: np.ndarray,
) -> None:
    """Fill ``bits`` (all atoms, words) with the classes ``first`` to ``last`` - 1 that cover each atom.

    Parameters
    ----------
    cells
        int32 (columns, classes): distinct cell of every class.
    cell_at, atom_at
        Where each column's cells and atoms begin in ``run_at`` and ``bits``; runs hold atoms of their own column.
    """
    bits[:] = 0
    for j in range(cells.shape[0]):
        for c in range(first, last):
            place = c - first
            word, flag = place // 64, np.uint64(1) << np.uint64(place % 64)
            cell = cell_at[j] + cells[j, c]
            for r in range(run_at[cell], run_at[cell + 1]):
                for atom in range(atom_at[j] + low[r], atom_at[j] + high[r] + 1):
                    bits[atom, word] |= flag


@kernel
def count_matches(
    people: np.ndarray, atom_at: np.ndarray, bits: np.ndarray, first: int, weight: np.ndarray, found: np.ndarray
) -> int:
    """Add the weights of the classes that cover each person to ``found``; return how many classes that were.

    Parameters
    ----------
    people
        int32 (people, columns): atoms.
    weight
        float64, one a class of the whole release.
    """
    total = 0
    for p in range(people.shape[0]):
        for w in range(bits.shape[1]):
            word = _common(people, p, atom_at, bits, w)
            while word != 0:
                flag = word & (~word + np.uint64(1))
                found[p] += weight[first + w * 64 + _place(flag)]
                total += 1
                word ^= flag
    return total


@kernel
def list_matches(people: np.ndarray, atom_at: np.ndarray, bits: np.ndarray, first: int, pairs: np.ndarray) -> None:
    """Write person and class of every match of a block to ``pairs`` (2, matches), person after person."""
    at = 0
    for p in range(people.shape[0]):
        for w in range(bits.shape[1]):
            word = _common(people, p, atom_at, bits, w)
            while word != 0:
                flag = word & (~word + np.uint64(1))
                pairs[0, at] = p
                pairs[1, at] = first + w * 64 + _place(flag)
                at += 1
                word ^= flag


@kernel
def _common(people: np.ndarray, p: int, atom_at: np.ndarray, bits: np.ndarray, w: int) -> np.uint64:
    """A word of the classes that cover all atoms of a person."""
    word = bits[atom_at[0] + people[p, 0], w]
    for j in range(1, people.shape[1]):
        if word == 0:
            break
        word &= bits[atom_at[j] + people[p, j], w]
    return word


@kernel
def _place(flag: np.uint64) -> int:
    """Which bit the one set bit of a word is."""
    place = 0
    step = 32
    while step > 0:
        if flag >> np.uint64(step):
            flag = flag >> np.uint64(step)
            place += step
        step //= 2
    return place
