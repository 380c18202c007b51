"""Builders that grow a hierarchy over the values of a column.

Each takes the column's name and its values as canonical text and returns a :class:`Hierarchy` whose root is
``*``. Numbers are compared exactly, as decimals, never as floats. A value ``<missing>`` joins no group: it
becomes a leaf under the root.
"""

from __future__ import annotations

import re
from bisect import bisect_left, bisect_right
from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from datetime import date
from decimal import Context, Decimal
from functools import partial
from itertools import pairwise
from typing import Any

from shoal.data.hierarchy import MISSING, ROOT, Hierarchy
from shoal.errors import HierarchyError
from shoal.params import nearest

# ----------------------------------------
# What the builders share: checks of values and parameters, and exact decimal numbers.


_NUMBER = re.compile(r"[+-]?(\d{1,1000}(\.\d{0,1000})?|\.\d{1,1000})([eE][+-]?\d{1,3})?", re.ASCII)
# Wide enough for every sum and quotient of two numbers that _NUMBER admits, so nothing is ever rounded.
EXACT = Context(prec=8000)


def misplaced(before: str, values: Sequence[str], after: str) -> HierarchyError:
    """Make the error about values of records that a builder cannot place: how many there are, and none of them."""
    return HierarchyError(f"{before} ({len(values):,} different ones): {after}")


def distinct(name: str, values: Sequence[str]) -> list[str]:
    """The values once each, without the missing one: it never belongs to a group."""
    texts = [text for text in dict.fromkeys(values) if text != MISSING]
    if not texts:
        raise HierarchyError(f"The column '{name}' has no values to build a hierarchy over: check its data.")
    return texts


def numbers(name: str, values: Sequence[str]) -> list[tuple[Decimal, str]]:
    """The distinct values as exact numbers with their text, ascending."""
    texts = distinct(name, values)
    wrong = [text for text in texts if not _NUMBER.fullmatch(text)]
    if wrong:
        raise misplaced(f"Values of '{name}' are no numbers", wrong, "use prefix, groups or a file instead.")
    pairs = sorted((Decimal(text), text) for text in texts)
    for (low, text), (high, other) in pairwise(pairs):
        if low == high:
            raise misplaced(f"Values of '{name}' are the same number", [text, other], "write them the same way.")
    return pairs


def number(name: str, what: str, value: Any) -> Decimal:
    """A number given as a parameter, exactly as it was written."""
    if isinstance(value, float):
        value = float.__repr__(value)  # 0.1 means a tenth here, not the binary fraction next to it
    if (
        isinstance(value, bool)
        or not isinstance(value, int | str | Decimal)
        or not _NUMBER.fullmatch(str(value))
    ):
        raise HierarchyError(f"The {what} for '{name}' must be finite numbers: got {value!r}.")
    return Decimal(str(value))


def listed(name: str, what: str, value: Any) -> list[Any]:
    """A list that is not empty."""
    if isinstance(value, Sequence) and not isinstance(value, str) and len(value) > 0:
        return list(value)
    raise HierarchyError(f"The {what} for '{name}' must be a list that is not empty: got {value!r}.")


def falling(name: str, what: str, value: Any, *, least: int) -> list[int]:
    """Whole numbers, each below the one before and none below ``least``."""
    found = listed(name, what, value)
    whole = all(isinstance(item, int) and not isinstance(item, bool) for item in found)
    if not whole or found[-1] < least or any(first <= second for first, second in pairwise(found)):
        raise HierarchyError(
            f"The {what} for '{name}' must be falling whole numbers of at least {least}: got {value!r}."
        )
    return [int(item) for item in found]


def leaf(name: str, member: Any) -> str:
    """A value listed in a group, as text."""
    if isinstance(member, str) or (isinstance(member, int) and not isinstance(member, bool)):
        return str(member)
    raise HierarchyError(f"The value {member!r} in the hierarchy of '{name}' is no text: write it in quotes.")


def all_whole(*groups: Sequence[Decimal]) -> bool:
    """Whether every number is an integer."""
    return all(item == item.to_integral_value(context=EXACT) for group in groups for item in group)


def plain(value: Decimal) -> str:
    """Decimal text without exponent or closing zeros."""
    text = format(value, "f")
    text = text.rstrip("0").rstrip(".") if "." in text else text
    return "0" if text == "-0" else text


def some(values: Sequence[str]) -> str:
    """Up to five of the values, and how many more there are."""
    shown = ", ".join(f"'{value}'" for value in values[:5])
    return shown if len(values) <= 5 else f"{shown} and {len(values) - 5} more"


_DATE = re.compile(r"\d{4}-\d{2}-\d{2}", re.ASCII)
_DATE_LEVELS = ("month", "quarter", "year", "decade")


def intervals(name: str, values: Sequence[str], edges: Sequence[Sequence[Any]]) -> Hierarchy:
    """Group numbers between the edges given for each level.

    An interval runs from its edge up to, and not including, the next one; it is labelled ``[0,19]`` when all
    edges and values are whole numbers and ``[0,20)`` otherwise. An edge of a level must not cut an interval
    of the level below.

    Examples
    --------
    >>> intervals("age", ["17", "35", "60"], [[0, 20, 40, 120], [0, 40, 120]]).rows()[0]
    ['17', '[0,19]', '[0,39]', '*']
    """
    pairs = numbers(name, values)
    levels = [_rising(name, level, given) for level, given in enumerate(listed(name, "edges", edges), 1)]
    _check_nesting(name, levels)
    _check_covered(name, levels, pairs)
    whole = all_whole([value for value, _ in pairs], *levels)
    rows = []
    for value, text in pairs:
        places = [bisect_right(level, value) for level in levels]
        bounds = [(level[place - 1], level[place]) for level, place in zip(levels, places, strict=True)]
        rows.append([text, *(_interval(low, high, whole) for low, high in bounds), ROOT])
    rule = {"intervals": {"edges": [[plain(edge) for edge in level] for level in levels]}}
    return _grow(name, rows, values, rule, partial(_built_again, intervals, values, edges=edges))


def equal_width(name: str, values: Sequence[str], widths: Sequence[Any], origin: Any = 0) -> Hierarchy:
    """Group numbers in intervals of equal width, one width a level, each a multiple of the one before.

    Examples
    --------
    >>> equal_width("age", ["17", "35"], [5, 10]).rows()
    [['17', '[15,19]', '[10,19]', '*'], ['35', '[35,39]', '[30,39]', '*']]
    """
    pairs = numbers(name, values)
    steps = [number(name, "widths", width) for width in listed(name, "widths", widths)]
    if steps[0] <= 0:
        raise HierarchyError(f"The widths for '{name}' must be above 0: got {plain(steps[0])}.")
    for lower, upper in pairwise(steps):
        if upper <= lower or EXACT.remainder(upper, lower) != 0:
            raise HierarchyError(
                f"The width {plain(upper)} for '{name}' is no multiple of the one before it, {plain(lower)}: "
                "make it one, so that the levels nest."
            )
    start = number(name, "origin", origin)
    whole = all_whole([value for value, _ in pairs], steps, [start])
    rows = []
    for value, text in pairs:
        lows = [_floor(value, step, start) for step in steps]
        labels = [_interval(low, EXACT.add(low, step), whole) for low, step in zip(lows, steps, strict=True)]
        rows.append([text, *labels, ROOT])
    rule = {"widths": [plain(step) for step in steps], "origin": plain(start)}
    return _grow(name, rows, values, rule, partial(_built_again, equal_width, values, widths=widths, origin=origin))


def quantiles(
    name: str, values: Sequence[str], counts: Sequence[int] | None = None, groups: Sequence[int] = (8, 4, 2)
) -> Hierarchy:
    """Group numbers in about equally heavy groups, as many a level as ``groups`` says.

    Weights are ``counts`` (one a value) or 1. Each level merges neighbouring groups of the level below, so
    levels nest. A heavy value can leave fewer groups than asked for. Labels go from one cut to the next, and a cut
    is the roundest number between two groups: an end that were somebody's value would publish it, above all the
    lowest and the highest of all, which have no end therefore.

    Examples
    --------
    >>> quantiles("age", ["1", "2", "3", "4"], groups=[2]).labels[1]
    ('<3', '>=3')
    """
    sizes = falling(name, "quantiles", groups, least=2)
    texts = [text for _, text in numbers(name, values)]
    blocks = [(place, place, weight) for place, weight in enumerate(_weights(name, texts, values, counts))]
    levels = []
    place = list(range(len(texts)))  # block that each value is in
    for size in sizes:
        merged, blocks = _merge(blocks, size)
        place = [merged[block] for block in place]
        levels.append(place)
    made = _grow(name, _cut_rows(name, texts, levels), values, {"quantiles": list(sizes)}, _cut_again)
    return replace(made, counted=True)


def _cut_rows(name: str, texts: Sequence[str], levels: Sequence[Sequence[int]]) -> list[list[str]]:
    """Paths of numbers in ascending order, given the group of each on every level."""
    pairs = numbers(name, texts)
    whole = all_whole([value for value, _ in pairs])

    def cut(place: int) -> Decimal | None:
        return _roundest(pairs[place - 1][0], pairs[place][0]) if 0 < place < len(pairs) else None

    rows = [[text] for _, text in pairs]
    for groups in levels:
        for group in dict.fromkeys(groups):
            first, last = bisect_left(groups, group), bisect_right(groups, group)
            label = _between_cuts(cut(first), cut(last), whole)
            for row in rows[first:last]:
                row.append(label)
    return [[*row, ROOT] for row in rows]


def _cut_again(tree: Hierarchy) -> Hierarchy:
    """The same groups, cut between the values that are left."""
    return Hierarchy.from_rows(tree.name, _cut_rows(tree.name, tree.labels[0], tree.ancestors[1:-1].tolist()))


def _built_again(build: Callable[..., Hierarchy], values: Sequence[str], tree: Hierarchy, **options: Any) -> Hierarchy:
    """What a builder makes of the values that are left, in the order that it took all of them in."""
    return build(tree.name, [text for text in values if text in tree.leaf_code], **options)


def prefix(name: str, values: Sequence[str], keep: Sequence[int], mask: str = "*") -> Hierarchy:
    """Keep the first characters of each value, ``keep[i]`` of them on level i + 1, and mask the others.

    Examples
    --------
    >>> prefix("zip", ["560054", "560064"], [5, 4]).rows()[0]
    ['560054', '56005*', '5600**', '*']
    """
    lengths = falling(name, "prefix", keep, least=0)
    if not isinstance(mask, str) or len(mask) != 1:
        raise HierarchyError(f"The mask for '{name}' must be one character: got {mask!r}.")
    texts = distinct(name, values)
    rows = [[text, *(text[:n] + mask * (len(text) - n) for n in lengths), ROOT] for text in texts]
    try:
        rule = {"prefix": list(lengths), "mask": mask}
        return _grow(name, rows, values, rule, partial(_built_again, prefix, values, keep=keep, mask=mask))
    except HierarchyError as error:
        if "" in texts:
            raise
        if any(mask in text for text in texts):
            advice = f"some values contain the mask '{mask}': choose a mask that no value contains"
        else:
            advice = "nothing is left of some values: keep at least 1 character on every level"
        raise HierarchyError(
            f"The prefix levels of '{name}' give one label to different sets of values because {advice}."
        ) from error


def dates(name: str, values: Sequence[str], levels: Sequence[str] = _DATE_LEVELS) -> Hierarchy:
    """Group ISO dates by ``month``, ``quarter``, ``year`` or ``decade``, finest first; the day is the leaf.

    Examples
    --------
    >>> dates("born", ["1975-03-09"]).rows()
    [['1975-03-09', '1975-03', '1975-Q1', '1975', '1970s', '*']]
    """
    chosen = [str(level) for level in listed(name, "date levels", levels)]
    for level in chosen:
        if level not in _DATE_LEVELS:
            near = nearest(level, _DATE_LEVELS)
            hint = f"did you mean '{near}'?" if near else f"choose from {', '.join(_DATE_LEVELS)}."
            raise HierarchyError(f"There is no date level '{level}' for '{name}': {hint}")
    ranks = [_DATE_LEVELS.index(level) for level in chosen]
    if any(lower >= upper for lower, upper in pairwise(ranks)):
        raise HierarchyError(
            f"The date levels for '{name}' must go from fine to coarse: got {', '.join(chosen)}."
        )
    texts = sorted(distinct(name, values))
    wrong = [text for text in texts if not _is_date(text)]
    if wrong:
        raise misplaced(f"Values of '{name}' are no dates", wrong, "write them as 1975-03-31.")
    rows = [[text, *(_date_label(text, level) for level in chosen), ROOT] for text in texts]
    return _grow(name, rows, values, {"dates": chosen})


def ordered(name: str, values: Sequence[str], groups: Sequence[Mapping[str, Sequence[str]]]) -> Hierarchy:
    """Group the values of an ordered column, one mapping of label to values a level.

    ``values`` gives the order; each group must be a run of it and each level must place every value.

    Examples
    --------
    >>> ordered("pain", ["none", "mild", "bad"], [{"low": ["none", "mild"], "high": ["bad"]}]).labels[1]
    ('low', 'high')
    """
    order = {text: place for place, text in enumerate(distinct(name, values))}
    rows = [[text] for text in order]
    for level, given in enumerate(listed(name, "groups", groups), 1):
        if not isinstance(given, Mapping) or not given:
            raise HierarchyError(
                f"Level {level} of the groups for '{name}' must map labels to lists of values: got {given!r}."
            )
        placed: dict[str, str] = {}
        for label, members in given.items():
            texts = [leaf(name, member) for member in listed(name, f"group '{label}'", members)]
            _check_group(name, label, texts, order, placed)
            placed.update(dict.fromkeys(texts, str(label)))
        absent = [text for text in order if text not in placed]
        if absent:
            raise misplaced(f"Values of '{name}' are in no group of level {level}", absent, "add them to one.")
        for row in rows:
            row.append(placed[row[0]])
    return _grow(name, [[*row, ROOT] for row in rows], values)


def nested(name: str, mapping: Mapping[str, Any]) -> Hierarchy:
    """Take a tree of mappings whose innermost entries list the values.

    Examples
    --------
    >>> nested("country", {"*": {"Europe": ["France", "Spain"], "Asia": ["Japan"]}}).labels[1]
    ('Europe', 'Asia')
    """
    rows: list[list[str]] = []
    pending: list[tuple[Any, list[str]]] = [(mapping, [])]
    while pending:
        node, path = pending.pop()
        if isinstance(node, Mapping) and node:
            pending.extend((below, [str(label), *path]) for label, below in reversed(list(node.items())))
        elif isinstance(node, Sequence) and not isinstance(node, str) and node and path:
            rows.extend([leaf(name, member), *path] for member in node)
        else:
            where = f"The label '{path[0]}'" if path else "The tree"
            raise HierarchyError(f"{where} for '{name}' has no values: list them in brackets.")
    return Hierarchy.from_rows(name, rows)


def _grow(
    name: str,
    rows: list[list[str]],
    values: Sequence[str],
    rule: Mapping[str, Any] | None = None,
    relabel: Callable[[Hierarchy], Hierarchy] | None = None,
) -> Hierarchy:
    hierarchy = replace(Hierarchy.from_rows(name, rows), rule=rule, relabel=relabel)
    return hierarchy.with_missing() if MISSING in values else hierarchy


def _rising(name: str, level: int, given: Any) -> list[Decimal]:
    if isinstance(given, str) or not isinstance(given, Sequence):
        raise HierarchyError(
            f"The edges for '{name}' must be one list a level, such as [[0, 20, 40], [0, 40]]: got {given!r}."
        )
    edges = [number(name, "edges", edge) for edge in given]
    if len(edges) < 2 or any(low >= high for low, high in pairwise(edges)):
        raise HierarchyError(f"The edges on level {level} for '{name}' must be at least two rising numbers.")
    return edges


def _check_nesting(name: str, levels: list[list[Decimal]]) -> None:
    for level, (lower, upper) in enumerate(pairwise(levels), 2):
        for edge in upper:
            place = bisect_right(lower, edge)
            if 0 < place < len(lower) and edge != lower[place - 1]:
                low, high = plain(lower[place - 1]), plain(lower[place])
                raise HierarchyError(
                    f"The edge {plain(edge)} on level {level} for '{name}' cuts the interval from {low} to "
                    f"{high} of the level below: use it there too or remove it."
                )


def _check_covered(name: str, levels: list[list[Decimal]], pairs: list[tuple[Decimal, str]]) -> None:
    for level, edges in enumerate(levels, 1):
        outside = [text for value, text in pairs if not edges[0] <= value < edges[-1]]
        if outside:
            told = f"widen them, they go from {plain(edges[0])} up to, and not including, {plain(edges[-1])}."
            raise misplaced(f"Values of '{name}' lie outside the edges of level {level}", outside, told)


def _interval(low: Decimal, high: Decimal, whole: bool) -> str:
    if not whole:
        return f"[{plain(low)},{plain(high)})"
    last = EXACT.subtract(high, Decimal(1))
    return plain(low) if low == last else f"[{plain(low)},{plain(last)}]"


def _floor(value: Decimal, step: Decimal, start: Decimal) -> Decimal:
    """Largest start + i * step that is not above the value."""
    distance = EXACT.subtract(value, start)
    low = EXACT.multiply(EXACT.divide_int(distance, step), step)  # rounds towards zero
    if low > distance:
        low = EXACT.subtract(low, step)
    return EXACT.add(start, low)


def _weights(name: str, texts: list[str], values: Sequence[str], counts: Sequence[int] | None) -> list[int]:
    if counts is None:
        return [1] * len(texts)
    if len(counts) != len(values) or min(counts) < 0:
        raise HierarchyError(f"The counts for the quantiles of '{name}' must be one a value, none below 0.")
    weight = dict.fromkeys(values, 0)
    for text, count in zip(values, counts, strict=True):
        weight[text] += int(count)
    weights = [weight[text] for text in texts]
    if sum(weights) == 0:
        raise HierarchyError(f"The counts for the quantiles of '{name}' are all 0: leave them out.")
    return weights


def _roundest(low: Decimal, high: Decimal) -> Decimal:
    """The number above ``low`` and up to ``high`` that ends in the most zeros."""
    exponent = max(low.adjusted(), high.adjusted()) + 1
    while True:
        found = _floor(high, Decimal(1).scaleb(exponent, EXACT), Decimal(0))
        if found > low:
            return found
        exponent -= 1


def _between_cuts(low: Decimal | None, high: Decimal | None, whole: bool) -> str:
    if low is None:
        return ROOT if high is None else f"<{plain(high)}"
    return f">={plain(low)}" if high is None else _interval(low, high, whole and all_whole([low, high]))


def _merge(blocks: list[tuple[int, int, int]], size: int) -> tuple[list[int], list[tuple[int, int, int]]]:
    """Merge neighbours into about ``size`` blocks: each goes where the middle of its weight falls."""
    total = sum(weight for _, _, weight in blocks)
    merged: list[tuple[int, int, int]] = []
    places: list[int] = []
    before, last = 0, -1
    for low, high, weight in blocks:
        target = min(size - 1, (2 * before + weight) * size // (2 * total))
        before += weight
        if target == last:
            merged[-1] = (merged[-1][0], high, merged[-1][2] + weight)
        else:
            merged.append((low, high, weight))
        last = target
        places.append(len(merged) - 1)
    return places, merged


def _is_date(text: str) -> bool:
    try:
        date.fromisoformat(text)
    except ValueError:
        return False
    return _DATE.fullmatch(text) is not None


def _date_label(text: str, level: str) -> str:
    year, month = text[:4], int(text[5:7])
    return {
        "month": text[:7],
        "quarter": f"{year}-Q{(month + 2) // 3}",
        "year": year,
        "decade": f"{year[:3]}0s",
    }[level]


def _check_group(
    name: str, label: str, texts: list[str], order: Mapping[str, int], placed: Mapping[str, str]
) -> None:
    unknown = [text for text in texts if text not in order]
    if unknown:
        raise HierarchyError(
            f"The group '{label}' for '{name}' lists values that the column's order lacks ({some(unknown)}): "
            "correct the group or the order."
        )
    if len(set(texts)) < len(texts) or not placed.keys().isdisjoint(texts):
        raise HierarchyError(
            f"The group '{label}' for '{name}' lists values already placed on its level: list each once."
        )
    places = [order[text] for text in texts]
    if max(places) - min(places) + 1 != len(places):
        raise HierarchyError(
            f"The group '{label}' for '{name}' is no run of the column's order: group neighbours only."
        )
