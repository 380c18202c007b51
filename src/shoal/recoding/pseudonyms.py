"""Tokens for identifiers and shifted dates, whatever the algorithm did with the other columns."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import polars as pl

from shoal.recoding.released import Released
from shoal.recoding.secrets import Secret, SecretKey
from shoal.table.coding import code_dates
from shoal.table.keys import Keys
from shoal.table.shifts import shift_dates
from shoal.table.table import Table
from shoal.table.tokens import KEY_BYTES, tokens


def pseudonymise(released: Released, keys: Keys) -> tuple[Released, list[Secret]]:
    """The same release with tokens in its pseudonym columns and moved dates, and the keys that they follow from.

    The keys are fresh at every run, so that releases cannot be joined by their tokens.
    """
    table = released.table
    written, coded = dict(released.written), dict(released.coded)
    secrets: list[Secret] = []
    for name in table.schema.pseudonym:
        secret = SecretKey(name, keys.private_bytes(f"token {name}", KEY_BYTES))
        written[name], coded[name] = tokens(table.frame[name], secret.raw()), "token"
        secrets.append(secret)
    # One key for all columns: the dates of a person move together, or the gaps between columns would be wrong.
    key = keys.private_bytes("date shift", KEY_BYTES) if table.schema.shifted else b""
    for name in table.schema.shifted:
        written[name], coded[name] = _shifted(table, name, key), "shifted"
        secrets.append(SecretKey(name, key))
    return replace(released, written=written, coded=coded), secrets


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
