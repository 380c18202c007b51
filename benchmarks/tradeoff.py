"""Utility against protection on Adult: what each method loses, and what its classes still tell about occupations.

Runs from the root of the checkout as ``python -m benchmarks.tradeoff``. A table for every number of rows and k has all
methods that group records, then UPC beside Mondrian with polish under the same limits P, and says which of them another
one dominates in loss and mean range diversity. Needs the Adult data in ``../shared``.
"""

from __future__ import annotations

import argparse
import json
import sys
import time
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl
from rich.console import Console
from rich.table import Table as Shown

import shoal
from benchmarks.harness import ADULT, ADULT_COLUMNS
from shoal.data.table import Table
from shoal.errors import ShoalError
from shoal.registry import make
from shoal.utility.count_queries import answer
from shoal.utility.queries import RandomQueries
from shoal.utility.reading import read_release

QUASI = ["age", "sex", "race", "salary-class", "native-country", "workclass"]
SENSITIVE = "occupation"
RANGES = [
    ["Exec-managerial", "Prof-specialty", "Tech-support"],
    ["Adm-clerical", "Sales"],
    ["Craft-repair", "Farming-fishing", "Handlers-cleaners", "Machine-op-inspct", "Transport-moving"],
    ["Armed-Forces", "Other-service", "Priv-house-serv", "Protective-serv"],
]
BEST = {"name": "mondrian", "mode": "relaxed"}
POLISHED = BEST | {"polish": "lm"}
UTILITY = 0.7
METHODS: dict[str, dict[str, Any]] = {
    "mondrian": {"name": "mondrian"},
    "mondrian, relaxed": BEST,
    "mondrian, widest": {"name": "mondrian", "cut": "widest"},
    "mondrian + polish": POLISHED,
    "k-members": {"name": "k-members", "loss": "spread"},
    "k-members + polish": {"name": "k-members", "loss": "spread", "polish": "lm"},
    "k-members-p": {"name": "k-members-p"},
    "k-members-p, rd": {"name": "k-members-p", "objective": "range-diversity"},
    "bottom-up": {"name": "bottom-up", "prepartition": 1000},
    "top-down": {"name": "top-down"},
    "top-down + polish": {"name": "top-down", "polish": "lm"},
    "r-tree": {"name": "r-tree"},
    "set-partition": {"name": "set-partition"},
    "toc": {"name": "toc"},
    "toc, protection 0.25": {"name": "toc", "utility_weight": 0.75, "protection_weight": 0.25},
    "toc, printed": {"name": "toc", "listing": "printed"},
    "toc, printed, linked to clusters": {"name": "toc", "listing": "printed", "linkage": "cluster"},
    "auto": {"name": "auto"},
}
LIMITS = (0.3, 0.35, 0.4, 0.45, 0.5, 0.55)
FIGURES = ("lm", "range-diversity", "wgp")


def read(rows: int | None) -> Table:
    """Adult's complete rows, or some of them; occupation has four sensitive ranges."""
    frame = pl.read_csv(ADULT, has_header=False, new_columns=list(ADULT_COLUMNS))
    frame = frame.with_columns(pl.col(pl.String).str.strip_chars()).select(*QUASI, SENSITIVE)
    frame = frame.filter(~pl.any_horizontal(pl.col(pl.String) == "?"))
    if rows is not None and rows < frame.height:
        frame = frame.sample(rows, seed=1)
    return shoal.read(frame, quasi=QUASI, sensitive=[SENSITIVE], policies={SENSITIVE: {"ranges": RANGES}})


def measure(table: Table, spec: dict[str, Any], models: Sequence[dict[str, Any]]) -> dict[str, Any]:
    """One release: figures, median query error, share suppressed and seconds of the search."""
    began, search = time.perf_counter(), [0.0]

    def watch(step: str) -> None:
        if step == "judging the classes":
            search[0] = time.perf_counter() - began

    release = shoal.anonymize(
        table, algorithm=make("algorithm", spec), models=[make("model", one) for one in models], seed=1,
        acknowledge=[f"W-UNMODELLED:{SENSITIVE}"], progress=watch,
    )  # fmt: skip
    found: dict[str, Any] = {name: release.measure(name).value for name in FIGURES}
    reading = read_release(release)
    asked = RandomQueries(count=300, quasi=2).make(reading)
    found["error"] = float(np.nanmedian(answer(reading, asked).errors()))
    return found | {"suppressed": release.evidence["counts"]["suppressed"] / table.n, "seconds": search[0]}


def every(table: Table, k: int, only: str) -> list[dict[str, Any]]:
    """Every method at one k; those that cannot release the table are left out."""
    rows = []
    jobs = [(name, spec, [{"name": "k", "k": k}]) for name, spec in METHODS.items()]
    for limit in LIMITS:
        safe = [{"name": "k", "k": k}, {"name": "range-diversity", "p": limit}]
        jobs.append((f"mondrian + polish, P = {limit}", POLISHED, safe))
        jobs.append((f"upc, P = {limit}", {"name": "upc", "utility": UTILITY, "protection": limit}, safe[:1]))
    for name, spec, models in jobs:
        if only not in name:
            continue
        try:
            rows.append({"method": name, "n": table.n, "k": k, **measure(table, spec, models)})
            print(json.dumps(rows[-1]), file=sys.stderr)
        except ShoalError as error:
            print(f"{name}, k = {k}: {error}", file=sys.stderr)
    return rows


def dominated(row: dict[str, Any], others: Sequence[dict[str, Any]]) -> str:
    """A method that is no worse in loss and range diversity and better in one; nothing where there is none."""
    mine = row["lm"], row["range-diversity"]
    for other in others:
        theirs = other["lm"], other["range-diversity"]
        if theirs != mine and all(a <= b for a, b in zip(theirs, mine, strict=True)):
            return str(other["method"])
    return ""


def show(rows: Sequence[dict[str, Any]]) -> None:
    """One table a number of rows and k."""
    for n, k in sorted({(row["n"], row["k"]) for row in rows}):
        mine = [row for row in rows if (row["n"], row["k"]) == (n, k)]
        table = Shown(
            "method", "lm", "mean rd", "wgp", "query error", "suppressed", "seconds", "dominated by",
            title=f"Adult, {n:,} rows, k = {k}",
        )  # fmt: skip
        for row in mine:
            figures = [f"{row[name]:.3f}" for name in (*FIGURES, "error")]
            table.add_row(
                row["method"], *figures, f"{row['suppressed']:.1%}", f"{row['seconds']:.2f}", dominated(row, mine)
            )
        Console(width=140).print(table)


def main(arguments: Sequence[str] | None = None) -> None:
    """Measure and print."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--k", type=int, action="append", help="5, 10 and 25 by default")
    parser.add_argument("--rows", type=int, action="append", help="4,000 and all by default (0: all)")
    parser.add_argument("--only", default="", help="methods whose name contains this")
    parser.add_argument("--json", type=Path, help="write the rows here too")
    given = parser.parse_args(arguments)
    if not ADULT.exists():
        sys.exit("The benchmark of trade-offs needs the Adult data in ../shared.")
    found = []
    for rows in given.rows or [4000, 0]:
        table = read(rows or None)
        for k in given.k or [5, 10, 25]:
            found += every(table, k, given.only)
    show(found)
    if given.json:
        given.json.parent.mkdir(parents=True, exist_ok=True)
        given.json.write_text(json.dumps(found, indent=1), encoding="utf-8")


if __name__ == "__main__":
    main()
