"""Drawing Anatomy's groups, against the method in plain words."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from shoal.kernels.perturbation import draw_groups


def reference(codes: list[int], l: int) -> list[int]:  # noqa: E741
    """While l buckets hold records, one from each of the l largest, the one whose next record comes first at a tie."""
    buckets: dict[int, list[int]] = {}
    for place, code in enumerate(codes):
        buckets.setdefault(code, []).append(place)
    ids, group = [-1] * len(codes), 0
    while sum(bool(bucket) for bucket in buckets.values()) >= l:
        largest = sorted((bucket for bucket in buckets.values() if bucket), key=lambda b: (-len(b), b[0]))[:l]
        for bucket in largest:
            ids[bucket.pop(0)] = group
        group += 1
    return ids


@pytest.mark.reference("draw_groups")
@given(st.lists(st.integers(0, 6), max_size=60), st.integers(2, 5))
def test_groups_are_the_references(codes: list[int], l: int) -> None:  # noqa: E741
    assert draw_groups(np.array(codes, dtype=np.int32), 7, l).tolist() == reference(codes, l)


@given(st.lists(st.integers(0, 6), min_size=1, max_size=60), st.integers(2, 5))
def test_an_eligible_table_leaves_at_most_one_record_a_value(codes: list[int], l: int) -> None:  # noqa: E741
    """Xiao & Tao's Property 1: no value has more than n / l records, so what is left are single records."""
    counts = np.bincount(codes)
    if counts.max() * l <= len(codes):
        left = np.array(codes)[draw_groups(np.array(codes, dtype=np.int32), 7, l) < 0]
        assert np.unique(left).size == left.size < l
