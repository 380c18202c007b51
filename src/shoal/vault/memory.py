"""What a run does with the registry that its recipe names: look back, refuse or accept, and remember."""

from __future__ import annotations

from collections.abc import Sequence
from contextlib import ExitStack
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from shoal.errors import GateError, InputError, RecipeError
from shoal.io.recipes import Recipe
from shoal.models.base import Model
from shoal.results import Release
from shoal.table.history import History
from shoal.table.table import Table
from shoal.vault.again import Weakened, weakened
from shoal.vault.files import refuse_changed, write_sealed
from shoal.vault.registry import Registry, check_registry, least_values, open_registry, save_registry
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
        Its content, and the bytes of the file that it was read from, None where there was none.
    """

    place: Path
    key: Key
    folder: Path
    registry: Registry
    before: bytes | None

    def history_of(self, table: Table, models: Sequence[Model]) -> History | None:
        """The history that the models need, None where none does."""
        asked = [model for model in models if model.name == "m-invariance"]
        return self.registry.history_of(table, getattr(asked[0], "on", None)) if asked else None

    def with_release(self, release: Release, models: Sequence[Model]) -> tuple[Memory, dict[str, Any]]:
        """The memory with a release in it, and facts for the evidence, unless releases together tell too much."""
        grown = self.registry.with_release(release, self.folder.resolve().name)
        facts: dict[str, Any] = {"file": str(self.place), "release": len(grown.past.releases), "note": None}
        if not grown.past.releases[-1]["tracked"]:
            return replace(self, registry=grown), facts | {"note": _UNTRACKED}
        # The m of m-invariance counts records, counterfeits among them; its values are what is looked at.
        k = max([1, *(model.size_limit() for model in models if model.name != "m-invariance")])
        least = least_values(models, release.released.table)
        found = weakened(grown.past, k, least)
        if found.people and ACCEPTS not in release.manifest["acknowledged"]:
            raise GateError(_sentence(found, k, least))
        facts |= {"weakened": found.people, "by_size": found.by_size, "by_values": dict(found.by_values)}
        return replace(self, registry=grown), facts

    def keep(self, undo: ExitStack) -> None:
        """Write the registry; ``undo`` leaves the file as it was."""
        sealed = save_registry(self.place, self.key, self.registry, self.before)
        undo.callback(_restore, self.place, sealed, self.before)


def open_memory(recipe: Recipe, key: Key | None) -> Memory | None:
    """The registry that a recipe names, opened before any work; None where it names none."""
    if recipe.registry is None:
        named = [*(str(spec["name"]) for spec in recipe.models), str(recipe.algorithm["name"])]
        if {"m-invariance", "m-invariant"} & set(named):
            raise RecipeError("m-invariance is about several releases: name the registry of this source, [registry].")
        return None
    if recipe.source.name is None:
        raise RecipeError("A registry belongs to a source: give it a name under [source].")
    folder = recipe.resolve(recipe.output.folder)
    place = check_registry(recipe.resolve(recipe.registry.file), release=folder)
    if key is None:
        raise InputError("The registry needs a key: give the passphrase or key file that opens it.")
    registry, before = open_registry(place, key, recipe.source.name)
    return Memory(place=place, key=key, folder=folder, registry=registry, before=before)


def _restore(place: Path, written: bytes, before: bytes | None) -> None:
    if before is not None:
        write_sealed(place, before, written, "registry")
        return
    refuse_changed(place, written, "registry")
    place.unlink()


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
