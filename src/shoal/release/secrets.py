"""The secrets of a run: the vault and the registry that a recipe names, token keys, and given codes."""

from __future__ import annotations

import secrets
from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Any

from shoal.errors import RecipeError
from shoal.io.transaction import Holder
from shoal.recipe.recipe import Recipe
from shoal.recoding.secrets import KEY_BYTES, Secret, SecretKey
from shoal.registry import load

if TYPE_CHECKING:
    from shoal.vault.files import Keeper
    from shoal.vault.registry_file import Memory
    from shoal.vault.seal import Key


@dataclass(frozen=True, eq=False, kw_only=True)
class Secrets:
    """Keys and codes of a release, the registry it is held against, and the vault for its secrets.

    Attributes
    ----------
    token_key
        What tokens and offsets of dates follow from; by default fresh keys.
    codes
        Mappings and gradings that are given.
    keeper
        Takes the secrets of the release to the vault of the recipe.
    registry
        Knows earlier releases of the same source.
    """

    token_key: SecretKey | None = None
    codes: Sequence[Secret] = field(default=(), repr=False)
    keeper: Keeper | None = None
    registry: Memory | None = None

    def keeping(self, found: Sequence[Secret]) -> Secrets:
        """Add the secrets that undo a release to those for the vault."""
        return self if self.keeper is None else replace(self, keeper=self.keeper.with_secrets(found))

    @property
    def holders(self) -> list[Holder]:
        """Files that change with the release."""
        return [one for one in (self.keeper, self.registry) if one is not None]

    def facts(self) -> dict[str, Any]:
        """Where secrets go, for the evidence."""
        return {"vault": None if self.keeper is None else self.keeper.facts()}


def open_secrets(recipe: Recipe, key: Key | None, *, replace: bool) -> Secrets:
    """Open the vault and the registry that a recipe names, before any work."""
    refuse_unkept(recipe)
    keeper = None
    if recipe.output.vault is not None:
        from shoal.vault.files import open_keeper

        keeper = open_keeper(recipe, key, replace=replace, coded=_is_coded(recipe))
    return Secrets(
        token_key=keeper.token_key if keeper else None, codes=given_codes(recipe, key), keeper=keeper,
        registry=open_registry(recipe, key),
    )  # fmt: skip


def trial_secrets(
    recipe: Recipe, *, token_key: SecretKey | None = None, codes: Sequence[Secret] | None = None,
    registry: Memory | None = None,
) -> Secrets:  # fmt: skip
    """Secrets of a run that keeps none: without its vault, a fresh key takes the place of the one that it names."""
    if recipe.output.token_key is not None and token_key is None and recipe.roles.pseudonym:
        token_key = SecretKey(recipe.roles.pseudonym[0], secrets.token_bytes(KEY_BYTES))
    codes = given_codes(recipe, None) if codes is None else codes
    return Secrets(token_key=token_key, codes=codes, registry=registry)


def _is_coded(recipe: Recipe) -> bool:
    """Whether the method, or a column's code, makes secrets."""
    codes = any(entry.code is not None for entry in recipe.columns.values())
    return codes or bool(load("algorithm", recipe.algorithm["name"]).kind.undone)


def given_codes(recipe: Recipe, key: Key | None) -> list[Secret]:
    """The mappings and gradings that a recipe gives: of a file, or of an entry of its vault where there is a key."""
    named = recipe.output.codes
    if named is None:
        return []
    from shoal.vault.files import load, read_secrets

    if named.endswith(".json"):
        found = read_secrets(recipe.resolve(named))
    elif recipe.output.vault is None:
        raise RecipeError(
            f"The codes '{named}' under [output] are an entry of a vault, and none is named: name it, or a .json file."
        )
    elif key is None:
        return []
    else:
        found = load(recipe.resolve(recipe.output.vault), key, named)
    codes = [one for one in found if not isinstance(one, SecretKey)]
    if not codes:
        raise RecipeError(
            f"The codes '{named}' under [output] hold no mapping and no grading: name others, or leave them out."
        )
    return codes


def refuse_unkept(recipe: Recipe) -> None:
    """Refuse a coded release whose secrets nobody keeps, and a vault or a key with nothing to keep or to make."""
    output = recipe.output
    if output.token_key is not None and (output.vault is None or not recipe.roles.pseudonym):
        lacking = "a vault, which keeps the key" if output.vault is None else "a column with the role 'pseudonym'"
        raise RecipeError(f"The token_key under [output] needs {lacking}: add it, or remove the token_key.")
    shifts = any(entry.shift is not None for entry in recipe.columns.values())
    has_secrets = _is_coded(recipe) or shifts or bool(recipe.roles.pseudonym)
    if output.vault is None and has_secrets and not output.discard_secret:
        raise RecipeError(
            "This release would be coded, and nothing keeps what undoes it: name a vault under [output], or set "
            "discard_secret = true there."
        )
    if output.vault is not None and (output.discard_secret or not has_secrets):
        why = "discard_secret is set" if output.discard_secret else "this release has no secrets"
        raise RecipeError(f"There is a vault under [output], and {why}: remove one of the two.")


def open_registry(recipe: Recipe, key: Key | None) -> Memory | None:
    """The registry of earlier releases that a recipe names, opened, or None."""
    from shoal.vault.registry_file import open_memory

    return open_memory(recipe, key)
