"""Hierarchies edited: by functions and by sentences."""

from __future__ import annotations

import re

import pytest

from shoal.data.hierarchy import MISSING, Hierarchy
from shoal.data.hierarchy_edits import apply_edit
from shoal.errors import HierarchyError

ROWS = [
    ["cat", "mammal", "land", "*"],
    ["dog", "mammal", "land", "*"],
    ["newt", "amphibian", "land", "*"],
    ["carp", "fish", "water", "*"],
    ["koi", "fish", "water", "*"],
]


@pytest.fixture
def tree() -> Hierarchy:
    return Hierarchy.from_rows("pet", ROWS)


def paths(tree: Hierarchy) -> dict[str, list[str]]:
    return {path[0]: path[1:] for path in tree.rows()}


@pytest.mark.parametrize(
    "edit, value, path",
    [
        ("rename mammal to mammals", "dog", ["mammals", "land", "*"]),
        ('rename mammal to "warm, furry: ones"', "cat", ["warm, furry: ones", "land", "*"]),
        ("rename mammal to furry ones", "cat", ["furry ones", "land", "*"]),
        ("move newt under fish", "newt", ["fish", "water", "*"]),
        ("move amphibian under water", "newt", ["amphibian", "water", "*"]),
        ("move newt under water", "newt", ["newt", "water", "*"]),
        ("merge mammal, amphibian as animal", "newt", ["animal", "land", "*"]),
        ("merge fish, amphibian as wet", "newt", ["wet", "water", "*"]),
        ("merge land, water as everywhere", "koi", ["fish", "everywhere", "*"]),
        ("split mammal into feline: cat; canine: dog", "dog", ["canine", "land", "*"]),
        ("split land into furry: mammal; smooth: amphibian", "newt", ["amphibian", "smooth", "*"]),
        ("split mammal into feline: cat", "dog", ["mammal", "land", "*"]),
        ("add level above 0: gold = koi, carp", "koi", ["gold", "fish", "water", "*"]),
        ("add level above 1: warm = mammal", "newt", ["amphibian", "amphibian", "land", "*"]),
        ("drop level 1", "cat", ["land", "*"]),
    ],
)
def test_a_sentence_does_what_it_says(tree: Hierarchy, edit: str, value: str, path: list[str]) -> None:
    found = apply_edit(tree, edit)
    assert paths(found)[value] == path
    assert set(found.labels[0]) == set(tree.labels[0])


def test_the_first_one_is_left_as_it_was(tree: Hierarchy) -> None:
    apply_edit(tree, "drop level 1")
    assert sorted(tree.rows()) == sorted(ROWS)


def test_missing_values_stay_where_they_are(tree: Hierarchy) -> None:
    found = apply_edit(tree.with_missing(), "rename fish to fishes")
    assert found.rows()[-1] == [MISSING, MISSING, MISSING, "*"]


@pytest.mark.parametrize(
    "edit, message",
    [
        ("rename mamal to x", "There is no 'mamal' in the hierarchy of 'pet': did you mean 'mammal'?"),
        ("rename cat to tiger", "'cat' is a value of 'pet', which the data must meet again: rename labels above it"),
        ("rename * to all", "'*' is the root of the hierarchy of 'pet', which keeps its name"),
        ("rename mammal to fish", "names two different sets|has two parents"),
        ("rename mammal", "An edit that begins with 'rename' is written as: rename OLD to NEW."),
        ("move land under mammal", "'mammal' is not above the level of 'land'"),
        ("merge cat, land as x", "stand on no level together"),
        ("merge cat as x", "needs two labels or more"),
        ("merge cat, newt as small", "has two parents"),
        ("split cat into a: b", "'cat' is a value of 'pet', which has nothing below it"),
        ("split mammal into a: carp", "'carp' is not below 'mammal'"),
        ("split mammal into a: cat; b: cat", "'cat' is named twice"),
        ("add level above 3: a = cat", "can be added above 0 to 2: got 3"),
        ("add level above 1: a = cat", "'cat' is not on level 1"),
        ("drop level 0", "Level 0 of the hierarchy of 'pet' cannot be dropped"),
        ("drop level 9", "cannot be dropped"),
        ("drop level two", "is written as: drop level 1."),
        ("renam a to b", "did you mean 'rename OLD to NEW'?"),
        ('rename "mammal to x', "a quotation mark without its other"),
        ("", "an edit begins with rename, move, merge, split, add, drop"),
    ],
)
def test_what_cannot_be_done_is_said(tree: Hierarchy, edit: str, message: str) -> None:
    wanted = message if "|" in message else re.escape(message)
    with pytest.raises(HierarchyError, match=wanted):
        apply_edit(tree, edit)
