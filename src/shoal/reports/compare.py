"""The page of a comparison: points by utility and protection, and by utility and measured risk."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from shoal.registry import summary
from shoal.reports.pages import TEMPLATES, plotly, render
from shoal.results import Survey

# Colours that stay apart for every kind of colour vision and differ in grey; symbols and dashes have other periods.
_COLOURS = ("#0072b2", "#d55e00", "#009e73", "#000000", "#cc79a7", "#b8860b", "#56b4e9", "#7b3294")
_SYMBOLS = ("circle", "square", "triangle-up", "diamond", "cross", "x", "triangle-down", "star", "pentagon")
_DASHES = ("solid", "dash", "dot", "dashdot", "longdash")
# Where a label can go, and about how many pixels from its point that is.
_PLACES = {
    "top center": (0, 15), "bottom center": (0, -15), "middle right": (16, 0), "middle left": (-16, 0),
    "top right": (14, 12), "bottom left": (-14, -12), "top left": (-14, 12), "bottom right": (14, -12),
}  # fmt: skip
_SIZE = (540, 400)
_WORDS = {
    ("utility", "down"): "loss", ("utility", "up"): "utility", ("protection", "down"): "exposure",
    ("protection", "up"): "protection", ("risk", "down"): "measured risk", ("risk", "up"): "measured safety",
    ("knowledge", "up"): "knowledge kept", ("knowledge", "down"): "knowledge lost",
}  # fmt: skip
# With more points than this, only those of a front carry their label.
_LABELLED = 40


def compare_html(data: Mapping[str, Any], *, title: str) -> str:
    """One HTML file with plotly's script inside, which needs no network.

    Parameters
    ----------
    data
        A comparison as plain data: axes, points, fronts, recommendation.
    title
        What was compared, such as the source's name.
    """
    return render(
        "compare.html.jinja",
        title=title, data=data, plot=plot_data(data), named=data["varied"][0] if data["varied"] else None,
        words=[_WORDS[axis["role"], axis["better"]] for axis in data["axes"]],
        unplaced=[point for point in data["points"] if not _placed(point)],
        plotly=plotly(),
    )  # fmt: skip


def plot_data(data: Mapping[str, Any]) -> dict[str, Any]:
    """Traces and layout of the two plots side by side."""
    across, *upwards = data["axes"]
    points = [point for point in data["points"] if _placed(point)]
    traces: list[dict[str, Any]] = []
    for place, axis in enumerate(upwards):
        suffix = "" if place == 0 else str(place + 1)
        sides = _sides(points, axis["role"])
        traces.append(_front(data, axis, suffix, across["better"]))
        for number, series in enumerate(dict.fromkeys(point["series"] for point in data["points"])):
            mine = [point for point in points if point["series"] == series]
            traces += _lines(data, mine, axis, suffix, number, sides)
            traces += [_entry(series, number)] if place == 0 and mine else []
        traces += _ring(data, axis, suffix, sides) + _baseline(axis, points, suffix)
    return {"traces": traces, "layout": _layout(data, across, upwards, points)}


def _placed(point: Mapping[str, Any]) -> bool:
    return all(value is not None for value in point["values"].values())


def _front(data: Mapping[str, Any], axis: Mapping[str, Any], suffix: str, better: str) -> dict[str, Any]:
    """The border of what no point beats: steps, because nothing is known to lie between two points."""
    mine = sorted((data["points"][number] for number in data["fronts"][axis["role"]]), key=_across)
    return {
        "type": "scatter", "mode": "lines", "name": "Pareto front", "legendgroup": "front", "showlegend": suffix == "",
        "x": [_across(point) for point in mine], "y": [point["values"][axis["role"]] for point in mine],
        "line": {"color": "#888888", "width": 5, "shape": "hv" if better == "down" else "vh"}, "opacity": 0.45,
        "xaxis": f"x{suffix}", "yaxis": f"y{suffix}", "hoverinfo": "skip",
    }  # fmt: skip


def _sides(points: Sequence[Mapping[str, Any]], role: str) -> dict[int, str]:
    """For each point the side of it on which its label meets fewest other points and labels, one after another."""
    spans = [[point["values"][name] for point in points] for name in ("utility", role)]
    if not points:
        return {}
    wide, high = (size / ((max(span) - min(span)) or 1.0) for span, size in zip(spans, _SIZE, strict=True))
    places = [(x * wide, y * high) for x, y in zip(*spans, strict=True)]
    taken: list[tuple[float, float]] = []
    found = {}
    for point, (x, y) in zip(points, places, strict=True):
        def met(side: str, x: float = x, y: float = y) -> int:
            at = (x + _PLACES[side][0], y + _PLACES[side][1])
            return 2 * sum(_near(at, other) for other in places) + 3 * sum(_near(at, other) for other in taken)

        found[point["number"]] = best = min(_PLACES, key=met)
        taken.append((x + _PLACES[best][0], y + _PLACES[best][1]))
    return found


def _near(one: Sequence[float], other: Sequence[float]) -> bool:
    return abs(one[0] - other[0]) < 15 and abs(one[1] - other[1]) < 13


def _lines(
    data: Mapping[str, Any],
    points: Sequence[Mapping[str, Any]],
    axis: Mapping[str, Any],
    suffix: str,
    number: int,
    sides: Mapping[int, str],
) -> list[dict[str, Any]]:
    """An algorithm's points; a line joins those that differ in the first parameter of the grid alone."""
    first = data["varied"][0] if data["varied"] else None
    rest = [str({key: value for key, value in point["settings"].items() if key != first}) for point in points]
    every = sum(map(_placed, data["points"])) <= _LABELLED
    found = []
    for group in dict.fromkeys(rest):
        mine = [point for point, key in zip(points, rest, strict=True) if key == group]
        labels = [_text(point["settings"].get(first, "")) for point in mine]
        shown = [
            point["number"] != data["recommended"] and (every or point["number"] in data["fronts"][axis["role"]])
            for point in mine
        ]
        found.append({
            "type": "scatter", "mode": "lines+markers+text", "name": _safe(mine[0]["series"]),
            "legendgroup": mine[0]["series"], "showlegend": False,
            "xaxis": f"x{suffix}", "yaxis": f"y{suffix}",
            "x": [_across(point) for point in mine], "y": [point["values"][axis["role"]] for point in mine],
            "text": [label if show else "" for label, show in zip(labels, shown, strict=True)],
            "textposition": [sides[point["number"]] for point in mine], "textfont": {"size": 12, "color": "#1b1b1b"},
            "hovertext": [_hover(data, point) for point in mine], "hoverinfo": "text",
            "line": _line(number), "marker": _marker(mine, number),
        })  # fmt: skip
    return found


def _entry(series: str, number: int) -> dict[str, Any]:
    """An algorithm in the legend, as it looks within the limits and with nothing suppressed."""
    marker = {"color": _COLOURS[number % len(_COLOURS)], "symbol": _SYMBOLS[number % len(_SYMBOLS)], "size": 11}
    return {
        "type": "scatter", "mode": "lines+markers", "name": _safe(series), "legendgroup": series, "x": [None],
        "y": [None], "line": _line(number), "marker": marker,
    }  # fmt: skip


def _line(number: int) -> dict[str, Any]:
    return {"color": _COLOURS[number % len(_COLOURS)], "dash": _DASHES[number % len(_DASHES)], "width": 1.5}


def _marker(points: Sequence[Mapping[str, Any]], number: int) -> dict[str, Any]:
    """Shape and colour of an algorithm; hollow over a limit, outlined in black as more rows are suppressed."""
    symbol = _SYMBOLS[number % len(_SYMBOLS)]
    shares = [point["suppressed"] for point in points]
    return {
        "color": _COLOURS[number % len(_COLOURS)], "size": 11, "opacity": 1,
        "symbol": [f"{symbol}-open" if point["over"] else symbol for point in points],
        "line": {
            "color": [
                _COLOURS[number % len(_COLOURS)] if point["over"] else "#000000" if share > 0 else "#ffffff"
                for point, share in zip(points, shares, strict=True)
            ],
            "width": [1.0 if share == 0 else 1.5 + 3.5 * min(1.0, share / 0.2) for share in shares],
        },
    }  # fmt: skip


def _ring(
    data: Mapping[str, Any], axis: Mapping[str, Any], suffix: str, sides: Mapping[int, str]
) -> list[dict[str, Any]]:
    if data["recommended"] is None:
        return []
    side = sides[data["recommended"]]
    best = data["points"][data["recommended"]]
    label = _text(best["settings"].get(data["varied"][0], "")) if data["varied"] else ""
    return [{
        "type": "scatter", "mode": "markers+text", "name": "recommended", "legendgroup": "recommended",
        "showlegend": suffix == "", "x": [_across(best)], "y": [best["values"][axis["role"]]],
        # The label stands outside of the ring, in place of the point's own.
        "text": [f"<b>{label}</b>"], "textposition": side, "textfont": {"size": 13, "color": "#1b1b1b"},
        "marker": {"symbol": "circle-open", "size": 26, "color": "#000000", "line": {"width": 2.5}},
        "xaxis": f"x{suffix}", "yaxis": f"y{suffix}", "hoverinfo": "skip",
    }]  # fmt: skip


def _layout(
    data: Mapping[str, Any],
    across: Mapping[str, Any],
    upwards: Sequence[Mapping[str, Any]],
    points: Sequence[Mapping[str, Any]],
) -> dict[str, Any]:
    layout: dict[str, Any] = {
        "height": 560, "margin": {"l": 70, "r": 20, "t": 60, "b": 60}, "hovermode": "closest",
        "legend": {"orientation": "h", "y": -0.16, "yanchor": "top", "font": {"size": 13}},
        "plot_bgcolor": "#ffffff", "paper_bgcolor": "#ffffff",
    }  # fmt: skip
    grid = {"gridcolor": "#e4e4e4", "linecolor": "#1b1b1b", "zeroline": False, "ticks": "outside", "automargin": True}
    for place, axis in enumerate(upwards):
        suffix = "" if place == 0 else str(place + 1)
        left = place * 0.54
        layout[f"xaxis{suffix}"] = {
            **grid, "domain": [left, left + 0.46], "anchor": f"y{suffix}", "title": {"text": _title(across)},
            "tickformat": ".0%" if across["share"] else "",
        }  # fmt: skip
        layout[f"yaxis{suffix}"] = {
            **grid, "anchor": f"x{suffix}", "title": {"text": _title(axis)},
            "tickformat": ".0%" if axis["share"] else "",
        }  # fmt: skip
    values = [value for point in points for value in point["values"].values()]
    if values and min(values) > 0:
        layout["updatemenus"] = [_scales(len(upwards))]
    return layout


def _title(axis: Mapping[str, Any]) -> str:
    """What an axis shows and which way is better; the arrow of an upright axis is turned with its title."""
    word = _WORDS[axis["role"], axis["better"]]
    arrow = "← better" if axis["better"] == "down" else "better →"
    return f"{word} ({_safe(axis['name'])})   {arrow}"


def _baseline(axis: Mapping[str, Any], points: Sequence[Mapping[str, Any]], suffix: str) -> list[dict[str, Any]]:
    """A line at what a naive guess achieves, in the middle where it differs between releases."""
    known = sorted(point["beside"]["baseline"] for point in points if point["beside"].get("baseline") is not None)
    if axis["role"] != "risk" or not known:
        return []
    level, across = known[len(known) // 2], [_across(point) for point in points]
    return [{
        "type": "scatter", "mode": "lines+text", "x": [min(across), max(across)], "y": [level, level],
        "text": ["", "naive baseline"], "textposition": "top left", "textfont": {"size": 12, "color": "#555555"},
        "line": {"color": "#555555", "dash": "dot", "width": 1.5}, "showlegend": False, "hoverinfo": "skip",
        "xaxis": f"x{suffix}", "yaxis": f"y{suffix}",
    }]  # fmt: skip


def _scales(plots: int) -> dict[str, Any]:
    """Buttons for linear and logarithmic axes."""
    names = [f"{letter}axis{'' if place == 0 else place + 1}.type" for place in range(plots) for letter in "xy"]
    return {
        "type": "buttons", "direction": "right", "x": 0, "xanchor": "left", "y": 1.02, "yanchor": "bottom",
        "buttons": [
            {"label": f"{kind} axes", "method": "relayout", "args": [dict.fromkeys(names, kind)]}
            for kind in ("linear", "log")
        ],
    }  # fmt: skip


def _hover(data: Mapping[str, Any], point: Mapping[str, Any]) -> str:
    lines = [f"<b>{_safe(point['label'])}</b>"]
    lines += [f"{_safe(axis['name'])}: {point['shown'][axis['role']]}" for axis in data["axes"]]
    beside = point["beside"]
    if beside.get("low") is not None:
        lines.append(f"95 % interval of the risk: {beside['low']:.2%} to {beside['high']:.2%}")
    lines += [f"{word}: {beside[word]:.2%}" for word in ("baseline", "control") if beside.get(word) is not None]
    lines.append(f"suppressed: {point['suppressed']:.2%}")
    lines.append(f"{point['classes']:,} classes, the smallest of {point['smallest']:,}; {point['seconds']:.2f} s")
    lines += [_safe(sentence) for sentence in point["over"]]
    return "<br>".join(lines)


def _safe(text: str) -> str:
    """Plotly reads a few tags in its texts, and no other part of them may become one."""
    return text.replace("&", "&amp;").replace("<", "&lt;").replace(">", "&gt;")


def _text(value: Any) -> str:
    return _safe(f"{value:g}" if isinstance(value, float) else str(value))


def _across(point: Mapping[str, Any]) -> float:
    return float(point["values"]["utility"])


# ----------------------------------------
# The explorer's page: nodes by loss and suppression, and a table to pick one from.


_VERDICTS = ("allowed", "over", "fails")


def explore_html(survey: Survey, *, title: str, models: Sequence[str], extra: str = "") -> str:
    """One HTML file with plotly's script inside, which needs no network.

    Parameters
    ----------
    title
        What was explored, such as the source's name.
    models
        What classes had to satisfy, one short text a model.
    extra
        TOML that a recipe also needs to run a picked node.
    """
    return render(
        "explore.html.jinja",
        title=title,
        models=models,
        survey=survey,
        counted=counted(survey),
        data=page_data(survey, extra),
        style=(TEMPLATES / "explore.css").read_text("utf-8"),
        script=(TEMPLATES / "explore.js").read_text("utf-8"),
        plotly=plotly(),
    )


def counted(survey: Survey) -> str:
    """Which nodes were counted, in one sentence."""
    if survey.complete:
        return f"All {survey.lattice:,} nodes of the lattice were counted."
    parts = [f"{why} ({count:,})" for why, count in survey.chosen.items()]
    return f"The lattice has {survey.lattice:,} nodes; {len(survey.nodes):,} were counted: {', '.join(parts)}."


def page_data(survey: Survey, extra: str = "") -> dict[str, Any]:
    """What the page's script works on: nodes as columns, which is compact."""
    nodes = survey.nodes
    return {
        "measure": survey.measure,
        "about": summary("measure", survey.measure).removesuffix("."),
        "better": survey.better,
        "rows": survey.rows,
        "limit": survey.limit,
        "columns": list(survey.columns),
        "heights": list(survey.heights),
        "level_names": [list(names) for names in survey.level_names],
        "optimum": survey.optimum,
        "proven": survey.proven,
        "extra": extra,
        "levels": [list(node.levels) for node in nodes],
        "loss": [node.loss for node in nodes],
        "suppressed": [node.suppressed for node in nodes],
        "classes": [node.classes for node in nodes],
        "smallest": [node.smallest for node in nodes],
        "verdict": [_VERDICTS.index(node.verdict) for node in nodes],
    }
