"""Counts and association rules of the original, estimated from a randomised release and its manifest alone."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import polars as pl

from shoal.errors import InputError
from shoal.evaluation.estimate import columns_asked
from shoal.evaluation.grammar import parse_query
from shoal.evaluation.queries import Query
from shoal.evaluation.reading import read_published
from shoal.evaluation.unbiased import MOST, Channel, Patterns
from shoal.evaluation.view import Reading
from shoal.measures.intervals import NORMAL, wilson
from shoal.recoding.kinds import Trait, made_of

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
