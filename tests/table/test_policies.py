"""Policies: which values are in the sensitive range of which, by every form, and bad ones in one sentence."""

from __future__ import annotations

import datetime as dt
from pathlib import Path
from typing import Any

import polars as pl
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from shoal.data.policies import policy_of
from shoal.data.table import Table, take_rows
from shoal.errors import PolicyError
from shoal.recipe.source import read

PETS = [["cat", "mammal", "*"], ["dog", "mammal", "*"], ["carp", "fish", "*"], ["eel", "fish", "*"]]
SECRETS = ("cat", "carp", "4711")


def table(values: list[Any], policy: Any = None, *, hierarchy: Any = None, **settings: Any) -> Table:
    frame = pl.DataFrame({"q": ["x"] * len(values), "s": pl.Series(values, strict=False)})
    return read(
        frame, quasi=["q"], sensitive=["s"], missing="value", settings={"s": settings},
        hierarchies={} if hierarchy is None else {"s": hierarchy}, policies={} if policy is None else {"s": policy},
    )  # fmt: skip


def ranges(made: Table) -> dict[str, set[str]]:
    """Text of every value that occurs to the texts in its range, by the arrays that kernels see."""
    column = made.columns["s"]
    policy = policy_of(column)
    texts = column.texts.to_list()
    return {
        texts[u]: {texts[x] for x in range(column.card) if policy.low[u] <= policy.axis[x] <= policy.high[u]}
        for u in range(column.card)
        if column.frequencies[u]
    }


def test_without_a_policy_every_range_is_its_value() -> None:
    for made in (table([3, 1, 2]), table([3, 1, 2], "value"), table(["b", "a"], {"ranges": "value"})):
        assert all(found == {value} for value, found in ranges(made).items())
        assert policy_of(made.columns["s"]).plain is None
        assert policy_of(made.columns["s"]).partition


def test_the_first_interval_that_contains_a_value_is_its_range() -> None:
    made = table([0, 5, 9, 10, 15], [[0, 9], [5, 15]])
    assert ranges(made) == {
        "0": {"0", "5", "9"}, "5": {"0", "5", "9"}, "9": {"0", "5", "9"},
        "10": {"5", "9", "10", "15"}, "15": {"5", "9", "10", "15"},
    }  # fmt: skip
    assert not made.columns["s"].policy.partition
    assert table([0, 5, 9, 10, 15], [[0, 9], [10, 15]]).columns["s"].policy.partition


@pytest.mark.parametrize("ends", [[0, 9.5], ["0", "9.5"], [0.0, 9.999]])
def test_ends_need_not_occur_and_may_be_written_in_any_way(ends: list[Any]) -> None:
    made = table([1, 9, 10], {"ranges": [ends], "else": "value"})
    assert ranges(made) == {"1": {"1", "9"}, "9": {"1", "9"}, "10": {"10"}}


def test_decimals_meet_their_ends() -> None:
    made = table(["0.1", "0.2", "0.3"], [["0.1", "0.2"], ["0.3", "0.30"]])
    assert ranges(made) == {"0.1": {"0.1", "0.2"}, "0.2": {"0.1", "0.2"}, "0.3": {"0.3"}}


@pytest.mark.parametrize("end", ["1e999999999", "inf", "nan", "x"])
def test_an_end_that_no_column_can_have_is_refused(end: str) -> None:
    with pytest.raises(PolicyError, match="which is no number"):
        table(["1", "2"], [[0, end]])


@pytest.mark.parametrize("first", [dt.date(2020, 1, 1), "2020-01-01"])
def test_dates(first: Any) -> None:
    made = table(["2020-01-05", "2020-02-01", "2021-01-01"], {"ranges": [[first, "2020-12-31"]], "else": "value"})
    assert ranges(made)["2020-02-01"] == {"2020-01-05", "2020-02-01"}
    assert made.columns["s"].policy.plain == {"intervals": [["2020-01-01", "2020-12-31"]], "else": "value"}


def test_ordinal_intervals_follow_the_order() -> None:
    order = ["never", "seldom", "often", "daily"]
    made = table(["daily", "never", "often"], [["never", "seldom"], ["often", "daily"]], type="ordinal", order=order)
    assert ranges(made) == {
        "never": {"never", "seldom"}, "often": {"often", "daily"}, "daily": {"often", "daily"},
    }  # fmt: skip


def test_lists_of_values() -> None:
    made = table(["HIV", "flu", "cancer", "cold"], {"ranges": [["HIV", "cancer", "gout"], ["flu"]], "else": "value"})
    assert ranges(made) == {
        "HIV": {"HIV", "cancer"}, "cancer": {"HIV", "cancer"}, "flu": {"flu"}, "cold": {"cold"},
    }  # fmt: skip
    assert made.columns["s"].policy.plain == {"sets": [["HIV", "cancer", "gout"], ["flu"]], "else": "value"}
    assert made.columns["s"].policy.partition


@pytest.mark.parametrize("level, size", [(0, 1), (1, 2), (2, 4)])
def test_levels(level: int, size: int) -> None:
    made = table(["cat", "dog", "carp", "eel", None], {"level": level}, hierarchy=PETS)
    found = ranges(made)
    assert all(value in found[value] and len(found[value] - {"<missing>"}) == size for value in ("cat", "eel"))
    assert made.columns["s"].policy.plain == {"level": level}
    assert made.columns["s"].policy.partition


def test_files_of_intervals_may_be_asymmetric(tmp_path: Path) -> None:
    (tmp_path / "s.csv").write_text("1;0;4\n\n4; 0 ;9\n 9;9;9\n77;70;80\n", "utf-8")
    frame = pl.DataFrame({"q": ["x"] * 3, "s": [1, 4, 9]})
    made = read(frame, quasi=["q"], sensitive=["s"], policies={"s": "s.csv"}, base=tmp_path)
    assert ranges(made) == {"1": {"1", "4"}, "4": {"1", "4", "9"}, "9": {"9"}}
    policy = made.columns["s"].policy
    assert not policy.partition
    assert policy.plain["each"][0] == ["1", "0", "4"]


def test_files_of_labels(tmp_path: Path) -> None:
    path = tmp_path / "s.csv"
    path.write_text("cat;mammal\ndog;*\ncarp;carp\n", "utf-8")
    made = table(["cat", "dog", "carp"], path, hierarchy=PETS)
    assert ranges(made) == {"cat": {"cat", "dog"}, "dog": {"cat", "dog", "carp", "eel"}, "carp": {"carp"}}
    assert made.columns["s"].policy.plain["nodes"] == [["cat", "mammal"], ["dog", "*"], ["carp", "carp"]]


def test_a_policy_may_bind_what_nobody_owns() -> None:
    """5 belongs to the first range, but the second one holds it too."""
    policy = table([5, 9], [[0, 5], [5, 9]]).columns["s"].policy
    assert policy.reach.tolist() == [1, 1]


def test_unknown_values_need_no_range_and_break_no_partition() -> None:
    made = table([1, 5, 7, 9, None], [[1, 5], [9, 9]], non_answers=["7"])
    assert made.columns["s"].policy.partition


def test_numeric_trees_in_value_order_take_intervals() -> None:
    rows = [[str(x), f"{x // 10}x", "*"] for x in range(5, 25, 5)]
    assert ranges(table([5, 10, 20], [[0, 9], [10, 99]], hierarchy=rows))["10"] == {"10", "15", "20"}


def test_policies_survive_taking_rows() -> None:
    made = table([1, 5, 9], [[1, 5], [9, 9]])
    assert take_rows(made, made.row_keys[:1].astype("int64")).columns["s"].policy is made.columns["s"].policy


NUMBERS = [1, 4, 4711]
BAD: list[tuple[str, list[Any], Any, dict[str, Any], str]] = [
    ("no range", NUMBERS, [[0, 4]], {}, "gives 1 of its values no range"),
    ("no set", ["cat", "carp"], [["cow"]], {}, "gives 2 of its values no range"),
    ("upside down", NUMBERS, [[9, 0]], {}, "upside down, from 9 to 0"),
    ("one end", NUMBERS, [[9]], {}, "its lowest and its highest value"),
    ("three ends", NUMBERS, [[1, 2, 3]], {}, "its lowest and its highest value"),
    ("no number", NUMBERS, [["a", 9]], {}, "the end 'a', which is no number"),
    ("infinity", NUMBERS, [[0, float("inf")]], {}, "inf"),
    ("not a number", NUMBERS, [[0, "nan"]], {}, "no number"),
    ("true", NUMBERS, [[True, 9]], {}, "must be a number, a date or a text"),
    ("no date", ["2020-01-01"], [["2020", "2021"]], {"type": "date"}, "no ISO date"),
    ("outside the order", ["lo"], [["lo", "higher"]], {"type": "ordinal", "order": ["lo"]}, "no value of its order"),
    ("nothing", NUMBERS, [], {}, "must be 'value', a file"),
    ("a number", NUMBERS, 3, {}, "must be 'value', a file"),
    ("not nested", NUMBERS, [0, 9], {}, "must be 'value', a file"),
    ("an empty range", NUMBERS, [[]], {}, "must be 'value', a file"),
    ("level without tree", NUMBERS, {"level": 1}, {}, "has no hierarchy"),
    ("level too high", ["cat"], {"level": 3}, {"hierarchy": PETS}, "from 0 to 2. Got 3."),
    ("level no number", ["cat"], {"level": "1"}, {"hierarchy": PETS}, "from 0 to 2"),
    ("intervals of categories", ["cat"], [["cat", "dog"]], {"hierarchy": PETS}, "has no order"),
    ("value twice", ["cat"], [["cat"], ["cat", "dog"]], {}, "a value in two ranges"),
    ("unknown entry", NUMBERS, {"ranges": "value", "other": 1}, {}, "no entry 'other'"),
    ("unknown else", NUMBERS, {"ranges": "value", "else": "drop"}, {}, "must be 'value' or 'error'"),
    ("no such file", NUMBERS, "nowhere.csv", {}, "cannot be read"),
    ("range without its value", NUMBERS, {"each": [["4", "5", "9"]]}, {}, "policy of 's' does not contain"),
    ("value on two lines", NUMBERS, {"each": [["4", "0", "9"], ["4.0", "4", "4"]]}, {}, "two ranges"),
    ("uneven lines", NUMBERS, {"each": [["4", "0", "9"], ["4", "4"]]}, {}, "Every line"),
    ("lines of one field", NUMBERS, {"each": [["4"]]}, {}, "Every line"),
    ("lines of categories", ["cat"], {"each": [["cat", "cat", "dog"]]}, {}, "lists of its values"),
    ("labels without tree", ["cat"], {"each": [["cat", "mammal"]]}, {}, "has no hierarchy"),
    ("unknown label", ["cat"], {"each": [["cat", "bird"]]}, {"hierarchy": PETS}, "'bird' that its hierarchy lacks"),
    ("unknown value", ["cat"], {"each": [["cow", "mammal"]]}, {"hierarchy": PETS}, "value that its hierarchy lacks"),
    ("label beside the path", ["cat"], {"each": [["cat", "fish"]]}, {"hierarchy": PETS}, "does not contain its value"),
    (
        "tree out of order", [1, 2, 3], [[0, 9]], {"hierarchy": [["1", "odd", "*"], ["3", "odd", "*"], ["2", "*"]]},
        "no neighbours",
    ),
]  # fmt: skip


@pytest.mark.parametrize("values, policy, options, message", [case[1:] for case in BAD], ids=[case[0] for case in BAD])
def test_bad_policies(values: list[Any], policy: Any, options: dict[str, Any], message: str) -> None:
    with pytest.raises(PolicyError) as caught:
        table(values, policy, **options)
    text = str(caught.value)
    assert message in text
    assert "'s'" in text or "A range has the entry" in text
    assert "\n" not in text
    assert caught.value.exit_code == 2
    assert not [secret for secret in SECRETS if secret in text]


@pytest.mark.parametrize("name, hint", [("q", "give the column that role"), ("ss", "did you mean 's'?")])
def test_only_sensitive_columns_have_policies(name: str, hint: str) -> None:
    frame = pl.DataFrame({"q": ["x"], "s": [1]})
    with pytest.raises(PolicyError, match=f"'{name}', which is not a sensitive column") as caught:
        read(frame, quasi=["q"], sensitive=["s"], policies={name: "value"})
    assert hint in str(caught.value)


@pytest.mark.parametrize(
    "content, message", [(b"", "is empty"), (b"\n\n", "is empty"), (b"\xff\xfe", "not UTF-8"), (b'"4;0;9\n', "quote")]
)
def test_bad_files(tmp_path: Path, content: bytes, message: str) -> None:
    (tmp_path / "s.csv").write_bytes(content)
    with pytest.raises(PolicyError, match=message):
        table(NUMBERS, str(tmp_path / "s.csv"))


@settings(max_examples=50)
@given(
    st.lists(st.integers(0, 12), min_size=1, max_size=8),
    st.lists(st.tuples(st.integers(-1, 12), st.integers(0, 6)), min_size=1, max_size=4),
)
def test_intervals_equal_their_definition(values: list[int], drawn: list[tuple[int, int]]) -> None:
    given_ranges = [(low, low + width) for low, width in drawn]
    made = table(values, {"ranges": [list(one) for one in given_ranges], "else": "value"})
    own = {u: next(((a, b) for a, b in given_ranges if a <= u <= b), (u, u)) for u in values}
    expected = {u: {x for x in values if own[u][0] <= x <= own[u][1]} for u in values}
    assert ranges(made) == {str(u): {str(x) for x in found} for u, found in expected.items()}
    is_partition = all(expected[x] == expected[u] for u in values for x in expected[u])
    assert policy_of(made.columns["s"]).partition == is_partition
