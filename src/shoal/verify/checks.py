"""Checks that need only the release and its manifest, so that the gate and the re-check share them."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np
import polars as pl

from shoal.results import Check
from shoal.verify.cells import Cells, outside_domain, read_cells
from shoal.verify.claims import Claims, Column
from shoal.verify.classes import Classes, digest_values, order_classes
from shoal.verify.facts import Attribute, Facts
from shoal.verify.values import canonical


def check_columns(frame: pl.DataFrame, claims: Claims) -> Check:
    """The release has exactly the manifest's columns, in that order."""
    extra = [name for name in frame.columns if name not in claims.names]
    lost = [name for name in claims.names if name not in frame.columns]
    detail = f"The release has the manifest's {len(claims.names)} columns, in order."
    if extra:
        detail = f"The release has a column '{extra[0]}' that the manifest does not list."
    elif lost:
        detail = f"The release lacks the column '{lost[0]}'."
    elif frame.columns != claims.names:
        detail = "The release has its columns in another order than the manifest."
    return Check(name="columns", passed=frame.columns == claims.names, detail=detail)


def check_classes(classes: Classes) -> Check:
    """There is at least one class to judge."""
    if not classes.count:
        return Check(name="classes", passed=False, detail="The release has no row in any class.")
    detail = f"{classes.count:,} classes, the smallest {classes.smallest:,} rows."
    return Check(name="classes", passed=True, detail=detail)


def check_cells(claims: Claims, classes: Classes) -> tuple[Check, dict[str, Cells]]:
    """Every quasi-identifier cell can be read as the manifest says and lies inside a declared domain."""
    problems, found = [], {}
    for column in claims.role("quasi"):
        cells = found[column.name] = read_cells(column, classes.cells[column.name][1])
        unreadable, outside = int((~cells.valid).sum()), outside_domain(column, cells)
        if unreadable:
            problems.append(f"{unreadable:,} distinct cells of '{column.name}' are not {_expected(column)}")
        if outside:
            problems.append(f"{outside:,} distinct cells of '{column.name}' leave its declared domain")
    detail = "; ".join(problems) + "." if problems else "Every quasi-identifier cell can be read."
    return Check(name="cells", passed=not problems, detail=detail), found


def check_sensitive(facts: Facts) -> Check:
    """Every known sensitive value fits its column's type, order, hierarchy and declared domain."""
    problems = []
    for column in facts.claims.role("sensitive"):
        attribute = facts.attribute([column.name])
        for fits, what in _demands(column, attribute):
            rows = int((attribute.known & ~fits)[attribute.codes].sum())
            if rows:
                problems.append(f"{rows:,} rows of '{column.name}' hold {what}")
    detail = "; ".join(problems) + "." if problems else "Every sensitive value fits its column's description."
    return Check(name="sensitive values", passed=not problems, detail=detail)


def class_figures(facts: Facts) -> Mapping[str, Any]:
    """Number and size of the classes, and digests of their cells and of each sensitive column's counts."""
    order = order_classes(facts.classes)
    digest = {"quasi": order.digest}
    for column in facts.claims.role("sensitive"):
        histogram, attribute = facts.histogram([column.name]), facts.attribute([column.name])
        digest[column.name] = digest_values(
            order, histogram.group, histogram.value, histogram.rows, attribute.texts
        )
    return {"count": facts.classes.count, "smallest": facts.classes.smallest, "digest": digest}


def no_figures() -> Mapping[str, Any]:
    """Class figures where rows or columns do not even fit together."""
    return {"count": 0, "smallest": 0, "digest": {}}


def _expected(column: Column) -> str:
    return {
        "label": "nodes of its hierarchy",
        "interval": "values or intervals with ends in order",
        "set": "values or sets of values",
        "value": "values",
    }[column.cells]


def _demands(column: Column, attribute: Attribute) -> list[tuple[np.ndarray, str]]:
    found = []
    if column.type in ("numeric", "date"):
        what = "a number" if column.type == "numeric" else "an ISO date"
        found.append((~np.isnan(attribute.numbers), f"something that is not {what}"))
        if column.domain is not None:
            low, high = column.domain
            outside = (attribute.numbers < low) | (attribute.numbers > high)
            found.append((~outside, "something outside its declared domain"))
    if column.type == "ordinal":
        found.append((_is_one_of(attribute, column.order or (), column), "something outside its order"))
    if column.hierarchy is not None:
        leaves = [row[0] for row in column.hierarchy]
        found.append((_is_one_of(attribute, leaves, column), "something that is no leaf of its hierarchy"))
    return found


def _is_one_of(attribute: Attribute, texts: Any, column: Column) -> np.ndarray:
    allowed, _ = canonical(pl.Series(list(texts), dtype=pl.String), column.type)
    return attribute.texts.is_in(allowed.drop_nulls().to_list()).fill_null(False).to_numpy()
