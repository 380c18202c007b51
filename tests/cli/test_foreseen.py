"""What a run takes, told by samples."""

from __future__ import annotations

import numpy as np
import polars as pl
import pytest

import shoal
from shoal.cli.foreseen import SIZES, _grown, foresee, foreseen_stream
from shoal.io.recipes import parse_recipe


@pytest.mark.parametrize("taken, n, seconds", [
    ([(60, 0.5)], 60, 0.5),
    ([(1000, 0.2), (2000, 0.3), (4000, 0.5)], 10_000, 1.1),  # a start, and 0.1 ms a row
    ([(1000, 0.2), (2000, 0.5), (4000, 1.7)], 40_000, 160.1),  # squares
    ([(1000, 0.2), (2000, 0.21), (4000, 0.29)], 10_000, 0.53),  # too little to tell squares by
    ([(1000, 0.2), (2000, 0.2), (4000, 0.2)], 404_000, 8.2),  # no row takes nothing
])  # fmt: skip
def test_growth(taken: list[tuple[int, float]], n: int, seconds: float) -> None:
    assert _grown(taken, n) == pytest.approx(seconds)


def table(n: int, **more: object) -> shoal.Table:
    rng = np.random.default_rng(1)
    frame = {"age": rng.integers(20, 60, n), "ill": rng.choice(["a", "b", "c"], n), "ward": rng.integers(0, 2, n)}
    return shoal.read(pl.DataFrame({**frame, **more}), quasi=["age"], sensitive=["ill"], neutral=["ward"],
                      subject="id" if "id" in more else None)  # fmt: skip


def recipe(k: int) -> object:
    models = f'[[models]]\nname = "k"\nk = {k}\n[[models]]\nname = "distinct-l"\nl = 2\n'
    return parse_recipe(f'seed = 1\n[source]\npath = "x.csv"\n[roles]\nquasi = ["age"]\n{models}')


def test_samples_tell_what_is_likely_refused() -> None:
    found = foresee(recipe(5), table(SIZES[-1] + 1), 0.5, (), lambda step: None)  # type: ignore[arg-type]
    assert (found.sample, found.whole) == (SIZES[-1], False)
    assert (found.seconds or 0.0) > 0.5
    assert found.data()["likely"] == []
    wards = np.arange(SIZES[-1] + 1) // 3
    found = foresee(recipe(5), table(SIZES[-1] + 1, ward=wards), 0.5, (), lambda step: None)  # type: ignore[arg-type]
    assert ["W-NEUTRAL" in one for one in found.data()["likely"]] == [True] * len(found.data()["likely"]) != []


def test_what_a_sample_cannot_meet_the_whole_may() -> None:
    found = foresee(recipe(4001), table(SIZES[-1] + 1), 0.5, (), lambda step: None)  # type: ignore[arg-type]
    assert (found.seconds, found.refused) == (None, [])


def test_people_are_sampled_with_all_of_their_rows() -> None:
    n = SIZES[-1] + 4
    found = foresee(recipe(5), table(n, id=np.arange(n) // 4), 0.5, (), lambda step: None)  # type: ignore[arg-type]
    assert found.seconds is not None


def test_an_engine_is_told_by_its_reading() -> None:
    assert foreseen_stream(10**7, 20.0, 1 << 31).data() == {
        "seconds": 80.0, "bytes": 1 << 31, "sample": 10**7, "likely": [],
    }  # fmt: skip
