"""Buckets of m-invariance: which values are published together, and how many records of each (Xiao & Tao 2007)."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

# Rounds in which supply that a bucket could not use goes to others.
_ROUNDS = 4


@dataclass(frozen=True, eq=False)
class Plan:
    """Pairs of bucket and value in compressed rows, and records of each.

    Attributes
    ----------
    bucket, value
        One entry a pair, sorted by bucket.
    each
        Records that every value of the entry's bucket gets: the same for all entries of a bucket.
    fresh
        How many of them are new people.
    """

    bucket: np.ndarray
    value: np.ndarray
    each: np.ndarray
    fresh: np.ndarray


def balance(bucket: np.ndarray, value: np.ndarray, have: np.ndarray, supply: np.ndarray, fake: bool) -> Plan:
    """How returning people's buckets are evened out with new people.

    Parameters
    ----------
    bucket, value, have
        Bucket, value and returning records of every pair, sorted by bucket; buckets come in the order in which they
        are served. Every value of a bucket's signature has an entry.
    supply
        New records of every value.
    fake
        Whether what is lacking is made up; if not, a bucket shrinks to what all its values can fill.
    """
    buckets = int(bucket.max(initial=-1)) + 1
    most = np.zeros(buckets, dtype=np.int64)
    np.maximum.at(most, bucket, have)
    if fake:
        fresh = _deal(value, most[bucket] - have, supply)
        return Plan(bucket, value, most[bucket], fresh)
    each = np.zeros(buckets, dtype=np.int64)
    for _ in range(_ROUNDS):
        # What was reached stays; what is left of the supply is offered for more.
        granted = np.maximum(each[bucket] - have, 0)
        left = supply - np.bincount(value, granted, minlength=supply.size).astype(np.int64)
        wanted = np.maximum(most[bucket] - have, 0) - granted
        could = have + granted + _deal(value, wanted, left)
        now = np.full(buckets, np.iinfo(np.int64).max)
        np.minimum.at(now, bucket, could)
        now = np.minimum(now, most)
        if (now == each).all():
            break
        each = now
    return Plan(bucket, value, each[bucket], np.maximum(each[bucket] - have, 0))


def _deal(value: np.ndarray, wanted: np.ndarray, supply: np.ndarray) -> np.ndarray:
    """What each entry gets of its value's supply, first come, first served."""
    order = np.argsort(value, kind="stable")
    asked = np.cumsum(wanted[order]) - wanted[order]
    first = np.searchsorted(value[order], value[order])  # where the entries of the same value begin
    before = asked - asked[first] if order.size else asked
    got = np.empty_like(wanted)
    got[order] = np.clip(supply[value[order]] - before, 0, wanted[order])
    return got


def eligible(counts: np.ndarray, m: int) -> np.ndarray:
    """The most of every value that can be kept so that none has more than 1 in m of what is kept."""
    low, high = 0, int(counts.max(initial=0))
    while low < high:  # what holds for a cap holds for every smaller one
        cap = (low + high + 1) // 2
        low, high = (cap, high) if np.minimum(counts, cap).sum() >= m * cap else (low, cap - 1)
    return np.minimum(counts, low)


def assign(counts: np.ndarray, m: int) -> Plan:
    """New people in buckets of at least m values, each as often as the others, until nobody is left.

    ``counts`` are m-eligible: no value has more than 1 in m of them. Every bucket takes the commonest values, as few of
    them and as many records of each as leave the rest eligible.
    """
    left = counts.astype(np.int64).copy()
    bucket: list[np.ndarray] = []
    value: list[np.ndarray] = []
    each: list[np.ndarray] = []
    while left.any():
        order = np.argsort(-left, kind="stable")
        for width in range(m, order.size + 1):
            take = _most(left[order], width, m)
            if take:
                break
        chosen = order[:width]
        bucket.append(np.full(width, len(bucket)))
        value.append(chosen)
        each.append(np.full(width, take))
        left[chosen] -= take
    none = np.empty(0, dtype=np.int64)
    found = [np.concatenate([none, *parts]).astype(np.int64) for parts in (bucket, value, each)]
    return Plan(found[0], found[1], found[2], found[2])


def _most(left: np.ndarray, width: int, m: int) -> int:
    """Most records that a bucket can take of each of the commonest values (given in falling order)."""
    total = int(left.sum())
    following = int(left[width]) if width < left.size else 0
    bounds = [int(left[width - 1]), (total - m * following) // width]
    if width > m:
        bounds.append((total - m * int(left[0])) // (width - m))
    return max(0, min(bounds))
