"""The different cells of a column, found by their hashes and compared, so that long columns are looked at once."""

from __future__ import annotations

import numpy as np
import polars as pl

from shoal.kernels.grouping import number_key_rows


def number_cells(cells: pl.Series, most: int | None = None) -> tuple[np.ndarray, pl.Series] | None:
    """Number cells as they first come; null is a cell like any other.

    Parameters
    ----------
    most
        Give up where there are more than so many different ones.

    Returns
    -------
    tuple or None
        uint32 number of every cell and the different ones, or None where there are too many.
    """
    numbers, first = number_key_rows(hashes(cells), cells.len() if most is None else most)
    if cells.len() and not first.size:
        return None
    different = cells.gather(first)
    if different.gather(numbers).eq_missing(cells).all():
        return numbers, different
    # Two cells of one hash.
    different = cells.unique(maintain_order=True)
    known = different.alias("cell").to_frame().with_row_index("number")
    joined = cells.alias("cell").to_frame().join(known, on="cell", how="left", nulls_equal=True, maintain_order="left")
    return joined["number"].to_numpy(), different


def hashes(cells: pl.Series) -> np.ndarray:
    """uint64 of every cell, the same for equal ones."""
    return cells.hash().to_numpy()
