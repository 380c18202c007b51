"""Group statistics of coded rows, by counting sort and compressed histograms; O(rows) a call."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from shoal.kernels.count.histograms import bucket_rows, histograms, known_sizes, subject_histograms
from shoal.table.stats import Attribute, GroupStats, Histogram
from shoal.table.table import Table

_NOBODY = np.empty(0, dtype=np.int32)
_NO_FLAGS = np.empty(0, dtype=np.uint8)


def count_groups(table: Table, ids: np.ndarray, groups: int, attributes: Sequence[Attribute]) -> GroupStats:
    """Sizes and histograms of rows grouped by ``ids`` (negative: in no group)."""
    rows, offsets = bucket_rows(ids, groups)
    tallies = np.diff(offsets)
    sizes = tallies
    if table.subjects is not None:
        sizes = known_sizes(rows, offsets, table.subjects, _NO_FLAGS, _NOBODY)
    found = {one.key: _histogram(table, one, rows, offsets, tallies) for one in attributes}
    return GroupStats(sizes=sizes, rows=tallies, histograms=found)


def _histogram(
    table: Table, attribute: Attribute, rows: np.ndarray, offsets: np.ndarray, tallies: np.ndarray
) -> Histogram:
    values = table.values(attribute)
    if attribute.people and table.subjects is not None:
        indptr, codes, counts = subject_histograms(rows, offsets, values, table.subjects, table.n_subjects)
        known = known_sizes(rows, offsets, table.subjects, attribute.unknown, values)
        return Histogram(indptr, codes, counts, known)
    indptr, codes, counts = histograms(rows, offsets, values, attribute.card)
    known = tallies
    if attribute.unknown.any():
        known = known_sizes(rows, offsets, _NOBODY, attribute.unknown, values)
    return Histogram(indptr, codes, counts, known)
