"""The risk of being found, before a table was anonymised and after: what an auditor compares."""

from __future__ import annotations

import numpy as np
import polars as pl

from shoal.recoding.publish import Published
from shoal.results import Risk
from shoal.risk.classes import Classes, group_table, people
from shoal.risk.reidentify import marketer_figures, prosecutor_figures
from shoal.table.styles import file_columns
from shoal.table.table import Table

_THRESHOLD = 0.2
_STAR = "*"


def before_and_after(table: Table, published: Published) -> dict[str, dict[str, Risk]]:
    """Figures of prosecutor and marketer by quasi-identifiers: as they were read, and as they are published.

    Counterfeits, the last rows of the table, and rows that are starred throughout are nobody. Private: the first says
    something about suppressed people.
    """
    real = table.n - table.counterfeits
    read = group_table(table)[0][:real]
    columns = [name for column in table.quasi for name in file_columns(column) if name in published.frame.columns]
    shown = _alike(published.frame.select(columns))
    kept = published.source < real
    if all(kind == pl.String for kind in published.frame.dtypes):
        starred = published.frame.select(pl.all_horizontal((pl.all() == _STAR).fill_null(False))).to_series()
        kept &= ~starred.to_numpy()
    return {
        "before": _figures(table, read, np.arange(real)),
        "after": _figures(table, shown[kept], published.source[kept]),
    }


def _alike(frame: pl.DataFrame) -> np.ndarray:
    """The same number for rows that look the same."""
    if not frame.width:
        return np.zeros(frame.height, dtype=np.int64)
    return frame.select(pl.int_range(pl.len()).first().over(frame.columns)).to_series().to_numpy()


def _figures(table: Table, ids: np.ndarray, rows: np.ndarray) -> dict[str, Risk]:
    if not ids.size:
        return {}
    _, first, numbers, counts = np.unique(ids, return_index=True, return_inverse=True, return_counts=True)
    if table.subjects is not None:
        counts = people(numbers, table.subjects[rows], table.n_subjects, first.size)
    classes = Classes(ids=numbers, sizes=counts.astype(np.int64), first=first)
    return prosecutor_figures(classes, _THRESHOLD) | marketer_figures(classes, {})
