"""Figures that read in black and white: markers, dashes and greys, labelled axes, an arrow for which way is better."""

from __future__ import annotations

import io
import re
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any

from shoal.errors import ParameterError
from shoal.params import choice

KINDS = ("line", "bar", "sorted", "scatter")
_ARROWS = {"down": " (lower is better ↓)", "up": " (higher is better ↑)", None: ""}
# Dashes, marker, grey and hatch of the series in turn; no two alike in any one of the first three.
_LOOKS = (
    ((), "o", "0.0", ""),
    ((6, 2), "s", "0.35", "//"),
    ((2, 2), "^", "0.55", ".."),
    ((6, 2, 1, 2), "D", "0.2", "xx"),
    ((1, 1), "v", "0.45", "--"),
    ((8, 3, 2, 3, 2, 3), "P", "0.65", "\\\\"),
    ((4, 1), "X", "0.1", "++"),
    ((3, 1, 1, 1), "*", "0.5", "oo"),
)


@dataclass(frozen=True, kw_only=True)
class Series:
    """One curve: where, how high, and between which bounds (as ``low``, ``high``, or neither)."""

    name: str
    x: Sequence[Any]
    y: Sequence[float]
    low: Sequence[float] | None = None
    high: Sequence[float] | None = None


@dataclass(frozen=True, kw_only=True)
class Plot:
    """One panel.

    Attributes
    ----------
    kind
        ``"line"`` (with a shaded interval), ``"bar"`` (grouped by x, with error bars), ``"sorted"`` (values from the
        largest down against their rank in per cent; ``x`` is not used) or ``"scatter"``.
    better
        ``"down"``, ``"up"`` or None: the arrow in the label of the y axis.
    lines
        Horizontal lines, by their name: limits, the document's figure.
    """

    title: str
    x: str
    y: str
    series: Sequence[Series]
    kind: str = "line"
    better: str | None = None
    log_x: bool = False
    log_y: bool = False
    lines: dict[str, float] = field(default_factory=dict)

    def __post_init__(self) -> None:
        choice("a plot", "kind", self.kind, KINDS)
        if self.better not in _ARROWS:
            raise ParameterError("The 'better' of a plot must be 'down', 'up' or None.")


def draw(plots: Sequence[Plot]) -> dict[str, bytes]:
    """The figure as ``{"png": ..., "svg": ...}``; the same plots give the same bytes."""
    import matplotlib
    from matplotlib.backends.backend_agg import FigureCanvasAgg
    from matplotlib.figure import Figure

    settings: dict[Any, Any] = {
        "svg.hashsalt": "shoal", "svg.fonttype": "none", "font.size": 9.0, "font.family": "DejaVu Sans",
    }  # fmt: skip
    with matplotlib.rc_context(settings):
        columns = min(len(plots), 3)
        rows = -(-len(plots) // columns)
        figure = Figure(figsize=(5.2 * columns, 3.9 * rows), layout="constrained")
        FigureCanvasAgg(figure)
        for place, plot in enumerate(plots, 1):
            _panel(figure.add_subplot(rows, columns, place), plot)
        files = {}
        for suffix, metadata in (("png", {"Software": None}), ("svg", {"Date": None, "Creator": None})):
            buffer = io.BytesIO()
            figure.savefig(buffer, format=suffix, dpi=130, metadata=metadata)
            files[suffix] = buffer.getvalue()
    return files | {"svg": compact(files["svg"])}


def compact(svg: bytes) -> bytes:
    """The same drawing with its paths to a hundredth of a point, which halves it; texts stay as they are."""

    def short(number: re.Match[bytes]) -> bytes:
        return f"{float(number[0]):.2f}".rstrip("0").rstrip(".").encode()

    return re.sub(rb'(?<= d=")[^"]*', lambda path: re.sub(rb"-?\d+\.\d{3,}", short, path[0]), svg)


def _panel(axes: Any, plot: Plot) -> None:
    axes.set_title(plot.title)
    axes.set_xlabel(plot.x)
    axes.set_ylabel(plot.y + _ARROWS[plot.better])
    {"line": _lines, "bar": _bars, "sorted": _sorted, "scatter": _scatter}[plot.kind](axes, plot)
    for place, (name, height) in enumerate(plot.lines.items()):
        axes.axhline(height, color="0.4", linewidth=0.9, linestyle=(0, (1, 2 + place)), label=name)
    if plot.log_x:
        axes.set_xscale("log")
    if plot.log_y:
        axes.set_yscale("log")
    axes.grid(visible=True, color="0.9", linewidth=0.6)
    axes.set_axisbelow(True)
    for side in ("top", "right"):
        axes.spines[side].set_visible(False)
    if len(plot.series) + len(plot.lines) > 1:
        axes.legend(frameon=False, fontsize=8)


def _look(place: int) -> tuple[dict[str, Any], str]:
    dashes, marker, grey, hatch = _LOOKS[place % len(_LOOKS)]
    line = (0, dashes) if dashes else "-"
    return {"linestyle": line, "marker": marker, "color": grey, "markersize": 4.5, "linewidth": 1.4}, hatch


def _lines(axes: Any, plot: Plot) -> None:
    words = any(isinstance(value, str) for one in plot.series for value in one.x)
    names = list(dict.fromkeys(value for one in plot.series for value in one.x)) if words else []
    for place, one in enumerate(plot.series):
        look, _ = _look(place)
        at = [names.index(value) for value in one.x] if words else one.x
        axes.plot(at, one.y, label=one.name, **look)
        if one.low is not None and one.high is not None:
            axes.fill_between(at, one.low, one.high, color=look["color"], alpha=0.15, linewidth=0)
    if words:
        axes.set_xticks(range(len(names)), names, rotation=30, ha="right")


def _bars(axes: Any, plot: Plot) -> None:
    names = list(dict.fromkeys(value for one in plot.series for value in one.x))
    width = 0.8 / max(1, len(plot.series))
    for place, one in enumerate(plot.series):
        look, hatch = _look(place)
        at = [names.index(value) + (place - (len(plot.series) - 1) / 2) * width for value in one.x]
        axes.bar(at, one.y, width, label=one.name, color="white", edgecolor=look["color"], hatch=hatch or None)
        if one.low is not None and one.high is not None:
            down = [max(0.0, y - low) for y, low in zip(one.y, one.low, strict=True)]
            up = [max(0.0, high - y) for y, high in zip(one.y, one.high, strict=True)]
            axes.errorbar(at, one.y, yerr=[down, up], fmt="none", ecolor="0.0", capsize=2.5, linewidth=0.9)
    texts = [str(name) for name in names]
    tilt = max((len(text) for text in texts), default=0) * len(texts) > 45
    axes.set_xticks(range(len(names)), texts, rotation=30 if tilt else 0, ha="right" if tilt else "center")


def _sorted(axes: Any, plot: Plot) -> None:
    for place, one in enumerate(plot.series):
        look, _ = _look(place)
        values = sorted((float(value) for value in one.y), reverse=True)
        at = [100 * (rank + 0.5) / len(values) for rank in range(len(values))]
        axes.plot(at, values, label=one.name, markevery=max(1, len(values) // 12), **look)


def _scatter(axes: Any, plot: Plot) -> None:
    for place, one in enumerate(plot.series):
        look, _ = _look(place)
        axes.scatter(one.x, one.y, label=one.name, marker=look["marker"], s=18, facecolors="none",
                     edgecolors=look["color"])  # fmt: skip
