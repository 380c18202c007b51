"""Envelope encryption: a data key a secret, wrapped by a master key that a passphrase or a key file opens.

A keyring is a few random master keys, one a generation, sealed as a vault is (:mod:`shoal.vault.seal`). What it seals
begins with ``SHOALENV``, the version of this layout and the generation; then come the data key, wrapped by the master
key of that generation, and the content, encrypted by the data key. Both are authenticated with what the content
belongs to, so that nothing sealed for one purpose and name opens for another.

Changing the passphrase seals the same master keys anew. Rotating adds a generation: :meth:`Keyring.rewrap` then turns
what was sealed before over to it without touching the content, and :meth:`Keyring.retired` forgets the ones before.
"""

from __future__ import annotations

import base64
import hashlib
import hmac
import json
import secrets
from collections.abc import Mapping
from typing import Any, Self

from shoal.errors import VerificationError
from shoal.vault.entries import damaged
from shoal.vault.seal import KEYRING, Key, aead, refuse_short, seal, unseal

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
