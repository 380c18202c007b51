"""What of a hierarchy is published beside a release.

A row goes from leaf to root, as in a whole hierarchy; what is not said is null: everything below a label, and whatever
else would tell about values that were read and are not released.
"""

from __future__ import annotations

from collections.abc import Collection
from typing import Any

from shoal.hierarchy.hierarchy import Hierarchy

Rows = list[list[str | None]]


def shown_entry(tree: Hierarchy, labels: Collection[str]) -> dict[str, Any]:
    """The hierarchy's part of a column's entry in a manifest, where these labels stand in the release."""
    if tree.public:
        return {"hierarchy": tree.rows(), "whole": True}
    entry: dict[str, Any] = {"hierarchy": shown_rows(tree, labels)}
    return entry if tree.rule is None else entry | {"builder": dict(tree.rule)}


def shown_rows(tree: Hierarchy, labels: Collection[str]) -> Rows:
    """The path of every label that stands in a release, in depth-first order, each node before those below it.

    The labels of quantiles are values that were read, so those above a label are left out unless they stand in the
    release themselves. The root's path is always there.
    """
    wanted = {*labels, tree.labels[-1][0]}
    observed = tree.rule is not None and "quantiles" in tree.rule
    found: dict[str, tuple[int, int]] = {}
    for level, names in enumerate(tree.labels):
        for node, label in enumerate(names):
            if label in wanted and label not in found:  # on its lowest level
                found[label] = level, int(tree.node_first[tree.offsets[level] + node])
    rows: Rows = []
    for level, leaf in sorted(found.values(), key=lambda place: (place[1], -place[0])):
        path = [tree.labels[at][tree.ancestors[at, leaf]] for at in range(level, tree.height + 1)]
        said = [label if not observed or label in wanted else None for label in path]
        rows.append([*[None] * level, *said])
    return rows
