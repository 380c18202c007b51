"""Graded grouping (Poovammal & Ponnavaikko, Sec. 4.1): numbers become the name of their category plus a membership."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from decimal import Decimal
from fractions import Fraction
from typing import Any

import numpy as np
import polars as pl

from shoal.data.coding import code_dates, code_numbers
from shoal.data.schema import ColumnSpec
from shoal.data.values import format_date, format_number
from shoal.errors import DomainError, ParameterError
from shoal.params import choice
from shoal.recoding.secrets import Secret

RULES = ("scaled", "paper", "table8")
_NEAR_ONE = 0.999
# Codes are compared with this tolerance: they come back through text and other people's programs.
_CLOSE = 1e-9
# A code that was written with six digits still is one: so far, in widths of its category, it may be off.
_READABLE = 1e-5
# Names beyond this would leave the membership too few digits.
_LARGEST_NAME = 1_000_000
# Whole numbers up to here are floats too.
_FLOAT_WHOLE = 1 << 53


class GradingTable(Secret):
    """Categories of one numeric column with their bounds and names; without them a code cannot be read exactly.

    Parameters
    ----------
    bounds
        Lowest and highest value of every category, in order and apart (PP step 2).
    names
        Increasing positive whole numbers, one a category (PP step 1).
    rule
        Membership m of a value x in [min, max]: ``"scaled"`` = 0.999 (x - min)/(max - min), always strictly
        increasing; ``"paper"`` = (x - min)/(max - min), but 0.999 at max; ``"table8"`` = the same, but 1 at max.
        A category of one value has m = 0.
    shared
        Let a category begin where the one before ends; such a value belongs to the first of the two.
    decimals
        Digits after the point that the values have, None when they are not rounded.
    type
        ``"numeric"`` or ``"date"`` (days since 1970).
    """

    __slots__ = ("_bounds", "_decimals", "_exact", "_highs", "_lows", "_names", "_rule", "_shared", "_type")
    kind = "grading"

    def __init__(
        self,
        column: str,
        *,
        bounds: Sequence[tuple[Decimal, Decimal]],
        names: Sequence[int],
        rule: str = "scaled",
        shared: bool = False,
        decimals: int | None = None,
        type: str = "numeric",
    ) -> None:
        super().__init__(column)
        _check(column, bounds, names, shared)
        self._bounds = [(Decimal(low), Decimal(high)) for low, high in bounds]
        self._names = np.array(names, dtype=np.float64)
        self._rule = choice("graded grouping", "max_rule", rule, RULES)
        self._type = choice("graded grouping", "type", type, ("numeric", "date"))
        self._shared, self._decimals = shared, decimals
        self._exact = not all(_is_float(bound) for pair in self._bounds for bound in pair)
        made = _fractions if self._exact else lambda ends: np.array(ends, dtype=np.float64)
        self._lows = made([low for low, _ in self._bounds])
        self._highs = made([high for _, high in self._bounds])

    @classmethod
    def of_plain(cls, plain: Mapping[str, Any]) -> GradingTable:
        """What :meth:`reveal` gave, as a table again."""
        bounds = [(Decimal(low), Decimal(high)) for low, high in plain["bounds"]]
        given = {key: plain[key] for key in ("names", "rule", "shared", "decimals", "type")}
        return cls(plain["column"], bounds=bounds, **given)

    def reveal(self) -> dict[str, Any]:
        """Column, bounds, names and rule."""
        return {
            "kind": self.kind,
            "column": self.column,
            "bounds": [[format_number(low), format_number(high)] for low, high in self._bounds],
            "names": [int(name) for name in self._names],
            "rule": self._rule,
            "shared": self._shared,
            "decimals": self._decimals,
            "type": self._type,
        }

    def size(self) -> str:
        """Number of categories."""
        return f"{self.categories} categories"

    @property
    def categories(self) -> int:
        """Number of categories."""
        return len(self._bounds)

    @property
    def decimals(self) -> int | None:
        """Digits after the point that its values have, None where they are not rounded."""
        return self._decimals

    @property
    def type(self) -> str:
        """``"numeric"`` or ``"date"``."""
        return self._type

    def place(self, numbers: np.ndarray) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
        """Category of every number (-1: outside all), its code by the rule as it stands, and if it is a maximum.

        Nothing is refused here: under ``"paper"`` and ``"table8"`` codes may then repeat or run backwards.
        """
        exact = self._exact or not _are_floats(numbers)
        values = _fractions(numbers) if exact else numbers.astype(np.float64)
        lows, highs = (_fractions(self._lows), _fractions(self._highs)) if exact else (self._lows, self._highs)
        grade = np.searchsorted(highs, values, side="left")  # a shared bound belongs to the first category
        at = np.minimum(grade, len(self._bounds) - 1)
        inside = (grade == at) & (lows[at] <= values).astype(bool)
        offset, width = values - lows[at], highs[at] - lows[at]
        wide = (width > 0).astype(bool)
        member = np.zeros(len(numbers))
        member[wide] = (offset[wide] / width[wide]).astype(np.float64)
        if self._rule == "scaled":
            member *= _NEAR_ONE
        top = wide & (offset == width).astype(bool)
        member[top] = self._top
        return np.where(inside, at, -1), self._names[at] + member, top

    def encode_numbers(self, numbers: np.ndarray, counts: np.ndarray | None = None) -> np.ndarray:
        """Codes of sorted distinct numbers, strictly increasing, or the reason why they cannot be.

        Parameters
        ----------
        counts
            Rows of every number, for the message about numbers outside the bounds.
        """
        grade, codes, top = self.place(numbers)
        outside = grade < 0
        if outside.any():
            rows = int(outside.sum() if counts is None else counts[outside].sum())
            raise DomainError(f"{rows} values of column '{self.column}' lie outside all its grades: widen the bounds.")
        if self._rule == "paper" and ((codes - self._names[grade] > _NEAR_ONE - 1e-12) & ~top).any():
            raise ParameterError(
                f"The rule 'paper' breaks the order of column '{self.column}': values within a thousandth of a "
                "category's width below its maximum get no smaller a code. Use max_rule = 'scaled'."
            )
        if self._rule == "table8" and (top & self._taken[grade]).any():
            raise ParameterError(
                f"Under the rule 'table8' the maximum of a category of column '{self.column}' gets the name of the "
                "next category, which begins elsewhere: leave gaps between the names."
            )
        if (np.diff(codes) <= 0).any():
            raise ParameterError(
                f"Column '{self.column}' has values too close to each other to get different codes: use more "
                "categories."
            )
        return codes

    def encode(self, values: pl.Series, *, strict: bool = True) -> pl.Series:
        """The code of every value, float64; missing stays missing."""
        if self._type == "date":
            codes, numbers = code_dates(self.column, values, ColumnSpec())
        else:
            codes, numbers = code_numbers(self.column, values)
        rows = np.bincount(codes, minlength=len(numbers))[: len(numbers)]
        known = np.ones(len(numbers), dtype=bool) if strict else self.place(numbers)[0] >= 0
        made = np.full(len(numbers), np.nan)
        made[known] = self.encode_numbers(numbers[known], rows[known])
        series = pl.Series(made, dtype=pl.Float64).fill_nan(None)
        return series.extend_constant(None, 1).gather(codes).alias(values.name)

    def decode(self, codes: pl.Series) -> pl.Series:
        """The value of every code: whole numbers, floats or dates; text where a float could not hold it."""
        given = codes.cast(pl.Float64)
        distinct = given.drop_nulls().unique()
        values, known = self._values(distinct.to_numpy())
        if not known.all():
            unknown = int(given.is_in(distinct.filter(pl.Series(~known)).to_list()).sum())
            raise DomainError(f"Column '{self.column}' has {unknown} numbers that are no codes of its grades.")
        if self._type == "date":
            found = pl.Series(values.astype(np.int32)).cast(pl.Date)
        elif self._exact:
            found = pl.Series([self._text(value) for value in values], dtype=pl.String)
        else:
            found = pl.Series(values).cast(pl.Int64 if self._decimals == 0 else pl.Float64)
        return given.replace_strict(distinct, found, default=None, return_dtype=found.dtype).alias(codes.name)

    def value_text(self, code: float) -> str | None:
        """The value of one code as text, None where the number is no code."""
        values, known = self._values(np.array([code]))
        return self._text(values[0]) if known[0] else None

    def threshold(self, sign: str, code: float) -> tuple[str, str]:
        """A comparison with a code as the comparison with a value that means the same on the column.

        ``x < code`` becomes ``x < value`` where ``value`` is rounded up to what the column can hold, and so on. A
        number between two categories stands for the bound that it separates.

        Returns
        -------
        tuple
            The sign, which may change at either end of the categories, and the value as text.
        """
        if sign in ("=", "!="):
            text = self.value_text(code)
            if text is None:
                raise DomainError(f"A number compared with column '{self.column}' is no code of its grades.")
            return sign, text
        below = sign in ("<", ">=")
        grades, values, after = self._locate(np.array([code]))
        grade = int(grades[0])
        if grade < 0:
            return ("<" if sign in ("<", "<=") else ">="), self._text(self._lows[0])
        if not after[0]:
            return sign, self._text(self._rounded(values, "up" if below else "down")[0])
        if below and grade + 1 < len(self._bounds):
            return sign, self._text(self._lows[grade + 1])
        return {"<": "<=", ">=": ">"}.get(sign, sign), self._text(self._highs[grade])

    @property
    def _top(self) -> float:
        """Membership of a category's maximum."""
        return 1.0 if self._rule == "table8" else _NEAR_ONE

    @property
    def _taken(self) -> np.ndarray:
        """Categories of which a maximum of membership 1 would get the code of another value, the next one's lowest."""
        following = np.diff(self._names, append=np.inf) == 1
        following[:-1] &= (self._highs[:-1] != self._lows[1:]).astype(bool)
        return following

    def _locate(self, codes: np.ndarray) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
        """Category at or below a code (-1: none), the value there, and whether the code lies behind its maximum."""
        grade = np.searchsorted(self._names, codes + _CLOSE, side="right") - 1
        at = np.maximum(grade, 0)
        low, width = self._lows[at], self._highs[at] - self._lows[at]
        wide = (width > 0).astype(bool)
        member = codes - self._names[at]
        after = member > np.where(wide, self._top, 0.0) + _CLOSE
        share = np.clip(member / (_NEAR_ONE if self._rule == "scaled" else 1.0), 0.0, 1.0)
        # The maximum has a membership of its own under "paper"; under the other rules this is the same value. Only what
        # subtracting the name did is forgiven: a billion whole numbers lie closer to it than any rounder figure.
        share = np.where((np.abs(member - self._top) <= 4 * np.spacing(np.abs(codes) + 1.0)) | after, 1.0, share)
        return grade, low + (_fractions(share) if self._exact else share) * width, after

    def _values(self, codes: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """The values of codes, and which of the numbers can be codes at all: rounding must not invent one."""
        grade, values, after = self._locate(codes)
        found = self._rounded(values, "nearest")
        width = (self._highs - self._lows)[np.maximum(grade, 0)]
        near = np.abs(found - values).astype(np.float64) <= _READABLE * width.astype(np.float64) + 1e-12
        return found, (grade >= 0) & ~after & near

    def _rounded(self, values: np.ndarray, how: str) -> np.ndarray:
        """Values rounded to the column's digits, after forgiving what floating point did to them."""
        if self._decimals is None:
            return values
        if self._exact:
            return _fractions_rounded(values, self._decimals, how)
        nearest = np.round(values, self._decimals)
        if how == "nearest":
            return nearest
        unit = 10.0**self._decimals
        further = np.round((np.ceil if how == "up" else np.floor)(values * unit) / unit, self._decimals)
        close = np.abs(nearest - values) <= 1e-9 * max(self._highs[-1] - self._lows[0], 1.0 / unit)
        return np.where(close, nearest, further)

    def _text(self, value: Any) -> str:
        if self._type == "date":
            return format_date(int(value))
        if isinstance(value, Fraction):
            digits = self._decimals or 0
            whole = value * 10**digits
            exact = whole.denominator == 1
            return format_number(_shifted(int(whole), digits) if exact else float(f"{float(value):.12g}"))
        return format_number(float(value) if self._decimals is not None else float(f"{value:.12g}"))


def correlation(x: np.ndarray, y: np.ndarray, counts: np.ndarray | None = None) -> float | None:
    """Pearson's r of values and codes, each pair counted so many times (PP Sec. 6.2.1); None where one is constant.

    It says how useful the codes are, and just as much how far they give the values away.
    """
    weight = np.ones(len(x)) if counts is None else counts.astype(np.float64)
    if not weight.sum():
        return None
    dx, dy = x - np.average(x, weights=weight), y - np.average(y, weights=weight)
    scale = float(np.sqrt((weight * dx * dx).sum() * (weight * dy * dy).sum()))
    return float((weight * dx * dy).sum()) / scale if scale > 0 else None


def _check(column: str, bounds: Sequence[tuple[Decimal, Decimal]], names: Sequence[int], shared: bool) -> None:
    where = f"The grades of column '{column}'"
    if not bounds:
        raise ParameterError(f"{where} need at least one category.")
    if len(names) != len(bounds):
        raise ParameterError(f"{where} have {len(bounds)} categories and {len(names)} names: give one name each.")
    whole = all(isinstance(name, int | np.integer) and not isinstance(name, bool) for name in names)
    rising = whole and all(one < two for one, two in zip(names, list(names)[1:], strict=False))
    if not rising or names[0] < 1 or names[-1] > _LARGEST_NAME:
        raise ParameterError(f"{where} need names that are increasing whole numbers from 1 to {_LARGEST_NAME:,}.")
    if any(low > high for low, high in bounds):
        raise ParameterError(f"{where} have a category whose lower bound is above its upper bound.")
    for (_, high), (low, _) in zip(bounds, list(bounds)[1:], strict=False):
        if high > low:
            raise ParameterError(f"{where} overlap or are out of order: each must begin above the one before.")
        if high == low and not shared:
            raise ParameterError(f"{where} share a bound: set allow_shared_bounds, and the first of the two takes it.")


def _decimal(x: Any) -> Decimal:
    """A number as the decimal that it is written as."""
    plain = x.item() if isinstance(x, np.generic) else x
    return Decimal(repr(plain) if isinstance(plain, float) else plain)


def _is_float(bound: Decimal) -> bool:
    """Whether a bound is what its nearest float is written as, and small enough for exact differences."""
    return abs(bound) <= _FLOAT_WHOLE and _decimal(float(bound)) == bound


def _are_floats(numbers: np.ndarray) -> bool:
    """Whether sorted numbers are floats, or whole numbers that floats hold exactly."""
    if numbers.dtype == object:
        return False
    return not len(numbers) or max(abs(float(numbers[0])), abs(float(numbers[-1]))) <= _FLOAT_WHOLE


def _objects(values: Sequence[Any]) -> np.ndarray:
    found = np.empty(len(values), dtype=object)
    found[:] = values
    return found


def _fractions(numbers: Sequence[Any] | np.ndarray) -> np.ndarray:
    return _objects([x if isinstance(x, Fraction) else Fraction(_decimal(x)) for x in numbers])


def _fractions_rounded(values: np.ndarray, decimals: int, how: str) -> np.ndarray:
    unit = Fraction(1, 10**decimals)
    turn: Callable[[Fraction], int] = {"up": math.ceil, "down": math.floor}.get(how, round)
    found = []
    for value in values:
        nearest = round(value / unit) * unit
        # Memberships are floats: what they miss by is far below a unit, or the codes would not differ.
        forgiven = abs(nearest - value) <= unit / 1000
        found.append(nearest if forgiven else turn(value / unit) * unit)
    return _objects(found)


def _shifted(whole: int, digits: int) -> Decimal:
    """``whole`` with its last digits after the point, exactly, whatever decimal precision is set."""
    return Decimal((int(whole < 0), tuple(map(int, str(abs(whole)))), -digits))
