"""The look of pages: readable in light and dark by the figures of WCAG AA, told to those who listen, all from here."""

from __future__ import annotations

import re
from collections.abc import Callable
from importlib.resources import files
from types import SimpleNamespace

import pytest
from fastapi import FastAPI

from shoal.web.permissions import record
from shoal.web.request import _PAGES as TEMPLATES
from tests.web.conftest import Browser

CSS = files("shoal.web").joinpath("static/shoal.css").read_text("utf-8")
PAGES = {one.name: one.read_text("utf-8") for one in files("shoal.web").joinpath("templates").iterdir()}
TEXT = [
    *((ink, on) for ink in ("ink", "soft") for on in ("page", "raised", "changed", "star", "gone")),
    *((ink, on) for ink in ("ink", "accent") for on in ("good-tint", "bad-tint", "warn-tint", "accent-tint")),
    ("accent", "page"), ("accent", "raised"), ("on-accent", "accent"), ("soft", "bad-tint"), ("soft", "accent-tint"),
    ("good", "page"), ("bad", "page"), ("warn", "page"), ("good", "raised"), ("bad", "raised"),
]  # fmt: skip
SHAPES = [
    *((shape, "page") for shape in ("edge", "s0", "s1", "bad", "good", "warn", "accent")), ("edge", "raised"),
    ("accent", "accent-tint"), ("good", "good-tint"), ("bad", "bad-tint"), ("warn", "warn-tint"),
]  # fmt: skip


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
    for name, text in PAGES.items():
        assert not re.search(r"(?:src|href|action)=\"(?:https?:)?//", text), name
        assert "|safe" not in text.replace(" ", ""), name


def test_every_class_of_a_page_has_its_style() -> None:
    known = set(re.findall(r"\.([a-z][\w-]*)", CSS))
    bare = {name: re.sub(r"{[%{].*?[%}]}", " ", text) for name, text in PAGES.items()}
    found = {name: {*" ".join(re.findall(r'class="([^"]*)"', text)).split()} - known for name, text in bare.items()}
    assert {name: unknown for name, unknown in found.items() if unknown} == {}


def test_plots_and_tables_scroll_in_a_box_that_says_so() -> None:
    """At 400 pixels a plot was cut off, without a sign that there is more of it and out of reach of the keyboard."""
    plots = {name: re.findall(r"(<div[^>]*>)?{{ (?:one\.svg|svg|drawn) }}", text) for name, text in PAGES.items()}
    assert {name for name, found in plots.items() if found} == {"parts.html", "counts.html"}
    for opening in (one for found in plots.values() for one in found):
        assert 'class="scroll drawn" tabindex="0" role="region" aria-label=' in opening
    box = re.search(r"\.scroll {\s+background:([^}]+)}", CSS)
    assert box is not None
    assert [box[1].count(kind) for kind in ("no-repeat local", "no-repeat scroll")] == [2, 2]
    assert "background" not in re.findall(r"svg\.plot {([^}]+)}", CSS)[0]  # which would hide the shades behind it


def test_tables_name_their_headings_and_are_scrolled_by_keys() -> None:
    for name, text in PAGES.items():
        assert [one for one in re.findall(r"<th\b[^>]*>", text) if " scope=" not in one] == [], name
        boxes = re.findall(r'<div\b[^>]*class="scroll[^>]*>', text)
        assert [one for one in boxes if not {'tabindex="0"', 'role="region"'} <= set(one[:-1].split())] == [], name


def test_a_new_user_may_little_unless_somebody_says_otherwise(signed_in: Callable[[str], Browser]) -> None:
    text = signed_in("admin").get("/users").text.partition("Another user")[2]
    assert re.findall(r"<option selected>(\w+)", text) == ["researcher"]


def test_facts_of_the_log_are_words(app: FastAPI, signed_in: Callable[[str], Browser]) -> None:
    with app.state.store.writing() as db:
        record(db, "custodian", "answer", codes={"age": 3, "<b>": 1}, automatic=False)
    assert "codes age 3, &lt;b&gt; 1, automatic no" in signed_in("auditor").get("/log").text


def test_a_release_without_models_says_so() -> None:
    told = TEMPLATES.get_template("release-parts.html").module
    shown = told.verdicts(SimpleNamespace(verdicts=()))  # type: ignore[attr-defined]
    assert "No model was asked for" in shown
    assert "<table" not in shown
