"""A gated release of a Spark DataFrame, against the plain job that reads, groups and writes the same file.

    python -m benchmarks.spark --rows 10

Both run in one session, in turns, after a small release and the plain job, which warm it up; of several runs the one
that takes least of the processor counts. Seconds of processor and memory are those of the driver, of Java and of Python
workers together. Shuffles are counted from the session's event log.
"""

from __future__ import annotations

import argparse
import json
import os
import sys
import tempfile
import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow.parquet as pq

import shoal.spark
from benchmarks.processes import Taken, watched
from benchmarks.scale import PEOPLE, QUASI
from shoal.io.census import generate

PART = 500_000


def asked(algorithm: str, k: int) -> dict[str, Any]:
    """The recipe."""
    flat = {name: {"prefix": [1]} for name in QUASI if name not in ("age", "visits", "postcode")}
    trees = {"age": {"widths": [5, 10, 20]}, "visits": {"widths": [2, 8]}, "postcode": {"prefix": [3, 1]}}
    return {
        "seed": 1,
        "roles": {"key": "row", "quasi": list(QUASI), "sensitive": ["diagnosis"]},
        "columns": {"visits": {"type": "numeric"}},
        "hierarchies": {**trees, **flat},
        "models": [{"name": "k", "k": k}, {"name": "distinct-l", "l": 3}],
        "algorithm": {"name": algorithm, "suppression_limit": 0.1},
    }


def write_rows(path: Path, count: int) -> None:
    """Rows drawn from a synthetic census, each with a key."""
    people = generate(PEOPLE).select(*QUASI, "diagnosis").drop_nulls()
    random, writer = np.random.default_rng(1), None
    for start in range(0, count, PART):
        many = min(PART, count - start)
        rows = people[random.integers(0, people.height, many)].with_row_index("row", offset=start)
        table = rows.cast({"row": int}).to_arrow()
        writer = writer or pq.ParquetWriter(path, table.schema)
        writer.write_table(table)
    assert writer is not None
    writer.close()


def session(log: Path, master: str) -> Any:
    """A session that keeps a log of its events."""
    from pyspark.sql import SparkSession

    os.environ.setdefault("PYSPARK_PYTHON", sys.executable)
    settings = {
        "spark.eventLog.enabled": "true", "spark.eventLog.dir": log.as_uri(), "spark.eventLog.compress": "false",
        "spark.eventLog.rolling.enabled": "false", "spark.ui.enabled": "false",
        "spark.ui.showConsoleProgress": "false", "spark.driver.memory": "4g", "spark.sql.shuffle.partitions": "8",
        "spark.driver.host": "127.0.0.1", "spark.driver.bindAddress": "127.0.0.1",
    }  # fmt: skip
    builder = SparkSession.builder.master(master).appName("shoal benchmark")
    for name, value in settings.items():
        builder = builder.config(name, value)
    found = builder.getOrCreate()
    found.sparkContext.setLogLevel("ERROR")
    return found


def plain(spark: Any, folder: Path, source: str) -> float:
    """Seconds of the plain job."""
    started = time.perf_counter()
    rows = spark.read.parquet(source)
    rows.groupBy(*QUASI).count().write.mode("overwrite").parquet((folder / "groups").as_uri())
    rows.write.mode("overwrite").parquet((folder / "copy").as_uri())
    return time.perf_counter() - started


def released(spark: Any, folder: Path, source: str, recipe: dict[str, Any]) -> float:
    """Seconds of a release, written."""
    started = time.perf_counter()
    with shoal.spark.anonymize(spark.read.parquet(source), recipe, scratch=folder) as release:
        release.frame.write.mode("overwrite").parquet((folder / "release").as_uri())
    return time.perf_counter() - started


def shuffles(log: Path, group: str) -> list[tuple[str, int]]:
    """Name and bytes of every stage of a group of jobs that wrote for a shuffle."""
    mine, names, written = set(), {}, dict[int, int]()
    for path in log.iterdir():
        for line in path.read_text("utf-8").splitlines():
            event = json.loads(line)
            if event["Event"] == "SparkListenerJobStart":
                if (event.get("Properties") or {}).get("spark.job.description") == group:
                    mine.update(event["Stage IDs"])
                names |= {one["Stage ID"]: one["Stage Name"] for one in event["Stage Infos"]}
            elif event["Event"] == "SparkListenerTaskEnd" and event.get("Task Metrics"):
                stage = event["Stage ID"]
                count = event["Task Metrics"]["Shuffle Write Metrics"]["Shuffle Bytes Written"]
                written[stage] = written.get(stage, 0) + count
    return [(names[stage], count) for stage, count in written.items() if stage in mine and count]


@dataclass(frozen=True)
class Run:
    """Seconds by the clock, and what all processes took."""

    seconds: float
    taken: Taken


def alternating(spark: Any, jobs: Mapping[str, Callable[[str], float]], source: str, repeats: int) -> dict[str, Run]:
    """Of each job the run that took least of the processor, after one of the plain job that nobody counts."""
    runs: dict[str, list[Run]] = {what: [] for what in jobs}
    jobs["plain"](source)
    for repeat in range(repeats):
        for what, job in jobs.items():
            spark.sparkContext.setJobDescription(f"{what} {repeat}")
            with watched(os.getpid()) as taken:
                seconds = job(source)
            runs[what].append(Run(seconds, taken))
            print(f"{what}: {seconds:.1f} s; {taken.seconds:.1f} s of processor; {taken.peak:,.0f} MiB", flush=True)
    return {what: min(several, key=lambda run: run.taken.seconds) for what, several in runs.items()}


def main() -> None:
    """Print times, their ratio and the shuffles."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--rows", type=float, default=1, help="millions of rows")
    parser.add_argument("--repeats", type=int, default=2)
    parser.add_argument("--k", type=int, default=100)
    parser.add_argument("--algorithm", default="optimal")
    parser.add_argument("--master", default="local[2]")
    given = parser.parse_args()
    with tempfile.TemporaryDirectory() as place:
        folder, log = Path(place), Path(place) / "events"
        log.mkdir()
        for name, count in (("warm", 20_000), ("rows", int(given.rows * 1e6))):
            write_rows(folder / f"{name}.parquet", count)
        spark, recipe = session(log, given.master), asked(given.algorithm, given.k)
        jobs = {
            "plain": lambda source: plain(spark, folder, source),
            "release": lambda source: released(spark, folder, source, recipe),
        }
        jobs["release"]((folder / "warm.parquet").as_uri())
        best = alternating(spark, jobs, (folder / "rows.parquet").as_uri(), given.repeats)
        spark.stop()
        base, mine = best["plain"], best["release"]
        own, theirs = mine.taken.seconds, base.taken.seconds
        print(f"{given.rows:g} million rows, plain job: {base.seconds:.1f} s; {theirs:.1f} s of processor")
        print(
            f"{given.algorithm}, gated: {mine.seconds:.1f} s, {mine.seconds / base.seconds:.1f} times; "
            f"{own:.1f} s of processor, {own / theirs:.1f} times; {mine.taken.peak:,.0f} MiB"
        )
        for what in jobs:
            found = shuffles(log, f"{what} 0")
            print(f"{what}: {len(found)} shuffles, {sum(count for _, count in found) / 2**20:,.1f} MiB")
            for stage, count in sorted(found, key=lambda one: -one[1])[:4]:
                print(f"    {count / 2**20:,.1f} MiB: {stage}")


if __name__ == "__main__":
    main()
