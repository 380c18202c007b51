"""Limits of a recipe: what breaks them, what cannot be judged, and what is no limit at all."""

from __future__ import annotations

from typing import Any

import numpy as np
import polars as pl
import pytest

import shoal
from shoal.errors import GateError, InputError, ParameterError, RecipeError
from shoal.results import Release
from shoal.risk.attacks.base import AttackResult, figure
from shoal.risk.attacks.limits import attacks_of, check_limits, class_risks, known_limits, refuse_over_limits
from shoal.risk.attacks.run import attack, refuse_overlap


def result(name: str, *values: tuple[str, float, float | None, float | None]) -> AttackResult:
    made = [figure(one, value, 1000, "Told.", baseline=base, control=control) for one, value, base, control in values]
    return AttackResult(name=name, figures=made)


FOUND = [
    result("homogeneity", ("homogeneity:a", 0.02, 0.0, None), ("homogeneity:b", 0.3, 0.1, 0.1)),
    result("linkage", ("linkage", 0.1, 0.001, None), ("linkage-unique", 0.9, 0.0, None), ("linkage:a", 0.5, 0.2, 0.4)),
    result("proximity"),
]


@pytest.mark.parametrize("limits, broken", [
    ({"homogeneity": 0.3}, []),
    ({"homogeneity": 0.29}, ["homogeneity"]),
    ({"linkage": 0.5}, []),
    ({"linkage": 0.4}, ["linkage"]),
    ({"excess": {"homogeneity": 0.23}}, []),
    ({"excess": {"homogeneity": 0.22}}, ["homogeneity"]),
    ({"excess": {"linkage": 0.17}}, []),
    ({"excess": {"linkage": 0.16}}, ["linkage"]),
    ({"proximity": 0.5}, ["cannot be measured"]),
    ({"divergence": 1.0, "excess": {"skewness": 1}}, ["cannot be measured", "cannot be measured"]),
    ({"prosecutor_max": 0.2}, []),
    ({"prosecutor_max": 0.1, "homogeneity": 0.1}, ["prosecutor_max", "homogeneity"]),
])  # fmt: skip
def test_limits(limits: dict[str, Any], broken: list[str]) -> None:
    found = check_limits(limits, FOUND, {"prosecutor_max": 0.2})
    assert len(found) == len(broken)
    assert all(part in sentence for part, sentence in zip(broken, found, strict=True))


@pytest.mark.parametrize("limits, message", [
    ({"homogenity": 0.1}, "Did you mean 'homogeneity'"),
    ({"excess": {"link": 0.1}}, "Did you mean 'linkage'"),
    ({"excess": 0.1}, "must be a table"),
    ({"prosecutor-max": 0.1}, "Did you mean 'prosecutor_max'"),
])  # fmt: skip
def test_unknown_limits_are_refused(limits: dict[str, Any], message: str) -> None:
    with pytest.raises(RecipeError, match=message):
        known_limits(limits, ["prosecutor_max"])


@pytest.mark.parametrize("limits, message", [
    ({"proximty eps=3": 0.1}, "Did you mean 'proximity'"),
    ({"proximity ep=3": 0.1}, "Did you mean 'eps'"),
    ({"proximity eps=-3": 0.1}, "eps"),
    ({"proximity eps": 0.1}, "key=value"),
    ({"linkage=3": 0.1}, "linkage"),
    ({"excess": {"proximity ep=3": 0.1}}, "Did you mean 'eps'"),
    ({"homogeneity on age": 0.1}, "no sensitive column"),
    ({"prosecutor_max eps=3": 0.1}, "takes no parameters"),
    ({"excess eps=3": 0.1}, "takes no parameters"),
    ({"proximity eps=3": 1.5}, "1.5"),
])  # fmt: skip
def test_parameters_in_limits_that_cannot_be(limits: dict[str, Any], message: str) -> None:
    with pytest.raises((RecipeError, ParameterError), match=message):
        known_limits(limits, ["prosecutor_max"], ["s"])


@pytest.mark.parametrize("limits", [{"homogeneity": 1.1}, {"excess": {"linkage": -0.1}}, {"linkage": True}])
def test_limits_are_shares(limits: dict[str, Any]) -> None:
    with pytest.raises(ParameterError):
        known_limits(limits)


def test_the_attacks_that_limits_need() -> None:
    assert attacks_of({"prosecutor_max": 0.1, "linkage": 0.2, "excess": {"linkage": 0.1, "skewness": 1}}) == [
        "linkage", "skewness"
    ]  # fmt: skip


@pytest.fixture
def release() -> Release:
    frame = pl.DataFrame({"age": [20, 21, 22, 40, 41, 42], "s": list("aaabca")})
    table = shoal.read(frame, quasi=["age"], sensitive=["s"])
    return shoal.anonymize(
        table, algorithm="mondrian", models=[shoal.KAnonymity(k=3)], seed=1, acknowledge=["W-UNMODELLED:s"]
    )


def test_a_release_over_its_limits_is_refused(release: Release) -> None:
    assert class_risks(release) == {"prosecutor_max": pytest.approx(1 / 3), "prosecutor_mean": pytest.approx(1 / 3)}
    kept = refuse_over_limits({"prosecutor_max": 0.34, "homogeneity": 0.5}, release)
    assert [one.name for one in kept] == ["homogeneity"]
    with pytest.raises(GateError, match=r"'homogeneity' is 0.5, above the limit of 0.4") as caught:
        refuse_over_limits({"homogeneity": 0.4}, release)
    assert caught.value.exit_code == 4


def test_records_that_only_happen_to_agree_are_no_class_to_be_found_in() -> None:
    frame = pl.DataFrame({"sex": list("fm") * 30, "area": list("nnss") * 15, "s": list("abc") * 20})
    table = shoal.read(frame, quasi=["sex", "area"], sensitive=["s"])
    made = shoal.anonymize(table, algorithm="random", seed=1, acknowledge=["W-RA-LINK"])
    assert class_risks(made) == {"prosecutor_max": None, "prosecutor_mean": None}
    with pytest.raises(GateError, match="'prosecutor_max' has a limit of 0.9 but cannot be measured"):
        refuse_over_limits({"prosecutor_max": 0.9}, made)


def test_limits_take_parameters_as_the_command_line_does() -> None:
    """Each limit is held against the attack with its own parameters, not against another of that name."""
    frame = pl.DataFrame({"age": [20, 21, 22, 40, 41, 42], "pay": [10, 20, 30, 1000, 2000, 3000]})
    table = shoal.read(frame, quasi=["age"], sensitive=["pay"])
    accept = ["W-UNMODELLED:pay"]
    made = shoal.anonymize(table, models=[shoal.KAnonymity(k=3)], seed=1, acknowledge=accept)
    near, wide = (attack(made, only=[f"proximity eps={eps} on pay"])[0].value for eps in (0, 5000))
    assert near is not None
    assert wide is not None
    assert near < 0.5 < wide
    limits = {"proximity eps=0": 0.5, "proximity eps=5000 on pay": 1.0, "excess": {"proximity=5000": 1.0}}
    kept = refuse_over_limits(limits, made)
    assert [one.asked for one in kept] == ["proximity eps=0", "proximity eps=5000 on pay", "proximity=5000"]
    with pytest.raises(GateError, match="'proximity eps=5000' is 1, above the limit of 0.5"):
        refuse_over_limits({"proximity eps=0": 0.5, "proximity eps=5000": 0.5}, made)


def test_attacks_repeat_without_a_seed_too(release: Release) -> None:
    """By default draws come from the release's own secret."""
    first, second = attack(release), attack(release)
    assert [one.figures for one in first] == [one.figures for one in second]


def test_a_control_that_is_in_the_data_is_refused(release: Release) -> None:
    data = pl.DataFrame({"age": np.arange(100), "s": ["x"] * 100})
    refuse_overlap(data, pl.DataFrame({"age": np.arange(200, 230), "s": ["x"] * 30}))
    mixed = pl.DataFrame({"age": ["7", *map(str, range(200, 230))], "s": ["x"] * 31})
    with pytest.raises(InputError, match="1 of 31 rows of the control are in the data") as caught:
        refuse_overlap(data, mixed)
    assert caught.value.exit_code == 2
    with pytest.raises(InputError, match="rows of the control are in the data"):
        attack(release, control=release.table.frame)


def test_people_who_agree_by_chance_are_no_overlap() -> None:
    rng = np.random.default_rng(1)

    def people(n: int) -> pl.DataFrame:
        return pl.DataFrame({"age": rng.integers(0, 40, n), "s": rng.choice(list("abcd"), n)})

    data, outside = people(500), people(200)
    assert outside.join(data, on=["age", "s"], how="semi").height > 150
    refuse_overlap(data, outside)
    # Nearly everybody of a control that was drawn from the data agrees with somebody, which chance does not explain.
    wide = pl.DataFrame({"age": rng.integers(0, 2000, 500), "s": rng.choice(list("abcd"), 500)})
    with pytest.raises(InputError, match="would agree by chance"):
        refuse_overlap(wide, wide.sample(200, seed=1))


@pytest.mark.parametrize("control, error", [
    (pl.DataFrame({"years": [1]}), InputError), (pl.DataFrame({"age": [], "s": []}), ParameterError)
])  # fmt: skip
def test_controls_that_cannot_be_used(control: pl.DataFrame, error: type[Exception]) -> None:
    with pytest.raises(error):
        refuse_overlap(pl.DataFrame({"age": [1], "s": ["a"]}), control)
