"""Other Python tools beside ours: same rows, same k, one run, one table.

Run as ``python -m benchmarks.peers``. The peers live in an environment of their own, outside the checkout, which is
made on the first run; a peer that cannot be installed is named and left out. Every tool works in a process of its own.
"""

from __future__ import annotations

import argparse
import json
import math
import os
import subprocess
import sys
import tempfile
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

import polars as pl
from rich.console import Console
from rich.table import Table

from benchmarks.harness import ADULT, ADULT_COLUMNS, CENSUS_EIGHT
from shoal.io.census import generate
from shoal.recoding.cell_text import Interval, Set, Star, Value, parse

PEERS = {"anonypy": "anonypy==0.2.1", "pycanon": "pycanon==1.3.6"}
ADULT_EIGHT = (
    "age", "sex", "race", "marital-status", "education", "native-country", "workclass", "salary-class",
)  # fmt: skip
# Nearly every row of the census is unique, which costs a measuring peer its time class by class.
CENSUS_ROWS = 10_000
_JOBS = Path(__file__).with_name("peer_jobs.py")


@dataclass(frozen=True)
class Data:
    """Rows that every tool gets: the quasi-identifiers, ages as numbers, the rest as flat text, and one more column."""

    name: str
    frame: pl.DataFrame
    quasi: Sequence[str]
    sensitive: str
    numeric: Sequence[str] = ("age",)


@dataclass(frozen=True, kw_only=True)
class Row:
    """One line of the table; what a tool does not have is None."""

    tool: str
    data: str
    k: int | None
    seconds: float | None
    first: float | None
    memory: int | None
    classes: int | None = None
    smallest: int | None = None
    loss: float | None = None
    figures: dict[str, list[float | None]] | None = None
    agreement: dict[str, str] | None = None


def adult(rows: int | None) -> Data | None:
    """Adult's complete rows, None where they are not there."""
    if not ADULT.is_file():
        return None
    frame = pl.read_csv(ADULT, has_header=False, new_columns=list(ADULT_COLUMNS), infer_schema=False)
    frame = frame.select(pl.col([*ADULT_EIGHT, "occupation"]).str.strip_chars())
    frame = frame.filter(~pl.any_horizontal(pl.all() == "?")).drop_nulls()
    frame = frame.with_columns(pl.col("age").cast(pl.Int64)).head(rows or frame.height)
    return Data("adult", frame, ADULT_EIGHT, "occupation")


def census(rows: int | None) -> Data:
    """The synthetic census; a missing cell is a value like any other, as some tools know no missing ones."""
    frame = generate(rows or CENSUS_ROWS).select(*CENSUS_EIGHT, "diagnosis")
    text = pl.col(pl.String).fill_null("unknown").str.replace_all(",", ";", literal=True)
    return Data("census", frame.with_columns(text), CENSUS_EIGHT, "diagnosis")


# What the tools released, read into one form


def read_anonypy(texts: pl.Series, numeric: bool) -> pl.Series:
    """Cells such as ``17-35``, also written as ``['17-35']``, and ``a,b`` as lists: two ends, or the members.

    A number that cannot be read is an error: read as nothing, it would cost nothing.
    """
    if not numeric:
        return texts.str.split(",").list.unique().list.sort()
    texts = texts.str.replace(r"^\['?(.*?)'?\]$", "$1")
    low = texts.str.extract(r"^(-?[0-9.]+)").cast(pl.Float64)
    high = texts.str.extract(r"^-?[0-9.]+-(-?[0-9.]+)$").cast(pl.Float64)
    unread = int((low.is_null() | (high.is_null() & texts.str.contains(r"^-?[0-9.]+[^0-9.]"))).sum())
    if unread:
        raise ValueError(f"{unread} cells of numbers are written in no form that can be read")
    return pl.select(pl.concat_list(low, pl.coalesce(high, low))).to_series()


def read_shoal(texts: pl.Series, numeric: bool, domain: pl.Series) -> pl.Series:
    """Our cells as lists of the same form; ``*`` is the whole domain."""
    distinct = texts.unique().to_list()
    kind, type = ("interval", "numeric") if numeric else ("set", "categorical")
    whole = [domain.min(), domain.max()] if numeric else domain.unique().sort().to_list()
    lists: list[Any] = []
    for cell in distinct:
        match parse(cell, kind, type):
            case Star():
                lists.append(whole)
            case Interval(low, high):
                lists.append([float(low), float(high)])
            case Set(values):
                lists.append(sorted(values))
            case Value(text):
                lists.append([float(text)] * 2 if numeric else [text])
    dtype = pl.List(pl.Float64 if numeric else pl.String)
    return pl.DataFrame({"cell": texts}).join(
        pl.DataFrame({"cell": distinct, "list": pl.Series(lists, dtype=dtype)}), on="cell", maintain_order="left"
    )["list"]


def mean_loss(cells: pl.DataFrame, data: Data) -> float:
    """The mean loss of a cell, for every tool by this one function.

    A numeric cell costs (hi - lo)/range, a set (distinct values - 1)/(domain - 1), a record that was left out 1 in
    every column.

    Parameters
    ----------
    cells
        One list a quasi-identifier (two ends, or the members), and ``count``: the records that a row stands for.
    """
    count, total = cells["count"], data.frame.height
    released = int(count.sum())
    loss = float(total - released) * len(data.quasi)
    for name in data.quasi:
        values = data.frame[name]
        if name in data.numeric:
            span = float(values.max() - values.min())  # type: ignore[operator]
            cost = cells[name].list.last() - cells[name].list.first()
        else:
            span = float(values.n_unique() - 1)
            cost = cells[name].list.n_unique() - 1
        loss += float((cost * count).sum()) / span if span else 0.0
    return loss / (total * len(data.quasi))


def price(tool: str, release: Path, data: Data) -> dict[str, Any]:
    """Classes, the smallest of them and the loss, all from the released cells."""
    frame = pl.read_csv(release, infer_schema=False)
    columns = []
    for name in data.quasi:
        numeric = name in data.numeric
        if tool == "anonypy":
            columns.append(read_anonypy(frame[name], numeric).alias(name))
        else:
            columns.append(read_shoal(frame[name], numeric, data.frame[name]).alias(name))
    count = frame["count"].cast(pl.Int64) if "count" in frame.columns else pl.lit(1, dtype=pl.Int64)
    cells = pl.DataFrame(columns).with_columns(count.alias("count"))
    sizes = cells.group_by(data.quasi).agg(pl.col("count").sum())["count"]
    return {"classes": sizes.len(), "smallest": int(sizes.min()), "loss": mean_loss(cells, data)}  # type: ignore[arg-type]


# Environment and processes


def shout(message: str) -> None:
    """Say what a reader of the table must not overlook."""
    print(f"\n*** {message}\n", file=sys.stderr, flush=True)


def default_environment() -> Path:
    """Where the peers live unless ``--env`` says otherwise: in the user's cache, never in the checkout."""
    cache = os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache"
    return Path(cache) / "shoal-benchmarks" / "peers"


def install(folder: Path) -> tuple[Path, list[str]]:
    """The environment's interpreter and the peers that are in it, after saying loudly which are not."""
    python = folder / "bin" / "python"
    if not python.exists():
        print(f"making an environment for the peers in {folder} ...", file=sys.stderr, flush=True)
        subprocess.run([sys.executable, "-m", "venv", str(folder)], check=True)
    found = []
    for name, pinned in PEERS.items():
        command = [str(python), "-m", "pip", "install", "--quiet", "--disable-pip-version-check", pinned]
        done = subprocess.run(command, capture_output=True, text=True)
        if done.returncode == 0:
            found.append(name)
        else:
            reason = (done.stderr.strip().splitlines() or ["no reason given"])[-1]
            shout(f"NOT COMPARED: {name} could not be installed ({pinned}): {reason}")
    return python, found


def read_as_numbers(data: Data) -> list[str]:
    """Columns that every tool reads as numbers: a sensitive one wherever it holds some, since t goes by its type."""
    sensitive = data.frame[data.sensitive]
    numbers = sensitive.cast(pl.Float64, strict=False).null_count() == 0
    return [*data.numeric, *([data.sensitive] if numbers and data.sensitive not in data.numeric else [])]


def run_job(job: str, python: Path, data: Data, folder: Path, **options: Any) -> dict[str, Any]:
    """Run one job in a process of its own; a failure is returned as ``error``."""
    source, release = folder / f"{data.name}.csv", folder / f"{job.replace(' ', '-')}.csv"
    if not source.exists():
        data.frame.write_csv(source)
    given = {"quasi": list(data.quasi), "sensitive": data.sensitive, "numeric": read_as_numbers(data)} | options
    root = Path(__file__).resolve().parents[1]
    # Only our own jobs may see our packages: a peer gets what its environment holds.
    path = {"PYTHONPATH": os.pathsep.join([str(root / "src"), str(root)])} if job.startswith("shoal") else {}
    inherited = {name: value for name, value in os.environ.items() if name != "PYTHONPATH"}
    command = [str(python), str(_JOBS), job, str(source), str(release), json.dumps(given)]
    done = subprocess.run(command, capture_output=True, text=True, env=inherited | path)
    if done.returncode:
        return {"error": (done.stderr.strip().splitlines() or ["no reason given"])[-1]}
    return {**json.loads(done.stdout.splitlines()[-1]), "release": release}


def anonymisers(data: Data, k: int, python: Path, peers: Sequence[str], folder: Path) -> Iterable[Row]:
    """Ours and theirs on one data set at one k."""
    ours = Path(sys.executable)
    tools: list[tuple[str, str, Path, dict[str, Any]]] = [
        ("shoal mondrian", "shoal", ours, {"repeats": 3, "cut": "widest", "search": False}),
        ("shoal mondrian, search alone", "shoal", ours, {"repeats": 3, "cut": "widest", "search": True}),
        ("shoal mondrian, best cut", "shoal", ours, {"repeats": 3, "cut": "best", "search": False}),
    ]
    if "anonypy" in peers:
        tools.append(("anonypy mondrian", "anonypy", python, {"repeats": 1}))
    for tool, job, interpreter, options in tools:
        print(f"{tool}, {data.name}, k = {k} ...", file=sys.stderr, flush=True)
        answer = run_job(job, interpreter, data, folder, k=k, **options)
        made = not options.get("search") and "error" not in answer
        yield _row(tool, data, k, answer, price(job, answer["release"], data) if made else {})


def measurers(data: Data, python: Path, peers: Sequence[str], folder: Path) -> Iterable[Row]:
    """The figures of the rows as they are: k, l, t and alpha; the peer's line says which agree with ours."""
    tools = [("shoal audit", Path(sys.executable), 3)] + ([("pycanon", python, 1)] if "pycanon" in peers else [])
    ours: Mapping[str, Sequence[float | None]] = {}
    for job, interpreter, repeats in tools:
        print(f"{job}, {data.name} ...", file=sys.stderr, flush=True)
        answer = run_job(job, interpreter, data, folder, repeats=repeats)
        figures = answer.get("figures")
        agreement = compare(ours, figures) if ours and figures else None
        ours = ours or figures or {}
        yield _row(job, data, None, answer, {"figures": figures, "agreement": agreement})


def compare(ours: Mapping[str, Sequence[float | None]], theirs: Mapping[str, Sequence[float | None]]) -> dict[str, str]:
    """``agree`` or ``differ`` for each figure that both have."""
    found = {}
    for name in theirs:
        if name in ours:
            mine, other = (one[name][1] for one in (ours, theirs))
            if name == "entropy l" and mine is not None:
                # pycanon cuts it to a whole number; rounding must not take 2.9999999 for 2.
                mine = float(math.floor(mine + 1e-9))
            same = mine is not None and other is not None and math.isclose(mine, other, rel_tol=1e-9, abs_tol=1e-9)
            found[name] = "agree" if same else "differ"
    return found


def _row(tool: str, data: Data, k: int | None, answer: dict[str, Any], more: dict[str, Any]) -> Row:
    if "error" in answer:
        shout(f"FAILED: {tool} on {data.name}: {answer['error']}")
    seconds = answer.get("seconds", [])
    return Row(
        tool=tool,
        data=data.name,
        k=k,
        seconds=min(seconds, default=None),
        first=seconds[0] if seconds else None,
        memory=answer.get("memory"),
        **more,
    )


def as_table(rows: Iterable[Row]) -> Table:
    """The results for people."""
    right = {"justify": "right"}
    table = Table("tool", "data", title="Seconds are the best call's; the first loads libraries, too")
    for heading in ("k", "seconds", "first", "MB", "classes", "smallest", "loss"):
        table.add_column(heading, **right)  # type: ignore[arg-type]
    table.add_column("figures (seconds)")
    for row in rows:
        figures = [
            f"{name} {value:.4g}"
            + ("" if seconds is None else f" ({seconds:.3f})")
            + (f" {row.agreement[name]}" if row.agreement and name in row.agreement else "")
            for name, (seconds, value) in (row.figures or {}).items()
        ]
        table.add_row(
            row.tool, row.data, _text(row.k), _text(row.seconds, ".3f"), _text(row.first, ".3f"),
            _text(None if row.memory is None else row.memory / 1e6, ".0f"), _text(row.classes, ","),
            _text(row.smallest, ","), _text(row.loss, ".4f"), ", ".join(figures),
        )  # fmt: skip
    return table


def _text(value: float | None, form: str = "") -> str:
    return "" if value is None else format(value, form)


def main(arguments: Sequence[str] | None = None) -> None:
    """Compare, print one table, and write it as JSON where asked."""
    parser = argparse.ArgumentParser(prog="python -m benchmarks.peers", description="Other Python tools beside ours.")
    parser.add_argument("--k", type=int, nargs="+", default=[10, 50], help="class sizes (default 10 and 50)")
    parser.add_argument("--rows", type=int, help=f"rows (default: all of Adult, {CENSUS_ROWS:,} of the census)")
    parser.add_argument("--data", nargs="+", choices=["adult", "census"], default=["adult", "census"])
    parser.add_argument("--env", type=Path, default=default_environment(), help="folder of the peers' environment")
    parser.add_argument("--json", type=Path, metavar="FILE", help="write the results to this file as well")
    options = parser.parse_args(arguments)
    if (options.rows is not None and options.rows < 1) or min(options.k) < 2:
        parser.error("--rows must be at least 1 and every --k at least 2.")
    made = {"adult": adult, "census": census}
    chosen = [made[name](options.rows) for name in options.data]
    if None in chosen:
        shout("NOT COMPARED: Adult, which is not beside the checkout")
    python, peers = install(options.env)
    rows: list[Row] = []
    with tempfile.TemporaryDirectory(prefix="shoal-peers-") as folder:
        for data in filter(None, chosen):
            for k in options.k:
                rows += anonymisers(data, k, python, peers, Path(folder))
            rows += measurers(data, python, peers, Path(folder))
    Console(width=None if sys.stdout.isatty() else 180).print(as_table(rows))
    if options.json is not None:
        options.json.parent.mkdir(parents=True, exist_ok=True)
        options.json.write_text(json.dumps([asdict(row) for row in rows], indent=2) + "\n")


if __name__ == "__main__":
    main()
