"""What an algorithm is given and what it gives back."""

from __future__ import annotations

import dataclasses
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np

from shoal.kernels.judge.segments import Sensitive
from shoal.kernels.price.geometry import FLAT as FLAT_KIND
from shoal.kernels.price.geometry import INTERVAL as INTERVAL_KIND
from shoal.kernels.price.geometry import TREE as TREE_KIND
from shoal.kernels.price.geometry import Geometry, list_pairs
from shoal.kinds.base import Kind
from shoal.kinds.generalised import GENERALISED
from shoal.models.base import Model
from shoal.models.judge import Judge
from shoal.params import real
from shoal.recoding.recodings import Recoding
from shoal.recoding.snap import published_ends
from shoal.table.column import FLAT, TREE, Column
from shoal.table.domain import Domain
from shoal.table.keys import Keys
from shoal.table.rows import ArrayRows, Rows, in_memory
from shoal.table.table import Table
from shoal.table.workload import NO_CUTS, Cuts, lifts

# Columns of up to this many codes list the prices of all pairs: a list that fits the cache beats working them out.
_LISTED = 200
_KINDS = {"interval": INTERVAL_KIND, TREE: TREE_KIND, FLAT: FLAT_KIND}


@dataclass(frozen=True, eq=False, kw_only=True)
class Problem:
    """Rows, the models their classes must satisfy, and the means to work on them."""

    rows: Rows
    judge: Judge
    keys: Keys
    progress: Callable[[str], None] = lambda step: None

    @property
    def domain(self) -> Domain:
        """Roles, dictionaries and counts: all that methods on the frequency table need."""
        return self.rows.domain

    @property
    def memory(self) -> ArrayRows:
        """The rows as arrays, for methods that group records one by one."""
        return in_memory(self.rows)

    @property
    def table(self) -> Table:
        """The table in memory."""
        return self.memory.table

    @property
    def shuffled(self) -> np.ndarray:
        """Row numbers in the keyed order in which ties are broken."""
        return self.keys.shuffle("ties", self.table.row_keys)


@dataclass(frozen=True, kw_only=True)
class Algorithm:
    """A method with its parameters; the constructor only stores and checks them.

    Attributes
    ----------
    suppression_limit
        Largest share of rows that may be suppressed after recoding.

    Class attributes
    ----------------
    kind
        Kind of the releases that it makes, which says what warning code they need.
    """

    name: ClassVar[str]
    shorthand: ClassVar[Sequence[str]] = ()
    kind: ClassVar[Kind] = GENERALISED
    suppression_limit: float = 0.0

    def __post_init__(self) -> None:
        real(type(self).__name__, "suppression_limit", self.suppression_limit, low=0.0, high=1.0)

    @property
    def invents(self) -> bool:
        """Whether it may make records up, which can make up for those that are lacking."""
        return False

    def parameters(self) -> dict[str, Any]:
        """The algorithm as a recipe writes it."""
        given = {
            f.name: getattr(self, f.name) for f in dataclasses.fields(self) if f.name not in self.shorthand
        }
        return {"name": self.name} | {key: value for key, value in given.items() if value is not None}

    def models(self) -> list[Model]:
        """Models that constructor arguments such as ``k`` stand for."""
        return []

    def run(self, problem: Problem) -> Recoding:
        """Group the records of a table."""
        raise NotImplementedError


def geometry(table: Table) -> Geometry:
    """The quasi-identifiers' prices, tolls of a workload included, packed for the kernels."""
    return column_geometry(table.quasi, table.domain.quasi_weights, table.domain.cuts)


def column_geometry(
    columns: Sequence[Column], weights: np.ndarray, cuts: Mapping[str, Cuts] | None = None
) -> Geometry:
    """The same for any columns: what a group's published cells cost, snapping included.

    Cells that reach over ``cuts`` cost more, and a column's weight grows by what the widest cell pays, so that prices
    stay between 0 and 1 and a cell that crosses none costs what it did.
    """
    cuts = cuts or {}
    ends = [
        published_ends(column) if _KINDS[column.kind] == INTERVAL_KIND else (np.empty(0), np.empty(0))
        for column in columns
    ]
    trees = [_tree_arrays(column) for column in columns]
    words = [(column.card + 63) // 64 if column.kind == FLAT else 0 for column in columns]
    geo = Geometry(
        kind=np.array([_KINDS[column.kind] for column in columns], dtype=np.int64),
        card=np.array([column.card for column in columns], dtype=np.int64),
        missing=np.array([column.missing for column in columns], dtype=np.int64),
        scale=np.array([_scale(column) for column in columns], dtype=np.float64),
        weight=np.asarray(weights, dtype=np.float64),
        place=np.concatenate([np.empty(0), *(low for low, _ in ends)]),
        top=np.concatenate([np.empty(0), *(high for _, high in ends)]),
        place_at=np.cumsum([0, *(low.size for low, _ in ends)], dtype=np.int64),
        tree=np.concatenate([np.empty(0, dtype=np.int32), *(tree for tree, _ in trees)]).astype(np.int32),
        leaves=np.concatenate([np.empty(0), *(leaves for _, leaves in trees)]).astype(np.float64),
        tree_at=np.cumsum([0, *(tree.size for tree, _ in trees)], dtype=np.int64),
        word_at=np.cumsum([0, *words], dtype=np.int64),
        pair=np.empty(0),
        pair_at=np.full(len(columns), -1, dtype=np.int64),
    )
    return with_pairs(_with_tolls(geo, columns, cuts) if cuts else geo)


def _with_tolls(geo: Geometry, columns: Sequence[Column], cuts: Mapping[str, Cuts]) -> Geometry:
    """Stretch the axes at the cuts: ends of intervals move apart there, and nodes across them gain leaves."""
    for place, column in enumerate(columns):
        mine = cuts.get(column.name, NO_CUTS)
        if not mine.total or not geo.scale[place]:
            continue
        if geo.kind[place] == INTERVAL_KIND:
            run = slice(geo.place_at[place], geo.place_at[place + 1])
            geo.place[run] += mine.below(geo.place[run]) / geo.scale[place]
            geo.top[run] += mine.below(geo.top[run]) / geo.scale[place]
        elif geo.kind[place] == TREE_KIND:
            run = slice(geo.tree_at[place], geo.tree_at[place + 1])
            geo.leaves[run] += mine.levels(column).ravel() / geo.scale[place]
    lift = lifts(columns, cuts)
    return geo._replace(scale=geo.scale / lift, weight=geo.weight * lift)


def with_pairs(geo: Geometry) -> Geometry:
    """The same geometry with its lists of pairs made anew; whoever changes other parts of one needs this."""
    listed = (geo.kind != FLAT_KIND) & (geo.card <= _LISTED)
    sizes = np.where(listed, geo.card**2, 0)
    pair_at = np.where(listed, np.cumsum(sizes) - sizes, -1)
    return geo._replace(pair=list_pairs(geo, pair_at, int(sizes.sum())), pair_at=pair_at)


def shuffled_codes(problem: Problem) -> tuple[np.ndarray, np.ndarray]:
    """The keyed order of the rows (int32), and their quasi-identifier codes in that order, a row a record.

    Moving rows is what takes the time, so codes are as narrow as they can be.
    """
    table = problem.table
    order = problem.shuffled.astype(np.int32)
    narrow = np.int16 if max(column.card for column in table.quasi) < 1 << 15 else np.int32
    rows = np.empty((table.n, len(table.quasi)), dtype=narrow)
    for place, column in enumerate(table.quasi):
        rows[:, place] = table.codes[column.name]
    return order, rows.take(order, axis=0)  # one jump in memory a row, not one a cell


def _tree_arrays(column: Column) -> tuple[np.ndarray, np.ndarray]:
    if column.kind != TREE or column.hierarchy is None:
        return np.empty(0, dtype=np.int32), np.empty(0)
    return column.hierarchy.ancestors.ravel(), column.hierarchy.leaf_counts.ravel()


def _scale(column: Column) -> float:
    width = column.span if _KINDS[column.kind] == INTERVAL_KIND else column.card - 1.0
    return 1.0 / width if width > 0 else 0.0


def sensitive_codes(problem: Problem) -> Sensitive:
    """The attributes the models look at, packed for the kernels."""
    attributes = problem.judge.attributes
    n = problem.table.n
    values = [problem.table.values(one) for one in attributes]
    codes = np.stack(values) if values else np.empty((0, n), dtype=np.int32)
    subjects = problem.table.subjects
    return Sensitive(
        codes=codes,
        people=np.array([one.people for one in attributes], dtype=np.uint8),
        subjects=np.empty(0, dtype=np.int32) if subjects is None else subjects,
        n_subjects=problem.table.n_subjects,
    )
