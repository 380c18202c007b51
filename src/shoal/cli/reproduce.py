"""``shoal reproduce``: every figure, table and worked example of the five documents, with their claims checked."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from shoal.cli.options import Json
from shoal.cli.papers import need_papers
from shoal.cli.show import bar, error_data, say, show_error, show_json, show_table
from shoal.errors import ParameterError, VerificationError

if TYPE_CHECKING:
    from shoal_papers.base import Item, Paper
    from shoal_papers.reproduce import Done, Progress


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
