"""Who could be whom where a suppressed value counts as any, against plain Python."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import combinations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from shoal.kernels.wildcards import count_matches, restore_spare, suppress_short

Codes = Sequence[Sequence[int]]
ROWS = st.lists(st.tuples(*[st.integers(-1, 2)] * 3), min_size=1, max_size=12, unique=True)


def could_be(one: tuple[int, ...], other: tuple[int, ...]) -> bool:
    return all(a == b or -1 in (a, b) for a, b in zip(one, other, strict=True))


def plainly(codes: list[tuple[int, ...]], sizes: list[int]) -> list[int]:
    return [sum(size for other, size in zip(codes, sizes, strict=True) if could_be(one, other)) for one in codes]


def starred(codes: Codes, stars: list[int]) -> list[tuple[int, ...]]:
    return [
        tuple(-1 if mask >> at & 1 else code for at, code in enumerate(row))
        for row, mask in zip(codes, stars, strict=True)
    ]


@pytest.mark.reference("count_wildcard_matches")
@given(rows=ROWS, data=st.data())
def test_rows_that_each_could_be(rows: list[tuple[int, ...]], data: st.DataObject) -> None:
    sizes = data.draw(st.lists(st.integers(1, 4), min_size=len(rows), max_size=len(rows)))
    found = count_matches(np.array(rows, dtype=np.int32), np.array(sizes, dtype=np.int64))
    assert found.tolist() == plainly(rows, sizes)


def suppressed(codes: Codes, sizes: list[int], stars: list[int], k: int, masks: list[int]) -> int:
    """Suppress, in every combination that too few rows match, the first set of columns that lets enough match it."""
    left = 0
    for r in range(len(codes)):
        if plainly(starred(codes, stars), sizes)[r] >= k:
            continue
        for mask in masks:
            tried = [*stars[:r], stars[r] | mask, *stars[r + 1 :]]
            if plainly(starred(codes, tried), sizes)[r] >= k:
                stars[:] = tried
                break
        else:
            left += 1
    return left


def restored(codes: Codes, sizes: list[int], stars: list[int], k: int, columns: list[int], fixed: list[int]) -> None:
    """Publish suppressed values again, one after another, as long as at least k rows match every combination."""
    for r in range(len(codes)):
        for j in columns:
            if stars[r] & ~fixed[r] & 1 << j:
                tried = [*stars[:r], stars[r] ^ 1 << j, *stars[r + 1 :]]
                before, after = (plainly(starred(codes, one), sizes) for one in (stars, tried))
                if after[r] >= k and all(new >= k for new, old in zip(after, before, strict=True) if new < old):
                    stars[:] = tried


@pytest.mark.reference("suppress_short", "restore_spare")
@given(seed=st.integers(0, 10_000), k=st.integers(2, 5))
def test_stars_are_those_of_plain_python(seed: int, k: int) -> None:
    random = np.random.default_rng(seed)
    codes = np.unique(random.integers(0, 3, (12, 3)).astype(np.int32), axis=0)
    sizes = random.integers(1, 3, len(codes))
    masks = random.permutation(8)
    most = int(random.integers(1, 9))
    stars, matches, expected = np.zeros(len(codes), dtype=np.int64), sizes.copy(), [0] * len(codes)
    left = suppress_short(codes, sizes, stars, matches, k, masks, most)
    assert left == suppressed(codes.tolist(), sizes.tolist(), expected, k, masks[:most].tolist())
    assert stars.tolist() == expected
    columns, fixed = random.permutation(3), random.integers(0, 8, len(codes)) & stars
    restore_spare(codes, sizes, stars, matches, k, columns, fixed)
    restored(codes.tolist(), sizes.tolist(), expected, k, columns.tolist(), fixed.tolist())
    assert stars.tolist() == expected
    assert matches.tolist() == plainly(starred(codes.tolist(), expected), sizes.tolist())


@given(seed=st.integers(0, 10_000), k=st.integers(2, 5))
def test_nobody_falls_short_and_no_star_can_be_spared(seed: int, k: int) -> None:
    random = np.random.default_rng(seed)
    codes = np.unique(random.integers(0, 3, (12, 3)).astype(np.int32), axis=0)
    sizes = random.integers(1, 3, len(codes)).astype(np.int64)
    stars, found = np.zeros(len(codes), dtype=np.int64), sizes.copy()
    masks = np.array([sum(1 << at for at in one) for size in range(4) for one in combinations(range(3), size)])
    assert suppress_short(codes, sizes, stars, found, k, masks, masks.size) == 0 or sizes.sum() < k
    assert found.tolist() == plainly(starred(codes.tolist(), stars.tolist()), sizes.tolist())
    before = stars.copy()
    fixed = random.integers(0, 8, len(codes)) & before
    restore_spare(codes, sizes, stars, found, k, np.array([2, 0, 1]), fixed)
    assert (stars & ~before == 0).all()
    assert (fixed & ~stars == 0).all()
    assert found.tolist() == plainly(starred(codes.tolist(), stars.tolist()), sizes.tolist())
    assert min(found) >= k or sizes.sum() < k


def test_what_costs_too_much_is_left_for_later() -> None:
    codes = np.array([[0, 0], [1, 1]], dtype=np.int32)
    sizes, stars = np.ones(2, dtype=np.int64), np.zeros(2, dtype=np.int64)
    found = sizes.copy()
    assert suppress_short(codes, sizes, stars, found, 2, np.array([0, 1, 2, 3]), 3) == 2
    assert stars.tolist() == [0, 0]
    assert suppress_short(codes, sizes, stars, found, 2, np.array([0, 1, 2, 3]), 4) == 0
    assert (stars.tolist(), found.tolist()) == ([3, 0], [2, 2])  # the second could be the first by then
