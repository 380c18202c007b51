"""Figures of attacks one by one: which are needed, what their sentences may say, and which anybody can count."""

from __future__ import annotations

from typing import Any

import polars as pl
import pytest

from shoal.verify.claims import Claims, Column
from shoal.verify.measured import check_measured
from tests.verify.whole import find_classes

QUASI = Column("q", "quasi", "categorical", "value", None, None, None, ())
NEEDED = "The manifest does not tell what an attack on this kind of release achieves: '{}' is missing."
TOLD = "What attacks achieve is told, and rests on the publisher's evidence."
NONE = "This kind of release needs no figures of attacks."
OTHERS = "The manifest has figures of attacks, which belong to other kinds of release."
ANOTHER = "A figure of an attack is not the one that its sentence tells."
COUNTED = "The share of records that are alone with their quasi-identifiers is not that of the file."


def figure(name: str, value: float = 0.25, sentence: str = "25%", **more: Any) -> dict[str, Any]:
    return {"name": name, "value": value, "interval": [0, 1], "baseline": None, "sentence": sentence} | more


def told(
    *figures: dict[str, Any],
    made: str = "generalised",
    coded: tuple[str, ...] = (),
    cells: str = "abcc",
    **manifest: Any,
) -> str:
    """What is said about the figures of a release with these exact quasi-identifiers; half of them are alone."""
    columns = [
        QUASI,
        *(Column(code, "neutral", "categorical", "value", None, None, None, (), coded=code) for code in coded),
    ]
    claims = Claims(tuple(columns), (), "drop", "shuffled", False, len(cells), made=made, kind=made)
    quasi = find_classes(pl.DataFrame({"q": list(cells)}, schema={"q": pl.String}), claims)
    check = check_measured({"measured": figures} | manifest, claims, quasi)
    assert check.name == "measured"
    assert check.passed is (check.detail in (TOLD, NONE))
    return check.detail


@pytest.mark.parametrize("made, coded, name", [
    ("randomised", (), "unchanged"), ("bucketised", (), "uniqueness"), ("pseudonymised", (), "unique"),
    ("perturbed", (), "unchanged"),
    ("generalised", ("token",), "trajectories"), ("generalised", ("shifted",), "gap patterns"),
])  # fmt: skip
def test_the_figure_that_nobody_may_leave_out(made: str, coded: tuple[str, ...], name: str) -> None:
    right = {"value": 0.5, "sentence": "50% of them"}
    assert told(made=made, coded=coded) == NEEDED.format(name)
    assert told(figure("other"), made=made, coded=coded) == NEEDED.format(name)
    assert told(figure("other"), figure(name, **right), made=made, coded=coded) == TOLD


def test_several_reasons_need_several_figures() -> None:
    first = figure("unchanged")
    assert told(first, made="randomised", coded=("token", "shifted")) == NEEDED.format("trajectories")
    assert told(first, figure("trajectories"), figure("gap patterns"), made="randomised", coded=("token",)) == TOLD


def test_codes_on_top_of_another_method_need_a_figure_a_column() -> None:
    untold = "The manifest does not tell how many codes of '{}' can be read back."
    mapped = figure("read back: mapping")
    assert told(coded=("mapping", "graded")) == untold.format("mapping")
    assert told(mapped, coded=("mapping", "graded")) == untold.format("graded")
    assert told(mapped, figure("read back: graded"), coded=("mapping", "graded")) == TOLD
    assert told(mapped, coded=("mapping", "token")) == NEEDED.format("trajectories")


def test_kinds_that_need_none() -> None:
    assert told() == NONE
    assert told(figure("unique", 0.5, "50%"), coded=("mapping", "graded"), made="pseudonymised") == TOLD
    assert told(made="microaggregated") == NONE
    assert told(figure("unique")) == OTHERS
    claims = Claims((QUASI,), (), "drop", "shuffled", False, 2)
    quasi = find_classes(pl.DataFrame({"q": ["a", "b"]}), claims)
    assert check_measured({}, claims, quasi).detail == NONE


@pytest.mark.parametrize("value, sentence, right", [
    (0.25, "25% of the records.", True),
    (0.25, "Of all, 24.9% or 25.0% are found.", True),
    (0.25, "24.9%", False),
    (0.25, "26%", False),
    (0.2549, "25%", True),
    (0.255, "25%", True),
    (0.2552, "25%", False),
    (0.2449, "25%", True),
    (0.2447, "25%", False),
    (0.2505, "25.0%", True),
    (0.2507, "25.0%", False),
    (0.2495, "25.0%", True),
    (0.2493, "25.0%", False),
    (0.0051, "0%", True),
    (0.0051005, "0%", False),
    (1, "100%", True),
    (0, "0%", True),
    (0.05, "5.0%", True),
    (0.25, "one in four", False),
    (0, "Nobody can be attacked.", True),
    (0.01, "Nobody can be attacked.", False),
])  # fmt: skip
def test_a_sentence_tells_its_figure_as_it_rounds(value: float, sentence: str, right: bool) -> None:
    assert told(figure("unchanged", value, sentence), made="randomised") == (TOLD if right else ANOTHER)


def test_without_anybody_to_attack_nothing_is_known() -> None:
    for interval in ([0, 0.5], [0.1, 1], [0]):
        empty = figure("unchanged", 0, "Nobody can be attacked.", interval=interval)
        assert told(empty, made="randomised") == ANOTHER


def test_every_sentence_has_to_tell_its_figure() -> None:
    assert told(figure("unchanged"), figure("other", sentence="26%"), made="randomised") == ANOTHER


@pytest.mark.parametrize("made, name", [("bucketised", "uniqueness"), ("pseudonymised", "unique")])
@pytest.mark.parametrize("cells, value, right", [
    ("abcc", 0.5, True), ("abcc", 0.50009, True), ("abcc", 0.5002, False), ("abcc", 0.4998, False), ("aabb", 0, True),
    ("aabb", 0.5, False), ("abcd", 1, True), ("", 0, True), ("aaab", 0.25, True), ("", 0.5, False), ("a", 1, True),
    ("aabb", 1e-4, True),
])  # fmt: skip
def test_who_is_alone_can_be_counted(made: str, name: str, cells: str, value: float, right: bool) -> None:
    given = figure(name, value, f"{value:.0%}")
    other = figure("skewness", 0.75, "75%")
    assert told(other, given, other, made=made, cells=cells) == (TOLD if right else COUNTED)
