"""The distances behind t-closeness, called directly on counts: what a whole release would drown out."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
import polars as pl
import pytest

from shoal.verify.facts import Attribute, Histogram
from shoal.verify.manifest_column import Column
from shoal.verify.terms.closeness import default_distance, hierarchical, kullback_leibler, nodes, ordered, places
from tests.verify.cases import judged
from tests.verify.test_cells import column as described
from tests.verify.test_closeness import close


def counted(classes: Sequence[Sequence[int]], values: int) -> Histogram:
    """Value codes of the rows of each class as a histogram."""
    entries = [
        (place, value, list(group).count(value)) for place, group in enumerate(classes) for value in sorted(set(group))
    ]
    group, value, count = np.array(entries, dtype=np.int64).reshape(-1, 3).T
    return Histogram(group, value, count, count, np.ones(values, dtype=bool), np.array([len(one) for one in classes]))


def attribute(texts: list[str | None], column: Column, numbers: Sequence[float] | None = None) -> Attribute:
    return Attribute(
        columns=(column,),
        rows=np.ones(len(texts), dtype=np.int64),
        known=np.ones(len(texts), dtype=bool),
        texts=pl.Series(texts, dtype=pl.String),
        numbers=np.full(len(texts), np.nan) if numbers is None else np.array(numbers, dtype=float),
        given=None,
    )


# Which distance


@pytest.mark.parametrize(
    "kinds, distance",
    [
        (["numeric"], "ordered"), (["date"], "ordered"), (["ordinal"], "ordered"), (["categorical"], "equal"),
        (["numeric", "numeric"], "equal"), (["ordinal", "categorical", "date"], "equal"),
    ],
)  # fmt: skip
def test_the_distance_where_a_model_names_none(kinds: list[str], distance: str) -> None:
    """Two numbers together have no order, though each of them has."""
    assert default_distance([described("value", kind) for kind in kinds]) == distance


def test_a_tree_brings_its_own_distance() -> None:
    assert default_distance([described("value", hierarchy=[["a", "*"]])]) == "hierarchical"


# Along an order


def test_places_of_values() -> None:
    """By number, then text, then missing; what occurs neither in the table nor in a class has none."""
    texts = ["7", "refused", "-1", None, "50", "asked"]
    one = attribute(texts, described("value", "numeric"), [7, np.nan, -1, np.nan, 50, np.nan])
    every = places(counted([[0]], 6), np.full(6, 1 / 6), one)
    assert every.tolist() == [1, 4, 0, 5, 2, 3]
    # A value of a class that the table lacks has a place all the same; 50 and "asked" occur nowhere.
    some = places(counted([[0], [2]], 6), np.array([0, 0.5, 0, 0.5, 0, 0]), one)
    assert some.tolist() == [1, 2, 0, 3, -1, -1]


def test_places_by_the_declared_order() -> None:
    one = attribute(["high", "odd", "low", None], described("value", "ordinal", order=["low", "mid", "high"]))
    assert places(counted([[0]], 4), np.full(4, 0.25), one).tolist() == [1, 2, 0, 3]


def test_a_release_without_any_answer_has_no_distance_along_an_order() -> None:
    """The table has two values, the classes have none: nothing is there to be moved."""
    assert ordered(counted([[], []], 2), np.array([0.5, 0.5]), np.array([0, 1])).tolist() == [0, 0]
    nothing = judged([[None, None]], close(0), column={"type": "numeric"}, others=[1, 2])
    assert (nothing.holds, nothing.classes) == (True, 0)


def test_classes_that_share_no_value_with_their_neighbours() -> None:
    """The last value of a class reaches to the end of the order, not to the first of the next class."""
    shares = np.array([0.25, 0.25, 0.25, 0.25])
    found = ordered(counted([[0], [2, 3], [1]], 4), shares, np.arange(4))
    assert found == pytest.approx([0.5, 1 / 3, (0.25 + 0.5 + 0.25) / 3])


# Never below 0, whatever the rounding


def test_a_distance_of_next_to_nothing_is_not_negative() -> None:
    half = 10**9
    nearly = Histogram(
        np.array([0, 0]), np.array([0, 1]), np.array([half + 2, half - 2]), np.array([half + 2, half - 2]),
        np.ones(2, dtype=bool), np.array([2 * half]),
    )  # fmt: skip
    assert kullback_leibler(nearly, np.array([0.5, 0.5]))[0] >= 0
    counts = np.array([16, 25, 20, 17, 16, 26])
    same = counted([np.repeat(np.arange(6), counts).tolist()], 6)
    node = np.array([[0, 1, 2, 3, 4, 5], [0, 0, 1, 1, 2, 2], [0] * 6])
    assert 0 <= hierarchical(same, 3 * counts / (3 * counts).sum(), node)[0] < 1e-15


# In a tree

TREES = [
    [[0, 1, 2, 3, 4], [0, 0, 1, 1, 2], [0, 0, 0, 0, 0]],
    [[0, 1, 2, 3, 4], [0, 0, 0, 0, 0]],
    [[4, 3, 2, 1, 0], [2, 2, 1, 0, 0], [1, 1, 1, 0, 0], [0, 0, 0, 0, 0]],
]
GROUPS = [[0, 0, 0, 1], [2, 3, 3], [4], [0, 2, 4, 4], [1, 1, 2]]


def plain(own: list[int], shares: Sequence[float], node: list[list[int]]) -> float:
    """Over the inner nodes, height times what its children have too much or too little of."""
    height, codes = len(node) - 1, range(len(shares))
    surplus = [own.count(code) / len(own) - shares[code] for code in codes]
    cost = 0.0
    for level in range(1, height + 1):
        for inner in set(node[level]):
            children = {node[level - 1][code] for code in codes if node[level][code] == inner}
            sums = [sum(surplus[code] for code in codes if node[level - 1][code] == child) for child in children]
            cost += level / height * min(sum(max(one, 0) for one in sums), sum(max(-one, 0) for one in sums))
    return cost


@pytest.mark.parametrize("node", TREES)
@pytest.mark.parametrize("shares", [[0.2] * 5, [0.4, 0.1, 0.05, 0.15, 0.3], [0.5, 0.5, 0, 0, 0]])
def test_trees_equal_plain_sums(node: list[list[int]], shares: list[float]) -> None:
    """Class by class, so that none hides behind the worst."""
    found = hierarchical(counted(GROUPS, 5), np.array(shares), np.array(node))
    assert found == pytest.approx([plain(group, shares, node) for group in GROUPS], abs=1e-12)


def test_a_flat_tree_costs_what_equal_values_cost() -> None:
    """What is no leaf hangs directly under the root, in a tree of one level and in one of none."""
    classes: list[list[Any]] = [["a", None, None], ["a", "a", "a"]]
    for rows in ([["a", "*"], ["b", "*"]], [["a", "*"]], [["a"]]):
        assert judged(classes, close(), column={"hierarchy": rows}).value == pytest.approx(1 / 3)
    assert judged([["a", "a"], ["b", "b"]], close(), column={"hierarchy": [["a", "*"], ["b", "*"]]}).value == 0.5


def test_nodes_of_values() -> None:
    """Equal labels of two levels are two nodes, and values outside the tree are nodes of their own."""
    column = described("value", hierarchy=[["a", "ab", "*"], ["b", "ab", "*"], ["c", "c", "*"]])
    found = nodes(attribute(["c", "a", "b", None, "gout"], column))
    assert found.tolist() == [[0, 1, 2, 3, 4], [0, 1, 1, 2, 3], [0] * 5]
