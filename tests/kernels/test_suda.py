"""Minimal sample uniques against every subset of the keys, record by record."""

from __future__ import annotations

from itertools import combinations
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from shoal.kernels.suda import extend_uniques, new_uniques


def search(codes: np.ndarray, owner: np.ndarray, most: int) -> set[tuple[int, int]]:
    """Pairs of an item and a set of keys as bits."""
    cards = codes.max(axis=1).astype(np.int64) + 1
    last, items, masks, earlier, found = new_uniques(owner.size)
    for top in range(codes.shape[0]):
        items, masks, earlier, found = extend_uniques(
            codes, cards, owner, top, most, last, items, masks, earlier, found
        )
    pairs = list(zip(items[:found].tolist(), masks[:found].tolist(), strict=True))
    assert len(set(pairs)) == len(pairs)
    return set(pairs)


def naive(codes: np.ndarray, owner: np.ndarray, most: int) -> set[tuple[int, int]]:
    keys, n = codes.shape
    found: set[tuple[int, int]] = set()
    for size in range(1, most + 1):
        for chosen in combinations(range(keys), size):
            cells = [tuple(codes[key, item] for key in chosen) for item in range(n)]
            mask = sum(1 << key for key in chosen)
            for item in range(n):
                sharing = {owner[other] for other in range(n) if cells[other] == cells[item]}
                smaller = any(other == item and part & mask == part for other, part in found)
                if sharing == {owner[item]} and owner[item] >= 0 and not smaller:
                    found.add((item, mask))
    return found


@st.composite
def tables(draw: st.DrawFn, people: bool) -> tuple[np.ndarray, np.ndarray]:
    """Distinct combinations and whose they are."""
    keys = draw(st.integers(1, 5))
    values = draw(st.integers(1, 4))
    rows = st.lists(st.integers(0, values - 1), min_size=keys, max_size=keys).map(tuple)
    distinct: list[Any] = sorted(draw(st.sets(rows, min_size=1, max_size=14)))
    n = len(distinct)
    if people:
        owner = draw(st.lists(st.integers(-1, 4), min_size=n, max_size=n))
    else:
        several = draw(st.lists(st.booleans(), min_size=n, max_size=n))
        owner = [-1 if many else item for item, many in enumerate(several)]
    return np.array(distinct, dtype=np.int32).T.copy(), np.array(owner, dtype=np.int32)


@pytest.mark.reference("extend_uniques")
@settings(max_examples=40, deadline=None)
@given(tables(people=False), st.integers(1, 5))
def test_records(table: tuple[np.ndarray, np.ndarray], most: int) -> None:
    codes, owner = table
    most = min(most, codes.shape[0])
    assert search(codes, owner, most) == naive(codes, owner, most)


@settings(max_examples=40, deadline=None)
@given(tables(people=True), st.integers(1, 5))
def test_people_with_several_combinations(table: tuple[np.ndarray, np.ndarray], most: int) -> None:
    codes, owner = table
    most = min(most, codes.shape[0])
    assert search(codes, owner, most) == naive(codes, owner, most)


def test_more_sets_than_items_are_found() -> None:
    # Everybody differs from everybody in every key, so each key alone singles out each item.
    codes = np.tile(np.arange(3, dtype=np.int32), (20, 1))
    found = search(codes, np.arange(3, dtype=np.int32), 6)
    assert found == {(item, 1 << key) for item in range(3) for key in range(20)}


def test_a_larger_random_table() -> None:
    random = np.random.default_rng(5)
    codes = np.unique(random.integers(0, [[2], [3], [4], [3], [2], [6]], (6, 120)), axis=1).astype(np.int32)
    owner = np.where(random.random(codes.shape[1]) < 0.7, np.arange(codes.shape[1]), -1).astype(np.int32)
    assert search(codes, owner, 6) == naive(codes, owner, 6)
