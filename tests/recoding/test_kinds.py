"""Recoding models: the worked vectors LU-54 to LU-57 and the cases between them."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from shoal.data.hierarchy import Hierarchy
from shoal.data.hierarchy_builders import nested
from shoal.errors import ParameterError
from shoal.recoding.outcome import recoding_kinds

ALL = ["full-domain", "full-subtree", "ordered-set-partition", "unordered-set-partition"]
ORDER = ["NW10", "NW12", "NW16", "NW20", "NW21"]
# Loukides 2008, Fig. 2.2: 21 postcodes in three districts.
DISTRICTS = {"NW[10-15]": range(10, 16), "NW[16-19]": range(16, 20), "NW[20-30]": range(20, 31)}
TREE = nested(
    "postcode", {"*": {label: [f"NW{number}" for number in run] for label, run in DISTRICTS.items()}}
)


def recoding(*labels: object) -> dict[str, object]:
    return dict(zip(ORDER, labels, strict=True))


def kinds(*labels: object) -> list[str]:
    return recoding_kinds(recoding(*labels), TREE, ORDER)  # type: ignore[arg-type]


def test_lu_54_full_domain() -> None:
    assert kinds("NW[10-15]", "NW[10-15]", "NW[16-19]", "NW[20-30]", "NW[20-30]") == ALL


def test_lu_55_full_subtree() -> None:
    assert kinds("NW[10-15]", "NW[10-15]", "NW16", "NW[20-30]", "NW[20-30]") == ALL[1:]


def test_lu_56_ordered_set_partition() -> None:
    low, one, high = frozenset(["NW10", "NW12"]), frozenset(["NW16"]), frozenset(["NW20", "NW21"])
    assert kinds(low, low, one, high, high) == ALL[2:]


def test_lu_57_unordered_set_partition() -> None:
    split, one, high = ["NW10", "NW16"], ["NW12"], ["NW20", "NW21"]
    assert kinds(split, one, split, high, high) == ALL[3:]


def test_no_generalisation_and_full_generalisation_are_full_domain() -> None:
    assert kinds(*ORDER) == ALL
    assert kinds(*["*"] * 5) == ALL


def test_a_used_node_must_take_every_observed_leaf_below_it() -> None:
    assert kinds("NW[10-15]", "NW12", "NW16", "NW20", "NW21") == []


def test_a_label_must_cover_its_value() -> None:
    assert kinds("NW[16-19]", "NW[10-15]", "NW[16-19]", "NW[20-30]", "NW[20-30]") == []
    assert kinds(["NW12"], "NW12", "NW16", "NW20", "NW21") == []


def test_sets_that_overlap_are_no_partition() -> None:
    assert kinds(["NW10", "NW12"], ["NW12", "NW16"], ["NW12", "NW16"], "NW20", "NW21") == []


def test_unobserved_members_do_no_harm() -> None:
    low = ["NW10", "NW11", "NW12"]
    assert kinds(low, low, "NW16", "NW20", "NW21") == ALL[2:]


def test_names_of_their_own_stand_for_what_is_mapped_to_them() -> None:
    assert kinds("a", "a", "b", "c", "c") == ALL[2:]
    assert kinds("a", "b", "a", "c", "c") == ALL[3:]


def test_runs_are_counted_over_observed_values() -> None:
    label = ["NW10", "NW16"]
    assert recoding_kinds({"NW10": label, "NW16": label}, TREE, ORDER) == ALL[2:]


def test_padded_labels_count_on_every_level_they_stand_on() -> None:
    tree = Hierarchy.from_rows("pet", [["cat", "warm", "*"], ["owl", "warm", "*"], ["eel", "*"]])
    assert recoding_kinds({"cat": "warm", "owl": "warm", "eel": "eel"}, tree, ["cat", "owl", "eel"]) == ALL


def test_without_a_hierarchy() -> None:
    assert recoding_kinds({"a": "x", "b": "x", "c": "y"}, None, ["a", "b", "c"]) == ALL[2:]


@given(st.lists(st.integers(0, 2), min_size=1, max_size=21), st.integers(0, 20))
def test_one_level_is_full_domain_and_the_models_nest(levels: list[int], start: int) -> None:
    leaves = range(start, min(start + len(levels), 21))
    mapping = {
        TREE.labels[0][leaf]: TREE.labels[level][TREE.ancestors[level, leaf]]
        for leaf, level in zip(leaves, levels, strict=False)
    }
    found = recoding_kinds(mapping, TREE, TREE.labels[0])
    assert found == ALL[len(ALL) - len(found) :]
    if len(set(levels[: len(leaves)])) == 1:
        assert found == ALL


def test_nothing_to_judge() -> None:
    with pytest.raises(ParameterError, match="at least one value"):
        recoding_kinds({}, TREE, ORDER)


def test_values_outside_order_or_hierarchy() -> None:
    with pytest.raises(ParameterError, match="order of the recoding lacks 1 of its values: add them.$"):
        recoding_kinds({"NW11": "*"}, TREE, ORDER)
    with pytest.raises(ParameterError, match="hierarchy of the recoding lacks 1 of its values: add them.$"):
        recoding_kinds({"SE1": "*"}, TREE, ["SE1"])
