"""The file of a registry: sealed, written whole, with a count of its releases beside it that tells an old copy."""

from __future__ import annotations

import io
import json
from collections.abc import Collection, Sequence
from contextlib import suppress
from dataclasses import asdict, dataclass, replace
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl

from shoal.data.domain import History
from shoal.data.table import Table
from shoal.errors import GateError, InputError, RecipeError, RefusalError
from shoal.io.atomic import locked
from shoal.io.evidence import FACTS, json_bytes
from shoal.io.private import check_private
from shoal.io.transaction import BOUND, Bond
from shoal.models.base import Model
from shoal.recipe.recipe import Recipe
from shoal.results import Release
from shoal.vault.entries import bond_of, damaged
from shoal.vault.files import refuse_public, write_sealed
from shoal.vault.intersection import Past, Weakened, weakened
from shoal.vault.registry import Registry, least_values
from shoal.vault.seal import REGISTRY, Key, refuse_short, seal, unseal

SUFFIX, COUNT = ".registry", ".count"
_FRAMES = ("people", "held", "shown")
_ARRAYS = ("places", "known")
_TOKEN = 16


def check_registry(path: str | Path, *, release: str | Path | None = None) -> Path:
    """The absolute path of a registry, or why none may be there; cheap, so ask before any work."""
    place = check_private(path, suffix=SUFFIX, replace=True, release=release)
    refuse_public(place, str(path))
    return place


def refuse_absent(path: str | Path) -> None:
    """Refuse a registry that is not there: a new one has to be asked for, since it remembers nothing."""
    if not Path(path).exists():
        raise InputError(
            f"There is no registry '{path}': correct its name or restore it, or make one that knows of no earlier "
            "release by 'shoal registry new'."
        )


def open_registry(path: str | Path, key: Key, source: str | None = None) -> tuple[Registry, bytes]:
    """A registry and the bytes it was read from.

    Parameters
    ----------
    source
        Whose registry it has to be; None accepts any.
    """
    refuse_absent(path)
    found, _, sealed = _opened(path, key)
    if source is not None and found.source != source:
        raise InputError(
            f"The registry '{path}' belongs to the source '{found.source}', and this is '{source}': name its own."
        )
    _refuse_miscounted(found, Path(path))
    return found, sealed


def save_registry(path: str | Path, key: Key, registry: Registry, before: bytes | None = None) -> bytes:
    """Write a registry whole, for its owner alone, unless somebody else did since ``before``; returns its bytes.

    Parameters
    ----------
    before
        What `open_registry` gave beside it; None makes a new one, where none is and none was.
    """
    place = check_registry(path)
    with locked(place):
        if before is None:
            refuse_short(key, f"the registry '{path}'")
            _refuse_begun(place)
        _refuse_changed(place, before)
        return _write(place, key, registry)


def stage(place: Path, key: Key, registry: Registry, before: bytes, bond: Bond) -> None:
    """Remember a release that is being published, not yet in force; the file is locked."""
    _refuse_changed(place, before)
    now, _, _ = _opened(place, key)
    write_sealed(place, seal(_packed(now, (registry.bound(bond.digest), bond)), key, REGISTRY), "registry")


def settle(place: Path, key: Key, folder: Path) -> None:
    """Bring what was staged into force, or forget it, as its release was published or not; the file is locked.

    Parameters
    ----------
    folder
        The place of the release.
    """
    if place.exists():
        found, pending, _ = _opened(place, key, folder)
        if pending:
            _refuse_miscounted(found, place)  # an old copy would turn the count back
            _write(place, key, found)


def refuse_forgotten(registry: Registry, folder: Path) -> None:
    """Refuse an old copy of a registry, as the evidence beside a release folder shows it to be."""
    for path in sorted(folder.resolve().parent.glob(f"*.evidence/{FACTS}")):
        with suppress(OSError, ValueError, LookupError, TypeError):
            facts = json.loads(path.read_bytes())
            if facts["registry"]["id"] == registry.id:
                _refuse_old(registry, facts["registry"]["release"], facts[BOUND], path.parent)


def _opened(path: str | Path, key: Key, folder: Path | None = None) -> tuple[Registry, bool, bytes]:
    """What is in force, whether the file still says something else, and its bytes.

    A release of which nobody knows whether it was published counts as published: somebody may have read it.
    """
    try:
        sealed = Path(path).read_bytes()
    except OSError as error:
        raise InputError(f"The registry '{path}' cannot be read: {error.strerror}.") from None
    content = unseal(sealed, key, str(path), REGISTRY)
    with damaged(str(path)):
        found, pending = _unpacked(content)
    if pending is not None and pending[1].outcome(folder) is not False:
        found = pending[0]
    return found, pending is not None, sealed


def _write(place: Path, key: Key, registry: Registry) -> bytes:
    sealed = seal(_packed(registry), key, REGISTRY)
    write_sealed(place, sealed, "registry")
    # After the registry: a count that is behind says nothing, one that is ahead would refuse the newest copy.
    releases = registry.past.releases
    last = releases[-1].get("digest") if releases else None
    count = json_bytes({"registry": registry.id, "releases": len(releases), "last": last})
    write_sealed(_counted(place), count, "count of the registry")
    return sealed


def _refuse_changed(place: Path, before: bytes | None) -> None:
    """Refuse to overwrite what somebody else has written since ``before`` was read."""
    if (place.read_bytes() if place.exists() else None) != before:
        raise InputError(f"The registry '{place}' was changed by somebody else meanwhile: try again.")


def _refuse_begun(place: Path) -> None:
    if place.exists():
        raise InputError(f"There is a registry '{place}' already: choose another name.")
    counted = _counted(place)
    if counted.exists():
        raise InputError(
            f"'{counted}' tells of a registry that was here: restore that one, or remove '{counted.name}' to forget it."
        )


def _refuse_old(registry: Registry, number: int, digest: str | None, where: Path) -> None:
    """Refuse a registry without a release that somebody else knows to be its."""
    releases = registry.past.releases
    if number > len(releases) or (number and digest not in (None, releases[number - 1].get("digest"))):
        raise InputError(
            f"The registry is an old copy: '{where}' knows of a release number {number} that it does not have; "
            "restore the newest one."
        )


def _counted(place: Path) -> Path:
    return place.with_name(place.name + COUNT)


def _refuse_miscounted(registry: Registry, place: Path) -> None:
    """Refuse a registry that is older than the count beside it, or not the one that was counted."""
    counted = _counted(place)
    if not counted.exists():
        return
    try:
        found = json.loads(counted.read_bytes())
        id, number, digest = found["registry"], int(found["releases"]), found["last"]
    except (OSError, ValueError, KeyError, TypeError):
        raise InputError(f"'{counted}' cannot be read or is damaged: restore it with its registry.") from None
    if id != registry.id:
        raise InputError(f"'{place}' is not the registry that '{counted.name}' counts: restore that one.")
    _refuse_old(registry, number, digest, counted)


def _packed(registry: Registry, pending: tuple[Registry, Bond] | None = None) -> bytes:
    past = registry.past
    plain = {
        "pending": None if pending is None else asdict(pending[1]),
        "source": registry.source,
        "secret": registry.secret.hex(),
        "by": registry.by,
        "texts": {name: list(words) for name, words in past.texts.items()},
        "releases": [dict(note) for note in past.releases],
    }
    parts = {name: getattr(past, name) for name in _ARRAYS}
    for name in _FRAMES:
        frame = getattr(past, name)
        for column in frame.columns:
            parts[f"{name}.{column}"] = frame[column].to_numpy() if column != "token" else _bytes(frame[column])
    if pending is not None:
        parts["pending"] = np.frombuffer(_packed(pending[0]), dtype=np.uint8)
    file = io.BytesIO()
    np.savez_compressed(file, plain=np.frombuffer(json.dumps(plain).encode(), dtype=np.uint8), **parts)
    return file.getvalue()


def _unpacked(content: bytes) -> tuple[Registry, tuple[Registry, Bond] | None]:
    """A registry, and what it is while a release is being published: the registry with that release."""
    with np.load(io.BytesIO(content), allow_pickle=False) as parts:
        plain = json.loads(parts["plain"].tobytes())
        frames: dict[str, dict[str, Any]] = {name: {} for name in _FRAMES}
        for name in parts.files:
            frame, _, column = name.partition(".")
            if column:
                frames[frame][column] = parts[name] if column != "token" else _hexes(parts[name])
        past = Past(
            people=pl.DataFrame(frames["people"]),
            held=pl.DataFrame(frames["held"]),
            shown=pl.DataFrame(frames["shown"]),
            places=parts["places"],
            known=parts["known"],
            texts=plain["texts"],
            releases=plain["releases"],
        )
        bond = plain.get("pending")
        pending = None if bond is None else (_unpacked(parts["pending"].tobytes())[0], bond_of(bond))
    found = Registry(source=plain["source"], secret=bytes.fromhex(plain["secret"]), by=plain["by"], past=past)
    return found, pending


def _bytes(hexes: pl.Series) -> np.ndarray:
    """Tokens as rows of bytes, half as long as their text."""
    return np.frombuffer(bytes.fromhex("".join(hexes.to_list())), dtype=np.uint8).reshape(hexes.len(), _TOKEN)


def _hexes(rows: np.ndarray) -> pl.Series:
    text, width = rows.tobytes().hex(), 2 * _TOKEN
    return pl.Series([text[at : at + width] for at in range(0, len(text), width)], dtype=pl.String)


# ----------------------------------------
# What a run does with the registry that its recipe names: look back, refuse or accept, and remember.


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
