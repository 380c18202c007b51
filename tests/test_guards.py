"""Personalised anonymity from table to file: lifted values, guards that stay private, and what the gate sees."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl
import pytest

import shoal
from shoal.data.table import Table
from shoal.errors import InfeasibleError, ParameterError
from shoal.release.manifest import whole_hierarchies
from shoal.verify.gate import gate
from shoal.verify.report import GateCase

ILLNESS = [
    ["flu", "lungs", "*"], ["asthma", "lungs", "*"], ["ulcer", "stomach", "*"], ["gastritis", "stomach", "*"],
]  # fmt: skip
AGES = [[str(age), f"{age // 10 * 10}s", "*"] for age in range(20, 60)]
ABOVE = {row[0]: row for row in ILLNESS}


def patients(rows: int = 80) -> pl.DataFrame:
    rng = np.random.default_rng(4)
    disease = rng.choice([*ABOVE], rows).tolist()
    wish = [rng.choice([one, ABOVE[one][1], ""], p=[0.3, 0.2, 0.5]) for one in disease]
    return pl.DataFrame({"age": rng.integers(20, 60, rows), "disease": disease, "secret_wish": wish})


def table(**changes: Any) -> Table:
    roles: dict[str, Any] = {
        "quasi": ["age"], "sensitive": ["disease"], "guard": "secret_wish",
        "hierarchies": {"age": AGES, "disease": ILLNESS},
    } | changes  # fmt: skip
    return shoal.read(patients(), **roles)


def release(**changes: Any) -> shoal.Release:
    wanted: dict[str, Any] = {
        "algorithm": shoal.PersonalisedAnonymity(p=0.5, k=3), "seed": 2,
    } | changes  # fmt: skip
    return shoal.anonymize(table(), **wanted)


@pytest.mark.parametrize("format", ["csv", "parquet"])
def test_values_are_lifted_and_guards_stay_private(format: str, tmp_path: Path) -> None:
    made = release()
    labels = made.aligned()["disease"].to_list()
    truth = patients()["disease"].to_list()
    assert all(label in ABOVE[value] for label, value in zip(labels, truth, strict=True))
    assert 0 < sum(label != value for label, value in zip(labels, truth, strict=True)) < len(truth)
    made.write(tmp_path / "out", format=format)
    report = shoal.verify_release(tmp_path / "out")
    assert report.passed, [check for check in report.checks if not check.passed]
    assert "secret_wish" not in (tmp_path / "out" / "manifest.json").read_text("utf-8")
    assert made.manifest["statement"] == "of a breach probability of at most 0.5 on disease, 3-anonymous"
    verdict = next(one for one in made.manifest["verdicts"] if one["model"]["name"] == "personalised")
    assert (verdict["holds"], verdict["by"], verdict["value"]) == (True, "attested", None)
    entry = next(one for one in made.manifest["columns"] if one["name"] == "disease")
    assert entry["cells"] == "label"


def case(made: shoal.Release, **changes: Any) -> GateCase:
    manifest = {key: value for key, value in made.manifest.items() if key not in ("verdicts", "classes")}
    return replace(
        GateCase(
            original=made.table.frame.select("age", "disease").with_columns(pl.col("age").cast(pl.String)),
            released=made.frame, source=made.source, suppressed=np.empty(0, dtype=np.int64), n_read=80, n_dropped=0,
            identifiers=pl.DataFrame(), subject=None, manifest=manifest, guard=made.table.frame["secret_wish"],
            hierarchies=whole_hierarchies(made.table.domain),
        ),
        **changes,
    )  # fmt: skip


def failed(one: GateCase) -> list[str]:
    return [check.name for check in gate(one).checks if not check.passed]


def test_the_gate_sees_labels_that_are_not_above_and_breaches() -> None:
    made = release()
    assert failed(case(made)) == []
    labels = made.frame["disease"]
    wrong = labels.clone()
    wrong[0] = "stomach" if ABOVE[patients()["disease"][int(made.source[0])]][1] == "lungs" else "lungs"
    assert "nodes of disease" in failed(case(made, released=made.frame.with_columns(wrong)))
    true = patients()["disease"].gather(made.source).alias("disease")
    entries = case(made).manifest["columns"]
    whole = [one | {"hierarchy": ILLNESS, "whole": True} if one["name"] == "disease" else one for one in entries]
    shown = case(made, released=made.frame.with_columns(true), manifest={**case(made).manifest, "columns": whole})
    assert failed(shown) == ["personalised on disease"]


def test_a_model_without_its_method_is_enforced_on_values() -> None:
    models = [shoal.KAnonymity(k=3), shoal.Personalised(p=0.75)]
    made = shoal.anonymize(table(), algorithm=shoal.Mondrian(suppression_limit=0.6), models=models, seed=2)
    assert all(verdict.holds for verdict in made.verdict)
    with pytest.raises(InfeasibleError, match="personalised"):
        shoal.anonymize(
            table(), algorithm=shoal.Mondrian(), models=[shoal.KAnonymity(k=3), shoal.Personalised(p=0.01)], seed=2
        )


def test_other_models_cannot_look_at_lifted_values() -> None:
    with pytest.raises(ParameterError, match="lifted"):
        release(models=[shoal.DistinctL(l=2)])
