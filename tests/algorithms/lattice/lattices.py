"""Random tables with random hierarchies, and every node of their lattices priced the plain way."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np
import polars as pl
from hypothesis import strategies as st

from shoal.algorithms.base import Problem
from shoal.data.classes import RowIds
from shoal.data.keys import Keys
from shoal.data.table import Table
from shoal.engines.memory import MemoryEngine, MemoryRows
from shoal.models.base import Model
from shoal.models.feasibility import whole_reference
from shoal.models.judge import Judge
from shoal.recipe.source import read
from shoal.recoding.lattice import Lattice, top_level
from shoal.recoding.recoded import Released, apply_recoding
from shoal.recoding.recodings import FullDomain
from shoal.registry import load, make

ENGINE = MemoryEngine()
LIMITS = (0.0, 0.1, 0.5, 1.0)
K2: dict[str, Any] = {"name": "k", "k": 2}
# On a categorical attribute s, with a hierarchy, and a numeric one x.
MODELS: list[list[dict[str, Any]]] = [
    [K2],
    [{"name": "k", "k": 4}],
    [{"name": "k", "k": 3}, {"name": "distinct-l", "l": 2, "on": "s"}],
    [{"name": "distinct-l", "l": 3, "on": "s"}],
    [{"name": "p-sensitive", "p": 2, "k": 3, "on": "s"}],
    [{"name": "k-e", "k": 2, "e": 3, "on": "x"}],
    [K2, {"name": "entropy-l", "l": 1.8, "on": "s"}],
    [{"name": "recursive-cl", "c": 2.0, "l": 2, "on": "s"}],
    [K2, {"name": "t-closeness", "t": 0.3, "distance": "equal", "on": "s"}],
    [{"name": "t-closeness", "t": 0.25, "on": "s"}, {"name": "t-closeness", "t": 0.3, "on": "x"}],
    [{"name": "alpha-k-general", "alpha": 0.6, "k": 2, "on": "s"}],
    [K2, {"name": "eps-m", "eps": 1, "m": 2, "on": "x"}],
    [{"name": "eps-m", "eps": 0.5, "m": 3, "on": "x"}],
    [K2, {"name": "variance", "v": 2.0, "on": "x"}],
    [K2, {"name": "max-range", "limit": 0.6}],
    [K2, {"name": "range-diversity", "p": 0.6, "on": "s"}, {"name": "range-confidence", "p": 0.7, "on": "x"}],
    [K2, {"name": "worst-group-utility", "u": 0.5}],
]
UP = [specs for specs in MODELS if all(make("model", spec).monotone == "up" for spec in specs)]
INHERITED = [specs for specs in MODELS if all(make("model", spec).inherited for spec in specs)]
_SENSITIVE = [["a", "ab", "*"], ["b", "ab", "*"], ["c", "*"], ["d", "de", "*"], ["e", "de", "*"]]


def tree(rng: np.random.Generator, name: str, leaves: int, height: int) -> list[list[str]]:
    """Paths of a random hierarchy, some of them shorter than others, so that they are padded."""
    paths = [[f"{name}{leaf}"] for leaf in range(leaves)]
    for level in range(1, height):
        labels = [path[-1] for path in paths]
        heads = list(dict.fromkeys(labels))
        joined = np.cumsum(rng.random(len(heads)) < 0.6)
        parent = dict(zip(heads, joined.tolist(), strict=True))
        # A node alone in its group may stay without a parent here, which leaves its leaves' paths short.
        named = (np.bincount(joined) > 1) | (rng.random(int(joined.max()) + 1) < 0.5)
        for path, label in zip(paths, labels, strict=True):
            if named[parent[label]]:
                path.append(f"{name}.{level}.{parent[label]}")
    return [[*path, "*"] for path in paths]


class Case:
    """A table, and models given as a recipe gives them."""

    def __init__(self, table: Table, specs: Sequence[dict[str, Any]]) -> None:
        self.table, self.specs = table, specs

    def __repr__(self) -> str:
        trees = {column.name: column.hierarchy.rows() for column in self.table.quasi if column.hierarchy}
        return f"Case({self.specs}, {self.table.frame.to_dict(as_series=False)}, {trees}, {self.table.domain.weights})"

    @property
    def models(self) -> list[Model]:
        return [one for spec in self.specs for one in make("model", spec).resolved(self.table.domain)]

    def problem(self) -> Problem:
        judge = Judge(self.models, whole_reference(ENGINE.open(self.table), self.models))
        return Problem(rows=ENGINE.open(self.table), judge=judge, keys=Keys.from_seed(1))


@st.composite
def cases(
    draw: st.DrawFn,
    models: Sequence[list[dict[str, Any]]] = MODELS,
    *,
    rows: int = 40,
    unknown: bool | None = None,
    people: bool | None = None,
) -> Case:
    """Shapes are drawn, so that they shrink; cells come from a seed."""
    rng = np.random.default_rng(draw(st.integers(0, 2**32 - 1)))
    n = draw(st.integers(1, rows))
    shapes = draw(st.lists(st.tuples(st.integers(1, 6), st.integers(1, 3)), min_size=1, max_size=3))
    missing = draw(st.booleans())
    hidden = draw(st.booleans()) if unknown is None else unknown
    data: dict[str, pl.Series] = {}
    trees: dict[str, list[list[str]]] = {"s": _SENSITIVE}
    for place, (leaves, height) in enumerate(shapes):
        name = f"q{place}"
        trees[name] = tree(rng, name, leaves, height)
        # Some leaves are rare and some absent.
        codes = rng.choice(leaves, size=n, p=rng.dirichlet(np.full(leaves, 0.7)))
        data[name] = _holes(rng, [f"{name}{code}" for code in codes], missing and place == 0)
    data["s"] = _holes(rng, rng.choice(list("abcde"), size=n, p=rng.dirichlet(np.ones(5))).tolist(), hidden)
    data["x"] = _holes(rng, rng.integers(0, 8, size=n).tolist(), hidden)
    roles: dict[str, Any] = {"quasi": [f"q{place}" for place in range(len(shapes))], "sensitive": ["s", "x"]}
    if draw(st.booleans()) if people is None else people:
        data["who"] = pl.Series([f"p{code}" for code in rng.integers(0, max(1, n // 2), size=n)])
        roles["subject"] = "who"
    if draw(st.booleans()):
        roles["weights"] = {name: float(rng.integers(1, 5)) for name in roles["quasi"]}
    table = read(pl.DataFrame(data), **roles, hierarchies=trees, missing="value")
    return Case(table, draw(st.sampled_from(list(models))))


def _holes(rng: np.random.Generator, values: list[Any], some: bool) -> pl.Series:
    holes = rng.random(len(values)) < (0.2 if some else 0.0)
    kind = pl.Int64 if isinstance(values[0], int) else pl.String
    return pl.Series([None if hole else value for value, hole in zip(values, holes, strict=True)], dtype=kind)


@dataclass(frozen=True)
class Node:
    """A node applied to the rows: its release, failing classes suppressed."""

    levels: tuple[int, ...]
    released: Released
    _costs: dict[str, float] = field(default_factory=dict)

    @property
    def suppressed(self) -> int:
        return self.released.n_suppressed

    def allowed(self, limit: float) -> bool:
        """Whether it releases something and suppresses no more than a share of rows."""
        return self.released.n_classes > 0 and self.suppressed <= limit * self.released.table.n + 1e-9

    def cost(self, measure: str) -> float:
        """The measure's own figure, turned so that less is better."""
        if measure not in self._costs:
            score = load("measure", measure)().score(self.released.price_stats())
            assert score.value is not None
            self._costs[measure] = -score.value if score.better == "up" else score.value
        return self._costs[measure]


def every_node(problem: Problem) -> list[Node]:
    """All nodes in lexicographic order, each grouped, judged and suppressed row by row."""
    table, judge = problem.table, problem.judge
    lattice = Lattice(tuple(top_level(column) for column in table.quasi))
    found = []
    for levels in lattice.decode(np.arange(lattice.size)).tolist():
        recoding = FullDomain(levels=dict(zip(table.schema.quasi, levels, strict=True)))
        released = apply_recoding(MemoryRows(table), recoding)
        stats = ENGINE.open(table).stats(RowIds(released.classes, released.n_classes), judge.attributes)
        stats = replace(stats, spreads=released.spreads)
        found.append(Node(tuple(levels), replace(released.suppress(~judge.ok(stats)), k=judge.k)))
    return found


def best(nodes: Sequence[Node], measure: str, limit: float) -> Node | None:
    """The best node: least cost, then fewest suppressed, then least loss, then the first."""
    left = [node for node in nodes if node.allowed(limit)]
    for price in (lambda node: node.cost(measure), lambda node: node.suppressed, lambda node: node.cost("lm")):
        prices = [price(node) for node in left]
        least = min(prices, default=0.0)
        left = [node for node, one in zip(left, prices, strict=True) if one <= least + 1e-9 * max(1.0, abs(least))]
    return left[0] if left else None


def minimal(levels: Sequence[tuple[int, ...]]) -> list[tuple[int, ...]]:
    """Those that no other lies below."""
    return [one for one in levels if not any(other != one and _below(other, one) for other in levels)]


def _below(one: tuple[int, ...], other: tuple[int, ...]) -> bool:
    return all(a <= b for a, b in zip(one, other, strict=True))
