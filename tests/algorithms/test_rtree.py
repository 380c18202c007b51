"""The R⁺-tree against one that takes its records one by one."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

import polars as pl
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import shoal
from shoal.algorithms.base import Problem
from shoal.algorithms.r_tree import RPlusTree
from shoal.data.keys import Keys
from shoal.data.table import Table
from shoal.engines.memory import MemoryEngine
from shoal.errors import ParameterError
from shoal.models.feasibility import whole_reference
from shoal.models.judge import Judge
from shoal.registry import make
from tests.measures.naive import NaiveColumn, record_price
from tests.table.random_tables import Case, cases


def groups_of(table: Table, k: int, **options: Any) -> set[frozenset[int]]:
    """The leaves of a table whose records come in its own order."""
    rows, models = MemoryEngine().open(table), [make("model", {"name": "k", "k": k})]
    judge = Judge(models, whole_reference(rows, models))
    made = RPlusTree(**options).group(Problem(rows=rows, judge=judge, keys=Keys.from_seed(1, identity=True)))
    return {frozenset((made.ids == leaf).nonzero()[0].tolist()) for leaf in range(made.groups)}


@dataclass
class Leaf:
    """Records, and how many of them it takes to try a split."""

    rows: list[int] = field(default_factory=list)
    tried: int = 0


@dataclass
class Split:
    """Where a leaf was parted, and both sides."""

    column: int
    value: int
    sides: list[Any]


class Incremental:
    """A tree that takes one record at a time."""

    def __init__(self, case: Case, k: int, capacity: int) -> None:
        self.columns = [NaiveColumn(case, name) for name in case.quasi]
        self.codes, self.k, self.capacity = case.table().quasi_codes, k, capacity
        self.root: Any = Leaf(tried=capacity)

    def insert(self, row: int) -> None:
        self.root = self._into(self.root, row)

    def _into(self, node: Any, row: int) -> Any:
        if isinstance(node, Split):
            side = int(self.codes[node.column, row] > node.value)
            node.sides[side] = self._into(node.sides[side], row)
            return node
        node.rows.append(row)
        if len(node.rows) <= node.tried:
            return node
        found = self._best(node.rows)
        if found is None:
            node.tried = 2 * len(node.rows) - 1
            return node
        column, value, left, right = found
        # A side that is too full itself is split in its turn, as if its records came one by one.
        sides: list[Any] = [Leaf(tried=self.capacity), Leaf(tried=self.capacity)]
        for side, rows in enumerate((left, right)):
            for one in rows:
                sides[side] = self._into(sides[side], one)
        return Split(column, value, sides)

    def _best(self, rows: list[int]) -> tuple[int, int, list[int], list[int]] | None:
        found = []
        for a in range(len(self.columns)):
            for value in sorted({int(self.codes[a, row]) for row in rows})[:-1]:
                left = [row for row in rows if self.codes[a, row] <= value]
                right = [row for row in rows if self.codes[a, row] > value]
                if min(len(left), len(right)) >= self.k:
                    loss = sum(len(side) * record_price(self.columns, side) for side in (left, right))
                    found.append((round(loss, 9), len(found), left, right))
        if not found:
            return None
        _, _, left, right = min(found)
        # Where several columns part the same records, the first of them is the one that later ones go by.
        for a in range(len(self.columns)):
            last = max(int(self.codes[a, row]) for row in left)
            if last < min(int(self.codes[a, row]) for row in right):
                return a, last, left, right
        raise AssertionError

    def leaves(self, node: Any = None) -> set[frozenset[int]]:
        node = self.root if node is None else node
        if isinstance(node, Leaf):
            return {frozenset(node.rows)} if node.rows else set()
        return self.leaves(node.sides[0]) | self.leaves(node.sides[1])


@settings(max_examples=25)
@given(case=cases(rows=(1, 24)), k=st.integers(2, 4), more=st.integers(0, 6))
def test_leaves_are_those_of_a_tree_that_takes_records_one_by_one(case: Case, k: int, more: int) -> None:
    tree = Incremental(case, k, 2 * k - 1 + more)
    for row in range(case.n):
        tree.insert(row)
    assert groups_of(case.table(), k, capacity=2 * k - 1 + more) == tree.leaves()


def test_leaves_never_overlap_and_hold_k() -> None:
    people = shoal.example_census(800).select("age", "income", "diagnosis").drop_nulls()
    table = shoal.read(people, quasi=["age", "income"], sensitive=["diagnosis"])
    leaves = groups_of(table, 5)
    codes = table.quasi_codes
    boxes = [(codes[:, list(leaf)].min(axis=1), codes[:, list(leaf)].max(axis=1)) for leaf in leaves]
    assert min(map(len, leaves)) >= 5
    assert len(leaves) > 20
    for at, (low, high) in enumerate(boxes):
        for other_low, other_high in boxes[:at]:
            assert ((low > other_high) | (other_low > high)).any()


def test_other_models_are_kept() -> None:
    people = shoal.example_census(600).select("age", "sex", "diagnosis").drop_nulls()
    table = shoal.read(people, quasi=["age", "sex"], sensitive=["diagnosis"])
    made = shoal.anonymize(table, algorithm=shoal.RPlusTree(k=4), models=[shoal.DistinctL(l=3)], seed=2)
    assert all(one.holds for one in made.verdict)


def test_a_capacity_that_no_split_could_leave() -> None:
    table = shoal.read(pl.DataFrame({"a": range(9)}), quasi=["a"])
    with pytest.raises(ParameterError, match="The 'capacity' of RPlusTree must be at least 5, to be split. Got 4"):
        groups_of(table, 3, capacity=4)
