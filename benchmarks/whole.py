"""From a CSV file to a gated, written release, in memory, against Polars reading and rewriting the same file.

    python -m benchmarks.whole --rows 1000000

Every run is a process of its own. Processor time counts from a warm start (20,000 rows first), on one thread of Polars;
the peak of resident memory is that of the whole process.
"""

from __future__ import annotations

import argparse
import os
import subprocess
import sys
import tempfile
import time
from pathlib import Path

import polars as pl

from shoal.algorithms.mondrian import Mondrian
from shoal.io.census import generate
from shoal.models.diversity import DistinctL
from shoal.recipe.source import read
from shoal.release.entry import anonymize

QUASI = ("age", "sex", "postcode", "region", "marital_status", "education", "occupation", "industry")
WARM = 20_000


def copied(path: Path) -> None:
    """What Polars does."""
    pl.read_csv(path).write_csv(path.with_suffix(".copy"))


def released(path: Path) -> None:
    """Mondrian, k = 10 and two diagnoses a class."""
    columns = pl.read_csv(path, n_rows=1).columns
    table = read(
        path, identifiers=["name"], quasi=list(QUASI), sensitive=["diagnosis"], missing="value",
        drop=[name for name in columns if name not in (*QUASI, "name", "diagnosis")],
        settings={"postcode": {"type": "categorical"}}, hierarchies={"postcode": {"prefix": [4, 3, 2, 1]}},
    )  # fmt: skip
    release = anonymize(table, algorithm=Mondrian(k=10), models=[DistinctL(l=2)], seed=1, acknowledge=["W-ROWS"])
    release.write(path.with_suffix(".release"), replace=True)


WAYS = {"copied": copied, "released": released}
GENERATED = "generated"


def command_of(way: str, folder: Path, rows: int) -> list[str]:
    """A process of its own."""
    return [sys.executable, "-m", "benchmarks.whole", "--rows", str(rows), "--way", way, "--folder", str(folder)]


def measured(way: str, folder: Path, rows: int) -> tuple[float, float]:
    """Seconds of processor time of a run, and the peak of its process's resident memory in MiB."""
    command = command_of(way, folder, rows)
    with subprocess.Popen(command, env=os.environ | {"POLARS_MAX_THREADS": "1"}, stdout=subprocess.PIPE) as process:
        assert process.stdout is not None
        told = process.stdout.read()
        _, status, usage = os.wait4(process.pid, 0)
        process.returncode = os.waitstatus_to_exitcode(status)
    if status:
        sys.exit(f"'{way}' failed: it ended with {process.returncode}.")
    return float(told), usage.ru_maxrss / 1024


def file_of(folder: Path, rows: int) -> Path:
    """The census as a CSV file."""
    return folder / f"census-{rows}.csv"


def main() -> None:
    """Print both, and what is between them."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--rows", type=int, default=1_000_000)
    parser.add_argument("--repeats", type=int, default=3)
    parser.add_argument("--way", choices=[*WAYS, GENERATED], help=argparse.SUPPRESS)
    parser.add_argument("--folder", type=Path, help=argparse.SUPPRESS)
    asked = parser.parse_args()
    if asked.way == GENERATED:
        generate(asked.rows).write_csv(file_of(asked.folder, asked.rows))
        return
    if asked.way is not None:
        WAYS[asked.way](file_of(asked.folder, WARM))
        started = time.process_time()
        WAYS[asked.way](file_of(asked.folder, asked.rows))
        print(time.process_time() - started)
        return
    with tempfile.TemporaryDirectory() as place:
        folder = Path(place)
        for rows in {WARM, asked.rows}:
            # Elsewhere, since a process begins with the peak of the one that starts it.
            subprocess.run(command_of(GENERATED, folder, rows), check=True)
        size = file_of(folder, asked.rows).stat().st_size / 2**20
        print(f"{asked.rows:,} rows, {size:,.0f} MiB of CSV", flush=True)
        found = {}
        for way in WAYS:
            runs = [measured(way, folder, asked.rows) for _ in range(asked.repeats)]
            found[way] = min(seconds for seconds, _ in runs)
            peak = min(peak for _, peak in runs)
            print(f"{way}: {found[way]:.2f} s of processor time; {peak:,.0f} MiB, {peak / size:.1f} times the file")
        print(f"released / copied: {found['released'] / found['copied']:.1f}")


if __name__ == "__main__":
    main()
