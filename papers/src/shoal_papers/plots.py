"""Figures fit for print, in black and white: the method under study is the strongest line, the legend stands outside,
every value that was run has its tick, and values that a document prints stand beside ours as hollow marks."""

from __future__ import annotations

import io
import math
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from string import ascii_lowercase
from typing import Any

from shoal.errors import ParameterError
from shoal.params import choice
from shoal_papers.axes import places, plain_number

KINDS = ("line", "bar", "sorted")
_ARROWS = {"down": " (lower is better ↓)", "up": " (higher is better ↑)", None: ""}
# Dashes, marker, grey and hatch of the series in turn; no two alike in any one of the first three. The first is kept
# for the method under study.
_STUDY = ((), "o", "0.0", "")
_LOOKS = (
    ((6, 2), "s", "0.35", "//"),
    ((2, 2), "^", "0.55", ".."),
    ((6, 2, 1, 2), "D", "0.2", "xx"),
    ((1, 1), "v", "0.45", "--"),
    ((8, 3, 2, 3, 2, 3), "P", "0.65", "\\\\"),
    ((4, 1), "X", "0.1", "++"),
    ((3, 1, 1, 1), "*", "0.5", "oo"),
    ((10, 3), "p", "0.6", "||"),
    ((5, 1, 1, 1, 1, 1), "<", "0.25", "O"),
)
_PRINTED = "as printed in the document"
_PER_ROW = 3
# Inches of a panel, across and up.
_PANEL = (5.0, 3.7)
# A logarithmic axis of fewer decades than this has ticks between the powers of ten.
_DECADES = 2.5


@dataclass(frozen=True, kw_only=True)
class Series:
    """One curve: where, how high, between which bounds, and what the document prints there (NaN: nothing)."""

    name: str
    x: Sequence[Any]
    y: Sequence[float]
    low: Sequence[float] | None = None
    high: Sequence[float] | None = None
    printed: Sequence[float] | None = None


@dataclass(frozen=True, kw_only=True)
class Plot:
    """One panel.

    Attributes
    ----------
    kind
        ``"line"`` (with a shaded interval; points without lines where ``x`` has words, which have no order), ``"bar"``
        (grouped by x, with error bars) or ``"sorted"`` (values from the largest down against their rank in per cent;
        ``x`` is not used).
    figure
        The document's number of it, such as ``"Fig. 6.18"``.
    study
        The series under study, drawn as the strongest line.
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
    figure: str = ""
    study: str | Sequence[str] = ()
    better: str | None = None
    log_x: bool = False
    log_y: bool = False
    lines: dict[str, float] = field(default_factory=dict)

    def __post_init__(self) -> None:
        choice("a plot", "kind", self.kind, KINDS)
        if self.better not in _ARROWS:
            raise ParameterError("The 'better' of a plot must be 'down', 'up' or None.")
        lost = [name for name in self.studied if name not in {one.name for one in self.series}]
        if lost:
            raise ParameterError(f"The plot '{self.title}' has no series '{lost[0]}' to study.")

    @property
    def studied(self) -> tuple[str, ...]:
        """Names of the series under study."""
        return (self.study,) if isinstance(self.study, str) else tuple(self.study)


def draw(plots: Sequence[Plot]) -> dict[str, bytes]:
    """The figure as ``{"png": ..., "svg": ...}``; the same plots give the same bytes."""
    import matplotlib
    from matplotlib.backends.backend_agg import FigureCanvasAgg
    from matplotlib.figure import Figure

    settings: dict[Any, Any] = {
        "svg.hashsalt": "shoal", "svg.fonttype": "none", "font.size": 9.0, "font.family": "DejaVu Sans",
    }  # fmt: skip
    with matplotlib.rc_context(settings):
        figure = Figure(layout="constrained")
        FigureCanvasAgg(figure)
        _fill(figure, plots)
        files = {}
        for suffix, metadata in (("png", {"Software": None}), ("svg", {"Date": None, "Creator": None})):
            buffer = io.BytesIO()
            figure.savefig(buffer, format=suffix, dpi=130, metadata=metadata)
            files[suffix] = buffer.getvalue()
    return files | {"svg": compact(files["svg"])}


def _fill(figure: Any, plots: Sequence[Plot]) -> None:
    """Panels and legend, and the size that they need."""
    # Four panels are two by two: three and one look as if something were missing.
    columns = 2 if len(plots) == 4 else min(len(plots), _PER_ROW)
    rows = -(-len(plots) // columns)
    panels = [figure.add_subplot(rows, columns, place) for place in range(1, len(plots) + 1)]
    looks = _looks(plots)
    for place, (axes, plot) in enumerate(zip(panels, plots, strict=True)):
        _panel(axes, plot, looks, _heading(plot, place, len(plots)))
    lines = _legend(figure, panels, columns)
    figure.set_size_inches(_PANEL[0] * columns, _PANEL[1] * rows + 0.5 + 0.2 * max(0, lines - 2))


def compact(svg: bytes) -> bytes:
    """The same drawing with its paths to a hundredth of a point, which halves it; texts stay as they are."""

    def short(number: re.Match[bytes]) -> bytes:
        return f"{float(number[0]):.2f}".rstrip("0").rstrip(".").encode()

    return re.sub(rb'(?<= d=")[^"]*', lambda path: re.sub(rb"-?\d+\.\d{3,}", short, path[0]), svg)


def _heading(plot: Plot, place: int, count: int) -> str:
    letter = f"({ascii_lowercase[place]}) " if count > 1 else ""
    return f"{letter}{plot.figure}{': ' if plot.figure else ''}{plot.title}"


def _looks(plots: Sequence[Plot]) -> dict[str, tuple[dict[str, Any], str]]:
    """One look a name in the whole figure, so that one legend serves all panels."""
    studied = {name for plot in plots for name in plot.studied}
    names = list(dict.fromkeys(one.name for plot in plots for one in plot.series))
    found: dict[str, tuple[dict[str, Any], str]] = {}
    others = _LOOKS if studied else (_STUDY, *_LOOKS)
    for place, name in enumerate(name for name in names if name not in studied):
        dashes, marker, grey, hatch = others[place % len(others)]
        style = {
            "linestyle": (0, dashes) if dashes else "-",
            "marker": marker,
            "color": grey,
            "markersize": 4.5,
            "linewidth": 1.2,
        }
        found[name] = {**style, "zorder": 2}, hatch
    for place, name in enumerate(name for name in names if name in studied):
        # Several under study, such as one at two k, differ in their marks alone.
        marker = (_STUDY[1], *(look[1] for look in _LOOKS))[place % (1 + len(_LOOKS))]
        style = {"linestyle": "-", "marker": marker, "color": _STUDY[2], "markersize": 5.5, "linewidth": 2.6}
        found[name] = {**style, "zorder": 3}, _STUDY[3]
    return {name: found[name] for name in names}


def _panel(axes: Any, plot: Plot, looks: Mapping[str, tuple[dict[str, Any], str]], heading: str) -> None:
    axes.set_title(heading, fontsize=9.5)
    axes.set_xlabel(plot.x)
    axes.set_ylabel(plot.y + _ARROWS[plot.better])
    if plot.log_x:
        axes.set_xscale("log")
    if plot.log_y:
        axes.set_yscale("log")
    {"line": _lines, "bar": _bars, "sorted": _sorted}[plot.kind](axes, plot, looks)
    for place, (name, height) in enumerate(plot.lines.items()):
        axes.axhline(height, color="0.4", linewidth=0.9, linestyle=(0, (1, 2 + place)), label=name)
    if plot.log_y:
        _log_ticks(axes)
    axes.grid(visible=True, color="0.9", linewidth=0.6)
    axes.set_axisbelow(True)
    for side in ("top", "right"):
        axes.spines[side].set_visible(False)


def _log_ticks(axes: Any) -> None:
    """Ticks at 1, 2 and 5 where few powers of ten are in sight: one tick is no scale."""
    from matplotlib.ticker import FuncFormatter, LogLocator, NullFormatter

    low, high = axes.get_ylim()
    if low > 0 and math.log10(high / low) < _DECADES:
        axes.yaxis.set_major_locator(LogLocator(subs=(1, 2, 5)))
        axes.yaxis.set_major_formatter(FuncFormatter(lambda value, _: f"{value:,.10g}"))
        axes.yaxis.set_minor_formatter(NullFormatter())


def _legend(figure: Any, panels: Sequence[Any], columns: int) -> int:
    """One for all panels, under them: each name once, as many beside each other as there is room for. Its lines."""
    named: dict[str, Any] = {}
    for axes in panels:
        for handle, label in zip(*axes.get_legend_handles_labels(), strict=True):
            named.setdefault(label, handle)
    if _PRINTED in named:
        named[_PRINTED] = named.pop(_PRINTED)  # last, whichever panel it came from
    if len(named) < 2:
        return 0
    # In points of 1/72 inch: the line, the letters and the space between two names, of a font of 8 points.
    room = 72 * _PANEL[0] * columns // (50 + 4.9 * max(map(len, named)))
    across = min(len(named), max(1, int(room)))
    figure.legend(
        named.values(), named.keys(), loc="outside lower center", ncols=across, frameon=False, fontsize=8,
        handlelength=3.2,
    )  # fmt: skip
    return -(-len(named) // across)


def _lines(axes: Any, plot: Plot, looks: Mapping[str, tuple[dict[str, Any], str]]) -> None:
    at, labels, ordered = places([value for one in plot.series for value in one.x], log=plot.log_x)
    for place, one in enumerate(plot.series):
        look, _ = looks[one.name]
        # Points that no line connects step aside for each other.
        aside = 0.0 if ordered else 0.3 * (place / max(1, len(plot.series) - 1) - 0.5) * (len(plot.series) > 1)
        where = [at[value] + aside for value in one.x]
        if ordered:
            axes.plot(where, one.y, label=one.name, **look)
        else:
            axes.plot(where, one.y, label=one.name, **{**look, "linestyle": "none"})
        if one.low is not None and one.high is not None:
            if ordered:
                axes.fill_between(where, one.low, one.high, color=look["color"], alpha=0.15, linewidth=0)
            else:
                _bounds(axes, where, one)
        _printed(axes, where, one, look)
    if all(height == 0 for one in plot.series for height in one.y):
        axes.set_ylim(-0.02, 1.0)  # nothing anywhere: a scale around 0 would make much of it
    if labels:
        tilt = _widest(labels) * len(labels) > 48
        axes.set_xticks(
            list(at.values()), labels, rotation=30 if tilt else 0, ha="right" if tilt else "center", minor=False
        )
        axes.minorticks_off()


def _widest(labels: Sequence[str]) -> int:
    """Characters of the longest line of any label."""
    return max((len(line) for label in labels for line in label.split("\n")), default=0)


def _printed(axes: Any, where: Sequence[float], one: Series, look: Mapping[str, Any]) -> None:
    """What the document prints, hollow and without a line: nobody knows what lies between."""
    if one.printed is not None:
        axes.plot(where, one.printed, linestyle="none", marker=look["marker"], markersize=9.0, markerfacecolor="none",
                  markeredgecolor=look["color"], markeredgewidth=1.1, zorder=4, label=_PRINTED)  # fmt: skip


def _bounds(axes: Any, where: Sequence[float], one: Series) -> None:
    assert one.low is not None
    assert one.high is not None
    down = [max(0.0, y - low) for y, low in zip(one.y, one.low, strict=True)]
    up = [max(0.0, high - y) for y, high in zip(one.y, one.high, strict=True)]
    axes.errorbar(where, one.y, yerr=[down, up], fmt="none", ecolor="0.0", capsize=2.5, linewidth=0.9)


def _bars(axes: Any, plot: Plot, looks: Mapping[str, tuple[dict[str, Any], str]]) -> None:
    names = list(dict.fromkeys(value for one in plot.series for value in one.x))
    width = 0.8 / max(1, len(plot.series))
    for place, one in enumerate(plot.series):
        look, hatch = looks[one.name]
        at = [names.index(value) + (place - (len(plot.series) - 1) / 2) * width for value in one.x]
        fill = "0.7" if one.name in plot.studied else "white"
        axes.bar(at, one.y, width, label=one.name, color=fill, edgecolor=look["color"], hatch=hatch or None)
        if one.low is not None and one.high is not None:
            _bounds(axes, at, one)
        _printed(axes, at, one, look)
    texts = [plain_number(name) for name in names]
    tilt = _widest(texts) * len(texts) > 56
    axes.set_xticks(range(len(names)), texts, rotation=30 if tilt else 0, ha="right" if tilt else "center")


def _sorted(axes: Any, plot: Plot, looks: Mapping[str, tuple[dict[str, Any], str]]) -> None:
    for one in plot.series:
        look, _ = looks[one.name]
        values = sorted((float(value) for value in one.y), reverse=True)
        at = [100 * (rank + 0.5) / len(values) for rank in range(len(values))]
        axes.plot(at, values, label=one.name, markevery=max(1, len(values) // 12), **look)
