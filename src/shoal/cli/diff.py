"""``shoal diff``: what differs between two releases, or two recipes."""

from __future__ import annotations

from itertools import groupby
from pathlib import Path
from typing import Annotated, Any

import typer

from shoal.cli.options import Json
from shoal.cli.show import figure, say, show_json, show_table, steps

_WIDEST = 30


def diff(
    one: Annotated[Path, typer.Argument(metavar="A", help="A release folder or a recipe.", show_default=False)],
    other: Annotated[Path, typer.Argument(metavar="B", help="Another one.", show_default=False)],
    as_json: Json = False,
) -> None:
    """Say what differs between two releases, or two recipes."""
    with steps() as step:
        step("loading")
        from shoal.release.explain import differences

        found = differences(one, other)
    if as_json:
        show_json({"a": str(one), "b": str(other), "same": not found, "differences": found})
        return
    if not found:
        say("They do not differ.")
    for part, mine in groupby(found, key=lambda entry: entry.part):
        rows = [(entry.what, _short(entry.one), _short(entry.other)) for entry in mine]
        show_table([part, one.name, other.name], rows)


def _short(value: Any) -> str:
    if value is None:
        return "-"
    if isinstance(value, float):
        return figure(value)
    text = f"{value:,}" if isinstance(value, int) and not isinstance(value, bool) else str(value)
    return text if len(text) <= _WIDEST else f"{text[: _WIDEST - 1]}…"
