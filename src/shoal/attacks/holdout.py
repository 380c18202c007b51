"""People kept back before a release is made: a control of the same population."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import polars as pl

from shoal.data.keys import Keys
from shoal.data.table import Table, iso_dates, take_rows


def hold_out(table: Table, keys: Keys, part: float) -> tuple[Table, pl.DataFrame | None]:
    """Rows to anonymise, and those kept back, by whole people where rows have a subject.

    Parameters
    ----------
    part
        Share of the rows to keep back; None is kept where that would leave nobody on one of the sides.
    """
    who = table.row_keys if table.subjects is None else table.subjects.astype(np.uint64)
    out = keys.uniform("attack control", who) < part
    if not out.any() or out.all():
        return table, None
    rest = take_rows(table, np.flatnonzero(~out))
    kept = iso_dates(take_rows(table, np.flatnonzero(out)))
    if rest.subjects is not None:
        left, subjects = np.unique(rest.subjects, return_inverse=True)
        rest = replace(rest, subjects=subjects.astype(np.int32)).knowing(n_subjects=left.size)
    return replace(rest, n_read=rest.n, n_dropped=0), kept
