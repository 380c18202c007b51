"""The values of one column, where the original rows have theirs, and which of them each released cell covers."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from decimal import Decimal
from functools import cached_property
from typing import Any

import numpy as np
import polars as pl

from shoal.data.coding import canonical_text, code_dates, code_numbers
from shoal.data.dictionary import number_texts
from shoal.data.hierarchy import MISSING, ROOT, Hierarchy
from shoal.data.keys import Keys
from shoal.data.schema import ColumnSpec
from shoal.data.values import format_date, format_number
from shoal.errors import InputError
from shoal.recoding.cover import Cover, cover_column
from shoal.recoding.kinds import Kind, Trait

_MOST_WHOLE = 100_000


@dataclass(frozen=True, eq=False, kw_only=True, repr=False)
class Domain:
    """The values of a column, what the original rows have, and what each distinct released cell may stand for.

    Attributes
    ----------
    values
        The domain in order as canonical texts, ``"<missing>"`` last where there are missing cells. Whole numbers and
        dates: all between the smallest and the largest of data, cells and declared domain, where these are at most
        100,000, else those that occur. Columns with a hierarchy: its leaves. Ordinal columns: their order. Others:
        sorted.
    numbers
        float64 of each value, days for dates, NaN for the missing one; None for texts.
    original
        int32 place among ``values`` of every original row, in input order, suppressed rows too.
    cell, texts
        int32 distinct cell of every released row, and the text of each distinct cell.
    at, code, share
        Distinct cell c stands for values ``code[at[c]:at[c + 1]]`` with these shares, which sum to 1: uniform over
        what it covers.
    low, high
        Ends of each distinct cell of numbers or dates, NaN where it is everything or missing; None for texts.
    whole
        Whether ``values`` holds every whole number (or day) of the range; else an interval is taken as a stretch of
        reals.
    hierarchy
        Where the column has one.
    """

    values: Sequence[str]
    numbers: np.ndarray | None
    original: np.ndarray
    cell: np.ndarray
    texts: Sequence[str]
    at: np.ndarray
    code: np.ndarray
    share: np.ndarray
    low: np.ndarray | None = None
    high: np.ndarray | None = None
    whole: bool = True
    hierarchy: Hierarchy | None = None


def column_domain(entry: Mapping[str, Any], frame: pl.DataFrame, original: pl.Series, *, stands: bool) -> Domain:
    """Read one column.

    Parameters
    ----------
    entry
        The column in the manifest.
    frame
        The published rows.
    original
        The column of the original rows.
    stands
        Whether a cell is a value that stands for others, and need not be one of the domain.
    """
    kind = entry["type"]
    numeric = kind in ("numeric", "date")
    if stands:  # as texts, whatever they are: nobody's value has to be among them
        entry = {**entry, "cells": "set" if entry["cells"] == "representative" and not numeric else "value"}
    cover = cover_column(entry, _starred_nulls(entry, frame) if stands else frame)
    assert cover is not None
    tree = Hierarchy.from_rows(entry["name"], entry["hierarchy"]) if entry.get("hierarchy") else None
    mine = original_texts(entry, original)
    low, high = _ends(cover)
    whole = True
    if tree is not None:
        values = [leaf for leaf in tree.labels[0] if leaf != MISSING]
        mine = _as_leaves(mine, set(values)) if kind == "numeric" else mine
    elif numeric:
        values, whole = _number_values(entry, mine, cover, stands)
    else:
        given = [str(value) for value in entry.get("order", ())]
        seen = {*mine.unique().drop_nulls().to_list(), *cover.codes} - {MISSING}
        values = list(dict.fromkeys([*given, *sorted(seen)]))
    if mine.null_count() or MISSING in cover.texts:
        values.append(MISSING)
    numbers = _floats(kind, values) if numeric else None
    codes = _codes(entry["name"], mine, values)
    if stands and numbers is not None and low is not None:
        at, code = _nearest(cover, numbers, low, len(values))
    else:
        at, code = _covered(cover, values)
    share = np.repeat(1.0 / np.diff(at), np.diff(at))
    return Domain(
        values=values, numbers=numbers, original=codes, cell=cover.cell, texts=cover.texts, at=at, code=code,
        share=share, low=low, high=high, whole=whole, hierarchy=tree,
    )  # fmt: skip


def _starred_nulls(entry: Mapping[str, Any], frame: pl.DataFrame) -> pl.DataFrame:
    """Representatives of numbers are null where a cell would be a star."""
    if entry.get("null") != ROOT:
        return frame
    return frame.with_columns(canonical_text(frame[entry["name"]]).fill_null(ROOT).alias(entry["name"]))


def original_texts(entry: Mapping[str, Any], series: pl.Series) -> pl.Series:
    """One text a value: equal numbers have equal texts, dates are ISO."""
    kind, name = entry["type"], entry["name"]
    if kind not in ("numeric", "date"):
        return canonical_text(series)
    if kind == "date":
        codes, numbers = code_dates(name, series, ColumnSpec())
    else:
        codes, numbers = code_numbers(name, series)
    return pl.concat([number_texts(kind, numbers), pl.Series([None], dtype=pl.String)]).gather(codes)


def _as_leaves(texts: pl.Series, leaves: set[str]) -> pl.Series:
    """Numbers as their hierarchy writes them, where that is not how they would be written here."""
    if set(texts.unique().drop_nulls().to_list()) <= leaves:
        return texts
    found = {format_number(Decimal(leaf)): leaf for leaf in leaves}
    return texts.replace(found)


def _number_values(entry: Mapping[str, Any], mine: pl.Series, cover: Cover, stands: bool) -> tuple[list[str], bool]:
    """The domain of numbers or dates in order, and whether it holds every whole number of its range."""
    kind = entry["type"]
    seen = mine.unique().drop_nulls().to_list()
    numbers = {_exact(kind, text) for text in seen}
    is_whole = all(number == int(number) for number in numbers)
    ends = list(cover.bounds or ()) if not stands else []
    ends += [_exact(kind, str(end)) for end in entry.get("domain", ())]
    if is_whole and numbers:
        first, last = (pick(map(int, numbers)) for pick in (min, max))
        first, last = min([first, *map(math.ceil, ends)]), max([last, *map(math.floor, ends)])
        if last - first < _MOST_WHOLE:
            return [_write(kind, number) for number in range(first, last + 1)], True
    alone = {(cover.bounds or ())[low // 2] for low, high in zip(cover.low, cover.high, strict=True) if low == high
             and low < cover.atoms - 2} if not stands else set()  # fmt: skip
    return [_write(kind, number) for number in sorted(numbers | alone)], False


def _exact(kind: str, text: str) -> Any:
    if kind == "date":
        return int(np.datetime64(text, "D").astype(np.int64))
    return int(text) if text.lstrip("-").isdigit() else Decimal(text)


def _write(kind: str, number: Any) -> str:
    return format_date(number) if kind == "date" else format_number(number)


def _floats(kind: str, values: Sequence[str]) -> np.ndarray:
    return np.array([np.nan if value == MISSING else float(_exact(kind, value)) for value in values])


def _codes(name: str, texts: pl.Series, values: Sequence[str]) -> np.ndarray:
    places = pl.DataFrame({"text": values, "place": np.arange(len(values), dtype=np.int32)})
    found = texts.fill_null(MISSING).to_frame("text").join(places, on="text", how="left", maintain_order="left")
    lost = found.filter(pl.col("place").is_null())["text"].n_unique()
    if lost:
        raise InputError(f"Column '{name}' of the original has {lost} values that the release's description lacks.")
    return found["place"].to_numpy().astype(np.int32)


def _covered(cover: Cover, values: Sequence[str]) -> tuple[np.ndarray, np.ndarray]:
    """Values that each cell covers, by atoms."""
    atoms = cover.place(pl.Series([None if value == MISSING else value for value in values], dtype=pl.String))
    order = np.argsort(atoms, kind="stable").astype(np.int32)
    first = np.searchsorted(atoms[order], cover.low, "left")
    counts = np.searchsorted(atoms[order], cover.high, "right") - first
    places = np.arange(counts.sum()) - np.repeat(np.cumsum(counts) - counts, counts) + np.repeat(first, counts)
    at = np.concatenate([[0], np.cumsum(counts)])[cover.run_at]
    empty = int((np.diff(at) == 0).sum())
    if empty:
        raise InputError(
            f"Column '{cover.name}' has {empty} cells that cover none of the original's values: name the file that "
            "the release was made from."
        )
    return at.astype(np.int64), order[places]


def _nearest(cover: Cover, numbers: np.ndarray, low: np.ndarray, size: int) -> tuple[np.ndarray, np.ndarray]:
    """The value nearest to each cell; everything where it is a star, and missing where it is that."""
    known = np.flatnonzero(np.isfinite(numbers))
    known = known[np.argsort(numbers[known], kind="stable")]
    right = np.clip(np.searchsorted(numbers[known], low), 0, known.size - 1)
    left = np.maximum(right - 1, 0)
    closer = np.where(np.abs(numbers[known[left]] - low) <= np.abs(numbers[known[right]] - low), left, right)
    codes: list[np.ndarray] = []
    for text, place, end in zip(cover.texts, closer, low, strict=True):
        alone = known[place] if np.isfinite(end) else size - 1
        codes.append(np.arange(size) if text == ROOT else np.array([alone]))
    at = np.cumsum([0, *(one.size for one in codes)])
    return at.astype(np.int64), np.concatenate(codes).astype(np.int32)


def _ends(cover: Cover) -> tuple[np.ndarray | None, np.ndarray | None]:
    """Lowest and highest number of each cell, NaN where it has none."""
    if cover.bounds is None:
        return None, None
    ends = np.array([*map(float, cover.bounds), np.nan])
    inside = (cover.low > 0) & (cover.low < cover.atoms - 2)
    return tuple(ends[np.where(inside, edge // 2, ends.size - 1)] for edge in (cover.low, cover.high))  # type: ignore


# ----------------------------------------
# What an evaluation looks at: the columns of a release, each beside what the original rows have in it.


@dataclass(frozen=True, eq=False, kw_only=True, repr=False)
class Feature(Domain):
    """One released column: what it may hold, what its cells stand for, and the original rows' values.

    Attributes
    ----------
    name, role, type
        Of the column; its role is ``"quasi"``, ``"sensitive"`` or ``"neutral"``.
    """

    name: str
    role: str
    type: str

    def __repr__(self) -> str:
        return f"Feature({self.name!r}, {self.role}, {self.type}, {len(self.values)} values, {len(self.texts)} cells)"

    @property
    def exact(self) -> bool:
        """Whether every cell is one value."""
        return bool((np.diff(self.at) == 1).all())

    @property
    def as_they_are(self) -> bool:
        """Whether the numbers of exact cells are the values that the cells are read as, and not only near them."""
        if self.numbers is None:
            return True
        return bool(np.array_equal(self.centres(), self.numbers[self.code[self.at[:-1]]], equal_nan=True))

    @cached_property
    def place(self) -> Mapping[str, int]:
        """Place of every value."""
        return {value: at for at, value in enumerate(self.values)}

    def released(self) -> np.ndarray:
        """int32 value of every released row, -1 where its cell covers several."""
        alone = np.where(np.diff(self.at) == 1, self.code[self.at[:-1]], -1)
        return alone.astype(np.int32)[self.cell]

    def centres(self) -> np.ndarray:
        """float64 a distinct cell: the middle of an interval, else the mean of the numbers it covers."""
        if self.numbers is None:
            raise InputError(f"Column '{self.name}' holds no numbers, so that its cells have no middle.")
        known = np.isfinite(self.numbers[self.code])
        weight = np.where(known, self.share, 0.0)
        total = np.add.reduceat(weight, self.at[:-1])
        summed = np.add.reduceat(weight * np.where(known, self.numbers[self.code], 0.0), self.at[:-1])
        mean = np.divide(summed, total, out=np.full(total.size, np.nan), where=total > 0)
        if self.low is None or self.high is None:
            return mean
        return np.where(np.isfinite(self.low), self.low / 2 + self.high / 2, mean)

    def shares(self) -> np.ndarray:
        """The shares as a dense matrix, cells by values; for small domains."""
        dense = np.zeros((len(self.texts), len(self.values)))
        dense[np.repeat(np.arange(len(self.texts)), np.diff(self.at)), self.code] = self.share
        return dense


@dataclass(frozen=True, eq=False, kw_only=True, repr=False)
class Reading:
    """A release and its original, column by column.

    Attributes
    ----------
    kind, made
        Kind of release, and how its quasi-identifiers were made.
    n, rows
        Original rows, and released ones without those that are all stars.
    source
        Original row behind each released row, where that is known; for fair comparisons only.
    features
        Every released quasi, sensitive and neutral column. The sensitive values of a bucketised release are one
        pairing drawn within its groups.
    groups
        int32 class (bucketised: group) of each released row.
    suppression
        Share of the original rows that were not released; counterfeit rows make up for none.
    left_out
        Columns that are published as codes, which say nothing about values.
    coded, paired
        Columns of ``left_out`` whose codes are mined all the same, and whether it is known which code an original row
        has (:mod:`shoal.utility.coded_columns`).
    after, before
        The release with its codes, and the original, each by itself; None where no codes are mined.
    keys
        Where evaluations draw from.
    people
        Person of each original row, where rows of one person are known to be; else rows are people.
    """

    kind: Kind
    made: Kind
    n: int
    rows: int
    source: np.ndarray | None
    features: Mapping[str, Feature]
    groups: np.ndarray
    suppression: float
    left_out: Sequence[str] = ()
    coded: Sequence[str] = ()
    paired: bool = True
    after: Reading | None = None
    before: Reading | None = None
    keys: Keys = field(default_factory=lambda: Keys.from_seed(0))
    people: np.ndarray | None = None

    def __repr__(self) -> str:
        return f"Reading({self.kind}, {self.rows} of {self.n} rows, {', '.join(self.features)})"

    @property
    def quasi(self) -> list[str]:
        """Names of quasi-identifiers."""
        return self.of("quasi")

    @property
    def sensitive(self) -> list[str]:
        """Names of sensitive columns."""
        return self.of("sensitive")

    @property
    def neutral(self) -> list[str]:
        """Names of neutral columns."""
        return self.of("neutral")

    def of(self, role: str) -> list[str]:
        """Names of the columns of one role."""
        return [name for name, feature in self.features.items() if feature.role == role]

    @property
    def mined(self) -> tuple[Reading, Reading]:
        """The release as it is mined, codes included, and the original; both are this one where nothing is coded."""
        return self.after or self, self.before or self

    @cached_property
    def untouched(self) -> frozenset[str]:
        """Columns that are published as they were, row by row: there is nothing to compare."""
        if self.suppression or self.rows != self.n:
            return frozenset()
        return frozenset(name for name, one in self.features.items() if self._is_untouched(one))

    def _is_untouched(self, feature: Feature) -> bool:
        # Values that were redrawn or swapped can be as common as before and stand in other rows.
        moved = (self.source is None and not self.made.has(Trait.COVERING) and feature.role == "quasi") or (
            self.made.has(Trait.GROUPS) and feature.role == "sensitive"
        )
        if moved or not feature.exact or not feature.as_they_are:
            return False
        ours = feature.released()
        if self.source is not None:
            return bool(np.array_equal(ours, feature.original[self.source]))
        mine, theirs = (np.bincount(one, minlength=len(feature.values)) for one in (ours, feature.original))
        return bool(np.array_equal(mine, theirs))
