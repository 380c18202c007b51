"""Time named cases against a yardstick that is measured in the same run.

Seconds depend on the machine and on what else it does, so a case is judged by a ratio: its best time over the
best time of a yardstick, both taken in turns. A case file looks like this::

    from benchmarks.harness import Comparison, case, run, yardstick_sort

    @case("sorting twice")
    def sorting() -> Comparison:
        sort = yardstick_sort()
        return Comparison(lambda: (sort(), sort()), yardstick=sort, limit=2.5)

    if __name__ == "__main__":
        run([sorting])

and runs from the root of the checkout as ``python -m benchmarks.<topic>``.
"""

from __future__ import annotations

import argparse
import json
import os
import platform
import sys
import time
from collections.abc import Callable, Sequence
from dataclasses import asdict, dataclass
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path
from typing import Any

import polars as pl
from rich.console import Console
from rich.table import Table

from shoal.io.census import generate

ADULT = Path(__file__).resolve().parents[2] / "shared" / "data" / "adult" / "adult.data"
ADULT_COLUMNS = (
    "age", "workclass", "fnlwgt", "education", "education-num", "marital-status", "occupation",
    "relationship", "race", "sex", "capital-gain", "capital-loss", "hours-per-week", "native-country",
    "salary-class",
)  # fmt: skip
ADULT_NINE = (
    "age", "workclass", "education", "marital-status", "occupation", "race", "sex", "native-country",
    "salary-class",
)  # fmt: skip
CENSUS_EIGHT = ("age", "sex", "postcode", "region", "marital_status", "education", "occupation", "industry")
LIBRARIES = ("numpy", "polars")

Work = Callable[[], Any]


@dataclass(frozen=True)
class Comparison:
    """What a case measures: some prepared work, and the yardstick beside it.

    Attributes
    ----------
    work
        Called without arguments, once to warm up and then repeatedly.
    yardstick
        What it is compared with, or None to report seconds only.
    limit
        Largest ratio of work to yardstick that counts as passed.
    """

    work: Work
    yardstick: Work | None = None
    limit: float | None = None


@dataclass(frozen=True)
class Case:
    """A named case; ``prepare`` makes its data and is not timed."""

    name: str
    prepare: Callable[[], Comparison]


@dataclass(frozen=True, kw_only=True)
class Result:
    """Times of one case in seconds; ``first`` is the first call, imports included."""

    name: str
    seconds: float
    first: float
    yardstick: float | None
    ratio: float | None
    limit: float | None
    repeats: int

    @property
    def passed(self) -> bool:
        """False only when there is a limit and the ratio is above it."""
        return self.ratio is None or self.limit is None or self.ratio <= self.limit


# A yardstick is repeated for so many seconds.
_SHORT = 0.1


def case(name: str) -> Callable[[Callable[[], Comparison]], Case]:
    """Name a function that prepares a comparison, and make it a case."""
    return lambda prepare: Case(name, prepare)


def measure(one: Case, repeats: int) -> Result:
    """Time a case: the first call alone, then work and yardstick in turns, and of each the minimum."""
    comparison = one.prepare()
    first = _seconds(comparison.work)
    yardstick = comparison.yardstick
    if yardstick is not None:
        yardstick()
    work_times, yardstick_times = [], []
    for _ in range(repeats):
        work_times.append(_seconds(comparison.work))
        if yardstick is not None:
            turn = [_seconds(yardstick)]
            # Right after the work, threads that have not gone to sleep yet slow a short yardstick down.
            while sum(turn) < _SHORT:
                turn.append(_seconds(yardstick))
            yardstick_times.append(min(turn))
    best = min(work_times)
    beside = min(yardstick_times, default=None)
    ratio = None if beside is None else best / beside
    return Result(
        name=one.name,
        seconds=best,
        first=first,
        yardstick=beside,
        ratio=ratio,
        limit=comparison.limit,
        repeats=repeats,
    )


def run(cases: Sequence[Case], arguments: Sequence[str] | None = None) -> None:
    """Command line of a case file: run the cases, print a table, write JSON, exit 1 over a limit."""
    options = _options(arguments)
    chosen = [one for one in cases if options.only is None or options.only in one.name]
    if not chosen:
        sys.exit(f"No case has '{options.only}' in its name: {', '.join(one.name for one in cases)}.")
    results = []
    for one in chosen:
        print(f"{one.name} ...", file=sys.stderr, flush=True)
        results.append(measure(one, options.repeats))
    Console().print(as_table(results))
    if options.json is not None:
        options.json.parent.mkdir(parents=True, exist_ok=True)
        options.json.write_text(json.dumps(as_json(results), indent=2) + "\n")
    sys.exit(0 if all(result.passed for result in results) else 1)


def as_table(results: Sequence[Result]) -> Table:
    """The results for people."""
    table = Table("case", "best", "first call", "yardstick", "ratio", "limit", "")
    for result in results:
        table.add_row(
            result.name,
            _time(result.seconds),
            _time(result.first),
            _time(result.yardstick),
            "" if result.ratio is None else f"{result.ratio:.2f}",
            "" if result.limit is None else f"{result.limit:g}",
            "" if result.limit is None else "ok" if result.passed else "OVER",
        )
    return table


def as_json(results: Sequence[Result]) -> dict[str, Any]:
    """The results for machines, with what they were measured on."""
    return {
        "python": platform.python_version(),
        "machine": platform.machine(),
        "cores": os.cpu_count(),
        "libraries": {name: _version(name) for name in LIBRARIES},
        "cases": [asdict(result) | {"passed": result.passed} for result in results],
    }


def coded(frame: pl.DataFrame) -> pl.DataFrame:
    """Replace every column by integer codes in the order of its values, missing cells a code of their own."""
    return frame.select(
        pl.col(name).rank("dense").fill_null(0).cast(pl.Int32).alias(name) for name in frame.columns
    )


def coded_adult() -> pl.DataFrame:
    """Adult's nine usual columns as codes; nine columns of as many census rows where Adult is not there."""
    if not ADULT.is_file():
        return coded(generate(30_162).select(*CENSUS_EIGHT, "diagnosis"))
    frame = pl.read_csv(ADULT, has_header=False, new_columns=list(ADULT_COLUMNS), infer_schema=False)
    trimmed = frame.select(pl.col(ADULT_NINE).str.strip_chars())
    complete = trimmed.filter(~pl.any_horizontal(pl.all() == "?")).drop_nulls()
    return coded(complete.with_columns(pl.col("age").cast(pl.Int64)))


def coded_census(rows: int, seed: int = 1) -> pl.DataFrame:
    """The census's eight quasi-identifier columns as codes."""
    return coded(generate(rows, seed).select(CENSUS_EIGHT))


def yardstick_groupby(frame: pl.DataFrame | None = None) -> Work:
    """One Polars ``group_by().len()`` over all columns of integer codes, by default Adult's nine."""
    codes = coded_adult() if frame is None else frame
    return lambda: codes.group_by(codes.columns).len()


def yardstick_sort(frame: pl.DataFrame | None = None) -> Work:
    """One Polars sort by all columns of integer codes, by default eight of a census of 1 million rows."""
    codes = coded_census(1_000_000) if frame is None else frame
    return lambda: codes.sort(codes.columns)


def _seconds(work: Work) -> float:
    start = time.perf_counter()
    work()
    return time.perf_counter() - start


def _options(arguments: Sequence[str] | None) -> argparse.Namespace:
    parser = argparse.ArgumentParser(description="Run the cases of this file.")
    parser.add_argument("--only", metavar="TEXT", help="only cases with this in their name")
    parser.add_argument("--repeats", type=int, default=5, help="timed calls a case (default 5)")
    parser.add_argument("--json", type=Path, metavar="FILE", help="write the results to this file as well")
    options = parser.parse_args(arguments)
    if options.repeats < 1:
        parser.error("--repeats must be at least 1.")
    return options


def _time(seconds: float | None) -> str:
    if seconds is None:
        return ""
    return f"{seconds:.2f} s" if seconds >= 1 else f"{seconds * 1000:.2f} ms"


def _version(library: str) -> str | None:
    try:
        return version(library)
    except PackageNotFoundError:
        return None
