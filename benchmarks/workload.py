"""What a declared workload is worth on Adult: the same methods without it and with it, side by side.

Runs from the root of the checkout as ``python -m benchmarks.workload``. Queries are judged on those declared and on
others of the same kind. Needs the Adult data in ``../shared``.
"""

from __future__ import annotations

import argparse
import json
from pathlib import Path
from typing import Any

import numpy as np
from rich.console import Console
from rich.table import Table as Shown

import shoal
from benchmarks.harness import ADULT, ADULT_COLUMNS
from shoal.data.table import Table
from shoal.registry import make
from shoal.results import Release
from shoal.utility.classifiers import Classifiers
from shoal.utility.count_queries import answer
from shoal.utility.features import Boundaries
from shoal.utility.queries import parse_queries
from shoal.utility.reading import Reading, read_release

QUASI = ["age", "sex", "race", "marital-status", "education", "native-country", "workclass"]
TARGET = "salary-class"
BOUNDARIES = {"age": [28, 45], "education": ["Higher education"], "marital-status": ["spouse present"]}
METHODS: dict[str, dict[str, Any]] = {
    "mondrian widest": {"name": "mondrian", "cut": "widest"},
    "mondrian best": {"name": "mondrian"},
    "k-members": {"name": "k-members"},
    "optimal": {"name": "optimal", "suppression_limit": 0.05},
}
LEARNERS = ("naive-bayes", "decision-tree")


def queries(count: int, seed: int) -> list[str]:
    """People of some ages with an education: five, ten or fifteen years from anywhere, and a node of the hierarchy."""
    draw = np.random.default_rng(seed)
    education = ["Higher education", "Secondary education", "Graduate", "Undergraduate", "High School"]
    found = []
    for _ in range(count):
        low = int(draw.integers(17, 70))
        high = low + int(draw.choice([4, 9, 14]))
        found.append(f'age in [{low}, {high}] and education = "{education[int(draw.integers(5))]}"')
    return found


DECLARED, OTHERS = queries(40, 1), queries(300, 2)
WORKLOADS: dict[str, dict[str, Any]] = {
    "queries": {"queries": DECLARED},
    "target": {"target": TARGET},
    "boundaries": {"boundaries": BOUNDARIES},
}


def read() -> Table:
    """Adult's complete rows, every quasi-identifier with its hierarchy."""
    files = {name: str(ADULT.parent / f"adult_hierarchy_{name}.csv") for name in QUASI}
    return shoal.read(
        ADULT, columns=list(ADULT_COLUMNS), missing_markers=["?"], missing="drop", quasi=QUASI, neutral=[TARGET],
        drop=[name for name in ADULT_COLUMNS if name not in (*QUASI, TARGET)], hierarchies=files,
    )  # fmt: skip


def figures(release: Release, about: str) -> dict[str, float]:
    """What one workload is about, and the loss over all columns alike."""
    reading: Reading = read_release(release)
    found: dict[str, float] = {}
    if about == "queries":
        for name, lines in (("declared", DECLARED), ("others", OTHERS)):
            errors = answer(reading, parse_queries(lines, reading)).errors()
            found[f"median error, {name}"] = float(np.median(errors))
    elif about == "target":
        for finding in Classifiers(target=TARGET, learners=LEARNERS).run(reading):
            found[finding.name.replace("classifiers", "accuracy")] = float(finding.value or 0.0)
    else:
        found["boundaries kept"] = float(Boundaries(boundaries=BOUNDARIES).run(reading)[0].value or 0.0)
    return found | {"lm": float(release.measure("lm").value or 0.0)}


def compare(k: int) -> list[dict[str, Any]]:
    """Every method and workload at one k."""
    table, rows = read(), []
    for method, spec in METHODS.items():

        def make_release(given: Table, spec: dict[str, Any] = spec) -> Release:
            models = [shoal.KAnonymity(k=k)]
            return shoal.anonymize(
                given, algorithm=make("algorithm", spec), models=models, seed=1, acknowledge=["W-NEUTRAL"]
            )

        plain = make_release(table)
        for about, workload in WORKLOADS.items():
            aware = make_release(table.knowing(workload=shoal.Workload(**workload)))
            before, after = figures(plain, about), figures(aware, about)
            common = {"k": k, "method": method, "workload": about}
            rows += [common | {"figure": name, "without": before[name], "with": after[name]} for name in before]
    return rows


def main() -> None:
    """Print one line a figure; ``--json FILE`` keeps them."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--k", type=int, nargs="+", default=[10, 50])
    parser.add_argument("--json", type=Path)
    options = parser.parse_args()
    rows = [row for k in options.k for row in compare(k)]
    shown = Shown("k", "workload", "method", "figure", "without", "with")
    for row in sorted(rows, key=lambda one: (one["k"], one["workload"])):
        ends = [f"{row[key]:.4f}" for key in ("without", "with")]
        shown.add_row(str(row["k"]), row["workload"], row["method"], row["figure"], *ends)
    Console(width=110).print(shown)
    if options.json:
        options.json.write_text(json.dumps(rows, indent=1))


if __name__ == "__main__":
    main()
