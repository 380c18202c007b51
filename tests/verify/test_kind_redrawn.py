"""The verifier's own view of PRAM and noise: it passes what the methods make, and no tampering with it."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl
import pytest

import shoal
from shoal.errors import VerificationError
from shoal.verify.manifest_schema import check_manifest
from tests.verify.whole import check_perturbed

ROWS = 400
RANDOM = np.random.default_rng(3)
ORIGINAL = pl.DataFrame(
    {
        "age": RANDOM.integers(20, 80, ROWS), "job": RANDOM.choice(["a", "b", "c"], ROWS, p=[0.6, 0.3, 0.1]),
        "sex": RANDOM.choice(["f", "m"], ROWS), "s": RANDOM.choice(["x", "y"], ROWS),
    }
)  # fmt: skip
SOURCE = RANDOM.permutation(ROWS)


def claims(perturbation: str, **of_column: dict[str, float]) -> dict[str, Any]:
    types = {"age": "numeric", "job": "categorical", "sex": "categorical", "s": "categorical"}
    return {
        "perturbation": perturbation,
        "columns": [
            {"name": name, "role": "sensitive" if name == "s" else "quasi", "type": kind} | of_column.get(name, {})
            for name, kind in types.items()
        ],
    }


def failed(released: pl.DataFrame, told: dict[str, Any]) -> list[str]:
    return [check.name for check in check_perturbed(ORIGINAL, released[SOURCE], SOURCE, told) if not check.passed]


def jobs(change: int, to: str = "b") -> pl.DataFrame:
    """So many jobs called ``a`` changed."""
    first = (pl.col("job") == "a") & ((pl.col("job") == "a").cum_sum() <= change)
    return ORIGINAL.with_columns(job=pl.when(first).then(pl.lit(to)).otherwise("job"))


@pytest.mark.parametrize(
    "change, stay, way, expected",
    [
        (20, 0.9, "pram", []),
        (100, 0.9, "pram", ["perturbed columns"]),  # more than so many would change by chance
        (100, 0.7, "pram", []),
        (20, 0.9, "invariant-pram", []),
        (100, 0.7, "invariant-pram", ["perturbed columns"]),  # all from one value to another
        (60, 0.7, "invariant-pram", []),
        (0, 1.0, "invariant-pram", []),
    ],
)
def test_redrawn_values_change_no_more_than_is_said(change: int, stay: float, way: str, expected: list[str]) -> None:
    assert failed(jobs(change), claims(way, job={"stay": stay})) == expected


def test_values_that_the_column_does_not_have_and_other_columns_are_found() -> None:
    told = claims("pram", job={"stay": 0.5})
    assert failed(jobs(1, "z"), told) == ["perturbed columns"]
    assert failed(ORIGINAL.with_columns(sex=pl.lit("f")), told) == ["perturbed columns"]
    assert failed(ORIGINAL.with_columns(age=pl.col("age") + 1), told) == ["perturbed columns"]
    assert failed(ORIGINAL.with_columns(s=pl.lit("x")), told) == ["values"]
    assert failed(ORIGINAL, told) == []


def noisy(size: float, shift: float = 0.0) -> pl.DataFrame:
    draws = np.random.default_rng(4).normal(shift, size, ROWS) * float(ORIGINAL["age"].std())
    return ORIGINAL.with_columns(age=pl.Series(np.floor(ORIGINAL["age"].to_numpy() + draws + 0.5).astype(np.int64)))


@pytest.mark.parametrize(
    "released, size, expected",
    [
        (noisy(0.3), 0.3, []),
        (noisy(0.3), 1.0, ["perturbed columns"]),  # less noise than is said
        (noisy(1.0), 0.3, ["perturbed columns"]),
        (noisy(0.3, shift=0.5), 0.3, ["perturbed columns"]),
        (ORIGINAL, 0.3, ["perturbed columns"]),
        (noisy(0.3).with_columns(job=pl.lit("a")), 0.3, ["perturbed columns"]),
        (noisy(0.3).with_columns(age=pl.when(pl.int_range(ROWS) > 0).then("age")), 0.3, ["perturbed columns"]),
        (noisy(0.3).with_columns(pl.col("age").cast(pl.String)), 0.3, []),
    ],
)
def test_noise_is_of_the_size_that_is_said(released: pl.DataFrame, size: float, expected: list[str]) -> None:
    assert failed(released, claims("noise", age={"noise": size})) == expected


def test_nothing_is_told_where_nothing_was_made_so(tmp_path: Path) -> None:
    table = shoal.read(ORIGINAL, quasi=["age", "job", "sex"], sensitive=["s"])
    for algorithm, name in (("pram", "stay"), ("noise", "noise")):
        made = shoal.anonymize(table, algorithm=algorithm, acknowledge=["W-PERTURBED"], seed=1)
        made.write(tmp_path / algorithm)
        assert shoal.verify_release(tmp_path / algorithm).passed
        manifest = json.loads((tmp_path / algorithm / "manifest.json").read_text())
        check_manifest(manifest)
        bare = [{key: value for key, value in one.items() if key != name} for one in manifest["columns"]]
        for odd in ({"columns": bare}, {"perturbation": "swapped"}):
            with pytest.raises(VerificationError, match=f"gives a column its '{name}' exactly where"):
                check_manifest(manifest | odd)
        for wrong in (-0.1, True, "0.5", None):
            columns = [one | ({name: wrong} if name in one else {}) for one in manifest["columns"]]
            with pytest.raises(VerificationError, match=f"has a '{name}' that says nothing about it"):
                check_manifest(manifest | {"columns": columns})


@pytest.mark.parametrize("algorithm", ["noise size=1", "noise", "pram"])
def test_how_much_was_changed_is_no_value_of_anybody(tmp_path: Path, algorithm: str) -> None:
    """Sizes and chances are ours, though a hidden column has the same numbers, and one of its texts our words."""
    ages = pl.Series(RANDOM.choice([0.1, 1.0, 30.5, 70.25], ROWS))
    frame = ORIGINAL.with_columns(age=ages, score=pl.Series([0.1, 0.8] * (ROWS // 2)), why=pl.lit("noise"))
    table = shoal.read(frame, quasi=["age", "job", "sex"], sensitive=["s"], drop=["score", "why"])
    name, _, size = algorithm.partition(" size=")
    method = {"name": name} | ({"size": float(size)} if size else {})
    made = shoal.anonymize(table, algorithm=method, acknowledge=["W-PERTURBED"], seed=1)
    made.write(tmp_path / "out")
    assert shoal.verify_release(tmp_path / "out").passed
