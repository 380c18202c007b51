"""Pseudonyms of identifiers: keyed tokens that nobody can recompute or test a guess on without the key."""

from __future__ import annotations

import hmac

import polars as pl

from shoal.data.coding import canonical_text
from shoal.errors import InternalError, ParameterError
from shoal.params import whole

KEY_BYTES = 32
_LEAST_BITS, _MOST_BITS = 128, 256


def check_key(key: bytes) -> None:
    """Refuse a key that could be guessed."""
    if len(key) < KEY_BYTES:
        raise ParameterError(f"A key must have at least {KEY_BYTES} bytes: draw a fresh one.")


def keyed_digests(texts: list[str], key: bytes, purpose: str) -> list[bytes]:
    """HMAC-SHA256 of every text; digests of different purposes say nothing about each other."""
    head = purpose.encode() + b"\0"
    return [hmac.digest(key, head + text.encode(), "sha256") for text in texts]


def tokens(values: pl.Series, key: bytes, *, bits: int = 128) -> pl.Series:
    """The token of every value, as hexadecimal text; missing stays missing.

    Equal values get equal tokens, so a token links all rows of a person (``W-TRAJECTORY``); under the same key it also
    links them across releases. Cost: one digest a distinct value.

    Parameters
    ----------
    key
        At least 32 secret bytes: fresh for every release (``Keys.private_bytes``), or one that a vault keeps.
    bits
        Length of a token, from 128 to 256 and a multiple of 8.
    """
    length = whole("a token", "bits", bits, least=_LEAST_BITS)
    if length > _MOST_BITS or length % 8:
        raise ParameterError(f"The 'bits' of a token must be a multiple of 8 up to {_MOST_BITS}. Got {bits!r}.")
    check_key(key)
    texts = canonical_text(values)
    distinct = texts.drop_nulls().unique(maintain_order=True)
    made = pl.Series(
        [digest[: length // 8].hex() for digest in keyed_digests(distinct.to_list(), key, "shoal token")],
        dtype=pl.String,
    )
    if made.n_unique() < made.len():
        raise InternalError(f"Two values of column '{values.name}' got the same token: run again with a fresh key.")
    return texts.replace_strict(distinct, made, default=None, return_dtype=pl.String).alias(values.name)
