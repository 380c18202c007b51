"""A release of more rows than memory is given for, against one DuckDB GROUP BY over its columns and a copy of its file.

    python -m benchmarks.scale --rows 50 --memory 2GB --algorithm optimal --algorithm mondrian

Every run is a process of its own, whose peak of resident memory is measured from outside.
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

import numpy as np
import polars as pl

from shoal.census.generate import generate

QUASI = ("age", "sex", "postcode", "region", "marital_status", "education", "occupation", "industry", "visits")
PEOPLE, PART = 100_000, 1_000_000
RECIPE = """
seed = 1
[source]
path = "rows.parquet"
[roles]
quasi = {quasi}
sensitive = ["diagnosis"]
[columns.visits]
type = "numeric"
[hierarchies]
age = {{ widths = [5, 10, 20] }}
visits = {{ widths = [2, 8] }}
postcode = {{ prefix = [3, 1] }}
{prefixes}
[[models]]
name = "k"
k = {k}
[[models]]
name = "distinct-l"
l = 3
[algorithm]
name = "{algorithm}"
suppression_limit = 0.1
[engine]
name = "duckdb"
memory = "{memory}"
[output]
folder = "out-{algorithm}"
format = "parquet"
"""


def write_rows(path: Path, millions: int) -> None:
    """Rows drawn from a synthetic census, so that combinations repeat as they do among real people."""
    import pyarrow.parquet as pq

    people = generate(PEOPLE).select(*QUASI, "diagnosis").drop_nulls()
    random = np.random.default_rng(1)
    writer = None
    for _ in range(millions):
        rows = people[random.integers(0, people.height, PART)].to_arrow()
        writer = writer or pq.ParquetWriter(path, rows.schema)
        writer.write_table(rows)
    assert writer is not None
    writer.close()


def plain(folder: Path, memory: str) -> float:
    """Seconds of one GROUP BY over the quasi-identifiers and one copy of the file."""
    import duckdb

    started = time.perf_counter()
    with duckdb.connect(":memory:", config={"memory_limit": memory, "temp_directory": str(folder / "spilled")}) as base:
        rows = base.read_parquet(str(folder / "rows.parquet"))
        rows.aggregate(f"count(*), {', '.join(QUASI)}").fetchall()
        rows.write_parquet(str(folder / "copy.parquet"))
    return time.perf_counter() - started


def released(folder: Path, algorithm: str, memory: str, k: int) -> tuple[float, float]:
    """Seconds of a run, and the peak of its resident memory in MiB."""
    flat = [name for name in QUASI if name not in ("age", "visits", "postcode")]
    prefixes = "\n".join(f"{name} = {{ prefix = [1] }}" for name in flat)
    recipe = folder / f"{algorithm}.toml"
    recipe.write_text(
        RECIPE.format(quasi=json.dumps(QUASI), prefixes=prefixes, algorithm=algorithm, memory=memory, k=k)
    )
    program = "import sys, shoal; shoal.run(sys.argv[1])"
    started = time.perf_counter()
    process = subprocess.Popen([sys.executable, "-c", program, str(recipe)])
    _, status, usage = os.wait4(process.pid, 0)
    if status:
        sys.exit(f"{algorithm} failed: it ended with {os.waitstatus_to_exitcode(status)}.")
    return time.perf_counter() - started, usage.ru_maxrss / 1024


def main() -> None:
    """Print a line an algorithm."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--rows", type=int, default=5, help="millions of rows")
    parser.add_argument("--memory", default="2GB")
    parser.add_argument("--k", type=int, default=100)
    parser.add_argument("--algorithm", action="append")
    asked = parser.parse_args()
    with tempfile.TemporaryDirectory() as place:
        folder = Path(place)
        write_rows(folder / "rows.parquet", asked.rows)
        yardstick = plain(folder, asked.memory)
        cells = pl.scan_parquet(folder / "rows.parquet").select(pl.struct(QUASI).n_unique()).collect().item()
        print(f"{asked.rows} million rows, {cells:,} combinations; GROUP BY and copy: {yardstick:.1f} s", flush=True)
        for algorithm in asked.algorithm or ["optimal", "mondrian"]:
            seconds, peak = released(folder, algorithm, asked.memory, asked.k)
            print(
                f"{algorithm}: {seconds:.1f} s, {seconds / yardstick:.1f} times; {peak:,.0f} MiB, {asked.memory} given",
                flush=True,
            )


if __name__ == "__main__":
    main()
