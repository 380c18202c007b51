"""Kernels of count queries against plain loops."""

from __future__ import annotations

import numpy as np
import pytest

from shoal.kernels.queries import cell_chances, exact_counts, expected_counts


@pytest.mark.reference("cell_chances")
def test_cell_chances_are_shares_of_asked_values() -> None:
    rng = np.random.default_rng(1)
    asked = rng.integers(0, 2, (20, 9)).astype(np.uint8)
    covers = [[0], [2, 3, 4], [0, 4, 8], list(range(9)), [7, 8]]
    at, code = np.cumsum([0, *map(len, covers)]), np.concatenate(covers).astype(np.int32)
    expected = [[np.mean([row[value] for value in cover]) for cover in covers] for row in asked]
    assert cell_chances(asked, at, code) == pytest.approx(np.array(expected), abs=1e-15)


def test_a_cell_of_no_values_has_no_chance() -> None:
    asked = np.ones((1, 2), dtype=np.uint8)
    found = cell_chances(asked, np.array([0, 0, 2, 2]), np.array([0, 1], dtype=np.int32))
    assert np.array_equal(found, [[np.nan, 1.0, np.nan]], equal_nan=True)


@pytest.mark.reference("expected_counts")
def test_expected_counts_sum_over_groups() -> None:
    rng = np.random.default_rng(2)
    chance = rng.choice([0.0, 0.25, 1.0], (15, 12))
    left_at, right_at = np.array([0, 2, 5, 6]), np.array([0, 1, 4, 6])
    # Two columns on the left (cells 0 to 7), one on the right (8 to 11).
    left = np.stack([rng.integers(0, 4, 6), rng.integers(4, 8, 6)], axis=1).astype(np.int32)
    right = rng.integers(8, 12, (6, 1)).astype(np.int32)
    left_rows, right_rows = np.array([1.0, 2, 1, 1, 3, 4]), np.array([3.0, 2, 2, 1, 1, 3])
    order = np.array([[1, 0], [0, 1], [0, -1], [1, -1], [-1, -1]] * 3, dtype=np.int32)
    found = expected_counts(chance, order, left_at, left, left_rows, right_at, right, right_rows)
    for q in range(15):
        total = 0.0
        for g in range(3):
            mine, theirs = range(left_at[g], left_at[g + 1]), range(right_at[g], right_at[g + 1])
            seen = sum(left_rows[i] * np.prod([chance[q, left[i, j]] for j in order[q] if j >= 0]) for i in mine)
            held = sum(right_rows[i] * chance[q, right[i, 0]] for i in theirs)
            total += seen * held / right_rows[theirs].sum()
        assert found[q] == pytest.approx(total, abs=1e-12)


@pytest.mark.reference("exact_counts")
@pytest.mark.parametrize("rows", [1, 64, 150])
def test_exact_counts_count_rows(rows: int) -> None:
    rng = np.random.default_rng(rows)
    cards = [2, 7, 5]
    codes = np.stack([rng.integers(0, card, rows) for card in cards]).astype(np.int32)
    first = np.cumsum([0, *cards])
    asked = rng.integers(0, 2, (30, first[-1])).astype(np.uint8)
    asked[:5, first[1] : first[2]] = 1
    bit_at = np.array([0, -1, 2])  # the middle column has too many values for bits
    words = (rows + 63) // 64
    bits = np.zeros((7, words), dtype=np.uint64)
    for at, column in ((0, 0), (2, 2)):
        for row in range(rows):
            bits[at + codes[column, row], row // 64] |= np.uint64(1) << np.uint64(row % 64)
    expected = [sum(all(one[first[j] + codes[j, i]] for j in range(3)) for i in range(rows)) for one in asked]
    assert exact_counts(asked, first, codes, bits, bit_at).tolist() == expected
