"""``shoal list``: what is available."""

from __future__ import annotations

from enum import StrEnum
from typing import Annotated

import typer

from shoal.catalogue import names, summary
from shoal.cli.options import Json
from shoal.cli.show import show_json, show_table


class Kind(StrEnum):
    """What can be listed."""

    algorithms = "algorithms"
    models = "models"
    measures = "measures"
    attacks = "attacks"
    evaluations = "evaluations"
    papers = "papers"


def list_names(
    what: Annotated[
        Kind,
        typer.Argument(
            metavar="algorithms|models|measures|attacks|evaluations|papers", help="What to list.", show_default=False
        ),
    ],
    as_json: Json = False,
) -> None:
    """Say what is available, one line each."""
    kind = what.value.removesuffix("s")
    rows = [(name, summary(kind, name)) for name in names(kind)]
    if as_json:
        show_json({what.value: [{"name": name, "summary": text} for name, text in rows]})
    else:
        show_table([kind, "what it is"], rows)
