"""What is wrong with a hierarchy, all at once; headers; what it covers; what levels cost."""

from __future__ import annotations

from pathlib import Path

import polars as pl
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import shoal
from shoal.data.hierarchy import MISSING, Hierarchy
from shoal.data.hierarchy_edits import level_costs, outline
from shoal.data.hierarchy_files import coverage, find_faults, header_of, read_csv
from shoal.errors import HierarchyError

PETS = [["cat", "mammal", "*"], ["dog", "mammal", "*"], ["carp", "fish", "*"]]


@pytest.mark.parametrize(
    "rows, kinds",
    [
        (PETS, []),
        ([], ["empty"]),
        ([["a", "", "*"], ["b", "x", "*"]], ["empty"]),
        ([["a", "x", "*"], ["a", "y", "*"], ["b", "x", "*"]], ["duplicate"]),
        ([["a", "x", "top", "*"], ["b", "x", "other", "*"]], ["parents"]),
        ([["a", "x", "x2", "*"], ["b", "y", "x", "*"], ["c", "y", "x", "*"]], ["meanings"]),
        ([["a", "*", "x"], ["b", "y", "x"]], ["reserved"]),
        ([["a", "x", "p"], ["a", "y", "p"], ["b", "x", "q"], ["c", ""]], ["empty", "duplicate", "parents"]),
    ],
)
def test_every_kind_of_fault_is_found(rows: list[list[str]], kinds: list[str]) -> None:
    assert [fault.kind for fault in find_faults("v", rows)] == kinds


LABELS = st.sampled_from(["a", "b", "c", "x", "y", "z", "*", MISSING, "x "])


@settings(max_examples=75, deadline=None)
@given(st.lists(st.lists(LABELS, min_size=1, max_size=4), min_size=1, max_size=6))
def test_faults_are_found_where_no_hierarchy_can_be_made_and_only_there(rows: list[list[str]]) -> None:
    found = find_faults("v", rows)
    try:
        Hierarchy.from_rows("v", rows)
    except HierarchyError:
        assert found
    else:
        assert not found


def test_coverage_counts_values_and_records() -> None:
    met = coverage(Hierarchy.from_rows("pet", PETS), {"cat": 5, "newt": 2, "eft": 3, MISSING: 4})
    assert (met.values, met.records, met.records_uncovered, met.unused) == (3, 10, 5, 2)
    assert list(met.uncovered.items()) == [("eft", 3), ("newt", 2)]


@pytest.mark.parametrize("header", ["pet;kind;all", "value;level 1;level 2", "Level-0;Level-1;L-2", "tier;art;oben"])
def test_a_header_is_no_value(tmp_path: Path, header: str) -> None:
    path = tmp_path / "pet.csv"
    path.write_text("\n".join([header, *(";".join(row) for row in PETS)]), "utf-8")
    assert read_csv(path, "pet").labels[0] == ("cat", "dog", "carp")


@pytest.mark.parametrize(
    "rows",
    [
        PETS,
        [["value", "x", "*"], ["b", "x", "*"]],  # a value that is called so, under the same root as the others
        [["carp", "fish"], ["cat", "mammal"], ["dog", "mammal"]],  # no root: the first line may be a value
        [["pet", "kind", "all"]],
    ],
)
def test_a_value_is_no_header(rows: list[list[str]]) -> None:
    assert header_of("pet", rows) is None


def test_costs_go_from_nothing_to_everything() -> None:
    costs = level_costs(Hierarchy.from_rows("pet", PETS), {"cat": 1, "dog": 2, "carp": 1})
    assert [cost.loss for cost in costs] == pytest.approx([0, 0.375, 1])
    assert [cost.kept for cost in costs] == pytest.approx([1, 0.811278 / 1.5, 0], abs=1e-6)
    assert [(cost.used, cost.fewest, cost.most) for cost in costs] == [(3, 1, 2), (2, 1, 3), (1, 4, 4)]


def test_a_drawing_adds_up_and_says_what_it_leaves_out() -> None:
    rows = [[f"v{at}", f"g{at % 2}", "*"] for at in range(30)]
    counts = {f"v{at}": at for at in range(30)}
    lines = outline(Hierarchy.from_rows("v", rows), counts, most=4)
    assert lines[0] == ("*", 30, sum(range(30)))
    assert [line for line, _, _ in lines].count("│  └─ … 12 more") == 1
    inner = [count for line, _, count in lines if line.startswith("│  ")]
    assert sum(inner) == next(count for line, _, count in lines if line == "├─ g1")
    assert len(outline(Hierarchy.from_rows("v", rows), counts, deepest=1)) == 3


def test_quantiles_of_a_table_are_by_records_and_not_by_values() -> None:
    """They were by different values, so that a common one had a group to itself and its neighbours next to nothing."""
    ages = ["20"] * 90 + [str(age) for age in range(21, 31)]
    table = shoal.read(pl.DataFrame({"age": ages}), quasi=["age"], hierarchies={"age": {"quantiles": [2]}})
    tree = table.quasi[0].hierarchy
    assert tree is not None
    assert tree.labels[1] == ("<21", ">=21")
