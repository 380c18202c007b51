"""Graded grouping of numeric sensitive attributes (Poovammal & Ponnavaikko, Sec. 4.1)."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from datetime import date
from decimal import Decimal, InvalidOperation
from typing import Any, ClassVar

import numpy as np
import polars as pl

from shoal.algorithms.base import Algorithm, Problem
from shoal.errors import ParameterError
from shoal.kinds.base import Kind
from shoal.kinds.codings import GRADED, MAPPING
from shoal.kinds.pseudonymised import PSEUDONYMISED
from shoal.params import choice, nearest, whole
from shoal.pseudonyms.grades import RULES, GradingTable, correlation
from shoal.recoding.recodings import Coded
from shoal.table.coding import code_dates, code_numbers
from shoal.table.column import Column
from shoal.table.schema import ColumnSpec
from shoal.table.table import Table

BINNINGS = ("equal_width", "quantile")
WARNING = (
    "Pseudonymised, not anonymised: quasi-identifiers are untouched, so every link to a person stays, and the codes "
    "can be read back by rank or by frequency."
)
_EPOCH = date(1970, 1, 1).toordinal()
_FEW = 3
_CODINGS = {"graded": GRADED, "mapped": MAPPING}


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

    def grade(self, column: Column, values: np.ndarray) -> tuple[pl.Series, GradingTable, dict[str, Any]]:
        """A column's codes, one a row, the secret behind them, and figures for the evidence; O(n + d log K).

        ``d`` is the number of distinct values: they are coded once, and rows only look their code up.
        """
        codes, numbers = _numbers(column)
        counts = column.frequencies[codes]
        given = self.bounds.get(column.name, "equal_width") if isinstance(self.bounds, Mapping) else self.bounds
        automatic = isinstance(given, str)
        bounds = _automatic(given, numbers, counts, self.categories) if automatic else _given(column, given)
        table = GradingTable(
            column.name,
            bounds=bounds,
            names=self._names(column.name, len(bounds)),
            rule=self.max_rule,
            shared=self.allow_shared_bounds,
            decimals=_decimals(column, codes),
            type=column.type,
        )
        made = table.encode_numbers(numbers, counts)
        series = look_up(column, values, pl.Series(made, dtype=pl.Float64), codes)
        places = (numbers - numbers[0]).astype(np.float64) if len(numbers) else np.empty(0)
        notes = {"categories": len(bounds), "correlation": correlation(places, made, counts)}
        return series, table, notes

    def _names(self, column: str, count: int) -> list[Any]:
        given = self.names.get(column) if isinstance(self.names, Mapping) else self.names
        if given is not None:
            return list(given)
        step = 2 if self.max_rule == "table8" else 1
        return list(range(step, step * count + 1, step))


@dataclass(frozen=True, kw_only=True)
class Graded(Grades, Algorithm):
    """Replace every number by the name of its category plus its place within it; order and shape stay.

    Reversible pseudonymisation (``W-PP-REV``): whoever has a sample of the true values sorts both and reads most codes.

    Parameters
    ----------
    on
        The sensitive columns to grade; by default every numeric or date one.

    Examples
    --------
    >>> Graded(on="income", categories=4).parameters()["max_rule"]
    'scaled'
    """

    name: ClassVar[str] = "graded"
    kind: ClassVar[Kind] = PSEUDONYMISED
    on: Any = field(default=None, hash=False)

    def __post_init__(self) -> None:
        Algorithm.__post_init__(self)
        Grades.__post_init__(self)

    def run(self, problem: Problem) -> Coded:
        """Grade the columns asked for; all others stay as they are."""
        chosen = columns_on(problem.table, self.on, self.name, numeric=True)
        self.check_columns([column.name for column in chosen])
        problem.progress("grading")
        made = [self.grade(column, problem.table.codes[column.name]) for column in chosen]
        return rewritten({"graded": made})


def rewritten(parts: Mapping[str, Sequence[tuple[pl.Series, Any, dict[str, Any]]]]) -> Coded:
    """A pseudonymised recoding of coded columns, by the method that made them."""
    made = [one for several in parts.values() for one in several]
    notes: dict[str, Any] = {method: {one[0].name: one[2] for one in several} for method, several in parts.items()}
    warnings = [WARNING]
    few = [name for name, note in notes.get("graded", {}).items() if note["categories"] < _FEW]
    if few:
        warnings.append(f"Column '{few[0]}' has fewer than {_FEW} categories: its codes are close to a straight line.")
    return Coded(
        columns={series.name: series for series, _, _ in made},
        coded={one[0].name: _CODINGS[method].name for method, several in parts.items() for one in several},
        secrets=[secret for _, secret, _ in made],
        notes={"codes": [PSEUDONYMISED.code], "warnings": warnings, **notes},
    )


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


def columns_on(table: Table, on: Any, method: str, *, numeric: bool) -> list[Column]:
    """The sensitive columns a method is for, or those asked for after checking that they fit it."""
    if on is None:
        fitting = [column for column in table.sensitive if is_number(column) == numeric]
        if not fitting:
            what = "number or date" if numeric else "category"
            raise ParameterError(f"'{method}' finds no sensitive column of that sort: it needs a {what}.")
        return fitting
    found = []
    for name in [on] if isinstance(on, str) else list(on):
        if name not in table.schema.sensitive:
            near = nearest(str(name), table.schema.sensitive)
            hint = f" Did you mean '{near}'?" if near else ""
            raise ParameterError(f"'{method}' is for sensitive columns, and '{name}' is none.{hint}")
        column = table.columns[name]
        if numeric and not is_number(column):
            raise ParameterError(f"'graded' is for numbers and dates, and '{name}' is {column.type}: use 'mapping'.")
        found.append(column)
    return found


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
        share = np.array([float(x - low) / span for x in numbers]) if numbers.dtype == object else (
            (numbers - low).astype(np.float64) / span
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
