"""A vault file: named entries, each with the secrets of one release or one key; written whole, for its owner alone."""

from __future__ import annotations

import dataclasses
import json
import secrets
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

from shoal.errors import InputError, RecipeError
from shoal.io.atomic import locked, sync, write_whole
from shoal.io.private import check_private
from shoal.io.transaction import Bond
from shoal.params import nearest
from shoal.recipe.recipe import Recipe
from shoal.recoding.secrets import KEY_BYTES, Secret, SecretKey, restore
from shoal.vault.entries import Entry, Kept, damaged, from_plain, to_plain
from shoal.vault.seal import Key, refuse_short, seal, unseal
from shoal.verify.folder import MANIFEST

SUFFIX = ".vault"
_LONGEST_NAME = 100


def check_vault(path: str | Path, *, release: str | Path | None = None) -> Path:
    """The absolute path of a vault, or the reason why none may be there; cheap, so ask before any work.

    Parameters
    ----------
    release
        A folder that is going to be published, whether it exists or not.
    """
    place = check_private(path, suffix=SUFFIX, replace=True, release=release)
    refuse_public(place, str(path))
    return place


def refuse_public(place: Path, name: str) -> None:
    """Refuse a place in a folder with a manifest, whoever wrote it: such a folder is there to be given away."""
    if any((parent / MANIFEST).exists() for parent in place.parents):
        raise InputError(f"'{name}' lies in a folder that holds a {MANIFEST}, which is public: choose another place.")


def check_name(name: str) -> None:
    """Refuse what cannot be the name of an entry."""
    if not name or len(name) > _LONGEST_NAME or not name.isprintable():
        raise InputError(f"The name of a vault entry must have 1 to {_LONGEST_NAME} printable characters.")


def store(
    path: str | Path,
    key: Key,
    name: str,
    secrets: Sequence[Secret],
    *,
    replace: bool = False,
    release: str | Path | None = None,
) -> Path:
    """Add secrets under a name to a vault, which is made if there is none; on failure it is as it was before.

    Parameters
    ----------
    replace
        Overwrite an entry of that name; its secrets are then lost.
    release
        The folder of the release that the secrets undo: the vault may not be inside.

    Returns
    -------
    Path
        The vault's absolute path.
    """
    place = check_vault(path, release=release)
    check_name(name)
    if not secrets:
        raise InputError(f"There are no secrets to keep under '{name}': nothing was stored.")
    with locked(place):
        entries = _for_writing(place, key)
        _refuse_present(place, entries, [name], replace)
        entries[name] = Entry(now=Kept(secrets=[secret.reveal() for secret in secrets]))
        _write(place, key, entries)
    return place


def stage(place: Path, key: Key, bond: Bond, new: Mapping[str, Kept], *, replace: bool) -> None:
    """Keep secrets of a release that is being published beside those in force; the vault is locked.

    Parameters
    ----------
    new
        By name; a key for several releases never replaces another.
    """
    entries = _for_writing(place, key)
    _refuse_present(place, entries, [name for name, kept in new.items() if kept.shared or not replace], False)
    for name in new:
        if name in entries:
            entries[name].refuse_needed(name, Path(bond.folder))
    for name, kept in new.items():
        now = entries[name].now if name in entries else None
        entries[name] = Entry(now=now, next=dataclasses.replace(kept, bond=bond))
    _write(place, key, entries)


def refuse_needed(place: Path, key: Key, name: str, folder: Path) -> None:
    """Refuse to replace the entry of a release that is not the one in a folder; cheap, so ask before any work."""
    found = _view(place, key).get(name)
    if found is not None and found.next is None:  # what is not settled yet may be, once the vault is locked
        found.refuse_needed(name, folder)


def settle(place: Path, key: Key, folder: Path) -> None:
    """Bring what was staged into force, or drop it, as its release was published or not; the vault is locked.

    Parameters
    ----------
    folder
        The place of the release.
    """
    if not place.exists():
        return
    before = _unsealed(_read(place), key, str(place))
    after = _settled(before, folder)
    if after == before:
        return
    if after:
        _write(place, key, after)
    else:  # the run that did not come to its end had made it
        place.unlink()
        sync(place.parent)


def load(path: str | Path, key: Key, name: str, *, release: str | Path | None = None) -> list[Secret]:
    """The secrets of one entry; an error where they are of another release than the one they were published with.

    Parameters
    ----------
    release
        The folder, or the manifest, of the release they are wanted for; where it was published to, by default.
    """
    entries = _view(path, key)
    if name not in entries:
        near = nearest(name, entries)
        hint = f"Did you mean '{near}'?" if near else f"It has: {', '.join(entries) or 'none'}."
        raise InputError(f"The vault '{path}' has no entry '{name}'. {hint}")
    return [restore(plain) for plain in entries[name].of(release, name).secrets]


def read_secrets(path: Path) -> list[Secret]:
    """The secrets of a file that ``shoal vault get`` wrote, or of one like it."""
    try:
        found = json.loads(path.read_text("utf-8-sig"), object_pairs_hook=_each_once)
    except OSError as error:
        raise InputError(f"'{path}' cannot be read: {error.strerror}.") from None
    except UnicodeDecodeError:
        raise InputError(f"'{path}' is not UTF-8 text: convert it first.") from None
    except json.JSONDecodeError:
        raise InputError(f"'{path}' is not JSON: give a file that 'shoal vault get' wrote.") from None
    if not isinstance(found, list):
        raise InputError(f"'{path}' does not hold a list of secrets: give a file that 'shoal vault get' wrote.")
    return [restore(plain) for plain in found]


def _each_once(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    """An object of JSON; a value that has two codes would silently keep the last."""
    found = dict(pairs)
    if len(found) < len(pairs):
        raise InputError("A file of secrets names something twice, such as a value with two codes: keep one of them.")
    return found


def contents(path: str | Path, key: Key) -> dict[str, list[dict[str, str]]]:
    """Names of the entries, and of each secret its kind, column and size, without any value."""
    return {
        name: [
            {"kind": secret.kind, "column": secret.column, "size": secret.size()}
            for secret in (restore(plain) for plain in (entry.now or entry.next or Kept(secrets=[])).secrets)
        ]
        for name, entry in _view(path, key).items()
    }


def _read(path: str | Path) -> bytes:
    try:
        return Path(path).read_bytes()
    except OSError as error:
        raise InputError(f"The vault '{path}' cannot be read ({error.strerror}): check the path.") from None


def _unsealed(sealed: bytes, key: Key, name: str) -> dict[str, Entry]:
    content = unseal(sealed, key, name)
    with damaged(name):
        plain: Mapping[str, Any] = json.loads(content)["entries"]
        return {name: from_plain(entry) for name, entry in plain.items()}


def _settled(entries: Mapping[str, Entry], folder: Path | None = None) -> dict[str, Entry]:
    return {name: after for name, entry in entries.items() if (after := entry.settled(folder)) is not None}


def _view(path: str | Path, key: Key) -> dict[str, Entry]:
    """What is in force; read again where a publication came to its end while we looked."""
    sealed = _read(path)
    while True:
        found = _settled(_unsealed(sealed, key, str(path)))
        before, sealed = sealed, _read(path)
        if sealed == before or all(entry.next is None for entry in found.values()):
            return found


def _for_writing(place: Path, key: Key) -> dict[str, Entry]:
    if place.exists():
        return _settled(_unsealed(_read(place), key, str(place)))
    refuse_short(key, f"the vault '{place}'")
    return {}


def _refuse_present(place: Path, entries: Mapping[str, Entry], names: Iterable[str], replace: bool) -> None:
    for name in names:
        if name in entries and not replace:
            raise InputError(f"The vault '{place}' already has an entry '{name}': choose another name, or replace it.")


def _write(place: Path, key: Key, entries: Mapping[str, Entry]) -> None:
    plain = {"entries": {name: to_plain(entry) for name, entry in entries.items()}}
    write_sealed(place, seal(json.dumps(plain, ensure_ascii=False).encode(), key), "vault")


def write_sealed(place: Path, sealed: bytes, what: str) -> None:
    """Swap a locked file in one step."""
    try:
        write_whole(place, sealed)
    except OSError as error:
        raise InputError(f"The {what} '{place}' cannot be written: {error.strerror}.") from None


# ----------------------------------------
# What a run does with the vault that its recipe names: look whether its secrets can be kept, and keep them.


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
