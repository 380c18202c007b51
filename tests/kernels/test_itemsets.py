"""Kernels of association rules against plain loops."""

from __future__ import annotations

import numpy as np
import pytest

from shoal.kernels.itemsets import cross_counts, narrow

# Two columns: cells 0 to 2 stand for items 0 and 1, cells 3 and 4 for items 2 to 4; cell 2 for none that is frequent.
COVERS = [[(0, 1.0)], [(0, 0.5), (1, 0.5)], [], [(2, 1.0)], [(3, 0.25), (4, 0.75)]]
AT = np.cumsum([0, *map(len, COVERS)])
ITEM = np.array([item for cover in COVERS for item, _ in cover])
SHARE = np.array([share for cover in COVERS for _, share in cover])


@pytest.mark.reference("cross_counts", "narrow")
@pytest.mark.parametrize("begin", [0, 1])
def test_cross_counts_and_narrow(begin: int) -> None:
    rng = np.random.default_rng(begin)
    cells = np.stack([rng.integers(0, 3, 30), rng.integers(3, 5, 30)]).astype(np.int32)
    target = rng.integers(0, 3, 30).astype(np.int32)
    rows, weight = np.flatnonzero(rng.random(30) < 0.7), rng.random(30)
    weight = weight[rows]
    expected = np.zeros((5, 3))
    for row, much in zip(rows, weight, strict=True):
        for column in range(begin, 2):
            for item, share in COVERS[cells[column, row]]:
                expected[item, target[row]] += much * share
    found = np.full((5, 3), np.nan)
    cross_counts(rows, weight, begin, cells, AT, ITEM, SHARE, target, found)
    assert found == pytest.approx(expected, abs=1e-12)
    kept, much = narrow(rows, weight, cells[0], AT, ITEM, SHARE, 0)
    shares = [dict(COVERS[cells[0, row]]).get(0, 0.0) for row in rows]
    assert kept.tolist() == [row for row, share in zip(rows, shares, strict=True) if share]
    assert much == pytest.approx([a * b for a, b in zip(weight, shares, strict=True) if b])


def test_an_item_that_a_cell_has_twice_counts_once_with_both_shares() -> None:
    at, item, share = np.array([0, 3]), np.array([0, 1, 0]), np.array([0.25, 0.5, 0.25])
    cells = np.zeros(2, dtype=np.int32)
    kept, weight = narrow(np.array([0, 1]), np.array([1.0, 2.0]), cells, at, item, share, 0)
    assert (kept.tolist(), weight.tolist()) == ([0, 1], [0.5, 1.0])
