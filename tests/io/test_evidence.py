"""Evidence: private files, and a keyed hash that depends on the data alone."""

from __future__ import annotations

import datetime as dt
import hashlib
import hmac
import json
import stat
from decimal import Decimal
from pathlib import Path

import polars as pl
import pytest
from hypothesis import given
from hypothesis import strategies as st

from shoal.errors import InputError
from shoal.io.evidence import evidence_folder, input_hash, json_bytes, read_evidence, row_bytes, write_evidence

SECRET = bytes(range(32))


def mode(path: Path) -> int:
    return stat.S_IMODE(path.stat().st_mode)


def test_files_and_modes(tmp_path: Path) -> None:
    write_evidence({"recipe": "seed = 1\n", "secret": SECRET, "counts": {"read": 5}}, tmp_path)
    assert mode(tmp_path) == 0o700
    assert sorted(path.name for path in tmp_path.iterdir()) == ["evidence.json", "recipe.toml", "secret"]
    assert all(mode(path) == 0o600 for path in tmp_path.iterdir())
    assert (tmp_path / "secret").read_text() == SECRET.hex() + "\n"
    assert json.loads((tmp_path / "evidence.json").read_text()) == {"counts": {"read": 5}}


def test_read_back(tmp_path: Path) -> None:
    folder = evidence_folder(tmp_path / "out")
    assert folder.name == "out.evidence"
    folder.mkdir()
    secrets = {"secret": SECRET.hex(), "sample_secret": SECRET[::-1].hex()}
    write_evidence({"recipe": "a = 1\n", **secrets, "timings": {"read": 0.5}}, folder)
    expected = {"recipe": "a = 1\n", **secrets, "timings": {"read": 0.5}}
    assert read_evidence(folder) == expected
    assert read_evidence(tmp_path / "out") == expected


def test_nothing_but_facts(tmp_path: Path) -> None:
    write_evidence({"counts": {}}, tmp_path)
    assert read_evidence(tmp_path) == {"counts": {}}


def test_refusals(tmp_path: Path) -> None:
    with pytest.raises(InputError, match=r"holds no evidence\.json"):
        read_evidence(tmp_path)
    (tmp_path / "evidence.json").write_text("{")
    with pytest.raises(InputError, match="damaged"):
        read_evidence(tmp_path)


FRAME = pl.DataFrame(
    {
        "text": ["a", None, ""],
        "whole": [1, None, 0],
        "real": [0.0, None, 1.5],
        "truth": [True, None, False],
        "day": [dt.date(2020, 1, 1), None, dt.date(1970, 1, 1)],
        "time": [dt.datetime(2020, 1, 1), None, dt.datetime(1970, 1, 1)],
        "money": [Decimal("1.50"), None, Decimal("0.00")],
        "huge": pl.Series([2**100, None, 0], dtype=pl.Int128),
    }
)


def test_equal_tables_hash_equally() -> None:
    expected = input_hash(FRAME, SECRET)
    assert len(expected) == 64
    assert input_hash(FRAME, SECRET.hex()) == expected
    assert input_hash(pl.concat([FRAME[:1], FRAME[1:]], rechunk=False), SECRET) == expected
    assert input_hash(FRAME[::-1].reverse(), SECRET) == expected
    minus = FRAME.with_columns(pl.Series("real", [-0.0, None, 1.5]))
    assert input_hash(minus, SECRET) == expected


@given(st.lists(st.none() | st.text(st.sampled_from('aü"\',;\n\r\t\\\\ =€'), max_size=4), max_size=9))
def test_texts_give_their_own_bytes(cells: list[str | None]) -> None:
    """Lengths, then the texts as they are, whatever stands in them and whether they are kept as numbers or not."""
    column = pl.Series("x", cells, dtype=pl.String)
    texts = [cell.encode() if cell is not None else None for cell in cells]
    lengths = b"".join((2**32 - 1 if one is None else len(one)).to_bytes(4, "little") for one in texts)
    expected = lengths + b"".join(one or b"" for one in texts)
    names = json_bytes([len(cells), [["x", "String"]]])
    assert row_bytes(column.to_frame()) == names + expected
    kept = column.cast(pl.Enum(column.drop_nulls().unique(maintain_order=True))).to_frame()
    digest = hmac.new(SECRET, names + expected, hashlib.sha256).hexdigest()
    assert input_hash(kept, SECRET) == input_hash(column.to_frame(), SECRET) == digest


def test_every_difference_shows() -> None:
    frames = [
        FRAME,
        FRAME[:2],
        FRAME.select(reversed(FRAME.columns)),
        FRAME.rename({"text": "word"}),
        FRAME.with_columns(pl.col("whole").cast(pl.Int32)),
        FRAME.with_columns(text=pl.Series(["", None, "a"])),
        *(FRAME.with_columns(pl.col(name).fill_null(strategy="forward")) for name in FRAME.columns),
        # A gap is not the value that stands in for it, and text does not flow from one cell to the next.
        FRAME.with_columns(whole=pl.Series([1, 0, 0])),
        FRAME.with_columns(text=pl.Series([None, "a", ""])),
        FRAME.with_columns(text=pl.Series(["a", "", ""])),
    ]
    hashes = {input_hash(frame, SECRET) for frame in frames}
    assert len(hashes) == len(frames)
    assert input_hash(FRAME, b"other") not in hashes


def test_no_rows() -> None:
    assert input_hash(FRAME.clear(), SECRET) != input_hash(FRAME, SECRET)
    assert input_hash(pl.DataFrame({"a": [None]}, schema={"a": pl.String}), SECRET)
