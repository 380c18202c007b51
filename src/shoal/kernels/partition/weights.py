"""How often what is cut counts: rows once, cells of the frequency table as often as they have rows.

Rows have None in the place of weights, which compiles to nothing.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from shoal.kernels.frozen.price.cells import helper, wide


@helper
def times(weights: np.ndarray | None, i: int) -> int:
    """How often one row or cell counts."""
    if weights is None:
        return wide(1)
    return wide(weights[i])


@helper
def total(weights: np.ndarray | None, lo: int, hi: int) -> int:
    """Rows of a part."""
    if weights is None:
        return wide(hi - lo)
    rows = wide(0)
    for i in range(lo, hi):
        rows += weights[i]
    return rows


@helper
def put(into: Any, at: int, weights: np.ndarray | None, i: int) -> None:
    """Move a weight along with its cell."""
    if weights is not None:
        into[at] = weights[i]
