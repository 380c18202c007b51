"""Interval ends that only few people have are never published without ``W-TIGHT``."""

from __future__ import annotations

import datetime as dt
import re
from dataclasses import replace
from typing import Any

import numpy as np
import polars as pl
import pytest

import shoal
from shoal.data.domain import Domain
from shoal.errors import GateError, RefusalError
from shoal.recoding.snap import grid_width, published_ends, snap_outward
from shoal.release import prepare
from tests.table.random_tables import crowded_table

ACCEPT = ["W-UNMODELLED:disease"]


def incomes(count: int = 190, seed: int = 1, step: int = 1) -> list[int]:
    random = np.random.default_rng(seed)
    return (random.choice(np.arange(18_000 // step, 95_000 // step), count, replace=False) * step).tolist()


def table(values: Any, **options: Any) -> shoal.Table:
    count = len(values)
    frame = pl.DataFrame({"x": values, "disease": [("flu", "cold", "gout")[row % 3] for row in range(count)]})
    if "subject" in options:
        frame = frame.with_columns(who=pl.Series(options["subject"]))
        options["subject"] = "who"
    settings = options.pop("settings", {})
    return shoal.read(frame, quasi=["x"], sensitive=["disease"], settings={"x": settings}, **options)


def release(source: shoal.Table, k: int = 3, algorithm: str = "mondrian", *accept: str) -> shoal.Release:
    return shoal.anonymize(
        source, algorithm=algorithm, models=[shoal.KAnonymity(k=k)], acknowledge=[*ACCEPT, *accept], seed=1
    )


def ends(made: shoal.Release) -> set[str]:
    """Texts of every end that stands in a release."""
    found: set[str] = set()
    for name in [name for name in made.frame.columns if name.startswith("x")]:
        for cell in made.frame[name].cast(pl.String).to_list():
            found |= set(re.fullmatch(r"\[(.+),(.+)\]", cell).groups() if cell.startswith("[") else [cell])  # type: ignore[union-attr]
    return found


@pytest.mark.parametrize("algorithm", ["mondrian", "toc", "k-members", "top-down", "bottom-up"])
@pytest.mark.parametrize("style", ["auto", "bounds"])
def test_few_values_are_no_reason_to_publish_them(algorithm: str, style: str) -> None:
    values = incomes()
    made = release(table(values, settings={"style": style}), 3, algorithm)
    on_grid = {str(value) for value in values if value % 500 == 0}
    assert ends(made) & {str(value) for value in values} <= on_grid
    assert all(int(end) % 500 == 0 for end in ends(made))


def test_off_publishes_them_and_needs_its_code() -> None:
    values = incomes()
    tight = table(values, settings={"snap": "off"})
    with pytest.raises(RefusalError, match="W-TIGHT"):
        release(tight)
    assert len(ends(release(tight, 3, "mondrian", "W-TIGHT")) & {str(value) for value in values}) > 90


@pytest.mark.parametrize(
    "snap, values", [(1, incomes()), (500, incomes(60, step=1000)), (0.5, incomes()), (3, [3, 6, 9] * 9)]
)
def test_a_grid_as_fine_as_the_values_is_tight(snap: float, values: list[int]) -> None:
    with pytest.raises(RefusalError, match="W-TIGHT"):
        release(table(values, settings={"snap": snap}))
    release(table(values, settings={"snap": snap}), 3, "mondrian", "W-TIGHT")


def test_round_values_are_hidden_by_a_wider_grid() -> None:
    values = incomes(60, step=1000)
    made = release(table(values))
    assert {int(end) % 2000 for end in ends(made)} == {0}


def test_common_values_stay_tight_and_rare_ones_beside_them_move() -> None:
    ages = [age for age in range(20, 60) for _ in range(6)] + [61, 63, 84, 87, 91]
    found = {int(end) for end in ends(release(table(ages), 5))}
    assert not found & {61, 63, 87, 91}
    assert found & set(range(20, 60))
    assert {end for end in found if end > 59} <= {60, 92}


def test_one_value_of_most_people_hides_nobody_else() -> None:
    gains = [0] * 400 + [3_137, 4_064, 7_298, 9_562, 14_084, 27_828, 99_999]
    found = {int(end) for end in ends(release(table(gains), 5))}
    assert not found & set(gains[400:])


def test_dates_are_values_too() -> None:
    days = [dt.date(1940, 1, 1) + dt.timedelta(days=int(step)) for step in incomes(180, seed=2)]
    found = ends(release(table(days)))
    assert len(found & {day.isoformat() for day in days}) <= 4, "but for those that are on the grid of 500 days"


def test_people_have_values_not_rows() -> None:
    values = [value for value in incomes(60) for _ in range(4)]
    assert ends(release(table(values))) <= {str(value) for value in values}
    made = release(table(values, subject=[row // 4 for row in range(240)]))
    assert all(int(end) % 500 == 0 for end in ends(made))


@pytest.mark.parametrize("kind", ["int", "float", "decimal"])
@pytest.mark.parametrize("seed", range(5))
def test_ends_are_outward_in_order_and_never_rare(kind: str, seed: int) -> None:
    random = np.random.default_rng(seed)
    values: Any = np.concatenate([random.integers(0, 40, 150), random.integers(0, 100_000, 60)])
    if kind == "float":
        values = np.round(values / 7.0, 3)
    series = pl.Series(values.tolist())
    if kind == "decimal":
        series = (series.cast(pl.Decimal(30, 3)) / 8).cast(pl.Decimal(30, 3))
    column = crowded_table(table(series), 4).columns["x"]
    assert column.numbers is not None
    codes = np.arange(column.numbers.size)
    low, high = snap_outward(column, codes, codes)
    numbers, width = column.numbers.tolist(), grid_width(column)
    common = {number for number, rare in zip(numbers, column.rare.tolist(), strict=True) if not rare}
    assert width is not None
    for number, left, right in zip(numbers, low.tolist(), high.tolist(), strict=True):
        assert left <= number <= right
        for end in (left, right):
            steps = float(end) / float(width)
            assert end in common or abs(steps - round(steps)) < 1e-6
    assert all(np.diff(np.array(low.tolist(), dtype=float)) >= 0)
    assert all(np.diff(np.array(high.tolist(), dtype=float)) >= 0)
    place, top = published_ends(column)
    assert np.array_equal(place[codes], np.array([float(x - numbers[0]) for x in low.tolist()]))
    assert np.array_equal(top[codes], np.array([float(x - numbers[0]) for x in high.tolist()]))


def test_the_gate_finds_a_rare_end_by_itself(monkeypatch: pytest.MonkeyPatch) -> None:
    """Were the engine to forget the grid, nothing would be written."""
    monkeypatch.setattr(prepare, "crowded", lambda domain, size, people: _careless(domain))
    monkeypatch.setattr(prepare, "grids", lambda table: {"x": 500.0})
    with pytest.raises(GateError, match="ends of intervals of 'x' are values of fewer than 3 released people"):
        release(table(incomes()))


def _careless(domain: Domain) -> Domain:
    return replace(domain, columns={name: replace(column, crowd=1) for name, column in domain.columns.items()})


def test_the_gate_counts_people(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(prepare, "crowded", lambda domain, size, people: _careless(domain))
    values = [value for value in incomes(60) for _ in range(4)]
    release(table(values))
    with pytest.raises(GateError, match="ends of intervals"):
        release(table(values, subject=[row // 4 for row in range(240)]))


def test_columns_left_as_they_are_need_to_say_so() -> None:
    """Level 0 has no intervals to widen: values of one person are refused, with the way out."""
    accepted = [*ACCEPT, "W-NO-K", "W-TIGHT"]
    with pytest.raises(GateError, match='give them snap = "off" and acknowledge W-TIGHT'):
        shoal.anonymize(table(incomes()), algorithm=shoal.NoAlgorithm(), acknowledge=accepted, seed=1)
    exact = shoal.anonymize(
        table(incomes(), settings={"snap": "off"}), algorithm=shoal.NoAlgorithm(), acknowledge=accepted, seed=1
    )
    assert sorted(exact.frame["x"]) == sorted(str(value) for value in incomes())
