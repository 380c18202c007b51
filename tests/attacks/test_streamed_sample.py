"""Which rows of a stream attacks are tried on: by their keys to the last bit, or by their groups."""

from __future__ import annotations

from types import SimpleNamespace
from typing import Any

import numpy as np

from shoal.data.keys import Keys
from shoal.release.attack_sample import _chosen


def test_rows_in_no_group_are_drawn_by_their_own_keys() -> None:
    keys = Keys.from_seed(3)
    mine = np.uint64(2**64 - 1) - np.arange(400, dtype=np.uint64)  # which no decimal number tells apart
    released: Any = SimpleNamespace(
        domain=SimpleNamespace(schema=SimpleNamespace(subject=None, pseudonym=())),
        made=SimpleNamespace(has=lambda trait: True),
    )
    batch: Any = SimpleNamespace(keys=mine)
    found = _chosen(released, keys, 0.5)(batch, np.full(400, -1, dtype=np.int32))
    expected = np.flatnonzero(keys.bits("attack sample", mine) < np.uint64(2**63))
    assert found.tolist() == expected.tolist()
    assert 100 < found.size < 300
    together = _chosen(released, keys, 0.5)(batch, np.repeat(np.arange(4, dtype=np.int32), 100))
    assert together.size % 100 == 0
