"""Attacks on classes score a person's own class, however many other classes cover the person."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np
import polars as pl
import pytest

import shoal
from shoal.algorithms.base import Algorithm, Problem
from shoal.errors import GateError
from shoal.recoding.recodings import Grouping
from shoal.results import Release
from shoal.risk.attacks.limits import refuse_over_limits
from shoal.risk.attacks.run import attack
from shoal.risk.audit import audit
from tests.attacks.cases import INTERVAL, attacked, case_of, figures
from tests.conftest import many

# Six people of one value, and a class that covers all of them besides.
AGES = [30, 31, 32, 33, 34, 35, 20, 25, 31, 33, 40, 45]
VALUES = list("aaaaaa") + list("abcdcd")
CELLS = ["[30,35]"] * 6 + ["[20,45]"] * 6
LIMITED = ["homogeneity", "background", "skewness"]


@dataclass(frozen=True, kw_only=True)
class Halves(Algorithm):
    """The first and the second half of the rows, whatever they are; the last few are suppressed."""

    name: ClassVar[str] = "halves"
    left_out: int = 0

    def run(self, problem: Problem) -> Grouping:
        ids = np.repeat(np.arange(2), problem.table.n // 2).astype(np.int32)
        if self.left_out:
            ids[-self.left_out :] = -1
        return Grouping(ids=ids, groups=2)


def overlapping(values: list[str], *, ages: list[int] = AGES, left_out: int = 0, **more: Any) -> Release:
    """A release of two classes, one inside the other."""
    frame = pl.DataFrame({"age": ages, "s": values, **more})
    table = shoal.read(frame, quasi=["age"], sensitive=["s"], subject="who" if more else None)
    algorithm = Halves(left_out=left_out, suppression_limit=0.5)
    return shoal.anonymize(
        table, algorithm=algorithm, models=[shoal.KAnonymity(k=2)], seed=1, acknowledge=["W-UNMODELLED:s"]
    )


def test_a_class_of_one_value_is_found_inside_another() -> None:
    release = overlapping(VALUES)
    assert sorted(release.frame["age"].unique()) == ["[20,46]", "[30,36]"]
    found = figures(attack(release, only=["homogeneity"])[0])
    assert found["homogeneity:s"].value == 0.5
    # Somebody who cannot tell the classes apart sees four values of anybody from 30 to 35.
    assert found["homogeneity-pooled:s"].value == 0.0
    assert "Without knowing which of the classes" in found["homogeneity-pooled:s"].sentence


@pytest.mark.parametrize("limit, passes", [(0.0, False), (0.49, False), (0.5, True)])
def test_limits_look_at_own_classes(limit: float, passes: bool) -> None:
    release = overlapping(VALUES)
    if passes:
        refuse_over_limits({"homogeneity": limit}, release)
        return
    with pytest.raises(GateError, match="homogeneity"):
        refuse_over_limits({"homogeneity": limit}, release)


def test_limit_risk_and_attack_agree() -> None:
    """On random releases whose classes overlap: the same share, with one row a person."""
    shares = []
    for seed in range(many(25, 500)):
        rng = np.random.default_rng(seed)
        values = rng.choice(["a", "a", "a", "a", "b"], 12).tolist()
        release = overlapping(values, ages=rng.integers(20, 40, 12).tolist(), left_out=int(rng.integers(0, 3)))
        told = attack(release, only=["homogeneity"])[0]
        seen = audit(release.frame, quasi=["age"], sensitive=["s"]).own_value.sensitive["s"].homogeneous_share
        assert told.value == pytest.approx(seen)
        shares.append(seen)
        try:
            refuse_over_limits({"homogeneity": 0.0}, release)
        except GateError:
            assert seen > 0
        else:
            assert seen == 0
    assert 0 < np.mean(shares) < 1


def test_the_released_records_stand_in_where_nobody_knows_whose_class_it_is() -> None:
    released = {"age": CELLS, "s": VALUES}
    outside = {"age": [31, 33, 44], "s": list("abd")}
    case = case_of(released, {"age": INTERVAL}, against={"age": AGES, "s": VALUES}, control=outside)
    for name in LIMITED:
        result = attacked(case, name)
        found = figures(result)
        assert found[f"{name}:s"].control is None
        assert found[f"{name}-pooled:s"].control is not None
        assert "no class" in result.note
    assert figures(attacked(case, "homogeneity"))["homogeneity:s"].value == 0.5


def test_where_no_cells_overlap_there_is_one_figure_with_its_control() -> None:
    released = {"age": ["[30,35]"] * 6 + ["[40,45]"] * 6, "s": VALUES}
    people = {"age": [30, 31, 32, 33, 34, 35, 40, 41, 42, 43, 44, 45], "s": VALUES}
    case = case_of(released, {"age": INTERVAL}, against=people, control={"age": [31, 41], "s": ["a", "b"]})
    found = figures(attacked(case, "homogeneity"))
    assert list(found) == ["homogeneity:s"]
    assert (found["homogeneity:s"].value, found["homogeneity:s"].control) == (0.5, 0.5)


@pytest.mark.parametrize("second, success", [("p", 1.0), ("u", 0.0)])
def test_what_everybody_has_is_read_off_whatever_else_some_have(second: str, success: float) -> None:
    """Five people with HIV; the flu is one of theirs, or somebody else's."""
    frame = pl.DataFrame({"age": [30] * 6, "s": ["HIV"] * 5 + ["flu"], "who": [*"pqrst", second]})
    table = shoal.read(frame, quasi=["age"], sensitive=["s"], subject="who")
    release = shoal.anonymize(table, algorithm="none", models=[shoal.KAnonymity(k=5)], seed=1,
                              acknowledge=["W-UNMODELLED:s"])  # fmt: skip
    (found,) = attack(release, only=["homogeneity"])
    assert found.value == success


def test_the_pooled_attacker_knows_what_everybody_of_every_class_has() -> None:
    values = ["HIV"] * 5 + ["flu"] + ["HIV"] * 5 + ["cold"]
    who = [*"pqrst", "p", *"abcde", "a"]
    ages = [30, 31, 32, 33, 34, 30, 20, 25, 31, 33, 40, 20]
    found = figures(attack(overlapping(values, ages=ages, who=who), only=["homogeneity"])[0])
    assert (found["homogeneity:s"].value, found["homogeneity-pooled:s"].value) == (1.0, 1.0)
