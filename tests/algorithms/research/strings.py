"""Random tables with ways to value their levels, and every string ranked the plain way."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from hypothesis import strategies as st

from shoal.algorithms.base import Problem
from shoal.data.column import Column
from shoal.recoding.lattice import top_level
from shoal.registry import load, make
from shoal.utility.association import pairs
from tests.algorithms.lattice.lattices import LIMITS, MODELS, Case, Node, cases, every_node


@dataclass(frozen=True)
class Valued:
    """A table with models, a suppression limit, and parameters of the research value."""

    case: Case
    limit: float
    value: dict[str, Any]

    def run(self, problem: Problem, name: str, **parameters: Any) -> Any:
        """What one of the methods finds."""
        algorithm = make("algorithm", {"name": name, "suppression_limit": self.limit} | self.value | parameters)
        return algorithm.run(problem)

    def level_values(self) -> list[np.ndarray]:
        table = self.case.table
        return load("measure", "rv")(**self.value).level_values(
            table.quasi, table.domain.quasi_weights, {names: table.joined(names) for names in pairs(table.quasi)}
        )

    def ranked(self, problem: Problem) -> list[tuple[float, int, tuple[int, ...], Node]]:
        """Every string that passes: value, columns at their root, levels; best first."""
        values = self.level_values()
        tops = [top_level(column) for column in self.case.table.quasi]
        found = []
        for node in every_node(problem):
            if node.allowed(self.limit):
                rv = round(sum(float(mine[level]) for mine, level in zip(values, node.levels, strict=True)), 12)
                roots = sum(level == top for level, top in zip(node.levels, tops, strict=True))
                found.append((rv, roots, node.levels, node))
        return sorted(found, key=lambda one: (-one[0], one[1], one[2]))


@st.composite
def valued(draw: st.DrawFn, models: Sequence[list[dict[str, Any]]] = MODELS, **options: Any) -> Valued:
    """Values from the formula or by hand, which need not fall with the level."""
    case = draw(cases(models, **options))
    value: dict[str, Any] = {
        "weights": draw(st.sampled_from(["given", "association"])),
        "normalise": draw(st.booleans()),
        "rules": [rule for column in case.table.quasi for rule in draw(rules(column))],
        "rv": {column.name: draw(by_hand(column)) for column in case.table.quasi if draw(st.booleans())},
    }
    return Valued(case, draw(st.sampled_from(LIMITS)), value)


@st.composite
def rules(draw: st.DrawFn, column: Column) -> list[dict[str, Any]]:
    """Some pairs of values to keep apart."""
    texts = column.texts.to_list()
    if len(texts) < 2:
        return []
    pairs = draw(st.lists(st.lists(st.sampled_from(texts), min_size=2, max_size=2, unique=True), max_size=2))
    return [
        {"column": column.name, "separate": pair, "importance": draw(st.sampled_from([1, 2.5, 20]))} for pair in pairs
    ]


@st.composite
def by_hand(draw: st.DrawFn, column: Column) -> list[float]:
    """Any values, ties and rises among them, and 0 for the root."""
    some = st.sampled_from([0.0, 0.1, 0.2, 0.3, 0.5, 1 / 3, 0.9])
    top = top_level(column)
    return [*draw(st.lists(some, min_size=top, max_size=top)), 0.0]
