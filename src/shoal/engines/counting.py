"""Group statistics of coded rows, by counting sort and compressed histograms; O(rows) a call."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from shoal.data.stats import Attribute, GroupStats, Histogram
from shoal.data.table import Table
from shoal.kernels.histograms import bucket_rows, histograms, known_sizes, subject_histograms

_NOBODY = np.empty(0, dtype=np.int32)
_NO_FLAGS = np.empty(0, dtype=np.uint8)


def count_groups(table: Table, ids: np.ndarray, groups: int, attributes: Sequence[Attribute]) -> GroupStats:
    """Sizes and histograms of rows grouped by ``ids`` (negative: in no group)."""
    # Maps of classes may number them by any type of integer.
    rows, offsets = bucket_rows(ids.astype(np.int32, copy=False), groups)
    people = table.subjects, table.n_subjects
    found = {one.key: count_values(one, rows, offsets, table.values(one), *people) for one in attributes}
    return GroupStats(sizes=count_people(rows, offsets, table.subjects), rows=np.diff(offsets), histograms=found)


def count_values(
    attribute: Attribute,
    rows: np.ndarray,
    offsets: np.ndarray,
    values: np.ndarray,
    subjects: np.ndarray | None,
    n_subjects: int,
) -> Histogram:
    """How often each value occurs among the rows of every group, which are in its part of ``rows``.

    Parameters
    ----------
    values, subjects
        Of every row its code, and whose it is; people are counted where an attribute is counted by them.
    """
    if attribute.people and subjects is not None:
        indptr, codes, counts = subject_histograms(rows, offsets, values, subjects, n_subjects)
        known = known_sizes(rows, offsets, subjects, attribute.unknown, values)
        return Histogram(indptr, codes, counts, known)
    indptr, codes, counts = histograms(rows, offsets, values, attribute.card)
    known = np.diff(offsets)
    if attribute.unknown.any():
        known = known_sizes(rows, offsets, _NOBODY, attribute.unknown, values)
    return Histogram(indptr, codes, counts, known)


def count_people(rows: np.ndarray, offsets: np.ndarray, subjects: np.ndarray | None) -> np.ndarray:
    """People of every group, or its rows where these are people."""
    return np.diff(offsets) if subjects is None else known_sizes(rows, offsets, subjects, _NO_FLAGS, _NOBODY)
