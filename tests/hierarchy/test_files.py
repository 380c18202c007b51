"""Hierarchy files and recipe entries."""

from __future__ import annotations

import csv
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import tomlkit
from hypothesis import given
from hypothesis import strategies as st

from shoal.data.hierarchy import MISSING, Hierarchy
from shoal.data.hierarchy_files import build, read_csv, write_csv
from shoal.data.values import normal_text
from shoal.errors import HierarchyError

ADULT = {
    "age": (100, 4),
    "education": (16, 3),
    "marital-status": (7, 2),
    "native-country": (41, 2),
    "occupation": (14, 2),
    "race": (5, 1),
    "salary-class": (2, 1),
    "sex": (2, 1),
    "workclass": (8, 2),
}


def written(folder: Path, data: str | bytes) -> Path:
    path = folder / "tree.csv"
    path.write_bytes(data.encode() if isinstance(data, str) else data)
    return path


def refused(call: Any, *parts: str) -> None:
    with pytest.raises(HierarchyError) as caught:
        call()
    for part in parts:
        assert part in str(caught.value)


@pytest.mark.parametrize("name, shape", ADULT.items())
def test_the_adult_hierarchies_load(shared: Path, name: str, shape: tuple[int, int]) -> None:
    path = shared / "data" / "adult" / f"adult_hierarchy_{name}.csv"
    tree = read_csv(path, name)
    assert (tree.n_leaves, tree.height) == shape
    assert tree.labels[-1] == ("*",)
    with open(path, encoding="utf-8") as file:
        assert sorted(csv.reader(file, delimiter=";")) == sorted(tree.rows())


def test_reading_tolerates_mark_blank_lines_ragged_lines_and_quotes(tmp_path: Path) -> None:
    text = '\ufeffcat;"warm; furry";*\r\n\r\n   \r\neel;*\r\n"the ""owl""";"warm; furry";*\r\n'
    tree = read_csv(written(tmp_path, text), "pet")
    assert tree.rows() == [
        ["cat", "warm; furry", "*"],
        ['the "owl"', "warm; furry", "*"],
        ["eel", "eel", "*"],
    ]


def test_another_separator(tmp_path: Path) -> None:
    path = written(tmp_path, "cat,warm,*\neel,cold,*\n")
    assert read_csv(path, "pet", separator=",").labels[1] == ("warm", "cold")
    refused(lambda: read_csv(path, "pet"), "'pet'", "','", "separator")


@pytest.mark.parametrize("separator", ["", ";;", None])
def test_the_separator_is_one_character(tmp_path: Path, separator: Any) -> None:
    refused(lambda: read_csv(written(tmp_path, "a;*"), "pet", separator), "'pet'", "one character")


@pytest.mark.parametrize("text", ["", "\n\n", "\ufeff"])
def test_an_empty_file(tmp_path: Path, text: str) -> None:
    refused(lambda: read_csv(written(tmp_path, text), "pet"), "'pet'", "empty")


def test_no_file(tmp_path: Path) -> None:
    refused(lambda: read_csv(tmp_path / "no.csv", "pet"), "'pet'", "no.csv", "No such file")
    refused(lambda: read_csv(tmp_path, "pet"), "'pet'", "cannot be read")


def test_not_utf8(tmp_path: Path) -> None:
    refused(lambda: read_csv(written(tmp_path, b"caf\xe9;*\n"), "pet"), "'pet'", "UTF-8")


def test_an_open_quote(tmp_path: Path) -> None:
    refused(
        lambda: read_csv(written(tmp_path, 'cat;*\n"eel;*\nowl;*\n'), "pet"), "'pet'", "malformed", "quotes"
    )


@pytest.mark.parametrize("line", ["eel;;*", "eel;*;", ";*", '""'])
def test_an_empty_label_gives_its_line(tmp_path: Path, line: str) -> None:
    refused(
        lambda: read_csv(written(tmp_path, f"cat;*\n\n{line}\n"), "pet"), "Line 3", "'pet'", "empty label"
    )


def test_a_malformed_tree(tmp_path: Path) -> None:
    refused(lambda: read_csv(written(tmp_path, "cat;warm;*\ncat;cold;*\n"), "pet"), "'pet'", "'cat'")


def test_writing(tmp_path: Path) -> None:
    path = tmp_path / "out.csv"
    write_csv(Hierarchy.from_rows("pet", [["cat", "warm", "*"], ["eel", "*"]]), path)
    assert path.read_bytes() == b"cat;warm;*\neel;eel;*\n"
    assert [found.name for found in tmp_path.iterdir()] == ["out.csv"]


def test_writing_where_there_is_no_folder(tmp_path: Path) -> None:
    tree = Hierarchy.from_rows("pet", [["cat", "*"]])
    refused(lambda: write_csv(tree, tmp_path / "no" / "out.csv"), "'pet'", "cannot be written")


labels = st.text(min_size=1).map(normal_text).filter(lambda text: text not in ("", "*", MISSING))


@given(st.lists(labels, min_size=2, max_size=6, unique=True), st.data())
def test_what_is_written_reads_back(tmp_path_factory: Any, texts: list[str], data: st.DataObject) -> None:
    group = data.draw(labels.filter(lambda text: text not in texts))
    rows = [[text, group, "*"] if place < 2 else [text, "*"] for place, text in enumerate(texts)]
    tree = Hierarchy.from_rows("x", rows)
    path = tmp_path_factory.mktemp("tree") / "tree.csv"
    write_csv(tree, path)
    back = read_csv(path, "x")
    assert back.labels == tree.labels
    assert np.array_equal(back.ancestors, tree.ancestors)


RECIPE = """
zip = { prefix = [2, 1], mask = "?" }
age = { intervals = { edges = [[0, 20, 40], [0, 40]] } }
income = { widths = [5, 10], origin = 1 }
weight = { quantiles = [2] }
born = { dates = ["month", "year"] }
pain = { groups = [{ low = ["none", "mild"], high = ["bad"] }] }
country = { nested = { "*" = { Europe = ["Spain"], Asia = ["Japan"] } } }
"""


@pytest.mark.parametrize(
    "name, values, level_one",
    [
        ("zip", ["123", "124"], ("12?",)),
        ("age", ["5", "25"], ("[0,19]", "[20,39]")),
        ("income", ["1", "7"], ("[1,5]", "[6,10]")),
        ("weight", ["1", "2", "3", "4"], ("<3", ">=3")),
        ("born", ["1975-03-31"], ("1975-03",)),
        ("pain", ["none", "mild", "bad"], ("low", "high")),
        ("country", ["Japan"], ("Europe", "Asia")),
    ],
)
def test_recipe_entries(name: str, values: list[str], level_one: tuple[str, ...]) -> None:
    tree = build(name, tomlkit.parse(RECIPE)[name], values)
    assert (tree.name, tree.labels[1], tree.labels[-1]) == (name, level_one, ("*",))
    assert {type(label) for label in tree.node_labels} == {str}


def test_paths(tmp_path: Path) -> None:
    path = written(tmp_path, "cat;warm;*\n")
    for spec in (str(path), path, {"path": str(path)}):
        assert build("pet", spec, ["cat"]).labels[1] == ("warm",)
    path = written(tmp_path, "cat,warm,*\n")
    assert build("pet", {"path": str(path), "separator": ","}, ["cat"]).labels[1] == ("warm",)


def test_a_hierarchy_is_taken_as_it_is() -> None:
    tree = Hierarchy.from_rows("pet", [["cat", "*"]])
    assert build("pet", tree, ["cat"]) is tree


def test_counts_weigh_quantiles() -> None:
    assert build("x", {"quantiles": [2]}, ["1", "2", "3"], counts=[1, 1, 98]).labels[1] == ("<3", ">=3")


@pytest.mark.parametrize(
    "spec, parts",
    [
        ({"prefx": [2]}, ["'prefx'", "did you mean 'prefix'?"]),
        ({"prefix": [2], "maks": "?"}, ["'maks'", "did you mean 'mask'?"]),
        ({"zzz": 1}, ["'zzz'", "use one of path, prefix"]),
        ({"intervals": {"egdes": [[0, 1]]}}, ["need edges"]),
        ({"intervals": [[0, 1]]}, ["need edges"]),
        ({"intervals": {"edges": [[0, 9]], "edge": 1}}, ["'edge'", "did you mean 'edges'?"]),
        ({"prefix": [2], "widths": [5]}, ["exactly one of", "prefix, widths"]),
        ({"mask": "?"}, ["exactly one of", "none"]),
        ({}, ["exactly one of"]),
        ({"prefix": [2], "origin": 0}, ["'origin' beside 'prefix'"]),
        (5, ["must be a path or a table", "5"]),
        (None, ["must be a path or a table"]),
    ],
)
def test_entries_that_make_no_sense(spec: Any, parts: list[str]) -> None:
    refused(lambda: build("zip", spec, ["123"]), "'zip'", *parts)
