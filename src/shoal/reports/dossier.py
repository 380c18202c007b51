"""Who reads a dossier, and so what stands in it and in which order."""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from typing import Any

from shoal.recoding.kinds import Trait, made_of
from shoal.reports import dossier_context as context
from shoal.reports import dossier_figures as figures
from shoal.reports.dossier_model import (
    NOT_MEASURED,
    NOT_STATED,
    Bars,
    Block,
    Dossier,
    Facts,
    Figure,
    Grid,
    Items,
    Lines,
    Points,
    Section,
    Stacks,
    Table,
    Text,
    count,
    share,
)
from shoal.reports.pages import TEMPLATES, render
from shoal.reports.svg import svg

Part = Callable[[Facts], Section]
INTERNAL, EXTERNAL, REGULATOR = "internal", "external", "regulator"
# As issues are raised at a review board.
_INTERNAL: tuple[Part, ...] = (
    context.identification, context.situation, context.principals, figures.variables, context.threats,
    figures.threshold, figures.risk, figures.criteria, figures.attacks, context.models, figures.utility,
    context.deviations, context.history, context.hashes, context.sign_off, context.crosswalk,
)  # fmt: skip
# As the anonymisation reports of EMA and Health Canada go: method, variables, risk, utility, conclusion.
_REGULATOR: tuple[Part, ...] = (
    context.identification, context.models, figures.threshold, figures.variables, context.principals,
    context.situation, context.threats, figures.risk, figures.criteria, figures.attacks, figures.utility,
    context.deviations, context.history, context.sign_off, context.hashes, context.crosswalk,
)  # fmt: skip
# What the manifest says, and nothing else.
_EXTERNAL: tuple[Part, ...] = (
    context.identification, context.situation, context.models, figures.attacks, context.deviations, figures.columns,
    context.history, context.hashes,
)  # fmt: skip
AUDIENCES: Mapping[str, tuple[Part, ...]] = {INTERNAL: _INTERNAL, EXTERNAL: _EXTERNAL, REGULATOR: _REGULATOR}


def dossier(facts: Facts, audience: str) -> Dossier:
    """What some readers are told of a release; those outside never more than its manifest says."""
    private = audience != EXTERNAL
    seen = facts if private else public(facts.manifest, facts.digest)
    parts = AUDIENCES[audience]
    if not private and not seen.manifest.get("measured"):
        parts = tuple(part for part in parts if part is not figures.attacks)
    return Dossier(
        title=seen.named,
        audience=audience,
        private=private,
        statement=str(seen.manifest["statement"]),
        date=str(seen.manifest.get("date", NOT_STATED)),
        facts=_first_look(seen),
        sections=[part(seen) for part in parts],
    )


def public(manifest: Mapping[str, Any], digest: str = "") -> Facts:
    """What everybody knows: the manifest, and what its publisher says there."""
    return replace(Facts(manifest=manifest), review=manifest.get("review", {}), digest=digest)


def _first_look(facts: Facts) -> list[tuple[str, str]]:
    classes, alike = facts.manifest["classes"], made_of(facts.manifest).has(Trait.ALIKE)
    found = [
        ("rows released", count(facts.manifest["data"]["rows"])),
        ("classes", count(classes["count"])),
        ("smallest class", count(classes["smallest"])),
    ]
    if facts.evidence:
        found += [
            ("largest risk before", share(facts.risk("before", "prosecutor-max"))),
            *(
                (f"{words} risk after", share(facts.risk("after", f"prosecutor-{name}")) if alike else NOT_MEASURED)
                for name, words in (("max", "largest"), ("mean", "mean"))
            ),
        ]
        counts = facts.evidence["counts"]
        taking_part = counts["released"] + counts["suppressed"]
        found.append(("rows suppressed", share(counts["suppressed"] / taking_part if taking_part else 0.0)))
    return found


# ----------------------------------------
# A dossier as a page, as Markdown or as JSON.


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
