"""``shoal measure``: what a release cost."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Annotated, Any

import typer

from shoal.cli.options import Json
from shoal.cli.run import carry_out
from shoal.cli.show import say, show_json
from shoal.cli.summary import score_data, show_scores
from shoal.errors import InputError
from shoal.registry import names as registered
from shoal.registry import summary


def measure(
    target: Annotated[
        Path,
        typer.Argument(
            metavar="RECIPE|FOLDER", help="A recipe, or the folder of a release.", show_default=False
        ),
    ],
    names: Annotated[
        list[str] | None,
        typer.Argument(metavar="[NAME]...", help="Measures; all of them by default.", show_default=False),
    ] = None,
    as_json: Json = False,
) -> None:
    """Price a release: one made from a recipe in memory, or a written one by its evidence."""
    wanted = list(dict.fromkeys(names or ()))
    for name in wanted:
        summary("measure", name)  # an unknown name proposes the nearest one
    scores, statement = _recorded(target) if target.is_dir() else _made(target)
    absent = [name for name in wanted if name not in scores]
    if absent:
        raise InputError(
            f"The evidence of '{target}' has no measure '{absent[0]}': measure its recipe instead."
        )
    shown = {name: scores[name] for name in wanted or registered("measure") if name in scores}
    if as_json:
        show_json({"target": str(target), "statement": statement, "measures": shown})
        return
    say(f"{target}: {statement}")
    show_scores(shown)


def _made(recipe: Path) -> tuple[Mapping[str, Any], str]:
    """Measures of a release that is made and gated in memory, and not written."""
    release, _ = carry_out(recipe, dry_run=True)
    return score_data(release.evidence["measures"]), release.manifest["statement"]


def _recorded(folder: Path) -> tuple[Mapping[str, Any], str]:
    """Measures that the publisher's evidence holds."""
    from shoal.io.evidence import read_evidence
    from shoal.io.manifest import read_manifest

    statement = read_manifest(folder)["statement"]
    recorded = read_evidence(folder).get("measures")
    if not isinstance(recorded, Mapping):
        raise InputError(f"The evidence of '{folder}' holds no measures: measure its recipe instead.")
    return {name: _numbers(score) for name, score in recorded.items()}, statement


def _numbers(entry: Any) -> Any:
    """Undo how evidence writes what JSON has no numbers for: such figures and bounds are None here."""
    if isinstance(entry, Mapping):
        return {key: _numbers(value) for key, value in entry.items()}
    return None if entry in ("inf", "-inf", "nan") else entry
