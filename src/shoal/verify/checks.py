"""Checks that need only the release and its manifest, so that the gate and the re-check share them."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
import polars as pl

from shoal.verify.cells import Cells, outside_domain, read_cells
from shoal.verify.claims import Claims, Column
from shoal.verify.classes import Classes, Look, digest_values, order_classes
from shoal.verify.coded import Coded
from shoal.verify.facts import Attribute, Facts
from shoal.verify.items import labels, paths, well_written
from shoal.verify.tally import Counts, Dictionary
from shoal.verify.types import Check
from shoal.verify.values import canonical

# What a release needs to have been accepted, by how its quasi-identifiers are published.
_CODES = {"randomised": "W-RA-LINK", "pseudonymised": "W-PP-REV", "bucketised": "W-EXACT-QI",
          "perturbed": "W-PERTURBED"}  # fmt: skip


def check_columns(columns: Sequence[str], apart: Sequence[str] | None, claims: Claims) -> list[Check]:
    """The release has exactly the manifest's columns, in that order, in one table or in two."""
    checks = [_check_columns("columns", "The release", columns, claims.files)]
    if claims.apart or apart is not None:
        checks.append(_check_columns("sensitive columns", "The table of sensitive values", apart or (), claims.apart))
    return checks


def _check_columns(name: str, where: str, found: Sequence[str], wanted: Sequence[str]) -> Check:
    extra = [one for one in found if one not in wanted]
    lost = [one for one in wanted if one not in found]
    detail = f"{where} has the manifest's {len(wanted)} columns, in order."
    if extra:
        detail = f"{where} has a column '{extra[0]}' that the manifest does not list."
    elif lost:
        detail = f"{where} lacks the column '{lost[0]}'."
    elif list(found) != list(wanted):
        detail = f"{where} has its columns in another order than the manifest."
    return Check(name=name, passed=list(found) == list(wanted), detail=detail)


def check_codes(manifest: Mapping[str, Any], claims: Claims) -> Check:
    """The publisher accepted what a kind of release does not protect, by its warning code."""
    needed = [_CODES[claims.made]] if claims.made in _CODES else []
    if claims.made != "pseudonymised" and any(column.coded in ("graded", "mapping") for column in claims.columns):
        needed.append(_CODES["pseudonymised"])
    if any(column.coded == "token" for column in claims.columns):
        needed.append("W-TRAJECTORY")
    lost = [code for code in needed if code not in manifest.get("acknowledged", ())]
    fine = f"What this kind of release needs is acknowledged: {', '.join(needed) or 'nothing'}."
    detail = f"The release is {claims.kind}, and '{lost[0]}' is not acknowledged." if lost else fine
    return Check(name="warning codes", passed=not lost, detail=detail)


def check_classes(classes: Classes) -> Check:
    """There is at least one class to judge."""
    if not classes.count:
        return Check(name="classes", passed=False, detail="The release has no row in any class.")
    detail = f"{classes.count:,} classes, the smallest {classes.smallest:,} rows."
    return Check(name="classes", passed=True, detail=detail)


def check_cells(claims: Claims, classes: Classes) -> tuple[Check, dict[str, Cells]]:
    """Every quasi-identifier cell can be read as the manifest says and lies inside a declared domain."""
    problems, found = [], {}
    for column in claims.role("quasi") if claims.made == "generalised" else ():
        cells = found[column.name] = read_cells(column, classes.cells[column.name][1])
        unreadable, outside = int((~cells.valid).sum()), outside_domain(column, cells)
        if unreadable:
            problems.append(f"{unreadable:,} distinct cells of '{column.name}' are not {_expected(column)}")
        if outside:
            problems.append(f"{outside:,} distinct cells of '{column.name}' leave its declared domain")
    detail = "; ".join(problems) + "." if problems else "Every quasi-identifier cell can be read."
    return Check(name="cells", passed=not problems, detail=detail), found


class ExactValues:
    """Every quasi-identifier that is published as a value fits its column's type, order and declared domain."""

    def __init__(self, claims: Claims) -> None:
        columns = claims.role("quasi") if claims.made != "generalised" else []
        self._columns = [(column, Dictionary(column.reads), Counts()) for column in columns]

    def see(self, batch: Coded) -> None:
        """Look at a batch of the release."""
        for column, dictionary, counts in self._columns:
            counts.see(pl.DataFrame({"value": dictionary.see_held(batch[column.name])}))

    def check(self) -> Check:
        """What all batches hold."""
        problems: list[str] = []
        for column, dictionary, counts in self._columns:
            known = dictionary.texts.is_not_null().to_numpy()
            rows = counts.total()["rows"].to_numpy()
            problems += _misfits(column, Attribute((column,), rows, known, dictionary.texts, dictionary.numbers, None))
        fine = "Every quasi-identifier value fits its column's description."
        detail = "; ".join(problems) + "." if problems else fine
        return Check(name="quasi-identifier values", passed=not problems, detail=detail)


def check_sensitive(facts: Facts) -> Check:
    """Every known sensitive value fits its column's type, order, hierarchy and declared domain."""
    problems: list[str] = []
    for column in facts.claims.role("sensitive"):
        problems += _misfits(column, facts.attribute([column.name]))
    detail = "; ".join(problems) + "." if problems else "Every sensitive value fits its column's description."
    return Check(name="sensitive values", passed=not problems, detail=detail)


def _misfits(column: Column, attribute: Attribute) -> list[str]:
    found = []
    for fits, what in _demands(column, attribute):
        rows = int(attribute.rows[attribute.known & ~fits].sum())
        if rows:
            found.append(f"{rows:,} rows of '{column.name}' hold {what}")
    return found


def class_figures(facts: Facts, look: Look) -> Mapping[str, Any]:
    """Number and size of the classes, and digests of their cells and of each sensitive column's counts."""
    order = order_classes(facts.classes)
    digest = {"quasi": order.digest if look.pinned is facts.classes else order_classes(look.pinned).digest}
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
        "bounds": "two ends in order",
        "representative": "values",
        "items": "items",
    }[column.cells]


def _demands(column: Column, attribute: Attribute) -> list[tuple[np.ndarray, str]]:
    found = []
    if column.reads in ("numeric", "date"):
        what = "a number" if column.reads == "numeric" else "an ISO date"
        found.append((~np.isnan(attribute.numbers), f"something that is not {what}"))
        if column.domain is not None:
            low, high = column.domain
            outside = (attribute.numbers < low) | (attribute.numbers > high)
            found.append((~outside, "something outside its declared domain"))
    if column.reads == "ordinal":
        found.append((_is_one_of(attribute, column.order or (), column), "something outside its order"))
    if column.cells == "items":
        return [_items_fit(column, attribute)]
    if column.hierarchy is not None:
        lifted = column.cells == "label"
        nodes = {label for row in column.hierarchy for label in (row if lifted else row[:1])}
        what = "node" if lifted else "leaf"
        found.append((_is_one_of(attribute, nodes, column), f"something that is no {what} of its hierarchy"))
    return found


def _items_fit(column: Column, attribute: Attribute) -> tuple[np.ndarray, str]:
    """Which cells are written as cells of items are, with labels of the hierarchy where there is one."""
    known, mark = paths(column), column.mark or ""
    fits = [
        text is None or (well_written(text, mark) and (not known or all(one in known for one in labels(text, mark))))
        for text in attribute.texts.to_list()
    ]
    return np.array(fits, dtype=bool), "something that is no list of items, or has one that its hierarchy lacks"


def _is_one_of(attribute: Attribute, texts: Any, column: Column) -> np.ndarray:
    allowed, _ = canonical(pl.Series(list(texts), dtype=pl.String), column.reads)
    return attribute.texts.is_in(allowed.drop_nulls().to_list()).fill_null(False).to_numpy()
