"""The page of research values: what every level of every column would publish, and what it is worth."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from shoal.reports.pages import render

# Labels of a level that a page lists; the CSV has all of them.
_LISTED = 200


def values_html(levels: Sequence[Mapping[str, Any]], *, title: str, warnings: Sequence[str]) -> str:
    """One HTML file without any script.

    Parameters
    ----------
    levels
        As plain data: column, level, labels, counts, value, by_hand, kept, rules and breaks.
    """
    columns: dict[str, list[dict[str, Any]]] = {}
    for one in levels:
        most = max((each["value"] for each in levels if each["column"] == one["column"]), default=0.0)
        labels = [
            {"label": label, "count": count, "breaks": one["breaks"].get(label, [])}
            for label, count in zip(one["labels"], one["counts"], strict=True)
        ]
        more = max(0, len(labels) - _LISTED)
        share = one["value"] / most if most else 0.0
        columns.setdefault(one["column"], []).append({**one, "cells": labels[:_LISTED], "more": more, "share": share})
    return render("values.html.jinja", title=title, columns=columns, warnings=warnings)
