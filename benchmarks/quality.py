"""How much each grouping method loses on Adult, with and without polish: one table of loss, time and memory.

Runs from the root of the checkout as ``python -m benchmarks.quality``; every method has a process of its own, so that
its peak of memory is its own. Needs the Adult data in ``../shared``.
"""

from __future__ import annotations

import argparse
import json
import subprocess
import sys
import time
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from rich.console import Console
from rich.table import Table

from benchmarks.harness import ADULT, ADULT_COLUMNS, yardstick_groupby

EIGHT = ("age", "sex", "race", "marital-status", "education", "native-country", "workclass", "salary-class")
NINE = (
    "sex", "age", "race", "marital-status", "education", "native-country", "workclass", "occupation", "salary-class",
)  # fmt: skip
METHODS: dict[str, dict[str, Any]] = {
    "mondrian widest": {"name": "mondrian", "cut": "widest"},
    "mondrian best": {"name": "mondrian", "mode": "relaxed"},
    "top-down": {"name": "top-down"},
    "top-down, parts": {"name": "top-down", "prepartition": 512},
    "toc, utility alone": {"name": "toc", "listing": "printed", "utility_weight": 1.0, "protection_weight": 0.0},
    "k-members": {"name": "k-members"},
    "k-members, spread": {"name": "k-members", "loss": "spread"},
}
LABELS: dict[str, dict[str, Any]] = {
    "mondrian best": {"name": "mondrian", "mode": "relaxed"},
    "k-members, spread": {"name": "k-members", "loss": "spread"},
    "optimal, repeated": {"name": "optimal", "repeat": True, "measure": "arx-loss"},
}


def measure(spec: dict[str, Any], k: int, labels: bool) -> dict[str, Any]:
    """Group Adult once to warm up and once to time; loss of the groups, seconds and peak of memory of this process."""
    from shoal.algorithms.base import Problem
    from shoal.algorithms.polish import outcome
    from shoal.data.keys import Keys
    from shoal.engines.memory import MemoryEngine
    from shoal.models.feasibility import whole_reference
    from shoal.models.judge import Judge
    from shoal.recipe.source import read
    from shoal.registry import make

    quasi = NINE if labels else EIGHT
    files = {name: str(ADULT.parent / f"adult_hierarchy_{name}.csv") for name in quasi} if labels else {}
    table = read(
        ADULT, columns=list(ADULT_COLUMNS), missing_markers=["?"], missing="drop", quasi=list(quasi), hierarchies=files,
        drop=[name for name in ADULT_COLUMNS if name not in quasi],
    )  # fmt: skip
    models = [make("model", {"name": "k", "k": k})]
    rows = MemoryEngine().open(table)
    problem = Problem(rows=rows, judge=Judge(models, whole_reference(rows, models)), keys=Keys.from_seed(1))
    yardstick = yardstick_groupby()
    algorithm = make("algorithm", spec)
    seconds, unit = [], []
    for _ in range(3):
        start = time.perf_counter()
        recoding = algorithm.run(problem)
        seconds.append(time.perf_counter() - start)
        for _ in range(5):
            start = time.perf_counter()
            yardstick()
            unit.append(time.perf_counter() - start)
        if seconds[-1] > 30:
            break
    loss = outcome(problem, recoding, "arx-loss" if labels else "lm", 0)
    best = min(seconds[1:] or seconds)
    return {
        "loss": loss, "seconds": best, "yardsticks": best / min(unit), "groups": recoding.groups, "megabytes": peak()
    }  # fmt: skip


def peak() -> float:
    """Largest resident memory of this process so far."""
    text = Path("/proc/self/status").read_text(encoding="utf-8")
    return int(text.partition("VmHWM:")[2].split()[0]) / 1024


def rows(ks: Sequence[int], only: str) -> list[dict[str, Any]]:
    """Every method at every k, plain and polished; then the setting with hierarchy labels at k = 5."""
    jobs = [
        (f"{name}{' + polish' if polish else ''}", spec | ({"polish": "lm"} if polish else {}), k, False)
        for k in ks
        for name, spec in METHODS.items()
        for polish in (False, True)
    ]
    jobs += [
        (f"labels: {name}{' + polish' if polish else ''}", spec | ({"polish": "arx-loss"} if polish else {}), 5, True)
        for name, spec in LABELS.items()
        for polish in (False, True)
    ]
    found = []
    for name, spec, k, labels in jobs:
        if only in name:
            job = json.dumps([spec, k, labels])
            run = subprocess.run(
                [sys.executable, "-m", "benchmarks.quality", "--job", job], capture_output=True, text=True, check=True
            )
            found.append({"method": name, "k": k, **json.loads(run.stdout)})
            print(f"{name}, k = {k}: {found[-1]['loss']:.4f}", file=sys.stderr)
    return found


def main(arguments: Sequence[str] | None = None) -> None:
    """Measure and print."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--k", type=int, action="append", help="5, 10 and 50 by default")
    parser.add_argument("--only", default="", help="methods whose name contains this")
    parser.add_argument("--json", type=Path, help="write the rows here too")
    parser.add_argument("--job", help=argparse.SUPPRESS)
    given = parser.parse_args(arguments)
    if given.job:
        print(json.dumps(measure(*json.loads(given.job))))
        return
    if not ADULT.exists():
        sys.exit("The quality benchmark needs the Adult data in ../shared.")
    found = rows(given.k or [5, 10, 50], given.only)
    table = Table("method", "k", "loss", "seconds", "yardsticks", "groups", "MB")
    for row in found:
        figures = [f"{row['loss']:.4f}", f"{row['seconds']:.2f}", f"{row['yardsticks']:.0f}"]
        table.add_row(row["method"], str(row["k"]), *figures, str(row["groups"]), f"{row['megabytes']:.0f}")
    Console(width=110).print(table)
    if given.json:
        given.json.parent.mkdir(parents=True, exist_ok=True)
        given.json.write_text(json.dumps(found, indent=1), encoding="utf-8")


if __name__ == "__main__":
    main()
