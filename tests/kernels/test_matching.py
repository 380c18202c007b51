"""Matches by bit sets against comparing every pair."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from shoal.kernels.record_match import WORD, count_matches, cover_bits, list_matches


@pytest.mark.reference("cover_bits", "count_matches", "list_matches")
@given(st.integers(0, 2**32 - 1), st.integers(1, 4), st.integers(1, 150), st.integers(0, 40), st.integers(1, 3))
def test_the_bit_sets_find_what_comparing_every_pair_finds(
    seed: int, columns: int, classes: int, people: int, words: int
) -> None:
    rng = np.random.default_rng(seed)
    atoms = rng.integers(1, 9, size=columns)
    covered: list[list[set[int]]] = []
    low: list[int] = []
    high: list[int] = []
    run_at: list[int] = []
    cell_at: list[int] = []
    for count in atoms.tolist():
        cell_at.append(len(run_at))
        mine = []
        for _ in range(5):
            run_at.append(len(low))
            cell: set[int] = set()
            for _ in range(int(rng.integers(0, 3))):
                first, last = sorted(rng.integers(0, count, size=2).tolist())
                low.append(first)
                high.append(last)
                cell |= set(range(first, last + 1))
            mine.append(cell)
        run_at.append(len(low))
        covered.append(mine)
    cells = rng.integers(0, 5, size=(columns, classes)).astype(np.int32)
    who = np.stack([rng.integers(0, count, size=people) for count in atoms], axis=1).astype(np.int32)
    weight = rng.integers(1, 10, size=classes).astype(np.float64)
    expected = [
        [c for c in range(classes) if all(who[p, j] in covered[j][cells[j, c]] for j in range(columns))]
        for p in range(people)
    ]

    atom_at = np.cumsum([0, *atoms])[:-1]
    bits = np.zeros((int(atoms.sum()), words), dtype=np.uint64)
    runs = (np.array(run_at), np.array(low, dtype=np.int32), np.array(high, dtype=np.int32))
    found, listed = np.zeros(people), [[] for _ in range(people)]
    for first in range(0, classes, words * WORD):
        last = min(classes, first + words * WORD)
        cover_bits(cells, first, last, np.array(cell_at), *runs, atom_at, bits)
        total = count_matches(who, atom_at, bits, first, weight, found)
        pairs = np.empty((2, total), dtype=np.int32)
        list_matches(who, atom_at, bits, first, pairs)
        for p, c in pairs.T.tolist():
            listed[p].append(c)
    assert listed == expected
    assert found.tolist() == [weight[mine].sum() for mine in expected]
