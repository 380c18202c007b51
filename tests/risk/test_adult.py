"""UCI Adult with eight quasi-identifiers: uniques of one and two keys counted again by plain grouping."""

from __future__ import annotations

from itertools import combinations
from pathlib import Path

import polars as pl
import pytest

import shoal
from shoal.data.table import Table
from shoal.risk.assess import assess
from tests.test_adult import QUASI, read


@pytest.fixture(scope="module")
def table(adult: Path) -> Table:
    return read(adult, hierarchies=False)


def alone(frame: pl.DataFrame, keys: list[str]) -> pl.Series:
    return frame.select((pl.len().over(keys) == 1).alias("alone"))["alone"]


def test_uniques_of_one_and_two_keys(table: Table) -> None:
    report = assess(table, suda=2)
    frame = table.frame.select(QUASI)
    single = {key: alone(frame, [key]) for key in QUASI}
    pairs = [(alone(frame, [a, b]) & ~single[a] & ~single[b]).sum() for a, b in combinations(QUASI, 2)]
    assert report.suda is not None
    assert report.suda.by_size == {1: sum(found.sum() for found in single.values()), 2: sum(pairs)}
    assert report.figures["sample-unique"].value == alone(frame, QUASI).mean()


def test_pitman_on_samples_of_known_truth(table: Table) -> None:
    frame = table.frame.select(QUASI)
    for fraction in (0.05, 0.3):
        rows = frame.with_columns(alone(frame, QUASI)).sample(fraction=fraction, seed=2)
        sample = shoal.read(rows.drop("alone"), quasi=QUASI)
        found = assess(sample, fraction=fraction, suda=0).figures["population-unique-pitman"].value
        assert found == pytest.approx(rows["alone"].mean(), rel=0.15)
