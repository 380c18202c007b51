"""A dossier as a page, as Markdown or as JSON."""

from __future__ import annotations

import json
import re
from collections.abc import Sequence

from shoal.reports.dossier.drawing import svg
from shoal.reports.dossier.model import Bars, Block, Dossier, Figure, Grid, Items, Lines, Points, Stacks, Table, Text
from shoal.reports.pages import TEMPLATES, render

PRIVATE = "Private: not for publication. The figures tell about people who are not in the release."
FORMATS = ("html", "md", "json")


def dossier_html(dossier: Dossier) -> str:
    """One page that needs no network and no script, on screens and on paper."""
    style = (TEMPLATES / "dossier.css").read_text("utf-8")
    return render("dossier.html.jinja", dossier=dossier, private=PRIVATE, svg=svg, style=style)


def dossier_json(dossier: Dossier) -> str:
    """The data model as it is."""
    found = dossier.as_dict() | ({"notice": PRIVATE} if dossier.private else {})
    return json.dumps(found, indent=2, ensure_ascii=False, allow_nan=False) + "\n"


def dossier_markdown(dossier: Dossier) -> str:
    """The same in plain text; figures are tables of what they would draw."""
    lines = [f"# {_words(dossier.title)}", ""]
    if dossier.private:
        lines += [f"> **{PRIVATE}**", ""]
    lines += [f"This release is {_words(dossier.statement)}. Date: {dossier.date}.", ""]
    lines += [*_table(("", ""), dossier.facts), ""]
    for number, section in enumerate(dossier.sections, 1):
        lines += [f"## {number} {_words(section.title)}", ""]
        for block in section.blocks:
            lines += [*_block(block), ""]
    return "\n".join(lines)


def _block(block: Block) -> list[str]:
    if isinstance(block, Text):
        text = _words(block.text)
        return [f"**{text}**" if block.tone in ("strong", "bad", "good") else text]
    if isinstance(block, Items):
        return [f"- {_words(item)}" for item in block.items]
    if isinstance(block, Table):
        caption = [f"*{_words(block.caption)}*", ""] if block.caption else []
        return [*caption, *_table(block.headings or ("", ""), block.rows)]
    note = ["", _words(block.note)] if block.note else []
    return [f"*{_words(block.title)}*", "", *_table(*_figure(block.figure)), *note]


def _figure(figure: Figure) -> tuple[Sequence[str], Sequence[Sequence[str]]]:
    """What a figure draws, as headings and rows."""
    if isinstance(figure, Bars | Stacks):
        rows = [
            (label, *(f"{100 * values[place]:.1f} %" for values in figure.series.values()))
            for place, label in enumerate(figure.labels)
        ]
        return (figure.across, *(f">{name}" for name in figure.series)), rows
    if isinstance(figure, Lines):
        places = sorted({x for line in figure.series.values() for x, _ in line})
        shown = places[:: max(1, len(places) // 10)]
        known = {name: dict(line) for name, line in figure.series.items()}
        rows = [
            (f"{100 * x:.1f} %", *(f"{100 * line[x]:.1f} %" if x in line else "" for line in known.values()))
            for x in shown
        ]
        return (figure.across, *(f">{name}" for name in figure.series)), rows
    if isinstance(figure, Points):
        rows = [(name, f"{100 * x:.1f} %", f"{100 * y:.1f} %") for name, (x, y) in figure.points.items()]
        return ("", f">{figure.across}", f">{figure.upwards}"), rows
    assert isinstance(figure, Grid)
    rows = [
        (name, *("" if value is None else f"{value:.3f}" for value in figure.values[place]))
        for place, name in enumerate(figure.names)
    ]
    return ("", *(f">{name}" for name in figure.names)), rows


def _table(headings: Sequence[str], rows: Sequence[Sequence[str]]) -> list[str]:
    named = "| " + " | ".join(_cell(one.removeprefix(">")) for one in headings) + " |"
    ruled = "|" + "|".join(" ---: " if one.startswith(">") else " --- " for one in headings) + "|"
    return [named, ruled, *("| " + " | ".join(map(_cell, row)) + " |" for row in rows)]


def _cell(text: str) -> str:
    return _words(text).replace("|", "\\|").replace("\n", " ")


def _words(text: str) -> str:
    """A text in which nothing is markup."""
    return re.sub(r"([\\`*_{}\[\]<>#])", r"\\\1", text)
