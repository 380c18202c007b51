"""Clustering against Mondrian on the same rows: time, growth with rows and columns, and memory."""

from __future__ import annotations

import ctypes
import gc
import subprocess
import sys
import time
from pathlib import Path

import polars as pl

from benchmarks.harness import Comparison, Work, case, coded, coded_adult, run, yardstick_groupby
from shoal.algorithms.base import Problem
from shoal.algorithms.cluster.toc import TOC
from shoal.algorithms.cluster.upc import UPC
from shoal.algorithms.grouping import Grouper
from shoal.algorithms.mondrian import Mondrian
from shoal.data.build import build_table
from shoal.data.keys import Keys
from shoal.data.schema import Schema
from shoal.engines.memory import MemoryEngine
from shoal.io.census import generate
from shoal.models.feasibility import whole_reference
from shoal.models.judge import Judge
from shoal.models.size import KAnonymity
from shoal.registry import load

QUASI = (
    "age", "sex", "region", "marital_status", "education", "occupation", "industry", "postcode", "visits",
)  # fmt: skip
BYTES_A_ROW = 200
# 10 to the power of 1.1: a log-log slope of 1.1 from 100,000 rows to 1 million.
TENFOLD = 12.6
GIVEN = TOC(k=5, listing="printed", delta=0.55, size=20, max_size=9)
CHOSEN = TOC(k=5, listing="printed", max_size=9)
LIMITED = UPC(k=5, utility=0.5, protection=0.5, listing="corrected", leftover_scope="near", max_size=9)


def grouping(spec: Grouper, frame: pl.DataFrame, sensitive: list[str]) -> Work:
    """Grouping alone: the table is coded, the result is not applied."""
    table = build_table(frame, Schema(quasi=[c for c in frame.columns if c not in sensitive], sensitive=sensitive))
    models = spec.models()
    engine = MemoryEngine()
    judge = Judge(models, whole_reference(engine.open(table), models))
    problem = Problem(rows=engine.open(table), judge=judge, keys=Keys.from_seed(1))
    return lambda: spec.group(problem)


def census(spec: Grouper, rows: int = 1_000_000, columns: int = 6) -> Work:
    """Rows of the synthetic census as codes, with the diagnosis as sensitive."""
    return grouping(spec, coded(generate(rows, 1).select(*QUASI[:columns], "diagnosis")), ["diagnosis"])


@case("TOC, delta and s given, k = 5, 1 million rows x 6 / Mondrian")
def toc_given() -> Comparison:
    """Algorithms 1, 2 and 5."""
    return Comparison(census(GIVEN), census(Mondrian(k=5, cut="widest")), limit=3.0)


@case("TOC, delta and s chosen on a sample, 1 million rows x 6 / Mondrian")
def toc_chosen() -> Comparison:
    """Algorithms 3 and 4 before them."""
    return Comparison(census(CHOSEN), census(Mondrian(k=5, cut="widest")), limit=5.0)


@case("UPC, k = 5, 1 million rows x 6 / Mondrian")
def upc() -> Comparison:
    """Algorithm 6."""
    return Comparison(census(LIMITED), census(Mondrian(k=5, cut="widest")), limit=3.0)


@case("TOC, 1 million rows / 100,000 rows (slope 1.1: 12.6)")
def toc_growth() -> Comparison:
    """Nearly linear in the rows."""
    return Comparison(census(GIVEN), census(GIVEN, 100_000), limit=TENFOLD)


@case("UPC, 1 million rows / 100,000 rows (slope 1.1: 12.6)")
def upc_growth() -> Comparison:
    """Nearly linear in the rows."""
    return Comparison(census(LIMITED), census(LIMITED, 100_000), limit=TENFOLD)


@case("TOC, 9 columns / 3 columns (linear: 3)")
def toc_columns() -> Comparison:
    """Linear in the columns."""
    return Comparison(census(GIVEN, 300_000, 9), census(GIVEN, 300_000, 3), limit=3.0)


@case("UPC, 9 columns / 3 columns (linear: 3)")
def upc_columns() -> Comparison:
    """Linear in the columns."""
    return Comparison(census(LIMITED, 300_000, 9), census(LIMITED, 300_000, 3), limit=3.0)


def peak(spec: Grouper) -> float:
    """Bytes a row by which grouping 1 million rows raises the memory of this process; kernels are loaded before."""
    rows = 1_000_000
    census(spec, 20_000)()
    work = census(spec, rows)
    before = _settled()
    Path("/proc/self/clear_refs").write_text("5")
    work()
    return (_status("VmHWM") - before) / rows


def _settled() -> int:
    """Memory of this process once allocators have given back what preparing the rows took."""
    gc.collect()
    ctypes.CDLL(None).malloc_trim(0)
    before, now = -1, _status("VmRSS")
    while now != before:
        time.sleep(3)
        before, now = now, _status("VmRSS")
    return now


def _status(name: str) -> int:
    lines = Path("/proc/self/status").read_text().splitlines()
    return next(int(line.split()[1]) * 1024 for line in lines if line.startswith(name))


def _memory(name: str) -> Work:
    """The same in a process of its own; too much memory is an error."""
    code = f"from benchmarks import cluster; print(cluster.peak(cluster.{name}))"

    def work() -> None:
        found = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
        used = float(found.stdout)
        print(f"  {used:.0f} bytes a row (limit {BYTES_A_ROW})", file=sys.stderr)
        if used > BYTES_A_ROW:
            raise MemoryError(f"{name} takes {used:.0f} bytes a row, more than {BYTES_A_ROW}.")

    return work


@case("TOC, memory of 1 million rows x 6 below 200 bytes a row (Linux)")
def toc_memory() -> Comparison:
    """Fails when it takes more."""
    return Comparison(_memory("GIVEN"))


@case("UPC, memory of 1 million rows x 6 below 200 bytes a row (Linux)")
def upc_memory() -> Comparison:
    """Fails when it takes more."""
    return Comparison(_memory("LIMITED"))


def _adult(name: str, **options: object) -> Work:
    return grouping(load("algorithm", name)(k=10, **options), coded_adult(), [])


@case("K-Members, k = 10, Adult, in yardsticks")
def members() -> Comparison:
    """Quadratic in the rows, and with the least loss of the clustering methods."""
    return Comparison(_adult("k-members"), yardstick_groupby(), limit=3000)


@case("Mondrian best cut and polish, k = 10, Adult, in yardsticks")
def polished() -> Comparison:
    """Polish is part of run, not of group."""
    spec = Mondrian(k=10, polish="lm")
    frame = coded_adult()
    table = build_table(frame, Schema(quasi=frame.columns))
    models = [KAnonymity(k=10)]
    engine = MemoryEngine()
    judge = Judge(models, whole_reference(engine.open(table), list(models)))
    problem = Problem(rows=engine.open(table), judge=judge, keys=Keys.from_seed(1))
    return Comparison(lambda: spec.run(problem), yardstick_groupby(), limit=500)


if __name__ == "__main__":
    run(
        [
            toc_given, toc_chosen, upc, toc_growth, upc_growth, toc_columns, upc_columns, toc_memory, upc_memory,
            members, polished,
        ]
    )  # fmt: skip
