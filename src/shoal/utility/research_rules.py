"""Data constraint rules: distinctions that an expert wants kept, each with its importance (Morton et al., Sec. 4)."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import date
from decimal import Decimal
from typing import Any

import numpy as np

from shoal.data.column import TREE, Column
from shoal.data.hierarchy import ROOT
from shoal.data.values import format_number
from shoal.errors import ParameterError
from shoal.params import nearest, real
from shoal.recoding.cells import CellColumn, IntervalCells, SetCells, TreeCells
from shoal.utility.research_labels import Labels, Reach, Side, exact_number, is_numeric, meet, reach, sides_of_boundary

_KEYS = ("column", "separate", "boundary", "importance", "keep")
_FORM = '{ column = "age", boundary = 20, importance = 10 } or { column = "sex", separate = ["F", "M"] }'
# A value, a label or an interval; or several of them, which make one domain of values.
Domain = str | tuple[str, ...]


@dataclass(frozen=True, kw_only=True)
class Constraint:
    """Keep two domains of values apart, or keep what lies up to a boundary apart from what lies above it.

    Attributes
    ----------
    separate
        Two domains: each a value, a label of the hierarchy, an interval of numbers or dates, a list of those, or
        ``"*"`` for everything that the other is not. Kept where no published label reaches into both.
    boundary
        A number or date p; kept where no published label reaches both up to p and above p.
    importance
        What keeping the rule is worth, relative to the column's other rules.
    keep
        Whether it has to be kept, whatever that costs.
    """

    column: str
    separate: tuple[Domain, Domain] | None = None
    boundary: str | None = None
    importance: float = 1.0
    keep: bool = False

    @classmethod
    def of(cls, given: Any) -> Constraint:
        """The rule that a recipe's table describes."""
        if isinstance(given, Constraint):
            return given
        if not isinstance(given, Mapping) or not isinstance(given.get("column"), str):
            raise ParameterError(f"A rule must be a table that names its column, such as {_FORM}. Got {given!r}.")
        for key in given:
            if key not in _KEYS:
                near = nearest(str(key), _KEYS)
                hint = f"Did you mean '{near}'?" if near else f"It has: {', '.join(_KEYS)}."
                raise ParameterError(f"A rule on '{given['column']}' has no entry '{key}'. {hint}")
        column = given["column"]
        if ("separate" in given) == ("boundary" in given):
            raise ParameterError(f"A rule on '{column}' needs either 'separate' or 'boundary', such as {_FORM}.")
        if not isinstance(given.get("keep", False), bool):
            raise ParameterError(f"The 'keep' of a rule on '{column}' must be true or false. Got {given['keep']!r}.")
        return cls(
            column=column,
            separate=_pair(column, given["separate"]) if "separate" in given else None,
            boundary=_text(column, given["boundary"]) if "boundary" in given else None,
            importance=real(
                f"a rule on '{column}'", "importance", given.get("importance", 1.0), low=0.0, open_low=True
            ),
            keep=given.get("keep", False),
        )

    def parameters(self) -> dict[str, Any]:
        """The rule as a recipe writes it."""
        what: dict[str, Any] = {"boundary": self.boundary}
        if self.separate is not None:
            what["separate"] = [one if isinstance(one, str) else list(one) for one in self.separate]
        given = {key: value for key, value in what.items() if value is not None}
        return {"column": self.column} | given | {"importance": self.importance} | ({"keep": True} if self.keep else {})

    @property
    def text(self) -> str:
        """The rule in a few words."""
        if self.separate is None:
            return f"{self.column}: up to {self.boundary} | above"
        return f"{self.column}: {' | '.join(map(_shown, self.separate))}"

    def sides(self, labels: Labels) -> tuple[Side, Side]:
        """What the rule keeps apart, after checking that the column has it."""
        column = labels.column
        if self.separate is None:
            return _boundary(labels, str(self.boundary))
        first, second = self.separate
        if first == ROOT or second == ROOT:
            one = _side(labels, second if first == ROOT else first)
            other = Side(np.setdiff1d(np.arange(column.card), one.codes), tuple(_left(one, labels)))
        else:
            one, other = _side(labels, first), _side(labels, second)
        shared = np.intersect1d(one.codes, other.codes)
        if shared.size:
            raise ParameterError(
                f"The rule '{self.text}' has '{column.texts[int(shared[0])]}' on both sides: leave it out of one."
            )
        if not other.codes.size:
            raise ParameterError(f"The rule '{self.text}' has no value on one of its sides: name some on both.")
        return one, other

    def signs(self, column: Column) -> np.ndarray:
        """On which side each value of the column is: 1 the first, 2 the second, 0 neither."""
        found = np.zeros(column.card, dtype=np.int8)
        for sign, side in enumerate(self.sides(Labels(column)), 1):
            found[side.codes] = sign
        return found

    def breaking(self, labels: Labels) -> list[np.ndarray]:
        """Flags of the labels that reach into both sides, level by level."""
        one, other = (labels.touched(side) for side in self.sides(labels))
        return [mine & theirs for mine, theirs in zip(one, other, strict=True)]

    def kept(self, column: Column) -> np.ndarray:
        """At which levels of its column the rule is kept, as flags."""
        return np.array([not flags.any() for flags in self.breaking(Labels(column))])


def named_column(name: str, columns: Sequence[Column], what: str) -> Column:
    """The quasi-identifier of that name, or the sentence that proposes the nearest."""
    known = {column.name: column for column in columns}
    if name not in known:
        near = nearest(name, known)
        hint = f"Did you mean '{near}'?" if near else f"They are: {', '.join(known)}."
        raise ParameterError(f"{what} names '{name}', which is not a quasi-identifier. {hint}")
    return known[name]


def _shown(domain: Domain) -> str:
    return domain if isinstance(domain, str) else ", ".join(domain)


def _pair(column: str, given: Any) -> tuple[Domain, Domain]:
    if isinstance(given, str) or not isinstance(given, Sequence) or len(given) != 2:
        raise ParameterError(
            f"The 'separate' of a rule on '{column}' must be a list of two values, labels or lists of them. "
            f"Got {given!r}."
        )
    one, other = (_domain(column, entry) for entry in given)
    if one == other:
        raise ParameterError(f"A rule on '{column}' separates '{_shown(one)}' from itself: name two different values.")
    return one, other


def _domain(column: str, given: Any) -> Domain:
    if isinstance(given, str) or not isinstance(given, Sequence):
        return _text(column, given)
    if not len(given):
        raise ParameterError(f"The 'separate' of a rule on '{column}' has an empty list: name some values.")
    return tuple(_text(column, value) for value in given)


def _text(column: str, value: Any) -> str:
    """A value of a rule as the hierarchy writes it."""
    if isinstance(value, date):
        return value.isoformat()
    if isinstance(value, str):
        return value
    return format_number(real(f"a rule on '{column}'", "value", value)) if isinstance(value, float) else str(value)


def _side(labels: Labels, domain: Domain) -> Side:
    """The values and stretches that one domain stands for."""
    codes: list[int] = []
    stretches: list[Reach] = []
    for text in (domain,) if isinstance(domain, str) else domain:
        found, mine = _resolved(labels, text)
        codes += found
        stretches += mine
    return Side(np.unique(np.array(codes, dtype=np.int64)), tuple(stretches))


def _resolved(labels: Labels, text: str) -> tuple[list[int], list[Reach]]:
    """Codes of a value, of a label's values, or of the numbers in an interval; and the stretches that they reach."""
    column, texts = labels.column, labels.column.texts.to_list()
    if text in texts:
        return [texts.index(text)], []
    tree = column.hierarchy if column.kind == TREE else None
    if tree is not None and text in tree.node_labels and text != ROOT:
        node = tree.node_labels.index(text)
        first = int(tree.node_first[node])
        codes = list(range(first, first + int(tree.node_leaves[node])))
        return codes, labels.reaches_under(text, codes)
    reach = labels.reach(text) if is_numeric(column) and text != ROOT else None
    inside = [] if reach is None or reach[0] == reach[1] else np.flatnonzero(labels.inside(reach)).tolist()
    if reach is None or not inside:
        raise ParameterError(
            f"A rule on '{column.name}' names '{text}', which is not one of its values{_near(labels, text)}."
        )
    return inside, [reach]


def _left(side: Side, labels: Labels) -> list[Reach]:
    """What a side leaves of the number line; where numbers are not whole, its single values leave everything."""
    if not is_numeric(labels.column):
        return []
    step = Decimal(int(labels.whole))
    own = [labels.numbers[code] for code in side.codes.tolist()] if labels.whole else []
    taken = [*side.stretches, *((number, number) for number in own if number is not None)]
    gaps: list[Reach] = []
    start: Decimal | None = None
    for low, high in sorted(taken, key=lambda one: -Decimal("inf") if one[0] is None else one[0]):
        end = None if low is None else low - step
        if end is not None and (start is None or start < end or (labels.whole and start == end)):
            gaps.append((start, end))
        if high is None:
            return gaps
        start = high + step if start is None else max(start, high + step)
    return [*gaps, (start, None)]


def _near(labels: Labels, text: str) -> str:
    column = labels.column
    number = exact_number(column.type, text) if is_numeric(column) else None
    if number is not None:
        pairs = zip(labels.numbers, column.texts.to_list(), strict=True)
        found = min(((abs(mine - number), label) for mine, label in pairs if mine is not None), default=None)
        return "" if found is None else f"; the nearest is '{found[1]}'"
    known = column.texts.to_list()
    if column.kind == TREE and column.hierarchy is not None:
        known = list(dict.fromkeys([*known, *column.hierarchy.node_labels]))
    near = nearest(text, known)
    if near:
        return f"; the nearest is '{near}'"
    shown = column.texts.to_list()[:8]
    return f"; there are {', '.join(repr(one) for one in shown)}{', ...' if column.card > len(shown) else ''}"


def _boundary(labels: Labels, text: str) -> tuple[Side, Side]:
    """What lies up to the boundary, and what lies above it."""
    column = labels.column
    if not is_numeric(column):
        raise ParameterError(
            f"A rule sets a boundary on '{column.name}', which is {column.type}: use 'separate' instead."
        )
    found = sides_of_boundary(labels, text)
    if found is None:
        what = "a date such as 2020-01-31" if column.type == "date" else "a number"
        raise ParameterError(f"The 'boundary' of a rule on '{column.name}' must be {what}. Got '{text}'.")
    if not found[0].codes.size or not found[1].codes.size:
        known = sorted((number, code) for code, number in enumerate(labels.numbers) if number is not None)
        low, high = (column.texts[known[end][1]] for end in (0, -1))
        raise ParameterError(
            f"A rule sets the boundary {text} on '{column.name}', which has no value on one side of it: its values "
            f"go from {low} to {high}."
        )
    return found


# ----------------------------------------
# Which rules a release keeps, and which of its cells break the others.


def breaking_cells(rule: Constraint, cells: CellColumn) -> list[str]:
    """Different published cells that reach into both sides of a rule, in the order of the column."""
    labels = Labels(cells.column)
    if isinstance(cells, TreeCells):
        tree = cells.column.hierarchy
        assert tree is not None
        broken = np.concatenate(rule.breaking(labels))
        found = np.unique(cells.nodes[broken[cells.nodes]])
        return list(dict.fromkeys(tree.node_labels[node] for node in found.tolist()))
    sides = rule.sides(labels)
    _, first = np.unique(cells.keys, return_index=True)
    few = cells.take(first)
    texts = few.texts().to_list()
    return [texts[at] for at in range(len(texts)) if all(_touches(few, at, side, texts[at], labels) for side in sides)]


def _touches(cells: CellColumn, at: int, side: Side, text: str, labels: Labels) -> bool:
    """Whether one cell of a column without a hierarchy reaches into a side, by its published ends where it has some."""
    if isinstance(cells, IntervalCells) and labels.numbers and not (cells.star[at] or cells.missing[at]):
        mine = reach(cells.column.type, text, labels.whole)
        if mine is not None:
            return bool(labels.inside(mine)[side.codes].any()) or any(
                meet(mine, one, labels.whole) for one in side.stretches
            )
    return bool(_members(cells, at)[side.codes].any())


def _members(cells: CellColumn, at: int) -> np.ndarray:
    """Flags of the codes that a cell covers."""
    column: Column = cells.column
    flags = np.zeros(column.card, dtype=bool)
    if isinstance(cells, SetCells):
        flags[cells.members(at)] = True
        return flags
    assert isinstance(cells, IntervalCells)
    if cells.star[at]:
        return ~flags
    flags[cells.low[at] : cells.high[at] + 1] = True
    return flags


def rule_facts(rule: Constraint, cells: CellColumn, shown: int = 3) -> dict[str, Any]:
    """Whether a release keeps a rule, and some of the cells that break it."""
    broken = breaking_cells(rule, cells)
    return {
        **rule.parameters(), "keep": rule.keep, "text": rule.text, "kept": not broken, "breaking": len(broken),
        "such_as": broken[:shown],
    }  # fmt: skip
