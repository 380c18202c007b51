"""Figures as SVG that stands in the page: no script, and the colours of the page, dark and printed ones too."""

from __future__ import annotations

from collections.abc import Sequence
from html import escape
from itertools import pairwise

from shoal.reports.dossier.model import Bars, Figure, Grid, Lines, Points, Stacks

_WIDTH, _HEIGHT = 660, 280
_LEFT, _RIGHT, _TOP, _BOTTOM = 62, 14, 30, 52
# Letters of 12 pixels, about.
_LETTER = 6.3
_LONGEST = 22


def svg(figure: Figure, title: str) -> str:
    """One drawing."""
    draw = {"bars": _bars, "stacks": _stacks, "lines": _lines, "points": _points, "grid": _grid}[figure.shape]
    body, height = draw(figure)  # type: ignore[operator]
    head = f'<svg viewBox="0 0 {_WIDTH} {height:.0f}" role="img" aria-label="{escape(title, quote=True)}">'
    return f"{head}{''.join(body)}</svg>"


def _text(x: float, y: float, text: str, *, anchor: str = "middle", more: str = "") -> str:
    return f'<text x="{x:.1f}" y="{y:.1f}" text-anchor="{anchor}"{more}>{escape(text)}</text>'


def _line(x1: float, y1: float, x2: float, y2: float, kind: str = "axis") -> str:
    return f'<line class="{kind}" x1="{x1:.1f}" y1="{y1:.1f}" x2="{x2:.1f}" y2="{y2:.1f}"/>'


def _box(x: float, y: float, width: float, height: float, kind: str, told: str, more: str = "") -> str:
    return (
        f'<rect class="{kind}" x="{x:.1f}" y="{y:.1f}" width="{max(width, 0):.1f}" height="{max(height, 0):.1f}"{more}>'
        f"<title>{escape(told)}</title></rect>"
    )


def _short(text: str, longest: int = _LONGEST) -> str:
    return text if len(text) <= longest else f"{text[: longest - 1]}…"


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
        found.append(_text(x + 17, 16, name, anchor="start"))
        x += 34 + _LETTER * len(name)
    return found


def _frame(places: Sequence[float], across: str, upwards: str, bottom: float) -> list[str]:
    """Upright axis with its lines, and what the axes are."""
    high = places[-1] or 1.0
    found = []
    for place in places:
        y = bottom - (bottom - _TOP) * place / high
        found += [_line(_LEFT, y, _WIDTH - _RIGHT, y, "grid"), _text(_LEFT - 6, y + 4, _percent(place), anchor="end")]
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
            found.append(_text(x, bottom + 14, _short(label), anchor="end", more=turned))
        else:
            found.append(_text(x, bottom + 16, label))
    if tilted:
        longest = min(max(map(len, figure.labels)), _LONGEST)
        height = bottom + 40 + longest * _LETTER * 0.62 + 16
        found.append(_text((_LEFT + _WIDTH - _RIGHT) / 2, height - 6, figure.across))
    found.append(_line(_LEFT, bottom, _WIDTH - _RIGHT, bottom))
    return found, height


def _stacks(figure: Stacks) -> tuple[list[str], float]:
    left = 24 + _LETTER * min(max(map(len, figure.labels), default=0), _LONGEST)
    found = _legend(list(figure.series))
    wide = _WIDTH - left - _RIGHT
    for place, label in enumerate(figure.labels):
        y, x = 30 + 26 * place, left
        found.append(_text(left - 8, y + 14, _short(label), anchor="end"))
        for at, (name, values) in enumerate(figure.series.items()):
            told = f"{label}, {name}: {_percent(values[place])}"
            found.append(_box(x, y, wide * values[place], 19, f"s{at}", told))
            x += wide * values[place]
    bottom = 30 + 26 * len(figure.labels)
    for share in (0, 0.25, 0.5, 0.75, 1):
        found.append(_text(left + wide * share, bottom + 16, _percent(share), anchor="end" if share == 1 else "middle"))
    return [*found, _text(left + wide / 2, bottom + 36, figure.across)], bottom + 44


def _lines(figure: Lines) -> tuple[list[str], float]:
    points = [point for line in figure.series.values() for point in line]
    wide, bottom = _WIDTH - _LEFT - _RIGHT, float(_HEIGHT - _BOTTOM)
    far = _steps(max([*(x for x, _ in points), figure.mark[0] if figure.mark else 0.0], default=1.0))
    places = _steps(max((y for _, y in points), default=1.0))

    def at(x: float, y: float) -> tuple[float, float]:
        return _LEFT + wide * x / (far[-1] or 1.0), bottom - (bottom - _TOP) * y / (places[-1] or 1.0)

    found = [*_legend(list(figure.series)), *_frame(places, figure.across, figure.upwards, bottom)]
    found += [_text(at(x, 0)[0], bottom + 16, _percent(x), anchor="end" if x == far[-1] else "middle") for x in far]
    for place, line in enumerate(figure.series.values()):
        path = " ".join(f"{x:.1f},{y:.1f}" for x, y in (at(*point) for point in _stepped(figure, line)))
        found.append(f'<polyline class="l{place}" points="{path}"/>')
    if figure.mark is not None:
        x = at(figure.mark[0], 0)[0]
        right = x > _WIDTH * 0.7
        found += [
            _line(x, _TOP, x, bottom, "mark"),
            _text(x + (-5 if right else 5), _TOP + 18, figure.mark[1], anchor="end" if right else "start"),
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
        found.append(_text(px + (-11 if right else 11), py - 6, name, anchor="end" if right else "start"))
    return [*found, _line(_LEFT, bottom, _WIDTH - _RIGHT, bottom)], float(_HEIGHT)


def _grid(figure: Grid) -> tuple[list[str], float]:
    left = 20 + _LETTER * min(max(map(len, figure.names), default=0), _LONGEST)
    size = min(46.0, (_WIDTH - left - _RIGHT) / max(len(figure.names), 1))
    most = max((value for row in figure.values for value in row if value is not None), default=0.0) or 1.0
    found = []
    for row, name in enumerate(figure.names):
        y = 8 + size * row
        found.append(_text(left - 8, y + size / 2 + 4, _short(name), anchor="end"))
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
        found.append(_text(x, bottom + 14, _short(name, 14), anchor="end", more=turned))
    return found, bottom + 30 + 14 * _LETTER * 0.62
