"""Which class a combination of quasi-identifier codes is in."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from shoal.kernels.grouping import group_rows
from shoal.table.classmap import Nodes


def classes_of(classes: Nodes, codes: np.ndarray, quasi: Sequence[str]) -> np.ndarray:
    """int32 class of combinations of codes by the nodes above them, -1 for those of none.

    Parameters
    ----------
    codes
        int32, shape (columns, combinations).
    quasi
        The columns, in schema order.
    """
    mine = np.stack([classes.nodes[name][codes[at]] for at, name in enumerate(quasi)])
    both = np.concatenate([classes.keys, mine.astype(np.int32)], axis=1)
    found, _, _ = group_rows(both, both.max(axis=1, initial=0) + 1)
    listed, cells = found[: classes.groups], found[classes.groups :]
    number = np.full(int(found.max(initial=-1)) + 1, -1, dtype=np.int32)
    number[listed] = np.arange(classes.groups, dtype=np.int32)
    return number[cells]
