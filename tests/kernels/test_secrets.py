"""Closeness of all pairs of sensitive codes, against its definition."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from shoal.kernels.rules import EQUAL, LEAVES, POSITIONS
from shoal.kernels.sensitive_ranges import Secrets, fill_near

# Five leaves: two pairs under a node each, all under the root with the last.
TREE = np.array([[0, 1, 2, 3, 4], [0, 0, 1, 1, 2], [0, 0, 0, 0, 0]])
LEAVES_BELOW = np.array([[1, 1, 1, 1, 1], [2, 2, 2, 2, 1], [5, 5, 5, 5, 5]])
PLACES = np.array([0.0, 1.0, 1.5, 4.0, 10.0])
CARD = 5


def closeness(kind: int, x: int, y: int) -> float:
    """1 less the distance of two codes over the width of the domain."""
    if x == y:
        return 1.0
    if kind == EQUAL:
        return 1.0 - 1.0 / (CARD - 1)
    if kind == POSITIONS:
        return 1.0 - abs(PLACES[x] - PLACES[y]) / 10.0
    level = next(level for level in range(3) if TREE[level, x] == TREE[level, y])
    return 1.0 - (LEAVES_BELOW[level, x] - 1) / (CARD - 1)


@pytest.mark.reference("fill_near")
@pytest.mark.parametrize("codes", [np.int16, np.int32])
@given(seed=st.integers(0, 2**32 - 1), kinds=st.lists(st.sampled_from([POSITIONS, LEAVES, EQUAL]), max_size=4))
def test_a_pair_counts_once_for_each_whose_range_holds_the_other(codes: type, seed: int, kinds: list[int]) -> None:
    rng = np.random.default_rng(seed)
    refs = {POSITIONS: PLACES, LEAVES: LEAVES_BELOW.ravel(), EQUAL: PLACES[:0]}
    whole: list[list[int]] = []
    real: list[list[float]] = []
    policies: list[list[int]] = []
    ref: list[float] = []
    tree: list[int] = []
    size = 0
    for place, kind in enumerate(kinds):
        tabled = rng.random() < 0.7
        whole.append([kind, CARD, len(ref), len(tree), place * CARD, size if tabled else -1])
        real.append([1 / 10 if kind == POSITIONS else 1 / (CARD - 1), 1.0, 1.0])
        axis = rng.permutation(CARD)
        low = [int(rng.integers(0, at + 1)) for at in axis]
        high = [int(rng.integers(at, CARD)) for at in axis]
        policies += [list(one) for one in zip(axis.tolist(), low, high, [0] * CARD, strict=True)]
        ref += refs[kind].tolist()
        tree += TREE.ravel().tolist() if kind == LEAVES else []
        size += CARD**2 if tabled else 0
    near = np.full(size, np.nan)
    fill_near(
        Secrets(
            codes=np.empty((0, len(kinds)), dtype=codes),
            whole=np.array(whole, dtype=np.int64).reshape(-1, 6),
            real=np.array(real, dtype=np.float64).reshape(-1, 3),
            policy=np.array(policies, dtype=np.int32).reshape(-1, 4),
            ref=np.array(ref, dtype=np.float64),
            tree=np.array(tree, dtype=np.int32),
            near=near,
        )
    )
    expected = []
    for place, kind in enumerate(kinds):
        if whole[place][5] >= 0:
            mine = policies[place * CARD : (place + 1) * CARD]
            for x in range(CARD):
                for y in range(CARD):
                    holding = sum(mine[a][1] <= mine[b][0] <= mine[a][2] for a, b in ((x, y), (y, x)))
                    expected.append(holding * closeness(kind, x, y))
    assert near == pytest.approx(np.array(expected))
