"""How a numeric column is graded: from parameters, or a grading that is given, to codes and the secret behind them."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from datetime import date
from decimal import Decimal, InvalidOperation
from typing import Any

import numpy as np
import polars as pl

from shoal.data.coding import code_dates, code_numbers
from shoal.data.column import Column
from shoal.data.hierarchy import MISSING, ROOT
from shoal.data.keys import Keys
from shoal.data.schema import ColumnSpec
from shoal.errors import DomainError, ParameterError
from shoal.params import choice, nearest, whole
from shoal.recoding.grading import RULES, GradingTable, correlation
from shoal.recoding.secrets import MappingTable, Secret

BINNINGS = ("equal_width", "quantile")
_EPOCH = date(1970, 1, 1).toordinal()


@dataclass(frozen=True, kw_only=True)
class Grades:
    """How to grade: what ``graded`` and ``table-transform`` have in common.

    Parameters
    ----------
    bounds
        ``"equal_width"``, ``"quantile"``, or a list of ``[min, max]`` pairs; one for all columns, or one a column.
    categories
        Number of automatic categories; those without a value are left out.
    names
        Increasing positive whole numbers, one a category; one list for all columns, or one a column. By default
        1, 2, 3, ..., and 2, 4, 6, ... under ``"table8"``.
    max_rule
        Membership of a category's maximum, see `GradingTable`.
    allow_shared_bounds
        Let a category begin at the value at which the one before ends.
    """

    bounds: Any = field(default="equal_width", hash=False)
    categories: int = 5
    names: Any = field(default=None, hash=False)
    max_rule: str = "scaled"
    allow_shared_bounds: bool = False

    def __post_init__(self) -> None:
        whole("graded grouping", "categories", self.categories, least=1)
        choice("graded grouping", "max_rule", self.max_rule, RULES)
        for given in self.bounds.values() if isinstance(self.bounds, Mapping) else [self.bounds]:
            if isinstance(given, str):
                choice("graded grouping", "bounds", given, BINNINGS)

    def check_columns(self, columns: Sequence[str]) -> None:
        """Refuse bounds or names of a column that is not graded."""
        for what in (self.bounds, self.names):
            for name in what if isinstance(what, Mapping) else ():
                if name not in columns:
                    near = nearest(name, columns)
                    hint = f" Did you mean '{near}'?" if near else ""
                    raise ParameterError(f"There are grades for '{name}', which is not a column to grade.{hint}")

    def grade(
        self, column: Column, values: np.ndarray, given: Secret | None = None
    ) -> tuple[pl.Series, GradingTable, dict[str, Any]]:
        """A column's codes, one a row, the secret behind them, and figures for the evidence; O(n + d log K).

        ``d`` is the number of distinct values: they are coded once, and rows only look their code up. A grading that is
        ``given`` takes the place of the parameters.
        """
        codes, numbers = _numbers(column)
        counts = column.frequencies[codes]
        table = self._table(column, codes, numbers) if given is None else _fitting(column, codes, given)
        made = (
            table.encode_numbers(numbers, counts)
            if given is None
            else _extend_grading(table, column, numbers, counts)
        )
        series = look_up(column, values, pl.Series(made, dtype=pl.Float64), codes)
        places = (numbers - numbers[0]).astype(np.float64) if len(numbers) else np.empty(0)
        notes = {"categories": table.categories, "correlation": correlation(places, made, counts)}
        return series, table, notes

    def _table(self, column: Column, codes: np.ndarray, numbers: np.ndarray) -> GradingTable:
        """Categories by the parameters."""
        given = self.bounds.get(column.name, "equal_width") if isinstance(self.bounds, Mapping) else self.bounds
        automatic = isinstance(given, str)
        counts = column.frequencies[codes]
        bounds = _automatic(given, numbers, counts, self.categories) if automatic else _given(column, given)
        return GradingTable(
            column.name,
            bounds=bounds,
            names=self._names(column.name, len(bounds)),
            rule=self.max_rule,
            shared=self.allow_shared_bounds,
            decimals=_decimals(column, codes),
            type=column.type,
        )

    def _names(self, column: str, count: int) -> list[Any]:
        given = self.names.get(column) if isinstance(self.names, Mapping) else self.names
        if given is not None:
            return list(given)
        step = 2 if self.max_rule == "table8" else 1
        return list(range(step, step * count + 1, step))


def _fitting(column: Column, codes: np.ndarray, given: Secret) -> GradingTable:
    """A given grading, after checking that it is one and can hold the column's values."""
    if not isinstance(given, GradingTable) or given.type != column.type:
        raise ParameterError(
            f"The codes given for column '{column.name}' are no grading of a {column.type} column: give one, or leave "
            "them out."
        )
    digits, has = given.decimals, _decimals(column, codes)
    if digits is not None and (has is None or has > digits):
        raise DomainError(
            f"Column '{column.name}' has values with more than the {digits} digits after the point that the grading "
            "given for it can tell: round them, or grade it afresh."
        )
    return given


def _extend_grading(table: GradingTable, column: Column, numbers: np.ndarray, counts: np.ndarray) -> np.ndarray:
    outside = table.place(numbers)[0] < 0
    if outside.any():
        raise DomainError(
            f"The grading given for column '{column.name}' has no category for {int(outside.sum())} of its values "
            f"({int(counts[outside].sum())} rows): widen its bounds, or grade the column afresh."
        )
    return table.encode_numbers(numbers, counts)


def look_up(column: Column, values: np.ndarray, made: pl.Series, codes: np.ndarray) -> pl.Series:
    """What is published of every row (of code ``values``), given what is published of some codes; else missing."""
    at = np.full(column.card, len(codes), dtype=np.int64)
    at[codes] = np.arange(len(codes))
    # Only where something is missing: a dictionary without gaps is looked up twice as fast.
    given = made if len(codes) == column.card else made.clone().extend_constant(None, 1)
    return given.gather(at).gather(pl.Series(values.view(np.uint32))).alias(column.name)


def is_number(column: Column) -> bool:
    """Whether a column is graded rather than mapped: its values have distances."""
    return column.type in ("numeric", "date")


def _numbers(column: Column) -> tuple[np.ndarray, np.ndarray]:
    """Codes of the values that occur, in the order of their numbers, and those numbers."""
    present = np.flatnonzero(column.frequencies > 0)
    present = present[present != column.missing]
    if column.numbers is not None:
        return present, column.numbers[present]
    # A hierarchy whose leaves do not stand in the order of their numbers.
    texts = column.texts.gather(present)
    dates = column.type == "date"
    ranks, numbers = code_dates(column.name, texts, ColumnSpec()) if dates else code_numbers(column.name, texts)
    return present[np.argsort(ranks, kind="stable")], numbers


def _decimals(column: Column, codes: np.ndarray) -> int | None:
    """Digits after the point of the values, None where some are written with an exponent."""
    if column.type == "date":
        return 0
    texts = column.texts.gather(codes)
    if texts.str.contains("e", literal=True).any():
        return None
    return int(texts.str.extract(r"\.(\d+)$").str.len_bytes().fill_null(0).to_numpy().max(initial=0))


def _automatic(how: str, numbers: np.ndarray, counts: np.ndarray, categories: int) -> list[tuple[Decimal, Decimal]]:
    """Bounds on the values that occur: lowest and highest of each bin that has some."""
    if not len(numbers):
        return [(Decimal(0), Decimal(0))]
    if how == "equal_width":
        low, span = numbers[0], float(numbers[-1] - numbers[0]) or 1.0
        share = (
            np.array([float(x - low) / span for x in numbers])
            if numbers.dtype == object
            else ((numbers - low).astype(np.float64) / span)
        )
    else:
        share = (np.cumsum(counts) - counts) / counts.sum()
    bins = np.minimum((share * categories).astype(np.int64), categories - 1)
    first = np.flatnonzero(np.diff(bins, prepend=-1))
    last = np.append(first[1:] - 1, len(numbers) - 1)
    return [(_decimal(numbers[a]), _decimal(numbers[b])) for a, b in zip(first, last, strict=True)]


def _given(column: Column, bounds: Any) -> list[tuple[Decimal, Decimal]]:
    try:
        return [(_bound(column, low), _bound(column, high)) for low, high in bounds]
    except (TypeError, ValueError, InvalidOperation):
        raise ParameterError(
            f"The bounds of column '{column.name}' must be 'equal_width', 'quantile' or a list of [min, max] pairs."
        ) from None


def _bound(column: Column, value: Any) -> Decimal:
    if column.type == "date":
        return Decimal((value if isinstance(value, date) else date.fromisoformat(value)).toordinal() - _EPOCH)
    found = Decimal(str(value))
    if not found.is_finite():
        raise ValueError
    return found


def _decimal(x: Any) -> Decimal:
    plain = x.item() if isinstance(x, np.generic) else x
    return Decimal(repr(plain) if isinstance(plain, float) else plain)


# ----------------------------------------
# How a column of categories is mapped: from parameters, or a mapping that is given, to codes and the secret behind.


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
            table, names = _extend_mapping(column, present, given)
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


def _extend_mapping(column: Column, present: np.ndarray, given: Secret) -> tuple[MappingTable, pl.Series]:
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
