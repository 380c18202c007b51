"""Large sources: pages look at a private copy of their beginning, and say so."""

from __future__ import annotations

import gzip
import os
import time
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from threading import Event

import polars as pl
import pytest

from shoal.errors import InputError
from shoal.web.preview import class_counts, head, looks
from shoal.web.preview.cache import remembered
from shoal.web.preview.place import Place

RECIPE = '[source]\npath = "{}"  # here\n[roles]\nquasi = ["age", "town"]\n'
ROWS = 20_000


@pytest.fixture(autouse=True)
def _small(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(head, "LOOKED_AT", 64 << 10)
    monkeypatch.setattr(head, "_ROWS", 1000)


def frame() -> pl.DataFrame:
    return pl.DataFrame({"age": [at % 90 for at in range(ROWS)], "town": [f"town-{at}" for at in range(ROWS)]})


@pytest.mark.parametrize("name", ["people.csv", "people.csv.gz", "people.parquet"])
def test_pages_read_the_beginning_of_a_large_file(tmp_path: Path, name: str) -> None:
    path = tmp_path / name
    if name.endswith(".parquet"):
        frame().write_parquet(path, compression="uncompressed")
    else:
        text = frame().write_csv().encode()
        path.write_bytes(gzip.compress(text, 1) if name.endswith(".gz") else text)
    place = Place(tmp_path, RECIPE.format(name))
    assert not place.whole
    found = looks.look(place)
    assert 0 < found.rows < ROWS
    assert not found.whole
    counts = class_counts.class_counts(place, {})
    assert counts.rows == found.rows
    assert place.recipe.source.path == name
    for one in (tmp_path / head.FOLDER).rglob("*"):
        assert one.stat().st_mode & 0o077 == 0


def test_a_small_archive_that_holds_much_is_read_from_its_beginning(tmp_path: Path) -> None:
    """Of a kilobyte that unpacks to megabytes, pages unpack no more than they look at."""
    (tmp_path / "people.csv.gz").write_bytes(gzip.compress(b"age,town\n" + b"40,Ulm\n" * 400_000))
    assert (tmp_path / "people.csv.gz").stat().st_size < head.LOOKED_AT // 8
    place = Place(tmp_path, RECIPE.format("people.csv.gz"))
    assert not place.whole
    assert looks.look(place).rows == 1000
    assert class_counts.class_counts(place, {}).rows == 1000
    copy = tmp_path / str(place.seen.path)
    assert (copy.name, copy.read_bytes()) == ("people.csv", b"age,town\n" + b"40,Ulm\n" * 1000)
    few = tmp_path / "few.csv.gz"
    few.write_bytes(gzip.compress(b"age,town\n" + b"40,Ulm\n" * 1000))
    place = Place(tmp_path, RECIPE.format("few.csv.gz"))
    assert (place.whole, looks.look(place).rows) == (True, 1000)


@pytest.mark.parametrize("line", [b"1\n", b"1,2,3,4,5,6,7,8,9\n"])
def test_rows_have_an_end_however_short_they_are(line: bytes) -> None:
    bounds = head.Bounds(bytes=1 << 30, rows=1000, cells=60_000)
    assert head.within(line * 20_000, bounds) == len(line) * 1001  # a header, and as many rows
    assert [head.within(line * lines, bounds) for lines in (0, 1001)] == [0, len(line) * 1001]


def test_cells_have_an_end_however_empty_they_are() -> None:
    bounds, line = head.Bounds(bytes=1 << 30, rows=1000, cells=60_000), b"," * 99 + b"\n"
    assert 600 <= head.within(line * 20_000, bounds) // len(line) < 700  # they are counted by the block
    assert head.within(line * 600, bounds) == len(line) * 600


def test_a_page_that_waits_for_its_source_keeps_no_other_waiting(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "people.csv").write_text("age,town\n1,a\n")
    (tmp_path / "slow.csv").write_text("age,town\n1,a\n")
    begun, end = Event(), Event()

    def waits(folder: Path, path: Path) -> None:
        if path.name == "slow.csv":
            begun.set()
            assert end.wait(60)

    monkeypatch.setattr("shoal.web.preview.place.beginning", waits)
    with ThreadPoolExecutor(2) as pool:
        slow = pool.submit(lambda: Place(tmp_path, RECIPE.format("slow.csv")).whole)
        assert begun.wait(10)
        try:
            assert pool.submit(lambda: Place(tmp_path, RECIPE.format("people.csv")).whole).result(10)
        finally:
            end.set()
        assert slow.result()


def test_a_small_file_is_read_whole_and_a_newer_one_replaces_the_copy(tmp_path: Path) -> None:
    path = tmp_path / "people.csv"
    path.write_text("age,town\n" + "".join(f"{at},a\n" for at in range(30)))
    assert Place(tmp_path, RECIPE.format("people.csv")).whole
    for rows in (ROWS, ROWS + 1):
        frame().head(rows).vstack(frame().head(rows - ROWS)).write_csv(path)
        assert not Place(tmp_path, RECIPE.format("people.csv")).whole
    root = tmp_path / head.FOLDER
    assert len(list(root.iterdir())) == 2  # a page may still look at the older one
    (root / "left-by-one-that-was-killed").mkdir()
    for one in root.iterdir():
        os.utime(one, (0, 0))
    assert head.beginning(tmp_path, path) is not None
    assert len(list(root.iterdir())) == 1


@pytest.mark.parametrize("name", ["people.csv", "people.xlsx"])
def test_rows_that_were_copied_go_where_the_file_is_small_now(tmp_path: Path, name: str) -> None:
    """Somebody replaced a large file by one without names; and a process was killed while it had values in a file."""
    root = tmp_path / head.FOLDER
    for one in ("of-the-one-before", "left-by-one-that-was-killed", "just-now"):
        (root / one).mkdir(parents=True)
        if one != "just-now":
            os.utime(root / one, (0, 0))
    (tmp_path / name).write_text("age,town\n1,Ulm\n")
    assert head.beginning(tmp_path, tmp_path / name) is None
    assert [one.name for one in root.iterdir()] == ["just-now"]


def test_another_file_of_the_same_moment_and_size_has_a_copy_of_its_own(tmp_path: Path) -> None:
    for name in ("one.csv", "two.csv"):
        frame().write_csv(tmp_path / name)
        os.utime(tmp_path / name, (5, 5))
        found = head.beginning(tmp_path, tmp_path / name)
        assert found is not None
        assert found.name == name


def test_a_text_of_two_bytes_a_character_ends_with_a_whole_one(tmp_path: Path) -> None:
    (tmp_path / "people.csv").write_bytes(frame().write_csv().encode("utf-16"))
    found, why = looks.try_look(Place(tmp_path, RECIPE.format("people.csv").replace("# here", '\nencoding = "utf-16"')))
    assert why == ""
    assert found is not None
    assert 0 < found.rows < ROWS


@pytest.mark.parametrize(("text", "kept"), [
    (b"a\n1\n2", b"a\n1\n"),
    (b'a\n1\n"2\n3', b"a\n1\n"),
    (b'a\n1\n"2\n\n3\n4', b"a\n1\n"),
    (b'a\n"1\n"\n2', b'a\n"1\n"\n'),
    (b"no break", b"no break"),
    (b'a"b\n1\n2\n3', b'a"b\n1\n2\n'),
    (b'"a\nb"', b'"a\n'),
    ("\ufeffa\n\u2200\n\u2264\u2265\n2".encode("utf-16-le"), "\ufeffa\n\u2200\n\u2264\u2265\n".encode("utf-16-le")),
    ('\ufeffa\n"\u2200\n2'.encode("utf-16-be") + b"\0", "\ufeffa\n".encode("utf-16-be")),
    ("\ufeffa\n1\u0a0a\n2".encode("utf-16-le"), "\ufeffa\n1\u0a0a\n".encode("utf-16-le")),
    ("\ufeffa\n\u0a00\u000a1".encode("utf-16-be"), "\ufeffa\n\u0a00\n".encode("utf-16-be")),
])  # fmt: skip
def test_no_cell_and_no_character_is_cut(text: bytes, kept: bytes) -> None:
    assert head.whole_lines(text) == kept


def test_a_stray_quote_does_not_cost_the_text() -> None:
    lines = b"a\n" + b'5" pipe\n' + b"b\n" * 5000
    assert head.whole_lines(lines + b"c") == lines


def test_a_damaged_archive_is_told(tmp_path: Path) -> None:
    packed = gzip.compress(frame().write_csv().encode(), 0)
    (tmp_path / "people.csv.gz").write_bytes(packed[:40_000])
    found, why = looks.try_look(Place(tmp_path, RECIPE.format("people.csv.gz")))
    assert (found, why) == (None, "'people.csv.gz' is not a whole gzip file: check how it was made.")


def test_a_page_that_asks_meanwhile_sees_a_whole_copy(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A second page comes while the first one writes: both get the same file, and neither a part of it."""
    frame().write_csv(tmp_path / "people.csv")
    place, inner = tmp_path / head.FOLDER / "stamp" / "people.csv", head.write_whole
    bounds = head.Bounds(bytes=64 << 10, rows=1000, cells=10_000)
    seen: list[bytes] = []

    def slow(target: Path, content: bytes) -> None:
        target.write_bytes(content[:20])
        if not seen:
            seen.append(b"")
            assert head.make_beginning(tmp_path / "people.csv", place, bounds)
            seen[0] = place.read_bytes()
        inner(target, content)

    monkeypatch.setattr(head, "write_whole", slow)
    assert head.make_beginning(tmp_path / "people.csv", place, bounds)
    assert seen == [place.read_bytes()]
    assert seen[0].count(b"\n") == 1001
    assert [one.name for one in place.parent.parent.iterdir()] == ["stamp"]


@pytest.mark.parametrize("moment", ["_first_lines", "write_whole"])
def test_no_copy_is_left_of_a_file_that_is_replaced_while_it_is_read(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, moment: str
) -> None:
    """An upload ends, and removes all copies, between the read of the old file and the making of its copy."""
    path, inner = tmp_path / "people.csv", getattr(head, moment)
    path.write_text("age,name\n" + "40,Smith\n" * ROWS)

    def late(*given: object) -> object:
        monkeypatch.setattr(head, moment, inner)
        part = inner(*given)
        frame().write_csv(tmp_path / "new")
        os.replace(tmp_path / "new", path)
        head.forget_copies(tmp_path)
        return part

    monkeypatch.setattr(head, moment, late)
    monkeypatch.setattr(head, "apart", lambda function, *given, within: function(*given))
    found = head.beginning(tmp_path, path)
    assert found is not None
    assert found.read_text().startswith("age,town\n")
    assert list((tmp_path / head.FOLDER).iterdir()) == [found.parent]


def test_a_workbook_that_unpacks_to_too_much_is_for_jobs(tmp_path: Path) -> None:
    pl.DataFrame({"age": [1] * ROWS, "town": ["a"] * ROWS}).write_excel(tmp_path / "people.xlsx")
    assert (tmp_path / "people.xlsx").stat().st_size < 4 * head.LOOKED_AT
    place = Place(tmp_path, RECIPE.format("people.xlsx"))
    assert looks.try_look(place) == (
        None, "'people.xlsx' is too large for a page, not for jobs: upload it as CSV or Parquet to see it."
    )  # fmt: skip
    with pytest.raises(InputError, match="too large for a page"):
        class_counts.class_counts(place, {})


def test_parquet_that_holds_more_than_its_size_tells_is_read_from_its_beginning(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(head, "_CELLS", 1000)
    pl.DataFrame({"age": [1] * ROWS, "town": ["a"] * ROWS}).write_parquet(tmp_path / "people.parquet")
    assert (tmp_path / "people.parquet").stat().st_size < head.LOOKED_AT
    place = Place(tmp_path, RECIPE.format("people.parquet"))
    assert (place.whole, looks.look(place).rows) == (False, 500)
    pl.DataFrame({f"c{at}": [1] for at in range(1200)}).write_parquet(tmp_path / "wide.parquet")
    assert looks.look(Place(tmp_path, RECIPE.format("wide.parquet"))).rows == 1


def test_those_who_ask_together_read_once_and_few_read_at_a_time() -> None:
    reading, most, read = 0, 0, []

    @remembered(8)
    def slow(what: int) -> int:
        nonlocal reading, most
        reading += 1
        most = max(most, reading)
        time.sleep(0.01)
        read.append(what)
        reading -= 1
        return what

    with ThreadPoolExecutor(12) as pool:
        assert list(pool.map(slow, [0, 1, 2, 3] * 3)) == [0, 1, 2, 3] * 3
    assert (sorted(read), most) == ([0, 1, 2, 3], 2)


def test_what_a_recipe_says_is_not_looked_for(tmp_path: Path) -> None:
    """Said or not, a point and UTF-8 are what the reader would take; but only what was said is certain."""
    (tmp_path / "people.csv").write_bytes("age;town\n1,5;Kiel\n2,5;K\xf6ln\n3,5;Ulm\n".encode("latin-1"))
    assert looks.try_look(Place(tmp_path, RECIPE.format("people.csv")))[0] is not None
    said = RECIPE.format("people.csv").replace("\n", '\nencoding = "utf-8"\ndecimal = "."\n', 1)
    assert "is not utf-8 text" in looks.try_look(Place(tmp_path, said))[1]
