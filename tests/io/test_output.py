"""Releases on disk: whole or not at all, public and private apart, and checked when read back."""

from __future__ import annotations

import hashlib
import json
import os
import stat
from dataclasses import replace
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest
from polars.testing import assert_frame_equal

from shoal.data.domain import Domain
from shoal.data.schema import Schema
from shoal.data.table import Table
from shoal.engines.memory import MemoryRows
from shoal.errors import GateError, InputError, ParameterError, VerificationError
from shoal.io.evidence import evidence_folder, input_hash, manifest_bytes, read_evidence
from shoal.io.files import write_frame
from shoal.io.frames import Backend, native, to_polars
from shoal.release.sinks import Frames
from shoal.release.write import aligned, read_release, write_release
from shoal.results import Gated, Release
from shoal.verify.recheck import recheck
from tests.verify.cases import in_words

INPUT = pl.DataFrame({"name": ["Ann", "Bob", "Cas"], "age": [31, 35, 90]})
FRAME = pl.DataFrame({"age": ["[31,35]", "[31,35]"], "sex": ["F", None]})


def described(rows: pl.DataFrame) -> dict[str, Any]:
    """A manifest that is true of a table with a generalised age: as many people alike as it has rows."""
    size = max(rows.height, 1)
    age = {"name": "age", "role": "quasi", "type": "numeric", "cells": "interval"}
    others = [
        {"name": name, "role": "neutral", "type": "categorical", "cells": "value"} for name in rows.columns[1:]
    ]
    manifest = {
        "shoal": "0.1.0",
        "manifest": 1,
        "kind": "generalised",
        "source": "people",
        "statement": f"{size}-anonymous",
        "not_protected": [],
        "suppressed": "drop",
        "order": "shuffled",
        "people": False,
        "columns": [age, *others],
        "models": [{"name": "k", "k": size}],
        "acknowledged": [],
    }
    verdict = {"model": {"name": "k", "k": size}, "on": None, "holds": True, "by": "rechecked", "limit": size}
    nothing = {"count": 0, "smallest": 0, "digest": {"quasi": ""}}
    draft = {"verdicts": [], "data": {"rows": rows.height}, "classes": nothing}
    found = recheck(rows, manifest | draft)
    return in_words(manifest) | {"verdicts": [verdict | {"value": size}], "classes": found.classes}


ROLES = Schema(identifiers=["name"], quasi=["age"], neutral=["sex"])


def release(frame: Any = FRAME, **evidence: Any) -> Any:
    """What write_release uses of a Release: two of three input rows, the second one first."""
    rows, backend = to_polars(frame)
    domain = Domain(schema=ROLES, columns={}, n=3, name="people")
    table = Table(
        kept=INPUT, domain=domain, codes={}, row_keys=np.arange(3, dtype=np.uint64), subjects=None, n_read=3,
        n_dropped=0, backend=backend,
    )  # fmt: skip
    sink = Frames(backend)
    sink.add("release", rows, np.array([1, 0], dtype=np.int64)[: rows.height])
    sink.seal()
    return Release(
        gated=Gated(sink=sink, manifest=manifest_bytes(described(rows)), report=b"<p>fine</p>"),
        evidence={"secret": b"s" * 32, "recipe": "seed = 1\n", "counts": {"suppressed": 1}} | evidence,
        verdict=(),
        checks=(),
        rows=MemoryRows(table),
        released=SimpleNamespace(public_domain=domain),  # type: ignore[arg-type]
    )


def mode(path: Path) -> int:
    return stat.S_IMODE(path.stat().st_mode)


def names(folder: Path) -> list[str]:
    return sorted(path.name for path in folder.iterdir())


def snapshot(folder: Path) -> dict[str, bytes | None]:
    return {
        str(path.relative_to(folder)): path.read_bytes() if path.is_file() else None
        for path in folder.rglob("*")
    }


@pytest.mark.parametrize("format", ["csv", "parquet"])
def test_what_is_written(tmp_path: Path, format: str) -> None:
    folder = write_release(release(), tmp_path / "out", format=format)
    assert folder == tmp_path / "out"
    assert names(tmp_path) == ["out", "out.evidence"]
    assert names(folder) == ["manifest.json", f"release.{format}", "report.html"]
    manifest = json.loads((folder / "manifest.json").read_text("utf-8"))
    data = (folder / f"release.{format}").read_bytes()
    assert manifest["data"] == {
        "file": f"release.{format}",
        "format": format,
        "sha256": hashlib.sha256(data).hexdigest(),
        "rows": 2,
    }
    assert (folder / "report.html").read_text() == "<p>fine</p>"
    private = tmp_path / "out.evidence"
    assert mode(private) == 0o700
    assert names(private) == ["evidence.json", "recipe.toml", "secret"]
    assert all(mode(path) == 0o600 for path in private.iterdir())
    assert read_evidence(folder)["input_hash"] == input_hash(INPUT, b"s" * 32)


@pytest.mark.parametrize("format", ["csv", "parquet"])
@pytest.mark.parametrize("umask", [0o077, 0o027, 0o022, 0o002, 0])
def test_public_modes_are_those_of_the_umask_and_private_ones_never(tmp_path: Path, umask: int, format: str) -> None:
    before = os.umask(umask)
    try:
        write_release(release(), tmp_path / "a" / "out", format=format)
        write_release(release(), tmp_path / "a" / "out", format=format, replace=True)
    finally:
        os.umask(before)
    assert mode(tmp_path / "a") == mode(tmp_path / "a" / "out") == 0o777 & ~umask
    assert {mode(path) for path in (tmp_path / "a" / "out").iterdir()} == {0o666 & ~umask}
    assert mode(tmp_path / "a" / "out.evidence") == 0o700
    assert {mode(path) for path in (tmp_path / "a" / "out.evidence").iterdir()} == {0o600}


@pytest.mark.parametrize("format", ["csv", "parquet"])
def test_equal_releases_give_equal_bytes(tmp_path: Path, format: str) -> None:
    for name in ("a", "b"):
        write_release(release(), tmp_path / name, format=format)
    assert snapshot(tmp_path / "a") == snapshot(tmp_path / "b")


@pytest.mark.parametrize("library", ["pandas", "polars", "pyarrow"])
def test_every_library_gives_the_same_file(tmp_path: Path, library: str) -> None:
    frame = FRAME.with_columns(hours=pl.Series([1, None]), on=pl.Series([True, None]))
    write_release(release(native(frame, Backend(library=library))), tmp_path / "out")
    assert (tmp_path / "out" / "release.csv").read_text() == (
        'age,sex,hours,on\n"[31,35]",F,1,true\n"[31,35]",<missing>,<missing>,<missing>\n'
    )


def test_parents_are_made_and_an_empty_folder_is_used(tmp_path: Path) -> None:
    write_release(release(), tmp_path / "a" / "b" / "out")
    (tmp_path / "empty").mkdir()
    write_release(release(), tmp_path / "empty")
    assert (tmp_path / "empty" / "release.csv").exists()


def test_a_relative_folder_and_a_link(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    assert write_release(release(), "out") == tmp_path / "out"
    (tmp_path / "real").mkdir()
    (tmp_path / "link").symlink_to(tmp_path / "real")
    assert write_release(release(), "link") == tmp_path / "real"
    assert (tmp_path / "link").is_symlink()
    assert names(tmp_path) == ["link", "out", "out.evidence", "real", "real.evidence"]
    assert evidence_folder("link") == tmp_path / "real.evidence"
    assert read_evidence("link")["counts"] == {"suppressed": 1}


def test_replace(tmp_path: Path) -> None:
    write_release(release(), tmp_path / "out")
    with pytest.raises(InputError, match="is not empty"):
        write_release(release(), tmp_path / "out")
    write_release(
        release(FRAME[:1], counts={"suppressed": 2}), tmp_path / "out", replace=True, format="parquet"
    )
    assert names(tmp_path) == ["out", "out.evidence"]
    assert names(tmp_path / "out") == ["manifest.json", "release.parquet", "report.html"]
    assert read_release(tmp_path / "out")[0].height == 1
    assert read_evidence(tmp_path / "out")["counts"] == {"suppressed": 2}


def _inside_evidence(folder: Path) -> Path:
    write_release(release(), folder / "out")
    return folder / "out.evidence" / "new"


def _inside_release(folder: Path) -> Path:
    write_release(release(), folder / "out")
    return folder / "out" / "deep" / "new"


def _evidence_left(folder: Path) -> Path:
    (folder / "out.evidence").mkdir()
    (folder / "out.evidence" / "secret").write_text("x")
    return folder / "out"


def _file(folder: Path) -> Path:
    (folder / "out").write_text("x")
    return folder / "out"


def _foreign(folder: Path) -> Path:
    (folder / "out").mkdir()
    (folder / "out" / "thesis.doc").write_text("x")
    return folder / "out"


def _release_with_notes(folder: Path) -> Path:
    write_release(release(), folder / "out")
    (folder / "out" / "notes.txt").write_text("x")
    return folder / "out"


@pytest.mark.parametrize(
    "prepare, replace, part",
    [
        (_inside_evidence, True, "private"),
        (_inside_release, True, "public"),
        (_evidence_left, False, "is not empty"),
        (_file, True, "is a file"),
        (_foreign, False, "is not empty"),
        (_foreign, True, "thesis.doc"),
        (_release_with_notes, True, "notes.txt"),
        (lambda folder: folder / "x.evidence", False, "private"),
    ],
)
def test_folders_that_are_refused(tmp_path: Path, prepare: Any, replace: bool, part: str) -> None:
    folder = prepare(tmp_path)
    before = snapshot(tmp_path)
    with pytest.raises(InputError) as caught:
        write_release(release(), folder, replace=replace)
    assert part in str(caught.value)
    assert snapshot(tmp_path) == before


def test_the_source_is_never_replaced(tmp_path: Path) -> None:
    folder = write_release(release(), tmp_path / "out")
    with pytest.raises(InputError, match="holds the source"):
        write_release(release(source_path=str(folder / "release.csv")), folder, replace=True)
    write_release(release(source_path=tmp_path / "people.csv"), folder, replace=True)


def test_an_unknown_format(tmp_path: Path) -> None:
    with pytest.raises(ParameterError, match="format"):
        write_release(release(), tmp_path / "out", format="xml")
    assert names(tmp_path) == []


STEPS = [
    "shoal.release.write.write_frame",
    "shoal.release.write.manifest_bytes",
    "shoal.release.write.write_evidence",
    "shoal.release.write.input_hash",
    "shoal.release.write._sha256",
    "shoal.io.transaction.sync",
    "shoal.io.transaction._write_journal",
    "shoal.io.transaction.put",
]


@pytest.mark.sample(24)
@pytest.mark.parametrize("replace", [False, True])
@pytest.mark.parametrize(
    "error", [OSError(28, "No space left on device"), RuntimeError("bug"), KeyboardInterrupt()]
)
@pytest.mark.parametrize("step", STEPS)
def test_a_failure_leaves_nothing_behind(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, step: str, error: BaseException, replace: bool
) -> None:
    if replace:
        write_release(release(), tmp_path / "a" / "out")
    before = snapshot(tmp_path)

    def fail(*_: object, **__: object) -> None:
        raise error

    monkeypatch.setattr(step, fail)
    with pytest.raises(InputError if isinstance(error, OSError) else type(error)):
        write_release(release(FRAME[:1]), tmp_path / "a" / "out", replace=replace)
    assert snapshot(tmp_path) == before


def test_nobody_else_can_look_while_it_is_written(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    seen: list[int] = []

    def look(frame: pl.DataFrame, file: Any, format: str, *rest: Any, **more: Any) -> None:
        seen.append(mode(Path(file.name).parent.parent))
        write_frame(frame, file, format, *rest, **more)

    monkeypatch.setattr("shoal.release.write.write_frame", look)
    write_release(release(), tmp_path / "out")
    assert seen == [0o700]


@pytest.mark.parametrize("format", ["csv", "parquet"])
def test_reading_back(tmp_path: Path, format: str) -> None:
    write_release(release(), tmp_path / "out", format=format)
    frame, manifest = read_release(tmp_path / "out")
    expected = FRAME.with_columns(pl.col("sex").fill_null("<missing>")) if format == "csv" else FRAME
    assert_frame_equal(frame, expected)
    assert manifest["statement"] == "2-anonymous"


def test_a_release_without_rows(tmp_path: Path) -> None:
    with pytest.raises(GateError, match="no row in any class"):
        write_release(release(FRAME.clear()), tmp_path / "out")
    assert names(tmp_path) == []


def rewrite(folder: Path, content: bytes, rows: int) -> None:
    """Put other data in, with hash and row count made to fit."""
    (folder / "release.csv").write_bytes(content)
    manifest = json.loads((folder / "manifest.json").read_bytes())
    manifest["data"] |= {"sha256": hashlib.sha256(content).hexdigest(), "rows": rows}
    (folder / "manifest.json").write_bytes(manifest_bytes(manifest))


def test_tampering(tmp_path: Path) -> None:
    folder = write_release(release(), tmp_path / "out")
    content = (folder / "release.csv").read_bytes()
    (folder / "release.csv").write_bytes(content.replace(b"F", b"M"))
    with pytest.raises(VerificationError, match="hash differs"):
        read_release(folder)
    rewrite(folder, content, 3)
    with pytest.raises(VerificationError, match="2 rows and the manifest says 3"):
        read_release(folder)
    rewrite(folder, content + b"ragged\n", 3)
    with pytest.raises(VerificationError, match="not spelled as Shoal writes CSV"):
        read_release(folder)
    rewrite(folder, b"", 0)
    with pytest.raises(VerificationError, match="cannot be read back"):
        read_release(folder)
    rewrite(folder, content, 2)
    read_release(folder)


def test_what_is_no_release(tmp_path: Path) -> None:
    with pytest.raises(InputError, match=r"manifest\.json"):
        read_release(tmp_path)
    folder = write_release(release(), tmp_path / "out")
    (folder / "release.csv").unlink()
    with pytest.raises(InputError, match=r"release\.csv' cannot be read"):
        read_release(folder)


def test_aligned_is_in_input_order() -> None:
    frame = pl.DataFrame({"age": ["second", "first"], "n": [2, 1]})
    found = aligned(release(frame))
    assert found.rows() == [("first", 1), ("second", 2), (None, None)]


def read_by(given: Release, backend: Backend) -> Release:
    """The same release of a frame of some library."""
    return replace(given, rows=MemoryRows(replace(given.table, backend=backend)))


def test_aligned_in_other_libraries() -> None:
    frame = pl.DataFrame({"age": ["second", "first"], "n": [2, 1]})
    given = release(native(frame, Backend(library="pandas")))
    found = aligned(read_by(given, Backend(library="pandas", index=pd.Index(["x", "y", "z"]))))
    assert list(found.index) == ["x", "y", "z"]
    assert found.loc["y", "age"] == "second"
    assert found.loc["z"].isna().all()
    given = read_by(given, Backend(library="pandas", index=pd.Index(["too", "many", "labels", "here"])))
    assert list(aligned(given).index) == [0, 1, 2]
    table = aligned(release(frame.to_arrow()))
    assert isinstance(table, pa.Table)
    assert table.column("n").to_pylist() == [1, 2, None]


def test_aligned_when_nothing_was_released() -> None:
    assert aligned(release(FRAME.clear())).rows() == [(None, None)] * 3
