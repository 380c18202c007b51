"""The page of an evaluation: what the release still tells, beside what is known without it."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from shoal.reports.pages import plotly, render

# Colours that stay apart for every kind of colour vision.
_RELEASE, _TRIVIAL = "#0072b2", "#999999"


def measure_html(findings: Sequence[Mapping[str, Any]], *, title: str, kind: str, statement: str) -> str:
    """One HTML file with plotly's script inside, which needs no network.

    Parameters
    ----------
    findings
        As plain data: name, value, interval, baseline, better, sentence and also.
    title
        What was evaluated.
    kind, statement
        Of the release.
    """
    asked = [one for finding in findings for one in finding["also"].get("each", ()) if "query" in one]
    return render(
        "measure.html.jinja",
        title=title, kind=kind, statement=statement, findings=findings, asked=asked,
        plots=[plot for plot in (shares_plot(findings), errors_plot(findings)) if plot is not None],
        plotly=plotly(),
    )  # fmt: skip


def shares_plot(findings: Sequence[Mapping[str, Any]]) -> dict[str, Any] | None:
    """Bars of the findings that are shares and have a baseline; None without any."""
    shown = [one for one in findings if _is_share(one["value"]) and _is_share(one["baseline"])]
    if not shown:
        return None
    names = [f"{one['name']} ({'higher' if one['better'] == 'up' else 'lower'} is better)" for one in shown]
    spans = [_span(one["value"], one["interval"]) for one in shown]
    error = {
        "type": "data", "symmetric": False, "array": [above for _, above in spans],
        "arrayminus": [below for below, _ in spans],
    }  # fmt: skip
    bars = {"type": "bar", "orientation": "h", "y": names}
    traces = [
        {
            **bars,
            "name": "release",
            "x": [one["value"] for one in shown],
            "marker": {"color": _RELEASE},
            "error_x": error,
        },
        {**bars, "name": "without it", "x": [one["baseline"] for one in shown], "marker": {"color": _TRIVIAL}},
    ]
    layout = {
        "barmode": "group", "margin": {"l": 260, "r": 20, "t": 20, "b": 40}, "height": 120 + 60 * len(shown),
        "xaxis": {"range": [0, 1], "tickformat": ".0%"}, "yaxis": {"autorange": "reversed", "automargin": True},
        "legend": {"orientation": "h"},
    }  # fmt: skip
    return {"heading": "Shares", "traces": traces, "layout": layout}


def errors_plot(findings: Sequence[Mapping[str, Any]]) -> dict[str, Any] | None:
    """Relative errors of counts, smallest first; None where no counts were asked for."""
    found = [one["also"] for one in findings if "curve" in one["also"]]
    if not found:
        return None
    traces = [
        {
            "type": "scatter", "mode": "lines", "name": name, "line": {"color": colour, "width": 2},
            "x": [place / (len(found[0][key]) - 1) for place in range(len(found[0][key]))],
            # A logarithmic axis has no zero.
            "y": [max(value, 1e-4) for value in found[0][key]],
        }
        for name, key, colour in (("release", "curve", _RELEASE), ("one-way tables", "curve of independence", _TRIVIAL))
    ]  # fmt: skip
    layout = {
        "margin": {"l": 70, "r": 20, "t": 20, "b": 50}, "height": 380, "legend": {"orientation": "h"},
        "xaxis": {"title": {"text": "share of queries"}, "tickformat": ".0%"},
        "yaxis": {"title": {"text": "relative error of the count, at most"}, "type": "log", "tickformat": ".2%"},
    }  # fmt: skip
    return {"heading": "Errors of counts", "traces": traces, "layout": layout}


def _is_share(value: Any) -> bool:
    return isinstance(value, int | float) and 0.0 <= value <= 1.0


def _span(value: float, interval: Sequence[float] | None) -> tuple[float, float]:
    return (0.0, 0.0) if interval is None else (max(0.0, value - interval[0]), max(0.0, interval[1] - value))


# ----------------------------------------
# The page of research values: what every level of every column would publish, and what it is worth.


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
