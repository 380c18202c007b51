"""Group rows by integer codes: pack each row into one 64-bit key, then number the distinct keys.

Few distinct keys stay in one cache-resident table; many are first split by hash into parts that fit the
cache and can be numbered in parallel. Group numbers depend on the data alone, never on the core count.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from shoal.kernels import _native
from shoal.kernels.cores import share, share_rows

_PARTS = 256
_WORKERS = 8
# Above this many distinct keys a single table no longer fits the first-level cache, and splitting pays.
_DIRECT_LIMIT = 1 << 12
_KEY_LIMIT = 1 << 63
# Below this many rows, waking a second core costs more than it saves.
_PARALLEL_FROM = 1 << 16


def _split(keys: np.ndarray) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Order rows by the top bits of their keys' hashes, keeping their order in each part: rows, keys, part offsets."""
    n = keys.size
    size = -(-n // _WORKERS)
    bounds = [(w * size, min(n, (w + 1) * size)) for w in range(_WORKERS)]
    counts = np.zeros((_WORKERS, _PARTS), dtype=np.int64)
    share(_WORKERS, lambda w: _native.count_block(keys, *bounds[w], counts[w]))
    # Part after part, and within one block after block.
    at = (np.cumsum(counts.T) - counts.T.ravel()).reshape(_PARTS, _WORKERS).T.copy()
    offsets = np.append(at[0], n)
    rows = np.empty(n, dtype=np.int32)
    parted = np.empty(n, dtype=np.uint64)
    share(_WORKERS, lambda w: _native.scatter_block(keys, *bounds[w], at[w], rows, parted))
    return rows, parted, offsets


def _number_parts(
    rows: np.ndarray, parted: np.ndarray, offsets: np.ndarray, local: np.ndarray
) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    found = np.zeros(_PARTS, dtype=np.int64)
    firsts = np.empty(parted.size, dtype=np.int32)
    counts = np.zeros(parted.size, dtype=np.int32)

    def number(part: int) -> None:
        found[part] = _native.number_part(rows, parted, offsets[part], offsets[part + 1], local, firsts, counts)

    share(_PARTS, number)
    return found, firsts, counts


def _gather_parts(
    rows: np.ndarray, offsets: np.ndarray, local: np.ndarray, found: np.ndarray, firsts: np.ndarray, tallies: np.ndarray
) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    base = np.concatenate(([0], np.cumsum(found)))
    ids = np.empty(rows.size, dtype=np.int32)
    share(_PARTS, lambda part: _native.gather_part(rows, offsets[part], offsets[part + 1], local, base[part], ids))
    # The places of each part's groups, one part after the other.
    places = np.repeat(offsets[:-1] - base[:-1], found) + np.arange(base[-1])
    return ids, firsts[places].astype(np.int64), tallies[places].astype(np.int64)


def number_keys(keys: np.ndarray) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Number the distinct values of ``keys`` (uint64), in O(rows).

    Returns
    -------
    ids
        int32, one group number a row.
    first
        int64, one row of each group (the first).
    counts
        int64, rows in each group.
    """
    ids = np.empty(keys.size, dtype=np.int32)
    limit = _DIRECT_LIMIT if keys.size >= _PARALLEL_FROM else keys.size
    found, first, counts = _native.number_direct(keys, ids, limit)
    if found >= 0:
        return ids, first, counts
    rows, parted, offsets = _split(keys)
    found, firsts, tallies = _number_parts(rows, parted, offsets, ids)
    return _gather_parts(rows, offsets, ids, found, firsts, tallies)


def count_about(columns: Sequence[np.ndarray]) -> int:
    """Estimate how many different rows some columns (int32, one code a row) have, in O(columns times rows).

    Of many rows, those of one combination in 64 are numbered, chosen by hash; of few, all are.
    """
    keys = np.zeros(columns[0].size, dtype=np.uint64)

    def mix(start: int, stop: int) -> None:
        for codes in columns:
            _native.mix_block(codes, keys, start, stop)

    share_rows(keys.size, mix, _PARALLEL_FROM)
    if keys.size < _PARALLEL_FROM:
        return int(number_keys(keys)[1].size)
    return int(number_keys(keys[keys < np.uint64(1 << 58)])[1].size) * 64


def pack_keys(codes: np.ndarray, cards: np.ndarray) -> np.ndarray:
    """Pack each row of int32 ``codes`` (m, n), column j below ``cards[j]``, into a uint64 key, in O(m n).

    Columns whose product of cardinalities passes 64 bits are first replaced by group numbers.
    """
    product = 1
    for j, card in enumerate(cards):
        product *= max(int(card), 1)
        if product > _KEY_LIMIT:
            ids, first, _ = number_keys(pack_keys(codes[:j], cards[:j]))
            rest = np.concatenate((ids[None, :], codes[j:]))
            return pack_keys(rest, np.concatenate(([first.size], cards[j:])))
    if codes.shape[0] == 0:
        return np.zeros(codes.shape[1], dtype=np.uint64)
    codes, radices = np.ascontiguousarray(codes), np.asarray(cards, dtype=np.uint64)
    keys = np.empty(codes.shape[1], dtype=np.uint64)
    share_rows(keys.size, lambda start, stop: _native.pack_block(codes, radices, keys, start, stop), _PARALLEL_FROM)
    return keys


def group_rows(codes: np.ndarray, cards: np.ndarray) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Group rows that agree on every column, in O(m n): ids, first row and size of each group.

    Arguments are those of `pack_keys`, results those of `number_keys`.
    """
    return number_keys(pack_keys(codes, np.asarray(cards, dtype=np.int64)))


# ----------------------------------------
# Number 64-bit keys by first appearance, and find combinations of words among known ones.


def number_key_rows(keys: np.ndarray, most: int) -> tuple[np.ndarray, np.ndarray]:
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


# ----------------------------------------
# Extents of groups: lowest and highest code.


def group_ranges(codes: np.ndarray, ids: np.ndarray, groups: int) -> tuple[np.ndarray, np.ndarray]:
    """Find the lowest and the highest of ``codes`` (int32) in each group, both int32, in O(rows + groups).

    ``ids`` is int32, one group number a row; rows with a negative one are left out. Of a group without rows the lowest
    is above the highest.
    """
    low, high = np.empty(groups, dtype=np.int32), np.empty(groups, dtype=np.int32)
    _native.group_ranges(codes, ids, low, high)
    return low, high
