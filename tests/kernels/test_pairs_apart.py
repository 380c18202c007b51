"""Partners from other areas, against the description of the method."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from shoal.kernels.perturbation import pair_apart


def reference(
    groups: list[list[int]], area: list[int], wanted: list[int], draws: list[float], partner: list[int]
) -> list[int]:
    """Ask the members of a group in turn, from the drawn place on: the first wanted one, or else the first of all."""
    partner = list(partner)
    for group in groups:
        for record in group:
            if not wanted[record] or partner[record] != record:
                continue
            begin = min(int(draws[record] * len(group)), len(group) - 1)
            asked = group[begin:] + group[:begin]
            free = [other for other in asked if partner[other] == other and area[other] != area[record]]
            free.sort(key=lambda other: not wanted[other])  # stable
            if free:
                partner[record], partner[free[0]] = free[0], record
    return partner


@pytest.mark.reference("pair_apart")
@given(st.integers(0, 2**32 - 1), st.integers(0, 40), st.integers(1, 6))
def test_partners_are_the_references(seed: int, n: int, most: int) -> None:
    rng = np.random.default_rng(seed)
    group, area = rng.integers(0, most, n), rng.integers(0, 3, n).astype(np.int32)
    members = np.argsort(group, kind="stable")
    starts = np.append(np.flatnonzero(np.diff(group[members], prepend=-1)), n)
    groups = [members[a:b].tolist() for a, b in zip(starts[:-1], starts[1:], strict=True)]
    partner = np.arange(n)
    for _ in range(2):  # the second time some have a partner already
        wanted, draws = rng.integers(0, 2, n).astype(np.uint8), np.minimum(rng.random(n) * 1.1, 1.0)
        expected = reference(groups, area.tolist(), wanted.tolist(), draws.tolist(), partner.tolist())
        pair_apart(members, starts, area, wanted, draws, partner)
        assert partner.tolist() == expected
