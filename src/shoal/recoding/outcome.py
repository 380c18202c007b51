"""What became of each quasi-identifier: how many records still have their own value in it, and how many nothing."""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from shoal.data.column import TREE
from shoal.data.hierarchy import ROOT, Hierarchy
from shoal.errors import ParameterError
from shoal.recoding.cells import CellColumn, IntervalCells, SetCells, TreeCells
from shoal.recoding.recoded import Released
from shoal.recoding.recodings import Subtree

_EVERYTHING = 1 - 1e-12


@dataclass(frozen=True, kw_only=True)
class Became:
    """One quasi-identifier in a release.

    Attributes
    ----------
    level, height
        Its level where the whole column has one, and the highest that it could have.
    exact, coarser, everything
        Released records whose cell is one value, some of the values, or all of them.
    cells
        Different cells.
    width
        Mean width of the cells: 0 for one value, 1 for everything.
    """

    column: str
    level: int | None
    height: int
    exact: int
    coarser: int
    everything: int
    cells: int
    width: float


def what_became(released: Released) -> list[Became]:
    """One entry a quasi-identifier that was generalised, in schema order. Cost: one pass over the classes a column."""
    sizes = released.sizes.astype(np.int64)
    total = max(int(sizes.sum()), 1)
    found = []
    for name, cells in released.cells.items():
        spread = cells.spread()
        exact = int(sizes[spread <= 0].sum())
        everything = int(sizes[spread >= _EVERYTHING].sum())
        found.append(
            Became(
                column=name, level=None if released.levels is None else int(released.levels[name]), height=cells.height,
                exact=exact, everything=everything, coarser=int(sizes.sum()) - exact - everything,
                cells=int(np.unique(cells.keys).size), width=float(spread @ sizes) / total,
            )  # fmt: skip
        )
    return found


def chosen(released: Released) -> dict[str, Any]:
    """What a search decided on: a level a column where there is one, or a cut; else how many groups it made."""
    recoding = released.recoding
    cuts = {"cuts": _cuts(released, recoding)} if isinstance(recoding, Subtree) and not recoding.lifted else {}
    return cuts | {
        "levels": None if released.levels is None else {name: int(level) for name, level in released.levels.items()},
        "clusters": released.groups,
        "columns": what_became(released) if released.made.generalises else [],
    }


def _cuts(released: Released, recoding: Subtree) -> dict[str, list[str]]:
    """Labels in use by column, of those that are not published as they are."""
    found = {}
    for column in released.rows.domain.quasi:
        nodes = np.unique(recoding.nodes[column.name])
        if column.kind == TREE and column.hierarchy is not None:
            if column.hierarchy.node_level[nodes].any():
                found[column.name] = sorted(column.hierarchy.node_labels[node] for node in nodes.tolist())
        elif int(nodes[-1]) == column.card:
            found[column.name] = [ROOT]
    return found


# ----------------------------------------
# Where released cells overlap in part, which hurts those who count by interval.
#
# A record in [13,17] may belong to a range that another record's cell, [15,22], covers as well. Global recodings
# never do this within a column; multidimensional and local ones may.


@dataclass(frozen=True, kw_only=True)
class Overlap:
    """How far the cells of one quasi-identifier overlap.

    Attributes
    ----------
    column
        Its name.
    cells
        Distinct cells in the release.
    overlapping
        Those of them that share a value with another one without being equal to it.
    rows, share
        Records in overlapping cells, and their share of the released ones.
    example
        Two cells that overlap, as text; empty when none do.
    """

    column: str
    cells: int
    overlapping: int
    rows: int
    share: float
    example: tuple[str, ...]


def overlap_report(released: Released) -> list[Overlap]:
    """One entry a quasi-identifier, in schema order.

    Closed intervals that share an end overlap there; a hierarchy's node overlaps those below it; ``*`` overlaps every
    other cell. Of a column published by representatives the intervals behind them are looked at. Cost: one sort of
    the distinct cells a column.

    References
    ----------
    Morton et al., on the loss that multidimensional recoding hides: intervals such as 13-17 and 15-22.
    """
    return [_overlap(cells, released.sizes) for cells in released.cells.values()]


def _overlap(cells: CellColumn, sizes: np.ndarray) -> Overlap:
    # Not the keys of the cells: a style may publish one representative for intervals that differ.
    keys = cells.keys if isinstance(cells, SetCells) else _joined(_ends(cells))
    _, first, of_class = np.unique(keys, return_index=True, return_inverse=True)
    distinct = cells.take(first)
    shares = _shares(distinct)
    rows = int(sizes[shares[of_class]].sum())
    return Overlap(
        column=cells.column.name,
        cells=first.size,
        overlapping=int(shares.sum()),
        rows=rows,
        share=rows / max(int(sizes.sum()), 1),
        example=_example(distinct, shares),
    )


def _joined(ends: np.ndarray) -> np.ndarray:
    """One number a pair of ends, both below 2**31."""
    return (ends[0] << 32) | ends[1]


def _ends(cells: CellColumn) -> np.ndarray:
    """First and last place of each cell on its column's axis, shape (2, cells); a missing value lies behind all."""
    if isinstance(cells, TreeCells):
        tree = cells.column.hierarchy
        assert tree is not None
        first = tree.node_first[cells.nodes]
        return np.stack([first, first + tree.node_leaves[cells.nodes] - 1]).astype(np.int64)
    assert isinstance(cells, IntervalCells)
    ends = np.stack([cells.low, cells.high]).astype(np.int64)
    if cells.column.numbers is not None and cells.column.numbers.size:
        # Places among all ends that occur: exact for numbers of every type.
        ends = np.unique(np.stack(cells.bounds), return_inverse=True)[1].reshape(2, -1)
    behind = int(ends.max(initial=0)) + 1
    ends = np.where(cells.missing, behind, ends)
    return np.where(cells.star, np.array([[0], [behind]]), ends)


def _shares(cells: CellColumn) -> np.ndarray:
    """Which of some distinct cells share a value with another."""
    if isinstance(cells, SetCells):
        held = np.bincount(cells.codes, minlength=cells.column.card) + int(cells.full.sum())
        return cells.having(held > 1)
    low, high = _ends(cells)
    # Every cell overlaps all but those that end before it or begin behind it.
    before = np.searchsorted(np.sort(high), low, side="left")
    after = low.size - np.searchsorted(np.sort(low), high, side="right")
    return before + after < low.size - 1


def _example(cells: CellColumn, shares: np.ndarray) -> tuple[str, ...]:
    """The first cell that overlaps another, and the first that it overlaps."""
    if not shares.any():
        return ()
    one = int(np.argmax(shares))
    if isinstance(cells, SetCells):
        flags = np.zeros(cells.column.card, dtype=bool)
        flags[cells.members(one)] = True
        meets = cells.having(flags)
    else:
        low, high = _ends(cells)
        meets = (low <= high[one]) & (high >= low[one])
    meets[one] = False
    return tuple(cells.take(np.array([one, int(np.argmax(meets))])).texts())


# ----------------------------------------
# Which single-dimensional recoding models a mapping of values to labels belongs to.


Labels = Mapping[str, str | Collection[str]]


def recoding_kinds(mapping: Labels, hierarchy: Hierarchy | None, order: Sequence[str]) -> list[str]:
    """Name the models that a recoding of one attribute satisfies, most special first.

    A label is text (a hierarchy node, or a name of its own) or a set of values. It covers the leaves of its
    node or the members of its set; a name of its own covers the values mapped to it. The models nest:
    each of the names implies those after it when ``order`` is the leaf order of the hierarchy.

    Parameters
    ----------
    mapping
        Label of each observed value.
    hierarchy
        The attribute's hierarchy, or None.
    order
        A total order that holds every observed value.

    Returns
    -------
    list of str
        Those that hold of ``full-domain`` (Samarati: all labels on one level), ``full-subtree`` (Iyengar: a
        used node takes every observed leaf below it), ``ordered-set-partition`` (Bayardo & Agrawal: blocks
        are runs of the order) and ``unordered-set-partition`` (Li & Li: any partition).

    References
    ----------
    Loukides 2008, Sec. 2.1.3 and Figs 2.8-2.10.

    Examples
    --------
    >>> tree = Hierarchy.from_rows("pet", [["cat", "mammal"], ["dog", "mammal"], ["carp", "fish"]])
    >>> recoding_kinds({"cat": "mammal", "dog": "mammal", "carp": "carp"}, tree, ["cat", "dog", "carp"])
    ['full-subtree', 'ordered-set-partition', 'unordered-set-partition']
    """
    labels = {value: (label if isinstance(label, str) else frozenset(label)) for value, label in mapping.items()}
    rank = {value: place for place, value in enumerate(order)}
    _check(labels, hierarchy, rank)
    blocks: dict[str | frozenset[str], set[str]] = {}
    for value, label in labels.items():
        blocks.setdefault(label, set()).add(value)
    covers = _node_covers(labels, hierarchy) if hierarchy else {}
    is_partition = all(_stands_for(label, block, labels, covers) for label, block in blocks.items())
    found = []
    if hierarchy is not None and _is_full_domain(labels, hierarchy):
        found.append("full-domain")
    if hierarchy is not None and is_partition and blocks.keys() <= covers.keys():
        found.append("full-subtree")
    if is_partition and _are_runs(blocks.values(), sorted(labels, key=rank.__getitem__)):
        found.append("ordered-set-partition")
    if is_partition:
        found.append("unordered-set-partition")
    return found


def _check(values: Collection[str], hierarchy: Hierarchy | None, order: Collection[str]) -> None:
    if not values:
        raise ParameterError("A recoding needs at least one value.")
    for where, known in (("order", order), ("hierarchy", hierarchy.leaf_code if hierarchy else values)):
        absent = sum(value not in known for value in values)
        if absent:
            raise ParameterError(f"The {where} of the recoding lacks {absent:,} of its values: add them.")


def _is_full_domain(labels: Mapping[str, str | frozenset[str]], hierarchy: Hierarchy) -> bool:
    # Padding puts one label on several levels, so each level is tried instead of looking the label's up.
    leaves = np.array([hierarchy.leaf_code[value] for value in labels])
    return any(
        all(names[node] == label for node, label in zip(nodes[leaves].tolist(), labels.values(), strict=True))
        for names, nodes in zip(hierarchy.labels, hierarchy.ancestors, strict=True)
    )


def _node_covers(values: Collection[str], hierarchy: Hierarchy) -> dict[str, set[str]]:
    """The observed values under each node."""
    covers: dict[str, set[str]] = {label: set() for label in hierarchy.node_labels}
    for names, nodes in zip(hierarchy.labels, hierarchy.ancestors, strict=True):
        for value in values:
            covers[names[nodes[hierarchy.leaf_code[value]]]].add(value)
    return covers


def _stands_for(
    label: str | frozenset[str], block: set[str], values: Collection[str], covers: Mapping[str, set[str]]
) -> bool:
    """Whether the values mapped to a label are exactly the observed ones that it covers."""
    if isinstance(label, frozenset):
        return block <= label and sum(value in values for value in label) == len(block)
    return label not in covers or covers[label] == block


def _are_runs(blocks: Collection[set[str]], ranked: list[str]) -> bool:
    place = {value: number for number, value in enumerate(ranked)}
    return all(
        max(map(place.__getitem__, block)) - min(map(place.__getitem__, block)) + 1 == len(block)
        for block in blocks
    )
