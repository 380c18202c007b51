"""Shuffling and record swapping: what they keep, whom they move, and what they refuse."""

from __future__ import annotations

from typing import Any

import numpy as np
import polars as pl
import pytest
from hypothesis import given
from hypothesis import strategies as st

import shoal
from shoal.algorithms.links.noise import anew
from shoal.errors import ParameterError
from shoal.kernels.perturbation import pair_apart

ACCEPT = ["W-PERTURBED"]


def people(rows: int = 800) -> pl.DataFrame:
    random = np.random.default_rng(1)
    age, sex = random.integers(18, 90, rows), random.choice(["f", "m"], rows)
    district = random.choice(["n1", "n2", "n3", "s1", "s2"], rows, p=[0.3, 0.3, 0.02, 0.2, 0.18])
    income = age * 300 + np.where(sex == "f", 4000, 0) + random.normal(0, 3000, rows)
    return pl.DataFrame(
        {
            "age": age, "sex": sex, "income": income.round(2),
            "wealth": (income * 3 + random.normal(0, 9000, rows)).round(),
            "region": [one[0] for one in district], "district": district, "s": ["x", "y"] * (rows // 2),
        }
    )  # fmt: skip


def shuffled(frame: pl.DataFrame, **method: Any) -> Any:
    table = shoal.read(
        frame, quasi=["age", "sex", "income", "wealth"], sensitive=["s"], drop=["region", "district"]
    )
    return shoal.anonymize(table, algorithm=shoal.Shuffling(**method), acknowledge=ACCEPT, seed=2)


def test_shuffling_keeps_values_and_what_they_have_to_do_with_each_other() -> None:
    frame = people()
    made = shuffled(frame, columns=["income", "wealth"])
    aligned = made.aligned()
    for name in ("income", "wealth"):
        assert aligned[name].sort().equals(frame[name].sort())
        assert (aligned[name] != frame[name]).mean() > 0.95
    assert aligned.select("age", "sex", "s").equals(frame.select("age", "sex", "s"))
    for one, other in (("age", "income"), ("income", "wealth"), ("age", "wealth")):
        before, after = (np.corrcoef(which[one], which[other])[0, 1] for which in (frame, aligned))
        assert after == pytest.approx(before, abs=0.06)
    gaps = [
        float(which.filter(pl.col("sex") == "f")["income"].mean() - which.filter(pl.col("sex") == "m")["income"].mean())
        for which in (frame, aligned)
    ]
    assert gaps[1] == pytest.approx(gaps[0], rel=0.35)
    assert 0.5 < made.evidence["search"]["explained"]["income"] < 1
    assert made.manifest["perturbation"] == "shuffled"


def test_all_columns_shuffled_are_nobodys() -> None:
    frame = people()
    aligned = shuffled(frame).aligned()
    before, after = (np.corrcoef(which["income"], which["wealth"])[0, 1] for which in (frame, aligned))
    assert after == pytest.approx(before, abs=0.05)
    assert abs(np.corrcoef(frame["income"], aligned["income"])[0, 1]) < 0.35  # by sex alone


def test_new_scores_have_the_covariances_of_the_old_ones() -> None:
    random = np.random.default_rng(5)
    others = np.stack([np.ones(4000), random.normal(size=4000)])
    scores = np.array([[0.0, 1.0], [0.0, -0.5]]) @ others + random.normal(size=(2, 4000)) * [[0.5], [1.0]]
    made, explained = anew(scores, others, random.normal(size=(2, 4000)))
    assert np.cov(made, others[1]) == pytest.approx(np.cov(scores, others[1]), abs=0.06)
    assert explained == pytest.approx([0.8, 0.2], abs=0.03)


def swapped(frame: pl.DataFrame, hierarchies: Any = None, quasi: Any = None, **method: Any) -> Any:
    names = quasi or ["age", "sex", "region", "district"]
    rest = [name for name in frame.columns if name not in (*names, "s")]
    table = shoal.read(frame, quasi=names, sensitive=["s"], drop=rest, hierarchies=hierarchies or {})
    return shoal.anonymize(table, algorithm=shoal.RecordSwapping(**method), acknowledge=ACCEPT, seed=2)


def test_records_at_risk_move_and_counts_of_alike_records_stay() -> None:
    frame = people().with_columns(age=pl.col("age") // 10)
    made = swapped(frame, geography=["region", "district"], k=4, similar=["sex"])
    aligned, notes = made.aligned(), made.evidence["search"]
    moved = (aligned["district"] != frame["district"]).to_numpy()
    assert moved.sum() == notes["swapped"]
    few = np.zeros(frame.height, dtype=bool)
    for area in ("region", "district"):
        few |= (frame.select(pl.len().over(area, "age", "sex")).to_series() < 4).to_numpy()
    assert few.sum() == notes["at_risk"] > 0
    assert (few & ~moved).sum() == notes["at_risk_not_swapped"] == 0
    # Who is at risk in a whole region leaves it; region and district move together.
    far = (frame.select(pl.len().over("region", "age", "sex")).to_series() < 4).to_numpy()
    assert (aligned["region"].to_numpy() != frame["region"].to_numpy())[far].all()
    assert (aligned["district"].str.head(1) == aligned["region"]).all()
    assert aligned.select("age", "sex", "s").equals(frame.select("age", "sex", "s"))
    before, after = (which.group_by("district", "sex").len().sort("district", "sex") for which in (frame, aligned))
    assert before.equals(after)


def test_levels_of_a_hierarchy_are_areas_too() -> None:
    frame = people().with_columns(age=pl.col("age") // 10)
    tree = {"district": [[one, one[0], "*"] for one in ("n1", "n2", "n3", "s1", "s2")]}
    made = swapped(frame, tree, ["age", "sex", "district"], geography=["district"], k=4, similar=["sex"])
    columns = swapped(frame, geography=["region", "district"], k=4, similar=["sex"])
    for one in ("at_risk", "swapped"):
        assert made.evidence["search"][one] == columns.evidence["search"][one]


def test_a_rate_is_met_by_chance() -> None:
    made = swapped(people(), geography=["district"], risk=["sex"], k=2, rate=0.2)
    assert made.evidence["search"]["at_risk"] == 0
    assert made.evidence["search"]["swapped"] == 160


@given(seed=st.integers(0, 500))
def test_partners_are_alike_and_from_elsewhere(seed: int) -> None:
    random = np.random.default_rng(seed)
    group, area = random.integers(0, 3, 20), random.integers(0, 3, 20).astype(np.int32)
    members = np.argsort(group, kind="stable")
    starts = np.append(np.flatnonzero(np.diff(group[members], prepend=-1)), 20)
    wanted, partner = random.integers(0, 2, 20).astype(np.uint8), np.arange(20)
    pair_apart(members, starts, area, wanted, random.random(20), partner)
    assert (partner[partner] == np.arange(20)).all()
    moved = np.flatnonzero(partner != np.arange(20))
    assert (area[moved] != area[partner[moved]]).all()
    assert (group[moved] == group[partner[moved]]).all()
    assert all(wanted[one] or wanted[partner[one]] for one in moved)
    for one in np.flatnonzero((wanted == 1) & (partner == np.arange(20))):  # whoever is left found nobody free
        free = (group == group[one]) & (area != area[one]) & (partner == np.arange(20))
        assert not free.any()


@pytest.mark.parametrize(
    "method, said",
    [
        (lambda: shoal.Shuffling(columns=["sex"]), "cannot shuffle 'sex', which is not a numeric or ordered"),
        (lambda: shoal.Shuffling(columns=[]), "The 'columns' of Shuffling must be a list"),
        (lambda: shoal.RecordSwapping(geography="region"), "must be a list of columns, the coarsest first"),
        (lambda: shoal.RecordSwapping(geography=["regio"]), "cannot swap 'regio'.*Did you mean 'region'"),
        (lambda: shoal.RecordSwapping(geography=["region"], risk=["region"]), "cannot judge risk by 'region'"),
        (lambda: shoal.RecordSwapping(geography=["region"], similar=["region"]), "cannot match by 'region'"),
        (lambda: shoal.RecordSwapping(geography=["age", "sex", "region"]), "beside the geography: name some"),
        (lambda: shoal.RecordSwapping(geography=["region"], k=1), "The 'k' of RecordSwapping must be"),
        (lambda: shoal.RecordSwapping(geography=["region"], rate=2), "The 'rate' of RecordSwapping must be"),
    ],
)
def test_what_is_refused(method: Any, said: str) -> None:
    frame = people(40)
    table = shoal.read(
        frame, quasi=["age", "sex", "region"], sensitive=["s"], drop=["income", "wealth", "district"]
    )
    with pytest.raises(ParameterError, match=said):
        shoal.anonymize(table, algorithm=method(), acknowledge=ACCEPT)


def test_tables_without_numbers_are_not_shuffled() -> None:
    table = shoal.read(people(40).select("sex", "s"), quasi=["sex"], sensitive=["s"])
    with pytest.raises(ParameterError, match="Shuffling needs numbers or ordered categories"):
        shoal.anonymize(table, algorithm="shuffling", acknowledge=ACCEPT)
