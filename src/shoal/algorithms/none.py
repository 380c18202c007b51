"""No search at all: the user's own level a column, or cut through its hierarchy, gated like any other release."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, ClassVar

import numpy as np

from shoal.algorithms.base import Algorithm, Problem
from shoal.data.column import TREE, Column
from shoal.data.hierarchy import ROOT, Hierarchy
from shoal.errors import ParameterError
from shoal.params import nearest, whole
from shoal.recoding.recodings import FullDomain, Subtree


@dataclass(frozen=True, kw_only=True)
class NoAlgorithm(Algorithm):
    """Publish each quasi-identifier at the level given (0 where none is), if the models allow it.

    Parameters
    ----------
    levels
        Column to level, 0 = as it is; columns without a hierarchy have 0 and 1 (``*``).
    cuts
        Column to labels of its hierarchy, one of them above each of its values (full-subtree recoding).

    Examples
    --------
    >>> NoAlgorithm(levels={"age": 2}).parameters()
    {'name': 'none', 'suppression_limit': 0.0, 'levels': {'age': 2}}
    """

    name: ClassVar[str] = "none"
    levels: Mapping[str, int] = field(default_factory=dict)
    cuts: Mapping[str, Sequence[str]] = field(default_factory=dict)

    def __hash__(self) -> int:
        cuts = tuple((name, tuple(labels)) for name, labels in sorted(self.cuts.items()))
        return hash((self.name, self.suppression_limit, tuple(sorted(self.levels.items())), cuts))

    def parameters(self) -> dict[str, Any]:
        """The algorithm as a recipe writes it."""
        cuts = {"cuts": {name: list(labels) for name, labels in self.cuts.items()}} if self.cuts else {}
        return {key: value for key, value in super().parameters().items() if key != "cuts"} | {
            "levels": dict(self.levels), **cuts,
        }  # fmt: skip

    @property
    def judges_sets(self) -> bool:
        """Classes are judged set by set."""
        return not self.cuts

    @property
    def from_cells(self) -> bool:
        """The frequency table is all that it looks at."""
        return True

    def run(self, problem: Problem) -> FullDomain | Subtree:
        """The levels and cuts, after checking that each names a quasi-identifier."""
        quasi = problem.domain.schema.quasi
        for what, named in (("level", self.levels), ("cut", self.cuts)):
            for name in named:
                if name not in quasi:
                    near = nearest(name, quasi)
                    hint = f" Did you mean '{near}'?" if near else ""
                    raise ParameterError(f"There is a {what} for '{name}', which is not a quasi-identifier.{hint}")
        twice = next((name for name in self.cuts if name in self.levels), None)
        if twice is not None:
            raise ParameterError(f"There is a level and a cut for '{twice}': keep one of them.")
        if not self.cuts:
            return FullDomain(levels=dict(self.levels))
        return Subtree(nodes={column.name: self._nodes(column) for column in problem.domain.quasi})

    def _nodes(self, column: Column) -> np.ndarray:
        """int64 node of each value of a column."""
        tree = column.hierarchy if column.kind == TREE else None
        values = np.arange(column.card, dtype=np.int64)
        if column.name in self.cuts:
            labels = set(self.cuts[column.name])
            if tree is not None:
                return _cut(column.name, tree, labels)
            if labels != {ROOT}:
                raise ParameterError(f"Column '{column.name}' has no hierarchy, so that '{ROOT}' is its only cut.")
            return np.full(column.card, column.card, dtype=np.int64)
        top = 1 if tree is None else tree.height
        level = whole("'none'", f"level of {column.name}", self.levels.get(column.name, 0), least=0)
        if level > top:
            raise ParameterError(f"The level of '{column.name}' must be a whole number from 0 to {top}. Got {level}.")
        if tree is None:
            return np.full(column.card, column.card, dtype=np.int64) if level else values
        return tree.node_id(level, values)


def _cut(name: str, tree: Hierarchy, labels: set[str]) -> np.ndarray:
    """The node of each value that has one of the labels, on the lowest level where it stands."""
    values = np.arange(tree.n_leaves, dtype=np.int64)
    named = np.array([label in labels for label in tree.node_labels])
    found = np.full(values.size, -1, dtype=np.int64)
    for level in range(tree.height + 1):
        nodes = tree.node_id(level, values)
        fits = named[nodes]
        again = fits & (found >= 0)
        if (tree.node_leaves[nodes[again]] != tree.node_leaves[found[again]]).any():
            raise ParameterError(f"The cut of '{name}' has labels one of which is above another: keep one of them.")
        found = np.where(fits & (found < 0), nodes, found)
    missed = int((found < 0).sum())
    if missed:
        raise ParameterError(
            f"The cut of '{name}' has no label above {missed:,} of {values.size:,} values: add one for each."
        )
    return found
