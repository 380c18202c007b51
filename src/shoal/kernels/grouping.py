"""Grouping rows by integer codes: pack each row into one 64-bit key, then number the distinct keys.

Few distinct keys stay in one cache-resident table; many are first split by hash into parts that fit the
cache and can be numbered in parallel. Group numbers depend on the data alone, never on the core count.
"""

from __future__ import annotations

import numpy as np
from numba import prange

from shoal.kernels.compiled import kernel

_PARTS = 256
_BLOCK = 2048
# Above this many distinct keys a single table no longer fits the first-level cache, and splitting pays.
_DIRECT_LIMIT = 1 << 12
_MULTIPLIER = np.uint64(0x9E3779B97F4A7C15)
_KEY_LIMIT = 1 << 63
# Below this many rows, waking a second core costs more than it saves.
_PARALLEL_FROM = 1 << 16


@kernel(inline="always")
def _hash(key: np.uint64) -> np.uint64:
    key ^= key >> np.uint64(32)
    key *= _MULTIPLIER
    return key ^ (key >> np.uint64(29))


@kernel
def _pack_block(codes: np.ndarray, radices: np.ndarray, keys: np.ndarray, start: int, stop: int) -> None:
    for i in range(start, stop):
        keys[i] = np.uint64(codes[0, i])
    for j in range(1, codes.shape[0]):
        radix = radices[j]
        for i in range(start, stop):
            keys[i] = keys[i] * radix + np.uint64(codes[j, i])


@kernel(parallel=True)
def _pack_blocks(codes: np.ndarray, radices: np.ndarray, keys: np.ndarray) -> None:
    n = keys.size
    for block in prange((n + _BLOCK - 1) // _BLOCK):
        _pack_block(codes, radices, keys, block * _BLOCK, min(n, (block + 1) * _BLOCK))


@kernel
def _number_direct(keys: np.ndarray, ids: np.ndarray, limit: int) -> tuple:
    """Number keys by first appearance with one table; give up (count -1) past ``limit`` distinct keys."""
    capacity = 4096
    slots = np.full(capacity, -1, dtype=np.int32)
    distinct = np.empty(capacity, dtype=np.uint64)
    first = np.empty(capacity, dtype=np.int64)
    counts = np.zeros(capacity, dtype=np.int64)
    mask = np.uint64(capacity - 1)
    found = 0
    for i in range(keys.size):
        key = keys[i]
        slot = _hash(key) & mask
        while slots[slot] >= 0 and distinct[slots[slot]] != key:
            slot = (slot + np.uint64(1)) & mask
        group = slots[slot]
        if group < 0:
            if found == limit:
                return -1, first, counts
            if found * 2 >= capacity:
                capacity *= 4
                mask = np.uint64(capacity - 1)
                distinct = np.concatenate((distinct, np.empty(capacity - distinct.size, dtype=np.uint64)))
                first = np.concatenate((first, np.empty(capacity - first.size, dtype=np.int64)))
                counts = np.concatenate((counts, np.zeros(capacity - counts.size, dtype=np.int64)))
                slots = np.full(capacity, -1, dtype=np.int32)
                for g in range(found):
                    at = _hash(distinct[g]) & mask
                    while slots[at] >= 0:
                        at = (at + np.uint64(1)) & mask
                    slots[at] = g
                slot = _hash(key) & mask
                while slots[slot] >= 0:
                    slot = (slot + np.uint64(1)) & mask
            group = found
            slots[slot] = group
            distinct[group] = key
            first[group] = i
            found += 1
        counts[group] += 1
        ids[i] = group
    return found, first[:found], counts[:found]


@kernel(parallel=True)
def _split(keys: np.ndarray) -> tuple:
    """Stable scatter of row numbers by the top bits of their hash; returns rows and part offsets."""
    n = keys.size
    workers = 8
    size = (n + workers - 1) // workers
    counts = np.zeros((workers, _PARTS), dtype=np.int64)
    for w in prange(workers):
        for i in range(w * size, min(n, (w + 1) * size)):
            counts[w, _hash(keys[i]) >> np.uint64(56)] += 1
    at = np.empty((workers, _PARTS), dtype=np.int64)
    offsets = np.zeros(_PARTS + 1, dtype=np.int64)
    total = 0
    for part in range(_PARTS):
        offsets[part] = total
        for w in range(workers):
            at[w, part] = total
            total += counts[w, part]
    offsets[_PARTS] = total
    rows = np.empty(n, dtype=np.int32)
    parted = np.empty(n, dtype=np.uint64)
    for w in prange(workers):
        for i in range(w * size, min(n, (w + 1) * size)):
            bucket = _hash(keys[i]) >> np.uint64(56)
            rows[at[w, bucket]] = i
            parted[at[w, bucket]] = keys[i]
            at[w, bucket] += 1
    return rows, parted, offsets


@kernel(parallel=True)
def _number_parts(rows: np.ndarray, parted: np.ndarray, offsets: np.ndarray, local: np.ndarray) -> tuple:
    """Number each part's keys from 0 (``local``, in part order) and count its groups."""
    found = np.zeros(_PARTS, dtype=np.int64)
    firsts = np.empty(parted.size, dtype=np.int32)
    counts = np.zeros(parted.size, dtype=np.int32)
    for part in prange(_PARTS):
        start, stop = offsets[part], offsets[part + 1]
        capacity = 16
        while capacity < 2 * (stop - start):
            capacity *= 2
        mask = np.uint64(capacity - 1)
        slots = np.full(capacity, -1, dtype=np.int32)
        groups = 0
        for i in range(start, stop):
            key = parted[i]
            slot = _hash(key) & mask
            while slots[slot] >= 0 and parted[start + slots[slot]] != key:
                slot = (slot + np.uint64(1)) & mask
            if slots[slot] < 0:
                # The slot remembers where in the part the key first stood; its group number is kept there.
                slots[slot] = i - start
                local[i] = groups
                firsts[start + groups] = rows[i]
                counts[start + groups] = 1
                groups += 1
            else:
                group = local[start + slots[slot]]
                local[i] = group
                counts[start + group] += 1
        found[part] = groups
    return found, firsts, counts


@kernel(parallel=True)
def _gather_parts(
    rows: np.ndarray,
    offsets: np.ndarray,
    local: np.ndarray,
    found: np.ndarray,
    firsts: np.ndarray,
    tallies: np.ndarray,
) -> tuple:
    base = np.zeros(_PARTS + 1, dtype=np.int64)
    for part in range(_PARTS):
        base[part + 1] = base[part] + found[part]
    ids = np.empty(rows.size, dtype=np.int32)
    first = np.empty(base[_PARTS], dtype=np.int64)
    counts = np.empty(base[_PARTS], dtype=np.int64)
    for part in prange(_PARTS):
        start = offsets[part]
        for i in range(start, offsets[part + 1]):
            ids[rows[i]] = local[i] + base[part]
        for g in range(found[part]):
            first[base[part] + g] = firsts[start + g]
            counts[base[part] + g] = tallies[start + g]
    return ids, first, counts


def number_keys(keys: np.ndarray) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Number the distinct values of ``keys`` (uint64).

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
    found, first, counts = _number_direct(keys, ids, limit)
    if found >= 0:
        return ids, first, counts
    rows, parted, offsets = _split(keys)
    found, firsts, tallies = _number_parts(rows, parted, offsets, ids)
    return _gather_parts(rows, offsets, ids, found, firsts, tallies)


def pack_keys(codes: np.ndarray, cards: np.ndarray) -> np.ndarray:
    """One uint64 key a row for int32 ``codes`` of shape (m, n), column j below ``cards[j]``.

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
    if keys.size < _PARALLEL_FROM:
        _pack_block(codes, radices, keys, 0, keys.size)
    else:
        _pack_blocks(codes, radices, keys)
    return keys


def group_rows(codes: np.ndarray, cards: np.ndarray) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Group rows that agree on every column: ids, first row and size of each group (see `number_keys`)."""
    return number_keys(pack_keys(codes, np.asarray(cards, dtype=np.int64)))
