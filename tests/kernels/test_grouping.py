"""Grouping rows by their codes: the same groups as a dictionary makes, whatever path the kernel takes."""

from __future__ import annotations

from unittest import mock

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from shoal.kernels import _native, grouping
from shoal.kernels.cores import use_cores
from shoal.kernels.grouping import count_about, group_rows, number_keys, pack_keys


def reference(rows: list[tuple[int, ...]]) -> dict[tuple[int, ...], list[int]]:
    found: dict[tuple[int, ...], list[int]] = {}
    for number, row in enumerate(rows):
        found.setdefault(row, []).append(number)
    return found


def assert_same_groups(codes: np.ndarray, cards: list[int]) -> None:
    """The reference's groups, on one core and as if there were rows enough to share out."""
    expected = reference(list(map(tuple, codes.T.tolist())))
    for threshold in (1 << 60, 0):
        with mock.patch.object(grouping, "_PARALLEL_FROM", threshold):
            ids, first, counts = group_rows(codes, np.array(cards, dtype=np.int64))
        assert first.size == counts.size == len(expected)
        for members in expected.values():
            group = ids[members[0]]
            assert (ids[members] == group).all()
            assert (first[group], counts[group]) == (members[0], len(members))


@st.composite
def coded(draw: st.DrawFn) -> tuple[np.ndarray, list[int]]:
    """Few rows of codes in columns of very different sizes, some beyond 64 bits together."""
    cards = draw(st.lists(st.sampled_from([1, 2, 5, 1 << 20, (1 << 31) - 1]), min_size=1, max_size=7))
    n = draw(st.integers(0, 40))
    columns = []
    for card in cards:
        pool = sorted({0, card - 1, card // 2, min(1, card - 1)})
        columns.append(draw(st.lists(st.sampled_from(pool), min_size=n, max_size=n)))
    return np.array(columns, dtype=np.int32).reshape(len(cards), n), cards


@pytest.mark.reference("number_direct")
@given(coded())
def test_few_groups(drawn: tuple[np.ndarray, list[int]]) -> None:
    assert_same_groups(*drawn)


def test_groups_are_numbered_by_first_appearance_when_they_are_few() -> None:
    ids, first, counts = group_rows(np.array([[3, 1, 3, 0, 1]], dtype=np.int32), np.array([4]))
    assert (ids.tolist(), first.tolist(), counts.tolist()) == ([0, 1, 0, 2, 1], [0, 1, 3], [2, 2, 1])


@pytest.mark.parametrize("distinct", [4095, 4096, 4097, 20_000])
def test_many_groups(distinct: int) -> None:
    """Around the limit from which keys are split into parts before they are numbered."""
    rng = np.random.default_rng(distinct)
    values = np.concatenate([rng.permutation(distinct), rng.integers(0, distinct, 5000)])
    assert_same_groups(np.stack([values // 100, values % 100]).astype(np.int32), [distinct // 100 + 1, 100])


@pytest.mark.reference("count_block", "scatter_block", "number_part", "gather_part")
def test_many_groups_beyond_64_bits() -> None:
    rng = np.random.default_rng(1)
    card = (1 << 31) - 1
    pool = rng.integers(0, card, (5, 6000))
    codes = pool[:, rng.integers(0, 6000, 12_000)].astype(np.int32)
    assert_same_groups(codes, [card] * 5)


def test_equal_hashes_do_not_merge_keys() -> None:
    """Keys that differ in their high or low bits only."""
    keys = np.concatenate([np.arange(3000), np.arange(3000) << 32, np.arange(3000) << 50]).astype(np.uint64)
    _, first, counts = number_keys(keys)
    assert first.size == np.unique(keys).size
    assert counts.sum() == keys.size


def test_no_columns_is_one_group() -> None:
    ids, first, counts = group_rows(np.empty((0, 5), dtype=np.int32), np.array([], dtype=np.int64))
    assert (ids.tolist(), first.tolist(), counts.tolist()) == ([0] * 5, [0], [5])


def test_no_rows_are_no_groups() -> None:
    ids, first, counts = group_rows(np.empty((3, 0), dtype=np.int32), np.array([2, 3, 4]))
    assert (ids.size, first.size, counts.size) == (0, 0, 0)


@pytest.mark.reference("pack_block")
def test_keys_are_mixed_radix() -> None:
    keys = pack_keys(np.array([[1, 0], [2, 1], [3, 4]], dtype=np.int32), np.array([2, 3, 5]))
    assert keys.tolist() == [(1 * 3 + 2) * 5 + 3, (0 * 3 + 1) * 5 + 4]


def test_a_limit_above_the_number_of_keys_takes_no_room() -> None:
    ids = np.empty(3, dtype=np.int32)
    found, first, counts = _native.number_direct(np.array([7, 5, 7], dtype=np.uint64), ids, 2**62 - 1)
    assert (found, first.tolist(), counts.tolist(), ids.tolist()) == (2, [0, 1], [2, 1], [0, 1, 0])


def test_the_number_of_cores_changes_nothing() -> None:
    keys = np.random.default_rng(2).integers(0, 30_000, 100_000).astype(np.uint64)
    found = []
    try:
        for threads in (1, 3):
            use_cores(threads)
            found.append(number_keys(keys))
    finally:
        use_cores(None)
    for one, many in zip(found[0], found[-1], strict=True):
        assert np.array_equal(one, many)


@settings(max_examples=20)
@given(st.integers(0, 2**32 - 1))
def test_ids_do_not_depend_on_what_codes_are_called(seed: int) -> None:
    """Renaming the codes of a column leaves the groups as they were."""
    rng = np.random.default_rng(seed)
    codes = rng.integers(0, 50, (3, 200)).astype(np.int32)
    renamed = codes.copy()
    renamed[1] = rng.permutation(50)[codes[1]]
    one, other = group_rows(codes, np.array([50] * 3))[0], group_rows(renamed, np.array([50] * 3))[0]
    assert np.array_equal(one, other)


def mixed(key: int, code: int) -> int:
    """Mix a code into the hash of the columns before it."""
    key = (key + code + 1) % 2**64
    key = (key ^ key >> 32) * 0x9E3779B97F4A7C15 % 2**64
    return key ^ key >> 29


@pytest.mark.reference("mix_block")
@given(st.lists(st.tuples(st.integers(0, 2**64 - 1), st.integers(0, 2**31 - 1)), min_size=1, max_size=20))
def test_codes_are_mixed_into_hashes(drawn: list[tuple[int, int]]) -> None:
    keys, values = zip(*drawn, strict=True)
    hashes, codes = np.array(keys, dtype=np.uint64), np.array(values, dtype=np.int32)
    _native.mix_block(codes, hashes, 1, codes.size)
    assert hashes.tolist() == [drawn[0][0], *(mixed(key, code) for key, code in drawn[1:])]


@given(st.integers(0, 2**32 - 1), st.integers(1, 4), st.integers(1, 60))
def test_few_rows_are_counted_one_by_one(seed: int, columns: int, card: int) -> None:
    codes = np.random.default_rng(seed).integers(0, card, (columns, 300)).astype(np.int32)
    assert count_about(list(codes)) == np.unique(codes, axis=1).shape[1]


@pytest.mark.parametrize("share", [1.0, 0.5, 0.01])
def test_many_rows_are_counted_about(share: float) -> None:
    """Within 5 %, whether rows are all different or most alike; columns that hold the same say no more than one."""
    n = 500_000
    rows = np.random.default_rng(3).integers(0, int(n * share), n)
    columns = [(rows // 1000).astype(np.int32), (rows % 1000).astype(np.int32), (rows % 10).astype(np.int32)]
    assert abs(count_about(columns) / np.unique(rows).size - 1) < 0.05
