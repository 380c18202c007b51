"""Guarding nodes: what each record's owner does not want to be thought of (Xiao & Tao 2006, personalised privacy)."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property

import numpy as np
import polars as pl

from shoal.data.coding import canonical_text
from shoal.data.column import Column
from shoal.data.hierarchy import Hierarchy
from shoal.data.stats import unknown_flags
from shoal.data.table import Table
from shoal.errors import ParameterError, PolicyError
from shoal.kernels import guards as kernel


@dataclass(frozen=True, eq=False, kw_only=True)
class Guards:
    """The guarded node of every record of a sensitive column; private, since a guard tells what is to be hidden.

    Attributes
    ----------
    column
        The sensitive column; it has a hierarchy.
    ids
        int64 ids of the hierarchy's distinct nodes, each on the lowest level on which it stands.
    nodes
        Their leaves and parents, for the kernels.
    leaf
        int64 distinct node of every record's own value, -1 where that is unknown.
    guard
        int64 distinct node that every record guards, -1 for none.
    """

    table: Table
    column: Column
    ids: np.ndarray
    nodes: kernel.Nodes
    leaf: np.ndarray
    guard: np.ndarray

    def worst(self, classes: np.ndarray, count: int, released: np.ndarray | None = None) -> np.ndarray:
        """Largest chance of a breach in every class; NaN for a class without a known value.

        ``classes`` is the class of every row (negative: none), ``released`` the node id that stands for its value.
        """
        node = self.leaf if released is None else np.where(self.leaf < 0, -1, self._place[released])
        rows, starts = _by_class(classes, count, None)
        return kernel.worst_breaches(self.nodes, starts, node[rows], self.guard[rows], self._times(classes)[rows])

    def lift(self, classes: np.ndarray, count: int, p: float, order: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """Distinct node to release for every row so that no breach is likelier than p, and the classes where it works.

        Ties are broken by ``order``, the rows in keyed order. Rows of unknown value keep their own (-1).
        """
        rows, starts = _by_class(classes, count, order)
        node = self.leaf[rows]
        worked = kernel.lift(self.nodes, starts, node, self.guard[rows], self._times(classes)[rows], p)
        released = self.leaf.copy()
        released[rows] = node
        return released, worked != 0

    def node_ids(self, released: np.ndarray) -> np.ndarray:
        """Node ids of the hierarchy for distinct nodes, an unknown value's own leaf for -1."""
        return np.where(released < 0, self.table.codes[self.column.name], self.ids[released])

    def widths(self, released: np.ndarray) -> np.ndarray:
        """Loss of every distinct node: leaves less one over the domain's, 0 for a value as it is."""
        leaves = self.nodes.after - self.nodes.first
        scale = max(self.column.card - 1.0, 1.0)
        return np.where(released < 0, 0.0, (leaves[released] - 1.0) / scale)

    @cached_property
    def _place(self) -> np.ndarray:
        """Distinct node of every node id."""
        tree = self.column.hierarchy
        assert tree is not None
        return _distinct(tree)[1]

    def _times(self, classes: np.ndarray) -> np.ndarray:
        """Records of known value that each row's owner has in its class."""
        subjects = self.table.subjects
        if subjects is None or self.table.n_subjects == self.table.n:
            return np.ones(self.table.n, dtype=np.int64)
        owner = classes.astype(np.int64) * self.table.n_subjects + subjects
        _, place = np.unique(owner, return_inverse=True)
        return np.bincount(place, weights=self.leaf >= 0).astype(np.int64)[place]


def guards_of(table: Table, on: str, level: int | None) -> Guards:
    """The guards of a sensitive column: from the table's guard column, or everybody's node at one level."""
    column = table.columns[on]
    tree = column.hierarchy
    if tree is None:
        raise ParameterError(f"Personalised anonymity needs a hierarchy of the sensitive column '{on}': give it one.")
    ids, place, parent = _distinct(tree)
    codes = table.codes[on]
    leaf = place[codes]
    first, leaves = tree.node_first[ids], tree.node_leaves[ids]
    nodes = kernel.Nodes(first, first + leaves, parent)
    known = unknown_flags(column)[codes] == 0
    if level is not None:
        if level > tree.height:
            raise ParameterError(f"The guard_level {level} is above the root of '{on}', which stands at {tree.height}.")
        guard = place[tree.node_id(level, codes)]
    else:
        guard = _declared(table, column, place)
    _refuse_strangers(table, nodes, codes, guard)
    return Guards(
        table=table, column=column, ids=ids, nodes=nodes, leaf=np.where(known, leaf, -1),
        guard=np.where(known, guard, -1),
    )  # fmt: skip


def _distinct(tree: Hierarchy) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Ids of the nodes that differ in their leaves, the place of every id among them, and parents by place."""
    span = tree.node_first * (tree.n_leaves + 1) + tree.node_leaves
    _, ids, inverse = np.unique(span, return_index=True, return_inverse=True)
    place = inverse.astype(np.int64)
    parent = np.full(ids.size, -1, dtype=np.int64)
    leaf = np.arange(tree.n_leaves)
    for level in range(tree.height):
        below, above = place[tree.node_id(level, leaf)], place[tree.node_id(level + 1, leaf)]
        differ = below != above
        parent[below[differ]] = above[differ]
    return ids, place, parent


def _declared(table: Table, column: Column, place: np.ndarray) -> np.ndarray:
    name = table.schema.guard
    if name is None:
        raise ParameterError(
            "Personalised anonymity needs to know what people guard: give a column the role 'guard' or set guard_level."
        )
    assert column.hierarchy is not None
    labels = pl.Series(column.hierarchy.node_labels, dtype=pl.String)
    # A label that stands on several levels names the same leaves on each.
    known = pl.DataFrame({"label": labels, "place": place}).unique("label", keep="first")
    texts = canonical_text(table.series(name)).replace("", None).alias("label").to_frame()
    found = texts.join(known, on="label", how="left", maintain_order="left")
    strange = int((found["place"].is_null() & found["label"].is_not_null()).sum())
    if strange:
        raise PolicyError(
            f"{strange} cells of the guard column '{name}' are no node of the hierarchy of '{column.name}': correct "
            "them, or leave them empty where nothing is guarded."
        )
    return found["place"].fill_null(-1).to_numpy().astype(np.int64)


def _refuse_strangers(table: Table, nodes: kernel.Nodes, codes: np.ndarray, guard: np.ndarray) -> None:
    outside = (guard >= 0) & ((codes < nodes.first[guard]) | (codes >= nodes.after[guard]))
    if outside.any():
        raise PolicyError(
            f"{int(outside.sum())} records guard a node that their own value does not lie under (column "
            f"'{table.schema.guard}'): a guard must be the value itself or a node above it."
        )


def _by_class(classes: np.ndarray, count: int, order: np.ndarray | None) -> tuple[np.ndarray, np.ndarray]:
    """Rows sorted by class, those in none left out, and where each class starts."""
    rows = np.arange(classes.size) if order is None else order
    rows = rows[classes[rows] >= 0]
    rows = rows[np.argsort(classes[rows], kind="stable")]
    return rows, np.searchsorted(classes[rows], np.arange(count + 1))
