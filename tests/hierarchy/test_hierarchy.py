"""The tree itself: order, padding, validation, lookups."""

from __future__ import annotations

from itertools import combinations_with_replacement

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from shoal.data.hierarchy import MISSING, ROOT, Hierarchy
from shoal.errors import HierarchyError

PETS = [
    ["cat", "mammal", "warm", "*"],
    ["carp", "fish", "cold", "*"],
    ["dog", "mammal", "warm", "*"],
    ["owl", "bird", "warm", "*"],
    ["pike", "fish", "cold", "*"],
]


@st.composite
def trees(draw: st.DrawFn) -> list[list[str]]:
    """Rows of a random tree, shuffled, with repeated levels and, at times, no single root."""
    height = draw(st.integers(0, 4))
    n_leaves = draw(st.integers(1, 12))
    columns = [list(range(n_leaves))]
    for _ in range(height):
        below = sorted(set(columns[-1]))
        group, parent = 0, {}
        for node in below:
            group += draw(st.booleans())
            parent[node] = group
        columns.append([parent[node] for node in columns[-1]])
    repeat = draw(st.lists(st.integers(0, max(height - 1, 0)), max_size=2)) if height else []
    rows = []
    for leaf in range(n_leaves):
        path = [f"{level}:{column[leaf]}" for level, column in enumerate(columns)]
        for level in sorted(repeat, reverse=True):  # the same label on two levels
            path.insert(level, path[level])
        rows.append(path)
    return draw(st.permutations(rows))


def leaves_of(tree: Hierarchy) -> dict[tuple[int, int], set[int]]:
    return {
        (level, node): set(np.flatnonzero(tree.ancestors[level] == node).tolist())
        for level in range(tree.height + 1)
        for node in range(len(tree.labels[level]))
    }


def refused(rows: object, *parts: str) -> None:
    with pytest.raises(HierarchyError) as caught:
        Hierarchy.from_rows("pet", rows)  # type: ignore[arg-type]
    message = str(caught.value)
    for part in ("'pet'", *parts):
        assert part in message


def test_children_keep_the_order_of_first_appearance() -> None:
    tree = Hierarchy.from_rows("pet", PETS)
    assert tree.labels == (
        ("cat", "dog", "owl", "carp", "pike"),
        ("mammal", "bird", "fish"),
        ("warm", "cold"),
        ("*",),
    )
    assert tree.ancestors.tolist() == [[0, 1, 2, 3, 4], [0, 0, 1, 2, 2], [0, 0, 0, 1, 1], [0] * 5]
    assert tree.ancestors.dtype == np.int32
    assert tree.ancestors.flags.c_contiguous
    assert (tree.height, tree.n_leaves) == (3, 5)


def test_lookups() -> None:
    tree = Hierarchy.from_rows("pet", PETS)
    assert tree.leaf_code == {"cat": 0, "dog": 1, "owl": 2, "carp": 3, "pike": 4}
    assert tree.offsets.tolist() == [0, 5, 8, 10, 11]
    assert tree.node_labels[5:] == ["mammal", "bird", "fish", "warm", "cold", "*"]
    assert tree.node_level.tolist() == [0] * 5 + [1] * 3 + [2] * 2 + [3]
    assert tree.node_leaves.tolist() == [1] * 5 + [2, 1, 2, 3, 2, 5]
    assert tree.node_first.tolist() == [0, 1, 2, 3, 4, 0, 2, 3, 0, 3, 0]
    assert tree.leaf_counts.tolist() == [[1] * 5, [2, 2, 1, 2, 2], [3, 3, 3, 2, 2], [5] * 5]
    for array in (tree.offsets, tree.node_leaves, tree.node_first, tree.leaf_counts):
        assert array.dtype == np.int64


def test_node_id_broadcasts() -> None:
    tree = Hierarchy.from_rows("pet", PETS)
    assert tree.node_id(1, np.array([0, 2, 4])).tolist() == [5, 6, 7]
    assert tree.node_id(np.array([0, 1, 2, 3]), np.array([4, 4, 4, 4])).tolist() == [4, 7, 9, 10]
    assert tree.node_id(np.array([[2], [3]]), np.array([0, 3])).tolist() == [[8, 9], [10, 10]]


def test_repr_is_short_and_shows_no_value() -> None:
    assert repr(Hierarchy.from_rows("pet", PETS)) == "Hierarchy('pet', height=3, n_leaves=5)"


def test_short_rows_are_padded_after_the_leaf() -> None:
    tree = Hierarchy.from_rows("pet", [["cat", "mammal", "warm", "*"], ["newt", "*"], ["owl", "warm", "*"]])
    assert tree.rows() == [
        ["cat", "mammal", "warm", "*"],
        ["owl", "owl", "warm", "*"],
        ["newt", "newt", "newt", "*"],
    ]


def test_a_root_is_added_over_several_labels() -> None:
    tree = Hierarchy.from_rows("pet", [["cat", "mammal"], ["carp", "fish"], ["newt"]])
    assert tree.rows() == [["cat", "mammal", "*"], ["carp", "fish", "*"], ["newt", "newt", "*"]]


def test_a_root_by_another_name_is_kept() -> None:
    assert Hierarchy.from_rows("pet", [["cat", "any"], ["carp", "any"]]).labels[-1] == ("any",)


def test_one_value_alone() -> None:
    tree = Hierarchy.from_rows("pet", [["cat"]])
    assert (tree.height, tree.labels, tree.ancestors.tolist()) == (0, (("cat",),), [[0]])
    assert tree.common_level(np.array([0]), np.array([0])).tolist() == [0]
    assert tree.leaf_counts.tolist() == [[1]]


def test_a_repeated_row_counts_once() -> None:
    assert Hierarchy.from_rows("pet", [["cat", "*"], ["carp", "*"], ["cat", "*"]]).labels[0] == (
        "cat",
        "carp",
    )


def test_a_label_may_stand_on_several_levels_over_the_same_leaves() -> None:
    tree = Hierarchy.from_rows(
        "pet", [["cat", "warm", "warm", "*"], ["owl", "warm", "warm", "*"], ["eel", "*"]]
    )
    assert tree.labels[1] == tree.labels[2] == ("warm", "eel")


def test_subclasses_of_text_become_text() -> None:
    class Text(str):
        pass

    tree = Hierarchy.from_rows("pet", [[Text("cat"), Text("*")]])
    assert {type(label) for label in tree.node_labels} == {str}


def test_empty() -> None:
    refused([], "is empty")


@pytest.mark.parametrize("row", [[], "cat"])
def test_a_row_that_is_no_path(row: object) -> None:
    refused([["cat", "*"], row], "Row 2", "no path")


def test_a_label_that_is_no_text() -> None:
    refused([["cat", 1, "*"]], "not text")


@pytest.mark.parametrize("row", [["", "*"], ["owl", "", "*"], ["owl", ""]])
def test_an_empty_label(row: list[str]) -> None:
    refused([["cat", "x", "*"], row], "Row 2", "empty label")


def test_two_paths_for_one_value() -> None:
    refused([["cat", "mammal", "*"], ["cat", "fish", "*"]], "'cat'", "two different paths")
    refused([["cat", "a", "warm", "*"], ["cat", "a", "cold", "*"]], "'cat'", "two different paths")


def test_two_parents_for_one_node() -> None:
    refused([["cat", "a", "warm", "*"], ["eel", "a", "cold", "*"]], "'a'", "level 1", "'warm'", "'cold'")


def test_a_cycle() -> None:
    rows = [["cat", "mammal", "cat", "*"], ["dog", "mammal", "cat", "*"], ["eel", "fish", "cold", "*"]]
    refused(rows, "'cat'", "own ancestor", "levels 0 and 2")


def test_one_label_for_two_sets() -> None:
    rows = [["cat", "x", "warm", "*"], ["eel", "y", "x", "*"]]
    refused(rows, "'x'", "two different sets", "levels 1 and 2")


@pytest.mark.parametrize(
    "rows",
    [
        [["cat", "*"], ["eel", "cold"]],
        [["cat", "*", "any"], ["eel", "cold", "any"]],
        [["cat", "*", "any"], ["dog", "*", "any"], ["eel", "cold", "any"]],
        [["cat", "warm", "*"], ["eel"]],
        [["*", "x", "*"], ["cat", "y", "*"]],
    ],
)
def test_the_star_means_everything(rows: list[list[str]]) -> None:
    refused(rows, "'*'", "everything")


def test_a_value_may_be_a_star_under_a_root_of_another_name() -> None:
    assert Hierarchy.from_rows("pet", [["cat", "any"], ["*", "any"]]).labels[0] == ("cat", "*")


@pytest.mark.parametrize(
    "rows",
    [
        [["cat", MISSING, "*"], ["dog", MISSING, "*"], ["eel", "cold", "*"]],
        [["cat", MISSING, "*"], ["eel", "cold", "*"]],
        [[MISSING, "unknown", "*"], ["eel", "cold", "*"]],
    ],
)
def test_missing_is_a_leaf_under_the_root(rows: list[list[str]]) -> None:
    refused(rows, MISSING, "under the root")


def test_with_missing_adds_a_last_leaf_under_the_root() -> None:
    tree = Hierarchy.from_rows("pet", PETS).with_missing()
    assert tree.rows()[:-1] == Hierarchy.from_rows("pet", PETS).rows()
    assert tree.rows()[-1] == [MISSING, MISSING, MISSING, "*"]
    assert tree.with_missing() is tree
    assert same(tree, Hierarchy.from_rows("pet", tree.rows()))
    assert tree.ancestors.flags.c_contiguous
    assert tree.ancestors.dtype == np.int32


def test_with_missing_moves_it_to_the_end() -> None:
    tree = Hierarchy.from_rows("pet", [[MISSING, "*"], ["cat", "warm", "*"]]).with_missing()
    assert tree.labels[0] == ("cat", MISSING)


def test_with_missing_where_the_root_stands_on_several_levels() -> None:
    tree = Hierarchy.from_rows("pet", [["cat", "*", "*"], ["eel", "*", "*"]]).with_missing()
    assert tree.rows()[-1] == [MISSING, "*", "*"]
    assert same(tree, Hierarchy.from_rows("pet", tree.rows()))


def test_with_missing_where_the_only_value_is_its_own_root() -> None:
    assert Hierarchy.from_rows("pet", [["cat", "cat"]]).with_missing().rows() == [
        ["cat", "*"],
        [MISSING, "*"],
    ]


def same(one: Hierarchy, other: Hierarchy) -> bool:
    return one.labels == other.labels and np.array_equal(one.ancestors, other.ancestors)


@given(trees())
def test_every_node_is_a_run_of_leaves_and_levels_nest(rows: list[list[str]]) -> None:
    tree = Hierarchy.from_rows("x", rows)
    assert sorted(tree.labels[0]) == sorted(row[0] for row in rows)
    assert len(tree.labels[-1]) == 1
    for nodes, names in zip(tree.ancestors, tree.labels, strict=True):
        assert set(np.diff(nodes).tolist()) <= {0, 1}
        assert (nodes[0], nodes[-1]) == (0, len(names) - 1)
    for lower, upper in zip(tree.ancestors, tree.ancestors[1:], strict=False):
        assert len(set(zip(lower.tolist(), upper.tolist(), strict=True))) == len(set(lower.tolist()))


@given(trees())
def test_paths_are_those_given(rows: list[list[str]]) -> None:
    tree = Hierarchy.from_rows("x", rows)
    root = [ROOT] if len({row[-1] for row in rows}) > 1 else []
    assert sorted(tree.rows()) == sorted([*row, *root] for row in rows)


@given(trees())
def test_children_come_in_order_of_first_appearance(rows: list[list[str]]) -> None:
    tree = Hierarchy.from_rows("x", rows)
    given_rows = {row[0]: place for place, row in enumerate(rows)}
    for level in range(1, tree.height + 1):
        for node in range(len(tree.labels[level])):
            under = np.flatnonzero(tree.ancestors[level] == node)
            children = tree.ancestors[level - 1, under]
            firsts = [
                min(given_rows[tree.labels[0][leaf]] for leaf in under[children == child])
                for child in dict.fromkeys(children.tolist())
            ]
            assert firsts == sorted(firsts)


@given(trees())
def test_rows_build_the_same_tree(rows: list[list[str]]) -> None:
    tree = Hierarchy.from_rows("x", rows)
    assert same(tree, Hierarchy.from_rows("x", tree.rows()))
    wider = tree.with_missing()
    assert wider.labels[0][-1] == MISSING
    assert same(wider, Hierarchy.from_rows("x", wider.rows()))


@given(trees(), st.data())
def test_ragged_rows_build_the_padded_tree(rows: list[list[str]], data: st.DataObject) -> None:
    tree = Hierarchy.from_rows("x", rows)
    padded, ragged = [], []
    for leaf, row in enumerate(tree.rows()):
        alone = int((tree.leaf_counts[1:-1, leaf] == 1).sum()) if leaf else 0  # one row keeps the full length
        gap = data.draw(st.integers(0, alone))
        padded.append([row[0], *[row[0]] * gap, *row[1 + gap :]])
        ragged.append([row[0], *row[1 + gap :]])
    assert same(Hierarchy.from_rows("x", ragged), Hierarchy.from_rows("x", padded))


@given(trees())
def test_lookups_equal_brute_force(rows: list[list[str]]) -> None:
    tree = Hierarchy.from_rows("x", rows)
    for number, ((level, node), leaves) in enumerate(leaves_of(tree).items()):
        assert tree.offsets[level] + node == number
        assert tree.node_labels[number] == tree.labels[level][node]
        assert (tree.node_level[number], tree.node_leaves[number]) == (level, len(leaves))
        assert leaves == set(range(tree.node_first[number], tree.node_first[number] + len(leaves)))
        for leaf in leaves:
            assert tree.leaf_counts[level, leaf] == len(leaves)
            assert tree.node_id(level, np.array([leaf])).tolist() == [number]


@given(trees())
def test_common_level_equals_brute_force(rows: list[list[str]]) -> None:
    tree = Hierarchy.from_rows("x", rows)
    pairs = list(combinations_with_replacement(range(tree.n_leaves), 2))
    low, high = np.array(pairs).T
    expected = [
        next(
            level for level in range(tree.height + 1) if tree.ancestors[level, a] == tree.ancestors[level, b]
        )
        for a, b in pairs
    ]
    assert tree.common_level(low, high).tolist() == expected
    assert tree.common_level(high, low).tolist() == expected


def test_ten_thousand_leaves_keep_the_order_they_are_listed_in() -> None:
    codes = [f"{number:04d}" for number in range(10_000)]
    rows = [[code, code[:3] + "*", code[:2] + "**", "*"] for code in reversed(codes)]
    tree = Hierarchy.from_rows("zip", rows)
    assert (tree.n_leaves, tree.labels[2][0]) == (10_000, "99**")
