"""Worked examples of graded grouping and mapping tables hold, and so does what must hold on small samples of Adult."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import polars as pl
import pytest

from shoal_papers.base import Context, Outcome
from shoal_papers.data import Data
from shoal_papers.poovammal_ponnavaikko import weka
from shoal_papers.poovammal_ponnavaikko.common import EQUAL, LINE
from shoal_papers.poovammal_ponnavaikko.paper import PAPER

TINY: dict[str, dict[str, Any]] = {
    "6": {"rows": 400, "gradings": [EQUAL, LINE], "judged": ["training rows"]},
    "7": {"rows": 400, "gradings": [EQUAL], "leaves": 6},
    "rules": {"rows": 400, "gradings": [EQUAL], "leaves": 6},
    "cluster": {"rows": 120, "some": 100, "sample": 60, "gradings": [EQUAL]},
    "assoc": {"rows": 400, "limits": [[0.2, 0.8]], "longest": 2},
    "R2": {"rows": 400, "beside": ["sex"]},
    "corr": {"rows": 400, "k": [3, 5]},
    "time": {"sizes": [200, 400]},
    "attack": {"rows": 600, "known": [50], "gradings": [EQUAL, LINE]},
}
HARD = {"6": 2, "7": 4, "rules": 4, "cluster": 0, "assoc": 2, "R2": 1, "corr": 0, "time": 0, "attack": 2}


def carried_out(name: str, folder: Path | None = None, seeds: tuple[int, ...] = (1,)) -> Outcome:
    item = PAPER.item(name)
    given = item.settings(True) | TINY.get(name, {})
    return item.carry_out(Context(parameters=given, seeds=seeds, quick=True, data=Data(folder)))


def broken(outcome: Outcome) -> list[str]:
    return [claim.text for claim in outcome.claims if claim.kind == "hard" and claim.verdict != "holds"]


def test_every_worked_example_is_recomputed() -> None:
    outcome = carried_out("examples")
    assert broken(outcome) == []
    assert outcome.table is not None
    assert set(outcome.table["id"]) == {f"PP-{number:02d}" for number in range(1, 18)}


def test_table_8_is_regenerated() -> None:
    outcome = carried_out("8")
    assert broken(outcome) == []
    assert outcome.table is not None
    assert outcome.table["names 2 to 10"].to_list() == pytest.approx(
        outcome.table["document, names 2 to 10"].to_list(), abs=5e-6
    )


def test_every_item_is_there() -> None:
    assert {item.id for item in PAPER.items} == {*TINY, "examples", "8"}


@pytest.mark.parametrize("name", TINY)
def test_what_must_hold_holds(adult: Path, name: str) -> None:
    outcome = carried_out(name, adult.parent)
    assert broken(outcome) == []
    assert sum(claim.kind == "hard" for claim in outcome.claims) == HARD[name]
    assert outcome.readings
    assert outcome.plots


def test_codes_do_not_keep_ages_or_education_secret(adult: Path) -> None:
    soft = [claim for claim in carried_out("attack", adult.parent, (1, 2)).claims if claim.kind == "soft"]
    assert [claim.verdict for claim in soft] == ["does not hold"] * 3


def test_draws_are_those_of_java() -> None:
    assert [*weka.java_draws(0, iter([100] * 5))] == [60, 48, 29, 47, 15]
    assert [*weka.java_draws(42, iter([10] * 5))] == [0, 3, 8, 4, 0]


def plain_k_means(frame: pl.DataFrame, starts: list[int]) -> list[int]:
    """The same with loops over records and cells; of modes as common as each other, the first in the table."""
    spans = {one.name: (one.min(), one.max()) for one in frame if one.dtype.is_numeric()}
    known = {name: list(dict.fromkeys(frame[name])) for name in frame.columns}
    rows = [
        {name: (value - spans[name][0]) / (spans[name][1] - spans[name][0]) if name in spans else value
         for name, value in row.items()} for row in frame.iter_rows(named=True)
    ]  # fmt: skip

    def away(row: dict[str, Any], other: dict[str, Any]) -> float:
        return sum((row[name] - other[name]) ** 2 if name in spans else row[name] != other[name] for name in row)

    def centre(group: list[dict[str, Any]]) -> dict[str, Any]:
        columns = {name: [row[name] for row in group] for name in known}
        return {name: sum(one) / len(one) if name in spans else max(known[name], key=one.count)
                for name, one in columns.items()}  # fmt: skip

    centres, found = [rows[at] for at in starts], [-1] * len(rows)
    while True:
        near = [min(range(len(centres)), key=lambda at: away(row, centres[at])) for row in rows]
        if near == found:
            return found
        found = near
        centres = [
            centre([row for row, at in zip(rows, found, strict=True) if at == one]) for one in range(len(centres))
        ]


@pytest.mark.parametrize("seed", range(8))
def test_clusters_equal_plain_loops(seed: int) -> None:
    random = np.random.default_rng(seed)
    columns = {"sex": random.choice(["f", "m"], 41), "job": random.choice(list("abcde"), 41)}
    frame = pl.DataFrame({"age": random.integers(20, 80, 41), **columns})
    records = weka.Records.of(frame)
    ours = weka.k_means(records, seed=seed)
    assert ours.tolist() == plain_k_means(frame, weka._starts(records, 2, seed))
    assert np.mean(weka.by_density(records, ours) == ours) > 0.7


def test_missing_cells_are_the_mode_and_other_names_give_the_same_clusters() -> None:
    frame = pl.DataFrame({"age": [20, 30, 40, 70, 80, 90], "job": ["a", "a", "?", "b", "b", "a"]})
    assert weka.Records.of(frame).categories.ravel().tolist() == [0, 0, 0, 1, 1, 0]
    renamed = frame.with_columns(pl.col("job").replace({"a": "z", "b": "y"}))
    assert weka.k_means(weka.Records.of(frame)).tolist() == weka.k_means(weka.Records.of(renamed)).tolist()
