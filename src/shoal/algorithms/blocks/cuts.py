"""Where columns may be cut into blocks, as items of a set: any set of them that keeps to parents is a recoding.

An item of an ordered column is one cut between neighbouring values; of a column with a hierarchy it is a node that
gives way to its children, which asks for the node above to have done so. Codes follow the order of leaves, so that
either is one or more cuts between codes. Flat columns are cut in the order of their values.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass

import numpy as np

from shoal.data.column import INTERVAL, TREE, Column
from shoal.recoding.snap import published_ends


@dataclass(frozen=True, eq=False)
class Cuts:
    """All items of some columns, parents before children.

    Attributes
    ----------
    column
        int64 column of each item.
    parent
        int64 item that each asks for, -1 for none.
    after
        For each item the codes that it cuts after.
    cards
        Codes of every column.
    """

    column: np.ndarray
    parent: np.ndarray
    after: list[np.ndarray]
    cards: list[int]

    @property
    def size(self) -> int:
        """Number of items."""
        return self.parent.size

    def blocks(self, chosen: np.ndarray) -> list[np.ndarray]:
        """int32 block of every code of every column, given flags of the items in use."""
        flags = [np.zeros(card, dtype=np.int32) for card in self.cards]
        for item in np.flatnonzero(chosen).tolist():
            flags[self.column[item]][self.after[item] + 1] = 1
        return [np.cumsum(mine, dtype=np.int32) for mine in flags]

    def closed(self, chosen: np.ndarray) -> np.ndarray:
        """The chosen items without those whose parents are not chosen."""
        kept = chosen.copy()
        for item in np.flatnonzero(kept & (self.parent >= 0)).tolist():
            kept[item] = kept[self.parent[item]]
        return kept


def cuts_of(columns: Iterable[Column]) -> Cuts:
    """Every item of some columns."""
    column: list[int] = []
    parent: list[int] = []
    after: list[np.ndarray] = []
    cards = []
    for place, one in enumerate(columns):
        cards.append(one.card)
        if one.kind == TREE:
            for above, starts in _nodes(one, len(parent)):
                column.append(place)
                parent.append(above)
                after.append(starts - 1)
        else:
            found = cut_places(one)
            column += [place] * found.size
            parent += [-1] * found.size
            after += list(found[:, None])
    return Cuts(np.array(column, dtype=np.int64), np.array(parent, dtype=np.int64), after, cards)


def cut_places(column: Column) -> np.ndarray:
    """Codes that a column without a hierarchy may be cut after: published intervals of both sides must not overlap."""
    last = np.arange(column.card - 1)
    if column.kind != INTERVAL or last.size == 0:
        return last
    low, high = published_ends(column)
    return last[high[:-1] < low[1:]]


def _nodes(column: Column, base: int) -> Iterable[tuple[int, np.ndarray]]:
    """Nodes of several children from the root down: number of the item above, and where later children begin."""
    tree = column.hierarchy
    assert tree is not None
    waiting = [(0, column.card, -1)]
    made = base
    while waiting:
        first, stop, above = waiting.pop()
        level = int(tree.common_level(np.array(first), np.array(stop - 1)))
        if level == 0:
            continue
        starts = np.flatnonzero(np.diff(tree.ancestors[level - 1, first:stop], prepend=-1)) + first
        yield above, starts[1:]
        ends = [*starts[1:].tolist(), stop]
        waiting += [(begin, end, made) for begin, end in zip(starts.tolist(), ends, strict=True)][::-1]
        made += 1
