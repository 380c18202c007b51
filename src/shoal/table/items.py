"""Columns whose cells hold several items: how cells are read and written, and which items a dictionary holds."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property

import numpy as np
import polars as pl

from shoal.errors import HierarchyError, InputError
from shoal.hierarchy.hierarchy import MISSING, ROOT, Hierarchy
from shoal.table.coding import canonical_text
from shoal.table.column import Column

NONE = "<none>"  # a cell without any item
_TAKEN = (ROOT, NONE, MISSING)


def as_items(series: pl.Series, mark: str) -> pl.Series:
    """Cells with each item once, in order, and one mark between two; a cell of no items says so."""
    texts = canonical_text(series)
    distinct = texts.drop_nulls().unique()
    parts = distinct.replace(NONE, "").str.split(mark).list.eval(pl.element().str.strip_chars())
    parts = parts.list.eval(pl.element().filter(pl.element() != "").unique().sort())
    odd = parts.list.eval(pl.element().is_in(_TAKEN).any()).list.first().fill_null(False)
    if odd.any():
        raise InputError(
            f"Column '{series.name}' has {int(odd.sum())} different cells with an item written as '{ROOT}', '{NONE}' "
            f"or '{MISSING}', which have a meaning in releases: recode them."
        )
    joined = pl.select(pl.when(parts.list.len() == 0).then(pl.lit(NONE)).otherwise(parts.list.join(mark))).to_series()
    return texts.replace_strict(distinct, joined, default=None, return_dtype=pl.String).alias(series.name)


def different_items(texts: pl.Series, mark: str) -> list[str]:
    """Every item of some cells, in order."""
    known = texts.drop_nulls().unique()
    return known.filter(~known.is_in([NONE, MISSING])).str.split(mark).explode().unique().sort().to_list()


def item_tree(name: str, texts: pl.Series, mark: str, tree: Hierarchy) -> Hierarchy:
    """A hierarchy that holds every item, and whose labels can stand in cells."""
    found = different_items(texts, mark)
    absent = sum(item not in tree.leaf_code for item in found)
    if absent:
        raise HierarchyError(
            f"The hierarchy of '{name}' lacks {absent:,} of {len(found):,} items: add a line for each."
        )
    odd = [label for label in tree.node_labels if mark in label or label in (NONE, MISSING)]
    if odd:
        raise HierarchyError(
            f"The hierarchy of '{name}' has {len(odd):,} labels with '{mark}' in them, which stands between items, or "
            f"written as '{NONE}' or '{MISSING}': rename them."
        )
    return tree


@dataclass(frozen=True, eq=False)
class Items:
    """The items of every code of a column, as nodes of its hierarchy, or of a tree of nothing but its items."""

    column: Column

    @property
    def mark(self) -> str:
        """What stands between two items."""
        assert self.column.spec.items is not None
        return self.column.spec.items

    @cached_property
    def labels(self) -> list[str]:
        """Text of every node; the last is the top."""
        tree = self.column.tree
        return [*different_items(self.column.texts, self.mark), ROOT] if tree is None else tree.node_labels

    @cached_property
    def parent(self) -> np.ndarray:
        """int64, the lowest node above each that has more items, -1 at the top and where there is no hierarchy."""
        tree, found = self.column.tree, np.full(len(self.labels), -1, dtype=np.int64)
        if tree is None:
            return found
        for level in range(tree.height):
            nodes, above = tree.ancestors[level], tree.ancestors[level + 1]
            found[tree.offsets[level] + nodes] = tree.offsets[level + 1] + above
        above = found.copy()
        while (same := (found >= 0) & (self.leaves[found] == self.leaves)).any():
            found[same] = above[found[same]]
        return found

    @cached_property
    def leaves(self) -> np.ndarray:
        """int64, how many items lie below each node."""
        tree = self.column.tree
        if tree is not None:
            return np.concatenate([np.bincount(nodes) for nodes in tree.ancestors]).astype(np.int64)
        return np.append(np.ones(len(self.labels) - 1, dtype=np.int64), len(self.labels) - 1)

    @cached_property
    def by_code(self) -> tuple[np.ndarray, np.ndarray]:
        """Where the items of each code begin, and all of them."""
        texts = self.column.texts
        empty = texts.is_in([NONE, MISSING]).to_numpy()
        parts = pl.select(pl.when(pl.Series(~empty)).then(texts.str.split(self.mark)).otherwise([])).to_series()
        leaves = self.labels[: -1 if self.column.tree is None else self.column.tree.n_leaves]
        items = parts.explode().drop_nulls()
        known = pl.DataFrame({"item": pl.Series(leaves, dtype=pl.String), "place": np.arange(len(leaves))})
        place = pl.DataFrame({"item": items}).join(known, on="item", how="left", maintain_order="left")["place"]
        return np.cumsum([0, *parts.list.len().to_list()]), place.to_numpy().astype(np.int64)

    def of(self, codes: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """The same of some codes, one after the other."""
        starts, items = self.by_code
        lengths = np.diff(starts)[codes]
        ptr = np.concatenate([[0], np.cumsum(lengths)]).astype(np.int64)
        place = np.arange(ptr[-1]) - np.repeat(ptr[:-1], lengths) + np.repeat(starts[codes], lengths)
        return ptr, items[place]

    def texts(self, ptr: np.ndarray, nodes: np.ndarray) -> pl.Series:
        """Cells of nodes, negative ones left out, each label once and in order; a cell of none says so."""
        cell = np.repeat(np.arange(ptr.size - 1), np.diff(ptr))[nodes >= 0]
        labels = pl.Series(self.labels, dtype=pl.String).gather(nodes[nodes >= 0])
        found = (
            pl.DataFrame({"cell": cell, "label": labels}).unique().sort("cell", "label")
            .group_by("cell", maintain_order=True).agg(pl.col("label").str.join(self.mark))
        )  # fmt: skip
        out = pl.Series([NONE]).new_from_index(0, ptr.size - 1)
        return out.scatter(found["cell"], found["label"]) if found.height else out
