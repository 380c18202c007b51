"""Sensitive ranges as the manifest gives them, read strictly, and laid out along an axis of our own.

A policy is ``{"intervals": [[low, high], ...]}`` (the first that contains a value is its range), ``{"sets": [[value,
...], ...]}``, ``{"level": n}``, ``{"each": [[value, low, high], ...]}`` or ``{"nodes": [[value, label], ...]}``, with
``"else"`` beside it: a value without a range has itself alone, or may not occur. With ``"part"`` the ranges of values
that are not released are left out, and so are those of a level whose labels are not said. Without a policy every
value's range is itself.
"""

from __future__ import annotations

from bisect import bisect_left, bisect_right
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import polars as pl

from shoal.errors import VerificationError
from shoal.verify.values import MISSING, canonical

_WIDTHS = {"intervals": 2, "sets": None, "each": 3, "nodes": 2}


@dataclass(frozen=True, eq=False)
class Policy:
    """Which kind of policy, its entries (a number for a level), what values without a range get, and if all is told."""

    kind: str
    entries: Any
    other: str
    part: bool


@dataclass(frozen=True, eq=False)
class Layout:
    """Places of values, and the ends of their ranges.

    Attributes
    ----------
    place
        Place of every value code; no two share one.
    low, high
        Ends of the range of each code; ``low`` is -1 where the policy gives none and demands one.
    declared
        Ends of every range the policy names, whether or not it is the range of a value.
    """

    place: np.ndarray
    low: np.ndarray
    high: np.ndarray
    declared: Sequence[tuple[int, int]]


def read_policy(given: Any, kind: str, hierarchy: Any, where: str) -> Policy | None:
    """Read the policy of a column of type ``kind``; None where there is none."""
    if given is None:
        return None
    forms = [key for key in given if key not in ("else", "part")] if isinstance(given, Mapping) else []
    if len(forms) != 1 or forms[0] not in (*_WIDTHS, "level"):
        raise VerificationError(f"{where} has a 'policy' of no known form.")
    form, entries = forms[0], given[forms[0]]
    if form == "level":
        depth = len(hierarchy[0]) if hierarchy else 0
        if not isinstance(entries, int) or isinstance(entries, bool) or not 0 <= entries < depth or len(given) > 1:
            raise VerificationError(f"{where} has a policy whose level its hierarchy lacks.")
        return Policy(form, entries, "error", any(row[0] is not None and row[entries] is None for row in hierarchy))
    other = given.get("else")
    width = _WIDTHS[form]
    listed = isinstance(entries, list | tuple) and all(
        isinstance(row, list | tuple)
        and row
        and (width is None or len(row) == width)
        and all(isinstance(text, str) for text in row)
        for row in entries
    )
    if not listed or not (entries or given.get("part")) or other not in ("value", "error"):
        raise VerificationError(f"{where} has a policy that is incomplete.")
    if form in ("intervals", "each") and kind == "categorical":
        raise VerificationError(f"{where} has a policy of intervals, but no order.")
    if form == "sets" and (kind != "categorical" or hierarchy is not None):
        raise VerificationError(f"{where} has a policy of sets, but an order or a hierarchy.")
    if form == "nodes" and hierarchy is None:
        raise VerificationError(f"{where} has a policy of labels, but no hierarchy.")
    return Policy(form, entries, other, given.get("part") is True)


def lay_out(policy: Policy | None, column: Any, texts: pl.Series, numbers: np.ndarray) -> Layout:
    """Places and ranges of the values with these canonical texts and numbers."""
    if policy is None:
        places = np.arange(len(texts))
        return Layout(places, places, places, ())
    if policy.kind == "sets":
        keys, ranges, owner = _sets(policy, column, texts)
    elif policy.kind in ("level", "nodes"):
        keys, ranges, owner = _nodes(policy, column, texts)
    else:
        keys, ranges, owner = _intervals(policy, column, texts, numbers)
    # Values that the axis does not know stand behind all others.
    order = sorted(range(len(keys)), key=lambda code: (keys[code] is None, keys[code]))
    place = np.empty(len(keys), dtype=np.int64)
    place[order] = np.arange(len(keys))
    ordered = [keys[code] for code in order if keys[code] is not None]
    ends = [(bisect_left(ordered, low), bisect_right(ordered, high) - 1) for low, high in ranges]
    low, high = place.copy(), place.copy()
    for code, number in enumerate(owner):
        if number is not None:
            low[code], high[code] = ends[number]
        elif policy.other == "error":
            low[code], high[code] = -1, -1
    return Layout(place, low, high, [(first, last) for first, last in ends if first <= last])


def exact(text: str | None, number: float) -> int | float | None:
    """A number without rounding where it is whole; None where there is none."""
    if text is None or np.isnan(number):
        return None
    return int(text) if text.lstrip("-").isdigit() else float(number)


def ranks(column: Any, texts: Sequence[str | None]) -> list[int | None]:
    """Ranks in the order of an ordinal column."""
    order = {text: place for place, text in enumerate(_texts(column.order or (), column.type))}
    return [order.get(text) for text in texts]


def _intervals(policy: Policy, column: Any, texts: pl.Series, numbers: np.ndarray) -> tuple[list, list, list]:
    keys = _axis(column, texts, numbers)
    width = 2 if policy.kind == "intervals" else 3
    flat, found = canonical(pl.Series([text for row in policy.entries for text in row]), column.type)
    ends = _axis(column, flat, found)
    rows = [ends[at : at + width] for at in range(0, len(ends), width)]
    if any(None in row for row in rows) or any(row[-2] > row[-1] for row in rows):
        raise VerificationError(
            f"The policy of '{column.name}' has a range whose ends are not in order or not readable."
        )
    if width == 2:
        return keys, rows, [_first(rows, key) for key in keys]
    if any(not low <= value <= high for value, low, high in rows):
        raise VerificationError(f"The policy of '{column.name}' has a range that does not contain its value.")
    mine = {row[0]: number for number, row in enumerate(rows)}
    _refuse_repeats(mine, rows, column)
    return keys, [row[1:] for row in rows], [mine.get(key) for key in keys]


def _axis(column: Any, texts: pl.Series, numbers: np.ndarray) -> list:
    if column.type == "ordinal":
        return ranks(column, texts.to_list())
    return [exact(text, number) for text, number in zip(texts.to_list(), numbers.tolist(), strict=True)]


def _first(rows: Sequence[Sequence[Any]], key: Any) -> int | None:
    if key is None:
        return None
    return next((number for number, (low, high) in enumerate(rows) if low <= key <= high), None)


def _sets(policy: Policy, column: Any, texts: pl.Series) -> tuple[list, list, list]:
    mine = {}
    for number, row in enumerate(policy.entries):
        for text in _texts(row, column.type):
            if text in mine:
                raise VerificationError(f"The policy of '{column.name}' has a value in two ranges.")
            mine[text] = number
    values = texts.to_list()
    keys = [(mine[text], place) if text in mine else None for place, text in enumerate(values)]
    ranges = [((number, -1), (number, len(values))) for number in range(len(policy.entries))]
    return keys, ranges, [mine.get(text) for text in values]


def _nodes(policy: Policy, column: Any, texts: pl.Series) -> tuple[list, list, list]:
    """Leaves in the order of their paths from the root, in which the leaves of a node are neighbours."""
    # Of a hierarchy that is not whole, rows may begin with a label above leaves, and labels between may be left out.
    said = [row for row in column.hierarchy if row[0] not in (None, MISSING)]
    rows = sorted(said, key=lambda row: [(label is not None, label) for label in reversed(row)])
    leaves = dict(zip(_texts([row[0] for row in rows], column.type), range(len(rows)), strict=True))
    keys = [leaves.get(text) for text in texts.to_list()]
    if policy.kind == "level":
        label = {place: row[policy.entries] for place, row in enumerate(rows) if row[policy.entries] is not None}
    else:
        names = _texts([row[0] for row in policy.entries], column.type)
        pairs = [(name, row[1]) for name, row in zip(names, policy.entries, strict=True)]
        if any(name not in leaves or label not in rows[leaves[name]] for name, label in pairs):
            raise VerificationError(f"The policy of '{column.name}' has a range that does not contain its value.")
        label = {leaves[name]: node for name, node in pairs}
        _refuse_repeats(label, policy.entries, column)
    labels = list(dict.fromkeys(label.values()))
    inside: dict[str, list[int]] = {name: [] for name in labels}
    for place, row in enumerate(rows):
        for name in set(row) & set(inside):
            inside[name].append(place)
    number = {name: at for at, name in enumerate(labels)}
    owner = [number[label[key]] if key in label else None for key in keys]
    return keys, [(inside[name][0], inside[name][-1]) for name in labels], owner


def _refuse_repeats(found: Mapping[Any, Any], rows: Sequence[Any], column: Any) -> None:
    if len(found) < len(rows):
        raise VerificationError(f"The policy of '{column.name}' gives a value two ranges.")


def _texts(values: Sequence[str], kind: str) -> list[str | None]:
    return canonical(pl.Series(list(values), dtype=pl.String), kind)[0].to_list()
