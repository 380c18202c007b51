"""Combinations of whole numbers in twelve bytes each: counted as by anybody, and never all put in order at once."""

from __future__ import annotations

import tracemalloc

import numpy as np
import polars as pl
import pytest

from shoal.verify import tally
from shoal.verify.tally import Counts, Packed


@pytest.mark.parametrize("room", [1, 1 << 12])
@pytest.mark.parametrize("cards", [(), (300,), (900, 5), (40, 7, 60)])
def test_combinations_are_counted_as_by_anybody(
    cards: tuple[int, ...], room: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(tally, "_PACKED_ROWS", room)
    random = np.random.default_rng(4)
    found, plain = Packed(), Counts()
    for most in (10, 200_000, 70_000):  # beyond what is kept in one place
        columns = {"class": random.integers(0, most, 500)}
        columns |= {str(at): random.integers(0, card, 500) for at, card in enumerate(cards)}
        found.see(columns)
        plain.see(pl.DataFrame(columns))
    assert found.size >= plain.total().height
    assert found.taken().equals(plain.total())
    assert found.size == 0


def test_numbers_that_do_not_fit_are_counted_all_the_same() -> None:
    found, plain = Counts(), Counts()
    for far in (5, 1 << 23, -1, 6):
        columns = {"class": np.array([3, 3, 3, 9]), "0": np.array([far, far, 2, 2]), "1": np.array([1, 1, 1, far])}
        assert Packed.fits(columns) == (0 <= far < 1 << 23)
        found.see_numbers(columns)
        plain.see(pl.DataFrame(columns))
    assert found.total().equals(plain.total())


def test_numbers_without_a_sign_are_counted_too() -> None:
    for first in (3, (1 << 64) - 1):
        found, plain = Counts(), Counts()
        columns = {"class": np.array([first, 5], dtype=np.uint64), "0": np.array([2, 2], dtype=np.uint64)}
        assert Packed.fits(columns) == (first == 3)
        found.see_numbers(columns)
        plain.see(pl.DataFrame(columns))
        assert found.total()["rows"].to_list() == plain.total()["rows"].to_list() == [1, 1]


def test_more_rows_of_a_combination_than_a_narrow_number_holds() -> None:
    pieces = [(np.array([7]), np.array([rows], dtype=np.uint32)) for rows in ((1 << 32) - 1, 1)]
    keys, rows = tally._merged(pieces)
    assert (keys.tolist(), rows.tolist()) == ([7], [1 << 32])


def test_a_pair_takes_few_bytes() -> None:
    """Nearly every row is a pair of its own, of classes that come in any order."""
    random = np.random.default_rng(5)
    found = Counts()
    tracemalloc.start()
    try:
        for _ in range(8):
            found.see_numbers({"class": random.integers(0, 1 << 19, 50_000), "0": random.integers(0, 4000, 50_000)})
        kept, most = tracemalloc.get_traced_memory()
    finally:
        tracemalloc.stop()
    assert kept < 14 * found.size
    assert most < 24 * found.size
