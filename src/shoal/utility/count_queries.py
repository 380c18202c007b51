"""Answers of count queries on the original rows, and what a release lets expect.

An estimate is the sum over groups of (records whose quasi-identifiers match) x (records whose other columns match) /
(records). Cells that cover several values match by the share of their values that is asked for: Yang & Qiao's eq. 12,
where a group is a class of equal cells. In a bucketised release a group's records have their own exact cells: eq. 13.
Where cells are exact both are plain counting.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from itertools import chain
from typing import Any, ClassVar

import numpy as np

from shoal.data.hierarchy import MISSING
from shoal.data.keys import Keys
from shoal.kernels.grouping import group_rows
from shoal.kernels.queries import cell_chances, exact_counts, expected_counts
from shoal.recoding.kinds import Trait
from shoal.utility.domains import Feature, Reading
from shoal.utility.queries import Query, Workload, as_number, known_feature, workload_of
from shoal.utility.reading import Evaluation, Finding

# Queries at a time, so that chances of all cells fit into memory that is used again from one part to the next.
_CELLS = 1 << 20
_RESAMPLED = 500
# Columns of at most so many values have the rows of each value as bits.
_FEW = 512


@dataclass(frozen=True, eq=False, kw_only=True)
class Answers:
    """Per query the true count, what the release lets expect, and what one-way tables would.

    Attributes
    ----------
    truth, estimate
        float64, one a query.
    independent
        Number of rows times the product of the shares that meet each condition: a trivial estimate.
    n
        Original rows.
    """

    truth: np.ndarray
    estimate: np.ndarray
    independent: np.ndarray
    n: int

    def errors(self, estimate: np.ndarray | None = None) -> np.ndarray:
        """Relative errors of the queries that have an answer above 0."""
        given = self.estimate if estimate is None else estimate
        known = self.truth > 0
        return np.abs(given[known] - self.truth[known]) / self.truth[known]


@dataclass(frozen=True, kw_only=True)
class ErrorSummary:
    """Relative errors of a workload.

    Attributes
    ----------
    mean, median, p90
        Of the relative errors; None without any query.
    mean_interval, median_interval
        95 % bootstrap intervals over queries.
    floored
        Mean of the errors over max(truth, 0.1 % of the rows), of all queries: tiny answers count for less.
    queries, excluded
        How many there were, and how many of them were left out because their true answer is 0.
    """

    mean: float | None
    median: float | None
    p90: float | None
    mean_interval: tuple[float, float] | None
    median_interval: tuple[float, float] | None
    floored: float
    queries: int
    excluded: int


@dataclass(frozen=True, eq=False)
class Asked:
    """What all queries ask of one column: values, and intervals of numbers."""

    feature: Feature
    query: np.ndarray
    code: np.ndarray
    ranged: np.ndarray
    low: np.ndarray
    high: np.ndarray
    used: np.ndarray

    def values(self, part: slice) -> np.ndarray:
        """uint8 (queries, values) of a part of the queries, 1 everywhere where nothing is asked."""
        start, stop = part.start, part.stop
        found = np.zeros((stop - start, len(self.feature.values)), dtype=np.uint8)
        found[~self.used[part]] = 1
        first, last = np.searchsorted(self.query, [start, stop])
        found[self.query[first:last] - start, self.code[first:last]] = 1
        first, last = np.searchsorted(self.ranged, [start, stop])
        if last > first and self.feature.numbers is not None:
            low, high = self.low[first:last, None], self.high[first:last, None]
            numbers = self.feature.numbers[None, :]
            found[self.ranged[first:last] - start] = (numbers >= low) & (numbers <= high)
        return found

    def chances(self, part: slice) -> np.ndarray:
        """float64 (queries, cells): the chance of each released cell to be asked for."""
        one = self.feature
        found = cell_chances(self.values(part), one.at, one.code)
        first, last = np.searchsorted(self.ranged, [part.start, part.stop])
        if one.whole or last == first:
            return found
        # Reals are spread over the length of their interval, not over the values that happen to occur.
        lowest, highest = np.nanmin(one.numbers), np.nanmax(one.numbers)  # type: ignore[arg-type]
        low = np.where(np.isfinite(one.low), one.low, lowest)  # type: ignore[arg-type]
        high = np.where(np.isfinite(one.high), one.high, highest)  # type: ignore[arg-type]
        wide = np.flatnonzero((low < high) & (np.array(one.texts) != MISSING))
        low, high = low[wide], high[wide]
        inside = np.minimum(high, self.high[first:last, None]) - np.maximum(low, self.low[first:last, None])
        found[np.ix_(self.ranged[first:last] - part.start, wide)] = np.maximum(inside, 0.0) / (high - low)
        return found


@dataclass(frozen=True, eq=False, kw_only=True)
class _Groups:
    """The release's records in groups, ready to be counted.

    Attributes
    ----------
    shares
        Per column the share of rows that have each cell.
    left
        Which columns are those of the left, whose cells go with any of the right's within a group.
    sides
        Per side where each group begins, the distinct cells in it and how many rows have them.
    """

    shares: Sequence[np.ndarray]
    left: np.ndarray
    sides: Sequence[np.ndarray]

    @classmethod
    def of(cls, features: Sequence[Feature], groups: np.ndarray | None) -> _Groups:
        """Group the rows; without groups, rows whose left cells are equal are one group."""
        # Within a bucketised group, neutral values stay with the quasi-identifiers of their row.
        sides = ("quasi", "neutral") if groups is not None else ("quasi",)
        paired = [one.role in sides for one in features]
        first = np.cumsum([0, *(len(one.texts) for one in features)])
        rows = features[0].cell.size
        left, right = (
            np.array(
                [one.cell + at for one, at, flag in zip(features, first, paired, strict=False) if flag == side],
                dtype=np.int32,
            ).reshape(-1, rows)
            for side in (True, False)
        )
        if groups is None:
            groups = _numbers(left) if len(left) else np.zeros(rows, dtype=np.int32)
        return cls(
            shares=[np.bincount(one.cell, minlength=len(one.texts)) / rows for one in features],
            left=np.flatnonzero(paired),
            sides=[*_distinct(groups, left), *_distinct(groups, right)],
        )

    def count(self, chances: Sequence[np.ndarray]) -> np.ndarray:
        """Expected count of each query."""
        # Most rows fail the strictest condition, so that comes first; what every row meets need not be looked at.
        order = np.full((chances[0].shape[0], self.left.size), -1, dtype=np.int32)
        if self.left.size:
            met = np.stack([chances[at] @ self.shares[at] for at in self.left], axis=1)
            met[np.stack([(chances[at] == 1.0).all(axis=1) for at in self.left], axis=1)] = np.inf
            order = np.argsort(met, axis=1, kind="stable").astype(np.int32)
            order[np.isinf(np.take_along_axis(met, order, axis=1))] = -1
        return expected_counts(np.concatenate(chances, axis=1), order, *self.sides)


class _Rows:
    """The original's rows, ready to be counted."""

    def __init__(self, features: Sequence[Feature]) -> None:
        cards = [len(one.values) for one in features]
        few = [card <= _FEW for card in cards]
        places = np.cumsum([0, *(card if flag else 0 for card, flag in zip(cards, few, strict=True))])
        self._first = np.cumsum([0, *cards])
        self._codes = np.stack([one.original for one in features])
        self._bit_at = np.where(few, places[:-1], -1)
        self._bits = np.zeros((int(places[-1]), (self._codes.shape[1] + 63) // 64), dtype=np.uint64)
        for at, codes, card in zip(self._bit_at, self._codes, cards, strict=True):
            if at >= 0:
                self._bits[at : at + card] = _row_bits(codes, card)

    def count(self, asked: Sequence[np.ndarray]) -> np.ndarray:
        """Exact count of each query."""
        return exact_counts(np.concatenate(asked, axis=1), self._first, self._codes, self._bits, self._bit_at)


def answer(reading: Reading, queries: Sequence[Query]) -> Answers:
    """Answer queries on the original rows and on the release."""
    asked = columns_asked(reading, queries)
    features = [one.feature for one in asked]
    rows, groups = _Rows(features), _Groups.of(features, reading.groups if reading.made.has(Trait.GROUPS) else None)
    alone = [np.bincount(one.original, minlength=len(one.values)) / reading.n for one in features]
    step = max(_CELLS // max(sum(len(one.texts) for one in features), sum(len(one.values) for one in features)), 1)
    found = np.empty((3, len(queries)))
    for start in range(0, len(queries), step):
        part = slice(start, min(start + step, len(queries)))
        exact = [one.values(part) for one in asked]
        found[0, part] = rows.count(exact)
        found[1, part] = groups.count([one.chances(part) for one in asked])
        shares = [values @ share for values, share in zip(exact, alone, strict=True)]
        found[2, part] = reading.n * np.prod(shares, axis=0)
    return Answers(truth=found[0], estimate=found[1], independent=found[2], n=reading.n)


def summarise(answers: Answers, keys: Keys, estimate: np.ndarray | None = None) -> ErrorSummary:
    """Mean, median and 90th percentile of relative errors, with intervals."""
    given = answers.estimate if estimate is None else estimate
    errors = answers.errors(given)
    floored = float((np.abs(given - answers.truth) / np.maximum(answers.truth, 0.001 * answers.n)).mean())
    counted, excluded = answers.truth.size, answers.truth.size - errors.size
    if not errors.size:
        return ErrorSummary(
            mean=None, median=None, p90=None, mean_interval=None, median_interval=None, floored=floored,
            queries=counted, excluded=excluded,
        )  # fmt: skip
    again = keys.generator("query bootstrap")
    means, medians = np.empty(_RESAMPLED), np.empty(_RESAMPLED)
    for k in range(_RESAMPLED):
        drawn = errors[again.integers(0, errors.size, errors.size)]
        means[k], medians[k] = drawn.mean(), np.median(drawn)
    return ErrorSummary(
        mean=float(errors.mean()), median=float(np.median(errors)), p90=float(np.quantile(errors, 0.9)),
        mean_interval=_middle(means), median_interval=_middle(medians), floored=floored, queries=counted,
        excluded=excluded,
    )  # fmt: skip


def normalised_are(are: Mapping[str, float]) -> dict[str, float]:
    """Average relative errors of methods as (x - b)/(a - b), a the smallest and b the largest: 1 is best (Loukides).

    All are 1 where all are equal.
    """
    best, worst = min(are.values(), default=0.0), max(are.values(), default=0.0)
    return {name: 1.0 if best == worst else (value - worst) / (best - worst) for name, value in are.items()}


def _middle(drawn: np.ndarray) -> tuple[float, float]:
    low, high = np.quantile(drawn, [0.025, 0.975])
    return float(low), float(high)


def columns_asked(reading: Reading, queries: Sequence[Query]) -> list[Asked]:
    """Conditions column by column, in the order of the queries."""
    listed: dict[str, tuple[list[int], list[tuple[str, ...]]]] = {}
    ranged: dict[str, tuple[list[int], list[float], list[float]]] = {}
    for number, query in enumerate(queries):
        for one in query.conditions:
            if one.values:
                places, texts = listed.setdefault(one.column, ([], []))
                places.append(number)
                texts.append(one.values)
            else:
                feature = known_feature(reading, one.column)
                places, low, high = ranged.setdefault(one.column, ([], [], []))
                places.append(number)
                low.append(as_number(feature, one.low))
                high.append(as_number(feature, one.high))
    names = [name for name in reading.features if name in listed or name in ranged]
    for name in [*listed, *ranged]:
        known_feature(reading, name)
    return [_of_column(reading.features[name], listed.get(name), ranged.get(name), len(queries)) for name in names]


def _of_column(feature: Feature, listed: tuple | None, ranged: tuple | None, count: int) -> Asked:  # type: ignore[type-arg]
    places, texts = listed if listed is not None else ([], [])
    between, low, high = ranged if ranged is not None else ([], [], [])
    # A value that no row has, here or in the release, is no error: another release may have it in its domain.
    codes = np.array([feature.place.get(text, -1) for text in chain.from_iterable(texts)], dtype=np.int64)
    query = np.repeat(np.array(places, dtype=np.int64), np.array([len(one) for one in texts], dtype=np.int64))
    used = np.zeros(count, dtype=bool)
    used[places] = True
    used[between] = True
    return Asked(
        feature, query[codes >= 0], codes[codes >= 0], np.array(between, dtype=np.int64), np.array(low, dtype=float),
        np.array(high, dtype=float), used,
    )  # fmt: skip


def _numbers(cells: np.ndarray) -> np.ndarray:
    return group_rows(cells, cells.max(axis=1) + 1)[0].astype(np.int32)


def _distinct(groups: np.ndarray, cells: np.ndarray) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Where each group begins, its distinct cells, and the rows that have them."""
    both = np.concatenate([groups[None, :].astype(np.int32), cells])
    _, first, counts = group_rows(both, both.max(axis=1) + 1)
    order = np.argsort(groups[first], kind="stable")
    first, counts = first[order], counts[order]
    at = np.searchsorted(groups[first], np.arange(int(groups.max(initial=-1)) + 2))
    return at.astype(np.int64), np.ascontiguousarray(cells[:, first].T), counts.astype(np.float64)


def _row_bits(codes: np.ndarray, card: int) -> np.ndarray:
    """uint64 (values, words): the rows of each value."""
    size = -(-codes.size // 64) * 64
    flags = np.zeros((card, size), dtype=bool)
    flags[codes, np.arange(codes.size)] = True
    return np.packbits(flags, axis=1, bitorder="little").view("<u8").astype(np.uint64)


# ----------------------------------------
# ``count-queries``: how far counts on a release are off.


# Points of the curve of sorted errors that a plot shows.
_POINTS = 101
# Queries whose own figures are listed.
_LISTED = 50


@dataclass(frozen=True, kw_only=True)
class CountQueries(Evaluation):
    """Answer count queries on the original and on the release, and compare.

    Parameters
    ----------
    workload
        ``"random"`` (Yang & Qiao: sensitive attributes and random quasi-identifiers among random values), ``"points"``
        (one value of every column), ``"type-1"`` or ``"type-2"`` (Loukides: a range of one quasi-identifier and an
        interval or a value of the sensitive attributes), a workload of :mod:`shoal.utility.queries`, or queries in
        words.
    """

    workload: str | Workload | Sequence[str] = "random"
    name: ClassVar[str] = "count-queries"

    def __post_init__(self) -> None:
        workload_of(self.workload)

    def refusal(self, reading: Reading) -> str | None:
        """A release of codes alone answers nothing."""
        return None if reading.features else "Every column is published as codes, so that no query can be answered."

    def looks_at(self, reading: Reading) -> Sequence[str]:
        """What can be asked for: columns of codes take no part."""
        return list(reading.features)

    def run(self, reading: Reading) -> list[Finding]:
        """Median, mean and 90th percentile of relative errors."""
        queries = workload_of(self.workload).make(reading)
        answers = answer(reading, queries)
        ours = summarise(answers, reading.keys)
        trivial = summarise(answers, reading.keys, answers.independent)
        also: dict[str, Any] = {
            "queries": ours.queries, "excluded": ours.excluded, "floored mean": ours.floored,
            "floored mean of independence": trivial.floored,
        }  # fmt: skip
        errors = answers.errors()
        if errors.size:
            places = np.linspace(0.0, 1.0, _POINTS)
            also["curve"] = np.quantile(errors, places).tolist()
            also["curve of independence"] = np.quantile(answers.errors(answers.independent), places).tolist()
        if len(queries) <= _LISTED:
            also["each"] = [
                {"query": str(query), "truth": int(truth), "estimate": float(estimate)}
                for query, truth, estimate in zip(queries, answers.truth, answers.estimate, strict=True)
            ]
        return _findings(ours, trivial, also)


def _findings(ours: ErrorSummary, trivial: ErrorSummary, also: dict[str, Any]) -> list[Finding]:
    if ours.median is None or trivial.median is None:
        sentence = f"All {ours.queries} queries have the true answer 0, so that there is no relative error."
        return [Finding(name="count-queries median", value=None, better="down", sentence=sentence, also=also)]
    counted = ours.queries - ours.excluded
    figures = [
        ("median", ours.median, ours.median_interval, trivial.median, "Half of the counts are off by at most {}"),
        ("mean", ours.mean, ours.mean_interval, trivial.mean, "On average counts are off by {}, tiny ones most"),
        ("90th percentile", ours.p90, None, trivial.p90, "Nine counts in ten are off by at most {}"),
    ]  # fmt: skip
    return [
        Finding(
            name=f"count-queries {name}", value=value, better="down", interval=interval, baseline=baseline,
            sentence=f"{told.format(_percent(value))} ({counted} queries; {_percent(baseline)} from one-way tables).",
            also=also if name == "median" else {},
        )
        for name, value, interval, baseline, told in figures
    ]  # fmt: skip


def _percent(value: float | None) -> str:
    return "nothing" if value is None else f"{value:.1%}" if value < 10 else f"{value:.0%}"
