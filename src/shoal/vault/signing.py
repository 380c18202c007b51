"""Detached signatures of releases: Ed25519 over the manifest, which holds the hash of every other published file."""

from __future__ import annotations

import base64
import hashlib
import json
import os
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from shoal.errors import InputError, MissingExtraError, VerificationError
from shoal.io.atomic import refuse_readable, write_whole
from shoal.io.folders import is_release
from shoal.verify.folder import MANIFEST, open_folder

SUFFIX, PUBLIC = ".sig", ".pub"
# What is signed begins with these words, so that no signature of anything else can pass for one of a release.
_PURPOSE = b"shoal release signature, version 1\n"
_FIELDS = ("shoal_signature", "algorithm", "public_key", "manifest_sha256", "signature")


@dataclass(frozen=True, kw_only=True)
class Signed:
    """A signature that holds: the fingerprint of its key, and whether that is the key that was expected."""

    fingerprint: str
    expected: bool


def new_key(path: str | Path) -> tuple[Path, Path]:
    """Make a signing key: a private file (mode 0600) and, beside it, the public one to give away; returns both."""
    place = Path(path).resolve()
    public = place.with_name(f"{place.name}{PUBLIC}")
    for one in (place, public):
        if one.exists():
            raise InputError(f"'{one}' exists, and a key that signs releases is not replaced: choose another name.")
    if any(is_release(parent) for parent in place.parents):
        raise InputError(f"'{path}' lies inside a release, which is public: choose another place.")
    if not place.parent.is_dir():
        raise InputError(f"There is no folder '{place.parent}' to put the key into: make it first.")
    for one, content in zip((place, public), new_pair(), strict=True):
        write_whole(one, content)
    public.chmod(0o644)
    return place, public


def new_pair() -> tuple[bytes, bytes]:
    """A private key and its public one, as their files hold them; whoever asks hides the first."""
    _, keys, serialization, _ = _library()
    key, pem = keys.generate(), serialization.Encoding.PEM
    private = key.private_bytes(pem, serialization.PrivateFormat.PKCS8, serialization.NoEncryption())
    return private, key.public_key().public_bytes(pem, serialization.PublicFormat.SubjectPublicKeyInfo)


def sign_release(folder: str | Path, key: str | Path, signature: Path) -> str:
    """Sign a release that is whole, into a file beside it; returns the fingerprint of the key."""
    folder, path = Path(folder), Path(key)
    private = _private_file(path)
    place = signature.resolve()
    if place.is_relative_to(folder.resolve()):
        raise InputError(f"'{signature}' lies inside the release, whose manifest does not list it: put it beside.")
    if place.exists():
        _signature(place)  # an earlier one is replaced, and nothing else: not a key, not the data
    content, found = signature_of(folder, private, f"'{path}'")
    write_whole(place, content)
    place.chmod(0o644)
    return found


def signature_of(folder: Path, key: bytes, whose: str) -> tuple[bytes, str]:
    """The signature of a release that is whole, as its file holds it, and the fingerprint of the key.

    Nothing is written. ``key`` is the content of a private file, and ``whose`` what messages call it.
    """
    private = _private(key, whose)
    refuse_damaged(folder)
    manifest = (folder / MANIFEST).read_bytes()
    public = _raw(private.public_key())
    found = {
        "shoal_signature": 1,
        "algorithm": "ed25519",
        "public_key": base64.b64encode(public).decode(),
        "manifest_sha256": hashlib.sha256(manifest).hexdigest(),
        "signature": base64.b64encode(private.sign(_PURPOSE + manifest)).decode(),
    }
    return json.dumps(found, indent=2).encode() + b"\n", fingerprint(public)


def check_signature(folder: str | Path, signature: str | Path, public: str | Path | None = None) -> Signed:
    """Whether a signature is of the release in a folder; with ``public``, whether by that key.

    The data itself is checked against the manifest by ``shoal verify``.
    """
    invalid = _library()[3]
    given = _signature(Path(signature))
    key, raw = _public_key(given["public_key"])
    try:
        manifest = (Path(folder) / MANIFEST).read_bytes()
    except OSError as error:
        raise InputError(f"The manifest in '{folder}' cannot be read: {error.strerror}.") from None
    try:
        key.verify(given["signature"], _PURPOSE + manifest)
        if given["manifest_sha256"] != hashlib.sha256(manifest).digest():  # which nothing signs, and people compare
            raise invalid
    except invalid:
        raise VerificationError(
            f"The signature '{signature}' is not of the release in '{folder}': one of them was changed."
        ) from None
    if public is None:
        return Signed(fingerprint=fingerprint(raw), expected=False)
    if _raw(_read_public(Path(public))) != raw:
        raise VerificationError(f"The signature '{signature}' is by another key than '{public}'.")
    return Signed(fingerprint=fingerprint(raw), expected=True)


def refuse_unfit(public: str | Path | None) -> None:
    """Refuse to go on where no signature can be checked: without the library, or by a file that is no key."""
    _library()
    if public is not None:
        _read_public(Path(public))


def fingerprint(public: bytes) -> str:
    """What people compare of a public key: the SHA-256 of its bytes, as hexadecimal text."""
    return hashlib.sha256(public).hexdigest()


def refuse_damaged(folder: Path) -> None:
    """Refuse to sign a release whose files are not those of its manifest."""
    tables, _ = open_folder(folder)
    for batches in tables.values():
        for _ in batches:
            pass


def _signature(path: Path) -> dict[str, Any]:
    try:
        found = json.loads(path.read_bytes())
        fits = isinstance(found, dict) and tuple(found) == _FIELDS
        if not fits or found["shoal_signature"] != 1 or found["algorithm"] != "ed25519":
            raise ValueError
        hashed = {"manifest_sha256": bytes.fromhex(found["manifest_sha256"])}
        return hashed | {key: base64.b64decode(found[key], validate=True) for key in ("public_key", "signature")}
    except OSError as error:
        raise InputError(f"The signature '{path}' cannot be read ({error.strerror}): check the path.") from None
    except (ValueError, TypeError, RecursionError):
        raise InputError(f"'{path}' is no signature of a release: choose another file.") from None


def _public_key(raw: bytes) -> tuple[Any, bytes]:
    made = _library()[0]
    try:
        return made.from_public_bytes(raw), raw
    except ValueError:
        raise InputError("The signature holds no key that could have made it: it is damaged.") from None


def _private_file(path: Path) -> bytes:
    if not path.exists():
        raise InputError(f"There is no key '{path}': make one with 'shoal sign --new-key FILE'.")
    refuse_readable(path)
    try:
        return path.read_bytes()
    except OSError as error:
        raise InputError(f"The key '{path}' cannot be read: {error.strerror}.") from None


def _private(key: bytes, whose: str) -> Any:
    _, keys, serialization, _ = _library()
    try:
        found = serialization.load_pem_private_key(key, password=None)
    except (ValueError, TypeError):
        raise InputError(f"{whose} is no signing key: make one with 'shoal sign --new-key FILE'.") from None
    if not isinstance(found, keys):
        raise InputError(f"{whose} is a key of another kind: make one with 'shoal sign --new-key FILE'.")
    return found


def _read_public(path: Path) -> Any:
    made, _, serialization, _ = _library()
    try:
        found = serialization.load_pem_public_key(path.read_bytes())
    except OSError as error:
        raise InputError(f"The key '{path}' cannot be read: {error.strerror}.") from None
    except ValueError:
        found = None
    if not isinstance(found, made):
        raise InputError(f"'{path}' is no public key for signatures: it is the file that ends in {PUBLIC}.")
    return found


def _raw(key: Any) -> bytes:
    serialization = _library()[2]
    found: bytes = key.public_bytes(serialization.Encoding.Raw, serialization.PublicFormat.Raw)
    return found


def _library() -> tuple[Any, Any, Any, Any]:
    try:
        from cryptography.exceptions import InvalidSignature
        from cryptography.hazmat.primitives import serialization
        from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey, Ed25519PublicKey
    except ImportError:
        raise MissingExtraError("Signing", "cryptography", "vault") from None
    return Ed25519PublicKey, Ed25519PrivateKey, serialization, InvalidSignature


def signature_beside(folder: str | Path) -> Path:
    """Where the signature of a release folder goes: beside it."""
    folder = Path(os.path.abspath(folder))
    return folder.with_name(f"{folder.name}{SUFFIX}")
