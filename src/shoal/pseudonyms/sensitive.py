"""Codes for sensitive columns on top of whatever was done with the quasi-identifiers: ``[columns.NAME] code``.

Classes are judged before, on the values. Codes are one to one, so that a class has as many different codes as values;
whoever reads codes back finds in a class what the models allow, and no more. New codes follow from released rows alone:
neither a gap in their numbers nor a bound of a category tells of somebody who was suppressed.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace

import numpy as np

from shoal.errors import ParameterError
from shoal.kinds.base import Kind, Trait
from shoal.kinds.codings import MAPPING
from shoal.pseudonyms.grading import Grades, is_number
from shoal.pseudonyms.mapping import Prefixes
from shoal.pseudonyms.secrets import Secret
from shoal.recoding.applied import Released
from shoal.table.column import Column
from shoal.table.keys import Keys
from shoal.table.table import Table

# Fewer known values are none to attack, and their codes hide nobody.
_LEAST = 2


def code_sensitive(released: Released, keys: Keys, given: Mapping[str, Secret]) -> tuple[Released, list[Secret]]:
    """The release with codes in the sensitive columns whose settings ask for them, and the secrets behind these.

    Parameters
    ----------
    given
        Mappings and gradings to code with, by column; others are made.
    """
    schema, written, coded = released.table.schema, dict(released.written), dict(released.coded)
    _refuse(released, schema.coded, given)
    secrets: list[Secret] = []
    for name in schema.coded:
        how = schema.code_of(name)
        coded[name] = how.pop("how")
        column, codes = _released(released, name), released.table.codes[name]
        secret: Secret
        if coded[name] == MAPPING.name:
            written[name], secret, _ = Prefixes(**how).map(column, codes, keys, given.get(name))
        else:
            written[name], secret, _ = Grades(**how).grade(column, codes, given.get(name))
        secrets.append(secret)
    return replace(released, written=written, coded=coded), secrets


def _released(released: Released, name: str) -> Column:
    """A column with the counts of its released rows."""
    column = released.table.columns[name]
    counts = np.bincount(released.table.codes[name][released.classes >= 0], minlength=column.card)
    known = int(counts.sum() - (counts[column.missing] if column.missing >= 0 else 0))
    if known < _LEAST:
        raise ParameterError(f"Column '{name}' has fewer than {_LEAST} released values: leave its code out.")
    return replace(column, frequencies=counts)


def refuse_uncodable(table: Table, made: Kind) -> None:
    """Refuse columns that cannot be coded as their settings ask for; cheap, so ask before any work.

    Parameters
    ----------
    made
        What the method makes of the quasi-identifiers.
    """
    for name in table.schema.coded:
        column, how = table.columns[name], table.schema.code_of(name)
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


def _refuse(released: Released, wanted: Sequence[str], given: Mapping[str, Secret]) -> None:
    """Refuse codes that nothing would be coded with, and columns that the method codes."""
    idle = [name for name in given if name not in (*wanted, *released.coded)]
    if idle:
        raise ParameterError(
            f"Codes are given for '{idle[0]}', which is not coded: set its code under [columns.{idle[0]}], or leave "
            "them out."
        )
    for name in wanted:
        if name in released.written:
            raise ParameterError(f"The method rewrites column '{name}' itself: leave its code out.")
