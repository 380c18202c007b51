"""Mondrian against a recursive reference that looks at every record, every time."""

from __future__ import annotations

import math
import statistics
from collections import Counter
from collections.abc import Callable, Sequence
from typing import Any
from unittest import mock

import numpy as np
import polars as pl
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from shoal.algorithms.base import Problem
from shoal.algorithms.grouping import by_rows
from shoal.algorithms.mondrian import Mondrian
from shoal.algorithms.prices import prices_of
from shoal.data.keys import Keys
from shoal.data.table import Table
from shoal.engines.memory import MemoryEngine
from shoal.errors import ParameterError
from shoal.kernels import mondrian
from shoal.kernels.mondrian import STEPS
from shoal.models.feasibility import whole_reference
from shoal.models.judge import Judge
from shoal.recipe.source import read
from shoal.registry import make
from tests.measures.naive import NaiveColumn, record_price
from tests.table.random_tables import Case, cases

ENGINE = MemoryEngine()
Allowed = Callable[[list[int], list[int]], bool]


def groups_of(table: Table, specs: Sequence[dict[str, Any]], **options: Any) -> set[frozenset[int]]:
    """The parts that Mondrian makes of a table in its own order."""
    models = [make("model", spec) for spec in specs]
    judge = Judge(models, whole_reference(ENGINE.open(table), models))
    problem = Problem(rows=ENGINE.open(table), judge=judge, keys=Keys.from_seed(1, identity=True))
    recoding = by_rows(problem, Mondrian(**options).run(problem))
    assert recoding.ids.min() == 0
    assert recoding.ids.max() == recoding.groups - 1
    return {frozenset(np.flatnonzero(recoding.ids == group).tolist()) for group in range(recoding.groups)}


def test_empty_parts_stay_as_they_are() -> None:
    """Wherever they lie; the others are cut as if they were alone."""
    table = read(pl.DataFrame({"a": np.arange(12) % 7, "b": np.arange(12) % 5}), quasi=["a", "b"])
    ends = []
    for starts in ([0, 12], [0, 0, 12, 12], [0, 0, 0, 12]):
        codes, order = np.ascontiguousarray(table.quasi_codes.T, dtype=np.int32), np.arange(12, dtype=np.int32)
        work = mondrian.Work(codes, codes.copy(), order, order.copy(), np.zeros(12, dtype=np.uint8))
        options = mondrian.Options(3, False, False)
        middles = mondrian.cut_parts(work, np.array(starts), prices_of(table.domain), None, options, True, None, False)
        assert [middles[at] for at in range(len(starts) - 1) if starts[at] == starts[at + 1]] == starts[1:-1]
        ends.append((order.tolist(), work.ends.tolist()))
    assert ends[0] == ends[1] == ends[2]


class Reference:
    """Mondrian by the book: the specification's steps, one part at a time."""

    def __init__(
        self, case: Case, allowed: Allowed, k: int, *, relaxed: bool, fallback: bool, cut: str
    ) -> None:
        self.columns = [NaiveColumn(case, name) for name in case.quasi]
        self.codes = case.table().quasi_codes
        self.allowed, self.k = allowed, k
        self.relaxed, self.fallback, self.cut = relaxed, fallback, cut
        self.target = [int(value) for value in case.data["s0"]]

    def partition(self, rows: list[int]) -> set[frozenset[int]]:
        for left, right in self.cuts(rows):
            if (
                min(len(left), len(right)) >= self.k
                and self.allowed(rows, left)
                and self.allowed(rows, right)
            ):
                return self.partition(left) | self.partition(right)
        return {frozenset(rows)}

    def cuts(self, rows: list[int]) -> list[tuple[list[int], list[int]]]:
        if self.cut != "widest":
            return self.best_cuts(rows) + (self.median_cuts(rows) if self.relaxed else [])
        return self.median_cuts(rows)

    def median_cuts(self, rows: list[int]) -> list[tuple[list[int], list[int]]]:
        found = []
        for a in self.by_width(rows):
            codes = [int(self.codes[a, row]) for row in rows]
            median = sorted(codes)[(len(rows) + 1) // 2 - 1]
            if self.relaxed:
                below = [row for row in rows if self.codes[a, row] < median]
                equal = [row for row in rows if self.codes[a, row] == median]
                left = below + equal[: len(rows) // 2 - len(below)]
                found.append(left)
            else:
                found.append([row for row in rows if self.codes[a, row] <= median])
                if self.fallback:
                    found.append([row for row in rows if self.codes[a, row] < median])
        return [(sorted(left), sorted(set(rows) - set(left))) for left in found]

    def by_width(self, rows: list[int]) -> list[int]:
        """Columns by the weighted width of the rows, widest first; of equals the first in the schema."""
        widths = [
            column.weight * float(column.spread(column.cell([column.values[row] for row in rows])))
            for column in self.columns
        ]
        return [a for a in sorted(range(len(widths)), key=lambda a: -round(widths[a], 12)) if widths[a] > 0]

    def best_cuts(self, rows: list[int]) -> list[tuple[list[int], list[int]]]:
        found = []
        for a in range(len(self.columns)):
            for value in sorted({int(self.codes[a, row]) for row in rows})[:-1]:
                left = [row for row in rows if self.codes[a, row] <= value]
                right = [row for row in rows if self.codes[a, row] > value]
                loss = sum(len(side) * record_price(self.columns, side) for side in (left, right))
                untold = sum(self.untold([self.target[row] for row in side]) for side in (left, right))
                found.append((math.floor(untold * STEPS + 0.5), round(loss, 9), len(found), left, right))
        return [(left, right) for *_, left, right in sorted(found)]

    def untold(self, values: list[int]) -> float:
        """What a side leaves to be told about the target."""
        if self.cut == "info-gain":
            return len(values) * entropy(values) / math.log(2)
        # In units of the whole column's variance.
        units = statistics.pvariance(self.target) or 1.0
        return len(values) * statistics.pvariance(values) / units if self.cut == "lsd" else 0.0


def entropy(values: Sequence[Any]) -> float:
    return -sum(n / len(values) * math.log(n / len(values)) for n in Counter(values).values())


def crowded(values: Sequence[float]) -> bool:
    """Whether more than half of the values lie within 1 of one of them."""
    return any(2 * sum(abs(x - y) <= 1 for x in values) > len(values) for y in values)


def predicate(name: str, values: list[Any]) -> Allowed:
    """Whether one side of a cut is good enough, given the whole part."""
    pick = {
        "k": lambda part, side: True,
        "distinct-l": lambda part, side: len({values[row] for row in side}) >= 2,
        "entropy-l": lambda part, side: entropy([values[row] for row in side]) >= math.log(1.5) - 1e-12,
        # Merging does not preserve (eps,m), so a part that fails already frees its cuts.
        "eps-m": lambda part, side: (
            crowded([values[row] for row in part]) or not crowded([values[row] for row in side])
        ),
    }
    return pick[name]


SPECS: dict[str, dict[str, Any]] = {
    "k": {"name": "k", "k": 2},
    "distinct-l": {"name": "distinct-l", "l": 2},
    "entropy-l": {"name": "entropy-l", "l": 1.5},
    "eps-m": {"name": "eps-m", "eps": 1, "m": 2},
}


@pytest.mark.reference("cut_parts")
@settings(max_examples=50)
@given(
    case=cases(rows=(1, 14), sensitive=(1, 1), sensitive_kinds=["integer"], non_answers=False),
    k=st.integers(2, 4),
    model=st.sampled_from(list(SPECS)),
    mode=st.sampled_from(["strict", "relaxed"]),
    cut=st.sampled_from(["widest", "best", "info-gain", "lsd"]),
    fallback=st.booleans(),
)
def test_parts_are_those_of_the_reference(
    case: Case, k: int, model: str, mode: str, cut: str, fallback: bool
) -> None:
    values = [value or 0 for value in case.data["s0"]]
    case = Case(**(case.__dict__ | {"data": dict(case.data) | {"s0": values}}))
    found = groups_of(
        case.table(), [{"name": "k", "k": k}, SPECS[model]], mode=mode, cut=cut, fallback_lt=fallback
    )
    reference = Reference(
        case, predicate(model, values), k, relaxed=mode == "relaxed", fallback=fallback, cut=cut
    )
    assert found == reference.partition(list(range(case.n)))


def test_of_equally_wide_columns_the_first_is_cut() -> None:
    """Both columns are as wide as can be; 49 times one forty-ninth is not quite 1 in floats."""
    frame = pl.DataFrame({"a": [0, 0, 49, 49], "b": [0, 2, 0, 2]})
    assert groups_of(read(frame, quasi=["a", "b"]), [SPECS["k"]]) == {frozenset([0, 1]), frozenset([2, 3])}


@pytest.mark.parametrize("cut", ["widest", "best", "info-gain", "lsd"])
@pytest.mark.parametrize("mode", ["strict", "relaxed"])
def test_sharing_the_work_out_changes_nothing(cut: str, mode: str) -> None:
    rng = np.random.default_rng(3)
    frame = pl.DataFrame(
        {"a": rng.integers(0, 1000, 3000), "b": rng.integers(0, 30, 3000), "s": rng.integers(0, 4, 3000)}
    )
    table = read(frame, quasi=["a", "b"], sensitive=["s"])
    specs = [{"name": "k", "k": 5}, {"name": "entropy-l", "l": 2}]
    found = []
    for threshold in (1 << 60, 0):
        with mock.patch.object(mondrian, "PARALLEL_FROM", threshold):
            found.append(groups_of(table, specs, cut=cut, mode=mode))
    assert sum(len(part) for part in found[0]) == 3000
    assert len(found[0]) > 100
    assert found[0] == found[1]


@settings(max_examples=25)
@given(st.integers(0, 2**32 - 1), st.integers(2, 6))
def test_relaxed_parts_are_smaller_than_2k_unless_all_alike(seed: int, k: int) -> None:
    rng = np.random.default_rng(seed)
    frame = pl.DataFrame({"a": rng.integers(0, 4, 60), "b": rng.integers(0, 3, 60)})
    table = read(frame, quasi=["a", "b"])
    for part in groups_of(table, [{"name": "k", "k": k}], mode="relaxed"):
        alike = len(set(frame[sorted(part)].rows())) == 1
        assert len(part) >= k
        assert len(part) < 2 * k or alike


@pytest.mark.parametrize("quasi", [["a", "b"], ["b", "a"]])
def test_values_next_to_each_other_are_cut_beside_an_extreme_one(quasi: list[str]) -> None:
    """All but one lie within a fraction of a tick."""
    frame = pl.DataFrame({"a": [*range(39), 10**15], "b": [0, 1] * 20})
    parts = groups_of(read(frame, quasi=quasi, settings={"a": {"snap": "off"}}), [SPECS["k"]], mode="relaxed")
    assert max(map(len, parts)) < 4


def test_a_cut_serves_its_target() -> None:
    """The wide column says nothing about the target; the narrow one says all."""
    frame = pl.DataFrame({"a": range(8), "b": [0, 1] * 4, "s": [5, 90] * 4, "c": ["x", "y"] * 4})
    table = read(frame, quasi=["a", "b"], sensitive=["s", "c"])
    halves = {frozenset([0, 2, 4, 6]), frozenset([1, 3, 5, 7])}
    four = [{"name": "k", "k": 4}]
    assert groups_of(table, four, cut="widest") != halves
    for cut, target in [("info-gain", None), ("info-gain", "c"), ("lsd", "s"), ("lsd", "b"), ("info-gain", "b")]:
        assert groups_of(table, four, cut=cut, target=target) == halves


def test_numbers_below_a_hierarchy_are_numbers_to_a_cut() -> None:
    frame = pl.DataFrame({"a": range(8), "b": [0, 1, 50, 51] * 2})
    given = {"hierarchies": {"b": [[str(one), "*"] for one in (0, 1, 50, 51)]}, "missing": "value"}
    table = read(pl.concat([frame, frame[:1].with_columns(b=None)]), quasi=["a", "b"], **given)
    low = {row for group in groups_of(table, [SPECS["k"]], cut="lsd", target="b") for row in group if len(group) < 9}
    assert low == set(range(9))
    whole = read(frame, quasi=["a", "b"], **given)
    halves = {frozenset([0, 1, 4, 5]), frozenset([2, 3, 6, 7])}
    assert groups_of(whole, [{"name": "k", "k": 4}], cut="lsd", target="b") == halves


@pytest.mark.parametrize(
    "given, quasi, said",
    [
        ({"cut": "best", "target": "s"}, ["a"], "The target of Mondrian is for the cuts"),
        ({"cut": "lsd", "target": "s"}, ["a"], "is for numbers, and 's' has none: cut by 'info-gain' instead"),
        ({"cut": "lsd", "target": "ss"}, ["a"], "no sensitive column and no quasi-identifier. Did you mean 's'"),
        ({"cut": "lsd"}, ["a", "s"], "Cuts for a target need one"),
    ],
)
def test_targets_that_are_none(given: dict[str, Any], quasi: list[str], said: str) -> None:
    frame = pl.DataFrame({"a": [1, 2, 3, 4], "s": ["x", "y", "x", "y"]})
    table = read(frame, quasi=quasi, sensitive=[name for name in ("s",) if name not in quasi])
    with pytest.raises(ParameterError, match=said):
        groups_of(table, [SPECS["k"]], **given)
