"""Random texts that prove who somebody is, of which only the hash is kept."""

from __future__ import annotations

import hashlib
import hmac
import secrets


def new_proof(prefix: str = "") -> str:
    """256 random bits as text."""
    return prefix + secrets.token_urlsafe(32)


def hash_of(proof: str) -> str:
    """What is kept of it. It is random and long, so that a quick hash will do."""
    return hashlib.sha256(proof.encode()).hexdigest()


def keyed(secret: str, text: str) -> str:
    """The hash of a text under a secret."""
    return hmac.new(secret.encode(), text.encode(), hashlib.sha256).hexdigest()


def same(one: str, other: str) -> bool:
    """Whether two texts are equal, in a time that does not tell where they differ."""
    return hmac.compare_digest(one.encode(), other.encode())
