"""The counter-based generator: known answers, a plain reference, and no dependence on order or cores."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from shoal.kernels import random as kernel
from shoal.kernels.random import draw_bits, draw_uniform, order_by_bits

ONES = 2**64 - 1
# Random123's known answers for threefry2x64 with 20 rounds: counter, key, first word.
KNOWN = [
    ((0, 0), (0, 0), 0xC2B6E3A8C2C69865),
    ((ONES, ONES), (ONES, ONES), 0xE02CB7C4D95D277A),
    ((0x243F6A8885A308D3, 0x13198A2E03707344), (0xA4093822299F31D0, 0x082EFA98EC4E6C89), 0x263C7D30BB0F0AF1),
]
words = st.integers(0, ONES)


def threefry(key: tuple[int, int], counter: tuple[int, int]) -> int:
    """The first word."""
    return threefry_words(key, counter)[0]


def threefry_words(key: tuple[int, int], counter: tuple[int, int]) -> tuple[int, int]:
    """Threefry-2x64-20 by Salmon et al. 2011, Sec. 4.2, in whole numbers."""
    keys = [*key, key[0] ^ key[1] ^ 0x1BD11BDAA9FC1A22]
    x = [(counter[0] + keys[0]) & ONES, (counter[1] + keys[1]) & ONES]
    rotations = [16, 42, 12, 31, 16, 32, 24, 21]
    for turn in range(20):
        x[0] = (x[0] + x[1]) & ONES
        left = rotations[turn % 8]
        x[1] = ((x[1] << left | x[1] >> (64 - left)) & ONES) ^ x[0]
        if turn % 4 == 3:
            step = turn // 4 + 1
            x[0] = (x[0] + keys[step % 3]) & ONES
            x[1] = (x[1] + keys[(step + 1) % 3] + step) & ONES
    return x[0], x[1]


def draw(key: tuple[int, int], rows: list[int], number: int) -> list[int]:
    return draw_bits(np.array(key, dtype=np.uint64), np.array(rows, dtype=np.uint64), number).tolist()


@pytest.mark.reference("draw_block")
@pytest.mark.parametrize("counter,key,word", KNOWN, ids=["zeros", "ones", "pi"])
def test_known_answers(counter: tuple[int, int], key: tuple[int, int], word: int) -> None:
    assert threefry(key, counter) == word
    assert draw(key, [counter[0]], counter[1]) == [word]


@given(key=st.tuples(words, words), rows=st.lists(words, max_size=5), number=words)
def test_reference(key: tuple[int, int], rows: list[int], number: int) -> None:
    assert draw(key, rows, number) == [threefry(key, (row, number)) for row in rows]


def test_parallel_equals_serial() -> None:
    key, rows = np.array([3, 4], dtype=np.uint64), np.arange(kernel._PARALLEL_FROM + 10, dtype=np.uint64)
    whole = draw_bits(key, rows)
    parts = [draw_bits(key, part) for part in np.array_split(rows, 7)]
    assert np.array_equal(whole, np.concatenate(parts))


def test_draws_belong_to_row_keys_not_places() -> None:
    key, rows = np.array([9, 9], dtype=np.uint64), np.arange(1000, dtype=np.uint64)
    order = np.random.default_rng(0).permutation(1000)
    assert np.array_equal(draw_bits(key, rows)[order], draw_bits(key, rows[order]))


def test_uniform_numbers_look_uniform() -> None:
    values = draw_uniform(np.array([5, 6], dtype=np.uint64), np.arange(100_000, dtype=np.uint64))
    assert 0.0 <= values.min() < values.max() < 1.0
    counts, _ = np.histogram(values, bins=100, range=(0.0, 1.0))
    # 99 degrees of freedom: mean 99, standard deviation 14; the key is fixed, so this cannot flicker.
    assert 50 < ((counts - 1000) ** 2 / 1000).sum() < 160
    assert abs(np.corrcoef(values[:-1], values[1:])[0, 1]) < 0.01


def test_draws_and_streams_are_unrelated() -> None:
    rows = np.arange(50_000, dtype=np.uint64)
    one, other = np.array([5, 6], dtype=np.uint64), np.array([5, 7], dtype=np.uint64)
    first = draw_uniform(one, rows)
    for second in (draw_uniform(one, rows, 1), draw_uniform(other, rows)):
        assert abs(np.corrcoef(first, second)[0, 1]) < 0.02
        assert not (first == second).any()


@pytest.mark.reference("order_bits")
@pytest.mark.parametrize("distinct", [2**63, 50])
def test_many_bits_are_ordered_as_a_stable_sort_does(distinct: int) -> None:
    bits = np.random.default_rng(5).integers(0, distinct, 100_000, dtype=np.uint64) << np.uint64(1)
    assert np.array_equal(order_by_bits(bits), np.argsort(bits, kind="stable"))
