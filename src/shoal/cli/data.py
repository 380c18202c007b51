"""``shoal data``: the files that the documentation works with, and where public data sets come from."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from enum import StrEnum
from importlib.util import find_spec
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from shoal.cli.console import bar, error_data, say, show_error, show_json, show_table, show_warning, steps
from shoal.cli.options import Json
from shoal.errors import InputError, MissingExtraError, ParameterError, VerificationError
from shoal.registry import load, origin, summary, working

if TYPE_CHECKING:
    from shoal_papers.base import Item, Paper
    from shoal_papers.reproduce import Done, Progress


# ----------------------------------------
# The distribution that reproduces the documents, which need not be installed.


DISTRIBUTION = "shoal-papers"


def need_papers(what: str) -> None:
    """Refuse in one sentence what the other distribution is needed for, where it is missing."""
    if find_spec("shoal_papers") is None:
        raise MissingExtraError(what, DISTRIBUTION)


class DataSet(StrEnum):
    """Files about invented people, which are written, and a data set that you download yourself."""

    hospital = "hospital"
    patients = "patients"
    adult = "adult"


def data(
    name: Annotated[
        DataSet, typer.Argument(metavar="hospital|patients|adult", help="The data set.", show_default=False)
    ],
    folder: Annotated[
        Path | None,
        typer.Argument(metavar="[DIR]", help="Where it goes; of adult, where your copy is.", show_default=False),
    ] = None,
    replace: Annotated[bool, typer.Option("--replace", help="Overwrite an earlier file.")] = False,
    as_json: Json = False,
) -> None:
    """Write an example file about invented people, or say where a public data set is to be had and check a copy."""
    if name is DataSet.adult:
        _adult(folder, as_json)
        return
    path = _written(name.value, Path() if folder is None else folder, replace)
    if as_json:
        show_json({"name": name.value, "path": str(path)})
        return
    say(
        f"Written: {path}, about invented people.",
        "Next:",
        f"  shoal start {path} -o {path.with_suffix('.toml')}",
    )


def _written(name: str, folder: Path, replace: bool) -> Path:
    from shoal.io import census

    path = folder / f"{name}.csv"
    if path.exists() and not replace:
        raise InputError(f"'{path}' exists: choose another folder, or --replace it.")
    folder.mkdir(parents=True, exist_ok=True)
    path.write_bytes(census.hospital() if name == "hospital" else census.patients())
    return path


def _adult(folder: Path | None, as_json: bool) -> None:
    need_papers("A data set of the reproductions")
    from shoal_papers.adult import FILE, SHA256, SOURCE

    found: dict[str, Any] = {"name": "adult", "file": FILE, "source": SOURCE, "sha256": SHA256}
    if folder is not None:
        with steps() as step:
            step("checking")
            found["copy"] = _checked(folder)
    if as_json:
        show_json(found)
        return
    if folder is None:
        say(
            f"Download '{FILE}' from {SOURCE}.",
            f"Its SHA-256 is {SHA256}.",
            "Then check it: shoal data adult DIR.",
        )
        return
    copy = found["copy"]
    say(f"'{copy['path']}' has {copy['columns']} columns and {copy['rows']} rows, {copy['complete']} of them complete.")
    say("Its hash is right." if copy["same_hash"] else f"warning: its SHA-256 is {copy['sha256']}, not {SHA256}.")


def _checked(folder: Path) -> dict[str, Any]:
    """Rows and columns have to be right; another hash is only said, as line ends may differ."""
    from shoal_papers.adult import SHA256, check_adult, find_adult, read_adult
    from shoal_papers.data import file_hash

    path = find_adult(folder)
    frame = read_adult(path)
    check_adult(frame)
    digest = file_hash(path)
    return {
        "path": str(path), "rows": frame.height, "complete": frame.drop_nulls().height, "columns": frame.width,
        "sha256": digest, "same_hash": digest == SHA256,
    }  # fmt: skip


# ----------------------------------------
# ``shoal list``: what is available.


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


# ----------------------------------------
# ``shoal reproduce``: every figure, table and worked example of the five documents, with their claims checked.


def reproduce(
    paper: Annotated[
        str | None, typer.Argument(metavar="[PAPER|all]", help="A paper of `shoal list papers`.", show_default=False)
    ] = None,
    items: Annotated[
        list[str] | None,
        typer.Argument(metavar="[ITEM]...", help="Items such as 4.3; all of them by default.", show_default=False),
    ] = None,
    listed: Annotated[bool, typer.Option("--list", help="Say what there is, and run nothing.")] = False,
    data: Annotated[
        Path | None,
        typer.Option(metavar="DIR", help="The folder of your own downloads; see `shoal data`.", show_default=False),
    ] = None,
    output: Annotated[
        Path, typer.Option("--output", "-o", metavar="DIR", help="Where results go, and are found again.")
    ] = Path("reproduction"),
    quick: Annotated[bool, typer.Option("--quick", help="Two seeds and smaller data.")] = False,
    strict: Annotated[bool, typer.Option("--strict", help="Exit 4 when a hard claim does not hold.")] = False,
    seed: Annotated[int, typer.Option(metavar="NUMBER", help="The first of the seeds.")] = 1,
    again: Annotated[bool, typer.Option("--again", help="Run items that are on record, too.")] = False,
    as_json: Json = False,
) -> None:
    """Regenerate figures, tables and worked examples of the five documents, and check what they claim."""
    need_papers("Reproducing the documents")
    if listed:
        _list(paper, as_json)
        return
    if paper is None:
        raise ParameterError("Say which paper to reproduce, or 'all': `shoal reproduce --list` has them.")
    if paper == "all" and items:
        raise ParameterError("Items belong to one paper: name it in place of 'all'.")
    done = _carry_out(paper, items or [], data, output, seed, quick, again)
    broken = [(one.item.key, text) for one in done for text in one.broken]
    failure = None
    if strict and broken:
        more = f" and {len(broken) - 1} more" if len(broken) > 1 else ""
        failure = f"{broken[0][0]}: the hard claim '{broken[0][1]}'{more} does not hold."
    if as_json:
        _show_json(done, output, failure)
    else:
        _show(done, output)
        if failure is not None:
            show_error(failure)
    if failure is not None:
        raise typer.Exit(VerificationError.exit_code)


def _carry_out(
    paper: str, items: list[str], data: Path | None, output: Path, seed: int, quick: bool, again: bool
) -> list[Done]:
    from shoal_papers.data import Data
    from shoal_papers.reproduce import chosen_items
    from shoal_papers.reproduce import reproduce as carry_out
    from shoal_papers.store import Store

    chosen = chosen_items(paper, items)
    with _progress(chosen) as progress:
        return carry_out(chosen, Store(output), data=Data(data), seed=seed, quick=quick, again=again, progress=progress)


@contextmanager
def _progress(chosen: list[tuple[Paper, Item]]) -> Iterator[Progress]:
    """A bar over all items, each of which says how far it is."""
    place = {item.key: number for number, (_, item) in enumerate(chosen)}
    with bar() as move:

        def told(item: Item, step: str, share: float | None) -> None:
            far = "" if share is None else f" ({share:.0%} of it)"
            move(place[item.key], len(chosen), f"{item.key}: {step}{far}")

        yield told


def _list(paper: str | None, as_json: bool) -> None:
    from shoal_papers.reproduce import chosen_items

    rows = [
        (one.name, item.id, item.title, ", ".join(item.needs) or "-", "no" if item.impossible else "yes")
        for one, item in chosen_items(paper or "all")
    ]
    names = ("paper", "item", "title", "needs", "possible")
    if as_json:
        show_json({"items": [dict(zip(names, row, strict=True)) for row in rows]})
    else:
        show_table(["paper", "item", "what it is", "needs", "can be run"], rows)


def _show_json(done: list[Done], output: Path, failure: str | None) -> None:
    found: dict[str, Any] = {
        "output": str(output),
        "soft": _soft(done),
        "items": [{**one.record, "skipped": one.skipped, "broken": one.broken} for one in done],
    }
    if failure is not None:
        found["error"] = error_data("VerificationError", failure, VerificationError.exit_code)
    show_json(found)


def _soft(done: list[Done]) -> dict[str, int]:
    """Where the documents' findings stand, over all items."""
    from shoal_papers.page import counts

    return counts([claim for one in done for claim in one.record["claims"]], "soft")


def _show(done: list[Done], output: Path) -> None:
    for one in done:
        claims = [(claim["kind"], claim["text"], claim["verdict"], claim["evidence"]) for claim in one.record["claims"]]
        state = "on record" if one.skipped else f"{one.record['seconds']:.1f} s"
        title = f"{one.item.key}: {one.item.title} ({state})"
        show_table(["kind", "claim", "verdict", "numbers"], claims, title=title)
    soft = _soft(done)
    say(
        f"Soft claims: {soft['reproduced']} hold, {soft['refuted']} are refuted with the reason, "
        f"{soft['not decidable']} are open."
    )
    say(f"{len(done)} items; start reading at {output / 'index.html'}.")
