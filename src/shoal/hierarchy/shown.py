"""What of a hierarchy is published beside a release.

A row goes from leaf to root, as in a whole hierarchy; what is not said is null: everything below a label.
"""

from __future__ import annotations

from collections.abc import Collection
from typing import Any

import numpy as np

from shoal.hierarchy.hierarchy import MISSING, Hierarchy

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
    themselves. The root's path is always there.
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
        rows.append([*[None] * level, *(one if not tree.counted or one in wanted else None for one in path)])
    return rows
