"""Files that are made to harm whoever reads them: the process that reads for pages takes the harm, not the server."""

from __future__ import annotations

import contextlib
import errno
import gzip
import json
import os
import re
import resource
import signal
import struct
import subprocess
import time
import zipfile
import zlib
from collections.abc import Iterator
from datetime import date, datetime
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import numpy as np
import polars as pl
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from fastapi import FastAPI

from shoal.errors import HierarchyError, InputError, InternalError, MissingExtraError, RefusalError
from shoal.web.jobs import sandbox
from shoal.web.preview import cache as module
from shoal.web.preview import class_counts, hierarchy_view, looks, values_view
from shoal.web.preview.cache import TooMuch, apart
from shoal.web.preview.place import Place
from tests.web.conftest import sign_in
from tests.web.working import RECIPE, add_project

SOURCE = '[source]\npath = "{}"\n[roles]\nquasi = ["age", "town"]\n'
ROWS = "age,town\n" + "".join(f"{20 + at % 50},town-{at % 7}\n" for at in range(200))


@pytest.fixture
def little_memory(monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    """Processes with so little that a file need not be large to be too large."""
    module.end_all()
    monkeypatch.setattr(module, "MEMORY", 700 << 20)
    yield
    module.end_all()


class Panic(BaseException):
    """As Polars raises them: no Exception."""


def _raise(kind: str) -> None:
    if kind == "panic":
        raise Panic("zyzzyva")
    if kind == "refusal":
        raise RefusalError("This is not done.", ["W-A"])
    if kind == "missing":
        raise MissingExtraError("This", "that", "those")
    if kind == "full":
        raise OSError(errno.ENOSPC, "No space left on device")
    if kind == "system":
        raise FileNotFoundError(2, "No such file or directory")
    raise HierarchyError("A sentence.")


def _returned(found: object) -> object:
    return found


def _memory() -> int:
    held = [bytearray(64 << 20) for _ in range(64)]
    return len(held)


def test_what_is_returned_and_raised_comes_back() -> None:
    assert apart(divmod, 17, 5) == (3, 2)
    assert apart(os.getpid) != os.getpid()
    assert apart(os.getpid) == apart(os.getpid)  # one that is warm is used again
    with pytest.raises(HierarchyError, match=r"^A sentence\.$"):
        apart(_raise, "")
    with pytest.raises(RefusalError, match="To accept this, add \"W-A\" to 'acknowledge'"):
        apart(_raise, "refusal")
    with pytest.raises(MissingExtraError, match=r"pip install 'shoal\[those\]'"):
        apart(_raise, "missing")
    with pytest.raises(InputError, match=r"cannot be read \(No such file or directory\): upload it again"):
        apart(_raise, "system")
    with pytest.raises(OSError, match="No space left"):  # which is told as such
        apart(_raise, "full")
    with pytest.raises(InternalError, match=r"^Panic while a file was read for a page: tell whoever runs the server"):
        apart(_raise, "panic")


def test_an_answer_is_data_and_nothing_that_could_be_called() -> None:
    plain = [{"a", 1}, date(2027, 1, 31), datetime(2027, 1, 31, 5), np.float64(1.5), np.int32(3), (1, {2: b"x"}), None]
    assert apart(_returned, plain) == plain
    for harmful in (os.system, _raise, subprocess.Popen, TooMuch, Path("x")):
        with pytest.raises(InternalError, match="TypeError while a file was read for a page"):
            apart(_returned, harmful)


def test_what_a_process_that_was_taken_over_sends_calls_and_changes_nothing(monkeypatch: pytest.MonkeyPatch) -> None:
    """An answer is no pickle: a few bytes of one change a class of the server, or take all of its memory."""
    from shoal.web.settings import Settings

    changes = b"\x80\x04cshoal.web.settings\nSettings\nN}\x8c\x0ajob_memoryK\x01s\x86b."
    known = [Settings.__name__, ["job_memory", 1]]
    forged = [
        changes, b"null", b"[]", b'["done"]', b'["other", 1, true]', b"[" * 100_000, b'["progress", "a", "b"]',
        b'["done", 1' + 5000 * b"1" + b", true]", b'["done", {"tuple": [1], "set": []}, true]',
        b'["done", {"set": [[]]}, true]', b'["failed", ["x", "y"], true]',
        *(
            json.dumps(["done", {"class": one}, True]).encode()
            for one in (
                ["shoal.web.settings", *known], ["os", "system", [["command", "true"]]],
                ["shoal.web.preview.place", "Place", [["recipe", 1]]],
                ["shoal.web.preview.cache", "InputError", []], ["shoal.web.preview.cache", "apart.__globals__", []],
            )
        ),
        *(json.dumps(["refused", [*one, "x"], True]).encode() for one in (("os", "system"), ("shoal.spark", "Any"))),
    ]  # fmt: skip
    with contextlib.closing(module.Reader()) as reader:
        for content in forged:
            monkeypatch.setattr(sandbox, "receive", lambda source, most, content=content: content)
            with pytest.raises(InternalError, match="something in it that no answer has"):
                reader.told()
    assert Settings.__dict__.get("job_memory") != 1


def test_what_ends_the_process_is_refused_and_another_takes_its_place() -> None:
    first = apart(os.getpid)
    with pytest.raises(TooMuch, match="ended on the way, perhaps because it takes more than the 2,048 MiB of memory"):
        apart(os.abort)
    assert apart(os.getpid) != first


def test_what_takes_too_long_is_ended() -> None:
    process = apart(os.getpid)
    started = time.monotonic()
    with pytest.raises(TooMuch, match=r"longer than the 0\.3 seconds that pages have"):
        apart(time.sleep, 300, seconds=0.3)
    assert time.monotonic() - started < 60
    with pytest.raises(ProcessLookupError):
        os.kill(process, 0)


def test_what_takes_too_much_memory_is_refused(little_memory: None) -> None:
    with pytest.raises(TooMuch, match="more than the 700 MiB of memory"):
        apart(_memory)
    assert apart(divmod, 17, 5) == (3, 2)


def test_an_answer_has_an_end(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(module, "_MOST", 1000)
    with pytest.raises(TooMuch, match="^To show this takes more than"):
        apart(bytes, 2000)


def test_those_that_ended_while_they_waited_are_let_go_of(monkeypatch: pytest.MonkeyPatch) -> None:
    """Also where one waits above them, which is taken first."""

    class Waiting:
        def __init__(self, waits: bool) -> None:
            self.waits, self.ended = waits, False

        def close(self) -> None:
            self.ended = True

    gone, first, last = Waiting(False), Waiting(True), Waiting(True)
    monkeypatch.setattr(module, "_idle", [gone, first, last])
    assert module._taken_apart() is last  # type: ignore[comparison-overlap]
    assert (module._idle, gone.ended, first.ended, last.ended) == ([first], True, False, False)


def test_one_that_cannot_be_waited_for_is_ended(monkeypatch: pytest.MonkeyPatch) -> None:
    started = []

    def start(*given: Any, **named: Any) -> subprocess.Popen[bytes]:
        started.append(subprocess.Popen(["sleep", "30"], **named))
        return started[0]

    def refuse(*given: Any) -> None:
        raise RuntimeError("can't start new thread")

    monkeypatch.setattr(module, "Timer", refuse)
    monkeypatch.setattr(sandbox, "subprocess", SimpleNamespace(**{**vars(subprocess), "Popen": start}))
    with pytest.raises(RuntimeError, match="new thread"):
        module.Reader()
    assert started[0].poll() == -signal.SIGKILL


def test_the_system_ends_it_where_nobody_else_can() -> None:
    now, _ = apart(resource.getrlimit, resource.RLIMIT_CPU)
    assert 600 <= now < 3600


def test_it_knows_no_secret_of_the_server(monkeypatch: pytest.MonkeyPatch) -> None:
    module.end_all()
    monkeypatch.setenv("SHOAL_PASSPHRASE", "zyzzyva")
    assert apart(os.getenv, "SHOAL_PASSPHRASE") is None
    assert apart(os.getenv, "PATH") == os.environ["PATH"]


def workbook(path: Path) -> None:
    pl.read_csv(ROWS.encode()).write_excel(path)


def sparse(path: Path) -> None:
    """A few kilobytes: two cells at opposite ends of a sheet, between which a reader makes room for all others."""
    import xlsxwriter

    with xlsxwriter.Workbook(str(path)) as book:
        sheet = book.add_worksheet()
        sheet.write_row(0, 0, ["age", "town"])
        sheet.write(1_048_575, 16_383, "x")


def lying(path: Path, unpacked: int = 600 << 20) -> None:
    """A workbook whose texts unpack to far more bytes than its directory says."""
    workbook(path)
    with zipfile.ZipFile(path) as book:
        parts = {one.filename: book.read(one) for one in book.infolist()}
    packer = zlib.compressobj(1, zlib.DEFLATED, -15)
    head = b'<sst xmlns="http://schemas.openxmlformats.org/spreadsheetml/2006/main"><si><t>'
    pieces = [packer.compress(head)] + [packer.compress(b"A" * (1 << 20)) for _ in range(unpacked >> 20)]
    pieces += [packer.compress(b"</t></si></sst>"), packer.flush()]
    bomb, entries, at = b"".join(pieces), b"", 0
    with path.open("wb") as file:
        for name, content in parts.items():
            is_bomb = name == "xl/sharedStrings.xml"
            deflate = zlib.compressobj(9, zlib.DEFLATED, -15)
            data = bomb if is_bomb else deflate.compress(content) + deflate.flush()
            sizes = (len(data), len(content), len(name), 0)
            facts = struct.pack("<HHHHHIIIHH", 20, 0, 8, 0, 33, zlib.crc32(content), *sizes)
            written = b"PK\3\4" + facts + name.encode() + data
            more = struct.pack("<HHHII", 0, 0, 0, 0, at)
            entries += b"PK\1\2" + struct.pack("<H", 20) + facts + more + name.encode()
            file.write(written)
            at += len(written)
        file.write(entries + b"PK\5\6" + struct.pack("<HHHHIIH", 0, 0, len(parts), len(parts), len(entries), at, 0))


@pytest.mark.parametrize("make", [sparse, lying])
def test_a_workbook_that_is_made_to_harm_is_told(tmp_path: Path, little_memory: None, make: object) -> None:
    make(tmp_path / "people.xlsx")  # type: ignore[operator]
    assert (tmp_path / "people.xlsx").stat().st_size < 4 << 20
    with zipfile.ZipFile(tmp_path / "people.xlsx") as book:
        assert sum(one.file_size for one in book.infolist()) < 1 << 20  # as it says
    place = Place(tmp_path, SOURCE.format("people.xlsx"))
    found, why = looks.try_look(place)
    assert found is None
    assert "memory that pages have" in why
    with pytest.raises(InputError, match="memory that pages have"):
        class_counts.class_counts(place, {})


def test_a_workbook_of_rows_is_read(tmp_path: Path) -> None:
    workbook(tmp_path / "people.xlsx")
    place = Place(tmp_path, SOURCE.format("people.xlsx"))
    assert looks.look(place).rows == 200
    assert class_counts.class_counts(place, {}).rows == 200


def test_classes_are_counted_in_no_thread_of_the_server(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "people.csv").write_text(ROWS)
    for name in ("unique", "bincount", "stack"):
        monkeypatch.delattr(class_counts.np, name)  # another process has its own
    assert class_counts.class_counts(Place(tmp_path, SOURCE.format("people.csv")), {}).rows == 200


def test_parquet_of_one_long_text_in_very_many_rows_is_told(
    tmp_path: Path, little_memory: None, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A dictionary holds the text once, packed; every row that is read has it."""
    monkeypatch.setattr(module, "SECONDS", 4.0)
    towns = pa.DictionaryArray.from_arrays(pa.array([0] * 2000, pa.int32()), pa.array(["x" * (4 << 20)]))
    table = pa.table({"age": list(range(2000)), "town": towns})
    pq.write_table(table, tmp_path / "people.parquet", compression="zstd", store_schema=False, write_statistics=False)
    assert (tmp_path / "people.parquet").stat().st_size < 1 << 20
    found, why = looks.try_look(Place(tmp_path, SOURCE.format("people.parquet")))
    assert (found, "that pages have, though jobs have more" in why) == (None, True)


def test_a_long_cell_is_shortened(tmp_path: Path) -> None:
    (tmp_path / "people.csv").write_text(f"age,town\n99,{'y' * 5000}\n" + ROWS.partition("\n")[2])
    first = looks.look(Place(tmp_path, SOURCE.format("people.csv"))).head[0]
    assert first == ("99", "y" * 399 + "…")


def test_an_encoding_that_unpacks_is_none_of_text(tmp_path: Path) -> None:
    """A kilobyte of bz2 is a gigabyte, and Python has a codec of that name."""
    (tmp_path / "people.csv").write_text(ROWS)
    for encoding in ("bz2", "zlib", "rot13"):
        text = SOURCE.format("people.csv").replace("\n", f'\nencoding = "{encoding}"\n', 1)
        found, why = looks.try_look(Place(tmp_path, text))
        assert (found, f"is not {encoding} text" in why) == (None, True)


def test_files_beside_the_source_have_an_end_for_pages(tmp_path: Path) -> None:
    (tmp_path / "people.csv").write_text(ROWS)
    with (tmp_path / "town.csv").open("wb") as file:
        file.truncate(9 << 20)
    entries = {
        "hierarchies.town": '[hierarchies]\ntown = "town.csv"\n',
        "research.values": '[research]\nvalues = "town.csv"\n',
        "workload.queries": '[workload]\nqueries = "town.csv"\n',
    }  # fmt: skip
    for where, entry in entries.items():
        place = Place(tmp_path, SOURCE.format("people.csv") + entry)
        with pytest.raises(InputError, match=rf"'town.csv' in '{where}' is larger than the 8 MiB that pages read"):
            values_view.values_view(place)


def test_a_population_that_is_large_is_left_out_and_a_small_one_is_read(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("shoal.web.preview.head.LOOKED_AT", 64 << 10)
    (tmp_path / "people.csv").write_text(ROWS)
    (tmp_path / "all.csv").write_text(ROWS)
    text = SOURCE.format("people.csv").replace("\n", '\npopulation = "{}"\n', 1)
    small = Place(tmp_path, text.format("all.csv"))
    assert small.seen.population == "all.csv"
    (tmp_path / "all.csv.gz").write_bytes(gzip.compress(b"age,town\n" + b"1,nobody\n" * 20_000))
    workbook(tmp_path / "many.xlsx")
    with zipfile.ZipFile(tmp_path / "many.xlsx", "a", zipfile.ZIP_DEFLATED) as book:
        book.writestr("xl/more", bytes(1 << 20))
    for name in ("all.csv.gz", "many.xlsx"):
        place = Place(tmp_path, text.format(name))
        assert place.seen.population is None
        assert place.recipe.source.population == name
        assert class_counts.class_counts(place, {}).rows == 200
        assert values_view.values_view(place).columns
    assert not (tmp_path / ".beginnings").exists()  # nobody would read a copy of it
    broken = Place(tmp_path, text.format("nowhere.csv"))
    with pytest.raises(InputError, match="There is no file"):
        class_counts.class_counts(broken, {})


def test_a_folder_is_not_looked_into(tmp_path: Path) -> None:
    (tmp_path / "many").mkdir()
    pl.read_csv(ROWS.encode()).write_parquet(tmp_path / "many" / "a.parquet")
    for path in ("many", "many/*.parquet"):
        place = Place(tmp_path, SOURCE.format(path) + '[engine]\nname = "duckdb"\n')
        told = "The source is a folder of files, which pages do not look into: jobs do."
        assert looks.try_look(place) == (None, told)
        with pytest.raises(InputError, match="folder of files"):
            values_view.values_view(place)


@pytest.mark.parametrize("name", ["people.csv", "people.csv.gz", "people.parquet", "people.xlsx", "x" * 300])
def test_a_file_that_the_system_does_not_give_is_told(tmp_path: Path, name: str) -> None:
    """Of a disk that is broken, or whose rights were taken away; of some not even whether they are there."""
    if len(name) < 300:
        (tmp_path / name).symlink_to("/proc/self/mem")
    place = Place(tmp_path, SOURCE.format(name))
    assert place.whole
    found, why = looks.try_look(place)
    assert (found, "cannot be read" in why, "None" in why) == (None, True, False)
    assert [why in one.problem for one in hierarchy_view.hierarchy_lines(place)] == [True, True]
    for show in (class_counts.class_counts, values_view.values_view, hierarchy_view.tree_view):
        given = {"class_counts": ({},), "tree_view": ("age",)}.get(show.__name__, ())
        with pytest.raises(InputError, match="cannot be read"):
            show(place, *given)  # type: ignore[operator]


def test_a_column_of_very_many_values_has_a_page_without_proposals(tmp_path: Path) -> None:
    rows = 20_000
    lines = "".join(f"{at % 90},{at}\n" for at in range(rows))
    (tmp_path / "people.csv").write_text("age,town\n" + lines)
    found = hierarchy_view.tree_view(Place(tmp_path, SOURCE.format("people.csv")), "town")
    assert (found.many, found.proposals, found.records) == (True, (), rows)


def test_a_page_of_such_a_file_says_so_and_the_server_goes_on(app: FastAPI, little_memory: None) -> None:
    project = add_project(app, RECIPE.replace("people.csv", "people.xlsx"))
    sparse(app.state.settings.projects / project.id / "source" / "people.xlsx")
    browser = sign_in(app, "custodian")
    for tab, status in (("data", 200), ("hierarchies", 200), ("hierarchies/age", 422), ("values", 200)):
        answer = browser.get(f"/projects/{project.id}/{tab}")
        assert (tab, answer.status_code) == (tab, status)
        assert "MiB of memory that pages have" in answer.text
    assert re.search(r"<h1>\s*Projects", browser.get("/").text)
