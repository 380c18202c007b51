"""How much it takes until a cell names somebody: how many people, words, turns and groups, and what chance explains."""

from __future__ import annotations

import math
from datetime import UTC, datetime, time
from itertools import permutations
from typing import Any

import numpy as np
import polars as pl
import pytest

from shoal.verify.identifier_scan import _near, _numbered
from shoal.verify.identifier_words import Hidden, is_excess
from tests.conftest import many
from tests.verify.whole import check_anybody, check_texts, check_words

CLEAN = "No identifier of any row stands in a cell."
OTHERS = [f"Other{letter} Name{letter}" for letter in "abcdefghijklmnopqrstuvwxyz"]


def whole(cells: list[Any], hidden: Any, people: list[Any] | None = None) -> str:
    """What is said of whole identifiers in a column ``note``."""
    given = hidden if isinstance(hidden, pl.Series) else pl.Series("name", hidden)
    check = check_anybody([pl.DataFrame({"note": cells})], [given], None if people is None else pl.Series(people))
    assert (check.name, check.passed) == ("identifiers of anybody", check.detail == CLEAN)
    return check.detail.removeprefix("Identifiers are left in the release: ").removesuffix(" hold somebody's 'name'.")


def held(rows: int) -> str:
    return f"{rows} cells of 'note'"


def test_nobody_is_looked_for_without_identifiers() -> None:
    check = check_anybody([pl.DataFrame({"note": ["Ann Ek"]})], [], None)
    assert (check.passed, check.detail) == (True, CLEAN)


def test_words_that_are_parted_otherwise() -> None:
    """A run may begin with somebody's word and come to what somebody else's words run together to."""
    assert whole(["Ann Berg"], ["Ann Ek", "Annb Erg", *OTHERS]) == held(1)
    assert whole(["Ann Berg"], ["Ann Ek", "Annb Ergo", *OTHERS]) == CLEAN


def test_what_few_people_have() -> None:
    """Five of a small table, one in a thousand of a large one; with subjects people are counted."""
    for rows, few in ((24, 5), (5_999, 5), (6_000, 6), (7_000, 7)):
        everyone, everybody = Hidden(), Hidden()
        for _ in range(2):
            everyone.read([pl.Series("name", [None] * (rows // 2), dtype=pl.String)], None)
        everyone.read([pl.Series("name", [None] * (rows % 2), dtype=pl.String)], None)
        everybody.read([pl.Series("name", [None] * rows, dtype=pl.String)], np.arange(rows))
        everybody.read([pl.Series("name", [None] * rows, dtype=pl.String)], np.arange(rows))
        assert everyone._limit() == everybody._limit() == few
    for times, found in ((5, held(1)), (6, CLEAN)):
        assert whole(["Ann Berg"], ["Ann Berg"] * times + OTHERS) == found
    assert whole(["Ann Berg"], ["Ann Berg"] * 9 + OTHERS[:1], ["p"] * 9 + ["q"]) == held(1)
    assert whole(["Ann Berg"], ["Ann Berg"] * 9 + OTHERS[:1], list(range(10))) == CLEAN


def test_blanks_around_an_identifier_are_none_of_it() -> None:
    assert whole(["no. 7654321"], ["7654321"] * 3 + [" 7654321"] * 3) == CLEAN
    assert whole(["no. 7654321"], ["7654321"] * 3 + [" 7654321"] * 2) == held(1)


@pytest.mark.parametrize(
    "cell, name, found",
    [
        ("Ann Berg", "Ann Berg", True),
        ("Jo Ek", "Jo Ek", False),
        ("Jon Ek", "Jon Ek", True),
        ("Berlin", "Berlin", False),
        ("12 345", "12 345", False),
        ("Ann", "Ann Berg", False),
        ("one two three four five six seven eight", "one two three four five six seven eight nine", True),
        ("one two three four five six seven", "one two three four five six seven eight nine", False),
        ("four five one two three", "one two three four five", True),
        ("five one two three four", "one two three four five", False),
        ("two one", "one two", True),
        ("ab 1 2 3 4 5 6 7 8 9 0 1", "ab12345678901", True),
        ("ab 1 2 3 4 5 6 7 8 9 0 1 2", "ab123456789012", False),
        ("ann.berg", "ann.berg@example.org", True),
        ("example.org", "ann.berg@example.org", False),
    ],
)
def test_words_in_a_row(cell: str, name: str, found: bool) -> None:
    """Eight words at most, begun with any of the first four, in at most twelve groups."""
    assert whole([cell], [name, *OTHERS]) == (held(1) if found else CLEAN)


def test_words_of_two_cells_are_not_in_a_row() -> None:
    assert whole(["Ann", "Berg"], ["Ann Berg", *OTHERS]) == CLEAN
    assert whole(["Ann Berg", "Ann Berg", "Berg Ann", "x"], ["Ann Berg", *OTHERS]) == held(3)
    assert whole([None, None], ["Ann Berg"]) == CLEAN
    assert whole(["seen Ann"], ["Ann Berg"]) == CLEAN


def test_every_column_and_identifier_is_told() -> None:
    hidden = [pl.Series("name", ["Ann Berg", *OTHERS]), pl.Series("mail", ["cy.dal@x.org", *OTHERS])]
    tables = [pl.DataFrame({"a": ["Ann Berg"], "b": ["x"]}), pl.DataFrame({"c": ["cy dal and Ann Berg"]})]
    assert check_anybody(tables, hidden, None).detail == (
        "Identifiers are left in the release: 1 cells of 'a' hold somebody's 'name'; 1 cells of 'c' hold somebody's "
        "'name'; 1 cells of 'c' hold somebody's 'mail'."
    )


def test_moments_meet_by_chance() -> None:
    moment = datetime(2020, 1, 1, 10, tzinfo=UTC)
    shown = pl.Series("name", [moment])
    assert whole(shown.cast(pl.String).to_list(), shown) == CLEAN
    assert whole(["102030"], pl.Series("name", [time(10, 20, 30)])) == CLEAN


def test_numbers_are_known_by_their_digits_alone() -> None:
    assert whole(["1.5e300"], pl.Series("name", [1.5e300])) == CLEAN


# Numbers


def keys(start: int, count: int, step: int = 1) -> list[str]:
    return [str(start + step * place) for place in range(count)]


def numbered(found: list[str], given: list[str], span: float | None = None) -> int:
    """Rows that hold a number, each in one, at a level of one in ten thousand."""
    cells = pl.DataFrame({"rows": [1] * len(found), "key": found}, schema={"rows": pl.UInt32, "key": pl.String})
    return _numbered(cells, pl.DataFrame({"key": given}, schema={"key": pl.String}), span, 1e-4)


@pytest.mark.parametrize(
    "hits, others, given, rows",
    [
        (50, 0, 100, 50), (49, 0, 100, 0), (50, 5, 100, 50), (50, 6, 100, 0), (3, 0, 6, 3), (2, 0, 4, 0), (3, 0, 3, 3),
        (2, 0, 2, 0), (0, 3, 6, 0),
    ],
)  # fmt: skip
def test_a_column_of_numbers_that_run_on(hits: int, others: int, given: int, rows: int) -> None:
    """It is one of identifiers when it holds half of them, three at least, and one other number in ten at most."""
    found = keys(100_000, hits) + keys(800_000, others, 1000)
    assert numbered(found, keys(100_000, given), float(given)) == rows


@pytest.mark.parametrize("span, found", [(4_000_001, 1), (3_999_999, 0)])
def test_a_number_among_many_of_its_size_is_chance(span: int, found: int) -> None:
    """One of 200 identifiers in a span of numbers that holds one in twenty thousand of them by chance."""
    given = keys(900_001, 200, 7000)
    assert numbered(given[:1], given, float(span)) == found


def test_numbers_of_a_column_near_those_of_identifiers_are_chance() -> None:
    """Moved by a little, identifiers meet as many; in a text, where numbers are few, that is not asked."""
    given = keys(100_000, 1000)
    assert numbered(given[100:150], given, 1e9) == 0
    assert numbered(given[100:150], given) == 50
    sparse = keys(100_000, 1000, 77)
    assert numbered(sparse[100:150], sparse, 1e9) == 50


@pytest.mark.parametrize("seed", range(many(10, 200)))
def test_round_amounts_meet_by_chance(seed: int) -> None:
    """Incomes and limits of credit are thousands mostly; copies of other numbers are found."""
    draw = np.random.default_rng(seed)
    limits = draw.integers(100_000, 900_000, 1000)
    limits[:300] -= limits[:300] % 1000
    incomes = 1000 * draw.integers(100, 300, 150)
    found, given = (sorted({str(one) for one in amounts.tolist()}) for amounts in (incomes, limits))
    assert len(set(found) & set(given)) > 20
    assert numbered(found, given, 200_000.0) == 0
    copied = [one for one in given if not one.endswith("0")][:20]
    assert numbered(sorted({*found, *copied}), given, 800_000.0) > 0


@pytest.mark.parametrize("step, count, given, rows", [
    (20, 50, 1000, 50), (11, 47, 1000, 47), (10, 50, 1000, 0), (20, 2, 30, 0), (450, 20, 8_999, 20),
    (450, 20, 9_001, 0),
])  # fmt: skip
def test_a_column_of_few_of_many_numbers_that_run_on(step: int, count: int, given: int, rows: int) -> None:
    """It has to reach over half of them, and they to be fewer than one in a hundred of the numbers of their length."""
    found = keys(100_000, count, step)
    assert numbered(found, keys(100_000, given), float(step * count)) == rows
    assert numbered([*found, *keys(800_000, count // 6, 1000)], keys(100_000, given), 700_000.0) == 0


@pytest.mark.parametrize("found, given, near", [
    (["100001"], ["100001"], 0), (["100001"], ["100033", "99969"], 2 / 64), (["100001"], ["100034", "99968"], 0),
    (["100001", "100002"], ["100001", "100002"], 2 / 64), (["x"], ["100000"], 0), (["100000"], ["x"], 0),
    (["120000"], ["440000", "120001"], 1 / 64), (["120000"], ["450000"], 0),
])  # fmt: skip
def test_identifiers_that_are_moved(found: list[str], given: list[str], near: float) -> None:
    assert _near(pl.DataFrame({"key": found}), pl.DataFrame({"key": given})) == near


@pytest.mark.parametrize("given, found", [(99, 1), (101, 0)])
def test_a_number_in_a_text_is_chance_where_many_of_its_length_are_somebodys(given: int, found: int) -> None:
    assert numbered(["100000"], [*keys(100_000, given), *keys(1_000_000, 500)]) == found


@pytest.mark.parametrize("hits, expected, level, excess", [
    (1, 1, 1e-9, False), (1, 2, 1e-9, False), (1, 0, 1e-9, True), (12, 1, 1e-9, False), (13, 1, 1e-9, True),
    (13, 1, 1e-10, False), (14, 1, 1e-10, True), (35, 7, 1e-11, True), (31, 7, 1e-11, False),
])  # fmt: skip
def test_how_many_hits_are_no_chance(hits: float, expected: float, level: float, excess: bool) -> None:
    assert is_excess(hits, expected, level) is excess


def test_the_bound_is_above_the_exact_chance() -> None:
    """Of n identifiers dealt anew, the chance that at least so many come to their owners, counted."""
    for owners in (3, 5, 8, 13):
        ways = [0] * (owners + 1)
        for fixed in range(owners + 1):
            rest = owners - fixed
            deranged = sum((-1) ** one * math.factorial(rest) // math.factorial(one) for one in range(rest + 1))
            ways[fixed] = math.comb(owners, fixed) * deranged
        assert sum(ways) == math.factorial(owners)
        for least in range(2, owners + 1):
            exact = sum(ways[least:]) / math.factorial(owners)
            assert not is_excess(least, 1.0, 0.999 * exact)
        assert is_excess(owners, 1.0, 1.001 / math.factorial(owners)), "all of them: the bound is the chance itself"


@pytest.mark.parametrize("seed", range(many(20, 500)))
def test_the_bound_is_above_the_exact_chance_of_parts(seed: int) -> None:
    """Owners are hit by a part of their rows, and cells may hold several identifiers; all ways to deal are tried."""
    draw = np.random.default_rng(seed)
    owners = int(draw.integers(2, 7))
    parts = draw.choice([0.0, 0.2, 0.5, 1.0, float(draw.random())], (owners, owners), p=[0.5, 0.1, 0.1, 0.2, 0.1])
    dealt = [sum(parts[place, one] for place, one in enumerate(way)) for way in permutations(range(owners))]
    for least in {round(one, 9) for one in dealt} - {0.0}:
        exact = sum(one >= least - 1e-9 for one in dealt) / len(dealt)
        assert not is_excess(least - 1e-9, float(parts.sum()) / owners, 0.999 * exact)


def test_whole_numbers_are_read_without_their_fraction() -> None:
    """With it every cell of a column of floats would hold a number more, and only half of them were somebody's."""
    given = [100_000 + 7 * place for place in range(1000)]
    assert whole([float(one) for one in given[::400]], given) == held(3)
    assert whole(given[::400], [float(one) for one in given]) == held(3)


# Words of names


def named(cells: list[Any], hidden: Any, people: list[Any] | None = None, accepted: Any = ()) -> str:
    given = hidden if isinstance(hidden, pl.Series) else pl.Series("name", hidden)
    subject = None if people is None else pl.Series(people)
    checks = check_words([pl.Series("note", cells)], [given[: len(cells)]], [given], subject, accepted)
    assert all((one.name, one.code) == ("names in note", "W-NAMES:note") for one in checks)
    assert all(one.passed is ("W-NAMES:note" in accepted) for one in checks)
    return " ".join(one.detail for one in checks)


def word(rows: int) -> str:
    return f"{rows} cells of 'note' hold a word of somebody's 'name'."


@pytest.mark.parametrize("given, cells, found", [(1, 6, True), (1, 7, False), (2, 9, True), (2, 10, False)])
def test_a_word_in_many_more_cells_than_names_is_vocabulary(given: int, cells: int, found: bool) -> None:
    names = [*OTHERS, *(["Quirk, Jo"] * given)]
    assert named(["seen by quirk"] * cells + ["x"] * 9, names) == (word(cells) if found else "")


@pytest.mark.parametrize("times, found", [(5, True), (6, False)])
def test_a_word_that_many_share_names_nobody(times: int, found: bool) -> None:
    names = [*OTHERS, *(["Quirk, Jo"] * times)]
    assert named(["quirk"], names) == (word(1) if found else "")
    people = [*(f"p{row}" for row in range(len(OTHERS))), *(["q"] * times)]
    assert named(["quirk"], names, people) == word(1)


@pytest.mark.parametrize("own, others, found", [(32, 0, True), (31, 0, False), (80, 40, True), (33, 400, False)])
def test_a_common_word_in_its_own_row(own: int, others: int, found: bool) -> None:
    """Compared with how often chance would bring it there, the words of all others in the column considered."""
    hidden = [f"{'Meier' if row % 4 == 0 else 'Huber'} {row}" for row in range(1000)]
    places = [row for row in range(1000) if row % 4 == 0][:own] + [row for row in range(1000) if row % 4 == 1][:others]
    cells = ["Meier" if row in places else "x" for row in range(1000)]
    assert named(cells, hidden) == (word(own) if found else "")


def test_what_is_no_text_names_nobody() -> None:
    assert named([True, False, True], ["True, Jo", "False, Al", "x"]) == ""
    assert named(["true", "x"], pl.Series("name", [True, False])) == ""
    checks = check_words([pl.Series("note", [1])], [pl.Series("name", ["x"])], [pl.Series("name", ["x"])], None, ())
    assert checks == []


def test_words_of_several_identifiers_and_who_accepts_them() -> None:
    hidden = [pl.Series("name", ["Quirk", *OTHERS]), pl.Series("mail", ["zebul@quirk.org", *OTHERS])]
    own = [one[:1] for one in hidden]
    columns = [pl.Series("note", ["quirk or zebul"]), pl.Series("ward", ["quirk"]), pl.Series("town", ["x"])]
    both = "1 cells of 'note' hold a word of somebody's 'name'; 1 cells of 'note' hold a word of somebody's 'mail'"
    first, second = check_words(columns, own, hidden, None, ["W-NAMES:note"])
    assert (first.passed, first.detail) == (True, f"{both}, which W-NAMES:note accepts.")
    assert (second.passed, second.detail) == (False, "1 cells of 'ward' hold a word of somebody's 'name'.")


# Free text


def texts(cells: list[Any], accepted: Any = ()) -> str:
    checks = check_texts([pl.Series("n", [1] * len(cells)), pl.Series("note", cells)], accepted)
    assert all((one.name, one.code) == ("free text in note", "W-TEXT:note") for one in checks)
    assert all(one.passed is ("W-TEXT:note" in accepted) for one in checks)
    return " ".join(one.detail for one in checks)


def free(count: int, end: str = "") -> str:
    return f"'note' looks like free text, {count} cells of it unlike any other{end}."


def sentences(count: int, words: int = 3) -> list[str]:
    return [" ".join([f"a{chr(97 + place // 26)}{chr(97 + place % 26)}"] * words) for place in range(count)]


@pytest.mark.parametrize(
    "alone, rows, found", [(10, 100, True), (9, 100, False), (20, 400, True), (19, 400, False), (10, 200, True)]
)
def test_ten_cells_and_one_in_twenty_are_free_text(alone: int, rows: int, found: bool) -> None:
    cells = sentences(alone) + ["the same for all"] * (rows - alone)
    assert texts(cells) == (free(alone) if found else "")
    assert texts(cells, ["W-TEXT:note"]) == (free(alone, ", which W-TEXT:note accepts") if found else "")


def test_free_text_has_three_words_and_stands_once() -> None:
    assert texts(sentences(20, 2)) == ""
    assert texts(sentences(20, 4)) == free(20)
    assert texts(sentences(20) * 2) == ""
    assert texts(sentences(20) + [f" {one} " for one in sentences(20)]) == ""
