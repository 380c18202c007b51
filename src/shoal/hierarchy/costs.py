"""What the levels of a hierarchy would do to a column, and the tree as text with how many records are where."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass

import numpy as np

from shoal.hierarchy.hierarchy import Hierarchy


@dataclass(frozen=True, kw_only=True)
class LevelCost:
    """One level of a hierarchy, were the whole column published on it.

    Attributes
    ----------
    labels, used
        Labels that it has, and those that some record would get.
    fewest, most
        Records of the rarest and of the commonest label in use.
    loss
        Mean over the records of (leaves under the label - 1)/(all leaves - 1), as the measure ``lm`` prices it.
    kept
        Share of the column's entropy that its labels keep.
    examples
        Its first labels in use.
    """

    level: int
    labels: int
    used: int
    fewest: int
    most: int
    loss: float
    kept: float
    examples: tuple[str, ...]


def level_costs(tree: Hierarchy, counts: Mapping[str, int], examples: int = 3) -> list[LevelCost]:
    """What each level would cost, from the values themselves to the root.

    Examples
    --------
    >>> tree = Hierarchy.from_rows("pet", [["cat", "mammal", "*"], ["dog", "mammal", "*"], ["carp", "fish", "*"]])
    >>> [(cost.labels, cost.fewest, round(cost.loss, 2)) for cost in level_costs(tree, {"cat": 3, "dog": 2, "carp": 5})]
    [(3, 2, 0.0), (2, 5, 0.25), (1, 10, 1.0)]
    """
    weights = leaf_weights(tree, counts)
    total = max(int(weights.sum()), 1)
    whole = _entropy(weights)
    found = []
    for level, labels in enumerate(tree.labels):
        nodes = np.bincount(tree.ancestors[level], weights, minlength=len(labels)).astype(np.int64)
        used = nodes[nodes > 0]
        leaves = tree.leaf_counts[level] - 1.0
        found.append(
            LevelCost(
                level=level, labels=len(labels), used=int(used.size), fewest=int(used.min(initial=total)),
                most=int(used.max(initial=0)), loss=float(leaves @ weights) / total / max(tree.n_leaves - 1, 1),
                kept=_entropy(nodes) / whole if whole else 1.0,
                examples=tuple(label for label, count in zip(labels, nodes, strict=True) if count)[:examples],
            )  # fmt: skip
        )
    return found


def leaf_weights(tree: Hierarchy, counts: Mapping[str, int]) -> np.ndarray:
    """Records of every leaf, int64."""
    return np.array([counts.get(label, 0) for label in tree.labels[0]], dtype=np.int64)


def outline(
    tree: Hierarchy, counts: Mapping[str, int] | None = None, *, deepest: int | None = None, most: int = 20
) -> list[tuple[str, int, int]]:
    """The tree as lines: a drawn label, how many values are below it, and how many records.

    A node with one child of the same label is drawn once. ``most`` children of a node are drawn, those with most
    records first where records are known; ``deepest`` levels below the root.

    Examples
    --------
    >>> tree = Hierarchy.from_rows("pet", [["cat", "mammal", "*"], ["dog", "mammal", "*"], ["carp", "*"]])
    >>> print(*(line for line, _, _ in outline(tree)), sep="\\n")
    *
    ├─ mammal
    │  ├─ cat
    │  └─ dog
    └─ carp
    """
    weights = leaf_weights(tree, counts or {})
    return list(_drawn(tree, weights, (tree.height, 0), "", "", -1 if deepest is None else deepest, most))


def _drawn(
    tree: Hierarchy, weights: np.ndarray, node: tuple[int, int], head: str, stem: str, deepest: int, most: int
) -> Iterator[tuple[str, int, int]]:
    level, place = node
    below = np.flatnonzero(tree.ancestors[level] == place)
    yield f"{head}{tree.labels[level][place]}", below.size, int(weights[below].sum())
    if deepest == 0:
        return
    level, children = _children(tree, level, below)
    if weights[below].any():
        records = {child: int(weights[below][tree.ancestors[level][below] == child].sum()) for child in children}
        children = sorted(children, key=lambda child: -records[child])
    shown, rest = (children, []) if len(children) <= most else (children[: most - 1], children[most - 1 :])
    for at, child in enumerate(shown):
        last = at == len(shown) - 1 and not rest
        mark, more = ("└─ ", "   ") if last else ("├─ ", "│  ")
        yield from _drawn(tree, weights, (level, child), f"{stem}{mark}", f"{stem}{more}", deepest - 1, most)
    if rest:
        others = below[np.isin(tree.ancestors[level][below], rest)]
        yield f"{stem}└─ … {len(rest):,} more", others.size, int(weights[others].sum())


def _children(tree: Hierarchy, level: int, below: np.ndarray) -> tuple[int, list[int]]:
    """The next lower level on which a node's label is another, and the nodes there."""
    here = tree.labels[level][tree.ancestors[level][below[0]]]
    while level > 0:
        level -= 1
        found: list[int] = np.unique(tree.ancestors[level][below]).tolist()
        if len(found) > 1 or tree.labels[level][found[0]] != here:
            return level, found
    return 0, []


def _entropy(counts: Sequence[int] | np.ndarray) -> float:
    found = np.asarray(counts, dtype=np.float64)
    shares = found[found > 0] / max(found.sum(), 1.0)
    return float(-(shares * np.log2(shares)).sum())
