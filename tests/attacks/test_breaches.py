"""Breaches record by record: the document's own example, and plain loops on random tables."""

from __future__ import annotations

import numpy as np
import polars as pl
import pytest

import shoal
from shoal.errors import ParameterError
from shoal.risk.attacks.proximity import breaches, near_share, other_share

CODES = ["W-UNMODELLED:income", "W-UNMODELLED:disease", "W-PP-REV"]
# Table 1 of Poovammal & Ponnavaikko, by the classes of Table 4.
PATIENTS = pl.DataFrame(
    {
        "age": [21, 22, 25, 29, 31, 33, 60],
        "income": [10000, 10020, 10030, 15000, 20000, 22000, 23000],
        "disease": ["bronchitis", "bronchitis", "bronchitis", "cancer", "gastritis", "flu", "flu"],
    }
)


def table_4(algorithm: object = None, **more: object) -> shoal.Release:
    table = shoal.read(PATIENTS, quasi=["age"], sensitive=["income", "disease"], hierarchies={
        "age": {"intervals": {"edges": [[20, 30, 61]]}}})  # fmt: skip
    own = algorithm or shoal.NoAlgorithm(levels={"age": 1})
    return shoal.anonymize(table, algorithm=own, acknowledge=CODES, seed=1, **more)  # type: ignore[arg-type]


def test_table_4_of_the_document() -> None:
    made = table_4(models=[shoal.KAnonymity(k=3)])
    disease, income = breaches(made, "disease"), breaches(made, "income", eps=30)
    assert disease["divergence_after"].to_list() == pytest.approx([0.25, 0.25, 0.25, 0.75, 2 / 3, 1 / 3, 1 / 3])
    assert income["proximity_after"].to_list() == pytest.approx([0.75, 0.75, 0.75, 0.25, 1 / 3, 1 / 3, 1 / 3])
    assert income["proximity_table"].to_list() == pytest.approx([3 / 7] * 3 + [1 / 7] * 4)
    assert disease["divergence_before"].sum() == 0  # everybody is alone with their age
    assert income["proximity_before"].to_list() == [1.0] * 7
    assert "proximity_after" not in disease.columns


def test_codes_change_no_breach_where_quasi_identifiers_stay() -> None:
    found = breaches(table_4(shoal.TableTransform()), "income", eps=30)
    assert found["proximity_before"].equals(found["proximity_after"].alias("proximity_before"))


def test_what_is_just_within_eps_counts_however_many_groups_there_are() -> None:
    groups, numbers = np.array([0, 1000, 1000]), np.array([0.0, 200_000.2, 200_000.3])
    assert near_share(groups, numbers, 0.1).tolist() == [1.0] * 3


@pytest.mark.parametrize("seed", range(20))
def test_shares_equal_plain_loops(seed: int) -> None:
    random = np.random.default_rng(seed)
    groups, values = random.integers(0, 5, 60), random.integers(0, 30, 60)
    eps = float(random.integers(0, 6))
    near, other = near_share(groups, values.astype(float), eps), other_share(groups, values)
    for row in range(60):
        mine = values[groups == groups[row]]
        assert near[row] == pytest.approx(np.mean(np.abs(mine - values[row]) <= eps))
        assert other[row] == pytest.approx(np.mean(mine != values[row]))


def test_figures_are_the_mean_and_the_worst() -> None:
    made = table_4(models=[shoal.KAnonymity(k=3)])
    found = {
        one.name: one.value
        for result in shoal.attack(made, only=["divergence", "proximity eps=30"], seed=1)
        for one in result.figures
    }
    rows, near = breaches(made, "disease")["divergence_after"], breaches(made, "income", eps=30)["proximity_after"]
    assert found["divergence-breach:disease"] == pytest.approx(rows.mean())
    assert found["divergence-breach-worst:disease"] == pytest.approx(0.75)
    assert found["proximity-breach:income"] == pytest.approx(near.mean())
    assert found["proximity-breach-worst:income"] == pytest.approx(0.75)


def test_what_is_close_by_default_is_said_by_released_numbers() -> None:
    """Somebody who was suppressed, and earns more than all others together, makes nobody close to anybody."""
    odd = pl.DataFrame({"age": [90], "income": [900_000], "disease": ["gout"]})
    table = shoal.read(pl.concat([PATIENTS, odd]), quasi=["age"], sensitive=["income", "disease"], hierarchies={
        "age": {"intervals": {"edges": [[20, 30, 61, 91]]}}})  # fmt: skip
    own = shoal.NoAlgorithm(levels={"age": 1}, suppression_limit=0.2)
    made = shoal.anonymize(table, algorithm=own, models=[shoal.KAnonymity(k=3)], acknowledge=CODES, seed=1)
    plain = table_4(models=[shoal.KAnonymity(k=3)])
    assert breaches(made, "income").equals(breaches(plain, "income"))
    both = [shoal.attack(one, only=["proximity"], seed=1)[0].figures for one in (made, plain)]
    assert [one.value for one in both[0] if "breach" in one.name] == [
        one.value for one in both[1] if "breach" in one.name
    ]


@pytest.mark.parametrize("algorithm", ["random", "swapping"])
def test_records_that_only_happen_to_agree_are_no_group(algorithm: str) -> None:
    table = shoal.read(PATIENTS, quasi=["age"], sensitive=["income", "disease"])
    made = shoal.anonymize(table, algorithm=algorithm, acknowledge=[*CODES, "W-RA-LINK", "W-PERTURBED"], seed=1)
    with pytest.raises(ParameterError, match="no breaches by class: records .* only happen to agree"):
        breaches(made, "income")


def test_what_cannot_be_asked() -> None:
    made = table_4(models=[shoal.KAnonymity(k=3)])
    with pytest.raises(ParameterError, match="Did you mean 'income'"):
        breaches(made, "incom")
    with pytest.raises(ParameterError, match="eps"):
        breaches(made, "income", eps=-1)
