"""Rows through files that machines write by themselves: coded as they came, published bucket by bucket in one order."""

from __future__ import annotations

from collections.abc import Iterator
from functools import partial
from pathlib import Path

import numpy as np
import polars as pl
import pyarrow.parquet as pq
import pytest

from shoal.data.keys import Keys
from shoal.data.schema import Schema
from shoal.data.table import read_part
from shoal.engines import spark_files
from shoal.engines.spark_files import (
    LEFT_OUT,
    READ,
    Buckets,
    Coder,
    Coding,
    Different,
    Publishing,
    Reader,
    files_of,
    refuse_mixed,
)
from shoal.engines.spark_tasks import Tallying
from shoal.errors import InputError
from shoal.io.frames import Arriving
from shoal.recoding.publish import RELEASE_ORDER

ROWS = pl.DataFrame(
    {"key": range(400), "age": [20 + row % 7 for row in range(400)], "sex": ["f", None, "m", "m"] * 100}
)


def _task(part: int, attempt: int) -> tuple[int, int]:
    return part, attempt


def read(folder: Path, rows: pl.DataFrame, missing: str = "value", attempt: int = 7) -> pl.DataFrame:
    """Two parts of two batches, read by two tasks, and what they tally."""
    arriving = Arriving(where="the frame")
    schema = Schema(quasi=["age", "sex"], key="key")
    tallying = Tallying(
        schema=schema, columns=rows.columns, missing=missing, faults=arriving.faults, clean=arriving.clean
    )
    for name in ("read", "dropped"):
        (folder / name).mkdir(exist_ok=True)
    found = []
    for part in (0, 1):
        reader = Reader(
            tallying=tallying, others=["key"], stream=Keys.from_seed(1).stream(RELEASE_ORDER), folder=folder / "read",
            task=partial(_task, part, attempt + part),
        )  # fmt: skip
        half = rows[part * 200 : (part + 1) * 200]
        found += list(reader(iter([half[:130], half[130:]])))
    return pl.concat(found)


def coded(folder: Path, files: list[str], bits: int, values: list[str | None]) -> Iterator[Path]:
    """Two runs of what was read."""
    (folder / "coded").mkdir()
    ages = pl.Series(range(20, 27))
    coder = Coder(
        values={"age": ages, "sex": pl.Series(values, dtype=pl.String)}, spelled=[], places={"age": 0, "sex": 1},
        codes={"age": np.arange(7)[::-1], "sex": np.arange(3)},
    )  # fmt: skip
    coding = Coding(
        coder=coder, read=folder / "read", folder=folder / "coded", runs=[files[:3], files[3:]], starts=[0, 330],
        bits=bits, task=lambda: (0, 3),
    )  # fmt: skip
    for done in coding(iter([pl.DataFrame({"id": [0]}), pl.DataFrame({"id": [1]})])):
        yield folder / "coded" / done["name"].item()


@pytest.mark.parametrize("bits", [0, 3, 6])
def test_buckets_hold_all_rows_in_the_order_of_their_draws(bits: int, tmp_path: Path) -> None:
    tally = read(tmp_path, ROWS)
    files = tally.filter(what=READ).sort("col", "w")
    assert files["n"].to_list() == [130, 70, 130, 70]
    runs = list(coded(tmp_path, files["t"].to_list(), bits, [None, "f", "m"]))
    paths = [path for run in runs for path in files_of(run, bits)]
    assert sorted((tmp_path / "coded").iterdir()) == sorted(paths)
    # Whoever wants a bucket opens one file of a run, and reads what stands in it of other buckets' row groups.
    assert max(pq.ParquetFile(path).num_row_groups for path in paths) == {0: 1, 3: 4, 6: 8}[bits]
    buckets = Buckets(runs=runs, bits=bits)
    found = pl.concat(buckets.rows(bucket) for bucket in range(1 << bits))
    assert found["b"].is_sorted()
    assert found["b"].n_unique() == 400
    came = found.sort("r")
    assert came["r"].to_list() == came["o0"].to_list() == ROWS["key"].to_list()
    assert came["c0"].to_list() == (26 - ROWS["age"]).to_list()
    assert came["c1"].to_list() == [{None: 0, "f": 1, "m": 2}[sex] for sex in ROWS["sex"]]
    told = list(Different(buckets)(iter([pl.DataFrame({"id": range(1 << bits)})])))
    assert sum(one["n"].item() for one in told) == 400


def test_every_bucket_is_published_in_a_file_of_its_attempt(tmp_path: Path) -> None:
    tally = read(tmp_path, ROWS)
    runs = list(coded(tmp_path, tally.filter(what=READ).sort("col", "w")["t"].to_list(), 2, [None, "f", "m"]))
    (tmp_path / "staged").mkdir()
    buckets, seen = Buckets(runs=runs, bits=2), []

    def staging(rows: pl.DataFrame) -> pl.DataFrame:
        """Rows with a sex, as if the others were suppressed."""
        seen.append(rows)
        return rows.filter(pl.col("c1") > 0).with_columns(p0=pl.col("o0") * 2)

    publishing = Publishing(
        buckets=buckets, staging=staging, folder=tmp_path / "staged", task=lambda: (9, 31)  # type: ignore[arg-type]
    )  # fmt: skip
    told = pl.concat(publishing(iter([pl.DataFrame({"id": [2, 0]}), pl.DataFrame({"id": [1, 3]})])))
    assert told["at"].to_list() == [2, 0, 1, 3]
    assert told["name"].to_list() == [f"part-{at:05d}-31.parquet" for at in (2, 0, 1, 3)]
    assert pl.concat(seen).equals(pl.concat(buckets.rows(at) for at in (2, 0, 1, 3)))
    told = told.sort("at")
    files = [pl.read_parquet(tmp_path / "staged" / name) for name in told["name"]]
    assert [one.height for one in files] == told["n"].to_list()
    published = pl.concat(files)
    assert published["b"].is_sorted()
    assert sorted(published["p0"]) == [2 * row for row in range(400) if ROWS["sex"][row] is not None]


def test_a_key_that_repeats_is_counted_once(tmp_path: Path) -> None:
    tally = read(tmp_path, ROWS.with_columns(key=pl.col("key") // 2))
    runs = list(coded(tmp_path, tally.filter(what=READ).sort("col", "w")["t"].to_list(), 2, [None, "f", "m"]))
    told = list(Different(Buckets(runs=runs, bits=2))(iter([pl.DataFrame({"id": range(4)})])))
    assert sum(one["n"].item() for one in told) == 200


def test_attempts_write_files_of_their_own_and_rows_left_out_stand_apart(tmp_path: Path) -> None:
    first, second = (read(tmp_path, ROWS, "drop", attempt) for attempt in (7, 20))
    names = [set(one.filter(what=READ)["t"]) for one in (first, second)]
    assert names[0] & names[1] == set()
    assert names[0] | names[1] < {path.name for path in (tmp_path / "read").iterdir()}
    left = first.filter(what=LEFT_OUT).sort("col", "w")
    parts = [read_part(tmp_path / "dropped" / name) for name in left["t"]]
    assert [part.height for part in parts] == left["n"].to_list()
    assert pl.concat(parts)["d0"].to_list() == ROWS.filter(pl.col("sex").is_null())["key"].to_list()


def test_files_of_one_attempt_at_every_part_count_and_all_of_them(tmp_path: Path) -> None:
    """A machine that is lost takes what it told along; what others heard of it before stays with them."""
    first, again = (
        read(tmp_path, ROWS, "drop", attempt).filter(pl.col("what").is_in([READ, LEFT_OUT])) for attempt in (7, 20)
    )
    refuse_mixed(first, 300, 100)
    refuse_mixed(pl.concat([first.filter(col=0), again.filter(col=1)]), 300, 100)
    late = pl.col("w") == 1
    lost = first.filter(~late | (pl.col("what") == READ)), first.filter(~late | (pl.col("what") == LEFT_OUT))
    mixed = pl.concat([first.filter(~late), again.filter(late)])
    for told in (*lost, mixed, pl.concat([first, again])):
        with pytest.raises(InputError, match="A machine of Spark was lost .*: run again"):
            refuse_mixed(told, 300, 100)


def test_a_value_that_nobody_counted_is_a_source_that_changed(tmp_path: Path) -> None:
    files = read(tmp_path, ROWS).filter(what=READ).sort("col", "w")["t"].to_list()
    with pytest.raises(InputError, match="The source changed while it was read"):
        list(coded(tmp_path, files, 1, [None, "f"]))


def test_of_many_rows_runs_grow_and_buckets_do_not_become_more() -> None:
    rows = (1, 1 << 19, 1 << 20, 10_000_000, 10**9, 10**11)
    assert [spark_files.bucket_bits(n) for n in rows] == [0, 0, 1, 5, 10, 10]
    assert [spark_files.run_rows(n) for n in (1, 10_000_000, 1 << 31)] == [1 << 19, 1 << 19, 1 << 21]
