"""Sealed rows that are kept together: none of them, nor all of them, can be changed or put back unnoticed.

Every row has a version that rises. A list of all rows, with their versions and hashes, stands beside them under a
number that rises with every change (the epoch) and a tag that only the keyring can make. The tag and the epoch are also
written to a small file outside the store, the anchor, so that an older copy of the whole store is noticed. Whoever can
put back both, store and anchor, is not: keep a copy of the anchor elsewhere.

The anchor is written when a change is there to stay. A store ahead of its anchor was left by a process that was killed
between the two; that is no fault, and the next change brings the anchor up to it.
"""

from __future__ import annotations

import base64
import hashlib
import hmac
import json
import secrets
from collections.abc import Callable, Collection, Mapping
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Protocol, Self

from shoal.errors import InputError, VerificationError
from shoal.io.atomic import locked, write_whole
from shoal.vault.entries import damaged
from shoal.vault.seal import KEYRING, Key, aead, refuse_short, seal, unseal

# ----------------------------------------
# Envelope encryption: a data key a secret, wrapped by a master key that a passphrase or a key file opens.
#
# A keyring is a few random master keys, one a generation, sealed as a vault is (:mod:`shoal.vault.seal`). What it
# seals begins with ``SHOALENV``, the version of this layout and the generation; then come the data key, wrapped by
# the master key of that generation, and the content, encrypted by the data key. Both are authenticated with what
# the content belongs to, so that nothing sealed for one purpose and name opens for another.
#
# Changing the passphrase seals the same master keys anew. Rotating adds a generation: :meth:`Keyring.rewrap` then
# turns what was sealed before over to it without touching the content, and :meth:`Keyring.retired` forgets the ones
# before.


MAGIC, VERSION = b"SHOALENV", 1
_KEY, _NONCE, _TAG = 32, 12, 16
_WRAPPED = _NONCE + _KEY + _TAG
_START = len(MAGIC) + 1 + 4


class Keyring:
    """Seals and opens small secrets; made by :meth:`new` or :meth:`open`, never printed or pickled."""

    __slots__ = ("_masters",)

    def __init__(self, masters: Mapping[int, bytes]) -> None:
        self._masters = dict(masters)

    @classmethod
    def new(cls) -> Keyring:
        """A keyring of one fresh master key."""
        return cls({1: secrets.token_bytes(_KEY)})

    @classmethod
    def open(cls, sealed: bytes, key: Key) -> Self:
        """The keyring that :meth:`closed` gave, by the passphrase or key file that it was given."""
        content = unseal(sealed, key, "keyring", KEYRING)
        with damaged("keyring"):
            masters = {int(number): base64.b64decode(one) for number, one in json.loads(content)["masters"].items()}
            if not masters or {len(one) for one in masters.values()} != {_KEY}:
                raise ValueError("a master key has 32 bytes")
        return cls(masters)

    def closed(self, key: Key) -> bytes:
        """The keyring under a passphrase or key file, which may be another one than before."""
        refuse_short(key, "the keyring")
        masters = {str(number): base64.b64encode(one).decode() for number, one in self._masters.items()}
        return seal(json.dumps({"masters": masters}).encode(), key, KEYRING)

    @property
    def generation(self) -> int:
        """Number of the master key that new secrets are sealed by."""
        return max(self._masters)

    def seal(self, purpose: str, name: str, data: bytes, *, version: int = 0) -> bytes:
        """Data under a key of its own, bound to what it belongs to.

        Parameters
        ----------
        purpose, name
            Such as ``"totp"`` and a user's id: whoever opens it has to say the same.
        version
            Which of several that follow each other under one name, where somebody counts.
        """
        key = secrets.token_bytes(_KEY)
        bound = _bound(purpose, name, version)
        return self._wrapped(key, bound) + _encrypted(key, data, b"data" + bound)

    def unseal(self, purpose: str, name: str, sealed: bytes, *, version: int = 0) -> bytes:
        """What was sealed for this purpose, name and version.

        Raises
        ------
        VerificationError
            It was changed, belongs elsewhere, or is of a master key that this keyring does not have.
        """
        bound = _bound(purpose, name, version)
        return _decrypted(self._data_key(sealed, bound), sealed[_START + _WRAPPED :], b"data" + bound, purpose)

    def rewrap(self, purpose: str, name: str, sealed: bytes, *, version: int = 0) -> bytes:
        """The same under the newest master key; the content stays encrypted."""
        bound = _bound(purpose, name, version)
        return self._wrapped(self._data_key(sealed, bound), bound) + sealed[_START + _WRAPPED :]

    def rotated(self) -> Self:
        """A keyring with a further master key, which opens what was sealed before."""
        return type(self)({**self._masters, self.generation + 1: secrets.token_bytes(_KEY)})

    def retired(self) -> Self:
        """A keyring of the newest master key alone: what was not rewrapped is lost."""
        return type(self)({self.generation: self._masters[self.generation]})

    def mac(self, purpose: str, data: bytes, generation: int | None = None) -> bytes:
        """A tag that only this keyring can make."""
        number = self.generation if generation is None else generation
        if number not in self._masters:
            raise VerificationError(f"The {purpose} is of a master key that this keyring does not have: use its own.")
        return hmac.digest(self._masters[number], b"mac" + _bound(purpose, "", 0) + data, hashlib.sha256)

    def _wrapped(self, key: bytes, bound: bytes) -> bytes:
        start = MAGIC + bytes([VERSION]) + self.generation.to_bytes(4, "big")
        return start + _encrypted(self._masters[self.generation], key, start + bound)

    def _data_key(self, sealed: bytes, bound: bytes) -> bytes:
        purpose = json.loads(bound)[0]
        start = sealed[:_START]
        if len(sealed) < _START + _WRAPPED + _NONCE + _TAG or not start.startswith(MAGIC + bytes([VERSION])):
            raise VerificationError(f"A secret kept for '{purpose}' is not as it was sealed: restore a copy.")
        master = self._masters.get(int.from_bytes(start[-4:], "big"))
        if master is None:
            raise VerificationError(f"A secret kept for '{purpose}' is of a master key that is not in this keyring.")
        return _decrypted(master, sealed[_START : _START + _WRAPPED], start + bound, purpose)

    def __repr__(self) -> str:
        return f"Keyring({len(self._masters)} master keys, redacted)"

    def __reduce__(self) -> Any:
        raise TypeError("A Keyring is secret and cannot be serialised.")


def generation_of(sealed: bytes) -> int:
    """Number of the master key that something was sealed by."""
    return int.from_bytes(sealed[_START - 4 : _START], "big")


def _bound(purpose: str, name: str, version: int) -> bytes:
    """What a secret belongs to, as bytes that no other purpose, name and version have."""
    return json.dumps([purpose, name, version]).encode()


def _encrypted(key: bytes, data: bytes, bound: bytes) -> bytes:
    cipher, _ = aead()
    nonce = secrets.token_bytes(_NONCE)
    return bytes(nonce + cipher(key).encrypt(nonce, data, bound))


def _decrypted(key: bytes, sealed: bytes, bound: bytes, purpose: str) -> bytes:
    cipher, invalid = aead()
    try:
        return bytes(cipher(key).decrypt(sealed[:_NONCE], sealed[_NONCE:], bound))
    except invalid:
        raise VerificationError(
            f"A secret kept for '{purpose}' was changed, or belongs elsewhere: restore a copy."
        ) from None


LIST = "list"
_COUNTER = 8
_PURPOSE = "strongroom"


class Store(Protocol):
    """Where rows are kept: a dictionary, a table of a database. Whoever changes it has it to themselves."""

    def read(self, names: Collection[str] | None = None) -> dict[str, bytes]:
        """Rows by name, as they are at one moment: those asked for that are there, or all."""
        ...

    def change(self, rows: Mapping[str, bytes | None]) -> None:
        """Write some rows, and drop those that are None, all of it or nothing."""
        ...

    def afterwards(self, action: Callable[[], None]) -> None:
        """Do something when what was changed is there to stay."""
        ...


class InMemory:
    """A store that is gone with its process."""

    def __init__(self) -> None:
        self.rows: dict[str, bytes] = {}

    def read(self, names: Collection[str] | None = None) -> dict[str, bytes]:
        """Rows by name."""
        return {name: row for name, row in self.rows.items() if names is None or name in names}

    def change(self, rows: Mapping[str, bytes | None]) -> None:
        """Write some rows, and drop those that are None."""
        self.rows.update({name: row for name, row in rows.items() if row is not None})
        for name in [name for name, row in rows.items() if row is None]:
            self.rows.pop(name, None)

    def afterwards(self, action: Callable[[], None]) -> None:
        """At once."""
        action()


@dataclass(frozen=True)
class _Listed:
    """The list of all rows: the epoch, and of each row its version and hash."""

    epoch: int
    rows: dict[str, tuple[int, str]]
    tag: str = ""


class Strongroom:
    """Secrets under names, in a store that only its keyring opens.

    Parameters
    ----------
    anchor
        The small file outside the store. It is made with the first row.
    """

    def __init__(self, store: Store, keyring: Keyring, anchor: str | Path) -> None:
        self._store, self._keyring, self._anchor = store, keyring, Path(anchor)

    def names(self) -> list[str]:
        """Names of the rows."""
        return sorted(self._read([])[1].rows)

    def get(self, name: str) -> bytes | None:
        """One secret, None where there is none.

        Raises
        ------
        VerificationError
            The store is an older copy, or the row was changed, put back, swapped, dropped or added.
        """
        rows, listed = self._read([name])
        if name not in listed.rows and name not in rows:
            return None
        self._compare(name, rows, listed)
        version, row = listed.rows[name][0], rows[name]
        return self._keyring.unseal(_PURPOSE, name, row[_COUNTER:], version=version)

    def put(self, name: str, data: bytes) -> None:
        """Keep a secret under a name, in the place of an older one."""
        self.put_all({name: data})

    def put_all(self, new: Mapping[str, bytes | None]) -> None:
        """Keep several, and drop those that are None, in one step."""
        if LIST in new:
            raise InputError(f"No secret can be kept under the name '{LIST}': choose another.")
        _, listed = self._read([])
        made: dict[str, bytes | None] = {}
        rows = dict(listed.rows)
        version = listed.epoch + 1  # rises with every write, also of a name that was dropped before
        for name, data in new.items():
            rows.pop(name, None)
            made[name] = None
            if data is not None:
                sealed = self._keyring.seal(_PURPOSE, name, data, version=version)
                made[name] = row = version.to_bytes(_COUNTER, "big") + sealed
                rows[name] = (version, hashlib.sha256(row).hexdigest())
        self._write(made, _Listed(version, rows))

    def rewrap(self, keyring: Keyring) -> None:
        """Turn all rows over to the newest master key of a keyring that has the old one too."""
        found = self.check()
        _, listed = self._read([])
        made: dict[str, bytes | None] = {}
        rows = {}
        for name, (version, sealed) in found.items():
            row = version.to_bytes(_COUNTER, "big") + keyring.rewrap(_PURPOSE, name, sealed, version=version)
            made[name], rows[name] = row, (version, hashlib.sha256(row).hexdigest())
        self._keyring = keyring
        self._write(made, _Listed(listed.epoch + 1, rows))

    def accept(self) -> int:
        """Take the store as it is for the newest one, after a backup was restored on purpose; its epoch.

        The epoch goes on from that of the anchor: what was written after the backup is older from now on, and cannot
        be put back as a store that is ahead.
        """
        rows = self._store.read()
        listed = self._list(rows)
        self._all(rows, listed)
        with suppress(VerificationError):  # an anchor that cannot be read is replaced
            listed = _Listed(max(listed.epoch, (self._anchored() or {"epoch": 0})["epoch"]), listed.rows)
        self._write({}, _Listed(listed.epoch + 1, listed.rows), anew=True)
        return listed.epoch + 1

    def check(self) -> dict[str, tuple[int, bytes]]:
        """Versions and sealed contents of all rows, after checking every one."""
        return self._all(*self._read(None))

    def _all(self, rows: Mapping[str, bytes], listed: _Listed) -> dict[str, tuple[int, bytes]]:
        for name in sorted({*rows, *listed.rows} - {LIST}):
            self._compare(name, rows, listed)
        return {name: (version, rows[name][_COUNTER:]) for name, (version, _) in listed.rows.items()}

    def _write(self, rows: Mapping[str, bytes | None], listed: _Listed, *, anew: bool = False) -> None:
        content = json.dumps({"epoch": listed.epoch, "rows": listed.rows}, sort_keys=True)
        tag = self._keyring.mac("list of secrets", content.encode()).hex()
        line = json.dumps({"generation": self._keyring.generation, "tag": tag, "content": content}).encode()
        self._store.change({**rows, LIST: line})
        self._store.afterwards(lambda: self._move_anchor(_Listed(listed.epoch, listed.rows, tag), anew))

    def _move_anchor(self, listed: _Listed, anew: bool) -> None:
        """Forwards alone, or anew: two processes may come here in another order than they wrote in."""
        with locked(self._anchor):
            anchored = None if anew else self._anchored()
            if anchored is None or anchored["epoch"] < listed.epoch:
                self._write_anchor(listed)

    def _write_anchor(self, listed: _Listed) -> None:
        content = json.dumps({"epoch": listed.epoch, "tag": listed.tag}).encode() + b"\n"
        try:
            write_whole(self._anchor, content)
        except OSError as error:
            raise InputError(f"The anchor '{self._anchor}' cannot be written: {error.strerror}.") from None

    def _anchored(self) -> dict[str, Any] | None:
        try:
            found = json.loads(self._anchor.read_bytes())
            return {"epoch": int(found["epoch"]), "tag": str(found["tag"])}
        except FileNotFoundError:
            return None
        except (OSError, ValueError, LookupError, TypeError):
            raise VerificationError(f"The anchor '{self._anchor}' cannot be read: restore a copy of it.") from None

    def _read(self, names: Collection[str] | None) -> tuple[dict[str, bytes], _Listed]:
        """Rows and the list, held against the anchor, which is read first: the store can only be newer then."""
        anchored = self._anchored()
        rows = self._store.read(None if names is None else [LIST, *names])
        listed = self._list(rows)
        if anchored is None:
            if listed.epoch > 1:
                raise VerificationError(f"The anchor '{self._anchor}' is missing: restore a copy of it.")
            return rows, listed
        if listed.epoch < anchored["epoch"]:
            at = f"it is at change {listed.epoch:,}, and its anchor at {anchored['epoch']:,}"
            raise VerificationError(f"The store of secrets is an older copy ({at}): restore the newest one.")
        if listed.epoch == anchored["epoch"] and listed.tag != anchored["tag"]:
            raise VerificationError("The store of secrets is not the one of its anchor: restore the newest copy.")
        return rows, listed

    def _list(self, rows: Mapping[str, bytes]) -> _Listed:
        """The list of a store whose tag is right."""
        if LIST not in rows:
            if rows or self._anchored() is not None:
                raise VerificationError("The store of secrets has lost its list: restore the newest copy.")
            return _Listed(0, {})
        wrong = VerificationError("The list of secrets was changed, or is of another keyring: restore the newest copy.")
        try:
            line = json.loads(rows[LIST])
            content, tag = str(line["content"]), str(line["tag"])
            made = self._keyring.mac("list of secrets", content.encode(), int(line["generation"])).hex()
            plain = json.loads(content)
        except (ValueError, LookupError, TypeError):
            raise wrong from None
        if not hmac.compare_digest(made.encode(), tag.encode()):
            raise wrong
        return _Listed(plain["epoch"], {name: (one[0], one[1]) for name, one in plain["rows"].items()}, tag)

    def _compare(self, name: str, rows: Mapping[str, bytes], listed: _Listed) -> None:
        if name not in rows or name not in listed.rows:
            what = "was added to" if name in rows else "is missing from"
            raise VerificationError(f"The row '{name}' {what} the store of secrets: restore the newest copy.")
        version, expected = listed.rows[name]
        row = rows[name]
        made = hashlib.sha256(row).hexdigest()
        if made == expected:
            return
        other = next((one for one, (_, digest) in listed.rows.items() if digest == made), None)
        if other is not None:
            raise VerificationError(f"The row '{name}' of the store of secrets is that of '{other}'.")
        older = int.from_bytes(row[:_COUNTER], "big") < version
        what = "is an older one, which was put back" if older else "was changed"
        raise VerificationError(f"The row '{name}' of the store of secrets {what}: restore the newest copy.")


def generations(store: Store) -> set[int]:
    """Numbers of the master keys that rows of a store need."""
    return {generation_of(row[_COUNTER:]) for name, row in store.read().items() if name != LIST}
