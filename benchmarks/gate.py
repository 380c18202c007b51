"""The gate on a release of 100,000 people, against what Polars needs for the plain part, and in batches."""

from __future__ import annotations

from functools import cache

import numpy as np
import polars as pl

from benchmarks.harness import Comparison, case, run
from shoal.io.census import generate
from shoal.verify.gate import gate
from shoal.verify.report import GateCase

ROWS = 100_000
QUASI = {"age": "numeric", "sex": "categorical", "region": "categorical", "education": "categorical"}
MODELS = [{"name": "k", "k": 1}, {"name": "t-closeness", "t": 1.0, "on": "diagnosis"}]


@cache
def _case() -> GateCase:
    """Ages in decades, everything else as it was, names hidden."""
    people = generate(ROWS)
    original = people.select(*QUASI, "diagnosis", "occupation")
    decade = pl.col("age") // 10 * 10
    cells = original.with_columns(age=pl.format("[{},{}]", decade, decade + 9))
    source = np.random.default_rng(1).permutation(ROWS)
    columns = [
        *(
            {"name": name, "role": "quasi", "type": kind, "cells": "interval" if kind == "numeric" else "value"}
            for name, kind in QUASI.items()
        ),
        {"name": "diagnosis", "role": "sensitive", "type": "categorical", "cells": "value"},
        {"name": "occupation", "role": "neutral", "type": "categorical", "cells": "value"},
    ]
    manifest = {
        "manifest": 1, "kind": "generalised", "statement": "", "not_protected": [], "suppressed": "drop",
        "order": "shuffled", "people": False, "columns": columns, "models": MODELS, "acknowledged": [],
    }  # fmt: skip
    return GateCase(
        original=original, released=cells[source], source=source, suppressed=np.array([], dtype=np.int64),
        n_read=ROWS, n_dropped=0, identifiers=people.select("name"), subject=None, manifest=manifest,
        neutral_limit=1.0, acknowledged=["W-NAMES:occupation"],
    )  # fmt: skip


@case("gate 100,000 rows with names / Polars groups and compares them")
def whole() -> Comparison:
    """Two passes over the rows, every cell against its source, names of all against every cell."""
    given = _case()
    gate(given)

    def plain() -> None:
        beside = given.original[given.source]
        [given.released[name] == beside[name] for name in ("sex", "region", "education", "diagnosis", "occupation")]
        given.released.group_by([*QUASI, "diagnosis"]).len().sort("len")
        given.identifiers["name"].n_unique()

    return Comparison(lambda: gate(given), plain, limit=160.0)


@case("gate in batches of 10,000 rows / in one")
def batches() -> Comparison:
    """What is done again for every batch."""
    given = _case()
    return Comparison(lambda: gate(given, 10_000), lambda: gate(given, ROWS), limit=1.5)


if __name__ == "__main__":
    run([whole, batches])
