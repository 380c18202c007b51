"""Numbers for keys of 64 bits, in the order in which they first come, and places of keys among known ones."""

from __future__ import annotations

import numpy as np

from shoal.kernels.compiled import kernel

_SPREAD = np.uint64(0x9E3779B97F4A7C15)


@kernel(inline="always")
def _slot(key: np.uint64, shift: np.uint64) -> np.int64:
    """Where a table of two to the power of 64 less ``shift`` places begins to look for a key."""
    return np.int64(((key ^ (key >> np.uint64(32))) * _SPREAD) >> shift)


@kernel
def _larger(known: np.ndarray, count: int, shift: np.uint64) -> np.ndarray:
    """A table in which so many keys are found, each place with a number and one, or 0."""
    size = np.int64(1) << np.int64(np.uint64(64) - shift)
    table = np.zeros(size, dtype=np.int32)
    for number in range(count):
        at = _slot(known[number], shift)
        while table[at]:
            at = (at + 1) & (size - 1)
        table[at] = number + 1
    return table


@kernel
def _number(
    keys: np.ndarray, start: int, table: np.ndarray, shift: np.uint64, known: np.ndarray, first: np.ndarray,
    numbers: np.ndarray, count: int,
) -> tuple:  # fmt: skip
    """Number keys from a place on until all room for new ones is taken: gives the place, and how many are known.

    A loop of its own, since arrays that are replaced within one are counted anew for every key.
    """
    for i in range(start, keys.size):
        key = keys[i]
        at = _slot(key, shift)
        number = table[at]
        while number and known[number - 1] != key:
            at = (at + 1) & (table.size - 1)
            number = table[at]
        if not number:
            if count == known.size:  # the table is half full
                return i, count
            first[count], known[count] = i, key
            count += 1
            number = table[at] = count
        numbers[i] = number - 1
    return keys.size, count


@kernel
def number_keys(keys: np.ndarray, most: int) -> tuple:
    """Number keys as they first come.

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
    shift = np.uint64(64 - 12)
    first = np.empty(1 << 11, dtype=np.int64)
    known = np.empty(1 << 11, dtype=np.uint64)
    table = np.zeros(1 << 12, dtype=np.int32)
    numbers = np.empty(keys.size, dtype=np.uint32)
    at, count = _number(keys, 0, table, shift, known, first, numbers, 0)
    while at < keys.size and count < most:
        wider, more = np.empty(2 * count, dtype=np.int64), np.empty(2 * count, dtype=np.uint64)
        wider[:count], more[:count] = first, known
        first, known, shift = wider, more, shift - np.uint64(1)
        table = _larger(known, count, shift)
        at, count = _number(keys, at, table, shift, known, first, numbers, count)
    return numbers, first[: 0 if at < keys.size or count > most else count]


@kernel
def place_keys(known: np.ndarray) -> tuple:
    """A table in which combinations (words, combinations) are found, and its shift."""
    bits = 4
    while (1 << bits) < 2 * known.shape[1]:
        bits += 1
    shift = np.uint64(64 - bits)
    table = np.zeros(1 << bits, dtype=np.int32)
    for place in range(known.shape[1]):
        at = _slot(_mixed(known, place), shift)
        while table[at]:
            at = (at + 1) & (table.size - 1)
        table[at] = place + 1
    return table, shift


@kernel(inline="always")
def _mixed(words: np.ndarray, place: int) -> np.uint64:
    key = np.uint64(words[0, place])
    for word in range(1, words.shape[0]):
        key = key * _SPREAD + np.uint64(words[word, place])
    return key


@kernel
def find_keys(known: np.ndarray, table: np.ndarray, shift: np.uint64, wanted: np.ndarray, found: np.ndarray,
              start: int, stop: int) -> None:  # fmt: skip
    """The place of every wanted combination among the known ones, -1 where it is none of them."""
    for i in range(start, stop):
        at = _slot(_mixed(wanted, i), shift)
        found[i] = -1
        while table[at]:
            place = table[at] - 1
            same = True
            for word in range(wanted.shape[0]):
                same = same and known[word, place] == wanted[word, i]
            if same:
                found[i] = place
                break
            at = (at + 1) & (table.size - 1)
