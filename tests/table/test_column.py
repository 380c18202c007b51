"""A coded column's geometry: positions, span, domain, and tree columns in depth-first order."""

from __future__ import annotations

from typing import Any

import numpy as np
import polars as pl
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from shoal.data.column import Column
from shoal.data.stats import unknown_flags
from shoal.data.table import Table
from shoal.errors import HierarchyError, ParameterError, SchemaError
from shoal.recipe.source import read
from tests.table.random_tables import LEAVES, cases, hierarchy_rows

PETS = [["cat", "mammal", "*"], ["carp", "fish", "*"], ["dog", "mammal", "*"]]
AGES = [["5", "<20", "*"], ["10", "<20", "*"], ["30", ">=20", "*"], ["100", ">=20", "*"]]


def column(values: Any, **settings: Any) -> Column:
    return coded(values, **settings).columns["a"]


def coded(values: Any, *, role: str = "quasi", tree: Any = None, **settings: Any) -> Table:
    frame = pl.DataFrame({"a": values, "b": ["x"] * len(values)})
    roles = {"quasi": ["a", "b"]} if role == "quasi" else {"quasi": ["b"], "sensitive": ["a"]}
    return read(
        frame,
        **roles,
        missing="value",
        settings={"a": settings},
        hierarchies={} if tree is None else {"a": tree},
    )


@settings(max_examples=20)
@given(st.lists(st.integers(-(2**52), 2**52 - 1).map(lambda x: x * 2048), min_size=1, max_size=10))
def test_differences_of_64_bit_numbers_do_not_overflow(values: list[int]) -> None:
    found = column(pl.Series(values, dtype=pl.Int64))
    assert found.positions.tolist() == [float(value - min(values)) for value in sorted(set(values))]
    assert found.span == float(max(values) - min(values))


def test_missing_has_the_last_code_and_lies_at_infinity() -> None:
    table = coded([7, None, 3, None])
    found = table.columns["a"]
    assert (table.codes["a"].tolist(), found.missing, found.card) == ([1, 2, 0, 2], 2, 3)
    assert found.positions.tolist() == [0.0, 4.0, np.inf]
    assert found.span == 4.0
    assert found.texts.to_list() == ["3", "7", "<missing>"]
    assert found.frequencies.tolist() == [1, 1, 2]


def test_the_text_that_stands_for_a_missing_cell_is_one() -> None:
    table = coded(["<missing>", None, "x"])
    found = table.columns["a"]
    assert (found.card, table.codes["a"].tolist(), found.missing) == (2, [1, 1, 0], 1)


def test_a_declared_domain_sets_span_and_size() -> None:
    found = column([20, 30], domain=[0, 99])
    assert (found.declared, found.span, found.domain_size) == ((0, 99), 99.0, 100)
    dates = column(["2020-01-10", "2020-01-20"], domain=["2020-01-01", "2020-01-31"])
    assert (dates.span, dates.domain_size) == (30.0, 31)


def test_the_domain_of_whole_numbers_is_what_lies_between() -> None:
    assert column([17, 90, 30]).domain_size == 74
    assert column([1.0, 4.0]).domain_size == 4
    assert column([1.5, 4.0]).whole is False
    assert column(["x", "y"]).domain_size == 2


@settings(max_examples=20)
@given(st.data(), hierarchy_rows())
def test_tree_columns_are_coded_by_depth_first_order(data: st.DataObject, rows: list[list[str]]) -> None:
    values = data.draw(st.lists(st.sampled_from([*LEAVES, None]), min_size=1, max_size=12))
    table = coded(pl.Series(values, dtype=pl.String), tree=rows, type="categorical")
    found = table.columns["a"]
    tree = found.hierarchy
    assert found.kind == "tree"
    # Every node is a run of codes, and codes lead back to the values, present or not.
    assert all((np.diff(level) >= 0).all() for level in tree.ancestors)
    assert [tree.labels[0][code] for code in table.codes["a"]] == [value or "<missing>" for value in values]
    assert found.card == len(LEAVES) + (None in values)
    assert found.missing == (len(LEAVES) if None in values else -1)


def test_leaves_of_numbers_are_put_in_value_order() -> None:
    shuffled = [AGES[place] for place in (3, 0, 2, 1)]
    table = coded([30, 5, 100], tree=shuffled)
    assert table.columns["a"].texts.to_list() == ["5", "10", "30", "100"]
    assert table.codes["a"].tolist() == [2, 0, 3]


def test_a_number_may_be_priced_by_width_although_it_has_a_hierarchy() -> None:
    found = column([5, 100], tree=AGES, use="interval")
    assert (found.kind, found.span, found.cells) == ("interval", 95.0, "interval")
    with pytest.raises(ParameterError, match='use = "interval" is for numbers and dates'):
        column(["cat"], tree=PETS, use="interval")


def test_sensitive_numbers_in_a_tree_keep_their_numbers() -> None:
    assert column([5, 30], tree=AGES, role="sensitive").numbers.tolist() == [5, 10, 30, 100]


def test_a_hierarchy_must_hold_every_value() -> None:
    for role in ("quasi", "sensitive"):
        with pytest.raises(HierarchyError, match=r"^The hierarchy of 'a' lacks 2 of 3 values: add a line for each.$"):
            column(["cat", "newt", "frog"], tree=PETS, role=role)


@pytest.mark.parametrize(
    "values,settings,expected",
    [
        ([1, 2], {}, "interval"),
        (["2020-01-01", "2020-01-02"], {}, "interval"),
        (["low", "high"], {"order": ["low", "high"]}, "set"),
        (["x", "y"], {}, "set"),
        (["cat", "dog"], {"tree": PETS}, "label"),
        (["x", "y"], {"role": "sensitive"}, "value"),
    ],
)  # fmt: skip
def test_cell_kinds(values: list[Any], settings: dict[str, Any], expected: str) -> None:
    assert column(values, **settings).cells == expected


def test_unknown_values() -> None:
    found = column(
        ["*", "flu", "refused", None, "cold"], role="sensitive", non_answers=["refused", "asked twice"]
    )
    flags = dict(zip(found.texts.to_list(), unknown_flags(found).tolist(), strict=True))
    assert flags == {"*": 1, "cold": 0, "flu": 0, "refused": 1, "<missing>": 1}


def test_tuples_number_the_combinations_that_occur() -> None:
    frame = pl.DataFrame({"q": ["x"] * 4, "s": ["a", "a", None, "a"], "t": ["1x", "2x", "1x", "1x"]})
    table = read(frame, quasi=["q"], sensitive=["s", "t"], missing="value")
    pair = table.attribute(["s", "t"])
    assert (table.values(pair).tolist(), pair.card, pair.unknown.tolist()) == ([0, 1, 2, 0], 3, [0, 0, 1])
    assert (pair.column, pair.key) == (None, (("s", "t"), False))
    with pytest.raises(SchemaError, match="'q', which is not a sensitive attribute"):
        table.attribute(["q"])


@settings(max_examples=25)
@given(cases())
def test_codes_lead_back_to_the_values(case: Any) -> None:
    table = case.table()
    for name, values in case.data.items():
        found = table.columns[name]
        texts = [found.texts[code] for code in table.codes[name].tolist()]
        expected = ["<missing>" if value is None else value for value in values]
        if case.kinds[name] in ("integer", "real"):
            assert [None if text == "<missing>" else float(text) for text in texts] == values
        else:
            assert texts == expected
        assert found.frequencies.sum() == table.n
