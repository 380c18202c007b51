"""What stands where in a manifest and on a page, and which words may stand there."""

from __future__ import annotations

import json
from typing import Any

import pytest

from shoal.verify import mentions as mentions_of
from shoal.verify.manifest_column import Column
from shoal.verify.manifest_schema import Manifest
from shoal.verify.mentions import Described, Mention, figures, manifest_mentions, page_mentions, phrase, phrases

AGE = {"name": "age", "type": "numeric"}


def mentions(columns: list[dict[str, Any]] | None = None, **entries: Any) -> list[Mention]:
    return manifest_mentions(json.dumps({"columns": columns or [], **entries}).encode())


def only(found: list[Mention], text: str) -> Mention:
    (one,) = [mention for mention in found if mention.text == text]
    return one


@pytest.mark.parametrize(
    "words, given, loose, described, allowed",
    [
        ("kuru", True, True, False, True),
        ("kuru", False, False, True, True),
        ("kuru", False, True, True, False),
        ("x", False, True, False, True),
        ("7", False, True, False, False),
        ("al", False, True, False, False),
        ("rows", False, True, False, False),
        ("rows", False, False, False, True),
        ("rows of", False, False, False, True),
        ("rows kuru", False, False, False, False),
        ("kuru", False, False, False, False),
    ],
)
def test_words_that_may_stand_somewhere(words: str, given: bool, loose: bool, described: bool, allowed: bool) -> None:
    """A single letter says nothing, a digit may; our words excuse only where nobody else's may stand."""
    column = Described("disease", "categorical", ("disease",)) if described else None
    mention = Mention("report.html", words, column, loose=loose, given=given)
    assert mention.judges(words, {"rows", "of"}) is (not allowed)


@pytest.mark.parametrize(
    "numbers, words, allowed",
    [
        (None, "1234", True),
        (None, "12,345", False),
        (None, "12.34", True),
        (frozenset(), "1234", False),
        (frozenset(), "95", True),
        ({"1234"}, "1234", True),
        ({"1234"}, "95", True),
        ({"1234"}, "99", False),
    ],
)
def test_numbers_that_may_stand_somewhere(numbers: Any, words: str, allowed: bool) -> None:
    """In a sentence of an attack any short one; elsewhere those of the manifest and of our own words."""
    assert Mention("report.html", words, None, numbers=numbers).judges(words, {"95"}) is (not allowed)


def test_runs_of_words() -> None:
    assert phrase("Bad_Homburg, 1.5 km") == "bad homburg 1.5 km"
    assert phrases("One two_Three", 2) == {"one", "two", "three", "one two", "two three"}
    assert phrases("one", 3) == {"one"}
    assert phrases("", 3) == set()


def test_texts_of_our_own_and_texts_of_nobody() -> None:
    found = mentions(
        [AGE], kind="generalised", date="2020-01-01", measured=[{"sentence": "Half.", "name": "unique"}],
        note="a", extra={"one": {"two": "b"}}, shoal=None, people=True,
    )  # fmt: skip
    expected = {
        "generalised": (False, False, frozenset()), "2020-01-01": (False, True, frozenset()),
        "Half.": (False, False, None), "unique": (False, False, frozenset()), "note": (True, False, frozenset()),
        "a": (True, False, frozenset()), "extra": (True, False, frozenset()), "b": (True, False, frozenset()),
        "one": (True, False, frozenset()),
    }  # fmt: skip
    for text, flags in expected.items():
        mention = only(found, text)
        assert (mention.loose, mention.given, mention.numbers, mention.column) == (*flags, None)
        assert mention.file == "manifest.json"
    assert {"None", "True", "people", "kind"} & {mention.text for mention in found} == set()


def test_a_number_is_a_figure_only_where_figures_stand() -> None:
    found = mentions([AGE], classes={"count": 5, "largest": 9}, redraw="kuru", data={"rows": 24})
    assert not {"5", "24"} & {mention.text for mention in found}
    assert only(found, "9").loose
    assert only(found, "kuru").loose


def test_every_key_that_a_manifest_may_have_is_one_of_ours() -> None:
    """One that is not would be a text of somebody, and what stands under it anybody's value."""
    fields = {**Manifest.model_fields, **Column.model_fields}
    assert {field.alias or name for name, field in fields.items()} <= mentions_of._KEYS


def test_how_records_were_perturbed_is_ours_to_say() -> None:
    column = {**AGE, "noise": 0.1, "stay": 0.8}
    found = mentions([column], perturbation="noise")
    assert not {"0.1", "0.8", "stay", "perturbation"} & {mention.text for mention in found}
    assert not only(found, "noise").loose


def test_what_describes_a_column_is_held_against_it() -> None:
    """Under keys that nobody knows even the values of other columns are looked for."""
    columns = [AGE, {"name": "zip", "type": "categorical", "columns": ["a", "b"], "order": ["lo"], "note": "x"}]
    found = mentions(columns)
    for text, loose in (("lo", False), ("x", True), ("note", True)):
        mention = only(found, text)
        assert mention.column is not None
        assert (mention.column.name, mention.column.type, mention.loose) == ("zip", "categorical", loose)
        assert mention.column.files == ("a", "b")
    (empty, other) = [mention for mention in found if mention.text == ""]
    assert empty.column is not None
    assert (empty.column.name, empty.column.files, empty.loose) == ("age", ("age",), False)
    assert other.column is not None


def test_what_is_said_twice_is_found_twice() -> None:
    data = b'{"columns": [], "kind": {"a": "first", "b": 2}, "kind": "second", "order": "kept"}'
    found = manifest_mentions(data)
    assert [(one.text, one.loose) for one in found] == [
        ("second", False), ("kept", False), ("a", True), ("first", True), ("b", True), ("2", True)
    ]  # fmt: skip


def test_figures_in_every_way_of_writing() -> None:
    assert figures(b'{"a": [1234, true, "x", null]}') == {"1234", "1,234", "123400.0", "123400"}
    assert figures(b'{"a": -0.25}') == {"-0.25", "0.25", "-25.0", "25"}
    assert {"18", "9.25e-18"} <= figures(b'{"a": -9.25e-18}')
    assert "20" in figures(b'{"a": 1e20}')
    assert figures(b'{"a": 1234567.5}') >= {"1.23457e+06", "1,234,567.5"}


def test_everything_on_a_page_is_read() -> None:
    page = "<!DOCTYPE kuru><p title='tip' hidden>Zeb&#117;lon</q> \n<!--note--><?php go ?><script>var x</script>R&rest"
    found = page_mentions(page, {"7"})
    assert [(one.text, one.loose) for one in found] == [
        ("DOCTYPE kuru", False), ("p", False), ("title", False), ("tip", False), ("hidden", False), ("Zebulon", False),
        ("q", False), ("note", True), ("php go ?", True), ("script", False), ("var x", False), ("script", False),
        ("R&rest", False),
    ]  # fmt: skip
    assert all((one.file, one.column, one.numbers) == ("report.html", None, {"7"}) for one in found)
    assert any(one.loose and "data" in one.text for one in page_mentions("<![CDATA[data]]>", ()))
