"""What a release is for: queries, a column to predict and boundaries, as weights of columns and tolls on their axes.

A cell that reaches over a cut of its column pays the cut's toll, in shares of what a cell that says nothing costs.
Every price of a cell grows with its extent, so tolls go where prices are made, and every method that minimises prices
prefers groups that end at cuts.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import date
from decimal import Decimal, InvalidOperation
from typing import TYPE_CHECKING, Any

import numpy as np

from shoal.data.column import FLAT, TREE, Column
from shoal.data.hierarchy import MISSING, Hierarchy
from shoal.errors import DomainError, ParameterError, SchemaError, names_values
from shoal.params import nearest, real

if TYPE_CHECKING:
    from shoal.data.table import Table

_OWNER = "the workload"
_EPOCH = date(1970, 1, 1)


@dataclass(frozen=True, kw_only=True)
class Workload:
    """What the readers of a release are known to do with it; the constructor only stores and checks.

    Parameters
    ----------
    queries
        Counting queries such as ``age in [30,40] and sex = "Female"``.
    target
        A released column that will be predicted from the quasi-identifiers.
    boundaries
        By column, values x of ordered columns where "below x" and "x and above" should stay apart, and labels of
        hierarchies (or lists of values) that should stay apart from everything else.
    strength
        What a cell pays that reaches over a protected boundary, in cells of its column that say nothing.

    Examples
    --------
    >>> Workload(target="salary", boundaries={"age": [28]}).boundaries
    {'age': (28,)}
    """

    queries: Sequence[str] = ()
    target: str | None = None
    boundaries: Mapping[str, Sequence[Any]] = field(default_factory=dict, hash=False)
    strength: float = 1.0

    def __post_init__(self) -> None:
        queries = self.queries
        if isinstance(queries, str) or not all(isinstance(query, str) for query in queries):
            raise ParameterError(f"The 'queries' of {_OWNER} must be a list of texts, one a query.")
        object.__setattr__(self, "queries", tuple(queries))
        if self.target is not None and not isinstance(self.target, str):
            raise ParameterError(f"The 'target' of {_OWNER} must be the name of one column. Got {self.target!r}.")
        if not isinstance(self.boundaries, Mapping):
            raise ParameterError(f"The 'boundaries' of {_OWNER} must be a table of a list a column.")
        for name, given in self.boundaries.items():
            if isinstance(given, str) or not isinstance(given, Sequence) or not given:
                raise ParameterError(f"The boundaries of '{name}' in {_OWNER} must be a list such as [28, 65].")
        object.__setattr__(self, "boundaries", {name: tuple(given) for name, given in self.boundaries.items()})
        object.__setattr__(self, "strength", real(_OWNER, "strength", self.strength, low=0.0, open_low=True))
        if not (self.queries or self.target or self.boundaries):
            raise ParameterError(f"There is nothing in {_OWNER}: give queries, a target or boundaries.")

    def parameters(self) -> dict[str, Any]:
        """The workload as a recipe writes it."""
        given: dict[str, Any] = {"queries": list(self.queries), "target": self.target, "strength": self.strength}
        given["boundaries"] = {
            name: [one.isoformat() if isinstance(one, date) else one for one in values]
            for name, values in self.boundaries.items()
        }
        return {key: value for key, value in given.items() if value not in (None, [], {})}


@dataclass(frozen=True, eq=False)
class Cuts:
    """Cuts of one column: ``at`` separates what lies below it from itself and everything above.

    Attributes
    ----------
    at
        float64, ascending: positions of an interval column, codes of a tree column.
    toll
        float64: what a cell pays that reaches over each.
    """

    at: np.ndarray
    toll: np.ndarray

    @classmethod
    def of(cls, at: Sequence[float] | np.ndarray, toll: Sequence[float] | np.ndarray) -> Cuts:
        """Sort, and add up what is charged at one place."""
        places, which = np.unique(np.asarray(at, dtype=np.float64), return_inverse=True)
        return cls(places, np.bincount(which.ravel(), np.asarray(toll, dtype=np.float64), minlength=places.size))

    @property
    def total(self) -> float:
        """What a cell pays that covers everything."""
        return float(self.toll.sum())

    def below(self, places: np.ndarray) -> np.ndarray:
        """Tolls of the cuts up to each place: a cell pays those up to its end less those up to its start."""
        paid = np.concatenate([[0.0], np.cumsum(self.toll)])
        return paid[np.searchsorted(self.at, places, side="right")]

    def levels(self, column: Column) -> np.ndarray:
        """What the cell of every code pays at every level, shape (levels, codes)."""
        if column.kind != TREE or column.hierarchy is None:
            return np.stack([np.zeros(column.card), np.full(column.card, self.total)])
        nodes = column.hierarchy.ancestors
        first = np.stack([np.searchsorted(level, level, side="left") for level in nodes])
        return self.below(first + column.hierarchy.leaf_counts - 1) - self.below(first)


NO_CUTS = Cuts(np.empty(0), np.empty(0))


def lifts(columns: Sequence[Column], cuts: Mapping[str, Cuts]) -> np.ndarray:
    """How much more the most expensive cell of each column costs with its tolls: 1 and their sum."""
    return np.array([1.0 + cuts.get(column.name, NO_CUTS).total for column in columns])


def kept_by_tolls(column: Column, cuts: Mapping[str, Cuts]) -> np.ndarray:
    """Share of a column's tolls that each of its levels does not pay, over all rows; ones without tolls."""
    mine = cuts.get(column.name, NO_CUTS)
    paid = mine.levels(column) @ column.frequencies
    return 1.0 - paid / (mine.total * column.frequencies.sum()) if mine.total else np.ones(paid.size)


def set_workload(table: Table, workload: Workload | None) -> Table:
    """The same table with a workload, after checking that its columns and boundaries exist."""
    if workload is None:
        return table
    released = table.schema.released
    if workload.target is not None and workload.target not in released:
        _refuse(f"The target of {_OWNER}", workload.target, released, "released")
    for name, given in workload.boundaries.items():
        if name not in table.schema.quasi:
            _refuse(f"A boundary of {_OWNER}", name, table.schema.quasi, "a quasi-identifier")
        for value in given:
            boundary_cuts(table.columns[name], value)
    return table.knowing(workload=workload)


def _refuse(what: str, name: str, options: Sequence[str], must: str) -> None:
    near = nearest(name, options)
    hint = f"Did you mean '{near}'?" if near else f"Possible are: {', '.join(options)}."
    raise SchemaError(f"{what} names '{name}', which is not {must}. {hint}")


@dataclass(frozen=True, eq=False)
class Axis:
    """The values of a column as texts, in order, and its hierarchy where cells follow one."""

    name: str
    type: str
    hierarchy: Hierarchy | None
    values: Sequence[str]


def boundary_cuts(column: Column, value: Any) -> np.ndarray:
    """Where a declared boundary cuts a column's axis."""
    if column.kind == FLAT:
        raise SchemaError(
            f"A boundary of {_OWNER} is on '{column.name}', whose values have no order: give it a hierarchy."
        )
    tree = column.hierarchy if column.kind == TREE else None
    axis = Axis(column.name, column.type, tree, column.texts.to_list())
    if tree is None and column.numbers is not None:
        limit = _number(axis, value)
        _check_inside(column, value, limit)
        base = column.numbers[0].item() if isinstance(column.numbers[0], np.generic) else column.numbers[0]
        return np.array([float(limit - Decimal(str(base)))])
    return changes(sides(axis, value), np.array(axis.values) != MISSING)


def changes(above: np.ndarray, known: np.ndarray) -> np.ndarray:
    """Codes at which a flag of the known values changes."""
    codes = np.flatnonzero(known)
    return codes[1:][above[codes][1:] != above[codes][:-1]].astype(np.float64)


def sides(axis: Axis, value: Any) -> np.ndarray:
    """On which side of a boundary each value lies, as flags; the missing one lies below."""
    flags = np.array([False if text == MISSING else flag for text, flag in _flags(axis, value)], dtype=bool)
    known = np.array(axis.values) != MISSING
    if flags[known].all() or not flags.any():
        raise DomainError(
            f"The boundary {_shown(value)} of '{axis.name}' in {_OWNER} has no value of the column on one side of it: "
            "move it inside."
        )
    return flags


def _flags(axis: Axis, value: Any) -> Iterator[tuple[str, bool]]:
    tree, values = axis.hierarchy, axis.values
    names_values = isinstance(value, list | tuple)
    if axis.type in ("numeric", "date") and not names_values and not _is_label(axis, value):
        limit = _number(axis, value)
        numbers = [_parsed(axis.type, text) for text in values]
        flags = [number is not None and number >= limit for number in numbers]
    elif tree is not None or names_values:
        members = _members(axis, value)
        flags = [text in members for text in values]
    else:
        if str(value) not in values:
            raise DomainError(_unknown(axis, value, values))
        first = list(values).index(str(value))
        flags = [place >= first for place in range(len(values))]
    return zip(values, flags, strict=True)


def _is_label(axis: Axis, value: Any) -> bool:
    """Whether a boundary of numbers with a hierarchy names a node that is no number."""
    return axis.hierarchy is not None and isinstance(value, str) and _parsed(axis.type, value) is None


def _members(axis: Axis, value: Any) -> set[str]:
    """Values under the nodes that a boundary keeps apart from everything else."""
    tree, members = axis.hierarchy, set()
    for label in [str(one) for one in (value if isinstance(value, list | tuple) else [value])]:
        options = axis.values if tree is None else tree.node_labels
        if label not in options:
            raise DomainError(_unknown(axis, label, options))
        if tree is None:
            members.add(label)
        else:
            node = tree.node_labels.index(label)
            first = int(tree.node_first[node])
            members |= set(tree.labels[0][first : first + int(tree.node_leaves[node])])
    return members


def _unknown(axis: Axis, value: Any, options: Sequence[str]) -> str:
    near = nearest(str(value), options) if names_values() else None
    hint = f"did you mean '{near}'?" if near else "name a value of the column, or a label of its hierarchy."
    return f"The boundary {_shown(value)} of '{axis.name}' in {_OWNER} is not in its domain: {hint}"


def _number(axis: Axis, value: Any) -> Decimal:
    number = _parsed(axis.type, value.isoformat() if isinstance(value, date) else str(value))
    if number is None:
        what = "a date such as 2020-01-31" if axis.type == "date" else "a number"
        raise ParameterError(f"A boundary of '{axis.name}' in {_OWNER} must be {what}. Got {_shown(value)}.")
    return number


def _parsed(kind: str, text: str) -> Decimal | None:
    try:
        found = Decimal((date.fromisoformat(text) - _EPOCH).days) if kind == "date" else Decimal(text)
    except (InvalidOperation, ValueError):
        return None
    return found if found.is_finite() else None


def _check_inside(column: Column, value: Any, limit: Decimal) -> None:
    numbers = column.numbers
    low, high = column.declared or (numbers[0], numbers[-1]) if numbers is not None and numbers.size else (0, 0)
    if not Decimal(str(low)) < limit <= Decimal(str(high)):
        raise DomainError(
            f"The boundary {_shown(value)} of '{column.name}' in {_OWNER} lies outside its domain, or at its lowest "
            "value, where it separates nothing: move it inside."
        )


def _shown(value: Any) -> str:
    return value.isoformat() if isinstance(value, date) else repr(value)
