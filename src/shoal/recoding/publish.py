"""From a coded release to the frame that may be published."""

from __future__ import annotations

import numpy as np
import polars as pl

from shoal.recoding.released import Released
from shoal.table.keys import Keys
from shoal.table.table import Table


def released_columns(table: Table) -> list[str]:
    """Columns of a release in the order of the source."""
    wanted = set(table.schema.released)
    return [name for name in table.frame.columns if name in wanted]


def publish(
    released: Released, keys: Keys, *, suppressed: str, order: str
) -> tuple[pl.DataFrame, np.ndarray]:
    """The frame to publish and the input row of each of its rows.

    Quasi-identifiers are text, whatever they were. Sensitive and neutral columns keep their type, except that a
    release with starred rows is all text.
    """
    table = released.table
    rows = np.arange(table.n) if order == "kept" else keys.shuffle("release order", table.row_keys)
    if suppressed == "drop":
        rows = rows[released.classes[rows] >= 0]
    star = released.classes[rows] < 0
    kept = np.where(star, 0, rows)
    cells = released.quasi_texts(rows[~star]) if not star.any() else _starred(released, rows, star)
    columns = []
    for name in released_columns(table):
        if name in cells:
            columns.append(cells[name])
            continue
        values = true_values(table, name).gather(kept)
        columns.append(_stars(values, star) if star.any() else values.alias(name))
    return pl.DataFrame(columns), rows


def true_values(table: Table, name: str) -> pl.Series:
    """A sensitive or neutral column as it is published: canonical text for text sources, else its own type."""
    series = table.frame[name]
    column = table.columns.get(name)
    if column is None or series.dtype != pl.String:
        return series
    texts = column.texts
    if column.missing >= 0:
        texts = texts.clone()
        texts[column.missing] = None
    return texts.gather(column.codes).alias(name)


def _starred(released: Released, rows: np.ndarray, star: np.ndarray) -> dict[str, pl.Series]:
    index = np.where(star, 0, released.classes[rows])
    return {
        name: _stars(column.texts().gather(index).alias(name), star)
        for name, column in released.cells.items()
    }


def _stars(values: pl.Series, star: np.ndarray) -> pl.Series:
    text = values.cast(pl.String)
    flags = pl.Series(star)
    return pl.select(pl.when(flags).then(pl.lit("*")).otherwise(text)).to_series().alias(values.name)
