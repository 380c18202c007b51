"""The picture of docs/scale.md: time and memory against rows, drawn from the table of that page.

    python -m benchmarks.curves            # writes docs/img/scale.svg
"""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping, Sequence
from math import log10
from pathlib import Path

DOCS = Path(__file__).resolve().parents[1] / "docs"
HEAD = "| Engine, method | Million rows |"
COLOURS = ("#2a6fb0", "#b0482a", "#2a8a5b", "#8a5bb0", "#b08a2a", "#3b4a5a")
INK, FAINT = "#3b4a5a", "#d5dbe1"
WIDTH, HEIGHT, LEFT, BOTTOM, PANEL = 900, 360, 60, 300, 330

Points = Mapping[str, Sequence[tuple[float, float, float]]]


def measured(page: str) -> dict[str, list[tuple[float, float, float]]]:
    """Millions of rows, seconds and MiB of every curve, from the table of a page."""
    lines = page[page.index(HEAD) :].split("\n\n")[0].splitlines()[2:]
    found: dict[str, list[tuple[float, float, float]]] = {}
    for line in lines:
        name, rows, seconds, _, peak, _ = (cell.strip() for cell in line.strip("|").split("|"))
        point = tuple(float(re.sub(r"[^\d.]", "", cell)) for cell in (rows, seconds, peak))
        found.setdefault(name.replace("`", ""), []).append(point)  # type: ignore[arg-type]
    return found


def panel(left: int, title: str, points: Points, at: int, ticks: Sequence[float]) -> list[str]:
    """One drawing of logarithmic axes: the figure at a place of every point against its rows."""
    rows = sorted({one[0] for curve in points.values() for one in curve})
    across = _scale(rows[0], rows[-1], left, left + PANEL)
    up = _scale(ticks[0], ticks[-1], BOTTOM, 50)
    drawn = [f'<text x="{left}" y="34" font-weight="bold">{title}</text>']
    for tick in ticks:
        y = up(tick)
        drawn.append(f'<line x1="{left}" y1="{y}" x2="{left + PANEL}" y2="{y}" stroke="{FAINT}"/>')
        drawn.append(f'<text x="{left - 6}" y="{y + 4}" text-anchor="end">{tick:,g}</text>')
    for tick in rows:
        drawn.append(f'<text x="{across(tick)}" y="{BOTTOM + 18}" text-anchor="middle">{tick:g}</text>')
    drawn.append(f'<text x="{left + PANEL // 2}" y="{BOTTOM + 38}" text-anchor="middle">million rows</text>')
    drawn.append(f'<line x1="{left}" y1="{BOTTOM}" x2="{left + PANEL}" y2="{BOTTOM}" stroke="{INK}"/>')
    for colour, curve in zip(COLOURS, points.values(), strict=False):
        places = [(across(one[0]), up(one[at])) for one in curve]
        line = " ".join(f"{x},{y}" for x, y in places)
        drawn.append(f'<polyline points="{line}" fill="none" stroke="{colour}" stroke-width="2"/>')
        drawn += [f'<circle cx="{x}" cy="{y}" r="3.5" fill="{colour}"/>' for x, y in places]
    return drawn


def _scale(low: float, high: float, start: float, end: float) -> Callable[[float], float]:
    """Places of figures on a logarithmic axis."""
    return lambda value: round(start + (end - start) * log10(value / low) / log10(high / low), 1)


def drawing(points: Points) -> str:
    """Both panels, and what the colours mean."""
    parts = panel(LEFT, "seconds", points, 1, (1, 10, 100, 1000))
    parts += panel(LEFT + PANEL + 70, "peak of memory, MiB", points, 2, (250, 500, 1000, 2000, 4000, 8000))
    for at, (colour, name) in enumerate(zip(COLOURS, points, strict=False)):
        x, y = LEFT + (at % 3) * 270, BOTTOM + 62 + at // 3 * 20
        parts.append(f'<circle cx="{x}" cy="{y - 4}" r="4" fill="{colour}"/><text x="{x + 10}" y="{y}">{name}</text>')
    height = HEIGHT + 35
    head = (
        f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {WIDTH} {height}" width="{WIDTH}" height="{height}" '
        f'role="img" font-family="sans-serif" font-size="13" fill="{INK}">'
    )
    return "\n".join([head, f'<rect width="{WIDTH}" height="{height}" fill="#ffffff"/>', *parts, "</svg>", ""])


def main() -> None:
    """Write the picture."""
    page = (DOCS / "scale.md").read_text("utf-8")
    (DOCS / "img" / "scale.svg").write_text(drawing(measured(page)), "utf-8")


if __name__ == "__main__":
    main()
