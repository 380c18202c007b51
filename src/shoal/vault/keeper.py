"""What a run does with the vault that its recipe names: look whether its secrets can be kept, and keep them."""

from __future__ import annotations

import secrets
from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

from shoal.errors import InputError, RecipeError
from shoal.io.transaction import Bond
from shoal.recipe.recipe import Recipe
from shoal.recoding.secrets import KEY_BYTES, Secret, SecretKey
from shoal.vault.entries import Kept
from shoal.vault.files import check_name, check_vault, contents, load, refuse_needed, settle, stage
from shoal.vault.seal import Key, refuse_short


@dataclass(frozen=True, eq=False, kw_only=True)
class Keeper:
    """Where the secrets of one run go.

    Attributes
    ----------
    entry
        The release's own entry.
    replace
        Whether there may be such an entry, which these secrets then replace.
    token_key, token_name, token_made
        The key of the tokens and its name, where the recipe names one; whether it is new, and has to be stored.
    secrets
        What undoes the release.
    """

    place: Path
    key: Key
    entry: str
    replace: bool
    token_key: SecretKey | None
    token_name: str | None
    token_made: bool
    secrets: Sequence[Secret] = field(repr=False, default=())

    def with_secrets(self, found: Sequence[Secret]) -> Keeper:
        """The same with the secrets of a release."""
        return replace(self, secrets=tuple(found))

    def facts(self) -> dict[str, Any]:
        """Where everything goes, for the evidence."""
        named = None if self.token_name is None else {"name": self.token_name, "made": self.token_made}
        return {"file": str(self.place), "entry": self.entry if self.secrets else None, "token_key": named}

    def stage(self, bond: Bond) -> None:
        """Keep what is not kept yet, not yet in force."""
        new = {}
        if self.token_key is not None and self.token_made:
            new[str(self.token_name)] = Kept(secrets=[self.token_key.reveal()], shared=True)
        if self.secrets:
            new[self.entry] = Kept(secrets=[secret.reveal() for secret in self.secrets])
        if new:
            stage(self.place, self.key, bond, new, replace=self.replace)

    def settle(self, folder: Path) -> None:
        """Bring it into force, or drop it."""
        settle(self.place, self.key, folder)


def open_keeper(recipe: Recipe, key: Key | None, *, replace: bool, coded: bool) -> Keeper:
    """The vault that a recipe names, opened before any work.

    Parameters
    ----------
    coded
        Whether the method itself makes secrets.
    """
    if key is None:
        raise InputError("The vault needs a key: give the passphrase or key file that opens it.")
    output = recipe.output
    folder = recipe.resolve(output.folder)
    place = check_vault(recipe.resolve(str(output.vault)), release=folder)
    if not place.exists():
        refuse_short(key, f"the vault '{place}'")
    entry = output.vault_entry or folder.resolve().name
    present = frozenset(contents(place, key)) if place.exists() else frozenset()
    # Nothing but tokens of a named key leaves nothing to store under the release's own name.
    if entry in present and not replace and (output.token_key is None or coded):
        raise InputError(f"The vault '{output.vault}' already has an entry '{entry}': set another vault_entry.")
    if entry in present:
        refuse_needed(place, key, entry, folder.resolve())
    token_key, name = None, output.token_key
    if name is not None:
        check_name(name)
        if name == entry:
            raise RecipeError(f"The token_key '{entry}' has the name of the release's vault_entry: rename one.")
        token_key = _token_key(recipe, name, place, key, name in present)
    return Keeper(
        place=place, key=key, entry=entry, replace=replace, token_key=token_key, token_name=name,
        token_made=name is not None and name not in present,
    )  # fmt: skip


def _token_key(recipe: Recipe, name: str, place: Path, key: Key, present: bool) -> SecretKey:
    """The named key, or a fresh one that is to be stored under the name; no seed determines it, since it is reused."""
    if not present:
        return SecretKey(recipe.roles.pseudonym[0], secrets.token_bytes(KEY_BYTES))
    found = load(place, key, name)
    if len(found) != 1 or not isinstance(found[0], SecretKey):
        raise InputError(f"The vault's entry '{name}' is not a single key: name another one as token_key.")
    return found[0]
