"""``shoal run``: carry out a recipe."""

from __future__ import annotations

import os
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from shoal.cli import options
from shoal.cli.console import show_json, steps
from shoal.cli.options import AcceptShort, AllMeasures, Json, KeyFile, PassphraseFile, Profile, Replace, Vault
from shoal.cli.summary import release_data, show_release
from shoal.errors import InputError

if TYPE_CHECKING:
    from shoal.recipe.recipe import Recipe
    from shoal.results import Release
    from shoal.vault.seal import Key


def run(
    recipe: Annotated[
        Path, typer.Argument(metavar="RECIPE", help="A recipe file (TOML).", show_default=False)
    ],
    replace: Replace = False,
    dry_run: Annotated[
        bool, typer.Option("--dry-run", help="Do everything but write.")
    ] = False,
    profile: Profile = None,
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
        asked, replace=replace, dry_run=dry_run, vault=vault, keys=keys, accept_short=accept_short
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
    vault: Path | None = None,
    keys: tuple[Path | None, Path | None] = (None, None),
    accept_short: bool = False,
) -> tuple[Release, Path | None]:
    """The release of a recipe, and the folder it was written to (None in a dry run).

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
        release = running.run(recipe, replace=replace, dry_run=dry_run, key=key, progress=step)
        return release, None if dry_run else recipe.resolve(recipe.output.folder)


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


# ----------------------------------------
# ``shoal anonymize``: a recipe written as flags.


@options.takes(
    "file", "output", *options.ROLES, "columns", "separator", "encoding", "sheet", "missing_markers", "missing",
    "population", "sample", "types", "hierarchies", "policies", "code", "models", "algorithm", "settings",
    "acknowledge", "profile", "seed", "format", "suppressed", "order", "formulas", "date", "vault", "vault_entry",
    "token_key", "codes", "discard_secret", "passphrase_file", "key_file", "accept_short", "engine", "memory",
    "scratch", "table", "query", "output_table",
)  # fmt: skip
def anonymize(
    passphrase_file: PassphraseFile = None,
    key_file: KeyFile = None,
    accept_short: AcceptShort = False,
    save_recipe: options.SaveRecipe = None,
    measures: AllMeasures = False,
    replace: Replace = False,
    as_json: Json = False,
    **given: Any,
) -> None:
    """Anonymise a file by flags; every flag is an entry of a recipe."""
    with _saved(data := options.recipe_data(given), save_recipe, replace):
        keys = (passphrase_file, key_file)
        release, folder = carry_out(_recipe(data), replace=replace, keys=keys, accept_short=accept_short)
    if as_json:
        saved = None if save_recipe is None else str(save_recipe)
        show_json(release_data(release, folder) | {"recipe": saved})
    else:
        show_release(release, folder, measures=measures)


def _recipe(data: Mapping[str, Any]) -> Recipe:
    from shoal.release.entry import as_recipe

    return as_recipe(data)


@contextmanager
def _saved(data: Mapping[str, Any], path: Path | None, replace: bool) -> Iterator[None]:
    """Write the recipe under a temporary name first; it gets its own if all goes well."""
    if path is None:
        yield
        return
    if path.is_dir() or (path.exists() and not replace):
        raise InputError(f"'{path}' exists: choose another name for the recipe, or --replace it.")
    text = recipe_text(data, path.parent)
    staged = path.with_name(f".{path.name}.new")
    try:
        staged.write_text(text, "utf-8")
        yield
        staged.replace(path)
    finally:
        staged.unlink(missing_ok=True)


def recipe_text(data: Mapping[str, Any], folder: Path) -> str:
    """The recipe as a file in ``folder``, with relative paths as seen from there."""
    from shoal.recipe.recipe import dump_recipe
    from shoal.release.entry import as_recipe

    def seen(entry: str) -> str:
        return entry if os.path.isabs(entry) else Path(os.path.relpath(entry, folder)).as_posix()

    def moved_file(entry: Any) -> Any:
        if isinstance(entry, str):
            return seen(entry)
        return entry | {"path": seen(entry["path"])} if "path" in entry else entry

    def is_file(policy: Mapping[str, Any]) -> bool:
        return isinstance(policy.get("ranges"), str) and policy["ranges"] != "value"

    def moved(section: str, *keys: str) -> dict[str, Any]:
        return {key: seen(entry) if key in keys else entry for key, entry in data.get(section, {}).items()}

    codes = ("codes",) if str(data["output"].get("codes", "")).endswith(".json") else ()
    sections = {
        "source": moved("source", "path", "population"),
        "output": moved("output", "folder", "vault", *codes),
        "engine": moved("engine", "scratch"),
        "hierarchies": {name: moved_file(entry) for name, entry in data.get("hierarchies", {}).items()},
        "policies": {
            name: entry | {"ranges": seen(entry["ranges"])} if is_file(entry) else entry
            for name, entry in data.get("policies", {}).items()
        },
    }
    return dump_recipe(as_recipe({**data, **sections}, folder))


# ----------------------------------------
# ``shoal apply``: an earlier release's recoding on new data.


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
        bool, typer.Option("--dry-run", help="Do everything but write.")
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
