"""Sensitive ranges: which values of a sensitive column must not be told apart from each value.

SR(u) contains u. On a suitable axis every range is a stretch, so that a policy is three numbers a code: its place and
the two ends of its range. Codes of ordered and tree columns are their own places.
"""

from __future__ import annotations

import math
from bisect import bisect_left, bisect_right
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import date
from decimal import Decimal, InvalidOperation
from typing import Any

import numpy as np

from shoal.data.column import FLAT, TREE, Closeness, Column
from shoal.data.stats import unknown_flags, value_text
from shoal.data.table import Table
from shoal.data.values import format_date, format_number
from shoal.errors import PolicyError
from shoal.params import nearest

# ----------------------------------------
# The ends of sensitive ranges: numbers, dates and ranks, compared exactly.


_MOST_DIGITS = 100  # no column has numbers beyond
_EPOCH = date(1970, 1, 1).toordinal()


class RangeEnds:
    """Reads the ends of ranges of one ordered column, and finds the codes between them.

    A column whose hierarchy mixes up the order of its numbers has none.
    """

    def __init__(self, column: Column) -> None:
        if column.type == "categorical":
            how = "{ level = 2 }, or lines of 'value;label'" if column.kind == TREE else "lists of its values"
            raise PolicyError(f"Column '{column.name}' has no order, so its ranges need {how}.")
        if column.type == "ordinal" and column.kind == TREE:
            raise PolicyError(f"Column '{column.name}' has a hierarchy: give its ranges by a level or by labels.")
        if column.type != "ordinal" and column.numbers is None:
            raise PolicyError(
                f"The hierarchy of '{column.name}' puts numbers together that are no neighbours: give its ranges by "
                "a level or by labels."
            )
        self._column = column
        known = column.card - (column.missing >= 0)
        self._texts = column.texts.to_list()[:known]
        self._rank = {text: place for place, text in enumerate(self._texts)}
        self._numbers: Sequence[Any] = range(known) if column.numbers is None else column.numbers.tolist()

    def read(self, value: Any) -> Any:
        """An end as something to compare the column's values with."""
        text = _text(value)
        try:
            if self._column.type == "ordinal":
                return self._rank[text]
            if self._column.type == "date":
                return date.fromisoformat(text).toordinal() - _EPOCH
            number = Decimal(text)
            if not number.is_finite() or number.adjusted() > _MOST_DIGITS:
                raise ValueError(text)
            return int(number) if number == number.to_integral_value() else float(number)
        except (KeyError, ValueError, InvalidOperation):
            what = {"ordinal": "value of its order", "date": "ISO date"}.get(self._column.type, "number")
            raise PolicyError(f"A range of '{self._column.name}' has the end {text!r}, which is no {what}.") from None

    def text(self, end: Any) -> str:
        """The one text of an end."""
        if self._column.type == "ordinal":
            return self._texts[end]
        return format_date(end) if self._column.type == "date" else format_number(end)

    def stretch(self, first: Any, last: Any) -> tuple[int, int]:
        """First and last code inside a range; the last is before the first where there is none."""
        if first > last:
            raise PolicyError(
                f"A range of '{self._column.name}' is upside down, from {self.text(first)} to {self.text(last)}: give "
                "its lowest value first."
            )
        return bisect_left(self._numbers, first), bisect_right(self._numbers, last) - 1

    def code(self, value: Any) -> int:
        """Code of a value, -1 where the table does not have it."""
        place = bisect_left(self._numbers, value)
        return place if place < len(self._numbers) and self._numbers[place] == value else -1


def value_texts(column: Column, values: Sequence[Any]) -> list[str]:
    """Texts by which a column knows the values of one range."""
    return [value_text(column, _text(value)) for value in values]


def _text(value: Any) -> str:
    if isinstance(value, date):
        return value.isoformat()
    if isinstance(value, float) and math.isfinite(value):
        return format_number(value)
    if isinstance(value, bool) or not isinstance(value, str | int | Decimal):
        raise PolicyError(f"A range has the entry {value!r}: it must be a number, a date or a text.")
    return str(value)


VALUE = "value"


@dataclass(frozen=True, eq=False, kw_only=True)
class Policy:
    """The sensitive range of every code of a column.

    Attributes
    ----------
    axis
        int64 place of every code; x is in the range of u where ``low[u] <= axis[x] <= high[u]``.
    low, high
        int64 ends of every code's range, as places.
    reach
        int64, by code: how far a range of the policy that begins at or before the code's place reaches.
    partition
        Whether values in one range all have that range.
    plain
        The policy as a manifest gives it, None where every range is its value alone.
    """

    axis: np.ndarray
    low: np.ndarray
    high: np.ndarray
    reach: np.ndarray
    partition: bool
    plain: Mapping[str, Any] | None

    def pairs_reference(self, closeness: Closeness) -> np.ndarray:
        """What the kernel of range diversity looks up."""
        return np.concatenate([self.axis, self.low, self.high, closeness.ref]).astype(np.float64)

    def share_reference(self) -> np.ndarray:
        """What the kernel of range confidence looks up."""
        return np.concatenate([self.axis, self.reach]).astype(np.float64)


@dataclass(frozen=True, eq=False)
class _Draft:
    """Ranges before values without one are dealt with: low is -1 there. ``declared`` are all stretches named."""

    axis: np.ndarray
    low: np.ndarray
    high: np.ndarray
    declared: Sequence[tuple[int, int]]
    plain: dict[str, Any] | None


def set_policies(table: Table, given: Mapping[str, Any]) -> Table:
    """The same table with policies for some of its sensitive columns."""
    columns = dict(table.columns)
    for name, entry in given.items():
        if table.schema.role(name) != "sensitive":
            near = nearest(name, table.schema.sensitive)
            hint = f"did you mean '{near}'?" if near else "remove it, or give the column that role."
            raise PolicyError(f"There is a policy for '{name}', which is not a sensitive column: {hint}")
        columns[name] = replace(columns[name], policy=make_policy(columns[name], entry))
    return table.knowing(columns=columns)


def given_policy(plain: Mapping[str, Any]) -> dict[str, Any]:
    """A policy as a manifest gives it (`Policy.plain`), in the words of a recipe."""
    kind = next(key for key in ("intervals", "sets", "each", "nodes", "level") if key in plain)
    ranges = plain[kind] if kind in ("intervals", "sets") else {"level": plain[kind]} if kind == "level" else {
        "each": plain[kind]
    }
    return {"ranges": ranges, "else": plain.get("else", "error")}


def policy_of(column: Column) -> Policy:
    """The policy of a sensitive column; without one, the range of every value is the value itself."""
    return column.policy if column.policy is not None else make_policy(column, VALUE)


def make_policy(column: Column, given: Any) -> Policy:
    """Read a policy: ``"value"``, a list of ranges, ``{"level": 2}``, ``{"each": rows}``, or one of these under
    ``"ranges"`` with ``"else"`` beside it."""
    ranges, other = _parts(column, given)
    draft = _draft(column, ranges)
    known = unknown_flags(column) == 0
    low, high = draft.low.copy(), draft.high.copy()
    loose = low < 0
    count = int((loose & known & (column.frequencies > 0)).sum())
    if other == "error" and count:
        raise PolicyError(
            f"The policy of '{column.name}' gives {count} of its values no range: add ranges, or set else to 'value'."
        )
    low[loose], high[loose] = draft.axis[loose], draft.axis[loose]
    plain = None if draft.plain is None else draft.plain | ({} if "level" in draft.plain else {"else": other})
    return Policy(
        axis=draft.axis,
        low=low,
        high=high,
        reach=_reach(draft.axis, low, high, draft.declared),
        partition=_is_partition(draft.axis[known], low[known], high[known]),
        plain=plain,
    )


def _parts(column: Column, given: Any) -> tuple[Any, str]:
    if not isinstance(given, Mapping) or "ranges" not in given:
        return given, "error"
    extra = [key for key in given if key not in ("ranges", "else")]
    if extra:
        raise PolicyError(f"The policy of '{column.name}' has no entry '{extra[0]}': it has 'ranges' and 'else'.")
    other = given.get("else", "error")
    if other not in (VALUE, "error"):
        raise PolicyError(f"The 'else' of the policy of '{column.name}' must be 'value' or 'error'. Got {other!r}.")
    return given["ranges"], other


def _draft(column: Column, ranges: Any) -> _Draft:
    places = np.arange(column.card, dtype=np.int64)
    if isinstance(ranges, str) and ranges == VALUE:
        return _Draft(places, places, places, (), None)
    if isinstance(ranges, Mapping) and set(ranges) == {"level"}:
        return _by_level(column, ranges["level"])
    if isinstance(ranges, Mapping) and set(ranges) == {"each"}:
        return _by_value(column, ranges["each"])
    listed = isinstance(ranges, list | tuple) and all(isinstance(one, list | tuple) and one for one in ranges)
    if not listed or not ranges:
        raise PolicyError(
            f"The ranges of '{column.name}' must be 'value', a file, a level such as {{ level = 2 }}, or a list of "
            "ranges such as [[0, 9], [10, 15]]."
        )
    return _by_sets(column, ranges) if column.kind == FLAT else _by_intervals(column, ranges)


def _by_intervals(column: Column, ranges: Sequence[Sequence[Any]]) -> _Draft:
    """Closed intervals; the first that contains a value is its range."""
    ends = RangeEnds(column)
    low, high = (np.full(column.card, -1, dtype=np.int64) for _ in range(2))
    declared, plain = [], []
    for one in ranges:
        if len(one) != 2:
            raise PolicyError(f"A range of '{column.name}' must be its lowest and its highest value. Got {list(one)}.")
        first, last = (ends.read(end) for end in one)
        start, stop = ends.stretch(first, last)
        plain.append([ends.text(first), ends.text(last)])
        declared.append((start, stop))
        free = slice(start, stop + 1)
        mine = np.flatnonzero(low[free] < 0) + start
        low[mine], high[mine] = start, stop
    return _Draft(np.arange(column.card, dtype=np.int64), low, high, declared, {"intervals": plain})


def _by_sets(column: Column, sets: Sequence[Sequence[Any]]) -> _Draft:
    """Lists of values; a value is in one of them at most, so that each can stand together on the axis."""
    code = {text: place for place, text in enumerate(column.texts.to_list())}
    block = np.full(column.card, len(sets), dtype=np.int64)
    plain: list[list[str]] = [value_texts(column, one) for one in sets]
    named = [text for one in plain for text in one]
    if len(set(named)) < len(named):
        raise PolicyError(f"The policy of '{column.name}' has a value in two ranges: keep it in one of them.")
    for number, texts in enumerate(plain):
        block[[code[text] for text in texts if text in code]] = number
    order = np.argsort(block, kind="stable")
    axis = np.empty(column.card, dtype=np.int64)
    axis[order] = np.arange(column.card)
    start = np.searchsorted(block[order], block, side="left").astype(np.int64)
    stop = np.searchsorted(block[order], block, side="right").astype(np.int64) - 1
    loose = block == len(sets)
    return _Draft(axis, np.where(loose, -1, start), np.where(loose, -1, stop), (), {"sets": plain})


def _by_level(column: Column, level: Any) -> _Draft:
    """The node above each value on one level."""
    tree = column.hierarchy
    if tree is None or column.kind != TREE:
        raise PolicyError(f"The policy of '{column.name}' names a level, but the column has no hierarchy: give it one.")
    if not isinstance(level, int) or isinstance(level, bool) or not 0 <= level <= tree.height:
        raise PolicyError(
            f"The level of the policy of '{column.name}' must be a whole number from 0 to {tree.height}. Got {level!r}."
        )
    nodes = tree.ancestors[level]
    low = np.searchsorted(nodes, nodes, side="left").astype(np.int64)
    high = np.searchsorted(nodes, nodes, side="right").astype(np.int64) - 1
    return _Draft(np.arange(column.card, dtype=np.int64), low, high, (), {"level": level})


def _by_value(column: Column, rows: Sequence[Sequence[str]]) -> _Draft:
    """One row a value: its range's two ends, or the hierarchy node that is its range."""
    widths = {len(row) for row in rows}
    if widths not in ({2}, {3}):
        raise PolicyError(
            f"Every line of the policy of '{column.name}' must be 'value;low;high', or every one 'value;label'."
        )
    found = _node_rows(column, rows) if widths == {2} else _interval_rows(column, rows)
    low, high = (np.full(column.card, -1, dtype=np.int64) for _ in range(2))
    for code, start, stop, _ in found:
        if code >= 0:
            low[code], high[code] = start, stop
    texts = [text for _, _, _, text in found]
    if len({text[0] for text in texts}) < len(texts):
        raise PolicyError(f"The policy of '{column.name}' gives a value two ranges: keep one line for each.")
    declared = [(start, stop) for _, start, stop, _ in found]
    plain = {"nodes" if widths == {2} else "each": texts}
    return _Draft(np.arange(column.card, dtype=np.int64), low, high, declared, plain)


def _interval_rows(column: Column, rows: Sequence[Sequence[str]]) -> list[tuple[int, int, int, list[str]]]:
    """Code (-1: no such value in the table), ends and texts of every row."""
    ends = RangeEnds(column)
    found = []
    for number, row in enumerate(rows, 1):
        value, first, last = (ends.read(text) for text in row)
        if not first <= value <= last:
            raise PolicyError(f"Range {number} of the policy of '{column.name}' does not contain its value: mend it.")
        start, stop = ends.stretch(first, last)
        found.append((ends.code(value), start, stop, [ends.text(value), ends.text(first), ends.text(last)]))
    return found


def _node_rows(column: Column, rows: Sequence[Sequence[str]]) -> list[tuple[int, int, int, list[str]]]:
    tree = column.hierarchy
    if tree is None or column.kind != TREE:
        raise PolicyError(f"The policy of '{column.name}' names labels, but the column has no hierarchy: give it one.")
    labels = set(tree.node_labels)
    found = []
    for number, (value, label) in enumerate(rows, 1):
        (text,) = value_texts(column, [value])
        code = tree.leaf_code.get(text)
        if code is None or label not in labels:
            what = "value" if code is None else f"label '{label}'"
            raise PolicyError(f"Range {number} of the policy of '{column.name}' has a {what} that its hierarchy lacks.")
        path = [names[nodes[code]] for names, nodes in zip(tree.labels, tree.ancestors, strict=True)]
        if label not in path:
            raise PolicyError(f"Range {number} of the policy of '{column.name}' does not contain its value: mend it.")
        nodes = tree.ancestors[path.index(label)]
        inside = np.flatnonzero(nodes == nodes[code])
        found.append((code, int(inside[0]), int(inside[-1]), [text, label]))
    return found


def _reach(axis: np.ndarray, low: np.ndarray, high: np.ndarray, declared: Sequence[tuple[int, int]]) -> np.ndarray:
    """A range that no value owns is a range of the policy all the same."""
    best = np.arange(axis.size, dtype=np.int64)
    np.maximum.at(best, low, high)
    for start, stop in declared:
        if start <= stop:
            best[start] = max(best[start], stop)
    return np.maximum.accumulate(best)[axis]


def _is_partition(axis: np.ndarray, low: np.ndarray, high: np.ndarray) -> bool:
    """Whether, along the known values' places, every range is a run of equal ranges."""
    order = np.argsort(axis)
    axis, low, high = axis[order], low[order], high[order]
    first, last = np.searchsorted(axis, low, side="left"), np.searchsorted(axis, high, side="right") - 1
    runs = np.cumsum(np.concatenate([[0], (np.diff(first) != 0) | (np.diff(last) != 0)]))[: axis.size]
    return bool((runs[first] == runs[last]).all())
