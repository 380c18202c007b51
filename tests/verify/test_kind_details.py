"""Words, counts and edges of the checks of every kind that is not generalised."""

from __future__ import annotations

import datetime as dt
from typing import Any

import numpy as np
import polars as pl
import pytest

from shoal.verify.report import Check
from tests.verify.whole import check_bucketised, check_microaggregated, check_pseudonymised, check_randomised


def said(checks: list[Check]) -> dict[str, tuple[bool, str]]:
    return {check.name: (check.passed, check.detail) for check in checks}


# Bucketised

BUCKETS = {
    "group": "group",
    "columns": [
        {"name": "age", "role": "quasi", "type": "numeric"},
        {"name": "ill", "role": "sensitive", "type": "categorical"},
    ],
}


def bucketed(released: Any, ages: list[int], truth: list[str], source: Any = None) -> Any:
    original = pl.DataFrame({"age": ages, "ill": truth})
    rows = np.arange(len(ages)) if source is None else np.array(source)
    return said(check_bucketised(original, released, rows, BUCKETS))


def buckets(ages: list[int], left: list[int], ill: list[str], right: list[int], truth: list[str]) -> Any:
    tables = [pl.DataFrame({"age": ages, "group": left}), pl.DataFrame({"group": right, "ill": ill})]
    return bucketed(dict(zip(("quasi", "sensitive"), tables, strict=True)), ages, truth)


def test_buckets_that_are_right() -> None:
    found = buckets([1, 2, 3, 4], [7, 7, 9, 9], ["b", "a", "c", "a"], [7, 7, 9, 9], ["a", "b", "a", "c"])
    assert found == {
        "tables": (True, "The tables share the column 'group' and nothing else."),
        "exact rows": (True, "Quasi-identifier rows are those of the input."),
        "group sizes": (True, "Groups are equally large in both tables."),
        "group values": (True, "The sensitive values of every group are those of the input rows in it."),
        "apart": (True, "Sensitive values do not stand in the order of their rows."),
    }


def test_buckets_that_are_not() -> None:
    left = pl.DataFrame({"age": [1, 2, 30, 40], "group": [7, 7, 9, 9]})
    right = pl.DataFrame({"group": [7, 7, 9, 9], "ill": ["b", "a", "c", "a"]})
    blurred = bucketed({"quasi": left, "sensitive": right}, [1, 2, 3, 4], list("abac"))
    assert blurred["exact rows"] == (False, "Values differ from their source in 2 rows of 'age'.")
    moved = buckets([1, 2, 3, 4], [7, 7, 9, 9], ["b", "a", "c", "a"], [7, 9, 9, 9], list("abac"))
    assert moved["group sizes"] == (False, "2 groups are not equally large in both tables.")
    assert moved["group values"][0] is False
    swapped = buckets([1, 2, 3, 4], [7, 7, 9, 9], ["b", "c", "a", "a"], [7, 7, 9, 9], list("abac"))
    assert swapped["group values"] == (
        False, "The values of 'ill' in some groups are not those of the input rows in them.",
    )  # fmt: skip
    other = buckets([1, 2], [7, 7], ["b", "z"], [7, 7], ["a", "b"])
    assert other["group values"][0] is False


@pytest.mark.parametrize("rows, passes", [(38, True), (40, False), (42, False)])
def test_pairs_beside_their_own_rows_are_no_chance(rows: int, passes: bool) -> None:
    """Twenty pairs stand in order once in a million releases; five people who share one value show nothing."""
    ages, group = list(range(rows + 5)), [place // 2 for place in range(rows)] + [99] * 5
    ill = ["a", "b"] * (rows // 2) + ["c"] * 5
    found = buckets(ages, group, ill, group, ill)
    assert found["apart"][0] is passes
    turned = ill[1::-1] + ill[2:]
    assert buckets(ages, group, turned, group, ill)["apart"][0] is True
    if not passes:
        assert found["apart"][1] == "The values of 'ill' stand in the order of the rows they belong to."


@pytest.mark.parametrize(
    "sizes, passes",
    [
        ([[19, 1]], True),  # 20 orders
        ([[9, 1]] * 5, True),  # 100,000
        ([[9, 1]] * 7, False),  # 10,000,000
        ([[1] * 9], True),  # 362,880
        ([[1] * 10], False),  # 3,628,800
        ([[10, 2]] * 3, True),  # 287,496
        ([[10, 2]] * 4, False),  # 18,974,736
        ([[500]], True),
    ],
)
def test_how_seldom_an_order_is_counts_and_not_how_many_rows_there_are(sizes: list[list[int]], passes: bool) -> None:
    """A shuffle puts one odd value of a group of twenty beside its own row in one release of twenty."""
    group = [place for place, counts in enumerate(sizes) for _ in range(sum(counts))]
    ill = [f"ill {value}" for counts in sizes for value, many in enumerate(counts) for _ in range(many)]
    assert buckets(list(range(len(group))), group, ill, group, ill)["apart"][0] is passes


def test_values_beside_rows_of_other_groups_show_nothing() -> None:
    """Every value stands where one like it belongs, but in another group, and in its own group out of order."""
    left = [place // 2 for place in range(48)]
    right = [group + 1 if group % 2 == 0 else group - 1 for group in left]
    found = buckets(list(range(48)), left, list("abba" * 12), right, list("abba" * 12))
    assert [name for name, (passed, _) in found.items() if not passed] == []


def test_values_in_the_order_of_their_rows_show_them_however_groups_are_ordered() -> None:
    """One table is sorted by group and the other is not, but the first value of a group is still of its first row."""
    left = [place % 24 for place in range(48)]
    ill = ["a" if place % 5 else "b" for place in range(24)] + ["c"] * 24
    order = sorted(range(48), key=lambda place: -left[place])
    right, shown = [left[place] for place in order], [ill[place] for place in order]
    found = buckets(list(range(48)), left, shown, right, ill)
    assert [name for name, (passed, _) in found.items() if not passed] == ["apart"]
    turned = [shown[1], shown[0], *shown[2:]]
    assert buckets(list(range(48)), left, turned, right, ill)["apart"][0] is True


def test_values_of_one_group_in_another() -> None:
    """Both tables have the same groups, sizes and values, and each group has values of the other."""
    for left, right in ((["a", "b", "c", "d"], ["a", "c", "b", "d"]), (["a", "a", "b", "b"], ["a", "b", "a", "b"])):
        found = buckets([1, 2, 3, 4], [7, 7, 9, 9], left, [7, 7, 9, 9], right)
        assert found["group sizes"][0] is True
        assert found["group values"][0] is False
    apart = buckets([1, 2, 3], [7, 7, 9], ["a", "b", "c"], [9, 7, 7], ["b", "c", "a"])
    assert {name for name, (passed, _) in apart.items() if not passed} == set()


def test_a_group_that_one_table_lacks() -> None:
    """Its number may be the largest or the smallest, and is counted as wrong in the table without it."""
    for left, right in (([7, 7], [7, 9]), ([7, 9], [7, 7]), ([9, 9], [7, 9]), ([7, 8], [9, 9])):
        found = buckets([1, 2], left, ["a", "b"], right, ["a", "b"])["group sizes"]
        assert found == (False, f"{len({*left, *right})} groups are not equally large in both tables.")


def test_no_rows_at_all_are_no_fault() -> None:
    left = pl.DataFrame({"age": [], "group": []}, schema={"age": pl.Int64, "group": pl.Int64})
    right = pl.DataFrame({"ill": [], "group": []}, schema={"ill": pl.String, "group": pl.Int64})
    found = bucketed({"quasi": left, "sensitive": right}, [], [], source=np.empty(0, dtype=np.int64))
    assert all(passed for passed, _ in found.values())


def test_the_group_has_a_name_of_its_own_where_none_is_given() -> None:
    frame = pl.DataFrame({"age": [1], "group": [7], "ill": ["a"]})
    claims = {"columns": BUCKETS["columns"]}
    assert all(check.passed for check in check_bucketised(frame.drop("group"), frame, np.arange(1), claims))


def test_one_table_has_the_manifests_columns() -> None:
    frame = pl.DataFrame({"age": [1, 2], "group": [7, 7], "ill": ["b", "a"]})
    fine = bucketed(frame, [1, 2], ["a", "b"])
    assert all(passed for passed, _ in fine.values())
    for wrong in (frame.with_columns(id=pl.lit(1)), frame.drop("age")):
        found = bucketed(wrong, [1, 2], ["a", "b"])
        assert found == {"tables": (False, "The released columns are not those of the manifest.")}


def test_two_tables_share_the_group_alone() -> None:
    left, right = pl.DataFrame({"age": [1, 2], "group": [7, 7]}), pl.DataFrame({"group": [7, 7], "ill": ["b", "a"]})
    alone = "The two tables do not hold just their own columns and 'group', the only one they may share."
    for tables in (
        {"quasi": left.with_columns(id=pl.lit(1)), "sensitive": right},
        {"quasi": left, "sensitive": right.with_columns(id=pl.lit(1))},
        {"quasi": left, "sensitive": right.with_columns(age=pl.lit(1))},
    ):
        assert bucketed(tables, [1, 2], ["a", "b"]) == {"tables": (False, alone)}
    length = "The tables differ in length."
    for tables in ({"quasi": left[:1], "sensitive": right}, {"quasi": left, "sensitive": right[:1]}):
        source = range(tables["quasi"].height)
        assert bucketed(tables, [1, 2], ["a", "b"], source=source) == {"tables": (False, length)}
    tables = {"quasi": left, "sensitive": right}
    once = "A released row has no source row, or shares it with another."
    for source in ([0, 0], [0, 2], [-1, 0]):
        found = bucketed(tables, [1, 2], ["a", "b"], source=source)
        assert found == {"tables": (False, once)}


# Microaggregated


def means(released: dict[str, Any], truth: dict[str, Any], *columns: dict[str, Any], source: Any = None) -> Any:
    entries = [{"role": "quasi", **column} for column in columns]
    frame = pl.DataFrame(released)
    rows = np.arange(frame.height) if source is None else np.array(source)
    return said(check_microaggregated(pl.DataFrame(truth), frame, rows, {"columns": entries}))


NUMBER = {"name": "x", "type": "numeric"}
SIZES = {"name": "z", "type": "ordinal", "order": ["S", "M", "L"]}
TOWN = {"name": "t", "type": "categorical"}


def test_centroids_in_words() -> None:
    fine = means({"x": [2.0, 2.0]}, {"x": [1, 3]}, NUMBER)
    assert fine == {
        "centroids": (True, "Every quasi-identifier cell is the mean, median or mode of its class."),
        "values": (True, "Sensitive and neutral values are those of their source rows."),
    }
    shown, truth = {"x": [2.5, 2.5], "t": ["a", "b"]}, {"x": [1, 3], "t": ["a", "c"]}
    wrong = means(shown, truth, NUMBER, TOWN | {"role": "neutral"})
    assert wrong == {
        "centroids": (False, "2 cells of 'x' are not the mean, median or mode of their class."),
        "values": (False, "1 cells of 't' differ from their source."),
    }


@pytest.mark.parametrize(
    "shown, truth, wrong",
    [
        ([2.0, 2.0], [1, 3], 0), ([2.0 + 1e-8, 2.0 + 1e-8], [1, 3], 2), ([2.0 + 2e-9] * 2, [1, 3], 0),
        ([2e6 + 1e-3, 2e6 + 1e-3], [1e6, 3e6], 0), ([2e6 + 1e-2, 2e6 + 1e-2], [1e6, 3e6], 2),
        ([0.5, 0.5], [0.25, 0.75], 0), ([0.5 + 2e-9] * 2, [0.25, 0.75], 2), ([0.5 + 9e-10] * 2, [0.25, 0.75], 0),
        ([-2.0, -2.0], [-1, -3], 0), ([None, None], [1, 3], 2), ([1e-9, 1e-9], [0, 0], 0), ([2e-9, 2e-9], [0, 0], 2),
        ([0.5 + 1.5e-9] * 2, [0.25, 0.75], 2), ([2e6 + 1e-3] * 2, [1.0, 4e6 - 1], 0),
    ],
)  # fmt: skip
def test_means_to_rounding(shown: list[Any], truth: list[Any], wrong: int) -> None:
    found = means({"x": pl.Series(shown, dtype=pl.Float64)}, {"x": truth}, NUMBER)["centroids"]
    assert found[0] is not bool(wrong)
    assert not wrong or found[1].startswith(f"{wrong} cells")


def test_means_of_dates_to_the_day() -> None:
    day = {"name": "x", "type": "date"}
    truth = [dt.date(2020, 1, 1), dt.date(2020, 1, 4)]  # the mean is at noon of the 2nd
    for shown, passes in ((2, True), (3, True), (1, False), (4, False)):
        assert means({"x": [dt.date(2020, 1, shown)] * 2}, {"x": truth}, day)["centroids"][0] is passes


def test_lower_medians_by_the_declared_order() -> None:
    for shown, truth, passes in (
        ("M", ["L", "S", "M"], True), ("S", ["L", "S"], True), ("L", ["L", "S"], False),
        ("M", ["M", "L", "M", "L"], True), ("L", ["S", "L", "L"], True),
        ("S", ["S", "L", "L"], False), ("?", ["S", "M", "L"], False), ("?", ["S", "S"], False), ("?", ["M"], False),
        ("?", ["?", "?"], False), (None, [None, None], False), ("?", [None, None], False), ("L", ["L"], True),
    ):  # fmt: skip
        texts = {"z": pl.Series([shown] * len(truth), dtype=pl.String)}, {"z": pl.Series(truth, dtype=pl.String)}
        found = means(*texts, SIZES)["centroids"]
        assert found[0] is passes, (shown, truth)
    two = means({"z": ["S", "S", "L", "L", "L"]}, {"z": ["S", "M", "L", "L", "M"]}, SIZES)
    assert two["centroids"][0]
    tree = SIZES | {"hierarchy": [["S", "*"], ["M", "*"], ["L", "*"]]}
    assert means({"z": ["L"] * 3}, {"z": ["L", "L", "S"]}, tree)["centroids"][0]  # with a hierarchy it is the mode


def test_modes_of_several_classes() -> None:
    shown = {"x": [1.0] * 3 + [5.0] * 4, "t": ["a"] * 3 + ["c"] * 4}
    truth = {"x": [1] * 3 + [5] * 4, "t": ["a", "a", "b", "c", "d", "c", "d"]}
    assert means(shown, truth, NUMBER, TOWN)["centroids"][0]
    for wrong, count in ((["b"] * 3 + ["c"] * 4, 3), (["a"] * 3 + ["b"] * 4, 4), (["z"] * 3 + ["d"] * 4, 3)):
        found = means(shown | {"t": wrong}, truth, NUMBER, TOWN)["centroids"]
        assert found == (False, f"{count} cells of 't' are not the mean, median or mode of their class.")


def test_a_value_of_another_class_is_no_mode() -> None:
    """The commonest value of the neighbour, a value that the class has too seldom, and one that nobody has."""
    truth = {"x": [1] * 4 + [5] * 3, "t": ["a", "a", "b", "c", "d", "d", "b"]}
    shown = {"x": [1.0] * 4 + [5.0] * 3, "t": ["a"] * 4 + ["d"] * 3}
    assert means(shown, truth, NUMBER, TOWN)["centroids"][0]
    for first, second, count in (("d", "d", 4), ("b", "d", 4), ("a", "a", 3), ("a", "b", 3), ("c", "z", 7)):
        found = means(shown | {"t": [first] * 4 + [second] * 3}, truth, NUMBER, TOWN)["centroids"]
        assert found == (False, f"{count} cells of 't' are not the mean, median or mode of their class.")


def test_rows_and_columns_of_means() -> None:
    columns = {"columns": (False, "Released columns are not those of the manifest.")}
    assert means({"x": [1.0], "y": [1]}, {"x": [1], "y": [1]}, NUMBER) == columns
    rows = {"rows": (False, "A released row has no source row, or shares it with another.")}
    for source in ([0, 0], [0, 2], [-1, 0]):
        assert means({"x": [1.0, 1.0]}, {"x": [1, 1]}, NUMBER, source=source) == rows
    assert "centroids" in means({"x": []}, {"x": [1.0]}, NUMBER, source=np.empty(0, dtype=np.int64))


# Randomised

DRAWN = {
    "redraw": 1,
    "columns": [
        {"name": "a", "role": "quasi", "type": "numeric", "p": 0.5},
        {"name": "b", "role": "quasi", "type": "numeric", "p": 0.5},
        {"name": "s", "role": "sensitive", "type": "categorical"},
        {"name": "n", "role": "neutral", "type": "categorical"},
    ],
}  # fmt: skip
TRUE = pl.DataFrame({"a": [1, 2, 3], "b": [4, 5, 6], "s": ["x", "y", "z"], "n": ["u", "v", "w"]})


def noisy(source: Any = (0, 1, 2), redraw: Any = 1, **changes: list[Any]) -> Any:
    frame = TRUE.with_columns(**{name: pl.Series(values) for name, values in changes.items()})
    return said(check_randomised(TRUE, frame, np.array(source), DRAWN | {"redraw": redraw}))


def test_noise_in_words() -> None:
    assert noisy(a=[2, 2, 3]) == {
        "rows once": (True, "Every input row is released exactly once."),
        "values": (True, "Sensitive and neutral values are those of their source rows."),
        "drawn values": (True, "Every quasi-identifier value occurs in its column of the input."),
        "redrawn cells": (True, "No row differs from its source in more than 1 quasi-identifier cell."),
        "chances": (True, "Every quasi-identifier was redrawn about as often as the manifest says."),
    }
    both = noisy(s=["x", "x", "x"], n=["u", "u", "w"])["values"]
    assert both == (False, "Values differ from their source in 2 rows of 's' and 1 rows of 'n'.")
    strange = noisy(a=[9, 2, 3])["drawn values"]
    assert strange == (False, "Values that the input's column does not have stand in 1 rows of 'a'.")
    assert noisy(b=[1, 5, 6])["drawn values"][0] is False  # a value of another column
    twice = noisy(a=[2, 2, 3], b=[5, 5, 6])["redrawn cells"]
    assert twice == (False, "1 rows differ from their source in more than 1 quasi-identifier cell.")
    allowed = noisy(redraw=2, a=[2, 2, 3], b=[5, 5, 6])["redrawn cells"]
    assert allowed == (True, "No row differs from its source in more than 2 quasi-identifier cells.")


@pytest.mark.parametrize("redraw", [0, -1, None, True, 1.5])
def test_noise_of_unknown_extent(redraw: Any) -> None:
    found = noisy(redraw=redraw)["redrawn cells"]
    assert found == (False, "The manifest does not say how many cells of a row are redrawn.")


@pytest.mark.parametrize("source", [[0, 1, 1], [0, 1], [0, 1, 3], [0, 1, 2, 2]])
def test_noise_suppresses_nobody(source: list[int]) -> None:
    assert noisy(source) == {"rows once": (False, "Some input rows are not released exactly once.")}
    short = said(check_randomised(TRUE, TRUE[:2], np.arange(2), DRAWN))
    assert short["rows once"][0] is False


# Pseudonymised

CODED = [
    {"name": "x", "type": "numeric", "coded": "graded"}, {"name": "d", "type": "categorical", "coded": "mapping"},
    {"name": "z", "type": "categorical"},
]  # fmt: skip
PLAIN = pl.DataFrame({"x": [10, 20, 30, None], "d": ["f", "u", "f", None], "z": ["1", "2", "2", None]})
HIDDEN = PLAIN.with_columns(x=pl.Series([1.0, 1.5, 9.0, None]), d=pl.Series(["k1", "k2", "k1", None]))


def codes(source: Any = (0, 1, 2, 3), columns: Any = CODED, original: pl.DataFrame = PLAIN, **changes: Any) -> Any:
    frame = HIDDEN.with_columns(**{name: pl.Series(values) for name, values in changes.items()})
    return said(check_pseudonymised(original, frame, np.array(source), {"columns": columns}))


def test_codes_in_words() -> None:
    assert codes() == {
        "rows": (True, "Every released row is another input row."),
        "columns": (True, "The release has the manifest's 3 columns."),
        "one to one: x": (True, "4 values of 'x' have 4 codes, in 4 pairs."),
        "increasing: x": (True, "The codes of 'x' rise with its values."),
        "one to one: d": (True, "3 values of 'd' have 3 codes, in 3 pairs."),
        "originals absent: d": (True, "No value of 'd' is left."),
        "unchanged: z": (True, "'z' is as it was."),
    }
    assert codes(x=[1.0, 0.5, 9.0, None])["increasing: x"] == (False, "The codes of 'x' do not rise with its values.")
    bare = codes(x=[10.0, 20.0, 30.0, None])["increasing: x"]
    assert bare == (False, "The codes of 'x' rise with its values, because they are the values themselves.")
    assert codes(x=[1.0, 1.0, 9.0, None])["one to one: x"] == (False, "4 values of 'x' have 3 codes, in 4 pairs.")
    assert codes(x=[1.0, 1.5, float("inf"), None])["increasing: x"][0] is False
    assert codes(d=["f", "k2", "f", None])["originals absent: d"] == (False, "1 codes of 'd' are values of the input.")
    assert codes(d=["k1", "k2", "k1", "k3"])["one to one: d"][0] is False
    assert codes(z=["1", "2", "9", "9"])["unchanged: z"] == (False, "2 cells of 'z' differ from the input.")
    rows = codes(source=[0, 1, 2, 2])
    assert rows["rows"] == (False, "Released rows are not input rows, each once.")
    assert set(rows) == {"rows", "columns"}


def test_columns_of_codes_in_words() -> None:
    found = codes(columns=CODED[::-1])
    assert found["columns"] == (False, "The release does not have the manifest's columns in their order.")
    assert codes(original=PLAIN.drop("z"))["columns"] == (False, "The column 'z' is not in the input.")
    assert codes(original=PLAIN.drop("d", "z"))["columns"] == (False, "The column 'd' is not in the input.")
    riddle = [CODED[0], CODED[1] | {"coded": "riddle"}, CODED[2]]
    assert codes(columns=riddle)["columns"] == (False, "A column is coded in a way that the verifier does not know.")
    none = [{key: entry[key] for key in ("name", "type")} for entry in CODED]
    assert codes(columns=none)["columns"] == (False, "No column is coded, so nothing is pseudonymised.")
    assert set(codes(columns=none)) == {"rows", "columns"}


def test_every_step_up_is_a_step_up_of_the_codes() -> None:
    """Steps below 1 count, values that are no numbers have no step, and equal numbers need none."""
    near = PLAIN.with_columns(x=pl.Series([0.25, 0.5, 0.75, None]))
    assert codes(original=near)["increasing: x"][0] is True
    for shown in ([1.0, 0.9, 9.0, None], [9.0, 1.5, 1.0, None], [1.0, 1.0, 9.0, None]):
        assert codes(original=near, x=shown)["increasing: x"][0] is False
    texts = PLAIN.with_columns(x=pl.Series(["10", "x", "30", None]))
    assert codes(original=texts)["increasing: x"] == (False, "The codes of 'x' do not rise with its values.")
    long = PLAIN.with_columns(x=pl.Series([f"{10**30 + place}" for place in range(3)] + [None]))
    same = codes(original=long, x=[2.0, 2.0, 3.0, None])
    assert [name for name, (passed, _) in same.items() if not passed] == ["one to one: x"]


def test_unknown_values_alone_are_no_codes_that_are_values() -> None:
    nothing = PLAIN.with_columns(x=pl.Series([None] * 4, dtype=pl.Int64))
    found = codes(original=nothing, x=pl.Series([None] * 4, dtype=pl.Float64))
    assert found["increasing: x"] == (True, "The codes of 'x' rise with its values.")
