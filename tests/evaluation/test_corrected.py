"""Estimates from a randomised release: what they ask for, what they say, and what they refuse."""

from __future__ import annotations

from typing import Any

import numpy as np
import polars as pl
import pytest

import shoal
from shoal.errors import InputError

ROWS = 2000


def people() -> pl.DataFrame:
    draw = np.random.default_rng(5)
    age = draw.integers(20, 60, ROWS)
    sex = np.where(draw.random(ROWS) < 0.5, "f", "m")
    job = np.where((sex == "f") & (age < 40), "nurse", np.where(draw.random(ROWS) < 0.5, "clerk", "cook"))
    ill = np.where((job == "nurse") & (draw.random(ROWS) < 0.7), "flu", "gout")
    return pl.DataFrame({"age": age, "sex": sex, "job": job, "ill": ill, "ward": ["n", "s"] * (ROWS // 2)})


def release(**options: Any) -> shoal.Release:
    table = shoal.read(people(), quasi=["age", "sex", "job"], sensitive=["ill"], neutral=["ward"])
    method = shoal.RandomAnonymisation(**options)
    return shoal.anonymize(table, algorithm=method, seed=2, acknowledge=["W-RA-LINK", "W-NEUTRAL"])


@pytest.fixture(scope="module")
def made() -> shoal.Release:
    return release()


def test_estimates_are_nearer_than_released_counts_where_noise_breaks_links(made: shoal.Release) -> None:
    frame = people()
    young = frame["age"].is_between(20, 39)
    nurse = (frame["sex"] == "f") & (frame["job"] == "nurse")
    one, two = shoal.estimate(
        made, queries=["age in [20, 39] and job = nurse", 'sex = f and job in {"nurse"} and ill = flu']
    )
    truths = [(young & (frame["job"] == "nurse")).sum(), (nurse & (frame["ill"] == "flu")).sum()]
    for found, truth in zip((one, two), truths, strict=True):
        assert found.value is not None
        assert found.error is not None
        assert found.released is not None
        assert abs(found.value - truth) < 4.0 * found.error
        assert abs(found.value - truth) < abs(found.released - truth)
    assert two.of == "sex = f and job = nurse and ill = flu"


def test_a_column_alone_is_counted_even_where_every_cell_was_redrawn() -> None:
    noise = release(redraw=3)
    (found,) = shoal.estimate(noise, queries=["sex = f"])
    truth = (people()["sex"] == "f").sum()
    assert found.value == found.released
    assert found.error == pytest.approx(np.sqrt(truth * (1 - truth / ROWS)), rel=0.01)  # a binomial count
    assert abs(found.value - truth) < 4.0 * found.error
    for asked in ("sex = f and ill = flu", "sex = f and job = nurse"):
        with pytest.raises(InputError, match="nothing is left"):
            shoal.estimate(noise, queries=[asked])


def test_rules_have_support_and_confidence(made: shoal.Release) -> None:
    frame = people()
    both = ((frame["job"] == "nurse") & (frame["ill"] == "flu")).sum()
    support, confidence = shoal.estimate(made, rules=["job = nurse -> ill = flu"])
    assert [support.figure, confidence.figure] == ["support", "confidence"]
    for found, truth in ((support, both / ROWS), (confidence, both / (frame["job"] == "nurse").sum())):
        assert found.interval is not None
        assert found.interval[0] <= truth <= found.interval[1]
    turned = shoal.estimate(made, rules=["ill = flu and age in [20, 39] -> job = nurse"])
    truth = ((frame["ill"] == "flu") & (frame["job"] == "nurse") & (frame["age"] < 40)).sum() / ROWS
    assert turned[0].value == pytest.approx(truth, abs=4.0 * (turned[0].error or 0.0))


def test_what_was_never_redrawn_is_counted(made: shoal.Release) -> None:
    found = shoal.estimate(made, queries=["ill = flu and ward = n"])[0]
    frame = people()
    assert found.value == pytest.approx(((frame["ill"] == "flu") & (frame["ward"] == "n")).sum())
    assert found.error == 0.0
    fixed = shoal.estimate(release(p={"age": 1.0}), queries=["sex = f and job = nurse"])[0]
    assert (fixed.value, fixed.error) == (pytest.approx(((frame["sex"] == "f") & (frame["job"] == "nurse")).sum()), 0.0)


def test_what_was_released_of_nobody_is_not_certain_to_be_nobodys() -> None:
    """Three divers, of whom one or two may be that young although no such record is left."""
    frame = people().with_columns(job=pl.when(pl.int_range(ROWS) < 3).then(pl.lit("diver")).otherwise("job"))
    table = shoal.read(frame, quasi=["age", "sex", "job"], sensitive=["ill"], neutral=["ward"])
    method = shoal.RandomAnonymisation(p={"age": 0.6, "sex": 0.2, "job": 0.2})
    noise = shoal.anonymize(table, algorithm=method, seed=2, acknowledge=["W-RA-LINK", "W-NEUTRAL"])
    count, support, _ = shoal.estimate(
        noise, queries=["age in [20, 21] and job = diver"], rules=["age in [20, 21] -> job = diver"]
    )
    assert count.released == 0
    assert count.interval is not None
    assert count.value is not None
    assert count.error is not None
    assert count.value + 2.0 * count.error < 3.0
    assert count.interval[0] == 0
    assert 5 < count.interval[1] < 40
    assert support.interval == pytest.approx(tuple(end / ROWS for end in count.interval))


def test_a_folder_gives_the_same(made: shoal.Release, tmp_path: Any) -> None:
    made.write(tmp_path / "out")
    asked = ["age in [20, 39] and sex = f"]
    assert shoal.estimate(tmp_path / "out", queries=asked) == shoal.estimate(made, queries=asked)


@pytest.mark.parametrize(
    "asked, told",
    [
        ({"queries": []}, "There is nothing to estimate"),
        ({"queries": ["age in [20, 30] and sex = f and job = cook"]}, "3 of the 3 redrawn columns, and every record"),
        ({"queries": ["ward = n", "colour = red"]}, "Query 2: The release has no column 'colour'"),
        ({"queries": ["sex = q"]}, "Query 1: Column 'sex' has no value 'q'"),
        ({"rules": ["sex = f"]}, "Rule 1: It must have one '->', with spaces around it"),
        ({"rules": ["sex = f -> sex = m"]}, "Rule 1: Column 'sex' stands on both of its sides"),
    ],
)
def test_what_cannot_be_estimated(made: shoal.Release, asked: dict[str, list[str]], told: str) -> None:
    with pytest.raises(InputError, match=told):
        shoal.estimate(made, **asked)


def test_only_noise_is_undone() -> None:
    table = shoal.read(people(), quasi=["age", "sex"], sensitive=["ill"], drop=["job", "ward"])
    kept = shoal.anonymize(table, algorithm=shoal.Mondrian(k=5), models=[shoal.DistinctL(l=2)], seed=1)
    with pytest.raises(InputError, match="nothing of this one was redrawn"):
        shoal.estimate(kept, queries=["sex = f"])
