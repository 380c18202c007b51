"""Noise: its size, what it keeps in expectation, and what is refused."""

from __future__ import annotations

from contextlib import nullcontext
from typing import Any

import numpy as np
import polars as pl
import pytest

import shoal
from shoal.errors import ParameterError

ACCEPT = ["W-PERTURBED"]
QUASI = ["age", "income", "seen", "sex"]


def people(rows: int = 3000) -> pl.DataFrame:
    random = np.random.default_rng(1)
    age = random.integers(18, 90, rows)
    return pl.DataFrame(
        {
            "age": age, "income": (age * 300 + random.normal(0, 2000, rows)).round(2),
            "seen": pl.Series(random.integers(15_000, 19_000, rows).astype(np.int32)).cast(pl.Date),
            "sex": random.choice(["f", "m"], rows), "s": ["x", "y"] * (rows // 2),
        }
    )  # fmt: skip


def noisy(frame: pl.DataFrame, **method: Any) -> Any:
    table = shoal.read(frame, quasi=QUASI, sensitive=["s"])
    return shoal.anonymize(table, algorithm=shoal.Noise(**method), acknowledge=ACCEPT, seed=1)


@pytest.mark.parametrize("correlated", [False, True])
def test_noise_has_its_size_and_no_mean(correlated: bool) -> None:
    frame = people()
    made = noisy(frame, size=0.3, correlated=correlated)
    aligned = made.aligned()
    assert (aligned.schema["age"], aligned.schema["seen"]) == (pl.Int64, pl.Date)
    for name in ("age", "income", "seen"):
        true, after = (one[name].to_physical().to_numpy().astype(float) for one in (frame, aligned))
        added = (after - true) / true.std()
        assert abs(added.mean()) < 0.03
        assert added.std() == pytest.approx(0.3, rel=0.06)
    assert aligned.select("sex", "s").equals(frame.select("sex", "s"))
    assert [one.get("noise") for one in made.manifest["columns"]] == [0.3, 0.3, 0.3, None, None]
    assert made.manifest["models"] == []


def test_correlated_noise_keeps_correlations_that_independent_noise_lowers() -> None:
    frame = people()
    true = np.corrcoef(frame["age"], frame["income"])[0, 1]
    alone, together = (
        np.corrcoef(*(made[name].to_numpy() for name in ("age", "income")))[0, 1]
        for made in (noisy(frame, size=0.7).aligned(), noisy(frame, size=0.7, correlated=True).aligned())
    )
    assert together == pytest.approx(true, abs=0.03)
    assert alone == pytest.approx(true / (1 + 0.7**2), abs=0.05)


def test_only_named_columns_have_noise_and_the_attack_sees_it() -> None:
    frame = people(400)
    little, much = (noisy(frame, size=size, columns=["income"]) for size in (0.01, 3.0))
    for made in (little, much):
        assert made.aligned().select("age", "seen", "sex").equals(frame.select("age", "seen", "sex"))
    told = [{one["name"]: one["value"] for one in made.manifest["measured"]} for made in (little, much)]
    assert told[0]["record-linkage"] > 0.9
    only = [
        noisy(frame.with_columns(age=50, seen=pl.lit("2020-01-01").str.to_date(), sex=pl.lit("f")), size=size)
        for size in (0.001, 3.0)
    ]
    found = [{one["name"]: one["value"] for one in made.manifest["measured"]}["record-linkage"] for made in only]
    assert found[0] > 0.2 > 0.05 > found[1]


@pytest.mark.parametrize(
    "method, said",
    [
        ({"size": 0}, "The 'size' of Noise must be a number above 0"),
        ({"correlated": "yes"}, "The 'correlated' of Noise must be one of true, false"),
        ({"columns": ["sex"]}, "cannot add noise to 'sex', which is not a numeric quasi-identifier"),
        ({"columns": []}, "The 'columns' of Noise must be a list"),
    ],
)
def test_what_is_refused(method: dict[str, Any], said: str) -> None:
    with pytest.raises(ParameterError, match=said):
        noisy(people(40), **method)


def test_tables_without_numbers_and_missing_ones_are_refused() -> None:
    frame = people(40)
    texts = shoal.read(frame.select("sex", "s"), quasi=["sex"], sensitive=["s"])
    with pytest.raises(ParameterError, match="no quasi-identifier is one: use 'pram'"):
        shoal.anonymize(texts, algorithm="noise", acknowledge=ACCEPT)
    gaps = shoal.read(
        frame.with_columns(age=pl.when(pl.col("age") > 40).then("age")), quasi=QUASI, sensitive=["s"], missing="value"
    )
    with pytest.raises(ParameterError, match=r"Noise cannot be added to the \d+ missing cells of 'age'"):
        shoal.anonymize(gaps, algorithm="noise", acknowledge=ACCEPT)
    other = shoal.anonymize(gaps, algorithm=shoal.Noise(columns=["income"]), acknowledge=ACCEPT, seed=1)
    assert other.aligned()["age"].null_count() > 0


def test_a_declared_domain_is_not_left_unnoticed() -> None:
    frame = people(300)
    left = r"Noise takes \d+ cells of 'age' out of its declared 'domain'"
    for domain, told in (([-500, 600], None), ([18, 90], left)):
        table = shoal.read(frame, quasi=QUASI, sensitive=["s"], settings={"age": {"domain": domain}})
        with nullcontext() if told is None else pytest.raises(ParameterError, match=told):
            shoal.anonymize(table, algorithm=shoal.Noise(size=0.5), acknowledge=ACCEPT, seed=1)
