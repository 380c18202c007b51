"""``shoal registry``: what a publisher remembers of the releases of one source."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from shoal.cli.options import AcceptShort, Json, KeyFile, PassphraseFile
from shoal.cli.show import model_label, say, show_json, show_table

registry_app = typer.Typer(help="Make, or look into, the encrypted registry that 'shoal run' keeps of a source's releases.")

_File = Annotated[Path, typer.Argument(metavar="REGISTRY", help="A file that ends in .registry.", show_default=False)]


@registry_app.callback(invoke_without_command=True)
def _start(context: typer.Context) -> None:
    if context.invoked_subcommand is None:
        print(context.get_help())


@registry_app.command()
def new(
    registry: _File,
    source: Annotated[
        str, typer.Option(metavar="NAME", help="The source.name of its recipes.", show_default=False)
    ],
    passphrase_file: PassphraseFile = None,
    key_file: KeyFile = None,
    accept_short: AcceptShort = False,
    as_json: Json = False,
) -> None:
    """Make a registry that knows of no release yet; 'shoal run' never makes one by itself."""
    from shoal.cli.vault import read_key
    from shoal.vault.registry import Registry
    from shoal.vault.registry_file import check_registry, save_registry

    place = check_registry(registry)
    made = Registry(source=source)
    save_registry(place, read_key(passphrase_file, key_file, new=True, accept_short=accept_short), made)
    if as_json:
        show_json({"registry": str(place), "source": source, "people": 0, "releases": []})
    else:
        say(f"A registry of '{source}' without any release: {place}")


@registry_app.command()
def show(
    registry: _File, passphrase_file: PassphraseFile = None, key_file: KeyFile = None, as_json: Json = False
) -> None:
    """List its releases: names, models and numbers, nobody's values."""
    from shoal.cli.vault import read_key
    from shoal.vault.registry_file import open_registry

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
