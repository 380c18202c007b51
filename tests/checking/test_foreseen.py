"""What a run takes, told by samples."""

from __future__ import annotations

import resource
import sys

import numpy as np
import polars as pl
import pytest

import shoal
from shoal.recipe.recipe import parse_recipe
from shoal.release.check import findings
from shoal.release.forecast import SIZES, _grown, foresee, foreseen_stream, peak_bytes


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
    def attempt(recipe: object) -> None:
        raise AssertionError("so many rows are not tried")

    found = foreseen_stream(recipe(5), 10**7, 20.0, 1 << 31, (), attempt)  # type: ignore[arg-type]
    assert found.data() == {"seconds": 80.0, "bytes": 1 << 31, "sample": 0, "likely": []}


def test_memory_is_told_in_the_unit_of_the_system(monkeypatch: pytest.MonkeyPatch) -> None:
    """Linux tells kibibytes, macOS bytes, and Windows has no such library: a check ended with an error there."""
    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    monkeypatch.setattr("sys.platform", "darwin")
    assert peak <= peak_bytes() < 2 * peak
    monkeypatch.setitem(sys.modules, "resource", None)
    assert peak_bytes() is None
    seconds = {"seconds": 3.0, "bytes": None, "sample": 9, "likely": []}
    said = findings({"rows": 9, "vacuous": [], "problems": [], "foreseen": seconds, "untold": []})
    assert said[0] == "A run takes about 3 s."
