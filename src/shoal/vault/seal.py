"""The envelope of a vault: Argon2id turns a passphrase or key file into a key, AES-256-GCM seals and authenticates.

Layout of version 1: 8 bytes ``SHOALVLT``, the version, the kind of key (``p`` or ``f``), the memory that deriving the
key takes as a power of two in KiB, 16 bytes of salt, 12 bytes of nonce; then the sealed content. The whole header is
authenticated with the content, so that no byte of a vault can change unnoticed.
"""

from __future__ import annotations

import secrets
import unicodedata
from pathlib import Path
from typing import Any

from shoal.errors import InputError, MissingExtraError
from shoal.io.atomic import refuse_readable

MAGIC, VERSION = b"SHOALVLT", 1
# Other files in the same envelope, by their first bytes, and what messages call them.
REGISTRY, KEYRING = b"SHOALREG", b"SHOALKEY"
_CALLED = {MAGIC: "vault", REGISTRY: "registry", KEYRING: "keyring"}
_PASSPHRASE, _FILE = b"p", b"f"
_SALT, _NONCE = 16, 12
_HEADER = len(MAGIC) + 3 + _SALT + _NONCE
# RFC 9106, second recommendation: 3 passes over 64 MiB in 4 lanes.
MEMORY, _PASSES, _LANES = 16, 3, 4
# A header that asks for more or less was not written by us.
_MEMORY_RANGE = range(10, 19)
# Shorter than the second needs a word of acceptance.
_SHORTEST, _LONG_ENOUGH, _KEY_FILE = 8, 12, 32


class Key:
    """What opens a vault: made of a passphrase or of a key file, and never printed."""

    __slots__ = ("_secret", "kind", "short")

    def __init__(self, kind: bytes, secret: bytes, *, short: bool = False) -> None:
        self.kind = kind
        self.short = short
        self._secret = secret

    @classmethod
    def passphrase(cls, text: str, *, accept_short: bool = False) -> Key:
        """A key from a passphrase; how an accent is typed makes no difference.

        Parameters
        ----------
        accept_short
            Accept fewer than 12 characters, and at least 8, for a new vault or registry.
        """
        text = unicodedata.normalize("NFC", text)
        if len(text) < _SHORTEST:
            raise InputError(f"A passphrase needs at least {_SHORTEST} characters: choose a longer one.")
        return cls(_PASSPHRASE, text.encode(), short=len(text) < _LONG_ENOUGH and not accept_short)

    @classmethod
    def file(cls, path: str | Path) -> Key:
        """A key from a file of at least 32 random bytes, such as ``head -c 32 /dev/urandom`` makes."""
        refuse_readable(path)
        try:
            content = Path(path).read_bytes()
        except OSError as error:
            raise InputError(f"The key file '{path}' cannot be read: {error.strerror}.") from None
        if len(content) < _KEY_FILE:
            raise InputError(f"The key file '{path}' has fewer than {_KEY_FILE} bytes: make it of random ones.")
        return cls(_FILE, content)

    def derive(self, salt: bytes, memory: int) -> bytes:
        """The 256-bit key for a salt; slow on purpose."""
        try:
            from argon2.low_level import Type, hash_secret_raw
        except ImportError:
            raise MissingExtraError("The vault", "argon2-cffi", "vault") from None
        return hash_secret_raw(
            self._secret,
            salt,
            time_cost=_PASSES,
            memory_cost=1 << memory,
            parallelism=_LANES,
            hash_len=32,
            type=Type.ID,
        )

    def __repr__(self) -> str:
        return f"Key({'passphrase' if self.kind == _PASSPHRASE else 'key file'}, redacted)"

    def __reduce__(self) -> Any:
        raise TypeError("A Key is secret and cannot be serialised.")


def refuse_short(key: Key, what: str) -> None:
    """Refuse to make something new under a passphrase that is soon guessed, unless that was accepted."""
    if key.short:
        raise InputError(
            f"The passphrase of {what}, which would be new, has fewer than {_LONG_ENOUGH} characters: choose a longer "
            "one, or accept it by --accept-short."
        )


def seal(content: bytes, key: Key, magic: bytes = MAGIC) -> bytes:
    """The bytes of a vault file, or of another one in the same envelope, under a fresh salt and nonce."""
    cipher, _ = aead()
    salt, nonce = secrets.token_bytes(_SALT), secrets.token_bytes(_NONCE)
    header = magic + bytes([VERSION]) + key.kind + bytes([MEMORY]) + salt + nonce
    return header + cipher(key.derive(salt, MEMORY)).encrypt(nonce, content, header)


def unseal(sealed: bytes, key: Key, name: str, magic: bytes = MAGIC) -> bytes:
    """The content of a vault file, or why it cannot be had; ``name`` is for messages.

    A wrong passphrase and a damaged file cannot be told apart: both fail the same authentication.
    """
    what = _CALLED[magic]
    if not sealed.startswith(magic) or len(sealed) < _HEADER:
        raise InputError(f"'{name}' is not a {what}: choose another file.")
    version, kind, memory = sealed[len(MAGIC)], sealed[len(MAGIC) + 1 : len(MAGIC) + 2], sealed[len(MAGIC) + 2]
    if version != VERSION:
        raise InputError(f"'{name}' is a {what} of version {version}, and this Shoal reads version {VERSION}.")
    wrong = InputError(f"'{name}' cannot be opened: the passphrase or key file is wrong, or the {what} is damaged.")
    if memory not in _MEMORY_RANGE:
        raise wrong
    if kind != key.kind:
        other = {_PASSPHRASE: "a passphrase", _FILE: "a key file"}.get(kind)
        raise InputError(f"'{name}' is opened by {other}: give that instead.") if other else wrong
    cipher, invalid = aead()
    header = sealed[:_HEADER]
    salt, nonce = header[-_NONCE - _SALT : -_NONCE], header[-_NONCE:]
    try:
        return cipher(key.derive(salt, memory)).decrypt(nonce, sealed[_HEADER:], header)
    except invalid:
        raise wrong from None


def aead() -> tuple[Any, Any]:
    """AES-GCM, and what it raises where a tag does not fit."""
    try:
        from cryptography.exceptions import InvalidTag
        from cryptography.hazmat.primitives.ciphers.aead import AESGCM
    except ImportError:
        raise MissingExtraError("The vault", "cryptography", "vault") from None
    return AESGCM, InvalidTag
