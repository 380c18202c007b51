"""Hierarchies proposed for a column, best first, each with a reason: what `shoal hierarchy suggest` and others offer.

Everything here looks at distinct values and how often each occurs, never at rows. A suggestion says how a recipe would
describe it (``spec``); its words hold no value of the column.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import date
from decimal import Decimal
from itertools import pairwise
from typing import Any

import numpy as np

from shoal.errors import HierarchyError
from shoal.hierarchy import builders, rare
from shoal.hierarchy.checks import EXACT, all_whole, numbers, plain
from shoal.hierarchy.hierarchy import MISSING, ROOT, Hierarchy
from shoal.hierarchy.together import group_together

HOWS = ("dates", "widths", "quantiles", "prefix", "stems", "together", "rare")

# A level is worth having where it leaves at most this share of the labels of the level below.
_FEWER = 0.7
_MOST_STEPS = 20
# Where one step holds more records than this share, equal steps tell little.
_LOPSIDED = 0.5
_GROUPS = (16, 8, 4, 2)
_KEPT_BY_FREQUENT = 0.8
_CODE = re.compile(r"[A-Za-z]{0,4}[ .\-/]?[0-9]{1,12}([ .\-/]?[A-Za-z0-9]{1,6}){0,3}|[A-Z]{2}-[A-Z0-9]{1,3}", re.ASCII)
_NUMBER = re.compile(r"[+-]?(0|[1-9][0-9]*)(\.[0-9]+)?([eE][+-]?[0-9]{1,3})?", re.ASCII)
_NAMES = re.compile(r"zip|plz|post_?(al|leit)?_?code|postcode|icd|iso|nuts|code|diagnos|gemeinde|county|fips|ags", re.I)
_ICD = re.compile(r"[A-Z][0-9][0-9A-Z](\.?[0-9A-Z]{1,4})?", re.ASCII)
_MARKS = ".-/ "
_CODE_SHAPES = 8
_FEWEST_CODES = 6


@dataclass(frozen=True, kw_only=True)
class Suggestion:
    """One hierarchy that a column could have.

    Attributes
    ----------
    how
        One of ``dates``, ``widths`` (round steps), ``quantiles``, ``prefix`` (codes of one length), ``stems`` (codes of
        several), ``together`` (by what goes with a value in other columns) and ``rare`` (by frequency).
    why
        The reason, in a sentence without any value of the column.
    spec
        As a recipe says it under ``[hierarchies]``; for ``stems`` and ``together`` a tree of the values themselves,
        which is better kept in a file (:func:`shoal.hierarchy.files.write_csv`).
    type
        The type that the column has to be given for it, None where it is as it was read.
    """

    column: str
    how: str
    why: str
    spec: Mapping[str, Any]
    hierarchy: Hierarchy
    type: str | None = None

    @property
    def by_rule(self) -> bool:
        """Whether the description holds no values, so that it serves other data of the same kind too."""
        return "nested" not in self.spec


def suggest(
    name: str,
    counts: Mapping[str, int],
    *,
    type: str | None = None,
    beside: Mapping[str, np.ndarray] | None = None,
    how: str | None = None,
) -> list[Suggestion]:
    """Hierarchies for a column, best first; none where two levels, as it is and everything, are all there can be.

    Parameters
    ----------
    name
        The column. A name such as ``zip`` makes numbers of one length codes.
    counts
        How often each value occurs, by its canonical text; ``<missing>`` is left aside.
    type
        ``numeric``, ``date``, ``ordinal`` or ``categorical``; guessed from the values by default.
    beside
        Other column to how often each of its values goes with each value here: (values in the order of ``counts``,
        values there). Values that go with the same others are then grouped. Leave sensitive columns out: groups that
        follow them would tell of them.
    how
        Only the suggestion of this kind.

    Examples
    --------
    >>> found = suggest("age", {str(age): 3 for age in range(18, 90)})
    >>> found[0].how, dict(found[0].spec)
    ('widths', {'widths': [5, 10, 20]})
    >>> suggest("born", {f"19{year}-03-01": 1 for year in range(50, 80)})[0].spec
    {'dates': ['decade']}
    """
    known = {value: int(count) for value, count in counts.items() if value != MISSING}
    if len(known) < 3:
        return []
    kind = type or guess_type(known)
    found = []
    for maker in _makers(name, known, kind):
        try:
            found.append(maker(name, known))
        except HierarchyError:  # values that a builder cannot take are not its kind
            continue
    if beside and kind not in ("numeric", "date"):
        rows = [place for place, value in enumerate(counts) if value != MISSING]
        found.insert(_place(found), _by_company(name, known, {key: table[rows] for key, table in beside.items()}))
    made = [one for one in found if one is not None and (how is None or one.how == how)]
    return [_with_missing(one) for one in made] if MISSING in counts else made


def guess_type(counts: Mapping[str, int]) -> str:
    """``date``, ``numeric`` or ``categorical``, by the values; numbers with leading zeros are codes."""
    values = [value for value in counts if value != MISSING]
    if all(map(_is_date, values)):
        return "date"
    return "numeric" if all(_NUMBER.fullmatch(value) for value in values) else "categorical"


def as_nested(tree: Hierarchy) -> dict[str, Any]:
    """A hierarchy as a recipe's ``nested`` says it: tables in tables, values at the bottom."""
    found: dict[str, Any] = {}
    for path in tree.rows():
        if path[0] == MISSING:
            continue
        inner = found
        for label in path[:1:-1]:
            inner = inner.setdefault(label, {})
        inner.setdefault(path[1], []).append(path[0])
    return found


Maker = Callable[[str, dict[str, int]], Suggestion | None]


def _makers(name: str, counts: Mapping[str, int], kind: str) -> list[Maker]:
    if kind == "date":
        return [_by_date]
    codes = _are_codes(name, counts, kind)
    if kind == "numeric":
        steps: list[Maker] = [_by_steps, _by_quantiles]
        if _lopsided(name, counts):
            steps.reverse()
        return [_by_prefix, *steps] if codes else steps
    return [_by_prefix, _by_frequency] if codes else [_by_frequency]


def _place(found: Sequence[Suggestion | None]) -> int:
    """Company says more than frequency, and less than what a code itself says."""
    return 1 if found and found[0] is not None and found[0].how in ("prefix", "stems") else 0


def _with_missing(one: Suggestion) -> Suggestion:
    return replace(one, hierarchy=one.hierarchy.with_missing())


def _by_date(name: str, counts: dict[str, int]) -> Suggestion | None:
    every = builders.dates(name, list(counts))
    levels, last = [], len(counts)
    for place, level in enumerate(("month", "quarter", "year", "decade"), 1):
        nodes = len(every.labels[place])
        if 1 < nodes <= _FEWER * last:
            levels.append(level)
            last = nodes
    if not levels:
        return None
    tree = builders.dates(name, list(counts), levels)
    days = [date.fromisoformat(value).toordinal() for value in (min(counts), max(counts))]
    why = f"dates over {max(1, round((days[1] - days[0]) / 365.25)):,} years: by {', '.join(levels)}"
    return Suggestion(column=name, how="dates", why=why, spec={"dates": levels}, hierarchy=tree)


def _by_steps(name: str, counts: dict[str, int]) -> Suggestion | None:
    widths = _widths(name, counts)
    if not widths:
        return None
    tree = builders.equal_width(name, list(counts), widths)
    steps = f"{len(tree.labels[1]):,} steps of {plain(widths[0])}"
    coarser = zip(widths[1:], tree.labels[2:-1], strict=True)
    more = "".join(f", {len(labels):,} of {plain(width)}" for width, labels in coarser)
    why = f"{len(counts):,} numbers in {steps}{more}; round steps say nothing of the people"
    spec = {"widths": [_toml(one) for one in widths]}
    return Suggestion(column=name, how="widths", why=why, spec=spec, hierarchy=tree)


def _widths(name: str, counts: Mapping[str, int]) -> list[Decimal]:
    """Round steps, each a multiple of the one before, from about twenty down to two."""
    values = [value for value, _ in numbers(name, list(counts))]
    span = values[-1] - values[0]
    whole = all_whole(values)
    step = Decimal(1).scaleb((span / len(values)).adjusted())
    found: list[Decimal] = []
    most = min(_MOST_STEPS, len(values) // 2)
    while step <= span:
        for factor in (1, 2, 5):
            width = step * factor
            taken = len({EXACT.divide_int(value - values[0] + _above(values[0], width), width) for value in values})
            fits = width <= span and (not found or EXACT.remainder(width, found[-1]) == 0)
            if fits and 1 < taken <= most and (width > 1 or not whole):
                found.append(width)
                most = int(_FEWER * taken)
        step *= 10
    return found


def _above(value: Decimal, width: Decimal) -> Decimal:
    """How far a value is above the next lower multiple of a width."""
    rest = EXACT.remainder(value, width)
    return rest + width if rest < 0 else rest


def _toml(width: Decimal) -> int | float:
    return int(width) if width == width.to_integral_value() else float(width)


def _lopsided(name: str, counts: Mapping[str, int]) -> bool:
    """Whether one of the finest round steps holds most of the records."""
    widths = _widths(name, counts)
    if not widths:
        return True
    tree = builders.equal_width(name, list(counts), widths[:1])
    heavy = np.bincount(tree.ancestors[1], [counts[value] for value in tree.labels[0]])
    return bool(heavy.max() > _LOPSIDED * heavy.sum())


def _by_quantiles(name: str, counts: dict[str, int]) -> Suggestion | None:
    groups = [size for size in _GROUPS[1:] if size <= _FEWER * len(counts)]
    if not groups:
        return None
    tree = builders.quantiles(name, list(counts), list(counts.values()), groups)
    if any(len(upper) >= len(lower) for lower, upper in pairwise(tree.labels)):
        return None  # a value that most people have leaves nothing to divide
    why = f"about equally many records in each of {groups[0]} groups; the cuts follow the data and are published"
    return Suggestion(column=name, how="quantiles", why=why, spec={"quantiles": groups}, hierarchy=tree)


def _are_codes(name: str, counts: Mapping[str, int], kind: str) -> bool:
    """Whether values are codes whose beginning says more than their end."""
    if len(counts) < _FEWEST_CODES or not all(_CODE.fullmatch(value) for value in counts):
        return False
    if kind == "numeric":
        return len({*map(len, counts)}) == 1 and len(next(iter(counts))) >= 4 and _NAMES.search(name) is not None
    shapes = {re.sub(r"[0-9]", "9", re.sub(r"[A-Za-z]", "A", value)) for value in counts}
    return len(shapes) <= _CODE_SHAPES


def _by_prefix(name: str, counts: dict[str, int]) -> Suggestion | None:
    values, longest = list(counts), max(map(len, counts))
    # Of ICD codes, the category and the chapter's letter mean something, and two characters nothing.
    lengths = [3, 1] if all(_ICD.fullmatch(value) for value in values) else range(longest - 1, 0, -1)
    keep, last = [], len(values)
    for length in lengths:
        nodes = _beginnings(values, length)
        if 1 < nodes <= _FEWER * last and (_beginnings(values, length - 1) < nodes or length == 1):
            keep.append(length)
            last = nodes
    if not keep:
        return None
    told = ", ".join(f"{_beginnings(values, length):,} by {length}" for length in keep)
    why = f"{len(values):,} codes whose first characters group them: {told}"
    made: dict[str, Any] = {"column": name, "why": why, "type": "categorical"}
    if len({*map(len, values)}) == 1:
        spec: dict[str, Any] = {"prefix": keep}
        return Suggestion(how="prefix", spec=spec, hierarchy=builders.prefix(name, values, keep), **made)
    tree = stems(name, values, keep)
    return Suggestion(how="stems", spec={"nested": as_nested(tree)}, hierarchy=tree, **made)


def _beginnings(values: Sequence[str], length: int) -> int:
    """Different beginnings of so many characters, marks at their ends left out."""
    return len({value[:length].rstrip(_MARKS) for value in values})


def stems(name: str, values: Sequence[str], keep: Sequence[int]) -> Hierarchy:
    """Group codes of several lengths by their first characters: ``E11`` and ``E11.9`` are both ``E11*``.

    Examples
    --------
    >>> stems("icd", ["E11", "E11.9", "E10.1", "I10"], [3, 1]).labels[1:]
    (('E11*', 'E10*', 'I10*'), ('E*', 'I*'), ('*',))
    """
    rows = [
        [value, *(value if len(value) < length else f"{value[:length].rstrip(_MARKS)}*" for length in keep), ROOT]
        for value in values
    ]
    return Hierarchy.from_rows(name, rows)


def _by_frequency(name: str, counts: dict[str, int]) -> Suggestion | None:
    """The rare ones together: as many as leave four records in five as they are."""
    ranked = np.sort(list(counts.values()))[::-1]
    kept = np.cumsum(ranked)
    cuts = np.flatnonzero((kept >= _KEPT_BY_FREQUENT * kept[-1]) & (ranked > np.append(ranked[1:], ranked[-1])))
    cuts = cuts[(cuts >= 1) & (cuts < len(ranked) - 2)]
    # What is rarer has to be as many as the limit together, or more would join it.
    limits = [_limit(int(ranked[cut + 1]) + 1, int(kept[-1] - kept[cut])) for cut in cuts.tolist()]
    least = next((limit for limit in limits if limit is not None), None)
    if least is None:
        return None
    tree = rare.rare_together(Hierarchy.from_rows(name, [[value, ROOT] for value in counts]), counts, least)
    if not 2 < len(tree.labels[1]) < len(counts):
        return None
    joined = len(counts) - len(tree.labels[1]) + 1
    why = f"{joined:,} of {len(counts):,} values have fewer than {least:,} records and become one"
    return Suggestion(column=name, how="rare", why=why, spec={"rare": least}, hierarchy=tree)


def _limit(least: int, most: int) -> int | None:
    """The roundest number between two, rounded up so that it tells little of the counts."""
    for digits in range(1, len(str(least)) + 1):
        size = 10 ** (len(str(least)) - digits)
        found = max(2, -(-least // size) * size)
        if found <= most:
            return found
    return None


def _by_company(name: str, counts: dict[str, int], beside: Mapping[str, np.ndarray]) -> Suggestion | None:
    groups = [size for size in _GROUPS if size <= _FEWER * len(counts)]
    if not groups:
        return None
    tree = group_together(name, counts, beside, groups)
    others = ", ".join(beside)
    why = f"values that go with the same values of {others}, in {', '.join(map(str, groups))} groups"
    return Suggestion(column=name, how="together", why=why, spec={"nested": as_nested(tree)}, hierarchy=tree)


def _is_date(text: str) -> bool:
    try:
        return len(text) == 10 and date.fromisoformat(text) is not None
    except ValueError:
        return False
