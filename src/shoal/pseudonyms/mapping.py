"""How a column of categories is mapped: from parameters, or a mapping that is given, to codes and the secret behind."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np
import polars as pl

from shoal.data.column import Column
from shoal.data.hierarchy import MISSING, ROOT
from shoal.data.keys import Keys
from shoal.errors import DomainError, ParameterError
from shoal.params import nearest
from shoal.pseudonyms.grading import look_up
from shoal.pseudonyms.secrets import MappingTable, Secret


@dataclass(frozen=True, kw_only=True)
class Prefixes:
    """How codes are named: what ``mapping`` and ``table-transform`` have in common.

    Parameters
    ----------
    prefix
        What codes begin with, as in ``illness_3``; one for all columns, or one a column. By default the column's name.
    """

    prefix: Any = field(default=None, hash=False)

    def check_prefixes(self, columns: Sequence[str]) -> None:
        """Refuse a prefix that cannot be, and one of a column that is not mapped."""
        for name in self.prefix if isinstance(self.prefix, Mapping) else ():
            if name not in columns:
                near = nearest(name, columns)
                hint = f" Did you mean '{near}'?" if near else ""
                raise ParameterError(f"There is a prefix for '{name}', which is not a column to map.{hint}")
        for name in columns:
            self._prefix(name)

    def map(
        self, column: Column, values: np.ndarray, keys: Keys, given: Secret | None = None
    ) -> tuple[pl.Series, MappingTable, dict[str, Any]]:
        """A column's codes, one a row, the secret behind them, and figures for the evidence; O(n + d log d).

        The numbers in the codes are a uniformly random permutation, so that they follow no order of the values. A
        mapping that is ``given`` takes the place of a new one.
        """
        present = np.flatnonzero(column.frequencies > 0)
        present = present[present != column.missing]
        share = column.frequencies[present] / max(1, column.frequencies[present].sum())
        notes = {"values": len(present), "entropy": float(-(share * np.log(share)).sum())}
        if given is not None:
            table, names = _with_given(column, present, given)
            return look_up(column, values, names, present), table, notes
        order = keys.private_order(f"mapping {column.name}", len(present))
        prefix = self._prefix(column.name)
        # Drawn values first: the table itself does not stand in any order of the values either.
        texts = column.texts.gather(present[order])
        names = pl.Series([f"{prefix}_{number}" for number in range(1, len(present) + 1)], dtype=pl.String)
        if names.is_in(column.texts.to_list()).any():
            raise ParameterError(f"Some values of column '{column.name}' look like its codes: choose another prefix.")
        table = MappingTable(column.name, dict(zip(texts.to_list(), names.to_list(), strict=True)))
        return look_up(column, values, names, present[order]), table, notes

    def _prefix(self, column: str) -> str:
        given = self.prefix.get(column) if isinstance(self.prefix, Mapping) else self.prefix
        found = column if given is None else given
        # Whatever reads a file may take blanks off, and would then find no code.
        if not isinstance(found, str) or not found or found != found.lstrip():
            raise ParameterError(
                f"The 'prefix' of column '{column}' must be text of at least one character that begins with no blank."
            )
        return found


def _with_given(column: Column, present: np.ndarray, given: Secret) -> tuple[MappingTable, pl.Series]:
    """A given mapping, and the code of every value that occurs, or the reason why there is none."""
    if not isinstance(given, MappingTable):
        raise ParameterError(f"The codes given for column '{column.name}' are no mapping: give one, or leave them out.")
    texts = column.texts.gather(present)
    names = given.encode(texts, strict=False)
    lost = names.is_null().to_numpy()
    if lost.any():
        raise DomainError(
            f"The mapping given for column '{column.name}' misses {int(lost.sum())} of its values "
            f"({int(column.frequencies[present[lost]].sum())} rows): add codes for them, or map the column afresh."
        )
    # Values of other records too, which these do not have: their readers would take the code for the value.
    if names.is_in(column.texts.to_list()).any() or given.encode(names, strict=False).is_not_null().any():
        raise ParameterError(
            f"Codes of the mapping given for column '{column.name}' are values of it: give other codes."
        )
    # In a written release these would be read as a suppressed cell or a missing one, or not as what was written.
    if ((names.str.strip_chars() != names) | names.is_in(["", ROOT, MISSING])).any():
        raise ParameterError(
            f"Codes of the mapping given for column '{column.name}' are empty, have blanks around them, or are "
            f"'{ROOT}' or '{MISSING}': give other codes."
        )
    return given, names
