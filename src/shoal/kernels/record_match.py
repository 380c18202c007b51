"""Which classes of a release each person could be in, by bit sets over classes: no pair of rows is ever compared.

Columns are packed one behind another. For a block of classes every atom of every column has a set of the classes whose
cell covers it; a person's classes are the intersection of the sets of the person's atoms.
"""

from __future__ import annotations

import numpy as np

from shoal.kernels import _native
from shoal.kernels.cores import share_rows

WORD = 64
# Words of all people to look at before a second core pays for its start.
_WORDS = 1 << 18


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
    """Fill ``bits`` with the classes ``first`` to ``last`` - 1 that cover each atom; O(classes times atoms of a cell).

    Parameters
    ----------
    cells
        int32 (columns, classes): distinct cell of every class.
    cell_at, atom_at
        int64: where each column's cells and atoms begin in ``run_at`` and ``bits``.
    run_at, low, high
        int64, int32, int32: cell c covers the atoms ``low[r]`` to ``high[r]`` of its column, for r from ``run_at[c]``
        to before ``run_at[c + 1]``.
    bits
        uint64 (all atoms, words), with room for all classes of the block.
    """
    _native.cover_bits(cells, first, last, (cell_at, run_at, low, high), atom_at, bits)


def count_matches(
    people: np.ndarray, atom_at: np.ndarray, bits: np.ndarray, first: int, weight: np.ndarray, found: np.ndarray
) -> int:
    """Add the weights of the classes that cover each person to ``found``; return how many classes that were.

    Cost: O(people times words times columns), and less where few classes are left after the first columns.

    Parameters
    ----------
    people
        int32 (people, columns): atoms.
    atom_at, bits, first
        As `cover_bits` filled them.
    weight
        float64, one a class of the whole release.
    found
        float64, one a person.
    """
    totals: list[int] = []

    def count(start: int, stop: int) -> None:
        totals.append(_native.count_matches(people, atom_at, bits, first, weight, found, start, stop))

    share_rows(people.shape[0], count, _WORDS // max(1, bits.shape[1]))
    return sum(totals)


def list_matches(people: np.ndarray, atom_at: np.ndarray, bits: np.ndarray, first: int, pairs: np.ndarray) -> None:
    """Write person and class of every match of a block to ``pairs``, person after person; see `count_matches`.

    ``pairs`` is int32 (2, matches), where matches are as many as `count_matches` returned; the other
    arguments and the cost are those of `count_matches`.
    """
    _native.list_matches(people, atom_at, bits, first, pairs)
