"""Hierarchies proposed for a column, best first, each with a reason: what `shoal hierarchy suggest` and others offer.

Everything here looks at distinct values and how often each occurs, never at rows. A suggestion says how a recipe would
describe it (``spec``); its words hold no value of the column.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import date
from decimal import Decimal
from functools import partial
from itertools import groupby, pairwise
from typing import Any

import numpy as np

from shoal.data import hierarchy_builders
from shoal.data.cooccurrence import group_together
from shoal.data.hierarchy import MISSING, ROOT, Hierarchy
from shoal.data.hierarchy_builders import EXACT, all_whole, numbers, plain
from shoal.errors import HierarchyError
from shoal.params import is_number

# ----------------------------------------
# Outliers recoded: rare values join a general category of their column before anything coarser is tried.
#
# Morton et al. (Sections 5.1 and 5.2) recode outliers after looking at each column's distribution. Here that is a
# level of the hierarchy, so that a release says which cells it happened to, and a search decides whether it has to.


OTHER = "other"


def check_least(name: str, least: object) -> int:
    """How many records a value needs not to be rare."""
    if not is_number(least) or least != int(least) or least < 2:  # type: ignore[call-overload, operator]
        raise HierarchyError(
            f"The 'rare' of the hierarchy of '{name}' must be a whole number of at least 2: got {least!r}."
        )
    return int(least)  # type: ignore[call-overload, no-any-return]


def rare_together(tree: Hierarchy, counts: Mapping[str, int], least: int) -> Hierarchy:
    """The same tree with one more level above the values: those with fewer records become one, under each parent.

    Where they have fewer than ``least`` together, the next rarest joins them, until they have as many.

    Examples
    --------
    >>> tree = Hierarchy.from_rows("pet", [["cat", "*"], ["dog", "*"], ["newt", "*"], ["eft", "*"]])
    >>> rare_together(tree, {"cat": 9, "dog": 8, "newt": 2, "eft": 1}, 3).rows()[2]
    ['newt', 'other', '*']
    """
    some: set[str] = set()
    for _, paths in groupby(tree.rows(), key=lambda path: path[1:]):
        some |= _joined([path[0] for path in paths if path[0] != MISSING], counts, least)
    made = replace(_labelled(tree, some), counted=True, relabel=partial(_together_again, tree))
    return made.with_missing() if MISSING in tree.leaf_code else made


def _labelled(tree: Hierarchy, some: Collection[str]) -> Hierarchy:
    """A tree with a level above the values, on which some of them have one label under each parent."""
    rows, taken = [], set(tree.node_labels)
    for leaf, *parent in tree.rows():
        label = _free(OTHER if parent in ([], [tree.labels[-1][0]]) else f"{OTHER} {parent[0]}", taken)
        rows.append([leaf, label if leaf in some else leaf, *(parent or [ROOT])])
    return Hierarchy.from_rows(tree.name, rows)


def _together_again(whole: Hierarchy, tree: Hierarchy) -> Hierarchy:
    """The same groups of rare values, named beside the values that are left; a value that is left alone is itself."""
    joined = {row[0]: row[1] for row in tree.rows() if row[0] != row[1]}
    often = Counter(joined.values())
    return _labelled(_part(whole, tree), {value for value, label in joined.items() if often[label] > 1})


def _part(whole: Hierarchy, tree: Hierarchy) -> Hierarchy:
    """The part of the hierarchy before anything joined that has the values of another one."""
    return whole.part(np.array([label in tree.leaf_code for label in whole.labels[0]]))


def rare_tails(tree: Hierarchy, counts: Mapping[str, int], least: int) -> Hierarchy:
    """The same tree of intervals, whose outermost ones join until each end of a level has enough records.

    Examples
    --------
    >>> rows = [["3", "[0,9]", "*"], ["14", "[10,19]", "*"], ["25", "[20,29]", "*"], ["31", "[30,39]", "*"]]
    >>> rare_tails(Hierarchy.from_rows("age", rows), {"3": 1, "14": 8, "25": 9, "31": 5}, 5).labels[1]
    ('<20', '[20,29]', '[30,39]')
    """
    paths = [path for path in tree.rows() if path[0] != MISSING]
    weights = [counts.get(path[0], 0) for path in paths]
    kept: list[int] = []
    levels: list[list[str]] = []
    low, high = 0, len(paths)  # values below and from here on are in a tail of the level before
    for level in range(1, tree.height):
        labels = [path[level] for path in paths]
        first, last = (
            _end(labels, weights, least, low),
            len(paths) - _end(labels[::-1], weights[::-1], least, len(paths) - high),
        )
        if first < last:
            kept.append(level)
            levels.append(_with_tails(labels, first, last))
            low, high = first, last
    rows = [[path[0], *(level[at] for level in levels), path[-1]] for at, path in enumerate(paths)]
    made = replace(Hierarchy.from_rows(tree.name, rows), counted=True, relabel=partial(_tails_again, tree, kept))
    return made.with_missing() if MISSING in tree.leaf_code else made


def _tails_again(whole: Hierarchy, kept: Sequence[int], tree: Hierarchy) -> Hierarchy:
    """The same tails, named by the intervals of the values that are left.

    Parameters
    ----------
    whole, kept
        The intervals before any of them joined, and which of their levels there are.
    """
    paths = _part(whole, tree).rows()
    levels: list[list[str]] = []
    below = above = False  # whether there is such a tail on the level before
    for at, level in enumerate(kept, 1):
        tails = [tree.labels[at][node] for node in tree.ancestors[at]]
        labels = [path[level] for path in paths]
        first = sum(label.startswith("<") for label in tails)
        last = len(labels) - sum(label.startswith(">=") for label in tails)
        # What is left of a tail may be one interval, which needs no other name.
        below, above = below or len(set(labels[:first])) > 1, above or len(set(labels[last:])) > 1
        levels.append(_with_tails(labels, first if below else 0, last if above else len(labels)))
    rows = [[path[0], *(level[at] for level in levels), path[-1]] for at, path in enumerate(paths)]
    return Hierarchy.from_rows(tree.name, rows)


def _joined(values: Sequence[str], counts: Mapping[str, int], least: int) -> set[str]:
    """Values that become one: the rare ones, and as many of the next as it takes; none where no value is rare."""
    found: list[str] = []
    together = 0
    for value in sorted(values, key=lambda value: (counts.get(value, 0), value)):
        if counts.get(value, 0) >= least and (not found or together >= least):
            break
        found.append(value)
        together += counts.get(value, 0)
    return set(found) if len(found) > 1 else set()


def _free(label: str, taken: Collection[str]) -> str:
    """A label that means nothing else in the column."""
    while label in taken:
        label += " (rare)"
    return label


def _end(labels: Sequence[str], weights: Sequence[int], least: int, least_values: int) -> int:
    """How many values the whole intervals at one end have that hold enough records; 0 where the first one does."""
    done = together = nodes = 0
    for _, run in groupby(range(len(labels)), key=lambda at: labels[at]):
        places = list(run)
        together += sum(weights[at] for at in places)
        done, nodes = done + len(places), nodes + 1
        if together >= least and done >= least_values:
            break
    return done if nodes > 1 or least_values else 0


def _with_tails(labels: Sequence[str], first: int, last: int) -> list[str]:
    found = list(labels)
    if first == len(labels) or (last == 0 and labels):  # no value is left that the tail could end at
        return [ROOT] * len(labels)
    if first:
        found[:first] = [f"<{_start(labels[first])}"] * first
    if last < len(labels):
        found[last:] = [f">={_start(labels[last])}"] * (len(labels) - last)
    return found


def _start(label: str) -> str:
    """The lower end of an interval as builders label it."""
    return label.removeprefix("[").split(",")[0]


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
        which is better kept in a file (:func:`shoal.data.hierarchy_files.write_csv`).
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
    return [replace(one, hierarchy=one.hierarchy.with_missing()) for one in made] if MISSING in counts else made


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


def _by_date(name: str, counts: dict[str, int]) -> Suggestion | None:
    every = hierarchy_builders.dates(name, list(counts))
    levels, last = [], len(counts)
    for place, level in enumerate(("month", "quarter", "year", "decade"), 1):
        nodes = len(every.labels[place])
        if 1 < nodes <= _FEWER * last:
            levels.append(level)
            last = nodes
    if not levels:
        return None
    tree = hierarchy_builders.dates(name, list(counts), levels)
    days = [date.fromisoformat(value).toordinal() for value in (min(counts), max(counts))]
    why = f"dates over {max(1, round((days[1] - days[0]) / 365.25)):,} years: by {', '.join(levels)}"
    return Suggestion(column=name, how="dates", why=why, spec={"dates": levels}, hierarchy=tree)


def _by_steps(name: str, counts: dict[str, int]) -> Suggestion | None:
    widths = _widths(name, counts)
    if not widths:
        return None
    tree = hierarchy_builders.equal_width(name, list(counts), widths)
    steps = f"{len(tree.labels[1]):,} steps of {plain(widths[0])}"
    coarser = zip(widths[1:], tree.labels[2:-1], strict=True)
    more = "".join(f", {len(labels):,} of {plain(width)}" for width, labels in coarser)
    why = f"{len(counts):,} numbers in {steps}{more}; round steps say nothing of the people"
    spec = {"widths": [int(one) if one == one.to_integral_value() else float(one) for one in widths]}
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


def _lopsided(name: str, counts: Mapping[str, int]) -> bool:
    """Whether one of the finest round steps holds most of the records."""
    widths = _widths(name, counts)
    if not widths:
        return True
    tree = hierarchy_builders.equal_width(name, list(counts), widths[:1])
    heavy = np.bincount(tree.ancestors[1], [counts[value] for value in tree.labels[0]])
    return bool(heavy.max() > _LOPSIDED * heavy.sum())


def _by_quantiles(name: str, counts: dict[str, int]) -> Suggestion | None:
    groups = [size for size in _GROUPS[1:] if size <= _FEWER * len(counts)]
    if not groups:
        return None
    tree = hierarchy_builders.quantiles(name, list(counts), list(counts.values()), groups)
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
        return Suggestion(how="prefix", spec=spec, hierarchy=hierarchy_builders.prefix(name, values, keep), **made)
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
    tree = rare_together(Hierarchy.from_rows(name, [[value, ROOT] for value in counts]), counts, least)
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
