"""The value generalisation hierarchy of one column, as arrays.

Leaves are numbered in depth-first order, so every node is a contiguous run of leaf codes and the lowest
common ancestor of a set of leaves depends only on its smallest and largest code.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from itertools import chain
from typing import Any

import numpy as np

from shoal.data.values import normal_text
from shoal.errors import HierarchyError, names_values

MISSING = "<missing>"
ROOT = "*"


@dataclass(frozen=True, eq=False, repr=False)
class Hierarchy:
    """A balanced tree over the values of one column.

    Attributes
    ----------
    name
        The column, for messages.
    labels
        ``labels[level][node]``; level 0 holds the leaves in depth-first order, the last level one root.
    ancestors
        int32 array of shape (height + 1, n_leaves): the node, within its level, above each leaf. Every row
        is non-decreasing.
    rule
        How it was built, as a recipe says it, where that is enough to read a label without the values; else None.
    public
        Whether all of it may be published: it was made without looking at the data.
    counted
        Whether its groups follow from how often values occur, so that who is suppressed may have moved them.
    relabel
        Gives a part of the tree the labels that its values lead to, where labels depend on the values below them and
        beside them, and its rows the order of these values; None where somebody wrote labels and order down.
    places
        Place of each leaf in the order of the values that are published; None where it is the order of the leaves.

    Examples
    --------
    >>> tree = Hierarchy.from_rows("pet", [["cat", "mammal", "*"], ["dog", "mammal", "*"], ["carp", "*"]])
    >>> tree.labels[1]
    ('mammal', 'carp')
    >>> int(tree.common_level(0, 1)), int(tree.common_level(0, 2))
    (1, 2)
    """

    name: str
    labels: tuple[tuple[str, ...], ...]
    ancestors: np.ndarray
    rule: Mapping[str, Any] | None = None
    public: bool = False
    counted: bool = False
    relabel: Callable[[Hierarchy], Hierarchy] | None = None
    places: np.ndarray | None = None

    def __repr__(self) -> str:
        return f"Hierarchy({self.name!r}, height={self.height}, n_leaves={self.n_leaves})"

    @classmethod
    def from_rows(cls, name: str, rows: Sequence[Sequence[str]]) -> Hierarchy:
        """Build and check a hierarchy from paths, one a leaf, each from leaf to root.

        Short rows are padded by repeating the leaf, and ``*`` is put on top when the last level has several
        labels. Children keep the order of their first appearance. Cost: O(rows x levels) plus one sort.
        """
        codes, names = _encode(name, rows)
        codes = _one_row_per_leaf(name, codes, names)
        _check_parents(name, codes, names)
        codes = codes[:, _depth_first(codes, len(names))]
        starts = [_starts(level) for level in codes]
        _check_labels(name, codes, starts, names)
        _check_reserved(name, codes, starts, names)
        ancestors = np.zeros(codes.shape, dtype=np.int32)
        for level, first in enumerate(starts):
            ancestors[level, first[1:]] = 1
        np.cumsum(ancestors, axis=1, out=ancestors)
        labels = tuple(
            tuple(names[code] for code in codes[level, first].tolist()) for level, first in enumerate(starts)
        )
        return cls(name, labels, ancestors)

    def rows(self) -> list[list[str]]:
        """The paths from leaf to root in depth-first order, all of the same length."""
        columns = [
            [names[node] for node in nodes.tolist()]
            for names, nodes in zip(self.labels, self.ancestors, strict=True)
        ]
        return [list(path) for path in zip(*columns, strict=True)]

    def with_rows(self, rows: Sequence[Sequence[str]]) -> Hierarchy:
        """Another tree over the same column that is as public as this one."""
        made = Hierarchy.from_rows(self.name, rows)
        return replace(made, rule=self.rule, public=self.public, counted=self.counted, relabel=self.relabel)

    def labelled_for(self, there: np.ndarray) -> Hierarchy:
        """The same tree, its nodes labelled as if only some of its values existed.

        Parameters
        ----------
        there
            Flag of each leaf. Nodes above none of them have labels that no cell can have; missing cells keep theirs.
        """
        if self.relabel is None or not (there & (np.array(self.labels[0]) != MISSING)).any():
            return self
        fresh = self.part(there)
        released = set(fresh.labels[0])
        groups = {label for names in fresh.labels[1:] for label in names}
        # A group may have the name of a value that nobody has any more.
        leaves = [f"{one}\0" if one in groups and one not in released else one for one in self.labels[0]]
        labels = [leaves, *([f"{label}\0" for label in names] for names in self.labels[1:])]
        places = np.full(self.n_leaves, self.n_leaves)
        for row in [*fresh.rows(), *(row for row in self.rows() if row[0] == MISSING)]:
            leaf = self.leaf_code[row[0]]
            places[leaf] = fresh.leaf_code.get(row[0], fresh.n_leaves)
            for level, label in enumerate(row):
                labels[level][self.ancestors[level, leaf]] = label
        # A group of all values that exist is called as the root, and so is everything else on its level.
        root = self.labels[-1][0]
        named = tuple((root,) * len(names) if root in names else tuple(names) for names in labels)
        return replace(self, labels=named, places=places)

    def part(self, there: np.ndarray) -> Hierarchy:
        """Build the tree that only some of its values, missing ones left out, would have led to."""
        rows = [row for row, flag in zip(self.rows(), there.tolist(), strict=True) if flag and row[0] != MISSING]
        made = self.with_rows(rows)
        return made if self.relabel is None else self.relabel(made)

    def with_missing(self) -> Hierarchy:
        """The same tree with ``<missing>`` as its last leaf, directly under the root."""
        code = self.leaf_code.get(MISSING)
        if code == self.n_leaves - 1:
            return self
        if code is not None:
            rows = self.rows()
            rows.append(rows.pop(code))
            return self.with_rows(rows)
        top = self.labels[-1]
        if self.labels[0] == top:  # a lone value is its own root, so a root has to be put above both
            return self.with_rows([list(top), [MISSING]])
        labels, nodes = [], []
        for names in self.labels:
            # A root that stands on several levels must keep one meaning: everything, so missing too.
            is_root = names == top
            labels.append(names if is_root else (*names, MISSING))
            nodes.append([0 if is_root else len(names)])
        ancestors = np.hstack([self.ancestors, np.array(nodes, dtype=np.int32)])
        return replace(self, labels=tuple(labels), ancestors=ancestors)

    @property
    def height(self) -> int:
        """Level of the root."""
        return len(self.labels) - 1

    @property
    def n_leaves(self) -> int:
        """Number of leaves."""
        return len(self.labels[0])

    @cached_property
    def leaf_code(self) -> dict[str, int]:
        """Leaf label to leaf code."""
        return {label: code for code, label in enumerate(self.labels[0])}

    @cached_property
    def leaf_counts(self) -> np.ndarray:
        """int64 (height + 1, n_leaves): leaves under the node that holds this leaf at this level."""
        return np.stack([np.bincount(nodes)[nodes] for nodes in self.ancestors]).astype(np.int64, copy=False)

    @cached_property
    def offsets(self) -> np.ndarray:
        """int64 (height + 2): id of each level's first node; the last entry counts all nodes."""
        return np.cumsum([0, *map(len, self.labels)], dtype=np.int64)

    @cached_property
    def node_labels(self) -> list[str]:
        """Labels by node id."""
        return list(chain.from_iterable(self.labels))

    @cached_property
    def node_level(self) -> np.ndarray:
        """int64 levels by node id."""
        return np.repeat(np.arange(self.height + 1), np.diff(self.offsets))

    @cached_property
    def node_first(self) -> np.ndarray:
        """int64 first leaf codes by node id."""
        return np.concatenate([_starts(nodes) for nodes in self.ancestors])

    @cached_property
    def node_leaves(self) -> np.ndarray:
        """int64 numbers of leaves by node id."""
        return np.concatenate([np.bincount(nodes) for nodes in self.ancestors]).astype(np.int64, copy=False)

    def node_id(self, level: np.ndarray | int, leaf: np.ndarray) -> np.ndarray:
        """Id of the node that holds each leaf at each level (the two broadcast)."""
        return self.offsets[level] + self.ancestors[level, leaf]

    def common_level(self, low: np.ndarray, high: np.ndarray) -> np.ndarray:
        """Smallest level at which the leaves ``low`` and ``high`` share a node, as int64.

        Once two leaves share a node they share every node above, so the levels at which they differ are
        counted. Cost: O(height) array comparisons.
        """
        low, high = np.asarray(low), np.asarray(high)
        level = np.zeros(np.broadcast_shapes(low.shape, high.shape), dtype=np.int64)
        for nodes in self.ancestors[:-1]:
            level += nodes[low] != nodes[high]
        return level


def _encode(name: str, rows: Sequence[Sequence[str]]) -> tuple[np.ndarray, list[str]]:
    """Pad the rows and turn labels into int64 codes of shape (levels, rows), one code a distinct label."""
    if len(rows) == 0:
        raise HierarchyError(f"The hierarchy of '{name}' is empty: give one path from leaf to root a value.")
    for number, row in enumerate(rows, 1):
        if isinstance(row, str) or len(row) == 0:
            raise HierarchyError(
                f"Row {number} of the hierarchy of '{name}' is no path: list the labels from leaf to root."
            )
    depth = max(map(len, rows))
    columns = list(zip(*(_padded(row, depth) for row in rows), strict=True))
    kinds = set(map(type, chain.from_iterable(columns)))
    if not all(issubclass(kind, str) for kind in kinds):
        raise HierarchyError(f"The hierarchy of '{name}' has labels that are not text: write them in quotes.")
    # As cells are read, so that a leaf meets its value however either was typed.
    texts = {label: normal_text(label) for label in dict.fromkeys(chain.from_iterable(columns))}
    if any(text != label for label, text in texts.items()):
        columns = [tuple(map(texts.__getitem__, column)) for column in columns]
    index = {text: code for code, text in enumerate(dict.fromkeys(texts.values()))}
    if "" in index:
        number = next(i for i, labels in enumerate(zip(*columns, strict=True), 1) if "" in labels)
        raise HierarchyError(
            f"Row {number} of the hierarchy of '{name}' has an empty label: name every level of the path."
        )
    if len(set(columns[-1])) > 1:
        columns.append((ROOT,) * len(rows))
        index.setdefault(ROOT, len(index))
    codes = np.empty((len(columns), len(rows)), dtype=np.int64)
    for level, column in enumerate(columns):
        codes[level] = np.fromiter(map(index.__getitem__, column), dtype=np.int64, count=len(rows))
    return codes, [str(label) for label in index]


def _padded(row: Sequence[str], depth: int) -> Sequence[str]:
    gap = depth - len(row)
    return row if gap == 0 else [row[0], *[row[0]] * gap, *row[1:]]


def _one_row_per_leaf(name: str, codes: np.ndarray, names: list[str]) -> np.ndarray:
    first = _first_rows(codes[0], len(names))
    differs = (codes != codes[:, first]).any(axis=0)
    if differs.any():
        value = names[codes[0, int(np.argmax(differs))]]
        what = f"The value '{value}'" if names_values() else "A value"
        raise HierarchyError(f"{what} has two different paths in the hierarchy of '{name}': keep one of them.")
    return codes[:, first == np.arange(codes.shape[1])]


def _first_rows(codes: np.ndarray, n_names: int) -> np.ndarray:
    """For each row the first row with the same code."""
    first = np.empty(n_names, dtype=np.int64)
    first[codes[::-1]] = np.arange(len(codes))[::-1]  # the last assignment to an index wins
    return first[codes]


def _check_parents(name: str, codes: np.ndarray, names: list[str]) -> None:
    parent = np.empty(len(names), dtype=np.int64)
    for level in range(1, len(codes) - 1):
        parent[codes[level]] = codes[level + 1]
        differs = parent[codes[level]] != codes[level + 1]
        if differs.any():
            column = int(np.argmax(differs))
            label = codes[level, column]
            two = [names[codes[level + 1, column]], names[parent[label]]]
            shown = ", '{}' and '{}'".format(*two) if names_values() else ""
            raise HierarchyError(
                f"{_the_label(names[label])} on level {level} of the hierarchy of '{name}' has two parents{shown}: "
                "keep one of them or use two labels."
            )


def _depth_first(codes: np.ndarray, n_names: int) -> np.ndarray:
    """Order of the rows that keeps each node together and its children in order of first appearance."""
    return np.lexsort([_first_rows(level, n_names) for level in codes])


def _starts(nodes: np.ndarray) -> np.ndarray:
    """Where each run of equal neighbours begins."""
    return np.flatnonzero(np.concatenate([[True], nodes[1:] != nodes[:-1]]))


def _the_label(label: str) -> str:
    """A label, which may be a value, as far as it may be named."""
    return f"The label '{label}'" if names_values() else "A label"


def _check_labels(name: str, codes: np.ndarray, starts: list[np.ndarray], names: list[str]) -> None:
    """One label may stand on several levels, but only over the same leaves."""
    n_leaves = codes.shape[1]
    code = np.concatenate([codes[level, first] for level, first in enumerate(starts)])
    first = np.concatenate(starts)
    end = np.concatenate([np.append(begin[1:], n_leaves) for begin in starts])
    level = np.repeat(np.arange(len(starts)), [len(begin) for begin in starts])
    node = np.empty(len(names), dtype=np.int64)
    node[code] = np.arange(len(code))
    other = node[code]
    differs = (first != first[other]) | (end != end[other])
    if not differs.any():
        return
    here = int(np.argmax(differs))
    there = int(other[here])
    label = names[code[here]]
    where = f"on levels {level[here]} and {level[there]} of the hierarchy of '{name}'"
    if label == ROOT:
        raise HierarchyError(_star_message(name))
    if first[there] <= first[here] and end[here] <= end[there]:
        raise HierarchyError(
            f"{_the_label(label)} {where} is its own ancestor over different values: use two labels."
        )
    raise HierarchyError(f"{_the_label(label)} {where} names two different sets of values: use two labels.")


def _check_reserved(name: str, codes: np.ndarray, starts: list[np.ndarray], names: list[str]) -> None:
    """``*`` means everything and ``<missing>`` a missing value, so no other group may be called that."""
    n_leaves = codes.shape[1]
    for label in {ROOT, MISSING}.intersection(names):
        reserved = names.index(label)
        for level, first in enumerate(starts):
            for node in np.flatnonzero(codes[level, first] == reserved).tolist():
                size = np.append(first[1:], n_leaves)[node] - first[node]
                path = codes[:, first[node]]
                is_value = size == 1 and path[0] == reserved
                if label == ROOT and size < n_leaves and not is_value:
                    raise HierarchyError(_star_message(name))
                if label == MISSING and not (is_value and np.isin(path, [reserved, codes[-1, 0]]).all()):
                    raise HierarchyError(
                        f"The label '{MISSING}' in the hierarchy of '{name}' is kept for missing values, "
                        "directly under the root: remove it or write it as a row of leaf and root."
                    )


def _star_message(name: str) -> str:
    return (
        f"The label '{ROOT}' in the hierarchy of '{name}' stands for some of the values only, but means "
        "everything: use it for the root, at the end of every row."
    )


# ----------------------------------------
# What of a hierarchy is published beside a release.
#
# A row goes from leaf to root, as in a whole hierarchy; what is not said is null: everything below a label.


Rows = list[list[str | None]]


def shown_entry(tree: Hierarchy, labels: Collection[str]) -> dict[str, Any]:
    """The hierarchy's part of a column's entry in a manifest, where these labels stand in the release."""
    if tree.public:
        # A missing cell is no value that somebody wrote a line for.
        rows = [row for row in tree.rows() if row[0] != MISSING or MISSING in labels]
        return {"hierarchy": rows, "whole": True}
    entry: dict[str, Any] = {"hierarchy": shown_rows(tree, labels)}
    return entry if tree.rule is None else entry | {"builder": dict(tree.rule)}


def shown_rows(tree: Hierarchy, labels: Collection[str]) -> Rows:
    """The path of every label that stands in a release, in depth-first order, each node before those below it.

    Nodes are in the order of their first published values: those of suppressed people decide nothing.

    Where groups follow from how often values occur, labels above one are left out unless they stand in the release
    themselves, and each stands in a row once: on how many levels it is repeated would tell which values were joined,
    of suppressed people too. The root's path is always there.
    """
    wanted = {*labels, tree.labels[-1][0]}
    found: dict[str, tuple[int, int, int]] = {}
    places = np.arange(tree.n_leaves) if tree.places is None else tree.places
    for level, names in enumerate(tree.labels):
        leaves = tree.node_first[tree.offsets[level] : tree.offsets[level + 1]]
        first = np.minimum.reduceat(places, leaves)
        for label, place, leaf in zip(names, first.tolist(), leaves.tolist(), strict=True):
            if label in wanted and label not in found:  # on its lowest level
                found[label] = place, -level, leaf
    rows: Rows = []
    for _, depth, leaf in sorted(found.values()):
        level = -depth
        path = [tree.labels[at][tree.ancestors[at, leaf]] for at in range(level, tree.height + 1)]
        rows.append([*[None] * level, *(_said_once(path, wanted) if tree.counted else path)])
    return rows


def _said_once(path: Sequence[str], wanted: Collection[str]) -> list[str | None]:
    """Keep each wanted label of a path on its lowest level, and the root on the last."""
    below = path[:-1]
    told = [one in wanted and one != path[-1] and one not in below[:at] for at, one in enumerate(below)]
    return [*(one if keep else None for one, keep in zip(below, told, strict=True)), path[-1]]
