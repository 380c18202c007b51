"""Secrets, streams and the keyed shuffle: every random choice of a run comes from here."""

from __future__ import annotations

import hashlib
import secrets
from dataclasses import dataclass, field

import numpy as np
import polars as pl

from shoal.kernels.random import draw_bits, draw_uniform, order_by_bits


@dataclass(frozen=True)
class Keys:
    """Random streams of one run, derived from one secret.

    Parameters
    ----------
    secret
        256 fresh bits, or derived from a seed for tests and papers.
    identity
        Keep rows in source order instead of shuffling; only for worked examples.
    seeded
        Whether a seed determines everything, mapping tables and tokens included; only for tests and papers.
    """

    secret: bytes = field(repr=False)
    identity: bool = False
    seeded: bool = field(default=False, repr=False)

    @classmethod
    def from_seed(cls, seed: int | None, *, identity: bool = False) -> Keys:
        """Fresh secret when ``seed`` is None, else one that the seed determines."""
        if seed is None:
            return cls(secrets.token_bytes(32), identity)
        return cls(hashlib.sha256(f"shoal seed {int(seed)}".encode()).digest(), identity, True)

    def stream(self, name: str) -> np.ndarray:
        """uint64, shape (2,): the key of a named stream."""
        digest = hashlib.blake2b(
            name.encode(), key=self.secret, digest_size=16, person=b"shoal stream"
        ).digest()
        return np.frombuffer(digest, dtype="<u8").astype(np.uint64)

    def bits(self, name: str, rows: np.ndarray, draw: int = 0) -> np.ndarray:
        """64 random bits a row key."""
        return draw_bits(self.stream(name), rows, draw)

    def uniform(self, name: str, rows: np.ndarray, draw: int = 0) -> np.ndarray:
        """A number in [0, 1) a row key."""
        return draw_uniform(self.stream(name), rows, draw)

    def shuffle(self, name: str, rows: np.ndarray) -> np.ndarray:
        """A permutation: row numbers ordered by their draws, so that it moves with the row keys."""
        if self.identity:
            return np.arange(rows.size)
        return order_by_bits(self.bits(name, rows))

    def generator(self, name: str) -> np.random.Generator:
        """A generator for choices that belong to no row."""
        return np.random.Generator(np.random.Philox(key=self.stream(name)))

    def private_bytes(self, name: str, count: int) -> bytes:
        """Cryptographic bytes for what undoes a release: mapping tables, tokens, date offsets.

        They are fresh at every call and do not follow from the secret, so that the evidence that keeps it cannot undo
        the release. Under a seed they follow from it, so that tests and papers repeat.
        """
        if not self.seeded:
            return secrets.token_bytes(count)
        return hashlib.shake_256(b"shoal private" + self.secret + name.encode()).digest(count)

    def private_order(self, name: str, count: int) -> np.ndarray:
        """A uniformly random permutation of ``count`` places from :meth:`private_bytes`."""
        words = np.frombuffer(self.private_bytes(name, 16 * count), dtype="<u8").reshape(count, 2)
        return np.lexsort((words[:, 1], words[:, 0]))


def key_hashes(keys: pl.Series) -> np.ndarray:
    """64-bit hashes of declared keys; the secret enters later, with the stream."""
    digests = [hashlib.blake2b(text.encode(), digest_size=8).digest() for text in keys.to_list()]
    return np.frombuffer(b"".join(digests), dtype="<u8").astype(np.uint64)
