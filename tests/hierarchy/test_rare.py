"""Outliers recoded: rare values under one label, tails of numbers joined, and releases that pass the gate with them."""

from __future__ import annotations

from typing import Any

import polars as pl
import pytest
from hypothesis import given
from hypothesis import strategies as st

import shoal
from shoal.data.hierarchy import MISSING, Hierarchy
from shoal.data.hierarchy_files import build
from shoal.errors import HierarchyError

NAMES = ["ash", "bay", "elm", "fir", "oak", "yew"]
TREE = {"nested": {"*": {"soft": ["fir", "yew"], "hard": ["ash", "bay", "elm", "oak"]}}}


def made(spec: Any, counts: dict[str, int]) -> Hierarchy:
    return build("q", spec, list(counts), counts=list(counts.values()))


def test_rare_values_become_one_under_each_parent() -> None:
    counts = {"ash": 30, "bay": 1, "elm": 2, "fir": 40, "oak": 3, "yew": 2}
    assert dict(row[:2] for row in made({"rare": 5}, counts).rows()) == {
        "ash": "ash", "bay": "other", "elm": "other", "fir": "fir", "oak": "other", "yew": "other",
    }  # fmt: skip
    found = {row[0]: row[1:] for row in made(TREE | {"rare": 5}, counts).rows()}
    assert found["bay"] == ["other hard", "hard", "*"]
    assert found["ash"] == ["ash", "hard", "*"]
    # Two people with a yew are not enough, so the firs join them.
    assert found["yew"] == found["fir"] == ["other soft", "soft", "*"]


def test_a_number_counts_however_it_is_written() -> None:
    written = pl.DataFrame({"q": ["1.5", "1.50", "1.500"] * 3 + ["2"] * 13 + ["3", "3.0"] * 3})
    table = shoal.read(written, quasi=["q"], hierarchies={"q": {"rare": 6}}, settings={"q": {"type": "numeric"}})
    assert [row[1] for row in table.columns["q"].hierarchy.rows()] == ["1.5", "2", "3"]


def test_missing_values_join_nothing() -> None:
    tree = made({"rare": 5}, {"ash": 1, "bay": 1, "fir": 9, MISSING: 1})
    assert tree.rows()[-1] == [MISSING, MISSING, "*"]


@given(st.dictionaries(st.sampled_from(NAMES), st.integers(0, 9), min_size=1), st.integers(2, 12))
def test_a_category_has_enough_records_or_everybody(counts: dict[str, int], least: int) -> None:
    tree = made({"rare": least}, counts)
    joined = [row[0] for row in tree.rows() if row[1] == "other"]
    if joined:
        assert sum(counts[one] for one in joined) >= least or len(joined) == len(counts)
        assert all(counts[one] >= least for one in counts if one not in joined)


@given(st.dictionaries(st.integers(0, 99), st.integers(1, 6), min_size=1), st.integers(2, 12))
def test_tails_nest_and_have_enough_records(given_: dict[int, int], least: int) -> None:
    counts = {str(value): count for value, count in sorted(given_.items())}
    tree = made({"widths": [5, 20], "rare": least}, counts)  # a hierarchy that does not nest is refused
    for labels, nodes in zip(tree.labels[1:-1], tree.ancestors[1:-1], strict=True):
        for place in (0, -1):
            if labels[place][0] in "<>":
                members = [
                    name for name, node in zip(tree.labels[0], nodes, strict=True) if labels[node] == labels[place]
                ]
                assert sum(counts[one] for one in members) >= least


@pytest.mark.parametrize(
    "spec, message",
    [
        ({"rare": 1}, "whole number of at least 2: got 1"), ({"rare": "few"}, "whole number of at least 2"),
        ({"rare": 3, "groups": [{"a": ["ash"]}]}, "cannot have 'rare' beside 'groups'"),
        ({"rare": 3, "public": True, **TREE}, "cannot have 'rare' beside 'public'"),
    ],
)  # fmt: skip
def test_what_cannot_be_recoded(spec: dict[str, Any], message: str) -> None:
    with pytest.raises(HierarchyError, match=message):
        made(spec, dict.fromkeys(NAMES, 3))


def test_a_release_with_outliers_recoded() -> None:
    frame = pl.DataFrame({
        "tree": ["ash"] * 20 + ["bay"] * 3 + ["elm"] * 2 + ["oak"] * 15, "age": [3, *range(30, 50), *range(31, 49), 98],
    })  # fmt: skip
    table = shoal.read(
        frame, quasi=["tree", "age"], hierarchies={"tree": {"rare": 5}, "age": {"widths": [10, 20], "rare": 5}}
    )
    tree = table.columns["tree"].hierarchy
    assert tree is not None
    assert tree.labels[1] == ("ash", "other", "oak")
    release = shoal.anonymize(table, algorithm=shoal.ResearchGlobal(k=5), seed=1)
    assert set(release.frame["tree"]) == {"ash", "other", "oak"}
    assert all(check.passed for check in release.checks)
