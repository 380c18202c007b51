"""``shoal sign``: a detached signature of a release."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from shoal.cli.options import Json
from shoal.cli.show import say, show_json, steps
from shoal.errors import InputError


def sign(
    folder: Annotated[
        Path | None, typer.Argument(metavar="[FOLDER]", help="The folder of a release.", show_default=False)
    ] = None,
    key: Annotated[
        Path | None, typer.Option(metavar="FILE", help="The private key; nobody else may read it.", show_default=False)
    ] = None,
    output: Annotated[
        Path | None,
        typer.Option("--output", "-o", metavar="FILE.sig", help="By default beside the folder.", show_default=False),
    ] = None,
    new_key: Annotated[
        Path | None, typer.Option("--new-key", metavar="FILE", help="Make a key, and FILE.pub.", show_default=False)
    ] = None,
    as_json: Json = False,
) -> None:
    """Sign a release, so that its readers know whose it is.

    shoal sign --new-key agency.key; shoal sign out --key agency.key; shoal verify out --signature out.sig
    """
    from shoal.vault import signing

    if (new_key is None) == (folder is None):
        raise InputError("Name the folder of a release and its --key, or make a key with --new-key FILE.")
    if new_key is not None:
        private, public = signing.new_key(new_key)
        if as_json:
            show_json({"private": str(private), "public": str(public)})
        else:
            say(f"Private, never to be given away: {private}", f"Public, for whoever checks:      {public}")
        return
    if key is None or folder is None:
        raise InputError("Signing needs --key FILE: make one with 'shoal sign --new-key FILE'.")
    with steps() as step:
        step("reading the release")
        place = output or signing.signature_beside(folder)
        found = signing.sign_release(folder, key, place)
    if as_json:
        show_json({"folder": str(folder), "signature": str(place), "fingerprint": found})
    else:
        check = f"shoal verify {folder} --signature {place} --public-key {key}.pub"
        say(f"Signed: {place}", f"Key:    {found}", f"Check:  {check}")
