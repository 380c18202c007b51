"""Files larger than memory: the same recipe gives the same bytes, whoever keeps the rows."""

from __future__ import annotations

import json
import os
import shutil
import signal
import stat
import sys
import time
from pathlib import Path
from threading import Timer

import numpy as np
import polars as pl
import pytest
from typer.testing import CliRunner

import shoal
from shoal.cli.main import app, execute
from shoal.data.coding import numbered
from shoal.engines.duckdb import DuckDatabase
from shoal.engines.scratch import clear, scratch
from shoal.engines.store import StoredRows
from shoal.errors import InputError, ParameterError, RefusalError, ShoalError
from shoal.io import batches
from shoal.io.batches import open_batches
from shoal.io.files import read_frame
from shoal.io.partitions import look_at
from tests.engines.alike import RECIPE, every_method, outcome
from tests.soak.cases import make

pytest.importorskip("duckdb")


def census(folder: Path, rows: int = 600, **changed: str) -> Path:
    """A recipe for some of the synthetic census, with missing cells, and with a subject several rows a person."""
    people = shoal.example_census(rows)
    alone = people.unique("person", keep="first", maintain_order=True).drop("person")
    (people if changed.get("subject") else alone).write_csv(folder / "people.csv")
    given = {"missing": "value", "subject": "", "algorithm": "optimal", "format": "csv", "suppressed": "drop"}
    recipe = folder / "recipe.toml"
    recipe.write_text(RECIPE.format(**given | changed), encoding="utf-8")
    return recipe


@pytest.mark.parametrize("seed", every_method(0))
def test_generated_tables_give_the_same_files_or_the_same_sentence(seed: int, tmp_path: Path) -> None:
    recipe = make(seed).write(tmp_path)
    assert outcome(recipe, "duckdb") == outcome(recipe, "memory")


def test_most_of_them_are_released(tmp_path: Path) -> None:
    cases = every_method(0)[:4]
    assert sum(outcome(make(seed).write(tmp_path / str(seed)), "duckdb")[0] == 0 for seed in cases) >= 2


@pytest.mark.sample(4)
@pytest.mark.parametrize(
    "changed",
    [
        {"missing": "drop", "suppressed": "star"},
        {"subject": 'subject = "person"'},
        {"algorithm": "top-down-subtree"},
        {"algorithm": "mondrian", "subject": 'subject = "person"', "missing": "drop"},
        {"algorithm": "auto", "subject": 'subject = "person"'},
        {"algorithm": "optimal", "subject": "subject = 'person'\n[weights]\nage = 3.0\nsex = 1.0\nregion = 1.0"},
        {"algorithm": "k-members", "subject": "subject = 'person'\n[weights]\nage = 3.0\nsex = 1.0\nregion = 1.0"},
        {"missing": "error"},
    ],
    ids=str,
)
def test_the_census_does_too(changed: dict[str, str], tmp_path: Path) -> None:
    recipe = census(tmp_path, **changed)
    found = outcome(recipe, "duckdb")
    assert found[0] == (2 if changed.get("missing") == "error" else 0), found[1]
    assert found == outcome(recipe, "memory")


def test_several_batches_make_no_difference(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    recipe = census(tmp_path, subject='subject = "person"')
    expected = outcome(recipe, "memory")
    monkeypatch.setattr(batches, "_BYTES", 5000)
    monkeypatch.setattr("shoal.io.batches.BATCH", 97)
    assert expected[0] == 0, expected[1]
    assert outcome(recipe, "duckdb") == expected


@pytest.mark.parametrize("algorithm", ["k-members", "mondrian", "top-down"])
def test_more_rows_than_memory_holds_are_grouped_part_by_part(
    algorithm: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    recipe = census(tmp_path, 900, algorithm=algorithm, missing="drop")
    monkeypatch.setattr(StoredRows, "most", lambda rows, memory: 200)
    code, sentence, files = outcome(recipe, "duckdb")
    assert code == 0, sentence
    facts = json.loads((tmp_path / "out-duckdb.evidence" / "evidence.json").read_text())
    assert facts["search"]["parts"] > 2
    assert facts["search"]["left_over"]["after"] <= facts["search"]["left_over"]["before"]
    assert shoal.verify_release(tmp_path / "out-duckdb").passed


def test_parquet_holds_the_same_cells(tmp_path: Path) -> None:
    recipe = census(tmp_path, format="parquet")
    frame = pl.read_csv(tmp_path / "people.csv", infer_schema_length=None)
    for part in range(3):
        (tmp_path / "parts" / f"{part}").mkdir(parents=True)
        frame[part::3].write_parquet(tmp_path / "parts" / f"{part}" / "rows.parquet")
    frame.write_parquet(tmp_path / "people.parquet")
    recipe.write_text(recipe.read_text().replace("people.csv", "people.parquet"))
    memory, stored = outcome(recipe, "memory"), outcome(recipe, "duckdb")
    assert memory[:2] == stored[:2] == (0, "")
    assert pl.read_parquet(memory[2]["release.parquet"]).equals(pl.read_parquet(stored[2]["release.parquet"]))
    recipe.write_text(recipe.read_text().replace("people.parquet", "parts/*/rows.parquet"))
    shutil.rmtree(tmp_path / "out-duckdb")
    shutil.rmtree(tmp_path / "out-duckdb.evidence")
    globbed = outcome(recipe, "duckdb")
    assert globbed[:2] == (0, "")
    rows = pl.read_parquet(memory[2]["release.parquet"]).height
    assert pl.read_parquet(globbed[2]["release.parquet"]).height == rows > 0


@pytest.mark.parametrize(
    "content",
    [
        'a,b\n1,"x,\ny"\n2,z\n\n3,"q ""r"""\n',
        "a,b\n" + "".join(f"{row},cell {row % 7}\n" for row in range(300)),
        "a,b\r\n1,2\r\n3,\r\n",
        "a,b\n1,2\n3,é\n",
    ],
)
def test_text_is_read_in_pieces_as_it_is_at_once(
    content: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    path = tmp_path / "table.csv"
    path.write_bytes(content.encode())
    for size in (1, 7, 64, 1 << 20):
        monkeypatch.setattr(batches, "_BYTES", size)
        assert pl.concat(open_batches(path).frames()).equals(read_frame(path))


def test_a_batch_takes_no_room_for_texts_of_others(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    many = pl.Series([str(number) for number in range((1 << 16) + 1)])
    assert numbered(many).dtype == pl.String  # or every batch that is written would have all of them
    assert isinstance(numbered(many[1:]).dtype, pl.Enum)
    recipe = census(tmp_path)
    monkeypatch.setattr("shoal.data.coding._DIFFERENT", 4)
    found = outcome(recipe, "duckdb")
    assert found == outcome(recipe, "memory")
    assert found[0] == 0, found[1]


@pytest.mark.parametrize("encoding", ["latin-1", "cp1252", "utf-16", "utf-8-sig"])
def test_text_of_another_encoding_is_never_held_whole(
    encoding: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    path = tmp_path / "table.csv"
    path.write_bytes(("a,b\n" + "".join(f"{row},Zoë {row}\n" for row in range(300))).encode(encoding))
    expected = read_frame(path, encoding=encoding)

    def whole(file: str, data: bytes, codec: str) -> bytes:
        raise AssertionError("all of it at once")

    monkeypatch.setattr("shoal.io.text._recoded", whole)
    monkeypatch.setattr("shoal.io.text._UNPACK", 101)  # which parts characters, too
    monkeypatch.setattr(batches, "_BYTES", 512)
    made = open_batches(path, encoding=encoding, scratch=tmp_path)
    assert pl.concat(made.frames()).equals(expected)
    assert [one.name for one in tmp_path.iterdir()] == ["table.csv"]


@pytest.mark.parametrize("encoding", ["utf-8", "latin-1"])
def test_text_that_changes_after_it_was_opened_is_refused(encoding: str, tmp_path: Path) -> None:
    path = tmp_path / "table.csv"
    path.write_text("a,b\n1,Zoë\n", encoding)
    opened = open_batches(path, encoding=encoding)
    path.write_text("a,b\n2,Zoë\n3,Zoë\n", encoding)
    with pytest.raises(InputError, match="'table.csv' was changed while it was read"):
        list(opened.frames())  # what is there was never opened, and its state would be taken for what was
    path.unlink()
    with pytest.raises(InputError, match="'.*table.csv' cannot be read"):
        list(opened.frames())


@pytest.mark.parametrize("encoding", ["utf-16", "utf-32"])
def test_text_without_a_byte_order_mark_is_read_as_in_memory(encoding: str, tmp_path: Path) -> None:
    path = tmp_path / "table.csv"
    path.write_bytes("a,b\n1,Zoë\n".encode(f"{encoding}-{'le' if sys.byteorder == 'little' else 'be'}"))
    assert pl.concat(open_batches(path, encoding=encoding).frames()).equals(read_frame(path, encoding=encoding))


@pytest.mark.parametrize("encoding", ["hex", "rot13", "zlib", "punycode", "undefined"])
def test_what_is_no_encoding_of_text_is_refused_as_in_memory(encoding: str, tmp_path: Path) -> None:
    path = tmp_path / "table.csv"
    path.write_bytes(b"a,b\n1,2\n")
    for read in (read_frame, open_batches):
        with pytest.raises(ParameterError, match="is no encoding of text: try 'utf-8'"):
            read(path, encoding=encoding)


def test_text_that_is_not_of_its_encoding_is_told_by_its_line(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("shoal.io.text._UNPACK", 16)
    path = tmp_path / "table.csv"
    path.write_bytes(b"a,b\n" + b"1,2\n" * 20 + b"\x81,2\n")
    with pytest.raises(InputError, match="Line 22 of 'table.csv' is not cp1252"):
        open_batches(path, encoding="cp1252")


def test_a_row_that_cannot_be_read_is_named_as_in_memory(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(batches, "_BYTES", 64)
    path = tmp_path / "table.csv"
    path.write_text("a,b\n" + "1,2\n" * 100 + "1,2,3\n" + "1,2\n" * 100)
    with pytest.raises(InputError) as whole:
        read_frame(path)
    with pytest.raises(InputError) as parts:
        list(open_batches(path).frames())
    assert str(parts.value) == str(whole.value)
    assert "Row 101" in str(whole.value)


def test_patterns_and_folders_that_hold_nothing_are_refused(tmp_path: Path) -> None:
    for name in ("*.csv", "", "none.csv"):
        with pytest.raises(InputError, match=r"matches|holds no|There is no file"):
            open_batches(tmp_path / name)


def test_two_columns_of_one_name_are_told_of_whoever_reads(tmp_path: Path) -> None:
    arrow = pytest.importorskip("pyarrow")
    written = pytest.importorskip("pyarrow.parquet")
    path = tmp_path / "twice.parquet"
    written.write_table(arrow.table([[1], [2]], names=["age", "age"]), path)
    for read in (read_frame, look_at, lambda path: list(open_batches(path).frames())):
        with pytest.raises(InputError) as refused:
            read(path)
        assert str(refused.value) == "'twice.parquet' has two columns of one name: rename one."


def test_scratch_is_private_and_cleared_after_a_kill(tmp_path: Path) -> None:
    with scratch(tmp_path) as folder:
        assert stat.S_IMODE(folder.stat().st_mode) == 0o700
        clear(tmp_path)
        assert folder.exists()  # somebody works there
    assert list(tmp_path.iterdir()) == []
    child = os.fork()
    if child == 0:
        held = scratch(tmp_path)
        held.__enter__()
        os._exit(9)
    os.waitpid(child, 0)
    assert len(list(tmp_path.iterdir())) == 1
    with scratch(tmp_path):
        assert len(list(tmp_path.iterdir())) == 1
    assert list(tmp_path.iterdir()) == []


def test_ctrl_c_while_rows_are_counted_is_an_interrupt_and_no_error(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    asked = DuckDatabase.ask

    def pressed(database: DuckDatabase, query: str) -> dict[str, np.ndarray]:
        Timer(0.2, os.kill, [os.getpid(), signal.SIGINT]).start()
        while True:
            asked(database, "SELECT sum(hash(a.range, b.range) % 3)::BIGINT AS n FROM range(200000) a, range(1000) b")

    monkeypatch.setattr(DuckDatabase, "ask", pressed)
    recipe = census(tmp_path)
    recipe.write_text(f'{recipe.read_text()}\n[engine]\nname = "duckdb"\n', encoding="utf-8")
    assert execute(["run", str(recipe)]) == 130
    assert {path.name for path in tmp_path.iterdir()} == {"people.csv", "recipe.toml"}


def test_what_it_cannot_serve_is_said_before_anything_is_read(tmp_path: Path) -> None:
    recipe = census(tmp_path, 20)
    (tmp_path / "people.csv").unlink()
    text = recipe.read_text()
    recipe.write_text(text[: text.index("[algorithm]")] + '[algorithm]\nname = "m-invariant"\nm = 2\n[output]\n')
    code, sentence, _ = outcome(recipe, "duckdb")
    assert code == 2
    assert "does not serve a registry" in sentence


@pytest.mark.parametrize("limits, code", [("prosecutor_max = 0.5", 0), ("prosecutor_max = 0.01", 4)])
def test_limits_on_attacks_are_kept_or_the_release_is_refused_as_in_memory(
    limits: str, code: int, tmp_path: Path
) -> None:
    recipe = census(tmp_path, 300)
    recipe.write_text(recipe.read_text().replace("[output]", f"[limits]\n{limits}\n[output]"))
    here, there = outcome(recipe, "memory"), outcome(recipe, "duckdb")
    assert here == there
    assert there[0] == code


def test_an_amount_of_memory_is_checked(tmp_path: Path) -> None:
    recipe = census(tmp_path, 20)
    assert "such as '2GB'" in outcome(recipe, "duckdb", more='memory = "much"')[1]
    assert "at least 200MB" in outcome(recipe, "duckdb", more='memory = "1MB"')[1]


@pytest.mark.parametrize("limits, refused", [("linkage = 0.5", True), ("prosecutor_max = 0.5", False)])
def test_attacks_row_by_row_are_refused_before_data_is_touched(limits: str, refused: bool, tmp_path: Path) -> None:
    recipe = tmp_path / "recipe.toml"
    recipe.write_text(
        '[source]\npath = "none.csv"\n[roles]\nquasi = ["age"]\n[algorithm]\nname = "random"\n'
        f'[limits]\n{limits}\n[engine]\nname = "duckdb"\n'
    )
    with pytest.raises(ShoalError) as caught:
        shoal.run(recipe)
    assert ("a randomised one is attacked row by row" in str(caught.value)) is refused
    assert ("none.csv" in str(caught.value)) is not refused


@pytest.mark.parametrize("limit, code", [("0.5", 0), ("0.01", 4)])
def test_risks_of_classes_have_limits_where_attacks_go_row_by_row(limit: str, code: int, tmp_path: Path) -> None:
    recipe = census(tmp_path, 300)
    text = recipe.read_text().replace("[output]", f"[limits]\nprosecutor_max = {limit}\n[output]")
    text = text.replace('name = "optimal"\nsuppression_limit = 0.6', 'name = "microaggregation"\nk = 3')
    text = text.replace('"W-NEUTRAL"', '"W-NEUTRAL", "W-UNMODELLED:diagnosis", "W-UNMODELLED:income"')
    recipe.write_text(text[: text.index("[[models]]")] + text[text.index("[algorithm]") :])
    here, there = outcome(recipe, "memory"), outcome(recipe, "duckdb")
    assert here == there
    assert there[0] == code, there[1]


def test_repeated_keys_are_refused(tmp_path: Path) -> None:
    recipe = census(tmp_path, 50)
    recipe.write_text(recipe.read_text().replace('neutral = ["visits"]', 'key = "visits"'))
    code, sentence, _ = outcome(recipe, "duckdb")
    assert (code, sentence) == outcome(recipe, "memory")[:2]
    assert "repeats values" in sentence


def test_check_says_what_a_run_would(tmp_path: Path) -> None:
    recipe = census(tmp_path, 300)
    unmodelled = recipe.read_text().replace('[[models]]\nname = "t-closeness"\nt = 0.3\non = "income"\n', "")
    recipe.write_text(unmodelled + '[engine]\nname = "duckdb"\n')
    found = CliRunner().invoke(app, ["check", str(recipe), "--json"])
    told = json.loads(found.output)
    assert found.exit_code == 2
    assert told["rows"] == pl.read_csv(tmp_path / "people.csv").height == 250  # of as many people
    assert [codes for one in told["refusals"] for codes in one["codes"]] == ["W-UNMODELLED:income"]
    assert not (tmp_path / "out").exists()
    with pytest.raises(RefusalError, match="W-UNMODELLED:income"):
        shoal.run(recipe)


def touched(root: Path) -> None:
    os.utime(root / "people.csv", (time.time(), time.time() + 5))


def scratched(root: Path) -> Path:
    """A recipe whose scratch files go to a folder of the test."""
    (root / "scratch").mkdir()
    recipe = census(root)
    text = recipe.read_text().replace("[output]", '[output]\nfolder = "out-duckdb"')
    recipe.write_text(text + '[engine]\nname = "duckdb"\nscratch = "scratch"\n')
    return recipe


def test_a_source_that_changes_while_it_is_read_is_refused(tmp_path: Path) -> None:
    recipe = scratched(tmp_path)
    with pytest.raises(InputError, match="was changed while it was read"):
        shoal.run(recipe, progress=lambda step: touched(tmp_path) if step.startswith("reading: ") else None)
    assert list((tmp_path / "scratch").iterdir()) == []
    assert not (tmp_path / "out-duckdb").exists()


def test_several_sets_of_quasi_identifiers_are_served(tmp_path: Path) -> None:
    recipe = census(tmp_path, 300)
    text = recipe.read_text()
    quasi = [name.strip(' "') for name in text.split("quasi = [", 1)[1].split("]", 1)[0].split(",")]
    text = text.replace("[roles]", f"[roles]\nquasi_sets = {json.dumps([quasi[:2], quasi[2:]])}")
    recipe.write_text(text)
    here, there = outcome(recipe, "memory"), outcome(recipe, "duckdb")
    assert here == there
    assert there[0] == 0
    assert "several sets" not in there[1]


def test_copies_in_other_formats_are_those_of_memory(tmp_path: Path) -> None:
    recipe = census(tmp_path, 120)
    recipe.write_text(recipe.read_text().replace("[output]", '[output]\ncopies = ["xlsx"]'))
    here, there = outcome(recipe, "memory"), outcome(recipe, "duckdb")
    assert (here[0], there[0]) == (0, 0)
    assert here[2].keys() == there[2].keys()
    assert "release.xlsx" in there[2]


def test_a_dry_run_keeps_nothing_and_finds_what_a_run_finds(tmp_path: Path) -> None:
    recipe = scratched(tmp_path)
    made = shoal.run(recipe, dry_run=True)
    assert not (tmp_path / "out-duckdb").exists()
    assert list((tmp_path / "scratch").iterdir()) == []
    with pytest.raises(InputError, match="The rows of a dry run are not kept"):
        _ = made.frame
    again = shoal.run(recipe)
    assert (again.verdict, again.manifest) == (made.verdict, made.manifest)
    assert again.evidence["counts"] == made.evidence["counts"]


def test_evidence_has_the_same_entries_as_in_memory(tmp_path: Path) -> None:
    recipe = scratched(tmp_path)
    there = shoal.run(recipe)
    recipe.write_text(recipe.read_text().replace('name = "duckdb"\nscratch = "scratch"\n', 'name = "memory"\n'))
    here = shoal.run(recipe, replace=True)
    assert set(there.evidence) == {*here.evidence, "input_hash"}  # which memory tells when it writes
    assert there.evidence["risk"] == here.evidence["risk"]

