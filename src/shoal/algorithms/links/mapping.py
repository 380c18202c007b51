"""Mapping tables for categorical sensitive attributes (Poovammal & Ponnavaikko, Sec. 4.2)."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any, ClassVar

import numpy as np
import polars as pl

from shoal.algorithms.base import Algorithm, Problem
from shoal.algorithms.links.graded import columns_on, look_up, rewritten
from shoal.errors import ParameterError
from shoal.kinds.base import Kind
from shoal.kinds.pseudonymised import PSEUDONYMISED
from shoal.pseudonyms.secrets import MappingTable
from shoal.recoding.recodings import Coded
from shoal.table.column import Column
from shoal.table.keys import Keys


@dataclass(frozen=True, kw_only=True)
class Prefixes:
    """How codes are named: what ``mapping`` and ``table-transform`` have in common.

    Parameters
    ----------
    prefix
        What codes begin with, as in ``illness_3``; one for all columns, or one a column. By default the column's name.
    """

    prefix: Any = field(default=None, hash=False)

    def map(self, column: Column, values: np.ndarray, keys: Keys) -> tuple[pl.Series, MappingTable, dict[str, Any]]:
        """A column's codes, one a row, the secret behind them, and figures for the evidence; O(n + d log d).

        The numbers in the codes are a uniformly random permutation, so that they follow no order of the values.
        """
        present = np.flatnonzero(column.frequencies > 0)
        present = present[present != column.missing]
        order = keys.private_order(f"mapping {column.name}", len(present))
        prefix = self._prefix(column.name)
        # Drawn values first: the table itself does not stand in any order of the values either.
        texts = column.texts.gather(present[order])
        names = pl.Series([f"{prefix}_{number}" for number in range(1, len(present) + 1)], dtype=pl.String)
        if names.is_in(column.texts.to_list()).any():
            raise ParameterError(f"Some values of column '{column.name}' look like its codes: choose another prefix.")
        table = MappingTable(column.name, dict(zip(texts.to_list(), names.to_list(), strict=True)))
        share = column.frequencies[present] / max(1, column.frequencies[present].sum())
        notes = {"values": len(present), "entropy": float(-(share * np.log(share)).sum())}
        return look_up(column, values, names, present[order]), table, notes

    def _prefix(self, column: str) -> str:
        given = self.prefix.get(column) if isinstance(self.prefix, Mapping) else self.prefix
        found = column if given is None else given
        if not isinstance(found, str) or not found:
            raise ParameterError(f"The 'prefix' of column '{column}' must be text of at least one character.")
        return found


@dataclass(frozen=True, kw_only=True)
class ValueMapping(Prefixes, Algorithm):
    """Replace every category by a code with a random number, the same for equal values; frequencies stay.

    Reversible pseudonymisation (``W-PP-REV``): whoever knows how common the values are reads the common codes.

    Parameters
    ----------
    on
        The sensitive columns to map; by default every one that is neither number nor date.

    Examples
    --------
    >>> ValueMapping(prefix="illness").parameters()
    {'name': 'mapping', 'suppression_limit': 0.0, 'prefix': 'illness'}
    """

    name: ClassVar[str] = "mapping"
    kind: ClassVar[Kind] = PSEUDONYMISED
    on: Any = field(default=None, hash=False)

    def run(self, problem: Problem) -> Coded:
        """Map the columns asked for; all others stay as they are."""
        chosen = columns_on(problem.table, self.on, self.name, numeric=False)
        problem.progress("mapping")
        codes = problem.table.codes
        return rewritten({"mapped": [self.map(column, codes[column.name], problem.keys) for column in chosen]})
