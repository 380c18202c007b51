"""Counts of the original from counts of a randomised release: the redrawing undone on average, exactly.

Records are redrawn independently, and what the draws do to the conditions of a query depends on which of them a record
meets, its *pattern*, alone. Expected released counts are then polynomials in the counts of the original; all products
of such counts together, one a partition of the conditions, are linear in each other, so that one small matrix undoes
them. Since shares of single values enter by products of counts of different records, the estimate is unbiased although
nobody publishes what values were drawn from.
"""

from __future__ import annotations

import math
import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property, lru_cache
from itertools import product
from typing import Any

import numpy as np
import polars as pl

from shoal.errors import InputError
from shoal.recoding.kinds import Trait, made_of
from shoal.utility.count_queries import columns_asked
from shoal.utility.domains import Reading
from shoal.utility.queries import Query, parse_query
from shoal.utility.randomised import NORMAL, wilson
from shoal.utility.reading import read_published

# Partitions of so many redrawn columns and the other conditions are 203.
MOST = 5

Partition = tuple[int, ...]


@dataclass(frozen=True)
class Channel:
    """How a release was redrawn, as far as a query asks about it.

    Attributes
    ----------
    chances
        Of each redrawn column that the query asks about, to be the first one redrawn.
    redraw
        Columns redrawn in every record.
    drawn
        Columns that may be.
    """

    chances: tuple[float, ...]
    redraw: int
    drawn: int

    def chance(self, columns: int, redrawn: int) -> float:
        """Probability that of some columns (bits) exactly these are redrawn."""
        asked, hit = columns.bit_count(), redrawn.bit_count()
        if self.redraw == 1:
            if hit:
                return self.chances[redrawn.bit_length() - 1] if hit == 1 else 0.0
            none = 1.0 - sum(p for at, p in enumerate(self.chances) if columns >> at & 1)
            return none if none > 1e-9 else 0.0
        if not 0 <= self.redraw - hit <= self.drawn - asked:
            return 0.0
        return math.comb(self.drawn - asked, self.redraw - hit) / math.comb(self.drawn, self.redraw)

    @property
    def erased(self) -> bool:
        """Whether no record keeps all of the columns, so that nothing is left of what they have in common."""
        return self.chance((1 << len(self.chances)) - 1, 0) <= 0.0


@dataclass(frozen=True, eq=False)
class Patterns:
    """Released rows by what they meet.

    Attributes
    ----------
    channel
        How the columns were redrawn.
    counts
        float64, shape (2 ** columns, levels): rows by the conditions on redrawn columns that they meet, a bit each, and
        by how many of the other parts of the query they meet, one part after another.
    """

    channel: Channel
    counts: np.ndarray

    @cached_property
    def rows(self) -> float:
        """Released rows, as many as there were."""
        return float(self.counts.sum())

    def shares(self, level: int) -> np.ndarray:
        """Share of the rows that meet a set of conditions: bits of columns, and above these one for the level."""
        columns = len(self.channel.chances)
        both = np.stack([self.counts.sum(axis=1), self.counts[:, level:].sum(axis=1)]).reshape([2] * (columns + 1))
        for axis in range(1, columns + 1):
            both = np.flip(np.flip(both, axis).cumsum(axis), axis)
        return both.ravel() / self.rows

    def estimate(self, columns: int, level: int) -> tuple[float, np.ndarray]:
        """Unbiased count of original rows that meet some columns' conditions and a level, and each pattern's influence.

        The influence is how much one more released row of the pattern would add, shape as ``counts``.
        """
        whole = 1 << len(self.channel.chances)
        shares, used = self.shares(level), [at for at in range(whole.bit_length() - 1) if columns >> at & 1]
        narrow = Channel(tuple(self.channel.chances[at] for at in used), self.channel.redraw, self.channel.drawn)
        weights = _weights(narrow, int(self.rows))
        value, slopes = 0.0, np.zeros(2 * whole)
        for partition, weight in weights.items():
            masks = [_widened(mask, used, whole) for mask in partition]
            value += weight * math.prod(shares[mask] for mask in masks)
            for at, mask in enumerate(masks):
                slopes[mask] += weight * math.prod(shares[other] for k, other in enumerate(masks) if k != at)
        patterns = np.arange(whole)
        met = np.zeros((whole, self.counts.shape[1]))
        for mask in np.flatnonzero(slopes).tolist():
            asked = mask & (whole - 1)
            rows = np.flatnonzero(patterns & asked == asked)
            met[rows[:, None], np.arange(level if mask >= whole else 0, met.shape[1])] += slopes[mask]
        return float(self.rows * value), met

    def variance(self, influence: np.ndarray) -> float:
        """Variance of a sum of influences over all ways to redraw the table; that there are draws is all chance here.

        Estimated like the counts themselves: what a row of each original pattern spreads, times how many there are.
        """
        before, spread = self._spread(influence)
        return max(float((before * spread).sum()), 0.0)

    def interval(self, value: float, influence: np.ndarray, level: int, width: float) -> tuple[float, float]:
        """Counts of rows that meet all columns' conditions and a level, and from which the estimate is no wonder.

        Each count is held against the variance that it would give itself (Wilson's way): where few rows are released
        the variance that they give is far too small.

        Parameters
        ----------
        width
            Standard deviations to either side.
        """
        before, spread = self._spread(influence)
        before, each = np.maximum(before, 0.0), max(float(spread[-1, level]), 0.0)
        before[-1, level] = 0.0
        others = max(float((before * spread).sum()), 0.0)
        centre = value + width**2 * each / 2.0
        half = width * math.sqrt(max(others + value * each + (width * each) ** 2 / 4.0, 0.0))
        low, high = np.clip([centre - half, centre + half], 0.0, self.rows)
        return float(low), float(high)

    def _spread(self, influence: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """Estimated rows of each original pattern, and the variance of what one such row is released as."""
        shares = self.shares(0)
        kernel = _kernel(self.channel, [float(shares[1 << at]) for at in range(len(self.channel.chances))])
        return np.linalg.solve(kernel.T, self.counts), kernel @ influence**2 - (kernel @ influence) ** 2


def _widened(mask: int, used: Sequence[int], whole: int) -> int:
    """A set of the columns that are used, and perhaps the other conditions, as a set of all columns."""
    found = sum(1 << column for at, column in enumerate(used) if mask >> at & 1)
    return found | (whole if mask >> len(used) & 1 else 0)


def _kernel(channel: Channel, shares: Sequence[float]) -> np.ndarray:
    """Probability that a row of each pattern is released as each pattern."""
    size = 1 << len(shares)
    found = np.zeros((size, size))
    for redrawn in range(size):
        chance = channel.chance(size - 1, redrawn)
        drawn = [at for at in range(len(shares)) if redrawn >> at & 1]
        for met in product((0, 1), repeat=len(drawn)):
            bits = sum(1 << at for at, yes in zip(drawn, met, strict=True) if yes)
            likely = math.prod(shares[at] if yes else 1.0 - shares[at] for at, yes in zip(drawn, met, strict=True))
            patterns = np.arange(size)
            found[patterns, patterns & ~redrawn | bits] += chance * likely
    return found


@lru_cache(maxsize=256)
def _weights(channel: Channel, rows: int) -> dict[Partition, float]:
    """What products of released shares, one a partition of the conditions, are to be multiplied by.

    Sums over different records have expectations that factor. Each is a signed sum of products of shares (Möbius
    inversion on the lattice of partitions); so is its expectation, with the shares of the original in their place.
    """
    elements = len(channel.chances) + 1
    partitions = sorted({tuple(sorted(one)) for one in _partitions(list(range(elements)))})
    place = {partition: at for at, partition in enumerate(partitions)}
    ours, theirs = (np.zeros((len(partitions), len(partitions))) for _ in range(2))
    columns = (1 << (elements - 1)) - 1
    for partition, at in place.items():
        for joined in _partitions(list(range(len(partition)))):
            parts = [[partition[k] for k in range(len(partition)) if block >> k & 1] for block in joined]
            sign = math.prod((-1.0) ** (len(part) - 1) * math.factorial(len(part) - 1) for part in parts)
            sign *= float(rows) ** (len(parts) - len(partition))
            ours[at, place[tuple(sorted(sum(part) for part in parts))]] += sign
            for left, chance in _expected(channel, parts, columns):
                theirs[at, place[left]] += sign * chance
    top = np.zeros(len(partitions))
    top[place[((1 << elements) - 1,)]] = 1.0
    found = np.linalg.solve(theirs.T, top) @ ours
    return {partition: float(found[at]) for partition, at in place.items() if found[at]}


def _expected(channel: Channel, parts: Sequence[Sequence[int]], columns: int) -> Iterator[tuple[Partition, float]]:
    """What is left of the conditions of each part, the redrawn ones apart, and how likely that is."""
    ways = [
        [(bits, chance) for bits in _subsets(block & columns) if (chance := channel.chance(block & columns, bits))]
        for part in parts
        for block in part
    ]
    for way in product(*ways):
        gone = sum(bits for bits, _ in way)
        left = [rest for part in parts if (rest := sum(part) & ~gone)]
        apart = [1 << at for at in range(columns.bit_length()) if gone >> at & 1]
        yield tuple(sorted([*left, *apart])), math.prod(chance for _, chance in way)


def _subsets(mask: int) -> Iterator[int]:
    found = mask
    while True:
        yield found
        if not found:
            return
        found = (found - 1) & mask


def _partitions(elements: list[int]) -> Iterator[list[int]]:
    """Every partition of some elements, its blocks as bits."""
    if not elements:
        yield []
        return
    bit = 1 << elements[-1]
    for rest in _partitions(elements[:-1]):
        yield [*rest, bit]
        for at in range(len(rest)):
            yield [*rest[:at], rest[at] | bit, *rest[at + 1 :]]


# ----------------------------------------
# Counts and association rules of the original, estimated from a randomised release and its manifest alone.


_ARROW = re.compile(r"\s+->\s+")


@dataclass(frozen=True, kw_only=True)
class Estimate:
    """One figure of the original.

    Attributes
    ----------
    figure
        ``"count"``, ``"support"`` or ``"confidence"``.
    of
        The query or the rule, in words.
    value
        The estimate, which may lie outside what the figure can be: cutting it off would bias it. None for the
        confidence of a rule whose items are estimated to have no record.
    error
        Standard error over all ways to redraw the same table; that the table is a sample of others is not in it.
    interval
        From which to which it is likely to be, in about 95 of 100 releases; not the estimate and two standard errors to
        either side where the count is small.
    released
        The same figure of the released rows as they are.
    """

    figure: str
    of: str
    value: float | None
    error: float | None
    interval: tuple[float, float] | None
    released: float | None


def estimate_released(
    frame: pl.DataFrame, manifest: Mapping[str, Any], *, queries: Sequence[str] = (), rules: Sequence[str] = ()
) -> list[Estimate]:
    """Counts of queries, then supports and confidences of rules, in words such as ``age in [30, 40] -> job = nurse``.

    Counts and supports are unbiased: their mean over all ways to redraw the table is what the table has. A confidence
    is the ratio of two such counts, whose bias is small beside its standard error.
    """
    if not made_of(manifest).has(Trait.NOISE):
        raise InputError(
            "Estimates undo the redrawing of a randomised release, and nothing of this one was redrawn: compare its "
            "counts with the original's by the evaluation 'count-queries'."
        )
    reading = read_published(frame, manifest, frame)
    found = [_count(reading, manifest, one, number) for number, one in enumerate(queries, start=1)]
    for number, rule in enumerate(rules, start=1):
        found += _rule(reading, manifest, rule, number)
    if not found:
        raise InputError("There is nothing to estimate: give a query, such as 'age in [30, 40] and sex = Female'.")
    return found


def _parsed(reading: Reading, text: str, what: str) -> Query:
    try:
        return parse_query(text, reading)
    except InputError as error:
        raise InputError(f"{what}: {error}") from None


def _count(reading: Reading, manifest: Mapping[str, Any], text: str, number: int) -> Estimate:
    query = _parsed(reading, text, f"Query {number}")
    patterns, columns = _patterns(reading, manifest, [query], f"Query {number}")
    seen, n = float(patterns.counts[columns[-1], 1]), patterns.rows
    if patterns.channel.erased:  # every cell of one column, drawn from what the column has: right on average as it is
        low, high = wilson(seen / n, int(n))
        return _made("count", str(query), seen, seen * (1.0 - seen / n), (n * low, n * high), seen)
    value, influence = patterns.estimate(columns[-1], 1)
    ends = patterns.interval(value, influence, 1, NORMAL)
    return _made("count", str(query), value, patterns.variance(influence), ends, seen)


def _rule(reading: Reading, manifest: Mapping[str, Any], text: str, number: int) -> list[Estimate]:
    """Support and confidence: of all records, and of those that have the items, the share that have the rest too."""
    what = f"Rule {number}"
    sides = _ARROW.split(text)
    if len(sides) != 2:
        raise InputError(
            f"{what}: It must have one '->', with spaces around it, between its items and what follows from them."
        )
    given, then = (_parsed(reading, side, what) for side in sides)
    twice = {one.column for one in given.conditions} & {one.column for one in then.conditions}
    if twice:
        raise InputError(f"{what}: Column '{min(twice)}' stands on both of its sides: leave it out on one.")
    patterns, (items, both) = _patterns(reading, manifest, [given, then], what)
    words = f"{given} -> {then}"
    top, ours = patterns.estimate(both, 2)
    bottom, theirs = patterns.estimate(items, 1)
    met, seen = float(patterns.counts[both, 2]), _released(patterns, items)
    n = patterns.rows
    low, high = patterns.interval(top, ours, 2, NORMAL)
    support = _made("support", words, top / n, patterns.variance(ours / n), (low / n, high / n), met / n)
    if bottom <= 0:
        return [support, Estimate(figure="confidence", of=words, value=None, error=None, interval=None,
                                  released=met / seen if seen else None)]  # fmt: skip
    share = top / bottom
    spread = patterns.variance((ours - share * theirs) / bottom)
    low, high = np.clip(share + NORMAL * np.sqrt(spread) * np.array([-1.0, 1.0]), 0.0, 1.0)
    ends = float(low), float(high)
    return [support, _made("confidence", words, share, spread, ends, met / seen if seen else None)]


def _released(patterns: Patterns, items: int) -> float:
    """Released rows that meet some columns' conditions and the first part of the others."""
    rows = np.arange(patterns.counts.shape[0])
    return float(patterns.counts[rows & items == items, 1:].sum())


def _made(
    figure: str, of: str, value: float, variance: float, interval: tuple[float, float], released: float | None
) -> Estimate:
    return Estimate(
        figure=figure, of=of, value=value, error=float(np.sqrt(variance)), interval=interval, released=released
    )


def _patterns(
    reading: Reading, manifest: Mapping[str, Any], parts: Sequence[Query], what: str
) -> tuple[Patterns, list[int]]:
    """Released rows by the conditions that they meet, and the redrawn columns (bits) of the first parts."""
    chances = {entry["name"]: float(entry.get("p", 0.0)) for entry in manifest["columns"]}
    moving = [one.column for part in parts for one in part.conditions if chances[one.column] > 0]
    drawn = sum(p > 0 for p in chances.values())
    channel = Channel(tuple(chances[name] for name in moving), manifest["redraw"], drawn)
    if len(moving) > MOST:
        raise InputError(f"{what} asks about {len(moving)} redrawn columns, and at most {MOST} can be undone together.")
    alone = sum(len(part.conditions) for part in parts) == 1
    if channel.erased and not alone:
        raise InputError(
            f"{what} asks about {len(moving)} of the {drawn} redrawn columns, and every record had one of these "
            "redrawn: nothing is left of what they have in common, or with others, so ask about fewer."
        )
    code, level = np.zeros(reading.rows, dtype=np.int64), np.zeros(reading.rows, dtype=np.int64)
    masks: list[int] = []
    through = np.ones(reading.rows, dtype=bool)
    for part in parts:
        for one in columns_asked(reading, [part]):
            met = one.values(slice(0, 1))[0].astype(bool)[one.feature.released()]
            if one.feature.name in moving:
                code |= met.astype(np.int64) << moving.index(one.feature.name)
            else:
                through &= met
        level += through
        names = {one.column for earlier in parts[: len(masks) + 1] for one in earlier.conditions}
        masks.append(sum(1 << at for at, name in enumerate(moving) if name in names))
    counts = np.zeros((1 << len(moving), len(parts) + 1))
    np.add.at(counts, (code, level), 1.0)
    return Patterns(channel, counts), masks
