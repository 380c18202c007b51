"""``shoal estimate``: counts and rules of the original from a randomised release."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from shoal.cli.options import Json
from shoal.cli.show import figure, plain, say, show_json, show_table, steps
from shoal.errors import InputError


def estimate(
    folder: Annotated[
        Path, typer.Argument(metavar="FOLDER", help="The folder of a randomised release.", show_default=False)
    ],
    queries: Annotated[
        list[str] | None,
        typer.Argument(
            metavar="[QUERY]...", help="Whom to count: 'age in [30, 40] and sex = Female'.", show_default=False
        ),
    ] = None,
    rule: Annotated[
        list[str] | None,
        typer.Option(metavar="RULE", help="'sex = Female -> job = nurse'. Can be repeated.", show_default=False),
    ] = None,
    file: Annotated[
        Path | None,
        typer.Option("--queries", metavar="FILE", help="Further queries and rules, one a line.", show_default=False),
    ] = None,
    as_json: Json = False,
) -> None:
    """Count in the original by undoing the noise of a randomised release; needs nothing but the release."""
    asked, rules = list(queries or ()), list(rule or ())
    for line in [] if file is None else _lines(file):
        (rules if " -> " in line else asked).append(line)
    with steps() as step:
        step("loading")
        from shoal.release.run import estimate as estimated

        found = estimated(folder, queries=asked, rules=rules)
    if as_json:
        show_json({"folder": str(folder), "estimates": [plain(one) for one in found]})
        return
    rows = [
        (
            one.figure, one.of, figure(one.released), figure(one.value), figure(one.error),
            "-" if one.interval is None else " to ".join(map(figure, one.interval)),
        )
        for one in found
    ]  # fmt: skip
    show_table(["figure", "of", ">released", ">estimate", ">standard error", ">95 % interval"], rows)
    say("Errors are those of the redrawing alone: how far the estimate is from what the original table has.")


def _lines(path: Path) -> list[str]:
    try:
        lines = path.read_text("utf-8").splitlines()
    except UnicodeDecodeError:
        raise InputError(f"'{path}' is not text in UTF-8: save it as such.") from None
    return [line for line in lines if line.strip() and not line.lstrip().startswith("#")]
