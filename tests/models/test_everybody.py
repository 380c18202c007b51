"""Several rows a person: a value that everybody in a class has is known of all of them, whatever else some have."""

from __future__ import annotations

from typing import Any

import numpy as np
import polars as pl
import pytest

import shoal
from shoal.errors import InfeasibleError, ParameterError
from shoal.registry import make
from shoal.risk.audit import audit
from tests.conftest import many

DIVERSITIES: list[dict[str, Any]] = [
    {"name": "distinct-l", "l": 2}, {"name": "p-sensitive", "p": 2, "k": 2}, {"name": "entropy-l", "l": 1.3},
    {"name": "recursive-cl", "c": 9, "l": 2}, {"name": "range-diversity", "p": 0.95},
]  # fmt: skip
ALGORITHMS: list[dict[str, Any]] = [
    {"name": "mondrian"}, {"name": "mondrian", "cut": "best", "polish": "lm"}, {"name": "top-down-subtree"},
    {"name": "optimal", "suppression_limit": 0.5}, {"name": "optimal", "repeat": True, "suppression_limit": 0.5},
    {"name": "k-members"}, {"name": "bottom-up"}, {"name": "top-down"},
    {"name": "upc", "utility": 0.9, "protection": 0.95},
]  # fmt: skip


def everybodys(classes: np.ndarray, frame: pl.DataFrame) -> int:
    """Classes in which one value is everybody's."""
    found = 0
    for one in np.unique(classes[classes >= 0]):
        mine = frame.filter(pl.Series(classes == one))
        people = mine["who"].n_unique()
        found += any(part["who"].n_unique() == people for (_,), part in mine.group_by(["s"]))
    return found


@pytest.fixture
def hiv() -> pl.DataFrame:
    """Five people who all have HIV, one of them flu as well."""
    return pl.DataFrame({"who": [*"pqrst", "p"], "age": [30, 31, 32, 33, 34, 30], "s": ["HIV"] * 5 + ["flu"]})


@pytest.mark.parametrize("model", DIVERSITIES, ids=lambda one: one["name"])
def test_it_is_never_released_as_diverse(hiv: pl.DataFrame, model: dict[str, Any]) -> None:
    models = [make("model", {"name": "k", "k": 5}), make("model", model)]
    table = shoal.read(hiv, quasi=["age"], sensitive=["s"], subject="who")
    with pytest.raises(InfeasibleError):
        shoal.anonymize(table, algorithm="mondrian", models=models, seed=1)
    rows = shoal.read(hiv.drop("who"), quasi=["age"], sensitive=["s"])
    assert shoal.anonymize(rows, algorithm="mondrian", models=models, seed=1).frame.height == 6


def test_risk_says_so(hiv: pl.DataFrame) -> None:
    found = audit(hiv.with_columns(age=pl.lit(30)), quasi=["age"], sensitive=["s"], subject="who").own_value
    assert (found.sensitive["s"].homogeneous_share, found.sensitive["s"].distinct_l) == (1.0, 1)
    rows = audit(hiv.with_columns(age=pl.lit(30)), quasi=["age"], sensitive=["s"]).own_value
    assert rows.sensitive["s"].homogeneous_share == 0.0


@pytest.mark.parametrize("algorithm", ALGORITHMS, ids=lambda one: "-".join(map(str, one.values())))
def test_no_algorithm_releases_such_a_class(algorithm: dict[str, Any]) -> None:
    """Random tables in which most people have several values: whoever grows or cuts groups keeps them apart."""
    released = 0
    for seed in range(many(2, 6)):
        rng = np.random.default_rng(seed)
        rows = 40
        frame = pl.DataFrame({
            "who": [f"p{one}" for one in rng.integers(0, 14, rows)], "age": rng.integers(20, 28, rows),
            "zip": rng.choice(list("abcd"), rows), "s": rng.choice(["HIV", "HIV", "flu", "cold"], rows),
        })  # fmt: skip
        trees = {
            "age": [[str(age), f"{age // 2}x", f"{age // 4}y", "*"] for age in range(20, 28)],
            "zip": [[one, "ab" if one in "ab" else "cd", "*"] for one in "abcd"],
        }
        table = shoal.read(frame, quasi=["age", "zip"], sensitive=["s"], subject="who", hierarchies=trees)
        for spec in DIVERSITIES[seed % 2 :: 2]:
            models = [make("model", {"name": "k", "k": 2}), make("model", spec)]
            try:
                release = shoal.anonymize(table, algorithm=make("algorithm", algorithm), models=models, seed=seed)
            except InfeasibleError:
                continue
            released += 1
            assert everybodys(release.released.classes, frame) == 0
    assert released


@pytest.mark.parametrize("name", ["samarati", "incognito"])
def test_searches_that_prune_by_inheritance_refuse(hiv: pl.DataFrame, name: str) -> None:
    trees = {"age": [[str(age), "*"] for age in range(30, 35)]}
    table = shoal.read(hiv, quasi=["age"], sensitive=["s"], subject="who", hierarchies=trees)
    models = [make("model", {"name": "distinct-l", "l": 2})]
    with pytest.raises(ParameterError, match="counts once when they are merged: use 'optimal'"):
        shoal.anonymize(table, algorithm=name, models=models, acknowledge=["W-NO-K"], seed=1)
