"""Clusterings part by part: memory and time of more rows than memory holds, and what the cuts between parts lose.

    python -m benchmarks.parts                                 # 10 million rows, and 1 million in memory and in parts
    python -m benchmarks.parts --algorithm toc --rows 10 --compare 1 --small 200MB
    python -m benchmarks.parts --rows 0 --compare 1            # the comparison alone

Every run is a process of its own, whose peaks of resident memory and of scratch files are measured from outside. Of the
comparison the same rows are grouped at once by the engine `memory`, and in parts by `duckdb` at the smaller memory.
"""

from __future__ import annotations

import argparse
import json
import os
import subprocess
import sys
import tempfile
import time
from pathlib import Path
from typing import Any

import pyarrow.parquet as pq

from benchmarks.scale import watched
from shoal.io.census import generate

QUASI = ("age", "sex", "region", "marital_status", "education", "occupation")
PART = 1_000_000
# What docs/algorithms.md advises for millions of records; polish of so many takes hours. Size and delta are given,
# since what is chosen from a sample differs more from one table to the next than parts differ from the whole.
METHODS = {
    "toc": 'listing = "printed"\nmax_size = 19\nsize = 200\ndelta = 0.625\nsuppression_limit = 0.1',
    "upc": 'utility = 0.5\nprotection = 0.5\nlisting = "corrected"\nmax_size = 19\nsize = 200\nleftover_scope = "near"',
}
RECIPE = """
seed = 1
[source]
path = "rows.parquet"
[roles]
quasi = {quasi}
sensitive = ["income"]
[columns.age]
type = "numeric"
[columns.income]
type = "numeric"
[policies.income]
ranges = [[0, 19999], [20000, 39999], [40000, 59999], [60000, 1000000]]
else = "value"
[[models]]
name = "k"
k = {k}
[[models]]
name = "distinct-l"
l = 3
[algorithm]
name = "{algorithm}"
{method}
[engine]
name = "{engine}"
{memory}
[output]
folder = "out"
format = "parquet"
"""
PROGRAM = """
import json, sys, shoal
made = shoal.run(sys.argv[1])
found = {"lm": made.evidence["measures"]["lm"].value, "parts": made.evidence["search"].get("parts", 1)}
print(json.dumps({**found, "suppressed": made.evidence["counts"]["suppressed"]}))
"""


def write_rows(path: Path, millions: float) -> None:
    """People of a synthetic census, each other than the others."""
    writer = None
    for seed in range(max(1, round(millions))):
        rows = generate(min(PART, int(millions * PART)), seed + 1).select(*QUASI, "income").drop_nulls().to_arrow()
        writer = writer or pq.ParquetWriter(path, rows.schema)
        writer.write_table(rows)
    assert writer is not None
    writer.close()


def released(folder: Path, recipe: str) -> dict[str, Any]:
    """What the evidence of a run says, its seconds, and the peaks of its memory and of its scratch files in MiB."""
    path, scratch, said = folder / "recipe.toml", folder / "scratch", folder / "said.json"
    path.write_text(recipe, "utf-8")
    scratch.mkdir(exist_ok=True)
    started = time.perf_counter()
    with said.open("wb") as out, watched(scratch) as sizes:
        process = subprocess.Popen([sys.executable, "-c", PROGRAM, str(path)], stdout=out)
        _, status, used = os.wait4(process.pid, 0)
    if status:
        sys.exit(f"The run failed: it ended with {os.waitstatus_to_exitcode(status)}.")
    found = json.loads(said.read_text("utf-8"))
    times = {"seconds": time.perf_counter() - started, "cpu": used.ru_utime + used.ru_stime}
    return {**found, **times, "peak": used.ru_maxrss / 1024, "disk": max(sizes) / 2**20}


def told(what: str, found: dict[str, Any]) -> str:
    """A line of a run."""
    return (
        f"{what}: {found['seconds']:.0f} s ({found['cpu']:.0f} s of processor), {found['peak']:,.0f} MiB, "
        f"scratch {found['disk']:,.0f} MiB, {found['parts']} parts, lm {found['lm']:.5f}, "
        f"{found['suppressed']:,} suppressed"
    )


def main() -> None:
    """Print a line a run, and how much more is lost in parts."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--rows", type=float, default=10, help="millions of rows; 0 for none")
    parser.add_argument("--memory", default="2GB")
    parser.add_argument("--compare", type=float, default=1, help="millions of rows in memory and in parts; 0 for none")
    parser.add_argument("--small", default="200MB", help="the memory that these parts are made for")
    parser.add_argument("--k", type=int, default=10)
    parser.add_argument("--algorithm", action="append", choices=METHODS)
    asked = parser.parse_args()

    def recipe(algorithm: str, memory: str | None) -> str:
        engine = f'memory = "{memory}"\nscratch = "scratch"' if memory else ""
        return RECIPE.format(
            quasi=json.dumps(QUASI), k=asked.k, algorithm=algorithm, method=METHODS[algorithm],
            engine="duckdb" if memory else "memory", memory=engine,
        )  # fmt: skip

    for algorithm in asked.algorithm or METHODS:
        with tempfile.TemporaryDirectory() as place:
            folder = Path(place)
            if asked.compare:
                write_rows(folder / "rows.parquet", asked.compare)
                whole = released(folder, recipe(algorithm, None))
                print(told(f"{algorithm}, {asked.compare:g} million, in memory", whole), flush=True)
                parted = released(folder, recipe(algorithm, asked.small).replace('"out"', '"parted"'))
                print(told(f"{algorithm}, {asked.compare:g} million, {asked.small}", parted), flush=True)
                print(f"    lm in parts: {100 * (parted['lm'] / whole['lm'] - 1):+.2f} %", flush=True)
            if asked.rows:
                write_rows(folder / "rows.parquet", asked.rows)
                found = released(folder, recipe(algorithm, asked.memory).replace('"out"', '"large"'))
                print(told(f"{algorithm}, {asked.rows:g} million, {asked.memory}", found), flush=True)


if __name__ == "__main__":
    main()
