"""Whatever is done to a release after the gate, what is written is what passed it."""

from __future__ import annotations

import contextlib
import dataclasses
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest

import shoal
import shoal.release.write
from shoal.errors import GateError
from shoal.release.sinks import Frames
from shoal.results import Release

NAMES = [f"Person {row:02}" for row in range(24)]


def people() -> pl.DataFrame:
    return pl.DataFrame(
        {
            "name": NAMES,
            "age": [20 + row for row in range(24)],
            "ward": [f"w{row % 2}" for row in range(24)],
            "disease": [("flu", "cold", "asthma")[row % 3] for row in range(24)],
            "stay": [float(row % 3) for row in range(24)],
        }
    )


def released(frame: Any, algorithm: Any = None, **more: Any) -> Release:
    table = shoal.read(frame, identifiers=["name"], quasi=["age"], sensitive=["disease", "stay"], neutral=["ward"])
    accept = ["W-UNMODELLED:stay", "W-NEUTRAL", "W-EXACT-QI", "W-ORDER", "W-UNMODELLED:disease"]
    return shoal.anonymize(table, algorithm=algorithm or shoal.Mondrian(k=4), seed=1, acknowledge=accept, **more)


def published(folder: Path) -> dict[str, bytes]:
    return {path.name: path.read_bytes() for path in folder.iterdir()}


def put_names_in_the_frame(release: Release) -> None:
    frame = release.frame
    frame["ward"] = NAMES


def put_names_in_polars(release: Release) -> None:
    frame = release.frame
    frame.replace_column(frame.get_column_index("ward"), pl.Series("ward", NAMES))


def put_names_in_the_frames(release: Release) -> None:
    release.frames["release"] = pl.DataFrame({"name": NAMES})


def put_names_in_the_second_table(release: Release) -> None:
    release.apart.replace_column(0, pl.Series(release.apart.columns[0], NAMES))


def claim_more(release: Release) -> None:
    release.manifest["statement"] = "50-anonymous"  # type: ignore[index]
    release.manifest["models"][0]["k"] = 50


def claim_more_through_the_evidence(release: Release) -> None:
    for model in release.evidence["models"]:
        model["k"] = 50


def replace_the_report(release: Release) -> None:
    release.evidence["report_html"] = f"<p>{NAMES}</p>"  # type: ignore[index]


def change_the_table(release: Release) -> None:
    release.table.frame.replace_column(2, pl.Series("ward", NAMES))
    release.table.columns.clear()  # type: ignore[attr-defined]


def change_the_cells(release: Release) -> None:
    release.released.cells.clear()  # type: ignore[attr-defined]
    release.released.classes[:] = 0


def change_the_source(release: Release) -> None:
    with contextlib.suppress(ValueError):
        release.source[:] = 0


def change_the_verdicts(release: Release) -> None:
    for verdict in release.verdict:
        verdict.model["k"] = 50  # type: ignore[index]


CHANGES: list[tuple[Callable[[Release], None], str]] = [
    (put_names_in_the_frame, "pandas"),
    (put_names_in_polars, "polars"),
    (put_names_in_the_frames, "polars"),
    (claim_more, "polars"),
    (claim_more_through_the_evidence, "polars"),
    (replace_the_report, "polars"),
    (change_the_table, "polars"),
    (change_the_cells, "polars"),
    (change_the_source, "polars"),
    (change_the_verdicts, "polars"),
]


@pytest.mark.sample(10)
@pytest.mark.parametrize("format", ["csv", "parquet"])
@pytest.mark.parametrize("change, library", CHANGES, ids=[change.__name__ for change, _ in CHANGES])
def test_nothing_but_what_was_gated_is_written(
    tmp_path: Path, change: Callable[[Release], None], library: str, format: str
) -> None:
    frame = people().to_pandas() if library == "pandas" else people()
    released(frame).write(tmp_path / "honest", format=format)
    tampered = released(frame)
    change(tampered)
    tampered.write(tmp_path / "tampered", format=format)
    assert published(tmp_path / "tampered") == published(tmp_path / "honest")


def test_the_second_table_is_as_private(tmp_path: Path) -> None:
    anatomy = shoal.Anatomy(l=2, on="disease")
    released(people(), anatomy).write(tmp_path / "honest")
    tampered = released(people(), anatomy)
    put_names_in_the_second_table(tampered)
    tampered.write(tmp_path / "tampered")
    assert published(tmp_path / "tampered") == published(tmp_path / "honest")


@pytest.mark.parametrize("part", ["frame", "apart", "frames", "manifest"])
def test_no_part_of_it_can_be_replaced(part: str) -> None:
    with pytest.raises((TypeError, ValueError)):
        dataclasses.replace(released(people()), **{part: {"release": people()}})
    with pytest.raises(AttributeError):
        setattr(released(people()), part, people())


def test_replacing_other_parts_changes_nothing_published(tmp_path: Path) -> None:
    honest = released(people())
    honest.write(tmp_path / "honest")
    other = released(people(), shoal.Mondrian(k=2))
    mixed = dataclasses.replace(
        honest, released=other.released, rows=other.rows, verdict=other.verdict, evidence=other.evidence,
    )  # fmt: skip
    mixed.write(tmp_path / "mixed")
    assert published(tmp_path / "mixed") == published(tmp_path / "honest")


@pytest.mark.parametrize("library", ["pandas", "pyarrow"])
@pytest.mark.parametrize("order", ["kept", "shuffled"])
def test_a_frame_shared_with_the_caller_cannot_change_the_release(tmp_path: Path, library: str, order: str) -> None:
    """Numbers may lie in the caller's own memory: a change there is not published either."""
    stays = np.array([float(row % 3) for row in range(24)])
    texts = people().drop("stay")
    if library == "pandas":
        frame: Any = texts.to_pandas().assign(stay=pd.Series(stays, copy=False))
    else:
        frame = texts.to_arrow().append_column("stay", pa.array(stays))
    released(frame, order=order).write(tmp_path / "honest")
    shared = released(frame, order=order)
    with contextlib.suppress(ValueError):
        stays[:] = 77777.0
    if library == "pandas":
        frame.loc[:, "stay"] = 77777.0
    with contextlib.suppress(GateError):
        shared.write(tmp_path / "shared")
        assert published(tmp_path / "shared") == published(tmp_path / "honest")
    assert not [name for name in tmp_path.rglob("*.csv") if "77777" in name.read_text()]


def test_memory_that_was_changed_all_the_same_is_noticed(tmp_path: Path) -> None:
    release = released(people())
    frame = release.gated.kept["release"]
    frame.replace_column(frame.get_column_index("ward"), pl.Series("ward", NAMES))
    with pytest.raises(GateError, match="changed after it had passed the gate"):
        release.write(tmp_path / "out")
    assert not list(tmp_path.iterdir())


@pytest.mark.parametrize("format", ["csv", "parquet"])
@pytest.mark.parametrize(
    "wrong, told",
    [
        (lambda frame: frame.with_columns(ward=pl.Series(NAMES)), "24 cells of 'ward' are not those"),
        (lambda frame: frame.with_columns(age=frame["age"].shift(-1).fill_null("*")), "not those that passed"),
        (lambda frame: frame.reverse(), "are not those that were judged"),
        (lambda frame: frame[:-1], "23 rows"),
    ],
    ids=["names", "cells", "order", "rows"],
)
def test_the_gate_reads_the_staged_file(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, wrong: Any, told: str, format: str
) -> None:
    """A writer that writes something else than it was given is found out before anything has its name."""
    write = shoal.release.write._write_table

    def otherwise(sink: Frames, name: str, *rest: Any) -> None:
        changed = Frames()
        changed.add(name, wrong(sink.frame(name)), sink.source(name))
        changed.seal()
        write(changed, name, *rest)

    monkeypatch.setattr("shoal.release.write._write_table", otherwise)
    with pytest.raises(GateError, match=told):
        released(people()).write(tmp_path / "out", format=format)
    assert not list(tmp_path.iterdir())


def test_what_is_handed_out_is_as_good_as_before() -> None:
    """Copies are copies of the same: twice the same frame, and the manifest that will stand in the folder."""
    release = released(people())
    assert release.frame.equals(release.frame)
    assert release.manifest == release.manifest
    assert release.frames["release"].equals(release.frame)
    assert release.manifest["statement"].startswith("4-anonymous")
