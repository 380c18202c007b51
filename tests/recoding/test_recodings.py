"""Groups as methods of one's own may give them."""

from __future__ import annotations

import numpy as np
import polars as pl
import pytest

from shoal.data.classes import RowIds
from shoal.engines.memory import MemoryRows
from shoal.recipe.source import read
from shoal.recoding.recoded import apply_recoding
from shoal.recoding.recodings import CellGrouping, Grouping, Recoding


@pytest.mark.parametrize("recoding", [Grouping, CellGrouping])
@pytest.mark.parametrize("values", [[1, 2, 3, 4], ["w", "x", "y", "z"]])
@pytest.mark.parametrize("ids", [np.array([0, 0, 1, 1]), np.array([0, 9, 0, 9, 1, 9, 1, 9], dtype=np.uint16)[::2]])
def test_groups_may_be_numbered_by_any_integers(recoding: type[Recoding], values: list, ids: np.ndarray) -> None:  # type: ignore[type-arg]
    """Numbers of intervals and sets, of other types and with gaps between them in memory."""
    rows = MemoryRows(read(pl.DataFrame({"a": values}), quasi=["a"]))
    made = apply_recoding(rows, recoding(ids=ids, groups=2))
    assert (made.n_classes, made.classes.tolist()) == (2, [0, 0, 1, 1])
    assert RowIds(ids, 2).ids.dtype == np.int32
