"""What a run does with the registry that its recipe names: look back, refuse or accept, and remember."""

from __future__ import annotations

from collections.abc import Collection, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from shoal.data.domain import History
from shoal.data.table import Table
from shoal.errors import GateError, InputError, RecipeError, RefusalError
from shoal.io.atomic import locked
from shoal.io.transaction import Bond
from shoal.models.base import Model
from shoal.recipe.recipe import Recipe
from shoal.results import Release
from shoal.vault.intersection import Weakened, weakened
from shoal.vault.registry import Registry, least_values
from shoal.vault.registry_file import check_registry, open_registry, refuse_absent, refuse_forgotten, settle, stage
from shoal.vault.seal import Key

ACCEPTS = "W-REPEAT"
_UNTRACKED = (
    "Without a subject or key column nobody can be found in other releases of this source: the registry lists this "
    "release, and cannot say what releases tell together."
)


@dataclass(frozen=True, eq=False, kw_only=True)
class Memory:
    """A registry during one run.

    Attributes
    ----------
    place, key
        Its file, and what opens it.
    folder
        Where the release goes; its name is what the registry calls it.
    registry, before
        Its content, and the bytes of the file that it was read from.
    """

    place: Path
    key: Key
    folder: Path
    registry: Registry
    before: bytes

    def refuse_strangers(self, table: Table, acknowledged: Collection[str]) -> None:
        """Refuse a table none of whose people was in an earlier release: more likely they are written otherwise now.

        What releases tell together would then be looked for among other people, and nothing be found.
        """
        told, known = self.registry.tokens(table), self.registry.past.people["token"]
        if told is None or not known.len() or ACCEPTS in acknowledged or told.is_in(known.implode()).any():
            return
        column = table.schema.subject or table.schema.key
        raise RefusalError(
            f"None of the {told.n_unique():,} people of column '{column}' (0 %) is among the {known.len():,} of this "
            "source's earlier releases: write the column as it was written then, or say that all are new.", [ACCEPTS],
        )  # fmt: skip

    def history_of(self, table: Table, models: Sequence[Model]) -> History | None:
        """The history that the models need, None where none does."""
        asked = [model for model in models if model.remembers]
        return self.registry.history_of(table, getattr(asked[0], "on", None)) if asked else None

    def with_release(self, release: Release, models: Sequence[Model]) -> tuple[Memory, dict[str, Any]]:
        """The memory with a release in it, and facts for the evidence, unless releases together tell too much."""
        grown = self.registry.with_release(release, self.folder.resolve().name)
        facts: dict[str, Any] = {"file": str(self.place), "id": grown.id, "release": len(grown.past.releases)}
        facts["note"] = None
        if not grown.past.releases[-1]["tracked"]:
            return replace(self, registry=grown), facts | {"note": _UNTRACKED}
        # The m of m-invariance counts records, counterfeits among them; its values are what is looked at.
        k = max([1, *(model.size_limit() for model in models if not model.remembers)])
        least = least_values(models, release.released.table)
        found = weakened(grown.past, k, least)
        if found.people and ACCEPTS not in release.manifest["acknowledged"]:
            raise GateError(_sentence(found, k, least))
        facts |= {"weakened": found.people, "by_size": found.by_size, "by_values": dict(found.by_values)}
        return replace(self, registry=grown), facts

    def stage(self, bond: Bond) -> None:
        """Remember the release, not yet in force."""
        stage(self.place, self.key, self.registry, self.before, bond)

    def settle(self, folder: Path) -> None:
        """Bring it into force, or forget it."""
        settle(self.place, self.key, folder)


def refuse_unremembered(recipe: Recipe) -> None:
    """Refuse a registry that cannot be used, or is not there, and m-invariance without one."""
    if recipe.registry is None:
        named = [*(str(spec["name"]) for spec in recipe.models), str(recipe.algorithm["name"])]
        if {"m-invariance", "m-invariant"} & set(named):
            raise RecipeError("m-invariance is about several releases: name the registry of this source, [registry].")
        return
    if recipe.source.name is None:
        raise RecipeError("A registry belongs to a source: give it a name under [source].")
    place = recipe.resolve(recipe.registry.file)
    refuse_absent(check_registry(place, release=recipe.resolve(recipe.output.folder)))


def open_memory(recipe: Recipe, key: Key | None) -> Memory | None:
    """The registry that a recipe names, opened before any work; None where it names none."""
    refuse_unremembered(recipe)
    if recipe.registry is None:
        return None
    if key is None:
        raise InputError("The registry needs a key: give the passphrase or key file that opens it.")
    folder = recipe.resolve(recipe.output.folder)
    place = check_registry(recipe.resolve(recipe.registry.file), release=folder)
    with locked(place):  # what a killed run left is settled before anything is held against it
        settle(place, key, folder.resolve())
    registry, before = open_registry(place, key, recipe.source.name)
    refuse_forgotten(registry, folder)
    return Memory(place=place, key=key, folder=folder, registry=registry, before=before)


def _sentence(found: Weakened, k: int, least: dict[str, int]) -> str:
    """What releases together would tell, in numbers of people."""
    parts = [f"{_people(found.by_size)} among fewer than {k}"] if found.by_size else []
    parts += [
        f"{_people(count)} with fewer than {least[name]} values of '{name}'"
        for name, count in found.by_values.items()
        if count
    ]
    return (
        f"Together with earlier releases this one would leave {' and '.join(parts)}, so nothing is written: use the "
        f"algorithm 'm-invariant', or add \"{ACCEPTS}\" to 'acknowledge' to accept it."
    )


def _people(count: int) -> str:
    return "1 person" if count == 1 else f"{count:,} people"
