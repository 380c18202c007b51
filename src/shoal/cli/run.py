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
from shoal.cli.targets import Keeping, place_of
from shoal.errors import InputError
from shoal.grammar import (
    pairs,
    parse_code,
    parse_hierarchy,
    parse_model,
    parse_policy,
    parse_sample,
    separator_character,
    split_columns,
    typed_value,
)

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


def anonymize(
    context: typer.Context,
    file: options.FileOrUrl,
    output: options.Output,
    identifiers: options.Identifiers = None,
    quasi: options.Quasi = None,
    sensitive: options.Sensitive = None,
    neutral: options.Neutral = None,
    pseudonym: options.Pseudonym = None,
    drop: options.Drop = None,
    subject: options.Subject = None,
    weight: options.Weight = None,
    key: options.Key = None,
    guard: options.Guard = None,
    columns: options.Columns = None,
    separator: options.Separator = None,
    encoding: options.Encoding = None,
    sheet: options.Sheet = None,
    missing_markers: options.Markers = None,
    missing: options.Missing = None,
    population: options.Population = None,
    sample: options.Sample = None,
    types: options.Types = None,
    hierarchies: options.Hierarchies = None,
    policies: options.Policies = None,
    code: options.Code = None,
    models: options.Models = None,
    algorithm: options.Algorithm = "mondrian",
    settings: options.Settings = None,
    acknowledge: options.Acknowledge = None,
    profile: options.Profile = None,
    seed: options.Seed = None,
    format: options.Format = None,
    suppressed: options.Suppressed = None,
    order: options.Order = None,
    formulas: options.Formulas = None,
    date: options.Date = None,
    vault: options.Vault = None,
    vault_entry: options.VaultEntry = None,
    token_key: options.TokenKey = None,
    codes: options.Codes = None,
    discard_secret: options.DiscardSecret = False,
    passphrase_file: options.PassphraseFile = None,
    key_file: options.KeyFile = None,
    accept_short: options.AcceptShort = False,
    engine: options.EngineName = None,
    memory: options.Memory = None,
    scratch: options.Scratch = None,
    table: options.DatabaseTable = None,
    query: options.Query = None,
    output_table: options.OutputTable = None,
    save_recipe: options.SaveRecipe = None,
    measures: options.AllMeasures = False,
    replace: options.Replace = False,
    as_json: options.Json = False,
) -> None:
    """Anonymise a file by flags; every flag is an entry of a recipe."""
    with _saved(data := recipe_data(context.params), save_recipe, replace):  # by their names, most of them as they are
        made = carry_out(_recipe(data), replace=replace, keys=(passphrase_file, key_file), accept_short=accept_short)
    _show(*made, context.params)


def _show(release: Release, folder: Path | None, given: Mapping[str, Any]) -> None:
    saved = given["save_recipe"]
    if given["as_json"]:
        show_json(release_data(release, folder) | {"recipe": None if saved is None else str(saved)})
    else:
        show_release(release, folder, measures=given["measures"])


def _recipe(data: Mapping[str, Any]) -> Recipe:
    from shoal.release.entry import as_recipe

    return as_recipe(data)


def recipe_data(given: Mapping[str, Any]) -> dict[str, Any]:
    """The recipe that flags stand for, as nested plain data without empty entries; paths as given."""

    def chosen(*names: str) -> dict[str, Any]:
        return {name: given[name] for name in names if given[name] not in (None, [], ())}

    source = chosen("encoding", "sheet", "missing_markers", "missing", "table", "query") | {
        **place_of(given["file"]),
        "columns": split_columns(given["columns"]),
        "separator": separator_character(given["separator"]),
        "population": None if given["population"] is None else str(given["population"]),
    }
    roles = ("identifiers", "quasi", "sensitive", "neutral", "pseudonym", "drop", "subject", "weight", "key", "guard")
    parameters = {name: typed_value(text) for name, text in pairs("--set", given["settings"]).items()}
    found = chosen("acknowledge", "seed", "profile") | {
        "source": {name: entry for name, entry in source.items() if entry is not None},
        "sample": parse_sample(given["sample"]),
        "roles": chosen(*roles),
        "columns": _columns(given["types"], given["code"]),
        "hierarchies": {
            name: parse_hierarchy(text) for name, text in pairs("--hierarchy", given["hierarchies"]).items()
        },
        "policies": {name: parse_policy(text) for name, text in pairs("--policy", given["policies"]).items()},
        "models": [parse_model(text) for text in given["models"] or ()],
        "algorithm": parameters | {"name": given["algorithm"]},
        "engine": Keeping(**{key: given[key] for key in ("engine", "memory", "scratch")}).settings(given["file"]),
        "output": chosen("format", "suppressed", "order", "formulas", "date", "vault_entry", "token_key", "codes")
        | {"folder": str(given["output"])}
        | ({} if given["vault"] is None else {"vault": str(given["vault"])})
        | ({} if given["output_table"] is None else {"table": given["output_table"]})
        | ({"discard_secret": True} if given["discard_secret"] else {}),
    }
    return {key: entry for key, entry in found.items() if entry is not None}


def _columns(types: list[str] | None, codes: list[str] | None) -> dict[str, dict[str, Any]]:
    """Settings of columns that flags give."""
    found = {name: _typed(kind) for name, kind in pairs("--type", types).items()}
    for name, text in pairs("--code", codes).items():
        found.setdefault(name, {})["code"] = parse_code(text)
    return found


def _typed(kind: str) -> dict[str, Any]:
    """A type, a date with its format, or items with what stands between them."""
    first, _, rest = kind.partition(" ")
    return {"items": rest.strip()} if first == "items" else {"type": first} | ({"format": rest.strip()} if rest else {})


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

    codes = str(data["output"].get("codes", ""))
    moved = {
        **data,
        "source": {
            **data["source"],
            **{key: seen(data["source"][key]) for key in ("path", "population") if key in data["source"]},
        },
        "output": {
            **data["output"],
            **{key: seen(data["output"][key]) for key in ("folder", "vault") if key in data["output"]},
            **({"codes": seen(codes)} if codes.endswith(".json") else {}),
        },
        "engine": {key: seen(entry) if key == "scratch" else entry for key, entry in data["engine"].items()},
        "hierarchies": {name: moved_file(entry) for name, entry in data["hierarchies"].items()},
        "policies": {
            name: entry | {"ranges": seen(entry["ranges"])} if is_file(entry) else entry
            for name, entry in data["policies"].items()
        },
    }
    return dump_recipe(as_recipe(moved, folder))


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
