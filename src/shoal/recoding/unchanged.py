"""Recodings that generalise nothing: which released rows look the same, and what is published instead of values."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

import numpy as np
import polars as pl

from shoal.kernels.count.grouping import group_rows
from shoal.recoding.recodings import Bucketed, Rewritten
from shoal.table.column import Column
from shoal.table.table import Table


@dataclass(frozen=True, eq=False, kw_only=True)
class Exact:
    """The classes of a release whose cells are values.

    Attributes
    ----------
    classes, n_classes
        int32 class of each row (-1: suppressed), and their number: rows of equal released quasi-identifiers, or the
        published groups of a bucketised release.
    leaves
        Quasi-identifier to the code that each class publishes; of a group the code of one member. Empty for centroids,
        which are no codes.
    written
        Column to what is published instead of its values, one entry a row.
    """

    classes: np.ndarray
    n_classes: int
    leaves: Mapping[str, np.ndarray]
    written: Mapping[str, pl.Series]


def exact_classes(table: Table, recoding: Rewritten | Bucketed) -> Exact:
    """Number the classes that models judge."""
    if isinstance(recoding, Bucketed):
        groups, first, at = np.unique(recoding.ids, return_index=True, return_inverse=True)
        dropped = int((groups < 0).sum())
        return _of(table.quasi, table.quasi_codes, (at - dropped).astype(np.int32), first[dropped:], {})
    if recoding.kind == "microaggregated":
        return _centroids(table, recoding)
    codes, written = table.quasi_codes, dict(recoding.columns)
    if recoding.kind == "randomised":
        codes = np.stack([recoding.quasi[name] for name in table.schema.quasi])
        written |= {column.name: values_of(table, column, codes[at]) for at, column in enumerate(table.quasi)}
    ids, first, _ = group_rows(codes, np.array([column.card for column in table.quasi]))
    return _of(table.quasi, codes, ids, first, written)


def values_of(table: Table, column: Column, codes: np.ndarray) -> pl.Series:
    """Values of codes that occur, as true values are published: in the column's own type, text as canonical text."""
    source = table.frame[column.name]
    if source.dtype != pl.String:
        row = np.zeros(column.card, dtype=np.int64)
        row[table.codes[column.name]] = np.arange(table.n)
        return source.gather(row[codes])
    texts = column.texts
    if column.missing >= 0:
        texts = texts.clone()
        texts[column.missing] = None
    return texts.gather(codes).alias(column.name)


def _of(
    columns: list[Column], codes: np.ndarray, ids: np.ndarray, first: np.ndarray, written: Mapping[str, pl.Series]
) -> Exact:
    leaves = {column.name: codes[place][first] for place, column in enumerate(columns)}
    return Exact(classes=ids.astype(np.int32), n_classes=first.size, leaves=leaves, written=written)


def _centroids(table: Table, recoding: Rewritten) -> Exact:
    """Rows that publish the same centroid, whatever groups they came from."""
    published = pl.DataFrame([recoding.columns[name] for name in table.schema.quasi])
    ranks = published.select(pl.all().rank("dense").fill_null(0).cast(pl.Int32)).to_numpy().T
    ids, first, _ = group_rows(np.ascontiguousarray(ranks), ranks.max(axis=1, initial=0) + 1)
    if recoding.ids is not None:
        kept = recoding.ids >= 0
        _, ids[kept] = np.unique(ids[kept], return_inverse=True)
        ids = np.where(kept, ids, -1)
    count = int(ids.max(initial=-1)) + 1
    return Exact(classes=ids.astype(np.int32), n_classes=count, leaves={}, written=dict(recoding.columns))
