"""A heap gives keys back in order, and keys order prices, then places."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from shoal.kernels import _native
from shoal.kernels.random import PLACES


def price_key(price: float, place: int) -> int:
    """A number that orders prices, and places where these are equal."""
    return int(_native.probe_price_key(price, place))


@pytest.mark.reference("probe_heap")
@given(st.lists(st.integers(0, 2**62), min_size=1, max_size=60))
def test_keys_come_out_in_order(keys: list[int]) -> None:
    heap = np.array(keys, dtype=np.int64)
    found = np.empty_like(heap)
    _native.probe_heap(heap, found)
    assert found.tolist() == sorted(keys)


@pytest.mark.reference("probe_price_key")
@given(st.lists(st.tuples(st.integers(0, 1000), st.integers(0, PLACES - 1)), min_size=2, max_size=20))
def test_prices_come_before_places(pairs: list[tuple[int, int]]) -> None:
    keys = [price_key(price / 1000, place) for price, place in pairs]
    assert np.argsort(keys, kind="stable").tolist() == sorted(range(len(pairs)), key=lambda i: pairs[i])
    assert [key % PLACES for key in keys] == [place for _, place in pairs]
    assert max(keys) < 2**63


@pytest.mark.parametrize("price", [0.1 + 0.2, 1 / 3, 2 / 3, 0.7])
def test_rounding_makes_no_difference(price: float) -> None:
    assert price_key(price, 3) == price_key(price + 1e-15, 3) == price_key(price - 1e-15, 3)
    assert price_key(price, 3) < price_key(price + 1e-10, 2)
