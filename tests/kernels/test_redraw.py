"""Redrawing: alias tables give every value exactly its share, and the kernel equals a plain reading of its draws."""

from __future__ import annotations

from fractions import Fraction

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from shoal.kernels import perturbation as kernel
from shoal.kernels.perturbation import alias_table, redraw_cells
from tests.kernels.test_random import threefry_words


@pytest.mark.reference("alias_table")
@given(st.lists(st.integers(0, 50), min_size=1, max_size=30).filter(any))
def test_alias_tables_keep_every_share(counts: list[int]) -> None:
    keep, other = alias_table(np.array(counts))
    shares = [Fraction(0)] * len(counts)
    for slot, (part, rest) in enumerate(zip(keep.tolist(), other.tolist(), strict=True)):
        # Parts are whole multiples of 1 / sum(counts), which a float of that size names without doubt.
        exact = Fraction(round(part * sum(counts)), sum(counts))
        assert abs(float(exact) - part) < 1e-12
        shares[slot] += exact
        shares[rest] += 1 - exact
    assert shares == [Fraction(count * len(counts), sum(counts)) for count in counts]


def plain(codes: np.ndarray, rows: list[int], key: tuple[int, int], p: list[float], redraw: int, counts: list) -> list:
    """The same with dictionaries and exact draws."""
    out = codes.copy().tolist()
    for i, row in enumerate(rows):
        left = list(range(len(p)))
        for turn in range(redraw):
            which, what = (word >> 11 for word in threefry_words(key, (row, turn)))
            if turn == 0:
                place = sum(which / 2**53 >= bound for bound in np.cumsum(p)[:-1])
            else:
                place = int(which / 2**53 * len(left))
            column = left.pop(place)
            keep, other = alias_table(counts[column])
            place = what / 2**53 * len(keep)
            slot = int(place)
            out[column][i] = slot if place - slot < keep[slot] else int(other[slot])
    return out


@st.composite
def problems(draw: st.DrawFn) -> tuple[np.ndarray, list[np.ndarray], list[float], int]:
    rng = np.random.default_rng(draw(st.integers(0, 2**32 - 1)))
    m, n = draw(st.integers(1, 5)), draw(st.integers(1, 20))
    codes = np.stack([rng.integers(0, rng.integers(1, 6), n) for _ in range(m)]).astype(np.int32)
    counts = [np.bincount(column, minlength=6) for column in codes]
    redraw = draw(st.integers(1, m))
    p = [1 / m] * m if redraw > 1 else rng.dirichlet(np.ones(m)).tolist()
    return codes, counts, p, redraw


@pytest.mark.reference("redraw_block")
@given(problems(), st.integers(0, 2**64 - 1))
def test_reference(problem: tuple, word: int) -> None:
    codes, counts, p, redraw = problem
    rows = list(range(100, 100 + codes.shape[1]))
    found = codes.copy()
    key = np.array([word, 7], dtype=np.uint64)
    redraw_cells(found, np.array(rows, dtype=np.uint64), key, np.array(p), redraw, counts)
    assert found.tolist() == plain(codes, rows, (word, 7), p, redraw, counts)


@pytest.mark.parametrize("redraw", [1, 2])
def test_parallel_equals_serial(redraw: int, monkeypatch: pytest.MonkeyPatch) -> None:
    rng = np.random.default_rng(3)
    n = kernel._PARALLEL_FROM + 1000
    codes = rng.integers(0, 9, (3, n)).astype(np.int32)
    counts = [np.bincount(column) for column in codes]
    made = []
    for limit in (kernel._PARALLEL_FROM, n + 1):
        monkeypatch.setattr(kernel, "_PARALLEL_FROM", limit)
        out, rows = codes.copy(), np.arange(n, dtype=np.uint64)
        redraw_cells(out, rows, np.array([1, 2], dtype=np.uint64), np.full(3, 1 / 3), redraw, counts)
        made.append(out)
    assert np.array_equal(*made)
    assert (made[0] != codes).any(axis=0).mean() > 0.8


def test_columns_and_values_are_drawn_as_often_as_they_should() -> None:
    """A hundred thousand records that all differ from every value drawn: shares within four standard errors."""
    n, p = 100_000, np.array([0.6, 0.3, 0.1])
    codes = np.full((3, n), 9, dtype=np.int32)
    counts = [np.array([5, 0, 3, 2])] * 3
    redraw_cells(codes, np.arange(n, dtype=np.uint64), np.array([8, 8], dtype=np.uint64), p, 1, counts)
    changed = codes != 9
    assert (changed.sum(axis=0) == 1).all()
    for share, column in zip(p, codes, strict=True):
        drawn = column[column != 9]
        assert abs(drawn.size / n - share) < 4 * np.sqrt(share * (1 - share) / n)
        for value, count in enumerate([5, 0, 3, 2]):
            q = count / 10
            assert abs((drawn == value).mean() - q) <= 4 * np.sqrt(q * (1 - q) / drawn.size)


def test_every_set_of_columns_is_as_likely() -> None:
    n = 60_000
    codes = np.full((4, n), 9, dtype=np.int32)
    key, rows = np.array([5, 1], dtype=np.uint64), np.arange(n, dtype=np.uint64)
    redraw_cells(codes, rows, key, np.full(4, 0.25), 2, [np.array([1, 1])] * 4)
    sets, counts = np.unique((codes != 9).T, axis=0, return_counts=True)
    assert len(sets) == 6
    assert (sets.sum(axis=1) == 2).all()
    assert np.abs(counts / n - 1 / 6).max() < 4 * np.sqrt(5 / 36 / n)
