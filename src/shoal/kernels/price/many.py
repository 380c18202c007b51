"""Price the cells of many groups at a time."""

from __future__ import annotations

import numpy as np

from shoal.kernels import _native
from shoal.kernels.price.cells import Prices


def widest_columns(p: Prices, codes: np.ndarray, starts: np.ndarray) -> np.ndarray:
    """Find the column that costs each group most, of equals the first, in O(columns times records).

    ``codes`` is int32 (columns, records), group after group; ``starts`` is int64 (groups + 1).
    """
    out = np.empty(starts.size - 1, dtype=np.int64)
    _native.widest_columns(p, codes, starts, out)
    return out
