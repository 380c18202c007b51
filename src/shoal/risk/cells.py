"""A table from any file, made by any tool: cells are compared as they stand."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from typing import Any

import polars as pl

from shoal.data.build import build_table
from shoal.data.policies import set_policies
from shoal.data.schema import ColumnSpec, Schema
from shoal.data.table import Table
from shoal.errors import SchemaError


def as_it_stands(
    frame: pl.DataFrame,
    schema: Schema,
    *,
    hierarchies: Mapping[str, Any] | None = None,
    policies: Mapping[str, Any] | None = None,
) -> Table:
    """Code the named columns of a frame, and leave the rest out; those to drop are kept uncoded.

    Equal quasi-identifier cells are equal texts, so that ``[20,29]`` is a value like any other, and a missing cell
    is a value of its own.

    Parameters
    ----------
    hierarchies, policies
        Of sensitive columns: a `Hierarchy` (or a function from distinct texts to one), and sensitive ranges as
        `make_policy` reads them.
    """
    standing = Standing(schema=schema, hierarchies=hierarchies or {}, policies=policies or {})
    used = list(standing.schema.roles())
    missing = [name for name in used if name not in frame.columns]
    return standing.table(frame if missing else frame.select(used), standing.schema, name=None)


@dataclass(frozen=True, eq=False, kw_only=True)
class Standing:
    """Columns of any table, whose cells are compared as they stand: see :func:`as_it_stands`."""

    schema: Schema
    hierarchies: Mapping[str, Any] = field(default_factory=dict)
    policies: Mapping[str, Any] = field(default_factory=dict)

    def __post_init__(self) -> None:
        schema = self.schema
        for name in self.hierarchies:
            if name not in schema.sensitive:
                raise SchemaError(
                    f"There is a hierarchy for '{name}', which is not a sensitive column: cells of quasi-identifiers "
                    "are compared as they stand; leave it out."
                )
        specs = {**schema.specs, **{name: ColumnSpec(type="categorical") for name in schema.quasi}}
        object.__setattr__(self, "schema", replace(schema, specs=specs))

    def table(self, frame: pl.DataFrame, schema: Schema, *, name: str | None, often: Any = None) -> Table:
        """The coded table of some rows; how often values occur matters to nothing here."""
        table = build_table(frame, schema, hierarchies=self.hierarchies, missing="value", name=name)
        return set_policies(table, self.policies)
