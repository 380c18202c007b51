"""Codes for sensitive columns on top of whatever was done with the quasi-identifiers: ``[columns.NAME] code``.

Classes are judged before, on the values. Codes are one to one, so that a class has as many different codes as values;
whoever reads codes back finds in a class what the models allow, and no more. New codes follow from released rows alone:
neither a gap in their numbers nor a bound of a category tells of somebody who was suppressed.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping
from dataclasses import replace
from typing import Any

import numpy as np
import polars as pl

from shoal.data.classes import Together
from shoal.data.column import Column
from shoal.data.domain import Domain
from shoal.data.keys import Keys
from shoal.data.stats import counted_by_rows
from shoal.errors import ParameterError
from shoal.kinds.base import Kind, Trait
from shoal.kinds.codings import GRADED, MAPPING
from shoal.pseudonyms.grading import Grades, is_number
from shoal.pseudonyms.mapping import Prefixes
from shoal.pseudonyms.secrets import MappingTable, Secret
from shoal.recoding.applied import Released
from shoal.recoding.exact import with_values

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
