"""What counts as told: small folders made by hand, and one value that was read and is not released."""

from __future__ import annotations

import io
import json
from datetime import datetime
from typing import Any

import polars as pl
import pytest

from shoal.verify.leaks import Leaks, check_leaks
from shoal.verify.report import Check, Sayable

FINE = "Nothing published tells a value that was read and is not released."
NOTHING = Sayable(declared={}, labels={})
DISEASE = {"name": "disease", "type": "categorical"}


def told(
    read: dict[str, list[Any]], columns: list[dict[str, Any]] | None = None, *, table: str = "disease\nflu\n",
    files: dict[str, bytes] | None = None, declared: Any = None, labels: Any = None, **entries: Any,
) -> str:  # fmt: skip
    """What is said of a folder, shortened to its problems."""
    manifest = json.dumps({"columns": [DISEASE] if columns is None else columns, **entries}).encode()
    folder = {"manifest.json": manifest, "release.csv": table.encode(), **(files or {})}
    series = {name: [pl.Series(name, values)] for name, values in read.items()}
    return problems(check_leaks(folder, series, Sayable(declared=declared or {}, labels=labels or {})))


def problems(check: Check) -> str:
    assert (check.name, check.passed) == ("leaks", check.detail == FINE)
    return "" if check.passed else check.detail.removeprefix("Something published tells what is not released: ")


def test_a_value_that_nothing_tells() -> None:
    assert told({"disease": ["flu", "kuru", None], "name": ["Zeb"]}) == ""


def test_values_are_counted_by_file_and_column() -> None:
    found = told({"disease": ["kuru", "gout"], "name": ["Zeb"]}, statement="kuru, gout and kuru", note="Zeb")
    assert found == "'manifest.json' tells 2 values of 'disease'; 'manifest.json' tells 1 value of 'name'."


@pytest.mark.parametrize(
    "value", ["Zeb", "ZEBULON Q", "Ab", "O'Neil", "12.5", "12,5 mg", "_kuru", "(gout)", "Émile", "ßa", "ab.cd", " Zeb"]
)
def test_however_a_value_begins(value: str) -> None:
    """Most are turned away by their first letters, and none of those that are said."""
    others = [f"P{place:05}" for place in range(20)]
    assert told({"name": [*others, value, None]}, note=f"seen: {value} and more") != ""
    assert told({"name": pl.Series([*others, value] * 3).cast(pl.Enum([*others, value])).to_list()}, note="n") == ""


def test_any_other_file_is_searched() -> None:
    files = {"notes.txt": b"rows of kuru\xff", "more.txt": b"rows"}
    assert told({"disease": ["kuru"]}, files=files) == "'notes.txt' tells 1 value of 'disease'."
    assert told({"disease": ["rows"]}, files={"more.txt": b"rows"}) == "'more.txt' tells 1 value of 'disease'."
    assert told({"disease": ["rows"]}, statement="rows") == ""


def test_a_page_repeats_what_the_manifest_says() -> None:
    """A comment is judged even so, and so is a page that says anything else beside."""
    read, date = {"born": ["1901-12-24"]}, "1901-12-24"
    pages = {"<p>1901-12-24</p>": "", "<!--1901-12-24-->": "1", "<p>on 1901-12-24</p>": "1"}
    for page, count in pages.items():
        found = told(read, [], files={"report.html": page.encode()}, date=date)
        assert found == (f"'report.html' tells {count} value of 'born'." if count else "")
        known = told(read, files={"report.html": page.encode()}, date=date)
        assert known == found


def test_the_figures_of_a_manifest_may_stand_on_its_page() -> None:
    page = {"report.html": b"<p>1,234 classes, not 4321</p>"}
    assert told({"n": [1234]}, files=page, classes={"count": 1234}) == ""
    assert told({"n": [4321]}, files=page, classes={"count": 1234}) == "'report.html' tells 1 value of 'n'."


@pytest.mark.parametrize("words, found", [(6, True), (5, False)])
def test_six_words_tell_a_longer_value(words: int, found: bool) -> None:
    value = "one two three four five six seven eight"
    said = told({"note": [value]}, statement=" ".join(value.split()[:words]))
    assert said == ("'manifest.json' tells 1 value of 'note'." if found else "")


@pytest.mark.parametrize(
    "order, cells, declared, labels, found",
    [
        (["kuru"], "flu", (), (), True),
        (["kuru"], "kuru", (), (), False),
        (["kuru"], "{flu|kuru}", (), (), False),
        (["kuru"], "flu", ("kuru",), (), False),
        (["kuru"], "flu", (), ("kuru",), False),
        (["[flu,kuru]"], "flu", (), (), True),
        (["(flu,kuru)"], "flu", (), (), True),
        (["flu,kuru"], "flu", (), (), False),
        (["?flu,kuru"], "flu", (), (), False),
        (["gout"], "flu", (), (), False),
        (["*", "<missing>", ""], "flu", (), (), False),
    ],
)
def test_the_description_of_a_column(order: list[str], cells: str, declared: Any, labels: Any, found: bool) -> None:
    """Its own values as a whole or as ends, unless cells show them, the recipe declares them or labels are public."""
    said = told(
        {"disease": ["flu", "kuru", "*", "<missing>", ""]}, [DISEASE | {"order": order}], table=f"disease\n{cells}\n",
        declared={"disease": declared}, labels={"disease": labels},
    )  # fmt: skip
    assert said == ("'manifest.json' tells 1 value of 'disease'." if found else "")


def test_the_description_of_another_column_is_not_its_own() -> None:
    columns = [DISEASE | {"order": ["kuru"]}, {"name": "zip", "type": "categorical", "order": ["9"]}]
    assert told({"zip": ["kuru"]}, columns, table="disease,zip\nflu,1\n") == ""
    loose = [DISEASE | {"note": "kuru"}]
    assert told({"zip": ["kuru"]}, loose) == "'manifest.json' tells 1 value of 'zip'."


def test_values_are_compared_as_their_columns_type() -> None:
    """A number in another spelling is the same number; digits of a text that are not, are not."""
    number = [{"name": "n", "type": "numeric", "domain": ["5", "9.50"]}]
    assert told({"n": [9.5]}, number, table="n\n5.0\n") == "'manifest.json' tells 1 value of 'n'."
    assert told({"n": [5]}, number, table="n\n5.0\n") == ""
    text = [{"name": "n", "type": "categorical", "order": ["007"]}]
    assert told({"n": ["007"]}, text, table="n\n007\n") == ""
    assert told({"n": ["07"]}, text, table="n\n007\n") == ""


def test_both_ends_of_bounds_belong_to_their_column() -> None:
    columns = [{"name": "n", "type": "numeric", "columns": ["low", "high"], "domain": ["1", "9"]}]
    assert told({"n": [1, 9]}, columns, table="low,high\n1,9\n") == ""
    assert told({"n": [1, 9]}, columns, table="low,high\n1,8\n") == "'manifest.json' tells 1 value of 'n'."


@pytest.mark.parametrize(
    "sentence, cells, declared, found",
    [
        ("seen kuru", "flu", {}, True),
        ("seen KURU", "flu", {}, True),
        ("seen kuru", "kuru", {}, False),
        ("seen kuru", "a \\{kuru\\|", {}, False),
        ("seen kuru", "flu", {"zip": ["Kuru"]}, False),
        ("seen kuru", "flu", {"": ["kuru case"]}, False),
        ("seen kuru", "flu", {"zip": ["kuru case"]}, True),
    ],
)
def test_a_value_in_a_sentence(sentence: str, cells: str, declared: dict[str, Any], found: bool) -> None:
    said = told({"other": ["kuru"]}, table=f"disease\n{cells}\n", declared=declared, statement=sentence)
    assert said == ("'manifest.json' tells 1 value of 'other'." if found else "")


def parquet(frame: pl.DataFrame) -> str:
    data = io.BytesIO()
    frame.write_parquet(data)
    files = {"manifest.json": b'{"columns": []}', "release.parquet": data.getvalue()}
    return problems(check_leaks(files, {}, Sayable(declared={}, labels={})))


def test_what_a_parquet_file_may_hold() -> None:
    """Categories may be of rows that are gone: a column of them is refused although its bytes are its own."""
    plain = pl.DataFrame({"a": ["x"], "b": [1], "c": [0.5], "d": [datetime(2020, 1, 1)], "e": [True]})
    assert parquet(plain) == ""
    mixed = plain.with_columns(f=pl.Series(["y"], dtype=pl.Categorical))
    assert parquet(mixed) == "'release.parquet' holds more than its cells."


def test_cells_of_a_parquet_file_are_shown() -> None:
    data = io.BytesIO()
    pl.DataFrame({"disease": ["kuru"]}).write_parquet(data)
    manifest = json.dumps({"columns": [DISEASE | {"order": ["kuru"]}]}).encode()
    files = {"manifest.json": manifest, "release.parquet": data.getvalue()}
    assert problems(check_leaks(files, {"disease": [pl.Series(["kuru"])]}, Sayable(declared={}, labels={}))) == ""


@pytest.mark.parametrize(
    "files, error",
    [
        ({"manifest.json": b"{"}, "JSONDecodeError"),
        ({}, "KeyError"),
        ({"manifest.json": b'{"columns": []}', "release.parquet": b"x"}, "ComputeError"),
    ],
)
def test_files_that_cannot_be_read(files: dict[str, bytes], error: str) -> None:
    found = check_leaks(files, {}, Sayable(declared={}, labels={}))
    assert problems(found) == f"the files cannot be read ({error})."


@pytest.mark.parametrize(
    ("batches", "left"),
    [
        ([["flu", "kuru"], ["flu", "kuru"]], 1),
        ([["kuru", "flu"], ["flu"], ["gout", "kuru"], ["gout"]], 0),
        ([["gout", None], [None], ["flu"], ["gout", "flu"]], 1),
    ],
)
def test_cells_are_known_from_whichever_batch_they_were_in(batches: list[list[str | None]], left: int) -> None:
    """Those of the batch before are not looked at again, and all others are."""
    found = Leaks({"manifest.json": json.dumps({"columns": [], "note": "kuru gout"}).encode()}, NOTHING)
    for cells in batches:
        found.see(pl.DataFrame({"disease": cells}, schema={"disease": pl.String}))
    found.read("disease", pl.Series(["kuru", "gout", "flu"]))
    assert problems(found.report()) == (f"'manifest.json' tells {left} value of 'disease'." if left else "")
