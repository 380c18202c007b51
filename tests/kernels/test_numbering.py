"""Numbering keys of 64 bits, and finding combinations among known ones, against dictionaries."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from shoal.kernels.grouping import find_keys, place_keys
from shoal.kernels.grouping import number_key_rows as number_keys

words = st.integers(-(2**63), 2**63 - 1)


@pytest.mark.reference("number_words")
@given(st.lists(st.one_of(st.integers(0, 5), st.integers(0, 2**64 - 1)), max_size=60))
def test_keys_are_numbered_by_first_appearance(keys: list[int]) -> None:
    numbers, first = number_keys(np.array(keys, dtype=np.uint64), 1000)
    expected = {key: number for number, key in enumerate(dict.fromkeys(keys))}
    assert numbers.tolist() == [expected[key] for key in keys]
    assert first.tolist() == [keys.index(key) for key in expected]


@pytest.mark.parametrize("most,known", [(5000, 5000), (4999, 0), (100, 0)])
def test_too_many_different_keys_give_no_numbers(most: int, known: int) -> None:
    """More keys than the first table has room for."""
    keys = np.arange(5000, dtype=np.uint64) * np.uint64(0x9E3779B97F4A7C15)
    numbers, first = number_keys(np.concatenate((keys, keys)), most)
    assert first.tolist() == list(range(known))
    if known:
        assert numbers.tolist() == 2 * list(range(5000))


@pytest.mark.reference("place_keys", "find_keys")
@given(st.integers(1, 3).flatmap(lambda size: st.tuples(*2 * [st.lists(st.tuples(*size * [words]), max_size=20)])))
def test_combinations_are_found_among_known_ones(drawn: tuple[list[tuple], list[tuple]]) -> None:
    known, others = list(dict.fromkeys(drawn[0])), drawn[1]
    size = len((known + others or [(0,)])[0])
    wanted = [*others, *known]
    among, asked = (np.array(rows, dtype=np.int64).reshape(-1, size).T.copy() for rows in (known, wanted))
    table, shift = place_keys(among)
    found = np.full(len(wanted), 7, dtype=np.int64)
    middle = len(wanted) // 2
    for start, stop in ((0, middle), (middle, len(wanted))):
        find_keys(among, table, shift, asked, found, start, stop)
    assert found.tolist() == [known.index(one) if one in known else -1 for one in wanted]


def test_a_full_table_ends_a_search() -> None:
    table, found = np.ones(16, dtype=np.int32), np.zeros(1, dtype=np.int64)
    find_keys(np.zeros((1, 1), dtype=np.int64), table, 60, np.ones((1, 1), dtype=np.int64), found, 0, 1)
    assert found.tolist() == [-1]


def test_combinations_of_other_lengths_are_refused() -> None:
    known = np.arange(6).reshape(2, 3)
    table, shift = place_keys(known)
    with pytest.raises(TypeError, match=r"^find_keys: 'wanted' must have 2 entries. Got 1\.$"):
        find_keys(known, table, shift, known[:1], np.zeros(3, dtype=np.int64), 0, 1)
