"""``shoal run``: carry out a recipe."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from shoal.cli.options import AcceptShort, AllMeasures, Json, KeyFile, PassphraseFile, Profile, Replace, Vault
from shoal.cli.show import show_json, steps
from shoal.cli.summary import release_data, show_release

if TYPE_CHECKING:
    from shoal.recipe.recipe import Recipe
    from shoal.results import Release, Written
    from shoal.vault.seal import Key


def run(
    recipe: Annotated[
        Path, typer.Argument(metavar="RECIPE", help="A recipe file (TOML).", show_default=False)
    ],
    replace: Replace = False,
    dry_run: Annotated[
        bool, typer.Option("--dry-run", help="Anonymise and gate, but write nothing.")
    ] = False,
    profile: Profile = None,
    resume: Annotated[
        bool, typer.Option("--resume", help="Keep what is read until a run succeeds, and take up what is kept.")
    ] = False,
    vault: Vault = None,
    passphrase_file: PassphraseFile = None,
    key_file: KeyFile = None,
    accept_short: AcceptShort = False,
    measures: AllMeasures = False,
    as_json: Json = False,
) -> None:
    """Carry out a recipe: read, anonymise, gate, write."""
    keys = (passphrase_file, key_file)
    asked = recipe if profile is None else _profiled(recipe, profile)
    release, folder = carry_out(
        asked, replace=replace, dry_run=dry_run, resume=resume, vault=vault, keys=keys, accept_short=accept_short
    )
    if as_json:
        show_json(release_data(release, folder))
    else:
        show_release(release, folder, measures=measures)


def _profiled(path: Path, name: str) -> Recipe:
    """A recipe that starts from a profile."""
    from shoal.recipe.profiles import profiled
    from shoal.recipe.recipe import load_recipe

    return profiled(load_recipe(path), name)


def carry_out(
    recipe: Recipe | Path,
    *,
    replace: bool = False,
    dry_run: bool = False,
    resume: bool = False,
    vault: Path | None = None,
    keys: tuple[Path | None, Path | None] = (None, None),
    accept_short: bool = False,
) -> tuple[Release | Written, Path | None]:
    """The release of a recipe, and the folder it was written to (None in a dry run).

    ``resume`` keeps what is read until a run succeeds, and takes up what is kept;
    ``vault`` replaces the recipe's; ``keys`` are the files of the passphrase and of the key that open it;
    ``accept_short`` lets a short passphrase make a new one.
    """
    with steps() as step:
        step("loading")
        from shoal.recipe.recipe import load_recipe
        from shoal.release import run as running

        if isinstance(recipe, Path):
            recipe = load_recipe(recipe)
        if vault is not None:
            recipe = recipe.with_vault(vault.resolve())
    sealed = [] if dry_run or recipe.output.vault is None else [_vault(recipe)]
    sealed += [] if recipe.registry is None else [_registry(recipe)]
    key = _read_key(sealed, keys, accept_short) if sealed else None
    with steps() as step:
        if dry_run:
            if resume or running.keeps_rows(recipe):
                from shoal.release.run import refuse_unresumed, run_stream

                if resume:
                    refuse_unresumed(recipe)
                return run_stream(recipe, dry_run=True, resume=resume, progress=step), None
            memory = running.remembered(recipe, key)
            return running.anonymize_recipe(recipe, memory=memory, progress=step), None
        release = running.run(recipe, replace=replace, resume=resume, key=key, progress=step)
        return release, recipe.resolve(recipe.output.folder)


def _vault(recipe: Recipe) -> Path:
    from shoal.vault.files import check_vault

    return check_vault(recipe.resolve(recipe.output.vault or ""), release=recipe.resolve(recipe.output.folder))


def _registry(recipe: Recipe) -> Path:
    from shoal.vault.registry_file import check_registry

    named = "" if recipe.registry is None else recipe.registry.file
    return check_registry(recipe.resolve(named), release=recipe.resolve(recipe.output.folder))


def _read_key(places: list[Path], keys: tuple[Path | None, Path | None], accept_short: bool) -> Key:
    """Asked for before any work, and before a spinner would hide the question; one key opens all files."""
    from shoal.cli.vault import read_key

    return read_key(*keys, new=not any(place.exists() for place in places), accept_short=accept_short)
