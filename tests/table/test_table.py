"""Roles, missing cells and subjects: what a table takes, and the sentences it refuses the rest with."""

from __future__ import annotations

from typing import Any

import numpy as np
import polars as pl
import pytest

from shoal.data.build import build_table
from shoal.data.hierarchy import Hierarchy
from shoal.data.schema import ColumnSpec, Schema
from shoal.data.table import part_of
from shoal.errors import EmptyTableError, HierarchyError, InputError, ParameterError, SchemaError, UserError
from shoal.recipe.source import read

FRAME = pl.DataFrame(
    {
        "name": ["Ann", "Bob", "Cid", "Dee"],
        "age": [30, None, 50, 60],
        "zip": ["01", "02", None, None],
        "disease": ["flu", "cold", "flu", "gout"],
        "ward": ["n", "s", "n", "s"],
        "w": [1.0, 2.0, 1.5, 1.0],
    }
)
ROLES: dict[str, Any] = {
    "identifiers": ["name"], "quasi": ["age", "zip"], "sensitive": ["disease"], "neutral": ["ward"],
    "drop": ["w"],
}  # fmt: skip
WHOLE = FRAME.with_columns(age=pl.Series([30, 40, 50, 60]), zip=pl.Series(["01", "02", "03", "04"]))


def test_a_table() -> None:
    table = read(WHOLE, **ROLES)
    assert (table.n, table.n_read, table.n_dropped) == (4, 4, 0)
    assert [column.name for column in table.quasi] == ["age", "zip"]
    assert [column.name for column in table.sensitive] == ["disease"]
    assert table.quasi_codes.shape == (2, 4)
    assert table.schema.released == ["age", "zip", "disease", "ward"]
    assert set(table.columns) == {"age", "zip", "disease"}
    assert table.domain.quasi_weights.tolist() == [1.0, 1.0]


def test_a_repr_shows_no_value() -> None:
    table = read(WHOLE, **ROLES)
    assert repr(table) == "Table(4 rows, quasi=['age', 'zip'], sensitive=['disease'])"


BAD_ROLES: list[tuple[dict[str, Any], str]] = [
    ({"drop": ["w", "age"]}, "Column 'age' has two roles, quasi and drop: keep one."),
    ({"subject": "name"}, "Column 'name' has two roles, identifier and subject"),
    ({"quasi": ["age", "age", "zip"]}, "Column 'age' has two roles, quasi and quasi"),
    ({"drop": []}, "Column 'w' has no role: add it to identifiers, quasi, sensitive, neutral or drop."),
    ({"drop": [], "neutral": []}, "Columns 'ward', 'w' have no role: add each"),
    ({"sensitive": ["desease"]}, "There is no column 'desease' in the table. Did you mean 'disease'?"),
    (
        {"quasi": ["birthplace", "age", "zip"]},
        "no column 'birthplace' in the table. The columns are: name, age",
    ),
    ({"settings": {"agee": {}}}, "There is no column 'agee' in the table. Did you mean 'age'?"),
    ({"quasi": [], "drop": ["age", "zip", "w"]}, "The table has no quasi-identifier"),
    ({"hierarchies": {"ward": [["n", "*"], ["s", "*"]]}}, "a hierarchy for 'ward', which is neither"),
    ({"weights": {"disease": 2.0}}, "a weight for 'disease', which is not a quasi-identifier"),
]


@pytest.mark.parametrize("changes,message", BAD_ROLES)
def test_bad_roles(changes: dict[str, Any], message: str) -> None:
    with pytest.raises(SchemaError) as caught:
        read(WHOLE, **(ROLES | changes))
    assert message in str(caught.value)
    assert caught.value.exit_code == 2


@pytest.mark.parametrize("weight", [0, -1.0, float("nan"), float("inf"), "2"])
def test_bad_weights(weight: Any) -> None:
    with pytest.raises(ParameterError, match="The weight of 'age' must be a number above 0"):
        read(WHOLE, **ROLES, weights={"age": weight})


BAD_SETTINGS: list[tuple[dict[str, Any], str]] = [
    ({"type": "number"}, "Did you mean 'numeric'?"),
    ({"type": "ordinal"}, "needs its 'order'"),
    ({"snap": "on"}, "'snap'"),
    ({"snap": -1}, "a number from 1e-100 to 1e+100"),
    ({"use": "width"}, "'use'"),
    ({"domain": [1]}, "its lowest and its highest value"),
]


@pytest.mark.parametrize("settings,message", BAD_SETTINGS)
def test_bad_settings(settings: dict[str, Any], message: str) -> None:
    with pytest.raises(ParameterError) as caught:
        ColumnSpec(**settings)
    assert message in str(caught.value)


def test_a_domain_upside_down_is_refused() -> None:
    with pytest.raises(UserError, match="domain"):
        read(WHOLE, **ROLES, settings={"age": {"domain": [100, 0]}})


def test_a_domain_of_text_is_refused() -> None:
    with pytest.raises(UserError, match="domain"):
        read(WHOLE, **ROLES, settings={"zip": {"domain": [0, 10]}})


def test_missing_cells_are_an_error_that_lists_columns_counts_and_choices() -> None:
    with pytest.raises(InputError) as caught:
        read(FRAME, **ROLES)
    assert str(caught.value) == (
        "There are missing cells in age (1), zip (2): set missing to 'drop' (leave those rows out) or "
        "'value' (keep missing as a value of its own)."
    )


def test_missing_rows_can_be_dropped() -> None:
    table = read(FRAME, **ROLES, missing="drop")
    assert (table.n, table.n_read, table.n_dropped) == (1, 4, 3)
    assert table.frame["name"].to_list() == ["Ann"]
    # What remains keeps the keys of its places in the source.
    late = read(FRAME[::-1], **ROLES, missing="drop")
    assert (table.row_keys.tolist(), late.row_keys.tolist()) == ([0], [3])


def test_missing_can_be_a_value() -> None:
    table = read(FRAME, **ROLES, missing="value")
    assert (table.n, table.n_dropped) == (4, 0)
    assert [table.columns[name].missing for name in ("age", "zip", "disease")] == [3, 2, -1]


@pytest.mark.parametrize("missing", ["error", "drop"])
def test_missing_cells_of_identifiers_and_dropped_columns_do_not_matter(missing: str) -> None:
    frame = WHOLE.with_columns(name=pl.lit(None, dtype=pl.String), w=pl.lit(None, dtype=pl.Float64))
    assert read(frame, **ROLES, missing=missing).n == 4


def test_missing_cells_of_neutral_columns_do() -> None:
    with pytest.raises(InputError, match=r"missing cells in ward \(4\)"):
        read(WHOLE.with_columns(ward=pl.lit(None, dtype=pl.String)), **ROLES)


def test_dropping_everything() -> None:
    with pytest.raises(EmptyTableError, match="set missing to 'value'"):
        read(WHOLE.with_columns(age=pl.lit(None, dtype=pl.Int64)), **ROLES, missing="drop")


def test_an_unknown_missing_policy() -> None:
    with pytest.raises(ParameterError, match="Did you mean 'value'"):
        read(FRAME, **ROLES, missing="values")


def test_no_rows() -> None:
    with pytest.raises(EmptyTableError, match="The table has no rows"):
        read(WHOLE.clear(), **ROLES)


def test_missing_markers_of_frames() -> None:
    table = read(
        WHOLE.with_columns(zip=pl.Series(["01", "?", "?", "04"])),
        **ROLES,
        missing_markers=["?"],
        missing="drop",
    )
    assert table.n_dropped == 2


def test_subjects_are_coded() -> None:
    frame = pl.DataFrame({"a": [1, 2, 3, 4], "who": ["x", "y", "x", "z"]})
    table = read(frame, quasi=["a"], subject="who")
    assert (table.n_subjects, table.subjects.tolist()) == (3, [0, 1, 0, 2])
    assert read(frame.drop("who"), quasi=["a"]).subjects is None


@pytest.mark.parametrize("role", ["subject", "key", "weight"])
def test_single_roles_may_not_be_missing(role: str) -> None:
    frame = pl.DataFrame({"a": [1, 2], "x": ["1", None]})
    with pytest.raises(InputError, match=f"The {role} column 'x' has 1 missing cells: fill them."):
        read(frame, quasi=["a"], **{role: "x"}, missing="drop")


def test_keys_must_name_one_row() -> None:
    frame = pl.DataFrame({"a": [1, 2, 3], "id": ["k1", "k2", "k1"]})
    with pytest.raises(InputError, match="The key column 'id' repeats values"):
        read(frame, quasi=["a"], key="id")


def test_a_key_column_moves_with_its_rows() -> None:
    frame = pl.DataFrame({"a": [1, 2, 3], "id": ["k1", "k2", "k3"]})
    one, other = (read(rows, quasi=["a"], key="id").row_keys for rows in (frame, frame[::-1]))
    assert one.dtype == np.uint64
    assert one.tolist() == other[::-1].tolist()


def test_the_input_is_left_alone() -> None:
    before = FRAME.clone()
    read(FRAME, **ROLES, missing="drop")
    assert FRAME.equals(before)


def test_a_hierarchy_can_be_built_from_the_values() -> None:
    schema = Schema(quasi=["zip"], drop=[name for name in WHOLE.columns if name != "zip"])

    def flat(values: list[str]) -> Hierarchy:
        assert values == ["01", "02", "03", "04"]
        return Hierarchy.from_rows("zip", [[value, "*"] for value in values])

    assert build_table(WHOLE, schema, hierarchies={"zip": flat}).columns["zip"].kind == "tree"


def test_a_hierarchy_lacking_values_says_how_many_and_names_none() -> None:
    frame = pl.DataFrame({"a": [f"v{number}" for number in range(9)]})
    with pytest.raises(HierarchyError) as caught:
        read(frame, quasi=["a"], hierarchies={"a": [["x", "*"], ["y", "*"]]})
    assert "lacks 9 of 9 values" in str(caught.value)
    assert not any(value in str(caught.value) for value in frame["a"])


@pytest.mark.parametrize("word", ["unknown", "NaN", "Infinity"])
def test_a_word_among_the_leaves_of_numbers_leaves_them_numbers(word: str) -> None:
    """The values are known by their canonical text, whatever else the hierarchy holds."""
    frame = pl.DataFrame({"q": ["1.0", "2", "2.50"], "s": ["a", "b", "a"]})
    tree = [["1.0", "A", "*"], ["2", "B", "*"], ["2.50", "B", "*"], [word, "B", "*"]]
    table = read(frame, quasi=["q"], sensitive=["s"], hierarchies={"q": tree})
    assert table.columns["q"].texts.gather(table.codes["q"]).to_list() == ["1", "2", "2.5"]


PAIRS = pl.DataFrame({"q": [1, 2, 3, 4], "s": ["y", "x", "y", "x"], "t": ["a", "b", "a", "a"]})


def test_a_tuple_has_the_same_dictionary_in_whatever_order_rows_are_read() -> None:
    for frame in (PAIRS, PAIRS.reverse(), PAIRS.sort("s", "t")):
        table = read(frame, quasi=["q"], sensitive=["s", "t"])
        joint = table.joined(("s", "t"))
        assert (joint.codes.T.tolist(), joint.counts.tolist()) == ([[0, 0], [0, 1], [1, 0]], [1, 1, 2])
        values = table.values(table.attribute(["s", "t"]))
        assert joint.codes[:, values].tolist() == [table.codes["s"].tolist(), table.codes["t"].tolist()]


def test_a_part_counts_its_own_rows_in_the_codes_of_the_whole() -> None:
    table = read(PAIRS, quasi=["q"], sensitive=["s", "t"])
    part = part_of(table, np.array([0, 3]), [table.attribute(["s", "t"])])
    joint, whole = part.joined(("s", "t")), table.joined(("s", "t"))
    assert (joint.codes.tolist(), joint.counts.tolist()) == (whole.codes.tolist(), [1, 0, 1])
    assert part.values(part.attribute(["s", "t"])).tolist() == [2, 0]
    assert part_of(part, np.array([1]), [part.attribute(["s", "t"])]).joined(("s", "t")).counts.tolist() == [1, 0, 0]
