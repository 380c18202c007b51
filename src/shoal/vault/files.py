"""A vault file: named entries, each with the secrets of one release or one key; written whole, for its owner alone."""

from __future__ import annotations

import json
import os
import tempfile
from collections.abc import Sequence
from contextlib import suppress
from pathlib import Path
from typing import Any

from shoal.errors import InputError
from shoal.io.private import check_private
from shoal.params import nearest
from shoal.recoding.secrets import Secret, restore
from shoal.vault.seal import Key, seal, unseal
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
    before = place.read_bytes() if place.exists() else None
    entries = {} if before is None else _entries(before, key, str(path))
    if name in entries and not replace:
        raise InputError(f"The vault '{path}' already has an entry '{name}': choose another name, or replace it.")
    entries[name] = [secret.reveal() for secret in secrets]
    write_sealed(place, _sealed(entries, key), before)
    return place


def remove(path: str | Path, key: Key, name: str) -> None:
    """Take an entry out of a vault, if it is there; the file goes with its last entry."""
    place = check_vault(path)
    before = _read(place)
    entries = _entries(before, key, str(path))
    if entries.pop(name, None) is None:
        return
    if entries:
        write_sealed(place, _sealed(entries, key), before)
    else:
        refuse_changed(place, before)
        place.unlink()


def load(path: str | Path, key: Key, name: str) -> list[Secret]:
    """The secrets of one entry."""
    entries = _entries(_read(path), key, str(path))
    if name not in entries:
        near = nearest(name, entries)
        hint = f"Did you mean '{near}'?" if near else f"It has: {', '.join(entries) or 'none'}."
        raise InputError(f"The vault '{path}' has no entry '{name}'. {hint}")
    return [restore(plain) for plain in entries[name]]


def contents(path: str | Path, key: Key) -> dict[str, list[dict[str, str]]]:
    """Names of the entries, and of each secret its kind, column and size, without any value."""
    entries = _entries(_read(path), key, str(path))
    return {
        name: [
            {"kind": secret.kind, "column": secret.column, "size": secret.size()}
            for secret in (restore(plain) for plain in plains)
        ]
        for name, plains in entries.items()
    }


def _read(path: str | Path) -> bytes:
    try:
        return Path(path).read_bytes()
    except OSError as error:
        raise InputError(f"The vault '{path}' cannot be read: {error.strerror}.") from None


def _entries(sealed: bytes, key: Key, name: str) -> dict[str, list[Any]]:
    found: dict[str, list[Any]] = json.loads(unseal(sealed, key, name))["entries"]
    return found


def _sealed(entries: dict[str, list[Any]], key: Key) -> bytes:
    return seal(json.dumps({"entries": entries}, ensure_ascii=False).encode(), key)


def refuse_changed(place: Path, before: bytes | None, what: str = "vault") -> None:
    """Refuse to overwrite what somebody else has written since ``before`` was read."""
    now = place.read_bytes() if place.exists() else None
    if now != before:
        raise InputError(f"The {what} '{place}' was changed by somebody else meanwhile: try again.")


def write_sealed(place: Path, sealed: bytes, before: bytes | None, what: str = "vault") -> None:
    """Swap the file in one step, unless somebody else has written it meanwhile."""
    # Created with mode 0600: there is no moment at which others could open it.
    descriptor, staged = tempfile.mkstemp(prefix=f".{place.name}.", dir=place.parent)
    try:
        with os.fdopen(descriptor, "wb") as file:
            file.write(sealed)
            file.flush()
            os.fsync(file.fileno())
        refuse_changed(place, before, what)
        os.replace(staged, place)
    except OSError as error:
        raise InputError(f"The {what} '{place}' cannot be written: {error.strerror}.") from None
    finally:
        with suppress(FileNotFoundError):
            os.unlink(staged)

