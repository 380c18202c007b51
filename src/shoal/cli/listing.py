"""``shoal list``: what is available."""

from __future__ import annotations

from collections.abc import Mapping
from enum import StrEnum
from typing import Annotated, Any

import typer

from shoal.catalogue import load, origin, summary, working
from shoal.cli.options import Json
from shoal.cli.papers import DISTRIBUTION
from shoal.cli.show import show_json, show_table, show_warning


class Kind(StrEnum):
    """What can be listed."""

    algorithms = "algorithms"
    models = "models"
    measures = "measures"
    attacks = "attacks"
    evaluations = "evaluations"
    engines = "engines"
    profiles = "profiles"
    papers = "papers"


def list_names(
    what: Annotated[
        Kind,
        typer.Argument(
            metavar="algorithms|models|measures|attacks|evaluations|engines|profiles|papers", help="What to list.",
            show_default=False,
        ),  # fmt: skip
    ],
    as_json: Json = False,
) -> None:
    """Say what is available, one line each."""
    kind = what.value.removesuffix("s")
    rows = [(name, summary(kind, name), origin(kind, name)) for name in working(kind)]
    given = {name: _parameters(kind, name) for name, _, _ in rows}
    if what is Kind.papers and not rows:
        show_warning(f"There are none without {DISTRIBUTION}: run pip install {DISTRIBUTION}.")
    if as_json:
        listed = [dict(zip(("name", "summary", "origin"), row, strict=True)) for row in rows]
        # Only of models are they known here.
        known = {name: {"parameters": mine} for name, mine in given.items() if kind == "model"}
        show_json({what.value: [one | known.get(str(one["name"]), {}) for one in listed]})
        return
    # Where everything is ours, saying so on every line tells nothing.
    foreign = len({row[2] for row in rows}) > 1
    headings = [kind, *(["parameters"] if any(given.values()) else []), "what it is", *(["from"] if foreign else [])]
    shown = [
        [name, *([_words(given[name])] if any(given.values()) else []), text, *([place] if foreign else [])]
        for name, text, place in rows
    ]
    show_table(headings, shown)


def _parameters(kind: str, name: str) -> dict[str, Any]:
    """Parameters of a model, with what they are by default; null where one has to be given."""
    if kind != "model":
        return {}
    import dataclasses

    needed = dataclasses.MISSING
    found = dataclasses.fields(load(kind, name))
    return {one.name: None if one.default is needed else one.default for one in found if one.init}


def _words(given: Mapping[str, Any]) -> str:
    return ", ".join(name if value is None else f"{name} = {value}" for name, value in given.items())
