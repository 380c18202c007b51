"""The kernels of k^m-anonymity against plain loops, and on the worked example of Terrovitis, Mamoulis & Kalnis."""

from __future__ import annotations

from collections import Counter
from itertools import combinations

import numpy as np
import pytest

from shoal.kernels.itemsets import GONE, anonymise_items, fewest_sharing

# a1 a2 b1 b2 are 0 to 3, A and B above them 4 and 5, everything 6.
PARENT, LEAVES = np.array([4, 4, 5, 5, 6, 6, -1]), np.array([1, 1, 1, 1, 2, 2, 4])
PAPER = [[0, 2, 3], [1, 2], [1, 2, 3], [0, 1, 3]]


def packed(cells: list[list[int]]) -> tuple[np.ndarray, np.ndarray]:
    return np.cumsum([0, *map(len, cells)]), np.array([item for cell in cells for item in cell], dtype=np.int64)


def plain_fewest(cells: list[list[int]], counts: list[int], m: int) -> int:
    found: Counter[tuple[int, ...]] = Counter()
    for cell, count in zip(cells, counts, strict=True):
        labels = sorted({label for label in cell if label >= 0})
        for size in range(1, m + 1):
            for some in combinations(labels, size):
                found[some] += count
    return min(found.values(), default=0)


def test_the_worked_example_generalises_a1_and_a2_and_keeps_b1_and_b2() -> None:
    ptr, items = packed(PAPER)
    made = anonymise_items(np.array([0, 4]), ptr, items, np.ones(4, np.int64), PARENT, LEAVES, 2, 2)
    assert [sorted(set(made[ptr[i] : ptr[i + 1]].tolist())) for i in range(4)] == [[2, 3, 4], [2, 4], [2, 3, 4], [3, 4]]


@pytest.mark.reference("fewest_sharing", "anonymise_items")
def test_kernels_equal_plain_loops_and_every_class_becomes_km_anonymous() -> None:
    generator = np.random.default_rng(5)
    for trial in range(40):
        size, m, k = int(generator.integers(1, 30)), int(generator.integers(1, 4)), int(generator.integers(2, 5))
        cells = [generator.choice(4, int(generator.integers(0, 5)), replace=False).tolist() for _ in range(size)]
        counts = generator.integers(1, 3, size)
        cut = int(generator.integers(0, size + 1))
        groups = np.array([0, cut, size])
        ptr, items = packed(cells)
        parent = PARENT if trial % 2 else np.full(7, -1)
        made = anonymise_items(groups, ptr, items, counts, parent, LEAVES, k, m)
        figures = fewest_sharing(groups, ptr, made, counts, 7, m)
        for group in range(2):
            span = range(groups[group], groups[group + 1])
            mine = [made[ptr[cell] : ptr[cell + 1]].tolist() for cell in span]
            figure = plain_fewest(mine, [counts[cell] for cell in span], m)
            assert figure == figures[group]
            assert figure == 0 or figure >= k
            became = {(item, new) for cell, mine_ in zip(span, mine, strict=True)
                      for item, new in zip(cells[cell], mine_, strict=True)}  # fmt: skip
            assert len({item for item, _ in became}) == len(became)
            assert all(new in (GONE, item, parent[item], 6) for item, new in became)
