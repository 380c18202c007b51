"""``shoal log``: who released what, and when, in a file that is only ever added to."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from shoal.cli.options import Json
from shoal.cli.show import say, show_json, show_table

log_app = typer.Typer(help="Keep, and check, a log whose lines cannot be changed unnoticed.")

_File = Annotated[Path, typer.Argument(metavar="FILE.log", help="The log.", show_default=False)]


@log_app.callback(invoke_without_command=True)
def _start(context: typer.Context) -> None:
    if context.invoked_subcommand is None:
        print(context.get_help())


@log_app.command()
def show(log: _File, as_json: Json = False) -> None:
    """List its lines, after checking every one."""
    from shoal.io.hash_chain import read_journal

    found = read_journal(log)
    if as_json:
        show_json({"file": str(log), "entries": found.entries, "head": found.head})
        return
    rows = []
    for one in found.entries:
        made = one.get("release")
        when = one["time"][:16].replace("T", " ")
        start = (str(one["entry"]), when, one["who"], one["event"])
        if made is None:  # a line of a server's log
            rows.append((*start, "", "", ", ".join(f"{key} {value}" for key, value in one["facts"].items())))
        else:
            rows.append((*start, Path(made["folder"]).name, f"{made['rows']:,}", made["statement"]))
    show_table([">", "when (UTC)", "who", "what", "release", ">rows", "statement"], rows)
    say(f"Head: {found.head}")


@log_app.command("verify")
def verify_log(
    log: _File,
    head: Annotated[
        str | None,
        typer.Option(
            metavar="HASH|FILE", help="A hash that it must hold, or a file of them, kept elsewhere.", show_default=False
        ),
    ] = None,
    as_json: Json = False,
) -> None:
    """Check that no line was changed, dropped, inserted or moved (exit 4)."""
    from shoal.io.hash_chain import read_journal

    found = read_journal(log, head=head)
    if as_json:
        show_json({"file": str(log), "entries": len(found.entries), "head": found.head, "passed": True})
        return
    say(f"The chain of {len(found.entries):,} lines holds.", f"Head: {found.head}")
    if head is None:
        say("Lines dropped at its end would not show: keep the head elsewhere, and give it as --head.")


@log_app.command()
def add(
    log: _File,
    folder: Annotated[Path, typer.Argument(metavar="FOLDER", help="The folder of a release.", show_default=False)],
    event: Annotated[str, typer.Option(metavar="WORD", help="What was done with it.")] = "released",
    as_json: Json = False,
) -> None:
    """Add a line by hand."""
    from shoal.io.hash_chain import log_release

    entry = log_release(log, folder, event=event)
    if as_json:
        show_json({"file": str(log), "entry": entry, "head": entry["hash"]})
    else:
        say(f"Line {entry['entry']:,} of {log}: {entry['event']} {folder}", f"Head: {entry['hash']}")
