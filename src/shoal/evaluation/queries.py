"""Count queries as frozen data, and makers of workloads of them.

A query is a conjunction: for each of some columns a list of values, or an interval with both ends. Values and ends are
texts as :class:`shoal.evaluation.reading.Feature` knows them, so that one workload serves any release of the same rows.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from shoal.data.hierarchy import MISSING
from shoal.data.values import format_date, format_number
from shoal.errors import InputError, ParameterError
from shoal.evaluation.view import Feature, Reading
from shoal.params import choice, nearest, real, whole

if TYPE_CHECKING:
    from shoal.data.hierarchy import Hierarchy

# Above this many values a random list of them would say no more than an interval does.
_MOST_LISTED = 2_000


@dataclass(frozen=True)
class Condition:
    """One column among some values, or from a low to a high end, both included."""

    column: str
    values: tuple[str, ...] = ()
    low: str = ""
    high: str = ""

    def __str__(self) -> str:
        name = quoted(self.column)
        if not self.values:
            return f"{name} in [{self.low}, {self.high}]"
        if len(self.values) == 1:
            return f"{name} = {quoted(self.values[0])}"
        return f"{name} in {{{', '.join(map(quoted, self.values))}}}"


@dataclass(frozen=True)
class Query:
    """Conditions that all have to hold, each of another column."""

    conditions: tuple[Condition, ...]

    def __str__(self) -> str:
        return " and ".join(map(str, self.conditions))


def quoted(text: str) -> str:
    """A name or value as the grammar of queries reads it back."""
    plain = text and not any(mark in text for mark in " \t={}[],\"'\\#") and text.lower() not in ("and", "in")
    if plain:
        return text
    escaped = text.replace("\\", "\\\\").replace('"', '\\"')
    return f'"{escaped}"'


@dataclass(frozen=True, kw_only=True)
class RandomQueries:
    """Sensitive attributes and some random quasi-identifiers, each among random values (Yang & Qiao, Sec. 7.2).

    For every attribute the number of values is uniform from 1 to the size of its domain, and the values are chosen at
    random. Where more than 2,000 values occur, an interval between two of them is asked for instead.

    Parameters
    ----------
    count
        How many queries.
    quasi
        Quasi-identifiers in each, all of them where there are fewer; None for a random number.
    """

    count: int = 1000
    quasi: int | None = None

    def __post_init__(self) -> None:
        whole("RandomQueries", "count", self.count, least=1)
        if self.quasi is not None:
            whole("RandomQueries", "quasi", self.quasi, least=0)

    def make(self, reading: Reading) -> list[Query]:
        """The queries."""
        draw = reading.keys.generator("random queries")
        names = reading.quasi
        asked = [*names, *reading.sensitive]
        most = len(names) if self.quasi is None else min(self.quasi, len(names))
        numbers = np.full(self.count, most)
        if self.quasi is None:
            numbers = draw.integers(0 if reading.sensitive else 1, most + 1, size=self.count)
        chosen = np.ones((self.count, len(asked)), dtype=bool)
        chosen[:, : len(names)] = draw.random((self.count, len(names))).argsort(axis=1) < numbers[:, None]
        drawn: list[list[Condition]] = [[] for _ in range(self.count)]
        for place, name in enumerate(asked):
            places = np.flatnonzero(chosen[:, place])
            for at, one in zip(places, _any_values(reading.features[name], draw, places.size), strict=True):
                drawn[at].append(one)
        found = [Query(tuple(conditions)) for conditions in drawn]
        return _some(found)


@dataclass(frozen=True, kw_only=True)
class PointQueries:
    """One random value of each of some columns (Loukides, Sec. 4.5.2, types 1 and 2).

    Parameters
    ----------
    count
        How many queries.
    columns
        Which columns; every quasi-identifier and sensitive attribute by default.
    """

    count: int = 10_000
    columns: Sequence[str] | None = None

    def __post_init__(self) -> None:
        whole("PointQueries", "count", self.count, least=1)

    def make(self, reading: Reading) -> list[Query]:
        """The queries."""
        draw = reading.keys.generator("point queries")
        names = [*reading.quasi, *reading.sensitive] if self.columns is None else list(self.columns)
        pickers = [_one_value(known_feature(reading, name), draw) for name in names]
        return _some([Query(tuple(pick() for pick in pickers)) for _ in range(self.count)])


@dataclass(frozen=True, kw_only=True)
class RangeQueries:
    """A random quasi-identifier within a range, and every sensitive attribute (Loukides, Sec. 6.3.1 and 6.4.1).

    Numbers and dates are asked for by an interval; columns with a hierarchy by a random node of some level, or by a
    leaf where that level is the root; other columns by one value.

    Parameters
    ----------
    count
        How many queries.
    width
        Difference of an interval's ends.
    share
        Width as a share of the column's range instead; then columns with a hierarchy of numbers, and ordinal ones,
        are asked for by an interval too.
    level
        Level of nodes.
    span
        How far beyond the random number u a numeric sensitive attribute may lie: 10 is Loukides's type 1 (between u
        and u + 10), 0 his type 2 (equal to u).
    u
        What u is drawn from, both ends included; by default so that u + span is still in the column's range.
    """

    count: int = 10_000
    width: float = 15.0
    share: float | None = None
    level: int = 1
    span: float = 10.0
    u: tuple[float, float] | None = None

    def __post_init__(self) -> None:
        whole("RangeQueries", "count", self.count, least=1)
        real("RangeQueries", "width", self.width, low=0.0)
        whole("RangeQueries", "level", self.level, least=0)
        real("RangeQueries", "span", self.span, low=0.0)
        if self.share is not None:
            real("RangeQueries", "share", self.share, low=0.0, high=1.0, open_low=True)
        if self.u is not None and not (len(self.u) == 2 and self.u[0] <= self.u[1]):
            raise ParameterError("The 'u' of RangeQueries must be a lowest and a highest number.")

    def make(self, reading: Reading) -> list[Query]:
        """The queries."""
        draw = reading.keys.generator("range queries")
        pickers = [self._quasi(reading.features[name], draw) for name in reading.quasi]
        beside = [self._sensitive(reading.features[name], draw) for name in reading.sensitive]
        found = []
        for _ in range(self.count):
            first = [pickers[int(draw.integers(len(pickers)))]()] if pickers else []
            found.append(Query((*first, *(pick() for pick in beside))))
        return _some(found)

    def _quasi(self, feature: Feature, draw: np.random.Generator) -> Callable[[], Condition]:
        ordered = feature.numbers is not None and (feature.hierarchy is None or self.share is not None)
        if ordered:
            return _interval(feature, draw, self.width, self.share, None)
        if feature.hierarchy is not None:
            return _node(feature, feature.hierarchy, draw, self.level)
        if self.share is not None and feature.type == "ordinal":
            return _run(feature, draw, self.share)
        return _one_value(feature, draw)

    def _sensitive(self, feature: Feature, draw: np.random.Generator) -> Callable[[], Condition]:
        if feature.numbers is None or (self.span == 0 and self.u is None):
            return _one_value(feature, draw)
        return _interval(feature, draw, self.span, None, self.u)


@dataclass(frozen=True, kw_only=True)
class GivenQueries:
    """Queries in words, such as ``age in [30, 40] and sex = "Female" and occupation in {Sales, Tech-support}``.

    Parameters
    ----------
    lines
        One query each; empty ones, and those that begin with ``#``, are skipped.
    """

    lines: Sequence[str]

    def make(self, reading: Reading) -> list[Query]:
        """The queries."""
        from shoal.evaluation.grammar import parse_queries

        return parse_queries(self.lines, reading)


Workload = RandomQueries | PointQueries | RangeQueries | GivenQueries
WORKLOADS: dict[str, Callable[[], Workload]] = {
    "random": RandomQueries,
    "points": PointQueries,
    "type-1": RangeQueries,
    "type-2": lambda: RangeQueries(span=0.0),
}


def workload_of(given: str | Workload | Sequence[str]) -> Workload:
    """A workload from its name, from queries in words, or as it is."""
    if isinstance(given, str):
        return WORKLOADS[choice("count-queries", "workload", given, WORKLOADS)]()
    if isinstance(given, RandomQueries | PointQueries | RangeQueries | GivenQueries):
        return given
    return GivenQueries(lines=tuple(given))


def known_feature(reading: Reading, name: Any) -> Feature:
    """A column of the release by its name; an unknown one proposes the nearest."""
    if name not in reading.features:
        if name in reading.left_out:
            raise InputError(f"Column '{name}' is published as codes, which say nothing about its values.")
        near = nearest(str(name), reading.features)
        hint = f"Did you mean '{near}'?" if near else f"Its columns are: {', '.join(reading.features)}."
        raise InputError(f"The release has no column '{name}'. {hint}")
    return reading.features[name]


def _some(queries: list[Query]) -> list[Query]:
    if any(not query.conditions for query in queries):
        raise InputError("The release has no column that a query could ask for.")
    return queries


def _occurring(feature: Feature) -> np.ndarray:
    """Places of the values that original rows have, which no release changes."""
    return np.unique(feature.original)


def _any_values(feature: Feature, draw: np.random.Generator, count: int) -> Iterator[Condition]:
    known = _occurring(feature)
    if known.size > _MOST_LISTED and feature.numbers is not None:
        known = known[np.isfinite(feature.numbers[known])]
        known = known[np.argsort(feature.numbers[known], kind="stable")]
        for low, high in known[np.sort(draw.integers(0, known.size, size=(count, 2)), axis=1)]:
            yield Condition(feature.name, low=feature.values[low], high=feature.values[high])
        return
    texts = np.array(feature.values, dtype=object)[known]
    for number in draw.integers(1, known.size + 1, size=count):
        chosen = np.sort(draw.permutation(known.size)[:number])
        yield Condition(feature.name, tuple(texts[chosen].tolist()))


def _one_value(feature: Feature, draw: np.random.Generator) -> Callable[[], Condition]:
    known = _occurring(feature)
    return lambda: Condition(feature.name, (feature.values[known[int(draw.integers(known.size))]],))


def _interval(
    feature: Feature, draw: np.random.Generator, width: float, share: float | None, start: tuple[float, float] | None
) -> Callable[[], Condition]:
    """An interval of a width, or of a share of the range of occurring numbers."""
    assert feature.numbers is not None
    numbers = feature.numbers[_occurring(feature)]
    low, high = float(np.nanmin(numbers)), float(np.nanmax(numbers))
    if share is not None:
        width = share * (high - low)
        width = max(round(width), 1) if feature.whole else width
    first, last = (low, max(low, high - width)) if start is None else start

    def pick() -> Condition:
        if feature.whole:
            at = float(draw.integers(int(np.ceil(first)), int(np.floor(last)) + 1))
        else:
            at = float(draw.uniform(first, last))
        ends = [at, np.floor(at + width) if feature.whole else at + width]
        return Condition(feature.name, low=_text(feature, ends[0]), high=_text(feature, ends[1]))

    return pick


def _text(feature: Feature, number: float) -> str:
    return format_date(int(number)) if feature.type == "date" else format_number(float(number))


def _node(feature: Feature, tree: Hierarchy, draw: np.random.Generator, level: int) -> Callable[[], Condition]:
    used = min(level, tree.height)
    nodes = tree.ancestors[0 if used == tree.height else used]
    leaves = np.array(tree.labels[0], dtype=object)
    known = leaves != MISSING
    groups = [tuple(leaves[(nodes == node) & known].tolist()) for node in np.unique(nodes[known])]
    return lambda: Condition(feature.name, groups[int(draw.integers(len(groups)))])


def _run(feature: Feature, draw: np.random.Generator, share: float) -> Callable[[], Condition]:
    """Neighbouring values of an ordinal column."""
    values = [value for value in feature.values if value != MISSING]
    length = max(round(share * len(values)), 1)

    def pick() -> Condition:
        at = int(draw.integers(len(values) - length + 1))
        return Condition(feature.name, tuple(values[at : at + length]))

    return pick
