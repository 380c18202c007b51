"""Codes for sensitive columns on top of whatever was done with the quasi-identifiers: ``[columns.NAME] code``.

Classes are judged before, on the values. Codes are one to one, so that a class has as many different codes as values;
whoever reads codes back finds in a class what the models allow, and no more. New codes follow from released rows alone:
neither a gap in their numbers nor a bound of a category tells of somebody who was suppressed.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping
from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np
import polars as pl

from shoal.data.classes import Together
from shoal.data.coding import code_dates
from shoal.data.column import Column
from shoal.data.domain import Domain
from shoal.data.keys import Keys
from shoal.data.rows import Batch
from shoal.data.schema import Schema
from shoal.data.stats import counted_by_rows
from shoal.errors import ParameterError
from shoal.recoding.coding_methods import Grades, Prefixes, is_number
from shoal.recoding.exact import with_values
from shoal.recoding.kinds import GRADED, MAPPING, Kind, Trait
from shoal.recoding.recoded import Released
from shoal.recoding.rewriting import Rewriting
from shoal.recoding.secrets import KEY_BYTES, MappingTable, Secret, SecretKey, shift_dates, tokens

# Fewer known values are none to attack, and their codes hide nobody.
_LEAST = 2


def code_sensitive(released: Released, keys: Keys, given: Mapping[str, Secret]) -> tuple[Released, list[Secret]]:
    """The release with codes in the sensitive columns whose settings ask for them, and the secrets behind these.

    Parameters
    ----------
    given
        Mappings and gradings to code with, by column; others are made.
    """
    schema, coded = released.domain.schema, dict(released.coded)
    _refuse_idle(given, (*schema.coded, *released.coded))
    for name in schema.coded:
        if name in released.changed:
            raise ParameterError(f"The method rewrites column '{name}' itself: leave its code out.")
    secrets: list[Secret] = []
    made: dict[str, pl.Series] = {}
    for name in schema.coded:
        column = _released(released, name)
        coded[name] = schema.code_of(name)["how"]
        every = np.arange(column.card, dtype=np.int32)
        made[name], secret = _code(schema.code_of(name), column, every, keys, given.get(name))
        secrets.append(secret)
    return replace(with_values(released, made), coded=coded), secrets


def _released(released: Released, name: str) -> Column:
    """A column with the counts of its released rows."""
    column = released.domain.columns[name]
    one = counted_by_rows(column)
    found = released.rows.stats(Together(released.classmap), [one]).histograms[one.key]
    counts = np.bincount(found.codes, found.counts, minlength=column.card).astype(np.int64)
    known = int(counts.sum() - (counts[column.missing] if column.missing >= 0 else 0))
    if known < _LEAST:
        raise ParameterError(f"Column '{name}' has fewer than {_LEAST} released values: leave its code out.")
    return replace(column, frequencies=counts)


def refuse_uncodable(domain: Domain, made: Kind) -> None:
    """Refuse columns that cannot be coded as their settings ask for; cheap, so ask before any work.

    Parameters
    ----------
    made
        What the method makes of the quasi-identifiers.
    """
    for name in domain.schema.coded:
        column, how = domain.columns[name], domain.schema.code_of(name)
        if made.has(Trait.GROUPS):
            raise ParameterError(
                f"The code of column '{name}' is for values that stand beside their records, and a {made} release has "
                "them by group: leave it out."
            )
        if how.pop("how") == MAPPING.name:
            Prefixes(**how).check_prefixes([name])
            continue
        Grades(**how).check_columns([name])
        if not is_number(column):
            raise ParameterError(
                f"Column '{name}' is {column.type}, and 'graded' is for numbers and dates: code it by 'mapping'."
            )


def refuse_unfit(domain: Domain, made: Kind, given: Mapping[str, Secret], *, everybody: bool) -> None:
    """Refuse given codes that do not fit a table, as far as that is known before a run.

    Parameters
    ----------
    everybody
        Whether nobody may be suppressed, so that every value of the table needs a code.
    """
    schema = domain.schema
    _refuse_idle(given, schema.sensitive if made.has(Trait.CODES) else schema.coded)
    for name, secret in given.items() if everybody else ():
        how = {"how": MAPPING.name if isinstance(secret, MappingTable) else GRADED.name}
        column = domain.columns[name]
        every = np.arange(column.card, dtype=np.int32)
        _code(schema.code_of(name) or how, column, every, Keys.from_seed(0), secret)


def _code(
    how: Mapping[str, Any], column: Column, codes: np.ndarray, keys: Keys, given: Secret | None
) -> tuple[pl.Series, Secret]:
    """What is published of a column, one entry a row, and the secret behind it."""
    settings = {key: value for key, value in how.items() if key != "how"}
    if how["how"] == MAPPING.name:
        return Prefixes(**settings).map(column, codes, keys, given)[:2]
    return Grades(**settings).grade(column, codes, given)[:2]


def _refuse_idle(given: Mapping[str, Secret], coded: Collection[str]) -> None:
    """Refuse codes that nothing would be coded with."""
    idle = [name for name in given if name not in coded]
    if idle:
        raise ParameterError(
            f"Codes are given for '{idle[0]}', which is not coded: set its code under [columns.{idle[0]}], or leave "
            "them out."
        )


# ----------------------------------------
# Tokens for identifiers, shifted dates and coded columns, whatever the algorithm did with the other columns.


def refuse_idle_key(schema: Schema, token_key: SecretKey | None) -> None:
    """Refuse a key that nothing would be made with."""
    if token_key is not None and not schema.pseudonym:
        raise ParameterError("There is a token key, and no column has the role 'pseudonym': remove the key.")


@dataclass(frozen=True, eq=False)
class Tokens:
    """The token of every value of a column."""

    name: str
    key: bytes = field(repr=False)

    def of(self, batch: Batch, classes: np.ndarray) -> Mapping[str, pl.Series]:
        """Tokens of a batch, the same for equal values of all batches."""
        return {self.name: tokens(batch.as_read(self.name), self.key)}


@dataclass(frozen=True, eq=False)
class Shifts:
    """The moved dates of a column."""

    name: str
    schema: Schema
    key: bytes = field(repr=False)

    def of(self, batch: Batch, classes: np.ndarray) -> Mapping[str, pl.Series]:
        """Dates of a batch, those of a person moved alike in all batches."""
        return {self.name: _shifted(batch, self.schema, self.name, self.key)}


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
    released = replace(released, rewriting={**released.rewriting, **made}, coded=coded)
    return released, [*secrets, *([] if token_key else drawn)]


def dates_of(frame: pl.DataFrame, schema: Schema, name: str) -> pl.Series:
    """The true dates of a column, missing ones null."""
    codes, days = code_dates(name, frame[name], schema.spec(name))
    known = pl.Series(days.astype(np.int64), dtype=pl.Int64).extend_constant(None, 1)
    return known.gather(codes).cast(pl.Int32).cast(pl.Date).alias(name)


def _shifted(batch: Batch, schema: Schema, name: str, key: bytes) -> pl.Series:
    assert schema.subject is not None
    frame = pl.DataFrame([batch.as_read(column) for column in dict.fromkeys((name, schema.subject))])
    shift, source = schema.shift_of(name), frame[name].dtype
    moved = shift_dates(dates_of(frame, schema, name), frame[schema.subject], key, days=shift["days"])
    return moved.dt.strftime("%Y-%m-%d") if source == pl.String else moved.cast(source)
