"""Tokens for identifiers, shifted dates and coded columns, whatever the algorithm did with the other columns."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, replace

import numpy as np
import polars as pl

from shoal.data.coding import code_dates
from shoal.data.keys import Keys
from shoal.data.rows import ArrayRows
from shoal.data.schema import Schema
from shoal.errors import ParameterError
from shoal.pseudonyms.secrets import Secret, SecretKey
from shoal.pseudonyms.sensitive import code_sensitive
from shoal.pseudonyms.shifts import shift_dates
from shoal.pseudonyms.tokens import KEY_BYTES, tokens
from shoal.recoding.applied import Released
from shoal.recoding.rewriting import Beside, Rewriting, Whole, rewritten


def refuse_idle_key(schema: Schema, token_key: SecretKey | None) -> None:
    """Refuse a key that nothing would be made with."""
    if token_key is not None and not schema.pseudonym:
        raise ParameterError("There is a token key, and no column has the role 'pseudonym': remove the key.")


@dataclass(frozen=True, eq=False)
class Tokens:
    """The token of every value of a column."""

    name: str
    key: bytes = field(repr=False)

    def of(self, batch: Beside, classes: np.ndarray) -> Mapping[str, pl.Series]:
        """Tokens of a batch, the same for equal values of all batches."""
        return {self.name: tokens(batch.plain[self.name], self.key)}


@dataclass(frozen=True, eq=False)
class Shifts:
    """The moved dates of a column."""

    name: str
    schema: Schema
    key: bytes = field(repr=False)

    def of(self, batch: Beside, classes: np.ndarray) -> Mapping[str, pl.Series]:
        """Dates of a batch, those of a person moved alike in all batches."""
        return {self.name: _shifted(batch.plain, self.schema, self.name, self.key)}


def pseudonymise(
    released: Released,
    keys: Keys,
    token_key: SecretKey | None = None,
    codes: Mapping[str, Secret] | None = None,
) -> tuple[Released, list[Secret]]:
    """The same release with tokens in its pseudonym columns, moved dates and codes, and what undoes them.

    Parameters
    ----------
    codes
        Mappings and gradings that are given, by column.
    token_key
        A key that the caller keeps, for every column. By default keys are drawn at every run, so that releases cannot
        be joined by their tokens.
    """
    released, secrets = code_sensitive(released, keys, codes or {})
    schema = released.domain.schema
    coded, made = dict(released.coded), dict[str, Rewriting]()
    drawn: list[Secret] = []
    for name in schema.pseudonym:
        secret = token_key or SecretKey(name, keys.private_bytes(f"token {name}", KEY_BYTES))
        made[name], coded[name] = Tokens(name, secret.raw()), "token"
        drawn.append(secret)
    # One key for all columns: the dates of a person move together, or the gaps between columns would be wrong. In
    # releases that can be joined they move alike too, or the mean over releases would approach the true date.
    key = b""
    if schema.shifted:
        key = token_key.raw() if token_key else keys.private_bytes("date shift", KEY_BYTES)
    for name in schema.shifted:
        made[name], coded[name] = Shifts(name, schema, key), "shifted"
        drawn.append(SecretKey(name, key))
    released = replace(_with(released, made), coded=coded)
    return released, [*secrets, *([] if token_key else drawn)]


def _with(released: Released, made: Mapping[str, Rewriting]) -> Released:
    """The release with some columns rewritten: at once where rows are in memory, else batch by batch."""
    if not isinstance(released.rows, ArrayRows):
        return replace(released, rewriting={**released.rewriting, **made})
    table = released.table
    found = rewritten(made, Whole(table), released.classes) if made else {}
    return replace(released, written={**released.written, **found})


def dates_of(frame: pl.DataFrame, schema: Schema, name: str) -> pl.Series:
    """The true dates of a column, missing ones null."""
    codes, days = code_dates(name, frame[name], schema.spec(name))
    known = pl.Series(days.astype(np.int64), dtype=pl.Int64).extend_constant(None, 1)
    return known.gather(codes).cast(pl.Int32).cast(pl.Date).alias(name)


def _shifted(frame: pl.DataFrame, schema: Schema, name: str, key: bytes) -> pl.Series:
    shift, source = schema.spec(name).shift, frame[name].dtype
    assert shift is not None
    assert schema.subject is not None
    moved = shift_dates(dates_of(frame, schema, name), frame[schema.subject], key, days=shift["days"])
    return moved.dt.strftime("%Y-%m-%d") if source == pl.String else moved.cast(source)
