"""The one style sheet: readable in light and dark by the figures of WCAG AA, and nothing in it comes from elsewhere."""

from __future__ import annotations

import re
from importlib.resources import files

import pytest

CSS = files("shoal.web").joinpath("static/shoal.css").read_text("utf-8")
TEXT = [
    *((ink, on) for ink in ("ink", "soft") for on in ("page", "raised", "changed", "star", "gone")),
    *(("ink", on) for on in ("good-tint", "bad-tint", "warn-tint", "accent-tint")),
    ("accent", "page"), ("accent", "raised"), ("accent", "accent-tint"), ("on-accent", "accent"),
    ("good", "page"), ("bad", "page"), ("warn", "page"), ("good", "raised"), ("bad", "raised"),
]  # fmt: skip
SHAPES = [("edge", "page"), ("edge", "raised"), ("s0", "page"), ("s1", "page"), ("bad", "page"), ("accent", "page")]


def colours(theme: str) -> dict[str, tuple[int, ...]]:
    """The variables of a theme."""
    dark = CSS.index("@media (prefers-color-scheme: dark)")
    part = CSS[:dark] if theme == "light" else CSS[dark : CSS.index("* { box-sizing")]
    found = re.findall(r"--([\w-]+): #([0-9a-f]{6});", part)
    return {name: tuple(int(text[at : at + 2], 16) for at in (0, 2, 4)) for name, text in found}


def luminance(colour: tuple[int, ...]) -> float:
    parts = [one / 255 for one in colour]
    linear = [one / 12.92 if one <= 0.04045 else ((one + 0.055) / 1.055) ** 2.4 for one in parts]
    return 0.2126 * linear[0] + 0.7152 * linear[1] + 0.0722 * linear[2]


def contrast(one: tuple[int, ...], other: tuple[int, ...]) -> float:
    light, dark = sorted((luminance(one), luminance(other)), reverse=True)
    return (light + 0.05) / (dark + 0.05)


@pytest.mark.parametrize("theme", ["light", "dark"])
def test_text_and_shapes_stand_out(theme: str) -> None:
    known = colours(theme)
    weak = {pair: round(contrast(known[pair[0]], known[pair[1]]), 2) for pair in TEXT}
    assert {pair: ratio for pair, ratio in weak.items() if ratio < 4.5} == {}
    shapes = {pair: round(contrast(known[pair[0]], known[pair[1]]), 2) for pair in SHAPES}
    assert {pair: ratio for pair, ratio in shapes.items() if ratio < 3} == {}


def test_both_themes_and_paper_have_all_colours() -> None:
    assert set(colours("light")) == set(colours("dark"))
    assert "@media print" in CSS


def test_nothing_comes_from_elsewhere() -> None:
    assert not re.search(r"@import|url\(|https?:|expression\(", CSS)
    for one in files("shoal.web").joinpath("templates").iterdir():
        text = one.read_text("utf-8")
        assert not re.search(r"(?:src|href|action)=\"(?:https?:)?//", text), one.name
        assert "|safe" not in text.replace(" ", ""), one.name
