"""Every kind of release, read back column by column."""

from __future__ import annotations

import dataclasses
import datetime
import json
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl
import pytest

import shoal
from shoal.engines.memory import MemoryRows
from shoal.errors import InputError
from shoal.release.write import read_tables
from shoal.utility.reading import Feature, Reading, read_published, read_release

SIZES = ["small", "medium", "large"]
# Columns as they are, to the last value that one person has: what a release without generalisation must ask for.
EXACT: dict[str, Any] = {"settings": {name: {"snap": "off"} for name in ("age", "born", "weight")}}
JOBS = {"nurse": "care", "doctor": "care", "clerk": "office", "lawyer": "office", "cook": "other"}


def people(rows: int = 60, missing: bool = False) -> pl.DataFrame:
    frame = pl.DataFrame(
        {
            "age": [20 + (7 * i) % 50 for i in range(rows)],
            "sex": ["f" if i % 2 else "m" for i in range(rows)],
            "job": [list(JOBS)[(i // 2) % 5] for i in range(rows)],
            "size": [SIZES[(i // 4) % 3] for i in range(rows)],
            "born": [datetime.date(1990, 1, 1) + datetime.timedelta(days=(11 * i) % 90) for i in range(rows)],
            "weight": [50.0 + ((13 * i) % 40) / 4 for i in range(rows)],
            "disease": [("flu", "cold", "asthma", "gout", "angina")[(i // 3) % 5] for i in range(rows)],
            "ward": ["north" if i % 3 else "south" for i in range(rows)],
        }
    )
    if missing:
        blank = pl.Series([i % 7 == 0 for i in range(rows)])
        frame = frame.with_columns(pl.when(~blank).then(pl.col(name)).alias(name) for name in ("age", "job", "disease"))
    return frame


def table(frame: pl.DataFrame, **changes: Any) -> Any:
    settings = {"size": {"type": "ordinal", "order": SIZES}} | changes.pop("settings", {})
    roles: dict[str, Any] = {
        "quasi": ["age", "sex", "job", "size", "born", "weight"], "sensitive": ["disease"], "neutral": ["ward"],
        "hierarchies": {"job": [[job, group, "*"] for job, group in JOBS.items()]}, "settings": settings,
    } | changes  # fmt: skip
    return shoal.read(frame, **roles)


def released(algorithm: Any, frame: pl.DataFrame, **changes: Any) -> shoal.Release:
    codes = [
        "W-NEUTRAL", "W-UNMODELLED:disease", "W-UNMODELLED:born", "W-UNMODELLED:weight", "W-NO-K", "W-RA-LINK",
        "W-PP-REV", "W-EXACT-QI", "W-TIGHT",
    ]  # fmt: skip
    given = table(frame, **changes.pop("read", {}))
    return shoal.anonymize(given, algorithm=algorithm, acknowledge=codes, seed=3, **changes)


def check(reading: Reading, frame: pl.DataFrame) -> None:
    """What holds of any reading: codes give the original back, and a cell covers the value of each of its rows."""
    assert (reading.n, reading.groups.size) == (frame.height, reading.rows)
    assert reading.suppression == pytest.approx(max(1 - reading.rows / reading.n, 0))
    for name, one in reading.features.items():
        texts = frame[name].cast(pl.String) if name != "weight" else pl.Series([f"{x:g}" for x in frame[name]])
        assert [one.values[code] for code in one.original] == texts.fill_null("<missing>").to_list()
        assert (one.cell.size, one.cell.max() + 1) == (reading.rows, len(one.texts))
        assert np.allclose(one.shares().sum(axis=1), 1)


def covers_own(reading: Reading, feature: Feature) -> bool:
    assert reading.source is not None
    return bool((feature.shares()[feature.cell, feature.original[reading.source]] > 0).all())


@pytest.mark.parametrize("missing", [False, True])
def test_generalised_cells_cover_their_values(missing: bool) -> None:
    frame = people(missing=missing)
    read = {"missing": "value"} if missing else {}
    made = released(shoal.Mondrian(k=3), frame, read=read)
    reading = read_release(made)
    check(reading, frame)
    assert "flu" not in repr(reading) + repr(reading.features)
    assert all(covers_own(reading, one) for one in reading.features.values())
    assert all(reading.features[name].exact for name in ("disease", "ward"))
    age = reading.features["age"]
    known = [value for value in age.values if value != "<missing>"]
    assert known == [str(x) for x in range(int(known[0]), int(known[-1]) + 1)]
    assert ("<missing>" in age.values) == missing
    wide = next(c for c, text in enumerate(age.texts) if text.startswith("["))
    low, high = map(int, age.texts[wide][1:-1].split(","))
    assert [age.values[code] for code in age.code[age.at[wide] : age.at[wide + 1]]] == [
        str(x) for x in range(low, high + 1)
    ]
    assert age.centres()[wide] == (low + high) / 2
    assert list(reading.features["job"].values)[:5] == list(JOBS)
    assert list(reading.features["size"].values) == SIZES
    assert not reading.features["weight"].whole
    # Classes are rows of equal cells.
    cells = np.stack([reading.features[name].cell for name in reading.quasi], axis=1)
    assert len(np.unique(cells, axis=0)) == len(np.unique(np.column_stack([cells, reading.groups]), axis=0))


def test_styles_are_read_as_what_they_say() -> None:
    frame = people()
    settings = {"age": {"style": "bounds"}, "weight": {"style": "representative"}, "born": {"style": "representative"}}
    reading = read_release(released(shoal.Mondrian(k=5), frame, read={"settings": settings}))
    check(reading, frame)
    assert covers_own(reading, reading.features["age"])
    assert not reading.features["age"].exact
    weight = reading.features["weight"]
    assert weight.exact
    # A representative is its own centre, and stands for the value nearest to it.
    for text, centre, code in zip(weight.texts, weight.centres(), weight.code, strict=True):
        assert centre == float(text)
        assert abs(weight.numbers[code] - centre) == np.abs(weight.numbers - centre).min()


@pytest.mark.parametrize("kind", ["randomised", "pseudonymised", "none"])
def test_exact_cells_are_values(kind: str) -> None:
    frame = people()
    algorithm = {
        "randomised": shoal.RandomAnonymisation(), "pseudonymised": shoal.TableTransform(), "none": shoal.NoAlgorithm(),
    }[kind]  # fmt: skip
    reading = read_release(released(algorithm, frame, read=EXACT if kind == "none" else {}))
    check(reading, frame)
    assert all(one.exact for one in reading.features.values())
    assert list(reading.left_out) == (["disease"] if kind == "pseudonymised" else [])
    assert reading.source is not None
    same = [np.array_equal(one.released(), one.original[reading.source]) for one in reading.features.values()]
    assert all(same) == (kind != "randomised")


def test_centroids_stand_for_the_nearest_value() -> None:
    frame = people()
    made = released(shoal.Microaggregation(k=3), frame)
    reading = read_release(made)
    check(reading, frame)
    weight = reading.features["weight"]
    assert weight.exact
    assert np.allclose(weight.centres()[weight.cell], made.frame["weight"].to_numpy())
    assert not set(weight.texts) <= set(weight.values)


@pytest.mark.parametrize("publication", ["tables", "permuted"])
def test_values_of_groups_are_paired_once(publication: str) -> None:
    frame = people()
    made = released(shoal.Anatomy(l=3, on="disease", publication=publication), frame)
    reading = read_release(made)
    check(reading, frame)
    sizes = np.bincount(reading.groups)
    assert sorted(sizes) == sorted(made.frame["group"].value_counts()["count"])
    assert reading.source is not None
    disease = reading.features["disease"]
    truth = np.bincount(reading.groups * 5 + disease.original[reading.source])
    assert np.array_equal(np.bincount(reading.groups * 5 + disease.released()), truth)
    assert (disease.released() != disease.original[reading.source]).any()


def test_a_written_release_reads_the_same_and_stars_are_left_out(tmp_path: Path) -> None:
    frame = people(missing=True)
    own = shoal.NoAlgorithm(levels={"age": 1, "born": 1, "weight": 1}, suppression_limit=1)
    given: dict[str, Any] = {"read": {"missing": "value"}, "models": [shoal.KAnonymity(k=2)], "suppressed": "star"}
    made = released(own, frame, **given)
    made.write(tmp_path / "out")
    ours = read_release(made)
    assert 0 < ours.suppression < 1
    frames, manifest = read_tables(tmp_path / "out")
    theirs = read_published(frames["release"], manifest, frame)
    check(theirs, frame)
    for name, one in ours.features.items():
        assert list(one.values) == list(theirs.features[name].values)
        assert np.array_equal(one.cell, theirs.features[name].cell)
        assert np.array_equal(one.code, theirs.features[name].code)


def test_another_original_is_refused() -> None:
    made = released(shoal.Mondrian(k=3), people())
    with pytest.raises(InputError, match="no column 'job'"):
        read_published(made.frame, made.manifest, people().drop("job"))
    with pytest.raises(InputError, match="rows"):
        read_published(made.frame, made.manifest, people(10))
    with pytest.raises(InputError, match="'job'"):
        read_published(made.frame, made.manifest, people().with_columns(job=pl.lit("pilot")))


def test_counterfeit_rows_have_no_original() -> None:
    made = released(shoal.NoAlgorithm(), people(62), read=EXACT)
    table = dataclasses.replace(made.table, counterfeits=2)
    gated = dataclasses.replace(made.gated, manifest=json.dumps({**made.manifest, "counterfeits": 2}).encode())
    reading = read_release(dataclasses.replace(made, rows=MemoryRows(table), gated=gated))
    check(reading, people(60))
    assert (reading.n, reading.rows, reading.source, reading.suppression) == (60, 62, None, 0.0)
