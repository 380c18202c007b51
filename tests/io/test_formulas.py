"""Cells that a spreadsheet would run are counted, escaped on demand, and read back; a full disk is named as such."""

from __future__ import annotations

import errno
import hashlib
import json
import os
import sys
import unicodedata
from functools import partial
from pathlib import Path
from typing import Any

import polars as pl
import pytest
from polars.testing import assert_frame_equal

import shoal
from shoal.cli.main import execute
from shoal.errors import InputError, VerificationError
from shoal.io.cell_format import count_formulas, escape_formulas
from shoal.io.files import write_frame
from shoal.release import write
from shoal.release.write import read_tables, told
from shoal.verify.recheck import recheck

NFKC = partial(unicodedata.normalize, "NFKC")
RUN = ["=1+1", "+x", "-x", "@SUM(A1)", "-5+3", "=", "-", "'=1", "''=1", "'-5", "--1"]
PLAIN = ["-5", "+5", "-0.5e3", "-.5", "x=1", "a", "'a", "'", "*", "{a|-b}", "[-5,3]", "<missing>"]


def release(**options: Any) -> shoal.Release:
    texts = RUN + PLAIN
    frame = pl.DataFrame({"q": ["a", "b"] * len(texts), "=cmd": [text for text in texts for _ in "ab"]})
    table = shoal.read(frame, quasi=["q"], sensitive=["=cmd"], missing="value", **options)
    return shoal.anonymize(table, models=[shoal.KAnonymity(k=2)], acknowledge=["W-UNMODELLED:=cmd"])


def test_what_is_escaped() -> None:
    frame = pl.DataFrame({"@a": RUN + PLAIN, "-n": range(len(RUN + PLAIN))})
    found = escape_formulas(frame)
    assert found.columns == ["'@a", "'-n"]
    assert found["'@a"].to_list() == [f"'{text}" for text in RUN] + PLAIN
    assert found["'-n"].to_list() == frame["-n"].to_list()
    assert count_formulas({"release": frame}) == 8 + 2


def test_signs_that_are_folded_to_those_of_formulas_are_escaped_too(tmp_path: Path) -> None:
    """Full-width, small, superscript and subscript signs: whatever NFKC makes a sign, and the minus sign itself."""
    signs = [chr(at) for at in range(128, sys.maxunicode + 1) if NFKC(chr(at))[:1] in tuple("=+-@\u2212")]
    assert {"＝", "＋", "－", "＠", "\u2212"} < set(signs)
    texts = [f"{sign}1+cmd" for sign in signs] + [f"'{sign}1" for sign in signs] + [f"a{sign}1" for sign in signs]
    frame = pl.DataFrame({"q": ["a", "b"] * len(texts), "＝cmd": [text for text in texts for _ in "ab"]})
    found = escape_formulas(frame)
    assert found.columns == ["q", "'＝cmd"]
    escaped = found["'＝cmd"].to_list()[::2]
    assert escaped == [f"'{text}" for text in texts[: 2 * len(signs)]] + texts[2 * len(signs) :]
    table = shoal.read(frame, quasi=["q"], sensitive=["＝cmd"])
    made = shoal.anonymize(table, models=[shoal.KAnonymity(k=2)], acknowledge=["W-UNMODELLED:＝cmd"])
    made.write(tmp_path / "out", formulas="escape")
    assert_frame_equal(read_tables(tmp_path / "out")[0]["release"], made.frame)


def test_an_escaped_release_verifies_and_reads_back(tmp_path: Path) -> None:
    made = release()
    made.write(tmp_path / "out", formulas="escape")
    lines = (tmp_path / "out" / "release.csv").read_text().splitlines()
    assert lines[0] == "q,'=cmd"
    assert not [line for line in lines if line.partition(",")[2].strip('"').startswith(("=", "@", "+x", "-x"))]
    frames, manifest = read_tables(tmp_path / "out")
    assert manifest["data"]["formulas"] == "escaped"
    assert recheck(frames["release"], manifest).passed
    assert_frame_equal(frames["release"], made.frame.fill_null("<missing>"))
    made.write(tmp_path / "plain")
    assert "formulas" not in read_tables(tmp_path / "plain")[1]["data"]


def test_a_formula_that_is_not_escaped_is_refused(tmp_path: Path) -> None:
    release().write(tmp_path / "out", formulas="escape")
    data, described = tmp_path / "out" / "release.csv", tmp_path / "out" / "manifest.json"
    data.write_text(data.read_text().replace(",'=1+1", ",=1+1", 1))
    manifest = json.loads(described.read_text())
    manifest["data"]["sha256"] = hashlib.sha256(data.read_bytes()).hexdigest()
    described.write_text(json.dumps(manifest))
    with pytest.raises(VerificationError, match="1 formulas that are not escaped"):
        read_tables(tmp_path / "out")
    manifest["data"]["formulas"] = "kept"
    described.write_text(json.dumps(manifest))
    with pytest.raises(VerificationError, match="can only be 'escaped'"):
        read_tables(tmp_path / "out")


@pytest.mark.parametrize("formulas", ["keep", "escape"])
def test_a_run_says_how_many_there_are(tmp_path: Path, capsys: pytest.CaptureFixture[str], formulas: str) -> None:
    (tmp_path / "p.csv").write_text("q,s\n" + "".join(f"{q},{s}\n" for q in "ab" for s in ("=1", "-5", "@x", "a")))
    (tmp_path / "r.toml").write_text(
        '[source]\npath = "p.csv"\n[roles]\nquasi = ["q"]\nsensitive = ["s"]\n[[models]]\nname = "k"\nk = 2\n'
        f'[[models]]\nname = "distinct-l"\nl = 2\n[output]\nfolder = "out"\nformulas = "{formulas}"\n'
    )
    assert execute(["run", str(tmp_path / "r.toml")]) == 0
    assert ("4 cells or names begin as formulas" in capsys.readouterr().out) == (formulas == "keep")
    assert execute(["verify", str(tmp_path / "out")]) == 0


def test_unknown_ways(tmp_path: Path) -> None:
    with pytest.raises(shoal.errors.ParameterError, match="formulas"):
        release().write(tmp_path / "out", formulas="drop")
    assert not list(tmp_path.iterdir())


@pytest.mark.parametrize(
    "error",
    [
        OSError(errno.ENOSPC, os.strerror(errno.ENOSPC)),
        OSError("No space left on device (os error 28)"),
        pl.exceptions.ComputeError("No space left on device (os error 28)"),
    ],
)
def test_a_full_disk_is_named_and_nothing_is_left(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, error: Exception
) -> None:
    def full(*_: Any, **__: Any) -> None:
        raise error

    made = release()
    monkeypatch.setattr(write, "write_frame", full)
    with pytest.raises(InputError, match="cannot be written to .*out': the disk is full"):
        made.write(tmp_path / "out")
    assert not list(tmp_path.iterdir())


@pytest.mark.skipif(not Path("/dev/full").exists(), reason="needs a device that is always full")
@pytest.mark.parametrize("format", ["csv", "parquet"])
def test_what_polars_raises_on_a_full_disk(format: str) -> None:
    with pytest.raises((OSError, pl.exceptions.PolarsError)) as caught:
        write_frame(pl.DataFrame({"a": ["x" * 100] * 10_000}), "/dev/full", format)
    assert told(caught.value) == "the disk is full"
