"""Generalising the items of cells class by class, so that up to m of them are shared by k records or by none.

It follows the recoding of quasi-identifiers: classes are given, and every item of a class becomes the same node in all
of its records, or nothing. Suppressing other classes changes nothing of that.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from math import comb

import numpy as np
import polars as pl

from shoal.data.coding import Items
from shoal.data.column import Column
from shoal.data.stats import Histogram, counted_by_rows
from shoal.errors import ParameterError
from shoal.kernels.itemsets import anonymise_items, fewest_sharing
from shoal.recoding.recoded import Released
from shoal.recoding.rewriting import ByRow

_MOST = 1 << 27  # combinations of items of one class that are counted at a time
_WIDEST = 1 << 62


@dataclass(frozen=True, kw_only=True)
class Asked:
    """What is asked of a column of items."""

    name: str
    k: int
    m: int


def with_items(released: Released, asked: Sequence[Asked]) -> Released:
    """The same release with the items of some columns generalised, and how few records share up to m of them."""
    rewriting, shared, facts = dict(released.rewriting), dict(released.shared), dict(released.items)
    for one in asked:
        column = released.domain.columns[one.name]
        items, counted = Items(column), _counted(released, column)
        ptr, leaves = items.of(counted.codes)
        _refuse_many(one, counted.indptr, ptr, len(items.labels))
        nodes = anonymise_items(
            counted.indptr, ptr, leaves, counted.counts, items.parent, items.leaves, one.k, one.m
        )  # fmt: skip
        texts = items.texts(ptr, nodes)
        classes, codes = released.classes, released.table.codes[one.name].astype(np.int64)
        group = np.repeat(np.arange(released.n_classes), np.diff(counted.indptr))
        known = group * column.card + counted.codes  # ascending: classes in turn, and the codes of each
        place = np.searchsorted(known, np.maximum(classes, 0) * column.card + codes)
        place = np.minimum(place, known.size - 1)
        cells = texts.gather(place).alias(one.name)
        cells = cells if column.missing < 0 else cells.set(pl.Series(codes == column.missing), None)
        rewriting[one.name] = ByRow({one.name: cells})
        figures = fewest_sharing(counted.indptr, ptr, nodes, counted.counts, len(items.labels), one.m)
        shared[one.name, one.m] = np.where(figures == 0, np.nan, figures)
        facts[one.name] = _facts(one, items, counted, ptr, leaves, nodes)
    return replace(released, rewriting=rewriting, shared=shared, items=facts)


def _counted(released: Released, column: Column) -> Histogram:
    one = counted_by_rows(column)
    return released.rows.stats(released.classmap, [one]).histograms[one.key]


def _refuse_many(one: Asked, groups: np.ndarray, ptr: np.ndarray, labels: int) -> None:
    """Refuse combinations that nobody could count."""
    lengths = np.diff(ptr)
    each = np.array([comb(n, one.m) for n in range(int(lengths.max(initial=0)) + 1)], dtype=np.float64)[lengths]
    most = float(np.add.reduceat(np.append(each, 0.0), groups[:-1]).max(initial=0.0)) if groups.size > 1 else 0.0
    if most > _MOST or (labels + 1) ** one.m >= _WIDEST:
        raise ParameterError(
            f"The cells of '{one.name}' have up to {int(lengths.max(initial=0)):,} items, and too many combinations of "
            f"{one.m} of them to be counted: lower the m of model 'k-m'."
        )


def _facts(
    one: Asked, items: Items, counted: Histogram, ptr: np.ndarray, leaves: np.ndarray, nodes: np.ndarray
) -> dict[str, float]:
    """What became of the items, for the evidence: shares of all that records have, and what one more item tells."""
    times = np.repeat(counted.counts, np.diff(ptr)).astype(np.float64)
    total, top = max(float(times.sum()), 1.0), int(items.leaves[-1])
    gone = nodes < 0
    spread = np.where(gone, top, items.leaves[np.maximum(nodes, 0)])
    loss = (spread - 1) / max(top - 1, 1)
    found: dict[str, float] = {
        "k": one.k,
        "m": one.m,
        "items": int(np.unique(leaves).size),
        "kept": float(times[nodes == leaves].sum() / total),
        "coarser": float(times[~gone & (nodes != leaves)].sum() / total),
        "suppressed": float(times[gone].sum() / total),
        "loss": float((times * np.where(gone, 1.0, loss)).sum() / total),
    }
    more = one.m + 1
    if (len(items.labels) + 1) ** more < _WIDEST and sum(comb(int(n), more) for n in np.diff(ptr)) <= _MOST:
        figures = fewest_sharing(counted.indptr, ptr, nodes, counted.counts, len(items.labels), more)
        found["fewest_beyond"] = int(figures[figures > 0].min(initial=int(counted.counts.sum())))
    return found
