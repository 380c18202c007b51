"""``shoal report``: the dossier of a written release, for its publisher, a regulator or its recipients."""

from __future__ import annotations

import json
from enum import StrEnum
from pathlib import Path
from typing import Annotated, Any

import typer

from shoal.cli.options import Json
from shoal.cli.show import say, show_json, steps
from shoal.errors import InputError


class Audience(StrEnum):
    """Who reads it."""

    internal = "internal"
    external = "external"
    regulator = "regulator"


class Format(StrEnum):
    """What it is written as."""

    html = "html"
    md = "md"
    json = "json"


Release = Annotated[Path, typer.Argument(metavar="RELEASE", help="The folder of a release.", show_default=False)]
Output = Annotated[
    Path, typer.Option("--output", "-o", metavar="FILE", help="Where it goes.", show_default=False)
]
For = Annotated[Audience, typer.Option("--audience", help="Who reads it: internal and regulator are private.")]
How = Annotated[
    Format | None,
    typer.Option("--format", help="html, md or json; by default what the file's name ends in.", show_default=False),
]
Attacks = Annotated[
    Path | None,
    typer.Option(metavar="FILE", help="What shoal attack --json printed, to stand in it.", show_default=False),
]
Evaluations = Annotated[
    Path | None,
    typer.Option(metavar="FILE", help="What shoal measure --evaluate all --json printed.", show_default=False),
]
Replace = Annotated[bool, typer.Option("--replace", help="Overwrite an earlier one.")]


def report(
    release: Release,
    output: Output,
    audience: For = Audience.internal,
    format: How = None,
    attacks: Attacks = None,
    evaluations: Evaluations = None,
    replace: Replace = False,
    as_json: Json = False,
) -> None:
    """Write the dossier of a release: what was done, what is promised, what risk is left, and who answers for it."""
    with steps() as step:
        step("loading")
        from shoal.io.private import check_private, write_private
        from shoal.release import dossier
        from shoal.reports.dossier import FORMATS

        suffix = output.suffix.lower().removeprefix(".")
        chosen = suffix if format is None else format.value
        if chosen not in FORMATS:
            raise InputError(f"'{output}' ends in nothing that a dossier is written as: name it .html, .md or .json.")
        private = audience is not Audience.external
        if not private and (attacks or evaluations):
            raise InputError("Those outside are told what the manifest says: leave --attacks and --evaluations out.")
        place = check_private(output, suffix=f".{chosen}", replace=replace)
        step("reading the release")
        text = dossier.report(
            release, audience=audience.value, format=chosen, attacks=_given(attacks, "attacks", release),
            evaluations=_given(evaluations, "evaluations", release),
        )  # fmt: skip
        step("writing")
        write_private(place, text)
        if not private:
            place.chmod(0o644)
    if as_json:
        show_json({"release": release, "output": place, "audience": audience.value, "private": private})
    elif private:
        say(f"Private, not for publication: {output}")
    else:
        say(f"Written, as public as the release: {output}")


def _given(path: Path | None, key: str, release: Path) -> list[Any]:
    """Results about a release that another command printed."""
    from shoal.verify.folder import read_manifest

    if path is None:
        return []
    try:
        found = json.loads(path.read_bytes())
        listed, statement = found[key], found["statement"]
    except OSError as error:
        raise InputError(f"'{path}' cannot be read: {error.strerror}.") from None
    except (ValueError, KeyError, TypeError):
        raise InputError(f"'{path}' holds no '{key}': give what the command printed with --json.") from None
    if not isinstance(listed, list) or not all(_FITS[key](one) for one in listed):
        raise InputError(f"The '{key}' of '{path}' are not as they were printed: give what the command printed.")
    if statement != read_manifest(release)["statement"]:
        raise InputError(f"The '{key}' of '{path}' are of a release that promises something else than '{release}'.")
    return listed


def _is_attack(one: Any) -> bool:
    figures = one.get("figures", ()) if isinstance(one, dict) else None
    return isinstance(figures, list) and all(
        isinstance(each, dict) and isinstance(each.get("name"), str)
        and all(isinstance(each.get(part), int | float) for part in ("value", "low", "high"))
        for each in figures
    )  # fmt: skip


def _is_finding(one: Any) -> bool:
    texts = [one.get(key) for key in ("name", "sentence")] if isinstance(one, dict) and "value" in one else [None]
    return all(isinstance(text, str) for text in texts)


_FITS = {"attacks": _is_attack, "evaluations": _is_finding}
