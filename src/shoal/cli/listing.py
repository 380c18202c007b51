"""``shoal list``: what is available."""

from __future__ import annotations

from enum import StrEnum
from typing import Annotated

import typer

from shoal.catalogue import origin, summary, working
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
    if what is Kind.papers and not rows:
        show_warning(f"There are none without {DISTRIBUTION}: run pip install {DISTRIBUTION}.")
    if as_json:
        show_json({what.value: [dict(zip(("name", "summary", "origin"), row, strict=True)) for row in rows]})
        return
    # Where everything is ours, saying so on every line tells nothing.
    foreign = len({row[2] for row in rows}) > 1
    show_table([kind, "what it is", *(["from"] if foreign else [])], [row if foreign else row[:2] for row in rows])
