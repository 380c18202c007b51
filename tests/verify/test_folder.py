"""The verifier's own reading of a release folder: one spelling, every file accounted for, strict JSON."""

from __future__ import annotations

import hashlib
import json
import os
from collections.abc import Callable
from pathlib import Path
from typing import Any

import polars as pl
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

import shoal
from shoal.cli.main import execute
from shoal.errors import InputError, VerificationError
from shoal.release.entry import verify_release
from shoal.verify import folder as folder_module
from shoal.verify import folder as stored
from shoal.verify.folder import open_folder, read_folder
from shoal.verify.manifest import read_json


@pytest.fixture(scope="module")
def honest(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """One release as CSV and one as Parquet; not to be changed."""
    people = pl.DataFrame(
        {"age": list(range(20, 44)), "disease": ["flu", "cold", "asthma"] * 8, "note": ["a", "e", 'b"', "c,d"] * 6}
    )
    table = shoal.read(people, quasi=["age"], sensitive=["disease"], neutral=["note"])
    release = shoal.anonymize(
        table, algorithm=shoal.Mondrian(k=4), models=[shoal.DistinctL(l=2)], seed=1, acknowledge=["W-NEUTRAL"]
    )
    folder = tmp_path_factory.mktemp("honest")
    for format in ("csv", "parquet"):
        release.write(folder / format, format=format)
    return folder


@pytest.fixture
def folder(honest: Path, tmp_path: Path) -> Path:
    return copy(honest / "csv", tmp_path / "out")


def copy(source: Path, target: Path) -> Path:
    target.mkdir()
    for path in source.iterdir():
        (target / path.name).write_bytes(path.read_bytes())
    return target


def refused(folder: Path) -> str:
    with pytest.raises(VerificationError) as caught:
        read_folder(folder)
    message = str(caught.value)
    assert (message[-1], message.count("\n")) == (".", 0)
    return message


def rewrite(folder: Path, name: str, content: bytes) -> None:
    """Replace a file of a release, and make its hash in the manifest fit."""
    (folder / name).write_bytes(content)
    manifest = json.loads((folder / "manifest.json").read_bytes())
    part = manifest["report" if name == "report.html" else "data"]
    part["sha256"] = hashlib.sha256(content).hexdigest()
    (folder / "manifest.json").write_text(json.dumps(manifest), "utf-8")


@pytest.mark.parametrize("format", ["csv", "parquet"])
def test_an_honest_release_is_read(honest: Path, format: str) -> None:
    tables, manifest = read_folder(honest / format)
    assert (tables["release"].height, manifest["data"]["rows"]) == (24, 24)


# Files


@pytest.mark.parametrize("format", ["csv", "parquet"])
@pytest.mark.parametrize("name", ["release", "manifest.json", "report.html"])
def test_a_link_in_the_place_of_a_file(honest: Path, tmp_path: Path, format: str, name: str) -> None:
    """The bytes are right today; tomorrow the link may lead to others, and where it is sent it leads to nothing."""
    folder = copy(honest / format, tmp_path / "out")
    path = folder / (f"release.{format}" if name == "release" else name)
    path.rename(tmp_path / path.name)
    path.symlink_to(tmp_path / path.name)
    assert refused(folder) == f"'{path.name}' is a symbolic link: put the file itself into the folder."
    with pytest.raises(VerificationError, match="symbolic link"):
        verify_release(folder)


def test_a_link_to_the_folder_is_followed(folder: Path, tmp_path: Path) -> None:
    (tmp_path / "latest").symlink_to(folder)
    assert verify_release(tmp_path / "latest").passed


@pytest.mark.parametrize("audience", ["external", "internal"])
def test_no_report_is_made_of_a_changed_table(folder: Path, audience: str) -> None:
    table = folder / "release.csv"
    table.write_bytes(table.read_bytes() + table.read_bytes().splitlines(True)[-1])
    with pytest.raises(VerificationError, match="its hash differs"):
        shoal.report(folder, audience=audience, format="md")
    table.unlink()
    with pytest.raises(InputError, match="release.csv"):
        shoal.report(folder, audience=audience, format="md")


def test_a_table_that_changes_while_it_is_verified_is_not_passed(folder: Path) -> None:
    table = folder / "release.csv"
    data = table.read_bytes()
    told = []

    def step(said: str) -> None:
        told.append(said)
        table.write_bytes(data[:-2] + bytes([data[-2] ^ 1]) + data[-1:])

    with pytest.raises(VerificationError, match="its hash differs"):
        verify_release(folder, progress=step)
    assert told


def test_a_replaced_report(folder: Path) -> None:
    (folder / "report.html").write_text("<p>This release is 50-anonymous.</p>")
    assert "'report.html' is not the file that the manifest describes" in refused(folder)


@pytest.mark.parametrize("words", [b"50-anonymous", b"<!-- all people agreed --></html>\n"])
def test_a_replaced_report_whose_hash_fits(folder: Path, words: bytes) -> None:
    raw = (folder / "report.html").read_bytes()
    rewrite(folder, "report.html", raw.replace(b"4-anonymous", words) if words[:1] != b"<" else raw + words)
    (failed,) = [check for check in verify_release(folder).checks if not check.passed]
    assert failed.detail == "The report is not what the manifest says in words."


def test_a_report_of_another_version_is_not_taken_on_trust(folder: Path) -> None:
    manifest = json.loads((folder / "manifest.json").read_bytes())
    (folder / "manifest.json").write_text(json.dumps(manifest | {"shoal": "0.0.1"}), "utf-8")
    (failed,) = [check for check in verify_release(folder).checks if not check.passed]
    assert "verify it with Shoal 0.0.1" in failed.detail


@pytest.mark.parametrize("name", ["manifest.json", "release.csv", "report.html"])
def test_a_pipe_in_place_of_a_file_is_not_waited_for(folder: Path, name: str) -> None:
    (folder / name).unlink()
    os.mkfifo(folder / name)
    with pytest.raises(InputError, match="is no file"):
        read_folder(folder)


@pytest.mark.parametrize("name", ["raw.csv", ".hidden", "release.parquet", "sensitive.csv", "notes/raw.csv"])
def test_a_file_that_nobody_lists(folder: Path, name: str) -> None:
    (folder / name).parent.mkdir(exist_ok=True)
    (folder / name).write_text("x")
    assert f"also holds '{name.partition('/')[0]}'" in refused(folder)


@pytest.mark.parametrize(
    "change",
    [
        lambda raw: b"\xef\xbb\xbf" + raw,
        lambda raw: raw.replace(b"\n", b"\r\n"),
        lambda raw: raw + b"\n",
        lambda raw: raw.rstrip(b"\n"),
        lambda raw: raw.replace(b"flu", b'"flu"'),
        lambda raw: raw.replace(b",e\n", b",\n", 1),
        lambda raw: raw.replace(b"age,", b"age,age,", 1),
        lambda raw: raw + b"ragged\n",
        lambda raw: raw.replace(b"flu", b"fl\xff", 1),
        lambda raw: b"",
    ],
    ids=["mark", "line ends", "blank line", "no end", "quotes", "empty cell", "name twice", "ragged", "bytes", "empty"],
)
def test_csv_in_another_spelling(folder: Path, change: Callable[[bytes], bytes]) -> None:
    raw = (folder / "release.csv").read_bytes()
    assert change(raw) != raw
    rewrite(folder, "release.csv", change(raw))
    assert "'release.csv'" in refused(folder)


def test_notes_in_parquet(honest: Path, tmp_path: Path) -> None:
    folder = copy(honest / "parquet", tmp_path / "out")
    table = pq.read_table(folder / "release.parquet")
    pq.write_table(table.replace_schema_metadata({"people": "Ann, Bob"}), folder / "release.parquet")
    rewrite(folder, "release.parquet", (folder / "release.parquet").read_bytes())
    assert "notes beside its rows" in refused(folder)
    rewrite(folder, "release.parquet", b"PAR1")
    assert "cannot be read back as Parquet" in refused(folder)


# JSON


@pytest.mark.parametrize(
    "text, told",
    [
        ('{"a": 1, "b": {"k": 5, "k": 50}}', "'k' twice"),
        ('{"a": NaN}', "NaN"),
        ('{"a": -Infinity}', "Infinity"),
        ('{"a": 1e999}', "too large"),
        ('{"a": 1' + "0" * 400 + "}", "digits"),
        ('{"a": 0.' + "1" * 400 + "}", "digits"),
        ("[" * 40 + "]" * 40, "levels deep"),
        ('{"a": ' * 40 + "1" + "}" * 40, "levels deep"),
        ("[" * 100_000 + "]" * 100_000, "levels deep"),
        ('{"a": ["\\ud800"]}', "half of a character"),
        ('{"\\udfff": 1}', "half of a character"),
    ],
    ids=["twice", "NaN", "infinite", "huge", "long", "fine", "lists", "objects", "deep", "half", "half key"],
)
def test_json_that_no_manifest_needs(text: str, told: str) -> None:
    with pytest.raises(VerificationError, match=told):
        read_json(text.encode())


PLACES: dict[str, Callable[[dict[str, Any]], Any]] = {
    "top": lambda m: m,
    "data": lambda m: m["data"],
    "report": lambda m: m["report"],
    "column": lambda m: m["columns"][0],
    "verdict": lambda m: m["verdicts"][0],
    "classes": lambda m: m["classes"],
    "model": lambda m: m["models"][0],
    "digest": lambda m: m["classes"]["digest"],
}


@pytest.mark.parametrize("place", PLACES)
def test_a_key_that_nothing_checks(folder: Path, place: str) -> None:
    manifest = json.loads((folder / "manifest.json").read_bytes())
    PLACES[place](manifest)["certified_by"] = "the authority"
    (folder / "manifest.json").write_text(json.dumps(manifest), "utf-8")
    with pytest.raises(VerificationError, match="certified_by"):
        verify_release(folder)


@pytest.mark.parametrize(
    "place, more",
    [
        ("top", {"group": "ward"}),
        ("top", {"publication": "tables"}),
        ("top", {"redraw": 1}),
        ("column", {"null": "*"}),
        ("column", {"columns": ["from", "to"]}),
        ("column", {"whole": True}),
        ("column", {"builder": {"widths": [10], "origin": 0}}),
        ("column", {"days": 3}),
        ("column", {"answers": True}),
        ("column", {"hierarchy": [["*"]], "builder": {"note": "Ann has it"}}),
        ("column", {"hierarchy": [["*"]], "builder": {"prefix": [["Ann"]], "mask": "*"}}),
        ("column", {"hierarchy": [["*"]], "builder": {"intervals": {"edges": "Ann"}}}),
        ("verdict", {"by": "attested"}),
    ],
)
def test_an_entry_that_belongs_elsewhere(folder: Path, place: str, more: dict[str, Any]) -> None:
    manifest = json.loads((folder / "manifest.json").read_bytes())
    PLACES[place](manifest).update(more)
    (folder / "manifest.json").write_text(json.dumps(manifest), "utf-8")
    assert "Ann" not in refused(folder)


@pytest.mark.parametrize(
    "key, value",
    [("shoal", "trusted"), ("date", "yesterday"), ("date", "2026-1-1"), ("acknowledged", [1]), ("manifest", True)],
)
def test_words_that_cannot_be(folder: Path, key: str, value: Any) -> None:
    manifest = json.loads((folder / "manifest.json").read_bytes())
    (folder / "manifest.json").write_text(json.dumps(manifest | {key: value}), "utf-8")
    assert key in refused(folder) or "version" in refused(folder)


# Files that unpack to far more than they are


def packed(honest: Path, target: Path, column: pl.Expr, rows: int) -> Path:
    """A Parquet release of some kilobytes whose rows are one row many times, described as it is."""
    folder = copy(honest / "parquet", target)
    frame = pl.read_parquet(folder / "release.parquet").head(1).with_columns(column)
    columns = {name: pa.array(frame[name].to_list()).dictionary_encode() for name in frame.columns}
    places = pa.array([0]).take(pa.array([0] * rows))
    table = pa.table({name: pa.DictionaryArray.from_arrays(places, one.dictionary) for name, one in columns.items()})
    plain = pa.schema([(name, one.dictionary.type) for name, one in columns.items()])
    with pq.ParquetWriter(folder / "release.parquet", table.schema, store_schema=False) as writer:
        writer.write_table(table)
    assert pq.read_schema(folder / "release.parquet").equals(plain)
    content = (folder / "release.parquet").read_bytes()
    rewrite(folder, "release.parquet", content)
    manifest = json.loads((folder / "manifest.json").read_bytes())
    manifest["data"]["rows"] = rows
    (folder / "manifest.json").write_text(json.dumps(manifest), "utf-8")
    return folder


def test_rows_that_memory_does_not_hold_are_refused_by_every_command_that_holds_them(
    honest: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A release of a few kilobytes took `risk` and `attack` to gigabytes; `verify` reads it part by part."""
    bomb = packed(honest, tmp_path / "bomb", pl.lit("flu").alias("disease"), 200_000)
    assert (bomb / "release.parquet").stat().st_size < 20_000
    assert read_folder(bomb)[0]["release"].height == 200_000
    monkeypatch.setattr(folder_module, "_MOST", 1 << 20)
    read: list[int] = []
    collect = pl.LazyFrame.collect
    monkeypatch.setattr(pl.LazyFrame, "collect", lambda lazy, *a, **k: (read.append(1), collect(lazy, *a, **k))[1])
    for command in (["risk"], ["attack"], ["estimate", "--queries", "age in [20, 30]"]):
        assert execute([command[0], str(bomb), *command[1:]]) == 2
        assert len(read) <= 3  # names and rows from the end of the file, and one batch
        read.clear()
    assert execute(["verify", str(bomb)]) == 4  # for what it holds


def test_what_is_counted_of_cells_is_part_of_their_size(honest: Path, tmp_path: Path) -> None:
    """33 million rows took `risk` to 3 gigabytes."""
    bomb = packed(honest, tmp_path / "bomb", pl.lit("flu").alias("disease"), 12_000_000)
    with pytest.raises(InputError, match="has more than 33,554,432 cells, too many to be held in memory"):
        read_folder(bomb)


def test_texts_that_memory_does_not_hold_are_refused(
    honest: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Equal texts share their bytes in the file and as they are read."""
    bomb = packed(honest, tmp_path / "bomb", pl.lit("x" * 50_000).alias("note"), 1000)
    assert read_folder(bomb)[0]["release"].height == 1000
    monkeypatch.setattr(stored, "_MOST", 1 << 25)
    with pytest.raises(VerificationError, match="has texts of more than 32 MiB in 1,000 rows"):
        verify_release(bomb)
    assert "has texts of more than" in refused(bomb)


def test_a_file_with_other_rows_than_the_manifest_says_is_not_read(honest: Path, tmp_path: Path) -> None:
    bomb = packed(honest, tmp_path / "bomb", pl.lit("flu").alias("disease"), 200_000)
    manifest = json.loads((bomb / "manifest.json").read_bytes())
    manifest["data"]["rows"] = 24
    (bomb / "manifest.json").write_text(json.dumps(manifest), "utf-8")
    tables, _ = open_folder(bomb)
    with pytest.raises(VerificationError, match="has 200000 rows and the manifest says 24"):
        next(tables["release"])
