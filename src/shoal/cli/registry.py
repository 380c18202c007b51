"""``shoal registry``: what a publisher remembers of the releases of one source."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from shoal.cli.options import Json, KeyFile, PassphraseFile
from shoal.cli.show import model_label, say, show_json, show_table

app = typer.Typer(help="Look into the encrypted registry that 'shoal run' keeps of a source's releases.")


@app.callback(invoke_without_command=True)
def _start(context: typer.Context) -> None:
    if context.invoked_subcommand is None:
        print(context.get_help())


@app.command()
def show(
    registry: Annotated[
        Path, typer.Argument(metavar="REGISTRY", help="A file that ends in .registry.", show_default=False)
    ],
    passphrase_file: PassphraseFile = None,
    key_file: KeyFile = None,
    as_json: Json = False,
) -> None:
    """List its releases: names, models and numbers, nobody's values."""
    from shoal.cli.vault import read_key
    from shoal.vault.registry import open_registry

    found, _ = open_registry(registry, read_key(passphrase_file, key_file))
    people = found.past.people.height
    if as_json:
        show_json({"registry": str(registry), "source": found.source, "people": people, "releases": found.listing()})
        return
    say(f"Source '{found.source}': {people:,} people in {len(found.past.releases):,} releases.")
    rows = [
        (
            str(one["release"]),
            one["name"],
            ", ".join(model_label(model) for model in one["models"]),
            f"{one['records']:,}",
            f"{one['people']:,}" if one["tracked"] else "unknown",
            "W-REPEAT" if one["accepted"] else "",
        )
        for one in found.listing()
    ]
    show_table([">release", "name", "models", ">records", ">people", "accepted"], rows)
