"""Number 64-bit keys by first appearance, and find combinations of words among known ones."""

from __future__ import annotations

import numpy as np

from shoal.kernels import _native


def number_keys(keys: np.ndarray, most: int) -> tuple[np.ndarray, np.ndarray]:
    """Number keys by first appearance, in O(keys).

    Parameters
    ----------
    keys
        uint64.
    most
        Give up where there are more than so many different ones.

    Returns
    -------
    tuple
        uint32 number of every key, and int64 first place of every number, which is empty where there were too many.
    """
    numbers = np.empty(keys.size, dtype=np.uint32)
    return numbers, _native.number_words(keys, most, numbers)


def place_keys(known: np.ndarray) -> tuple[np.ndarray, int]:
    """Make a hash table of combinations, int64 (words, combinations), for `find_keys`: int32 table and its shift.

    Cost: O(words times combinations).
    """
    table, shift = _native.place_keys(known)
    return table, shift


def find_keys(
    known: np.ndarray, table: np.ndarray, shift: int, wanted: np.ndarray, found: np.ndarray, start: int, stop: int
) -> None:
    """Write the place of wanted combinations ``start`` to ``stop`` among the known ones, -1 where one is not known.

    ``wanted`` is int64 (words, combinations), ``found`` int64 (combinations). Cost: O(words) for each.
    """
    _native.find_keys(known, table, shift, wanted, found, start, stop)
