"""Draw plots as SVG that stands in a page: no script, no styles, and the colours of the page by class."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from html import escape
from itertools import pairwise

from markupsafe import Markup

from shoal.reports.dossier_model import Bars, Figure, Grid, Lines, Points, Stacks

WIDTH = 640
_RIGHT = WIDTH - 14.0
_LETTER = 6.6  # width of a letter of 12 pixels, about
_LONGEST = 26
_FARTHEST = 1e300


@dataclass(frozen=True, kw_only=True)
class Bar:
    """A bar with its interval, and marks beside it (name to value)."""

    label: str
    value: float
    low: float | None = None
    high: float | None = None
    marks: tuple[tuple[str, float], ...] = ()
    kind: str = "main"


@dataclass(frozen=True, kw_only=True)
class Dot:
    """A point of a plane; ``kind`` is a class: ``front``, ``best``, that of a series, or nothing."""

    x: float
    y: float
    label: str
    told: str
    kind: str = ""


def percent(value: float) -> str:
    """Write a share as a percentage of three digits."""
    return f"{100 * value:.3g} %"


def svg(figure: Figure, title: str) -> Markup:
    """Draw a figure of a dossier."""
    if isinstance(figure, Bars):
        return columns(title, "", figure.labels, figure.series, (figure.across, figure.upwards))
    if isinstance(figure, Points):
        dots = [
            Dot(x=x, y=y, label=name, told=f"{name}: {percent(x)}, {percent(y)}", kind=f"s{place}")
            for place, (name, (x, y)) in enumerate(figure.points.items())
        ]
        return plane(title, "", dots, [], (figure.across, figure.upwards), shares=True)
    if isinstance(figure, Stacks):
        return _stacks(figure, title)
    return _lines(figure, title) if isinstance(figure, Lines) else _grid(figure, title)


def columns(
    title: str, told: str, labels: Sequence[str], series: Mapping[str, Sequence[float]],
    axes: tuple[str, str] = ("", ""),
) -> Markup:  # fmt: skip
    """Draw standing bars of shares, those of all series side by side; a series without a name has no legend."""
    legend = [_box(0, 6, 12, 12, f"bar s{at}", name) for at, name in enumerate(series) if name]
    body = _legend(legend, [name for name in series if name], 56.0)
    high = max((value for values in series.values() for value in values), default=0.0)
    frame = _Frame([0.0, max(len(labels), 1)], round_places(high), 56.0, 28.0 if legend else 12.0, 190.0, WIDTH - 10.0)
    body += frame.across(axes[1])
    wide = frame.at(1, 0)[0] - frame.left
    each = min(wide * 0.8 / max(len(series), 1), 46.0)
    for which, (name, values) in enumerate(series.items()):
        for place, value in enumerate(values):
            x, y = frame.at(place + 0.5, value)
            words = f"{labels[place]}{f', {name}' if name else ''}: {percent(value)}"
            kind = f"bar s{which if name else 1}"
            body.append(_box(x - each * len(series) / 2 + each * which, y, each - 1, frame.bottom - y, kind, words))
    deep = 0.0
    tilted = max(map(len, labels), default=0) * _LETTER > wide - 6
    for place, label in enumerate(labels):
        x = frame.at(place + 0.5, 0)[0]
        if tilted:
            body.append(_turned(x, frame.bottom + 14, short(label, 18)))
            deep = max(deep, _LETTER * min(len(label), 18) * 0.64)
        else:
            body.append(_text(x, frame.bottom + 16, label))
    body.append(frame.foot)
    deep += frame.bottom + 26
    if axes[0]:
        deep += 20
        body.append(_text((frame.left + frame.right) / 2, deep - 6, axes[0]))
    return _svg(body, deep, title, told)


def bars(title: str, told: str, given: Sequence[Bar]) -> Markup:
    """Draw lying bars of shares with intervals and marks; numbers stand at their ends."""
    left = 24 + _LETTER * max([min(len(one.label), _LONGEST) for one in given], default=0)
    high = max([0.0, *(value for one in given for value in (one.value, one.high or 0.0, *dict(one.marks).values()))])
    names = list(dict.fromkeys(name for one in given for name, _ in one.marks))
    body = _legend([_mark(0, 11, which, name) for which, name in enumerate(names)], names, left + 8, (11, 15), 40)
    top = 26.0 if names else 8.0
    places = round_places(1.0 if high > 0.5 else high)
    frame = _Frame(places, [0.0, 1.0], left, top, top + 26.0 * len(given), WIDTH - 78.0)
    body += frame.upwards("")

    def at(value: float) -> float:
        return frame.at(min(value, places[-1]), 0)[0]

    for place, one in enumerate(given):
        y = top + 26.0 * place
        body.append(_text(left - 12, y + 17, short(one.label), "end"))
        words = f"{one.label}: {percent(one.value)}"
        body.append(_box(left, y + 5, at(one.value) - left, 16, f"bar {one.kind}", words))
        if one.low is not None and one.high is not None:
            body.append(_line(at(one.low), y + 13, at(one.high), y + 13, "interval"))
            body += [_line(at(end), y + 9, at(end), y + 17, "interval") for end in (one.low, one.high)]
        for name, value in one.marks:
            body.append(_mark(at(value), y + 13, names.index(name), f"{one.label}, {name}: {percent(value)}"))
        far = max([at(one.value), at(one.high or 0.0), *(at(value) + 6 for _, value in one.marks)])
        body.append(_text(far + 8, y + 17, percent(one.value), "start", "number"))
    body.append(_line(left, top, left, frame.bottom))
    return _svg(body, frame.bottom + 26, title, told)


def _mark(x: float, y: float, which: int, told: str) -> str:
    """A diamond for the first kind of mark, a ring for the second."""
    name = f"<title>{escape(told)}</title>"
    if which == 0:
        points = f"{x:.1f},{y - 7:.1f} {x + 6:.1f},{y:.1f} {x:.1f},{y + 7:.1f} {x - 6:.1f},{y:.1f}"
        return f'<polygon class="mark m0" points="{points}">{name}</polygon>'
    return f'<circle class="mark m1" cx="{x:.1f}" cy="{y:.1f}" r="5.5">{name}</circle>'


def plane(
    title: str, told: str, dots: Sequence[Dot], front: Sequence[Dot], axes: tuple[str, str], *, shares: bool = False
) -> Markup:
    """Draw points of a plane, those of the front joined; axes of shares begin at 0, others where the points do.

    What is no number, or too large to tell distances from it, has no place.
    """
    dots, front = ([one for one in some if max(abs(one.x), abs(one.y)) < _FARTHEST] for some in (dots, front))
    xs, ys = [one.x for one in dots], [one.y for one in dots]
    words: Callable[[float], str] = percent if shares else "{:.4g}".format
    frame = _Frame(_span(xs), _span(ys), 66.0, 16.0, 300.0, WIDTH - 16.0)
    if shares:
        far, high = (round_places(max(some, default=1.0)) for some in (xs, ys))
        frame = _Frame(far, high, 66.0, 30.0, 250.0, WIDTH - 54.0)
    body = [*frame.upwards(axes[0], words), *frame.across(axes[1], words)]
    if len(front) > 1:
        path = " ".join(f"{x:.1f},{y:.1f}" for x, y in (frame.at(one.x, one.y) for one in front))
        body.append(f'<polyline class="front" points="{path}"/>')
    for one in dots:
        x, y = frame.at(one.x, one.y)
        size = 8 if one.kind == "best" else 6
        where = f'class="dot {one.kind}" cx="{x:.1f}" cy="{y:.1f}" r="{size}"'
        body.append(f"<circle {where}><title>{escape(one.told)}</title></circle>")
        side = 0 if len(one.label) < 4 else -1 if x > WIDTH * 0.6 else 1  # long labels stand beside their points
        body.append(_text(x + 11 * side, y - size - 4, one.label, ("middle", "start", "end")[side], "number"))
    body += [frame.foot, _line(frame.left, frame.top, frame.left, frame.bottom)]
    return _svg(body, frame.bottom + 48, title, told)


def _stacks(figure: Stacks, title: str) -> Markup:
    left = 24 + _LETTER * min(max(map(len, figure.labels), default=0), _LONGEST)
    legend = [_box(0, 6, 12, 12, f"s{at}", name) for at, name in enumerate(figure.series)]
    frame = _Frame([0, 0.25, 0.5, 0.75, 1], [0.0, 1.0], left, 30.0, 30.0 + 26 * len(figure.labels))
    body = [*_legend(legend, list(figure.series), left), *frame.upwards(figure.across)]
    for place, label in enumerate(figure.labels):
        y, before = frame.top + 26 * place, 0.0
        body.append(_text(left - 8, y + 14, short(label), "end"))
        for at, (name, values) in enumerate(figure.series.items()):
            x, end = frame.at(before, 0)[0], frame.at(before + values[place], 0)[0]
            body.append(_box(x, y, end - x, 19, f"s{at}", f"{label}, {name}: {percent(values[place])}"))
            before += values[place]
    return _svg(body, frame.bottom + 48, title, "")


def _lines(figure: Lines, title: str) -> Markup:
    points = [point for line in figure.series.values() for point in line]
    far = max([*(x for x, _ in points), figure.mark[0] if figure.mark else 0.0], default=1.0)
    frame = _Frame(round_places(far), round_places(max((y for _, y in points), default=1.0)), 62.0, 30.0, 228.0)
    legend = [_box(0, 6, 12, 12, f"s{at}", name) for at, name in enumerate(figure.series)]
    body = _legend(legend, list(figure.series), frame.left)
    body += [*frame.upwards(figure.across), *frame.across(figure.upwards)]
    for place, line in enumerate(figure.series.values()):
        corners = list(line)
        if figure.steps:
            between = [(here[0], after[1]) for here, after in pairwise(line)]
            corners = [point for pair in zip(line, [*between, *line[-1:]], strict=True) for point in pair]
        path = " ".join(f"{x:.1f},{y:.1f}" for x, y in (frame.at(*point) for point in corners))
        body.append(f'<polyline class="l{place}" points="{path}"/>')
    if figure.mark is not None:
        x = frame.at(figure.mark[0], 0)[0]
        shift, anchor = (-5, "end") if x > WIDTH * 0.7 else (5, "start")
        body.append(_line(x, frame.top, x, frame.bottom, "mark"))
        body.append(_text(x + shift, frame.top + 18, figure.mark[1], anchor))
    return _svg([*body, frame.foot], frame.bottom + 48, title, "")


def _grid(figure: Grid, title: str) -> Markup:
    left = 20 + _LETTER * min(max(map(len, figure.names), default=0), _LONGEST)
    size = min(46.0, (_RIGHT - left) / max(len(figure.names), 1))
    most = max((value for row in figure.values for value in row if value is not None), default=0.0) or 1.0
    body, bottom = [], 8 + size * len(figure.names)
    for row, name in enumerate(figure.names):
        y = 8 + size * row
        body.append(_text(left - 8, y + size / 2 + 4, short(name), "end"))
        body.append(_turned(left + size * (row + 0.5), bottom + 14, short(name, 14)))
        for column, value in enumerate(figure.values[row]):
            if value is not None:
                x, words = left + size * column, f"{name} and {figure.names[column]}: {value:.3f}"
                shade = f' fill-opacity="{0.06 + 0.88 * value / most:.2f}"'
                body.append(_box(x, y, size - 1, size - 1, "cell", words, shade))
                kind = "on" if value > 0.6 * most else ""
                body.append(_text(x + size / 2, y + size / 2 + 4, f"{value:.2f}".lstrip("0") or "0", kind=kind))
    return _svg(body, bottom + 30 + 14 * _LETTER * 0.64, title, "")


class _Frame:
    """Two axes with round places, and where a point stands between them."""

    def __init__(
        self, xs: Sequence[float], ys: Sequence[float], left: float, top: float, bottom: float, right: float = _RIGHT
    ) -> None:
        self.xs, self.ys, self.left, self.top, self.bottom, self.right = xs, ys, left, top, bottom, right

    def at(self, x: float, y: float) -> tuple[float, float]:
        across = (x - self.xs[0]) / (self.xs[-1] - self.xs[0])
        upwards = (y - self.ys[0]) / (self.ys[-1] - self.ys[0])
        return self.left + (self.right - self.left) * across, self.bottom - (self.bottom - self.top) * upwards

    @property
    def foot(self) -> str:
        return _line(self.left, self.bottom, self.right, self.bottom)

    def across(self, title: str, words: Callable[[float], str] = percent) -> list[str]:
        """Lines across at the places of the upright axis."""
        body = []
        for value in self.ys:
            y = self.at(self.xs[0], value)[1]
            body += [_line(self.left, y, self.right, y, "grid"), _text(self.left - 6, y + 4, words(value), "end")]
        middle = (self.top + self.bottom) / 2
        turn = f' transform="rotate(-90 14 {middle:.0f})"'
        return [*body, _text(14, middle, title, more=turn)] if title else body

    def upwards(self, title: str, words: Callable[[float], str] = percent) -> list[str]:
        """Lines upwards at the places of the lying axis."""
        body = []
        for value in self.xs:
            x = self.at(value, self.ys[0])[0]
            anchor = "end" if x > WIDTH - 15 else "middle"  # else the last is cut off
            body += [_line(x, self.top, x, self.bottom, "grid"), _text(x, self.bottom + 16, words(value), anchor)]
        return [*body, _text((self.left + self.right) / 2, self.bottom + 38, title)] if title else body


def round_places(high: float) -> list[float]:
    """Round places of an axis from 0 to beyond its largest figure."""
    if not 0 < high < math.inf:
        return [0.0, 1.0]
    step = 10.0 ** -12
    while True:
        for factor in (1, 2, 2.5, 5):
            if high / (step * factor) <= 5:
                count = int(high / (step * factor) - 1e-9) + 1
                return [place * step * factor for place in range(count + 1)]
        step *= 10


def _span(values: Sequence[float]) -> list[float]:
    """Round places around values, with some room."""
    low, high = min(values, default=0.0), max(values, default=1.0)
    room = (high - low) * 0.1 or abs(high) * 0.1 or 0.5
    size = round_places(high - low + 2 * room)[1]
    first = int((low - room) / size) if low - room >= 0 else int((low - room) / size) - 1
    first = max(first, 0) if low >= 0 else first
    return [place * size for place in range(first, int((high + room) / size) + 2)]


def short(text: str, longest: int = _LONGEST) -> str:
    """Cut a text so that it fits beside a bar."""
    return text if len(text) <= longest else f"{text[: longest - 1]}…"


def _svg(body: Sequence[str], height: float, title: str, told: str) -> Markup:
    head = f'<svg class="plot" viewBox="0 0 {WIDTH} {height:.0f}" width="{WIDTH}" height="{height:.0f}" role="img">'
    named = f"<title>{escape(title)}</title>" + (f"<desc>{escape(told)}</desc>" if told else "")
    return Markup(f"{head}{named}{''.join(body)}</svg>")


def _text(x: float, y: float, text: str, anchor: str = "middle", kind: str = "", more: str = "") -> str:
    name = f' class="{kind}"' if kind else ""
    return f'<text x="{x:.1f}" y="{y:.1f}" text-anchor="{anchor}"{name}{more}>{escape(text)}</text>'


def _turned(x: float, y: float, text: str) -> str:
    return _text(x, y, text, "end", more=f' transform="rotate(-40 {x:.1f} {y:.1f})"')


def _line(x1: float, y1: float, x2: float, y2: float, kind: str = "axis") -> str:
    return f'<line class="{kind}" x1="{x1:.1f}" y1="{y1:.1f}" x2="{x2:.1f}" y2="{y2:.1f}"/>'


def _box(x: float, y: float, width: float, height: float, kind: str, told: str, more: str = "") -> str:
    size = f'width="{max(width, 0):.1f}" height="{max(height, 0):.1f}"'
    return f'<rect class="{kind}" x="{x:.1f}" y="{y:.1f}" {size}{more}><title>{escape(told)}</title></rect>'


def _legend(
    marks: Sequence[str], names: Sequence[str], x: float, at: tuple[float, float] = (17, 16), gap: float = 36
) -> list[str]:
    """Marks, drawn at 0, with their names behind them."""
    body = []
    for mark, name in zip(marks, names, strict=True):
        body.append(f'<g transform="translate({x:.1f} 0)">{mark}{_text(*at, name, "start")}</g>')
        x += gap + _LETTER * len(name)
    return body
