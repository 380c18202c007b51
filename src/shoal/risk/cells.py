"""A table from any file, made by any tool: cells are compared as they stand."""

from __future__ import annotations

from collections.abc import Sequence

import polars as pl

from shoal.table.schema import ColumnSpec, Schema
from shoal.table.table import Table, build_table


def as_it_stands(
    frame: pl.DataFrame,
    *,
    quasi: Sequence[str],
    sensitive: Sequence[str] = (),
    subject: str | None = None,
    weight: str | None = None,
    others: Sequence[str] = (),
) -> Table:
    """Code the named columns of a frame, and leave the rest out; ``others`` are kept uncoded.

    Equal quasi-identifier cells are equal texts, so that ``[20,29]`` is a value like any other, and a missing cell
    is a value of its own.
    """
    schema = Schema(
        quasi=list(quasi),
        sensitive=list(sensitive),
        subject=subject,
        weight=weight,
        drop=list(others),
        specs={name: ColumnSpec(type="categorical") for name in quasi},
    )
    used = list(schema.roles())
    missing = [name for name in used if name not in frame.columns]
    return build_table(frame if missing else frame.select(used), schema, missing="value")
