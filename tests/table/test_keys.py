"""Secrets and streams: a shuffle that belongs to row keys, and draws that do not betray one another."""

from __future__ import annotations

import numpy as np
import polars as pl
import pytest
from hypothesis import given
from hypothesis import strategies as st

from shoal.data.keys import Keys, key_hashes

ROWS = np.arange(2000, dtype=np.uint64)


@given(st.integers(0, 2**32), st.lists(st.integers(0, 2**64 - 1), max_size=60, unique=True))
def test_a_shuffle_is_a_permutation(seed: int, rows: list[int]) -> None:
    order = Keys.from_seed(seed).shuffle("ties", np.array(rows, dtype=np.uint64))
    assert sorted(order.tolist()) == list(range(len(rows)))


def test_a_shuffle_moves_with_the_row_keys() -> None:
    """However the rows are delivered, they end up in the same order."""
    keys, moved = Keys.from_seed(4), np.random.default_rng(1).permutation(ROWS)
    assert np.array_equal(ROWS[keys.shuffle("ties", ROWS)], moved[keys.shuffle("ties", moved)])


def test_a_shuffle_mixes() -> None:
    order = Keys.from_seed(4).shuffle("ties", ROWS)
    assert abs(np.corrcoef(order, ROWS.astype(float))[0, 1]) < 0.1
    assert (order == ROWS).mean() < 0.01


def test_the_identity_is_for_worked_examples() -> None:
    assert np.array_equal(Keys.from_seed(4, identity=True).shuffle("ties", ROWS), np.arange(2000))


def test_the_same_seed_gives_the_same_draws() -> None:
    one, other = Keys.from_seed(7), Keys.from_seed(7)
    assert one == other
    assert np.array_equal(one.bits("x", ROWS), other.bits("x", ROWS))
    assert one.generator("x").integers(10**9) == other.generator("x").integers(10**9)


@pytest.mark.parametrize(
    "one,other",
    [
        (lambda: Keys.from_seed(7).uniform("x", ROWS), lambda: Keys.from_seed(8).uniform("x", ROWS)),
        (lambda: Keys.from_seed(7).uniform("x", ROWS), lambda: Keys.from_seed(7).uniform("y", ROWS)),
        (lambda: Keys.from_seed(7).uniform("x", ROWS), lambda: Keys.from_seed(7).uniform("x", ROWS, 1)),
        (
            lambda: Keys.from_seed(7).generator("x").random(2000),
            lambda: Keys.from_seed(7).generator("y").random(2000),
        ),
    ],
    ids=["seeds", "streams", "draws", "generators"],
)
def test_independent(one: object, other: object) -> None:
    first, second = one(), other()  # type: ignore[operator]
    assert abs(np.corrcoef(first, second)[0, 1]) < 0.08
    assert not (first == second).any()


def test_without_a_seed_every_secret_is_fresh() -> None:
    one, other = Keys.from_seed(None), Keys.from_seed(None)
    assert len(one.secret) == 32
    assert one.secret != other.secret
    assert not np.array_equal(one.shuffle("ties", ROWS), other.shuffle("ties", ROWS))


def test_a_repr_keeps_the_secret() -> None:
    keys = Keys.from_seed(7)
    assert keys.secret.hex() not in repr(keys)
    assert repr(keys) == "Keys(identity=False)"


def test_known_streams() -> None:
    """Changing how streams are derived would change every release that was ever made with a seed."""
    assert Keys.from_seed(1).stream("ties").tolist() == [0x2459A7DE1F1D2F85, 0x485D3E94FB3619C5]


def test_key_hashes_tell_keys_apart() -> None:
    keys = pl.Series([f"k{number}" for number in range(5000)] + ["", "é", "k 1"])
    hashes = key_hashes(keys)
    assert hashes.dtype == np.uint64
    assert np.unique(hashes).size == 5003
    assert np.array_equal(hashes[::-1], key_hashes(keys.reverse()))
