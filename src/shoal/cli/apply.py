"""``shoal apply``: an earlier release's recoding on new data."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from shoal.cli.options import Json, KeyFile, PassphraseFile, Replace
from shoal.cli.run import carry_out
from shoal.cli.show import show_json, steps
from shoal.cli.summary import release_data, show_release


def apply(
    release: Annotated[
        Path, typer.Argument(metavar="RELEASE", help="The folder of the earlier release.", show_default=False)
    ],
    data: Annotated[
        Path, typer.Argument(metavar="FILE", help="New data with the same columns.", show_default=False)
    ],
    output: Annotated[
        Path, typer.Option("--output", "-o", metavar="FOLDER", help="Where the new release goes.", show_default=False)
    ],
    replace: Replace = False,
    dry_run: Annotated[
        bool, typer.Option("--dry-run", help="Anonymise and gate, but write nothing.")
    ] = False,
    passphrase_file: PassphraseFile = None,
    key_file: KeyFile = None,
    as_json: Json = False,
) -> None:
    """Apply the recoding of an earlier release to new data, gated again."""
    with steps() as step:
        step("loading")
        from shoal.recipe.reapply import reapplied

        recipe = reapplied(release, data, output)
    keys = (passphrase_file, key_file)
    made, folder = carry_out(recipe, replace=replace, dry_run=dry_run, keys=keys)
    if as_json:
        show_json(release_data(made, folder))
    else:
        show_release(made, folder)
