"""The dictionary of one column, how often each value occurs, and the geometry that prices its generalised cells."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING

import numpy as np

from shoal.data.schema import ColumnSpec, Schema
from shoal.errors import SchemaError
from shoal.kernels.rules import EQUAL, LEAVES, POSITIONS

if TYPE_CHECKING:
    import polars as pl

    from shoal.data.hierarchy import Hierarchy
    from shoal.data.policies import Policy

SETS_LIMIT = 1 << 30  # bytes
INTERVAL, TREE, FLAT = "interval", "tree", "flat"


@dataclass(frozen=True, eq=False, kw_only=True)
class Column:
    """Dictionary of one quasi-identifier or sensitive attribute.

    A code is the sorted rank of a value in ordered columns, its depth-first leaf number in tree columns. The missing
    value, if there is one, has the last code.

    Attributes
    ----------
    kind
        ``"interval"`` (ordered, priced by width), ``"tree"`` (hierarchy) or ``"flat"`` (set of values).
    frequencies
        Rows of every code.
    texts
        Canonical text of every code (``"<missing>"`` for the missing one).
    numbers
        Exact values of a numeric (int64 or float64) or date column (days since 1970), without
        the missing one; None for other types.
    missing
        Code of the missing value, -1 when the column has none.
    hierarchy
        With the missing leaf already in it, where there is one.
    policy
        Sensitive ranges, None where each is its value alone.
    people
        How many people have each code, None where rows are people.
    crowd
        How many people must have a value for it to be published as the end of an interval.
    tree
        Of a column whose cells hold items: the hierarchy of these, None where there is none.
    """

    name: str
    role: str
    type: str
    kind: str
    frequencies: np.ndarray
    texts: pl.Series
    numbers: np.ndarray | None
    missing: int
    hierarchy: Hierarchy | None
    spec: ColumnSpec
    declared: tuple[object, object] | None = None
    policy: Policy | None = None
    people: np.ndarray | None = None
    crowd: int = 1
    tree: Hierarchy | None = None

    @cached_property
    def card(self) -> int:
        """Number of codes, the missing one included."""
        return len(self.texts)

    @cached_property
    def values(self) -> pl.Series:
        """The texts, null for the missing value."""
        if self.missing < 0:
            return self.texts
        texts = self.texts.clone()
        texts[self.missing] = None
        return texts

    @cached_property
    def cells(self) -> str:
        """Cell kind in a release: by kind and style, or value for columns that are never generalised."""
        if self.role != "quasi":
            return "value" if self.spec.items is None else "items"
        if self.kind == TREE:
            return "label"
        if self.spec.style != "auto":
            return self.spec.style
        return "interval" if self.kind == INTERVAL and self.type in ("numeric", "date") else "set"

    @cached_property
    def positions(self) -> np.ndarray:
        """Place of every code on the column's axis: its number, its day, or its rank; the missing one at infinity.

        Positions are offsets from the lowest value, so that very large numbers keep their differences.
        """
        known = self.card - (self.missing >= 0)
        if self.numbers is None:
            places = np.arange(known, dtype=np.float64)
        elif self.numbers.dtype.kind == "i" and known and int(self.numbers[-1]) - int(self.numbers[0]) >= 1 << 63:
            places = np.array([float(x - int(self.numbers[0])) for x in self.numbers.tolist()], dtype=np.float64)
        else:
            base = self.numbers[0] if known else 0
            places = (self.numbers - base).astype(np.float64)
        return np.append(places, np.inf) if self.missing >= 0 else places

    @cached_property
    def span(self) -> float:
        """Width of the domain: declared bounds, else the values observed (ranks for ordinal columns)."""
        known = self.card - (self.missing >= 0)
        if known == 0:
            return 0.0
        if self.declared is not None and self.numbers is not None:
            low, high = self.declared
            # Python's numbers: a difference of 64-bit integers may not fit into one.
            low, high = (bound.item() if isinstance(bound, np.generic) else bound for bound in (low, high))
            return float(high - low)  # type: ignore[operator]
        return float(self.positions[known - 1] - self.positions[0])

    @cached_property
    def domain_size(self) -> int:
        """Number of values a cell can cover: leaves, distinct values, or whole numbers of the span."""
        if self.kind == INTERVAL and self.whole:
            return int(round(self.span)) + 1
        return self.card

    @cached_property
    def whole(self) -> bool:
        """Whether every value is a whole number (or a day), so that an interval covers a countable set."""
        return self.numbers is None or self.numbers.dtype.kind == "i" or bool((self.numbers % 1 == 0).all())

    def check_sets(self, groups: int) -> None:
        """Refuse sets of values as bits, one for each value of the column, that so many groups have no memory for."""
        size = groups * ((self.card + 63) // 64) * 8
        if size > SETS_LIMIT:
            raise SchemaError(
                f"Column '{self.name}' has {self.card:,} different values and no hierarchy, and {groups:,} sets of "
                f"them take {size / (1 << 30):.1f} GiB: give it a hierarchy, such as {{ prefix = [3, 1] }}, drop it, "
                "or use 'mondrian' without polish or 'optimal'."
            )

    @cached_property
    def rare(self) -> np.ndarray:
        """Which known values too few people have: as the end of an interval, each would be somebody's own."""
        known = self.card - (self.missing >= 0)
        return (self.frequencies if self.people is None else self.people)[:known] < self.crowd


def counted(codes: np.ndarray, card: int) -> np.ndarray:
    """Rows of every code, for whoever makes a dictionary or takes part of the rows."""
    return np.bincount(codes, minlength=card)


# ----------------------------------------
# How far apart the values of a sensitive column are, as the kernels need it.


@dataclass(frozen=True, eq=False)
class Closeness:
    """The geometry of a column's known values.

    Attributes
    ----------
    kind
        By position, by leaves under the common ancestor, or equal or not.
    scale
        Width of the domain, or its values (leaves) less one; 0 where there is only one value.
    ref
        Position of every code, or leaf counts (levels, codes), flattened; empty for the last kind.
    tree
        (levels, codes) node of every code, for the second kind.
    """

    kind: int
    scale: float
    ref: np.ndarray
    tree: np.ndarray


def closeness(column: Column, unknown: np.ndarray) -> Closeness:
    """The geometry of a column, whose codes flagged ``unknown`` are no values.

    Numbers and dates are measured against the declared domain, else the input's; categories without a hierarchy
    against the input's distinct values.
    """
    none = np.empty((0, 0), dtype=np.int32)
    if column.kind == INTERVAL:
        return Closeness(POSITIONS, _known_span(column, unknown), column.positions, none)
    if column.kind == TREE:
        assert column.hierarchy is not None
        tree = column.hierarchy.ancestors
        # The missing leaf is the last one, and no value of the domain.
        counts = column.hierarchy.leaf_counts - (tree == tree[:, -1:]) * (column.missing >= 0)
        scale = float(column.card - int(column.missing >= 0) - 1)
        return Closeness(LEAVES, scale, counts.astype(np.float64).ravel(), tree)
    return Closeness(EQUAL, float(np.count_nonzero(unknown == 0) - 1), np.empty(0), none)


def _known_span(column: Column, unknown: np.ndarray) -> float:
    """Width of the declared domain or order, else of the known values: a non-answer is no place on the axis."""
    places = column.positions[unknown == 0]
    if column.declared is not None or column.numbers is None or places.size == 0:
        return column.span
    return float(places.max() - places.min())


# ----------------------------------------
# How a quasi-identifier's cells are published, and which styles a column can take.


NUMBERS = ("numeric", "date")


def file_columns(column: Column) -> list[str]:
    """Names that a column has in a release: two for ``bounds``, else its own."""
    if column.cells != "bounds":
        return [column.name]
    return [f"{column.name}_lo", f"{column.name}_hi"]


def check_styles(schema: Schema, names: Sequence[str], columns: Mapping[str, Column]) -> None:
    """Refuse a style that a column cannot have, and published names that are taken.

    Parameters
    ----------
    names
        Every column of the source, whatever its role: a published name must not mean two things.
    columns
        The coded columns.
    """
    for name, spec in schema.specs.items():
        if spec.style == "auto":
            continue
        if schema.role(name) != "quasi":
            raise SchemaError(f"Column '{name}' is no quasi-identifier: remove its 'style', which is for those only.")
        _check_style(columns[name])
        taken = [file for file in file_columns(columns[name]) if file != name and file in names]
        if taken:
            raise SchemaError(
                f"The bounds of '{name}' would be published as '{taken[0]}', which is a column already: rename it."
            )


def _check_style(column: Column) -> None:
    name, style = column.name, column.spec.style
    if style == "bounds" and (column.kind != INTERVAL or column.type not in NUMBERS):
        why = f"{column.type} with a hierarchy" if column.kind == TREE else column.type
        advice = 'set use = "interval"' if column.kind == TREE and column.type in NUMBERS else 'set style = "auto"'
        raise SchemaError(f"Column '{name}' is {why}, and bounds are for intervals of numbers and dates: {advice}.")
    if style == "representative" and column.kind not in (INTERVAL, TREE):
        raise SchemaError(
            f"Column '{name}' has no order, so no value of a set stands in its middle: give it an 'order', a "
            'hierarchy, or style = "auto".'
        )
    if column.missing >= 0 and column.kind == INTERVAL and column.type in NUMBERS:
        count = int(column.frequencies[column.missing])
        raise SchemaError(
            f"Column '{name}' has {count} missing cells, which style = \"{style}\" cannot tell from '*': set missing "
            'to "drop", or its style to "auto".'
        )
