"""The page of an attack: bars of main run, control and baseline with their intervals, and what they mean."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from shoal.reports.pages import plotly, render

# Colours that stay apart for every kind of colour vision.
_COLOURS = {"attack": "#0072b2", "control": "#e69f00", "baseline": "#999999"}


def attack_html(results: Sequence[Mapping[str, Any]], *, title: str, kind: str, statement: str) -> str:
    """One HTML file with plotly's script inside, which needs no network.

    Parameters
    ----------
    results
        Attacks as plain data: name, story, note and figures.
    title
        What was attacked.
    kind, statement
        Of the release.
    """
    return render(
        "attack.html.jinja",
        title=title, kind=kind, statement=statement, results=results, plot=plot_data(results),
        plotly=plotly(),
    )  # fmt: skip


def plot_data(results: Sequence[Mapping[str, Any]]) -> dict[str, Any]:
    """Three series of bars over the main figures, with error bars where there are intervals."""
    shown = [one for result in results for one in result["figures"] if _main(result["name"], one["name"])]
    names = [one["name"] for one in shown]
    attack = _bars("attack", names, [one["value"] for one in shown], [(one["low"], one["high"]) for one in shown])
    control = _bars("control", names, [one["control"] for one in shown], [one["control_interval"] for one in shown])
    baseline = _bars("baseline", names, [one["baseline"] for one in shown], [None] * len(shown))
    layout = {
        "barmode": "group", "margin": {"l": 220, "r": 20, "t": 20, "b": 40}, "height": 120 + 70 * len(shown),
        "xaxis": {"title": {"text": "success rate"}, "range": [0, 1], "tickformat": ".0%"},
        "yaxis": {"autorange": "reversed", "automargin": True}, "legend": {"orientation": "h"},
    }  # fmt: skip
    return {"traces": [attack, control, baseline], "layout": layout}


def _main(attack: str, figure: str) -> bool:
    return figure.split(":")[0] == attack


def _bars(
    kind: str, names: list[str], values: list[Any], intervals: Sequence[Sequence[float] | None]
) -> dict[str, Any]:
    spans = [(0.0, 0.0)] * len(values)
    for place, (value, span) in enumerate(zip(values, intervals, strict=True)):
        if value is not None and span is not None:
            spans[place] = (max(0.0, value - span[0]), max(0.0, span[1] - value))
    below, above = ([span[end] for span in spans] for end in (0, 1))
    return {
        "type": "bar", "orientation": "h", "name": kind, "x": values, "y": names, "marker": {"color": _COLOURS[kind]},
        "error_x": {"type": "data", "symmetric": False, "array": above, "arrayminus": below},
    }  # fmt: skip
