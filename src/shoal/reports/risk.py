"""The risk page: figures with what they mean, and plots of risk, class sizes and contributions."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from shoal.reports.pages import TEMPLATES, plotly, render

_ATTACKERS = {
    "prosecutor": "Prosecutor: knows that somebody is in the table",
    "journalist": "Journalist: picks somebody of the population",
    "marketer": "Marketer: matches everybody",
    "sample": "Unique in the table",
    "population": "Unique in the population",
    "household": "Households",
    "special": "Special uniques",
    "dis": "Special uniques",
}
_OTHERS = "Sensitive attributes"
# Where each bar of the plot of class sizes begins.
_BINS = (1, 2, 3, 4, 5, 10, 20, 50, 100)


def risk_html(report: Mapping[str, Any], *, title: str, notes: Sequence[str] = ()) -> str:
    """One HTML file with plotly's script inside, which needs no network.

    Parameters
    ----------
    report
        What `RiskReport.as_dict` gives.
    title
        What was assessed, such as the name of the file.
    notes
        What to know before the figures are read.
    """
    return render(
        "risk.html.jinja",
        title=title,
        report=report,
        notes=notes,
        sections=sections(report["figures"]),
        data=page_data(report),
        style=(TEMPLATES / "risk.css").read_text("utf-8"),
        script=(TEMPLATES / "risk.js").read_text("utf-8"),
        plotly=plotly(),
    )


def page_data(report: Mapping[str, Any]) -> dict[str, Any]:
    """What the page's script draws."""
    single = [one for one in report["contributions"] if len(one["columns"]) == 1]
    suda = report["suda"]
    return {
        "threshold": report["threshold"],
        "curves": {who: [list(point) for point in points] for who, points in report["curves"].items()},
        "sizes": _bins(report["class_sizes"]),
        "columns": [one["columns"][0] for one in single],
        "mean_drop": [one["mean_drop"] for one in single],
        "unique_drop": [one["unique_drop"] for one in single],
        "suda": None if suda is None else [suda["contributions"][one["columns"][0]] for one in single],
    }


def _bins(sizes: Mapping[int, int]) -> list[dict[str, Any]]:
    """Classes and records of every range of sizes."""
    found = []
    for low, high in zip(_BINS, [*_BINS[1:], None], strict=True):
        mine = {size: count for size, count in sizes.items() if size >= low and (high is None or size < high)}
        label = f"{low} or more" if high is None else str(low) if high == low + 1 else f"{low} to {high - 1}"
        records = sum(size * count for size, count in mine.items())
        found.append({"label": label, "classes": sum(mine.values()), "records": records})
    return found


def sections(figures: Mapping[str, Mapping[str, Any]]) -> dict[str, list[dict[str, str]]]:
    """Figures under headings, written out."""
    found: dict[str, list[dict[str, str]]] = {}
    for name, one in figures.items():
        heading = _ATTACKERS.get(name.split("-")[0], _OTHERS)
        found.setdefault(heading, []).append(_written(name, one))
    return found


def _written(name: str, one: Mapping[str, Any]) -> dict[str, str]:
    number = name.endswith("-expected")
    low, high = one["interval"]
    counted = low == high
    return {
        "name": name,
        "value": _text(one["value"], number),
        "interval": "counted" if counted else f"{_text(low, number)} to {_text(high, number)}",
        "baseline": "–" if one["baseline"] is None else _text(one["baseline"], number),
        "sentence": one["sentence"],
    }


def _text(value: float, number: bool) -> str:
    return f"{value:,.4g}" if number else f"{100 * value:.4g} %"


# ----------------------------------------
# The page of an attack: bars of main run, control and baseline with their intervals, and what they mean.


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
