"""Sparse histograms: rows and distinct subjects of every value in every group."""

from __future__ import annotations

from collections import Counter

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from shoal.kernels.histograms import bucket_rows, histograms, known_sizes, subject_histograms

NOBODY = np.empty(0, dtype=np.int32)
NO_FLAGS = np.empty(0, dtype=np.uint8)


@st.composite
def grouped(draw: st.DrawFn) -> tuple[np.ndarray, int, np.ndarray, np.ndarray, int]:
    """Group of each row (-1: none), groups, value and subject of each row, values."""
    n, groups, card = draw(st.integers(0, 200)), draw(st.integers(1, 5)), draw(st.sampled_from([1, 3, 200]))
    columns = [
        draw(st.lists(st.integers(low, high), min_size=n, max_size=n))
        for low, high in ((-1, groups - 1), (0, card - 1), (0, 6))
    ]
    ids, values, subjects = (np.array(column, dtype=np.int32) for column in columns)
    return ids, groups, values, subjects, card


def unpacked(indptr: np.ndarray, codes: np.ndarray, counts: np.ndarray) -> list[dict[int, int]]:
    found = []
    for start, stop in zip(indptr[:-1].tolist(), indptr[1:].tolist(), strict=True):
        part = codes[start:stop].tolist()
        assert part == sorted(set(part))
        found.append(dict(zip(part, counts[start:stop].tolist(), strict=True)))
    return found


@given(grouped())
def test_rows_of_each_group(drawn: tuple) -> None:
    ids, groups, *_ = drawn
    rows, offsets = bucket_rows(ids, groups)
    for group in range(groups):
        assert rows[offsets[group] : offsets[group + 1]].tolist() == np.flatnonzero(ids == group).tolist()


@pytest.mark.reference("bucket_rows", "histograms")
@given(grouped())
def test_counting_rows(drawn: tuple) -> None:
    ids, groups, values, _, card = drawn
    found = unpacked(*histograms(*bucket_rows(ids, groups), values, card))
    assert found == [dict(Counter(values[ids == group].tolist())) for group in range(groups)]


@pytest.mark.reference("subject_histograms")
@given(grouped())
def test_counting_people(drawn: tuple) -> None:
    ids, groups, values, subjects, _ = drawn
    found = unpacked(*subject_histograms(*bucket_rows(ids, groups), values, subjects, 7))
    for group in range(groups):
        pairs = set(zip(values[ids == group].tolist(), subjects[ids == group].tolist(), strict=True))
        assert found[group] == dict(Counter(value for value, _ in pairs))


@pytest.mark.reference("known_sizes")
@given(grouped(), st.booleans(), st.booleans())
def test_known_sizes(drawn: tuple, people: bool, flagged: bool) -> None:
    ids, groups, values, subjects, card = drawn
    flags = (np.arange(card) % 2).astype(np.uint8) if flagged else NO_FLAGS
    sizes = known_sizes(*bucket_rows(ids, groups), subjects if people else NOBODY, flags, values)
    for group in range(groups):
        mine = [row for row in np.flatnonzero(ids == group) if not flagged or not flags[values[row]]]
        # Without any subject at all an empty array would mean that rows are people.
        expected = len({subjects[row] for row in mine}) if people and subjects.size else len(mine)
        assert sizes[group] == expected


def test_one_person_with_a_hundred_rows_counts_once() -> None:
    rows = np.arange(100, dtype=np.int32)
    subjects, values = np.zeros(100, dtype=np.int32), np.zeros(100, dtype=np.int32)
    assert known_sizes(rows, np.array([0, 100]), subjects, NO_FLAGS, values).tolist() == [1]
    _, _, counts = subject_histograms(rows, np.array([0, 100]), values, subjects, 1)
    assert counts.tolist() == [1]


@pytest.mark.parametrize("n_subjects", [1 << 20])
def test_pairs_of_value_and_person_do_not_overflow(n_subjects: int) -> None:
    rows = np.arange(3, dtype=np.int32)
    values = np.array([2**31 - 1, 2**31 - 1, 5], dtype=np.int32)
    subjects = np.array([n_subjects - 1, 0, n_subjects - 1], dtype=np.int32)
    _, codes, counts = subject_histograms(rows, np.array([0, 3]), values, subjects, n_subjects)
    assert (codes.tolist(), counts.tolist()) == ([5, 2**31 - 1], [1, 2])
