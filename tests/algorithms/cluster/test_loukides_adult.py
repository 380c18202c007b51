"""TOC and UPC on UCI Adult, as the thesis uses it: what each is steered by comes out better."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

import shoal
from shoal.data.table import Table
from tests.conftest import many
from tests.test_adult import COLUMNS

QUASI = ["age", "sex", "race", "native-country", "workclass"]
SENSITIVE = ["marital-status", "occupation"]
SOME = many(1000, 3000)  # rows of methods whose time grows with their square
ACCEPTED = [f"W-UNMODELLED:{name}" for name in SENSITIVE]


@pytest.fixture(scope="module")
def table(adult: Path) -> Table:
    used = [*QUASI, *SENSITIVE]
    return shoal.read(
        adult, columns=COLUMNS, missing_markers=["?"], missing="drop", quasi=QUASI, sensitive=SENSITIVE,
        drop=[name for name in COLUMNS if name not in used],
    )  # fmt: skip


def measures(table: Table, algorithm: Any) -> dict[str, float]:
    release = shoal.anonymize(table, algorithm=algorithm, seed=1, acknowledge=ACCEPTED)
    return {name: release.measure(name).value for name in ("um", "mpm", "wgu", "wgp", "lm")}


def test_utility_alone_loses_least_and_protection_alone_spreads_most(table: Table) -> None:
    useful = measures(table, shoal.TOC(k=10, listing="printed", utility_weight=1.0, protection_weight=0.0))
    safe = measures(table, shoal.TOC(k=10, listing="printed", utility_weight=0.0, protection_weight=1.0))
    assert useful["um"] <= safe["um"]
    assert safe["mpm"] <= useful["mpm"]


def test_max_size_lowers_the_loss(table: Table) -> None:
    printed = measures(table, shoal.TOC(k=10, listing="printed"))
    small = measures(table, shoal.TOC(k=10, listing="printed", max_size=19))
    assert small["lm"] < printed["lm"]


def test_polished_classes_lose_less_and_tell_less_than_printed_ones(table: Table) -> None:
    some = shoal.read(table.frame.head(SOME).select(*QUASI, *SENSITIVE), quasi=QUASI, sensitive=SENSITIVE)
    printed, ours = (measures(some, shoal.TOC(k=10, listing=listing)) for listing in ("printed", "polished"))
    assert ours["lm"] < 0.5 * printed["lm"]
    assert ours["wgp"] <= printed["wgp"]


@pytest.mark.parametrize("strict", [False, True])
def test_upc_keeps_its_limits(table: Table, strict: bool) -> None:
    some = shoal.read(table.frame.head(SOME).select(*QUASI, *SENSITIVE), quasi=QUASI, sensitive=SENSITIVE)
    found = measures(some, shoal.UPC(k=10, utility=0.5, protection=0.4, strict=strict))
    assert found["wgu"] <= 0.5 + 1e-12
    assert found["wgp"] <= 0.4 + 1e-12
