"""Count queries as frozen data, and makers of workloads of them.

A query is a conjunction: for each of some columns a list of values, or an interval with both ends. Values and ends are
texts as :class:`shoal.utility.reading.Feature` knows them, so that one workload serves any release of the same rows.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from datetime import date
from typing import TYPE_CHECKING, Any

import numpy as np

from shoal.data.hierarchy import MISSING
from shoal.data.values import format_date, format_number
from shoal.errors import InputError, ParameterError
from shoal.params import choice, nearest, real, whole
from shoal.utility.domains import Feature, Reading

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
            return _draw_interval(feature, draw, self.width, self.share, None)
        if feature.hierarchy is not None:
            return _node(feature, feature.hierarchy, draw, self.level)
        if self.share is not None and feature.type == "ordinal":
            return _run(feature, draw, self.share)
        return _one_value(feature, draw)

    def _sensitive(self, feature: Feature, draw: np.random.Generator) -> Callable[[], Condition]:
        if feature.numbers is None or (self.span == 0 and self.u is None):
            return _one_value(feature, draw)
        return _draw_interval(feature, draw, self.span, None, self.u)


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


def _draw_interval(
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


# ----------------------------------------
# Count queries in words.
#
# ::
#
# query      := condition ("and" condition)* condition  := column "=" value | column "in" "{" value ("," value)* "}"
# | column "in" "[" value "," value "]"          both ends included; numbers, dates and ordered values
#
# Columns and values stand bare, or in single or double quotes where they hold spaces or one of ``= { } [ ] , " ' \
# #``; within quotes a backslash escapes. A label of a column's hierarchy stands for all values below it.


_TOKEN = re.compile(
    r"""\s*(?:(?P<mark>[={}\[\],])|"(?P<double>(?:[^"\\]|\\.)*)"|'(?P<single>(?:[^'\\]|\\.)*)'|(?P<bare>[^\s={}\[\],"'\\#]+))"""
)
_EPOCH = date(1970, 1, 1).toordinal()
_END = ("end", "the end")


def parse_queries(lines: Sequence[str], reading: Reading) -> list[Query]:
    """Every query of a file; an error names its line."""
    found = []
    for number, line in enumerate(lines, start=1):
        if not line.strip() or line.lstrip().startswith("#"):
            continue
        try:
            found.append(parse_query(line, reading))
        except InputError as error:
            raise InputError(f"Query {number}: {error}") from None
    if not found:
        raise InputError("There is no query: write one a line, such as 'age in [30, 40] and sex = Female'.")
    return found


def parse_query(text: str, reading: Reading) -> Query:
    """Read one query and hold its columns and values against a release.

    Raises
    ------
    InputError
        When it does not follow the grammar, or names a column or value that there is not.
    """
    tokens = _tokens(text)
    conditions: list[Condition] = []
    while True:
        conditions.append(_condition(tokens, reading))
        word = tokens.pop(0)
        if word == _END:
            break
        if word[0] != "bare" or word[1].lower() != "and":
            raise InputError(f"'{word[1]}' stands where 'and' or the end was expected.")
    names = [one.column for one in conditions]
    for name in names:
        if names.count(name) > 1:
            raise InputError(f"Column '{name}' has two conditions: join them into one.")
    return Query(tuple(conditions))


def _tokens(text: str) -> list[tuple[str, str]]:
    found, at, text = [], 0, text.rstrip()
    while at < len(text):
        match = _TOKEN.match(text, at)
        if match is None:
            raise InputError(
                f"Its character {at + 1} cannot be read: put names and values with special characters in quotes."
            )
        kind = str(match.lastgroup)
        value = match[kind]
        found.append((kind, re.sub(r"\\(.)", r"\1", value) if kind in ("double", "single") else value))
        at = match.end()
    return [*found, _END]


def _condition(tokens: list[tuple[str, str]], reading: Reading) -> Condition:
    feature = known_feature(reading, _word(tokens, "a column"))
    kind, text = tokens.pop(0)
    if (kind, text) == ("mark", "="):
        return Condition(feature.name, _values(feature, _word(tokens, "a value")))
    if kind != "bare" or text.lower() != "in":
        raise InputError(f"After column '{feature.name}' there has to be '=' or 'in'.")
    opening = tokens.pop(0)
    if opening == ("mark", "["):
        low = _word(tokens, "a lowest value")
        _mark(tokens, ",")
        high = _word(tokens, "a highest value")
        _mark(tokens, "]")
        return _read_interval(feature, low, high)
    if opening != ("mark", "{"):
        raise InputError(f"After '{feature.name} in' there has to be a list {{a, b}} or an interval [lo, hi].")
    listed = [*_values(feature, _word(tokens, "a value"))]
    while tokens[0] == ("mark", ","):
        tokens.pop(0)
        listed += _values(feature, _word(tokens, "a value"))
    _mark(tokens, "}")
    return Condition(feature.name, tuple(dict.fromkeys(listed)))


def _word(tokens: list[tuple[str, str]], what: str) -> str:
    kind, text = tokens.pop(0)
    if kind in ("mark", "end"):
        raise InputError(f"{'It ends' if kind == 'end' else repr(text) + ' stands'} where {what} was expected.")
    return text


def _mark(tokens: list[tuple[str, str]], mark: str) -> None:
    kind, text = tokens.pop(0)
    if (kind, text) != ("mark", mark):
        raise InputError(f"{'It ends' if kind == 'end' else repr(text) + ' stands'} where '{mark}' was expected.")


def _values(feature: Feature, text: str) -> tuple[str, ...]:
    """The values that a text stands for: itself, or all below a label of the hierarchy."""
    for one in (text, _canonical(feature, text)):
        if one in feature.place:
            return (one,)
    tree = feature.hierarchy
    if tree is not None:
        for labels, nodes in zip(tree.labels, tree.ancestors, strict=True):
            if text in labels:
                below = np.flatnonzero(nodes == labels.index(text))
                return tuple(tree.labels[0][leaf] for leaf in below if tree.labels[0][leaf] != MISSING)
    # A domain of sensitive values is nobody's business; those of quasi-identifiers may be named.
    near = nearest(text, feature.values) if feature.role == "quasi" else None
    raise InputError(f"Column '{feature.name}' has no value '{text}'." + (f" Did you mean '{near}'?" if near else ""))


def _canonical(feature: Feature, text: str) -> str:
    if feature.type != "numeric":
        return text
    try:
        return format_number(float(text))
    except (ValueError, OverflowError, InputError):
        return text


def _read_interval(feature: Feature, low: str, high: str) -> Condition:
    if feature.numbers is not None:
        ends = [as_number(feature, end) for end in (low, high)]
        if ends[0] > ends[1]:
            raise InputError(f"The interval of column '{feature.name}' is upside down: give the lowest value first.")
        return Condition(feature.name, low=low, high=high)
    if feature.type != "ordinal":
        raise InputError(f"Column '{feature.name}' has no order: list its values as {{a, b}}.")
    first, last = (feature.place[_values(feature, end)[0]] for end in (low, high))
    if first > last:
        raise InputError(f"The interval of column '{feature.name}' is upside down: give the lowest value first.")
    return Condition(feature.name, tuple(feature.values[first : last + 1]))


def as_number(feature: Feature, text: str) -> float:
    """An end of an interval as a number, days for dates."""
    what = "a date such as 2024-03-31" if feature.type == "date" else "a number"
    try:
        if feature.type == "date":
            return float(date.fromisoformat(text).toordinal() - _EPOCH)
        number = float(text)
    except ValueError:
        number = np.nan
    if not np.isfinite(number):
        raise InputError(f"An end of the interval of column '{feature.name}' is not {what}.")
    return number
