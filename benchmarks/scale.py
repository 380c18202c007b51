"""A release of more rows than memory is given for, against one DuckDB GROUP BY over its columns and a copy of its file.

    python -m benchmarks.scale --rows 50 --memory 2GB --algorithm optimal --algorithm mondrian
    python -m benchmarks.scale --rows 5 --engine postgres

Every run is a process of its own, whose peaks of resident memory and of scratch files are measured from outside.
"""

from __future__ import annotations

import argparse
import json
import os
import subprocess
import sys
import tempfile
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import numpy as np
import polars as pl

from benchmarks import processes
from shoal.io.census import generate

QUASI = ("age", "sex", "postcode", "region", "marital_status", "education", "occupation", "industry", "visits")
PEOPLE, PART = 100_000, 1_000_000
RECIPE = """
seed = 1
[source]
{source}
[roles]
{key}
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
name = "{engine}"
memory = "{memory}"
scratch = "scratch"
[output]
folder = "out-{algorithm}"
format = "parquet"
"""


def write_rows(path: Path, count: int) -> None:
    """Rows drawn from a synthetic census, so that combinations repeat as they do among real people."""
    import pyarrow.parquet as pq

    people = generate(PEOPLE).select(*QUASI, "diagnosis").drop_nulls()
    random = np.random.default_rng(1)
    writer = None
    for start in range(0, count, PART):
        rows = people[random.integers(0, people.height, min(PART, count - start))].to_arrow()
        writer = writer or pq.ParquetWriter(path, rows.schema)
        writer.write_table(rows)
    assert writer is not None
    writer.close()


def plain(folder: Path, memory: str) -> tuple[float, float]:
    """Seconds, and seconds of processor, of one GROUP BY over the quasi-identifiers and one copy of the file."""
    import duckdb

    started, used = time.perf_counter(), time.process_time()
    with duckdb.connect(":memory:", config={"memory_limit": memory, "temp_directory": str(folder / "spilled")}) as base:
        rows = base.read_parquet(str(folder / "rows.parquet"))
        rows.aggregate(f"count(*), {', '.join(QUASI)}").to_arrow_table()
        rows.write_parquet(str(folder / "copy.parquet"))
    return time.perf_counter() - started, time.process_time() - used


def released(folder: Path, recipe: str, server: int | None) -> tuple[float, float, float, float]:
    """Seconds of a run, those of processor, and the peaks of its resident memory and of its scratch files in MiB.

    Seconds of processor are those of the database's server, too.
    """
    path, scratch = folder / "recipe.toml", folder / "scratch"
    path.write_text(recipe, "utf-8")
    scratch.mkdir(exist_ok=True)
    program = "import sys, shoal; shoal.run(sys.argv[1])"
    started = time.perf_counter()
    process = subprocess.Popen([sys.executable, "-c", program, str(path)])
    with watched(scratch) as sizes, processes.watched(*([] if server is None else [server])) as database:
        _, status, used = os.wait4(process.pid, 0)
    if status:
        sys.exit(f"The run failed: it ended with {os.waitstatus_to_exitcode(status)}.")
    seconds, cpu = time.perf_counter() - started, used.ru_utime + used.ru_stime + database.seconds
    return seconds, cpu, used.ru_maxrss / 1024, max(sizes) / 2**20


@contextmanager
def watched(folder: Path) -> Iterator[list[int]]:
    """Bytes of the files of a folder, looked at four times a second."""
    sizes, over = [0], threading.Event()

    def look() -> None:
        while not over.wait(0.25):
            sizes.append(occupied(folder))

    looking = threading.Thread(target=look)
    looking.start()
    try:
        yield sizes
    finally:
        over.set()
        looking.join()


def occupied(folder: Path) -> int:
    """Bytes of the files of a folder that is being written to."""
    total = 0
    for place, _, names in os.walk(folder):
        for name in names:
            try:
                total += os.stat(os.path.join(place, name)).st_size
            except FileNotFoundError:
                continue
    return total


def recipe_of(source: str, key: str, *, algorithm: str, engine: str, memory: str, k: int) -> str:
    """What is asked for."""
    flat = [name for name in QUASI if name not in ("age", "visits", "postcode")]
    prefixes = "\n".join(f"{name} = {{ prefix = [1] }}" for name in flat)
    return RECIPE.format(
        source=source, key=key, quasi=json.dumps(QUASI), prefixes=prefixes, algorithm=algorithm, engine=engine,
        memory=memory, k=k,
    )  # fmt: skip


@contextmanager
def placed(folder: Path, engine: str) -> Iterator[tuple[str, str, int | None]]:
    """The rows where an engine finds them: what a recipe says of the source, and of its key; a server's process."""
    if engine == "duckdb":
        yield 'path = "rows.parquet"', "", None
        return
    from tests.engines.server import binaries, running

    programs = binaries()
    assert programs is not None, "needs the programs of PostgreSQL"
    with running(programs) as server:
        columns = ", ".join(f"{name} {'bigint' if name in ('age', 'visits') else 'text'}" for name in QUASI)
        server.do(f"CREATE TABLE rows (row bigserial PRIMARY KEY, {columns}, diagnosis text)")
        copy_rows(server.url(), folder / "rows.parquet")
        process = int((server.log.parent / "postmaster.pid").read_text("utf-8").split()[0])
        yield f'url = "{server.url()}"\ntable = "public.rows"', 'key = "row"', process


def copy_rows(url: str, path: Path) -> None:
    """Fill a table, a batch at a time."""
    import psycopg
    import pyarrow.parquet as pq

    asked = f"COPY rows ({', '.join([*QUASI, 'diagnosis'])}) FROM STDIN (FORMAT csv)"
    with psycopg.connect(url) as base, base.cursor().copy(asked) as copy:
        for batch in pq.ParquetFile(path).iter_batches(PART):
            frame = pl.from_arrow(batch)
            assert isinstance(frame, pl.DataFrame)
            copy.write(frame.write_csv(include_header=False))


def main() -> None:
    """Print a line an algorithm."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--rows", type=float, default=5, help="millions of rows")
    parser.add_argument("--memory", default="2GB")
    parser.add_argument("--k", type=int, default=100)
    parser.add_argument("--algorithm", action="append")
    parser.add_argument("--engine", choices=("duckdb", "postgres"), default="duckdb")
    asked = parser.parse_args()
    with tempfile.TemporaryDirectory() as place:
        folder = Path(place)
        write_rows(folder / "rows.parquet", int(asked.rows * 1e6))
        base, base_cpu = plain(folder, asked.memory)
        cells = pl.scan_parquet(folder / "rows.parquet").select(pl.struct(QUASI).n_unique()).collect().item()
        print(
            f"{asked.rows:g} million rows, {cells:,} combinations; GROUP BY and copy: {base:.1f} s ({base_cpu:.1f} s "
            "of processor)", flush=True,
        )  # fmt: skip
        with placed(folder, asked.engine) as (source, key, server):
            for algorithm in asked.algorithm or ["optimal", "mondrian"]:
                recipe = recipe_of(
                    source, key, algorithm=algorithm, engine=asked.engine, memory=asked.memory, k=asked.k
                )
                seconds, cpu, peak, disk = released(folder, recipe, server)
                print(
                    f"{algorithm}: {seconds:.1f} s, {seconds / base:.1f} times; {cpu:.1f} s of processor, "
                    f"{cpu / base_cpu:.1f} times; {peak:,.0f} MiB, {asked.memory} given; scratch {disk:,.0f} MiB",
                    flush=True,
                )


if __name__ == "__main__":
    main()
