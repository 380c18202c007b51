"""Carrying out a recipe: read, anonymise, gate, keep the secrets, write."""

from __future__ import annotations

import dataclasses
from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING, Any

from shoal.attacks.limits import RISKS, known_limits, refuse_over_limits
from shoal.errors import InputError, RecipeError
from shoal.io.output import check_output, read_tables
from shoal.io.recipes import Recipe, dump_recipe, load_recipe
from shoal.io.source import read
from shoal.pipeline import Progress, anonymize
from shoal.registry import load, make
from shoal.results import GateReport, Release
from shoal.table.table import Table
from shoal.verify import recheck

if TYPE_CHECKING:
    from shoal.vault.seal import Key


def run(
    recipe: Recipe | str | Path,
    *,
    replace: bool = False,
    key: Key | None = None,
    progress: Progress = lambda step: None,
) -> Release:
    """Read, anonymise, gate and write what a recipe describes; returns the release.

    Parameters
    ----------
    replace
        Swap an earlier release, and its entry in the vault, for this one.
    key
        What opens the vault that the recipe names (`shoal.vault.Key`).
    """
    if not isinstance(recipe, Recipe):
        recipe = load_recipe(Path(recipe))
    folder = recipe.resolve(recipe.output.folder)
    check_output(folder, recipe.resolve(recipe.source.path), replace=replace)
    keep = _vault(recipe, key, replace)
    release = anonymize_recipe(recipe, progress=progress)
    progress("writing")
    # The secrets go first: codes that nobody can turn back any more would be worse than an entry too many.
    kept = keep(release)
    release = dataclasses.replace(release, evidence={**release.evidence, "vault": kept})
    release.write(folder, replace=replace, format=recipe.output.format)
    return release


def _vault(recipe: Recipe, key: Key | None, replace: bool) -> Callable[[Release], dict[str, str] | None]:
    """How the secrets of a release will be kept, after checking before any work that they can be."""
    refuse_unkept(recipe)
    output = recipe.output
    if output.vault is None:
        return lambda release: None
    if key is None:
        raise InputError("The vault needs a key: give the passphrase or key file that opens it.")
    from shoal.vault.files import check_vault, contents, store

    folder, opened = recipe.resolve(output.folder), key
    place = check_vault(recipe.resolve(output.vault), release=folder)
    entry = output.vault_entry or folder.resolve().name
    if place.exists() and entry in contents(place, opened) and not replace:
        raise InputError(f"The vault '{output.vault}' already has an entry '{entry}': set another vault_entry.")

    def keep(release: Release) -> dict[str, str]:
        store(place, opened, entry, release.secrets, replace=replace, release=folder)
        return {"file": str(place), "entry": entry}

    return keep


def refuse_unkept(recipe: Recipe) -> None:
    """Refuse a coded release whose secrets nobody keeps, and a vault with nothing to keep."""
    output = recipe.output
    coded = load("algorithm", recipe.algorithm["name"]).code == "W-PP-REV"
    shifts = any(entry.shift is not None for entry in recipe.columns.values())
    has_secrets = coded or shifts or bool(recipe.roles.pseudonym)
    if output.vault is None and has_secrets and not output.discard_secret:
        raise RecipeError(
            "This release would be coded, and nothing keeps what undoes it: name a vault under [output], or set "
            "discard_secret = true there."
        )
    if output.vault is not None and (output.discard_secret or not has_secrets):
        why = "discard_secret is set" if output.discard_secret else "this release has no secrets"
        raise RecipeError(f"There is a vault under [output], and {why}: remove one of the two.")


def anonymize_recipe(recipe: Recipe, *, progress: Progress = lambda step: None) -> Release:
    """The same without writing anything."""
    algorithm, models = make("algorithm", recipe.algorithm), [make("model", spec) for spec in recipe.models]
    known_limits(recipe.limits, RISKS)
    progress("reading")
    table = read_recipe_source(recipe)
    release = anonymize(
        table,
        algorithm=algorithm,
        models=models,
        seed=recipe.seed,
        acknowledge=recipe.acknowledge,
        suppressed=recipe.output.suppressed,
        order=recipe.output.order,
        neutral_limit=recipe.output.neutral_limit,
        engine=recipe.engine.name,
        progress=progress,
    )
    source = str(recipe.resolve(recipe.source.path))
    private: dict[str, Any] = {"recipe": dump_recipe(recipe), "source_path": source}
    if recipe.limits:
        progress("holding it against its limits")
        private |= {"limits": refuse_over_limits(recipe.limits, release)}
    return dataclasses.replace(release, evidence={**release.evidence, **private})


def read_recipe_source(recipe: Recipe) -> Table:
    """The table a recipe names, coded."""
    source, roles = recipe.source, recipe.roles
    return read(
        source.path,
        name=source.name,
        columns=source.columns,
        separator=source.separator,
        encoding=source.encoding,
        missing_markers=source.missing_markers,
        missing=source.missing,
        base=recipe.base,
        weights=recipe.weights,
        hierarchies=recipe.hierarchies,
        policies={name: entry.model_dump(by_alias=True) for name, entry in recipe.policies.items()},
        settings={name: entry.model_dump() for name, entry in recipe.columns.items()},
        **roles.model_dump(),
    )


def verify_release(folder: str | Path) -> GateReport:
    """Re-derive what a written release promises, from its data and manifest alone."""
    frames, manifest = read_tables(Path(folder))
    return recheck(frames["release"], manifest, frames.get("sensitive"))
