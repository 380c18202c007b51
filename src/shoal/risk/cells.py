"""A table from any file, made by any tool: cells are compared as they stand."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import polars as pl

from shoal.errors import SchemaError
from shoal.table.building import build_table
from shoal.table.policies import set_policies
from shoal.table.schema import ColumnSpec, Schema
from shoal.table.table import Table


def as_it_stands(
    frame: pl.DataFrame,
    *,
    quasi: Sequence[str],
    sensitive: Sequence[str] = (),
    subject: str | None = None,
    weight: str | None = None,
    others: Sequence[str] = (),
    neutral: Sequence[str] = (),
    specs: Mapping[str, ColumnSpec] | None = None,
    hierarchies: Mapping[str, Any] | None = None,
    policies: Mapping[str, Any] | None = None,
) -> Table:
    """Code the named columns of a frame, and leave the rest out; ``others`` and ``neutral`` ones are kept uncoded.

    Equal quasi-identifier cells are equal texts, so that ``[20,29]`` is a value like any other, and a missing cell
    is a value of its own.

    Parameters
    ----------
    specs, hierarchies, policies
        Of sensitive columns: settings, a `Hierarchy` (or a function from distinct texts to one), and sensitive ranges
        as `make_policy` reads them.
    """
    for name in hierarchies or ():
        if name not in sensitive:
            raise SchemaError(
                f"There is a hierarchy for '{name}', which is not a sensitive column: cells of quasi-identifiers are "
                "compared as they stand; leave it out."
            )
    schema = Schema(
        quasi=list(quasi),
        sensitive=list(sensitive),
        subject=subject,
        weight=weight,
        drop=list(others),
        neutral=list(neutral),
        specs={**(specs or {}), **{name: ColumnSpec(type="categorical") for name in quasi}},
    )
    used = list(schema.roles())
    missing = [name for name in used if name not in frame.columns]
    table = build_table(
        frame if missing else frame.select(used), schema, hierarchies=hierarchies, missing="value"
    )  # fmt: skip
    return set_policies(table, policies or {})
