"""A first hierarchy for a quasi-identifier: the best that a rule describes, as `shoal hierarchy suggest` finds it."""

from __future__ import annotations

import polars as pl

from shoal.data.coding import canonical_text
from shoal.data.hierarchy_suggest import Suggestion, suggest
from shoal.starting.columns import Facts

_MOST_VALUES = 20_000


def tree_of(one: Facts) -> Suggestion | None:
    """How a column could be generalised; None where as it is, and not at all, will do."""
    if one.order or not 2 < one.distinct <= _MOST_VALUES:
        return None
    found = suggest(one.name, _counts(one), type=one.type)
    return next((each for each in found if each.by_rule), None)


def _counts(one: Facts) -> dict[str, int]:
    """How often each value occurs, by its canonical text."""
    values = one.values["value"]
    if one.type == "date":
        text = values.dtype == pl.String
        days = values.str.to_date(one.formats[0] if one.formats else "%Y-%m-%d", strict=False) if text else values
        values = days.cast(pl.Date)
    counted = one.values.with_columns(value=canonical_text(values)).drop_nulls()
    return dict(counted.group_by("value").agg(pl.col("rows").sum()).sort("value").rows())
