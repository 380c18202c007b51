"""What is published follows from released rows, the recipe and public files, whoever is suppressed or dropped.

Each table is released twice: once as it is, and once with other values for a person who is suppressed both times, or
without the rows that are dropped. Nothing here looks at how cells, types and labels are made: where the search puts
the same released rows together in every column, data and manifest must be the same, byte by byte.
"""

from __future__ import annotations

import json
import random
import re
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import polars as pl
import pytest

import shoal
from shoal.errors import InfeasibleError, InputError
from tests.conftest import many

ALGORITHMS: list[dict[str, Any]] = [
    {"name": "optimal", "node": True}, {"name": "optimal", "repeat": True}, {"name": "k-optimize", "nodes": 9},
    {"name": "set-partition"}, {"name": "genetic", "population": 6, "evaluations": 40}, {"name": "mondrian"},
    {"name": "local-suppression"}, {"name": "top-down-subtree"}, {"name": "k-members"},
    {"name": "upc", "utility": 0.9, "protection": 0.9},
]  # fmt: skip
TREES: list[Any] = [
    None, {"widths": [5, 20]}, {"intervals": {"edges": [[0, 30, 60, 999], [0, 60, 999]]}}, {"quantiles": [4, 2]},
    {"widths": [5, 20], "rare": 4}, {"prefix": [1]},
]  # fmt: skip
ODD = ["20.5", "7", "93", "abc", "31", None]
ODD_DAYS = ["1931-05-17", "1975-03-09", "2019-12-31"]


def table(draw: random.Random) -> dict[str, Any]:
    """Rows about people, the last of whom is unlike all others, and how they are read."""
    n = draw.choice([24, 36, 60])
    ages = [str(draw.choice([20, 21, 23, 30, 31, 35, 40, 44, 58])) for _ in range(n)]
    days = [f"197{draw.randrange(4)}-0{draw.randrange(1, 4)}-1{draw.randrange(3)}" for _ in range(n)]
    cities = [draw.choice(["Ulm", "Ulm", "Bonn", "Bonn", "Kiel", "Jena"]) for _ in range(n)]
    odd = (draw.choice(ODD), draw.choice(ODD_DAYS), draw.choice(["Rom", "Ulm", None]))
    rows = pl.DataFrame(
        {
            "age": [*ages, odd[0]], "day": [*days, odd[1]], "city": [*cities, odd[2]], "sex": [*draw.choices("mf", k=n), "x"],
            "d": [*draw.choices(["flu", "gout", "ache"], k=n), draw.choice(["flu", "rare"])],
        }  # fmt: skip
    )
    if draw.random() < 0.3:
        rows = rows.with_columns(pl.col("age").cast(pl.Float64, strict=False))
    quasi = draw.sample(["age", "day", "city"], draw.choice([1, 2])) + ["sex"]
    words = odd[0] == "abc" and rows["age"].dtype == pl.String
    trees = {"age": draw.choice([None, TREES[-1]] if words else TREES), "city": draw.choice([None, None, {"rare": 4}])}
    style = draw.choice(["auto", "auto", "bounds", "representative"] if odd[0] not in ("abc", None) else ["auto"])
    return {
        "source": rows, "quasi": quasi, "sensitive": ["d"], "missing": "value",
        "drop": [name for name in ("age", "day", "city") if name not in quasi],
        "hierarchies": {name: tree for name, tree in trees.items() if tree is not None and name in quasi},
        "settings": {
            name: {"style": style} for name in ("age", "day") if name in quasi and not (name == "age" and trees["age"])
        },
        "name": "people",
    }  # fmt: skip


def otherwise(given: Mapping[str, Any], draw: random.Random) -> dict[str, Any]:
    """The same rows with other values for the last person, whose sex is still nobody else's."""
    rows: pl.DataFrame = given["source"]
    last = dict(rows.row(-1, named=True))
    last["age"] = draw.choice(ODD)
    if rows["age"].dtype != pl.String and last["age"] is not None:
        last["age"] = None if last["age"] == "abc" else float(last["age"])
    last |= {"day": draw.choice(ODD_DAYS), "city": draw.choice(["Rom", "Bonn", None]), "d": draw.choice(["flu", "odd"])}
    return {**given, "source": pl.concat([rows[:-1], pl.DataFrame([last], schema=rows.schema)])}


def released(given: Mapping[str, Any], algorithm: Mapping[str, Any], seed: int) -> Any:
    """A release, or None where there is none."""
    spec = {"suppression_limit": 0.2, **algorithm}
    if spec.get("node"):
        draw = random.Random(seed)
        spec["node"] = [int(name != "sex" and draw.random() < 0.7) for name in given["quasi"]]
    try:
        return shoal.anonymize(
            shoal.read(**given), algorithm=spec, models=["k=2"], seed=seed,
            acknowledge=["W-UNMODELLED:d", "W-TIGHT"],
        )  # fmt: skip
    except (InfeasibleError, InputError, shoal.ShoalError) as error:
        assert type(error).__name__ not in ("GateError", "VerificationError"), error
        return None


def together(release: Any, quasi: list[str]) -> dict[str, list[frozenset[int]]]:
    """Which source rows have the same cell, column by column."""
    frame, source, found = release.frame, release.source.tolist(), {}
    for name in quasi:
        cells = frame.select(one for one in frame.columns if one == name or one in (f"{name}_lo", f"{name}_hi"))
        groups: dict[Any, set[int]] = {}
        for row, cell in zip(source, cells.rows(), strict=True):
            groups.setdefault(cell, set()).add(row)
        found[name] = sorted(map(frozenset, groups.values()), key=min)
    return found


def levels(release: Any) -> Any:
    return release.evidence["chosen"]["levels"], release.evidence["chosen"].get("cuts")


def told(release: Any) -> tuple[Any, ...]:
    """All that is published: names, types, cells and manifest."""
    frame = release.frame
    return list(frame.schema.items()), frame.rows(), json.dumps(dict(release.manifest), sort_keys=True, default=str)
