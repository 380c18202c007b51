"""Different cells and combinations, found by hashes that may collide."""

from __future__ import annotations

import datetime as dt
from decimal import Decimal

import numpy as np
import polars as pl
import pytest

from shoal.data import value_index
from shoal.data.domain import Packing, Places
from shoal.data.value_index import number_cells

_COLUMNS = [
    pl.Series(["b", None, "a", "b", "", None, "ä"]),
    pl.Series([3, None, -1, 3, 0], dtype=pl.Int64),
    pl.Series([0.0, -0.0, None, 1.5, float("nan"), float("nan")]),
    pl.Series([True, None, False, True]),
    pl.Series([dt.date(2020, 1, 1), None, dt.date(2020, 1, 1)]),
    pl.Series([dt.datetime(2020, 1, 1, 2), None, dt.datetime(2020, 1, 1)]),
    pl.Series([Decimal("1.10"), None, Decimal("1.1")]),
    pl.Series([], dtype=pl.String),
]


@pytest.mark.parametrize("collide", [False, True])
@pytest.mark.parametrize("cells", _COLUMNS, ids=lambda cells: str(cells.dtype))
def test_cells_are_numbered_as_they_first_come(
    cells: pl.Series, collide: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    if collide:
        monkeypatch.setattr(value_index, "hashes", lambda given: np.zeros(given.len(), dtype=np.uint64))
    found = number_cells(cells)
    assert found is not None
    numbers, different = found
    assert different.gather(numbers).eq_missing(cells).all()
    assert different.n_unique() == different.len()
    assert different.equals(cells.unique(maintain_order=True))


def test_a_table_of_cells_grows_and_gives_up() -> None:
    drawn = np.random.default_rng(3).integers(0, 50_000, 200_000)
    cells = pl.Series(drawn.astype(str).tolist())
    found = number_cells(cells)
    assert found is not None
    numbers, different = found
    assert different.to_list() == list(dict.fromkeys(cells.to_list()))
    assert different.gather(numbers).equals(cells)
    assert number_cells(cells, different.len()) is not None
    assert number_cells(cells, different.len() - 1) is None


@pytest.mark.parametrize("card", [2047, 2048, 2049, 4096, 4097])
def test_a_table_that_is_just_full_gives_up_for_one_more(card: int) -> None:
    drawn = np.concatenate([np.arange(card), np.random.default_rng(3).integers(0, card, 2 * card)])
    cells = pl.Series(np.random.default_rng(5).permutation(drawn))
    found = number_cells(cells, card)
    assert found is not None
    assert found[1].equals(cells.unique(maintain_order=True))
    assert found[1].gather(found[0]).equals(cells)
    assert number_cells(cells, card - 1) is None


@pytest.mark.parametrize("cards", [(7, 5), (3, 2**30, 2**40, 9), (2**40, 2**40, 2**40)])
def test_combinations_are_found_where_they_stand(cards: tuple[int, ...]) -> None:
    random = np.random.default_rng(1)
    packing = Packing(cards)
    some = packing.pack([random.integers(0, card, 3000) for card in cards])
    known = np.unique(some[:, :2000], axis=1)
    place = Places(known).of(some)
    expected = {tuple(key): at for at, key in enumerate(known.T.tolist())}
    assert place.tolist() == [expected.get(tuple(key), -1) for key in some.T.tolist()]
    assert Places(known[:, :0]).of(some).tolist() == [-1] * some.shape[1]


def test_a_combination_that_is_unknown_has_nobodys_entry() -> None:
    places = Places(np.array([[4, 7]]))
    assert places.looked_up(np.array([0, 5], dtype=np.int32), np.array([[7, 1, 4]])).tolist() == [5, -1, 0]
