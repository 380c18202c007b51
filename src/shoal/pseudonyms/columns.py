"""Tokens for identifiers, shifted dates and coded columns, whatever the algorithm did with the other columns."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace

import numpy as np
import polars as pl

from shoal.errors import ParameterError
from shoal.pseudonyms.secrets import Secret, SecretKey
from shoal.pseudonyms.sensitive import code_sensitive
from shoal.pseudonyms.shifts import shift_dates
from shoal.pseudonyms.tokens import KEY_BYTES, tokens
from shoal.recoding.applied import Released
from shoal.table.coding import code_dates
from shoal.table.keys import Keys
from shoal.table.table import Table


def refuse_idle_key(table: Table, token_key: SecretKey | None) -> None:
    """Refuse a key that nothing would be made with."""
    if token_key is not None and not table.schema.pseudonym:
        raise ParameterError("There is a token key, and no column has the role 'pseudonym': remove the key.")


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
    table = released.table
    written, coded = dict(released.written), dict(released.coded)
    drawn: list[Secret] = []
    for name in table.schema.pseudonym:
        secret = token_key or SecretKey(name, keys.private_bytes(f"token {name}", KEY_BYTES))
        written[name], coded[name] = tokens(table.frame[name], secret.raw()), "token"
        drawn.append(secret)
    # One key for all columns: the dates of a person move together, or the gaps between columns would be wrong. In
    # releases that can be joined they move alike too, or the mean over releases would approach the true date.
    key = b""
    if table.schema.shifted:
        key = token_key.raw() if token_key else keys.private_bytes("date shift", KEY_BYTES)
    for name in table.schema.shifted:
        written[name], coded[name] = _shifted(table, name, key), "shifted"
        drawn.append(SecretKey(name, key))
    return replace(released, written=written, coded=coded), [*secrets, *([] if token_key else drawn)]


def dates_of(table: Table, name: str) -> pl.Series:
    """The true dates of a column, missing ones null."""
    codes, days = code_dates(name, table.frame[name], table.schema.spec(name))
    known = pl.Series(days.astype(np.int64), dtype=pl.Int64).extend_constant(None, 1)
    return known.gather(codes).cast(pl.Int32).cast(pl.Date).alias(name)


def _shifted(table: Table, name: str, key: bytes) -> pl.Series:
    shift, source = table.schema.spec(name).shift, table.frame[name].dtype
    assert shift is not None
    assert table.schema.subject is not None
    moved = shift_dates(dates_of(table, name), table.frame[table.schema.subject], key, days=shift["days"])
    return moved.dt.strftime("%Y-%m-%d") if source == pl.String else moved.cast(source)
