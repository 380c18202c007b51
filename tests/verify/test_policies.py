"""Sensitive ranges as a manifest gives them: how each form is read, and where its ranges lie."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any

import polars as pl
import pytest

import shoal
from shoal.errors import VerificationError
from shoal.release.entry import verify_release
from shoal.verify.manifest_column import Column
from shoal.verify.policies import Layout, Policy, exact, lay_out, read_policy
from shoal.verify.values import canonical

TREE = [["a", "x", "*"], ["b", "y", "*"], ["c", "x", "*"], ["d", "y", "*"]]
EACH = [["5", "3", "7"]]


def read(given: Any, kind: str = "numeric", hierarchy: Any = None) -> Policy | None:
    return read_policy(given, kind, hierarchy, "The column")


def refused(message: str, given: Any, kind: str = "numeric", hierarchy: Any = None) -> None:
    with pytest.raises(VerificationError, match=f"^{re.escape(f'The column has a {message}')}$"):
        read(given, kind, hierarchy)


@pytest.mark.parametrize("given, kind, hierarchy, policy", [
    ({"intervals": [["1", "3"]], "else": "value"}, "numeric", None, ("intervals", [["1", "3"]], "value", False)),
    ({"intervals": [("1", "3")], "else": "error"}, "date", None, ("intervals", [("1", "3")], "error", False)),
    ({"intervals": [["1", "3"]], "else": "error"}, "ordinal", None, ("intervals", [["1", "3"]], "error", False)),
    ({"each": EACH, "else": "value", "part": True}, "numeric", None, ("each", EACH, "value", True)),
    ({"each": [], "else": "value", "part": True}, "numeric", None, ("each", [], "value", True)),
    ({"sets": [["a"], ["b", "c"]], "else": "value"}, "categorical", None,
     ("sets", [["a"], ["b", "c"]], "value", False)),
    ({"nodes": [["a", "x"]], "else": "error"}, "categorical", TREE, ("nodes", [["a", "x"]], "error", False)),
    ({"level": 0}, "categorical", TREE, ("level", 0, "error", False)),
    ({"level": 2}, "categorical", TREE, ("level", 2, "error", False)),
    ({"level": 1}, "categorical", [["a", "*"]], ("level", 1, "error", False)),
    ({"level": 1}, "categorical", [[None, None, "*"], *TREE], ("level", 1, "error", False)),
    ({"level": 1}, "categorical", [*TREE, ["e", None, "*"]], ("level", 1, "error", True)),
    ({"level": 0}, "categorical", [*TREE, ["e", None, "*"]], ("level", 0, "error", False)),
])  # fmt: skip
def test_forms_that_are_read(given: Any, kind: str, hierarchy: Any, policy: tuple[Any, ...]) -> None:
    found = read(given, kind, hierarchy)
    assert found is not None
    assert (found.kind, found.entries, found.other, found.part) == policy


def test_no_policy() -> None:
    assert read(None) is None


UNKNOWN, INCOMPLETE, LEVEL = (
    "'policy' of no known form.", "policy that is incomplete.", "policy whose level its hierarchy lacks.",
)  # fmt: skip
REFUSED: list[tuple[str, Any, str, Any]] = [
    *((UNKNOWN, given, "numeric", None) for given in (
        3, [], {}, {"else": "value"}, {"part": True}, {"near": [["1", "3"]], "else": "value"},
        {"intervals": [["1", "3"]], "each": EACH, "else": "value"}, {"intervals": [["1", "3"]], "note": 1})),
    *((INCOMPLETE, given, "numeric", None) for given in (
        {"intervals": [["1", "3"]]}, {"intervals": [["1", "3"]], "else": "none"}, {"intervals": [], "else": "value"},
        {"intervals": [["1"]], "else": "value"}, {"intervals": [["1", "2", "3"]], "else": "value"},
        {"intervals": [["1", 3]], "else": "value"}, {"intervals": ["13"], "else": "value"},
        {"intervals": "13", "else": "value"}, {"intervals": [["1", "3"], []], "else": "value"},
        {"each": [["1", "3"]], "else": "value"}, {"each": [*EACH, ["5"]], "else": "value"})),
    (INCOMPLETE, {"sets": [["a"], []], "else": "value"}, "categorical", None),
    (INCOMPLETE, {"sets": [["a", 1]], "else": "value"}, "categorical", None),
    (INCOMPLETE, {"nodes": [["a"]], "else": "value"}, "categorical", TREE),
    *((LEVEL, given, "categorical", TREE) for given in (
        {"level": -1}, {"level": 3}, {"level": True}, {"level": "1"}, {"level": 1, "else": "value"})),
    (LEVEL, {"level": 0}, "categorical", None),
    ("policy of intervals, but no order.", {"intervals": [["1", "3"]], "else": "value"}, "categorical", None),
    ("policy of intervals, but no order.", {"each": EACH, "else": "value"}, "categorical", TREE),
    ("policy of sets, but an order or a hierarchy.", {"sets": [["1"]], "else": "value"}, "numeric", None),
    ("policy of sets, but an order or a hierarchy.", {"sets": [["a"]], "else": "value"}, "categorical", TREE),
    ("policy of labels, but no hierarchy.", {"nodes": [["a", "x"]], "else": "value"}, "categorical", None),
]  # fmt: skip


@pytest.mark.parametrize("message, given, kind, hierarchy", REFUSED)
def test_forms_that_are_refused(message: str, given: Any, kind: str, hierarchy: Any) -> None:
    refused(message, given, kind, hierarchy)


# Where ranges lie


def laid_out(values: list[str | None], given: Any, kind: str = "numeric", **column: Any) -> Layout:
    fields: dict[str, Any] = {"hierarchy": None, "order": None, "domain": None, "non_answers": ()} | column
    entry = Column.model_construct(name="s", role="sensitive", type=kind, cells="value", **fields)
    texts, numbers = canonical(pl.Series(values, dtype=pl.String), kind)
    return lay_out(read(given, kind, entry.hierarchy), entry, texts, numbers)


def ranges(values: list[str | None], given: Any, kind: str = "numeric", **column: Any) -> list[set[str | None]]:
    """The values in the range of each value, empty where it has none and needs one."""
    found = laid_out(values, given, kind, **column)
    assert sorted(found.place) == list(range(len(values)))
    at = {int(place): value for place, value in zip(found.place, values, strict=True)}
    ends = list(zip(found.low.tolist(), found.high.tolist(), strict=True))
    assert all(low <= high for low, high in ends)
    return [set() if low < 0 else {at[place] for place in range(low, high + 1)} for low, high in ends]


def test_without_a_policy_every_value_is_its_own_range() -> None:
    found = laid_out(["b", "a", None], None, "categorical")
    assert [part.tolist() for part in (found.place, found.low, found.high)] == [[0, 1, 2]] * 3
    assert found.declared == ()


def test_intervals() -> None:
    """The first that contains a value is its range; one that holds no value is none."""
    policy = {"intervals": [["1", "5"], ["5", "8"], ["20", "30"], ["9", "9"]], "else": "value"}
    values: list[str | None] = ["10", "5", "7", None, "1", "8", "huge", "9"]
    five, eight = {"1", "5"}, {"5", "7", "8"}
    assert ranges(values, policy) == [{"10"}, five, eight, {None}, five, eight, {"huge"}, {"9"}]
    assert sorted(laid_out(values, policy).declared) == [(0, 1), (1, 3), (4, 4)]
    assert ranges(values, policy | {"else": "error"}) == [set(), five, eight, set(), five, eight, set(), {"9"}]
    assert laid_out(["10", "5", None, "7"], policy).place.tolist() == [2, 0, 3, 1]


def test_dates_and_ranks() -> None:
    days = {"intervals": [["2026-01-01", "2026-01-31"]], "else": "error"}
    assert ranges(["2026-01-31", "2026-02-01", "2026-01-01"], days, "date") == [
        {"2026-01-31", "2026-01-01"}, set(), {"2026-01-31", "2026-01-01"},
    ]  # fmt: skip
    ranks = {"intervals": [["low", "mid"]], "else": "error"}
    assert ranges(["top", "mid", "low", "odd"], ranks, "ordinal", order=["low", "mid", "top"]) == [
        set(), {"low", "mid"}, {"low", "mid"}, set(),
    ]  # fmt: skip


def test_numbers_are_not_rounded() -> None:
    large = ["9007199254740993", "9007199254740992", "-9007199254740993", "2.5"]
    policy = {"intervals": [[large[0], large[0]], [large[2], "2.5"]], "else": "error"}
    assert ranges([*large], policy) == [{large[0]}, set(), {large[2], "2.5"}, {large[2], "2.5"}]
    assert exact("12", 12.0) == 12
    assert exact("-9007199254740993", -9007199254740992.0) == -9007199254740993
    assert exact("x", 2.5) == 2.5
    assert exact(None, 1.0) is None
    assert exact("12", float("nan")) is None


def test_each_value_has_its_own() -> None:
    policy = {"each": [["5", "3", "7"], ["3", "3", "3"], ["9", "1", "9"]], "else": "value"}
    values: list[str | None] = ["3", "5", "7", "9", "8"]
    assert ranges(values, policy) == [{"3"}, {"3", "5", "7"}, {"7"}, {*values}, {"8"}]
    assert sorted(laid_out(values, policy).declared) == [(0, 0), (0, 2), (0, 4)]
    assert ranges(values, policy | {"else": "error"})[2:] == [set(), {*values}, set()]


@pytest.mark.parametrize("given, message", [
    ({"intervals": [["1", "2"], ["3", "1"]]}, "has a range whose ends are not in order or not readable."),
    ({"intervals": [["1", "2"], ["x", "3"]]}, "has a range whose ends are not in order or not readable."),
    ({"intervals": [["1", "x"]]}, "has a range whose ends are not in order or not readable."),
    ({"each": [["5", "7", "3"]]}, "has a range whose ends are not in order or not readable."),
    ({"each": [["x", "3", "7"]]}, "has a range whose ends are not in order or not readable."),
    ({"each": [["5", "3", "7"], ["2", "3", "7"]]}, "has a range that does not contain its value."),
    ({"each": [["5", "3", "7"], ["8", "3", "7"]]}, "has a range that does not contain its value."),
    ({"each": [["5", "3", "7"], ["5.0", "5", "9"]]}, "gives a value two ranges."),
])  # fmt: skip
def test_ranges_of_numbers_that_cannot_be(given: dict[str, Any], message: str) -> None:
    with pytest.raises(VerificationError, match=f"^The policy of 's' {message}$"):
        laid_out(["5"], given | {"else": "value"})


def test_ranges_at_their_ends() -> None:
    assert ranges(["3", "7"], {"each": [["3", "3", "7"], ["7", "3", "7"]], "else": "value"}) == [{"3", "7"}] * 2
    assert ranges(["3"], {"intervals": [["3", "3"]], "else": "error"}) == [{"3"}]


def test_sets() -> None:
    policy = {"sets": [["flu", "cold"], ["HIV"], ["kuru"]], "else": "value"}
    values: list[str | None] = ["HIV", "cold", "gout", "flu", None]
    both = {"cold", "flu"}
    assert ranges(values, policy, "categorical") == [{"HIV"}, both, {"gout"}, both, {None}]
    assert sorted(laid_out(values, policy, "categorical").declared) == [(0, 1), (2, 2)]
    assert ranges(values, policy | {"else": "error"}, "categorical") == [{"HIV"}, both, set(), both, set()]
    with pytest.raises(VerificationError, match=r"^The policy of 's' has a value in two ranges\.$"):
        laid_out(values, {"sets": [["flu"], ["cold", "flu"]], "else": "value"}, "categorical")


def test_levels() -> None:
    values: list[str | None] = ["d", "a", "c", "x", "b", None]
    said = {"hierarchy": [*TREE, ["<missing>", "<missing>", "*"]]}
    x, y, every = {"a", "c"}, {"b", "d"}, {"a", "b", "c", "d"}
    assert ranges(values, {"level": 0}, "categorical", **said) == [{"d"}, {"a"}, {"c"}, set(), {"b"}, set()]
    assert ranges(values, {"level": 1}, "categorical", **said) == [y, x, x, set(), y, set()]
    assert ranges(values, {"level": 2}, "categorical", **said) == [every, every, every, set(), every, set()]
    assert sorted(laid_out(values, {"level": 1}, "categorical", **said).declared) == [(0, 1), (2, 3)]


def test_labels() -> None:
    values: list[str | None] = ["d", "a", "c", "b"]
    policy = {"nodes": [["a", "x"], ["b", "b"], ["d", "*"]], "else": "value"}
    every = {"a", "b", "c", "d"}
    assert ranges(values, policy, "categorical", hierarchy=TREE) == [every, {"a", "c"}, {"c"}, {"b"}]
    assert ranges(values, policy | {"else": "error"}, "categorical", hierarchy=TREE)[2] == set()
    for entry in (["a", "y"], ["e", "*"], ["x", "x"]):
        with pytest.raises(
            VerificationError, match=r"^The policy of 's' has a range that does not contain its value\.$"
        ):
            laid_out(values, {"nodes": [["b", "y"], entry], "else": "value"}, "categorical", hierarchy=TREE)
    with pytest.raises(VerificationError, match=r"^The policy of 's' gives a value two ranges\.$"):
        laid_out(values, {"nodes": [["a", "x"], ["a", "*"]], "else": "value"}, "categorical", hierarchy=TREE)


# Hierarchies of which not all is said


def test_what_is_not_said_of_a_hierarchy_is_no_range() -> None:
    values: list[str | None] = ["d", "a", "c", "e", "b", None]
    rows = [[None, None, "*"], [None, "x", "*"], *TREE, ["e", None, "*"], [None, "z", "*"]]
    x, y = {"a", "c"}, {"b", "d"}
    assert ranges(values, {"level": 1}, "categorical", hierarchy=rows) == [y, x, x, set(), y, set()]
    policy = {"nodes": [["a", "x"], ["e", "*"]], "else": "value"}
    every = {"a", "b", "c", "d", "e"}
    assert ranges(values, policy, "categorical", hierarchy=rows) == [{"d"}, x, {"c"}, every, {"b"}, {None}]


@pytest.mark.parametrize("hierarchy, by", [
    ({"widths": [5, 10], "origin": 0}, "rechecked"), ({"quantiles": [4, 2]}, "attested"),
])  # fmt: skip
def test_ranges_of_a_level_can_be_verified(tmp_path: Path, hierarchy: dict[str, Any], by: str) -> None:
    """A hierarchy that is not public is shown in part, and the labels of quantiles are not shown at all."""
    people = pl.DataFrame({"age": list(range(20, 44)), "pay": list(range(24))})
    table = shoal.read(
        people, quasi=["age"], sensitive=["pay"], hierarchies={"pay": hierarchy}, policies={"pay": {"level": 1}}
    )
    release = shoal.anonymize(table, algorithm=shoal.Mondrian(k=6), models=[shoal.RangeConfidence(p=0.95)], seed=1)
    assert verify_release(release.write(tmp_path / "out")).passed
    assert [entry["by"] for entry in release.manifest["verdicts"] if entry["on"] == "pay"] == [by]
