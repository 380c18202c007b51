"""Figures as SVG that stands in the page: no script, and the colours of the page, dark and printed ones too."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from html import escape
from itertools import pairwise

from markupsafe import Markup

from shoal.reports.dossier_model import Bars, Figure, Grid, Lines, Points, Stacks

_WIDTH, _HEIGHT = 660, 280
_LEFT, _RIGHT, _TOP, _BOTTOM = 62, 14, 30, 52
# Letters of 12 pixels, about.
_LETTER = 6.3
_LONGEST_LABEL = 22


def svg(figure: Figure, title: str) -> str:
    """One drawing."""
    draw = {"bars": _bars, "stacks": _stacks, "lines": _lines, "points": _points, "grid": _grid}[figure.shape]
    body, height = draw(figure)  # type: ignore[operator]
    head = f'<svg viewBox="0 0 {_WIDTH} {height:.0f}" role="img" aria-label="{escape(title, quote=True)}">'
    return f"{head}{''.join(body)}</svg>"


def _text(x: float, y: float, text: str, anchor: str = "middle", kind: str = "", more: str = "") -> str:
    name = f' class="{kind}"' if kind else ""
    return f'<text x="{x:.1f}" y="{y:.1f}" text-anchor="{anchor}"{name}{more}>{escape(text)}</text>'


def _line(x1: float, y1: float, x2: float, y2: float, kind: str = "axis") -> str:
    return f'<line class="{kind}" x1="{x1:.1f}" y1="{y1:.1f}" x2="{x2:.1f}" y2="{y2:.1f}"/>'


def _box(x: float, y: float, width: float, height: float, kind: str, told: str, more: str = "") -> str:
    return (
        f'<rect class="{kind}" x="{x:.1f}" y="{y:.1f}" width="{max(width, 0):.1f}" height="{max(height, 0):.1f}"{more}>'
        f"<title>{escape(told)}</title></rect>"
    )


def _steps(high: float) -> list[float]:
    """Round places of an axis from 0 to beyond its largest figure."""
    if high <= 0:
        return [0.0, 1.0]
    size = 10.0 ** len(str(int(1 / high))) if high < 1 else 1.0
    for step in (0.05, 0.1, 0.2, 0.25, 0.5, 1, 2, 5, 10, 20, 50, 100, 200, 500, 1000):
        if high * size <= 5 * step:
            count = int(high * size / step - 1e-9) + 1
            return [place * step / size for place in range(count + 1)]
    return [0.0, high]


def _percent(value: float) -> str:
    return f"{100 * value:.4g} %"


def _legend(names: Sequence[str]) -> list[str]:
    found, x = [], float(_LEFT)
    for place, name in enumerate(names):
        found.append(_box(x, 6, 12, 12, f"s{place}", name))
        found.append(_text(x + 17, 16, name, "start"))
        x += 34 + _LETTER * len(name)
    return found


def _frame(places: Sequence[float], across: str, upwards: str, bottom: float) -> list[str]:
    """Upright axis with its lines, and what the axes are."""
    high = places[-1] or 1.0
    found = []
    for place in places:
        y = bottom - (bottom - _TOP) * place / high
        found.append(_line(_LEFT, y, _WIDTH - _RIGHT, y, "grid"))
        found.append(_text(_LEFT - 6, y + 4, _percent(place), "end"))
    found.append(_text((_LEFT + _WIDTH - _RIGHT) / 2, bottom + 44, across))
    middle = (_TOP + bottom) / 2
    found.append(_text(12, middle, upwards, more=f' transform="rotate(-90 12 {middle:.0f})"'))
    return found


def _bars(figure: Bars) -> tuple[list[str], float]:
    places = _steps(max((value for values in figure.series.values() for value in values), default=0.0))
    wide = (_WIDTH - _LEFT - _RIGHT) / max(len(figure.labels), 1)
    tilted = max(map(len, figure.labels), default=0) * _LETTER > wide - 8
    bottom = _HEIGHT - _BOTTOM
    found = [*_legend(list(figure.series)), *_frame(places, "" if tilted else figure.across, figure.upwards, bottom)]
    each = wide * 0.76 / max(len(figure.series), 1)
    for at, (name, values) in enumerate(figure.series.items()):
        for place, value in enumerate(values):
            high = (bottom - _TOP) * value / (places[-1] or 1.0)
            x = _LEFT + wide * place + wide * 0.12 + each * at
            told = f"{figure.labels[place]}, {name}: {_percent(value)}"
            found.append(_box(x, bottom - high, each, high, f"s{at}", told))
    height = float(_HEIGHT)
    for place, label in enumerate(figure.labels):
        x = _LEFT + wide * (place + 0.5)
        if tilted:
            turned = f' transform="rotate(-38 {x:.1f} {bottom + 14:.1f})"'
            found.append(_text(x, bottom + 14, short(label, _LONGEST_LABEL), "end", more=turned))
        else:
            found.append(_text(x, bottom + 16, label))
    if tilted:
        longest = min(max(map(len, figure.labels)), _LONGEST_LABEL)
        height = bottom + 40 + longest * _LETTER * 0.62 + 16
        found.append(_text((_LEFT + _WIDTH - _RIGHT) / 2, height - 6, figure.across))
    found.append(_line(_LEFT, bottom, _WIDTH - _RIGHT, bottom))
    return found, height


def _stacks(figure: Stacks) -> tuple[list[str], float]:
    left = 24 + _LETTER * min(max(map(len, figure.labels), default=0), _LONGEST_LABEL)
    found = _legend(list(figure.series))
    wide = _WIDTH - left - _RIGHT
    for place, label in enumerate(figure.labels):
        y, x = 30 + 26 * place, left
        found.append(_text(left - 8, y + 14, short(label, _LONGEST_LABEL), "end"))
        for at, (name, values) in enumerate(figure.series.items()):
            told = f"{label}, {name}: {_percent(values[place])}"
            found.append(_box(x, y, wide * values[place], 19, f"s{at}", told))
            x += wide * values[place]
    bottom = 30 + 26 * len(figure.labels)
    for share in (0, 0.25, 0.5, 0.75, 1):
        anchor = "end" if share == 1 else "middle"
        found.append(_text(left + wide * share, bottom + 16, _percent(share), anchor))
    return [*found, _text(left + wide / 2, bottom + 36, figure.across)], bottom + 44


def _lines(figure: Lines) -> tuple[list[str], float]:
    points = [point for line in figure.series.values() for point in line]
    wide, bottom = _WIDTH - _LEFT - _RIGHT, float(_HEIGHT - _BOTTOM)
    far = _steps(max([*(x for x, _ in points), figure.mark[0] if figure.mark else 0.0], default=1.0))
    places = _steps(max((y for _, y in points), default=1.0))

    def at(x: float, y: float) -> tuple[float, float]:
        return _LEFT + wide * x / (far[-1] or 1.0), bottom - (bottom - _TOP) * y / (places[-1] or 1.0)

    found = [*_legend(list(figure.series)), *_frame(places, figure.across, figure.upwards, bottom)]
    found += [_text(at(x, 0)[0], bottom + 16, _percent(x), "end" if x == far[-1] else "middle") for x in far]
    for place, line in enumerate(figure.series.values()):
        path = " ".join(f"{x:.1f},{y:.1f}" for x, y in (at(*point) for point in _stepped(figure, line)))
        found.append(f'<polyline class="l{place}" points="{path}"/>')
    if figure.mark is not None:
        x = at(figure.mark[0], 0)[0]
        right = x > _WIDTH * 0.7
        found += [
            _line(x, _TOP, x, bottom, "mark"),
            _text(x + (-5 if right else 5), _TOP + 18, figure.mark[1], "end" if right else "start"),
        ]
    return [*found, _line(_LEFT, bottom, _WIDTH - _RIGHT, bottom)], float(_HEIGHT)


def _stepped(figure: Lines, line: Sequence[tuple[float, float]]) -> list[tuple[float, float]]:
    if not figure.steps:
        return list(line)
    corners = [(here[0], after[1]) for here, after in pairwise(line)]
    return [point for pair in zip(line, [*corners, line[-1]], strict=True) for point in pair]


def _points(figure: Points) -> tuple[list[str], float]:
    wide, bottom = _WIDTH - _LEFT - _RIGHT - 40, float(_HEIGHT - _BOTTOM)
    far = _steps(max((x for x, _ in figure.points.values()), default=1.0))
    places = _steps(max((y for _, y in figure.points.values()), default=1.0))
    found = _frame(places, figure.across, figure.upwards, bottom)
    found += [_text(_LEFT + wide * x / (far[-1] or 1.0), bottom + 16, _percent(x)) for x in far]
    for place, (name, (x, y)) in enumerate(figure.points.items()):
        px, py = _LEFT + wide * x / (far[-1] or 1.0), bottom - (bottom - _TOP) * y / (places[-1] or 1.0)
        right = px > _WIDTH * 0.6
        found.append(f'<circle class="s{place}" cx="{px:.1f}" cy="{py:.1f}" r="6"/>')
        found.append(_text(px + (-11 if right else 11), py - 6, name, "end" if right else "start"))
    return [*found, _line(_LEFT, bottom, _WIDTH - _RIGHT, bottom)], float(_HEIGHT)


def _grid(figure: Grid) -> tuple[list[str], float]:
    left = 20 + _LETTER * min(max(map(len, figure.names), default=0), _LONGEST_LABEL)
    size = min(46.0, (_WIDTH - left - _RIGHT) / max(len(figure.names), 1))
    most = max((value for row in figure.values for value in row if value is not None), default=0.0) or 1.0
    found = []
    for row, name in enumerate(figure.names):
        y = 8 + size * row
        found.append(_text(left - 8, y + size / 2 + 4, short(name, _LONGEST_LABEL), "end"))
        for column, value in enumerate(figure.values[row]):
            if value is None:
                continue
            told = f"{name} and {figure.names[column]}: {value:.3f}"
            x, more = left + size * column, f' style="fill-opacity:{0.06 + 0.88 * value / most:.2f}"'
            found.append(_box(x, y, size - 1, size - 1, "cell", told, more))
            dark = ' class="on"' if value > 0.6 * most else ""
            found.append(_text(x + size / 2, y + size / 2 + 4, f"{value:.2f}".lstrip("0") or "0", more=dark))
    bottom = 8 + size * len(figure.names)
    for column, name in enumerate(figure.names):
        x = left + size * (column + 0.5)
        turned = f' transform="rotate(-38 {x:.1f} {bottom + 14:.1f})"'
        found.append(_text(x, bottom + 14, short(name, 14), "end", more=turned))
    return found, bottom + 30 + 14 * _LETTER * 0.62


# ----------------------------------------
# Plots as SVG that stands in a page: classes instead of styles, a title and a description in words, no script.


WIDTH = 640
_WIDE_LETTER = 6.6
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
    """A point of a plane; ``kind`` is a class: ``front``, ``best``, ``own`` or nothing."""

    x: float
    y: float
    label: str
    told: str
    kind: str = ""


def _svg(body: Sequence[str], height: float, title: str, told: str) -> Markup:
    head = f'<svg class="plot" viewBox="0 0 {WIDTH} {height:.0f}" width="{WIDTH}" height="{height:.0f}" role="img">'
    named = f"<title>{escape(title)}</title><desc>{escape(told)}</desc>"
    return Markup(f"{head}{named}{''.join(body)}</svg>")


def short(text: str, longest: int = _LONGEST) -> str:
    """A text that fits beside a bar."""
    return text if len(text) <= longest else f"{text[: longest - 1]}…"


def percent(value: float) -> str:
    """A share for people."""
    return f"{100 * value:.3g} %"


def _places(high: float) -> list[float]:
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


def bars(title: str, told: str, given: Sequence[Bar]) -> Markup:
    """Lying bars of shares with intervals and marks; numbers stand at their ends."""
    left = 24 + _WIDE_LETTER * max([min(len(one.label), _LONGEST) for one in given], default=0)
    right = WIDTH - 78.0
    high = max([0.0, *(value for one in given for value in (one.value, one.high or 0.0, *dict(one.marks).values()))])
    places = _places(1.0 if high > 0.5 else high)
    names = list(dict.fromkeys(name for one in given for name, _ in one.marks))
    body, y0 = _mark_legend(names, left), 26.0 if names else 8.0
    bottom = y0 + 26.0 * len(given)

    def at(value: float) -> float:
        return left + (right - left) * min(value / places[-1], 1.0)

    for place in places:
        body += [_line(at(place), y0, at(place), bottom, "grid"), _text(at(place), bottom + 16, percent(place))]
    for place, one in enumerate(given):
        y = y0 + 26.0 * place
        body.append(_text(left - 12, y + 17, short(one.label), "end"))
        body += _bar(one, y, at, names)
    body.append(_line(left, y0, left, bottom, "axis"))
    return _svg(body, bottom + 26, title, told)


def _bar(one: Bar, y: float, at: Callable[[float], float], names: Sequence[str]) -> list[str]:
    """One bar with what belongs to it."""
    told = f"{one.label}: {percent(one.value)}"
    found = [_box(at(0.0), y + 5, at(one.value) - at(0.0), 16, f"bar {one.kind}", told)]
    if one.low is not None and one.high is not None:
        found.append(_line(at(one.low), y + 13, at(one.high), y + 13, "interval"))
        found += [_line(at(end), y + 9, at(end), y + 17, "interval") for end in (one.low, one.high)]
    for name, value in one.marks:
        found.append(_mark(at(value), y + 13, names.index(name), f"{one.label}, {name}: {percent(value)}"))
    far = max([at(one.value), at(one.high or 0.0), *(at(value) + 6 for _, value in one.marks)])
    return [*found, _text(far + 8, y + 17, percent(one.value), "start", "number")]


def _mark(x: float, y: float, which: int, told: str) -> str:
    """A diamond for the first kind of mark, a ring for the second."""
    name = f"<title>{escape(told)}</title>"
    if which == 0:
        points = f"{x:.1f},{y - 7:.1f} {x + 6:.1f},{y:.1f} {x:.1f},{y + 7:.1f} {x - 6:.1f},{y:.1f}"
        return f'<polygon class="mark m0" points="{points}">{name}</polygon>'
    return f'<circle class="mark m1" cx="{x:.1f}" cy="{y:.1f}" r="5.5">{name}</circle>'


def _mark_legend(names: Sequence[str], left: float) -> list[str]:
    found, x = [], left + 8
    for which, name in enumerate(names):
        found += [_mark(x, 11, which, name), _text(x + 11, 15, name, "start")]
        x += 40 + _WIDE_LETTER * len(name)
    return found


def columns(title: str, told: str, labels: Sequence[str], series: dict[str, Sequence[float]]) -> Markup:
    """Standing bars of one or two series of shares, side by side."""
    left, bottom, y0 = 56.0, 190.0, 28.0 if len(series) > 1 else 12.0
    places = _places(max((value for values in series.values() for value in values), default=0.0))
    top = places[-1] or 1.0
    body: list[str] = []
    x = left
    for place, name in enumerate(series if len(series) > 1 else ()):
        body += [_box(x, 6, 12, 12, f"bar s{place}", name), _text(x + 17, 16, name, "start")]
        x += 36 + _WIDE_LETTER * len(name)
    for value in places:
        y = bottom - (bottom - y0) * value / top
        body += [_line(left, y, WIDTH - 10, y, "grid"), _text(left - 6, y + 4, percent(value), "end")]
    wide = (WIDTH - 10 - left) / max(len(labels), 1)
    each = min(wide * 0.8 / max(len(series), 1), 46.0)
    tilted = max(map(len, labels), default=0) * _WIDE_LETTER > wide - 6
    for which, (name, values) in enumerate(series.items()):
        for place, value in enumerate(values):
            start = left + wide * (place + 0.5) - each * len(series) / 2 + each * which
            size = (bottom - y0) * value / top
            words = f"{labels[place]}{f', {name}' if len(series) > 1 else ''}: {percent(value)}"
            kind = f"bar s{which if len(series) > 1 else 1}"
            body.append(_box(start, bottom - size, each - 1, size, kind, words))
    deep = 0.0
    for place, label in enumerate(labels):
        middle = left + wide * (place + 0.5)
        if tilted:
            turn = f' transform="rotate(-40 {middle:.1f} {bottom + 14:.1f})"'
            body.append(_text(middle, bottom + 14, short(label, 18), "end", more=turn))
            deep = max(deep, _WIDE_LETTER * min(len(label), 18) * 0.64)
        else:
            body.append(_text(middle, bottom + 16, label))
    body.append(_line(left, bottom, WIDTH - 10, bottom, "axis"))
    return _svg(body, bottom + 26 + deep, title, told)


def plane(title: str, told: str, dots: Sequence[Dot], front: Sequence[Dot], axes: tuple[str, str]) -> Markup:
    """Points of a plane, those of the front joined; both axes begin where the points do.

    What is no number, or too large to tell distances from it, has no place.
    """
    left, right, y0, bottom = 66.0, WIDTH - 16.0, 16.0, 300.0
    dots, front = [one for one in dots if _has_place(one)], [one for one in front if _has_place(one)]
    xs, ys = _span([one.x for one in dots]), _span([one.y for one in dots])

    def at(one: Dot) -> tuple[float, float]:
        across = left + (right - left) * (one.x - xs[0]) / (xs[-1] - xs[0])
        return across, bottom - (bottom - y0) * (one.y - ys[0]) / (ys[-1] - ys[0])

    body: list[str] = []
    for value in xs:
        x = left + (right - left) * (value - xs[0]) / (xs[-1] - xs[0])
        body += [_line(x, y0, x, bottom, "grid"), _text(x, bottom + 16, f"{value:.4g}")]
    for value in ys:
        y = bottom - (bottom - y0) * (value - ys[0]) / (ys[-1] - ys[0])
        body += [_line(left, y, right, y, "grid"), _text(left - 6, y + 4, f"{value:.4g}", "end")]
    if len(front) > 1:
        body.append(f'<polyline class="front" points="{" ".join(f"{x:.1f},{y:.1f}" for x, y in map(at, front))}"/>')
    for one in dots:
        x, y = at(one)
        size = 8 if one.kind in ("best", "own") else 6
        where = f'class="dot {one.kind}" cx="{x:.1f}" cy="{y:.1f}" r="{size}"'
        body.append(f"<circle {where}><title>{escape(one.told)}</title></circle>")
        body.append(_text(x, y - size - 4, one.label, kind="number"))
    body += [_line(left, bottom, right, bottom, "axis"), _line(left, y0, left, bottom, "axis")]
    body.append(_text((left + right) / 2, bottom + 38, axes[0]))
    middle = (y0 + bottom) / 2
    body.append(
        f'<text x="14" y="{middle:.0f}" text-anchor="middle" transform="rotate(-90 14 {middle:.0f})">'
        f"{escape(axes[1])}</text>"
    )
    return _svg(body, bottom + 48, title, told)


def _has_place(one: Dot) -> bool:
    return abs(one.x) < _FARTHEST and abs(one.y) < _FARTHEST


def _span(values: Sequence[float]) -> list[float]:
    """Round places around values, with some room."""
    low, high = min(values, default=0.0), max(values, default=1.0)
    room = (high - low) * 0.1 or abs(high) * 0.1 or 0.5
    step = _places(high - low + 2 * room)
    size = step[1] - step[0]
    first = int((low - room) / size) if low - room >= 0 else int((low - room) / size) - 1
    first = max(first, 0) if low >= 0 else first
    last = int((high + room) / size) + 1
    return [place * size for place in range(first, last + 1)]
