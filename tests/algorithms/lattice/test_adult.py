"""The reference optima on UCI Adult, found with ARX: nine attributes, or eight and occupation as the sensitive one."""

from __future__ import annotations

from functools import cache
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import shoal
from shoal.algorithms.base import Problem
from shoal.algorithms.lattice.checker import Checker
from shoal.algorithms.lattice.objective import Objective
from shoal.data.table import Table
from shoal.registry import make
from tests.algorithms.lattice.lattices import Case
from tests.test_adult import COLUMNS

NINE = (
    "sex", "age", "race", "marital-status", "education", "native-country", "workclass", "occupation", "salary-class",
)  # fmt: skip
EIGHT = tuple(name for name in NINE if name != "occupation")
L5: dict[str, Any] = {"name": "distinct-l", "l": 5}
T2: dict[str, Any] = {"name": "t-closeness", "t": 0.2, "distance": "equal"}

# k, other model, limit: levels in the order above, loss, rows suppressed, classes.
OPTIMA: list[tuple[int, dict[str, Any] | None, float, list[int], float, int, int]] = [
    (5, None, 0.0, [0, 4, 1, 1, 3, 2, 2, 1, 0], 0.57315097, 0, 24),
    (5, None, 0.02, [0, 3, 0, 2, 2, 1, 1, 2, 0], 0.31371304, 506, 222),
    (5, None, 1.0, [0, 3, 0, 0, 2, 1, 1, 1, 0], 0.22041193, 2553, 602),
    (50, None, 1.0, [0, 3, 0, 1, 2, 0, 1, 2, 0], 0.35907359, 5124, 72),
    (5, L5, 1.0, [0, 3, 0, 0, 2, 1, 1, 0], 0.19986107, 2361, 270),
    (5, T2, 1.0, [1, 2, 0, 0, 3, 0, 2, 1], 0.60416523, 8156, 23),
]


@cache
def read(adult: Path, quasi: tuple[str, ...]) -> Table:
    sensitive = [] if "occupation" in quasi else ["occupation"]
    files = {name: str(adult.parent / f"adult_hierarchy_{name}.csv") for name in quasi}
    return shoal.read(
        adult, columns=COLUMNS, missing_markers=["?"], missing="drop", quasi=quasi, sensitive=sensitive,
        drop=[name for name in COLUMNS if name not in (*quasi, *sensitive)], hierarchies=files,
    )  # fmt: skip


def problem(adult: Path, k: int, other: dict[str, Any] | None) -> Problem:
    specs = [{"name": "k", "k": k}, *([other] if other else [])]
    return Case(read(adult, EIGHT if other else NINE), specs).problem()


@pytest.mark.parametrize("k, other, limit, levels, loss, suppressed, classes", OPTIMA)
def test_reference_optima(
    adult: Path,
    k: int,
    other: dict[str, Any] | None,
    limit: float,
    levels: list[int],
    loss: float,
    suppressed: int,
    classes: int,
) -> None:
    """The optima that ARX finds, as a release has them."""
    case = problem(adult, k, other)
    recoding = make("algorithm", {"name": "optimal", "measure": "arx-loss", "suppression_limit": limit}).run(case)
    assert (recoding.notes["levels"], recoding.notes["proven"]) == (levels, True)
    checker, objective = Checker(case), Objective("arx-loss", case.table.domain, k)
    check = checker.check(np.array(levels))
    assert (check.suppressed, check.classes) == (suppressed, classes)
    cost = objective.cost(np.array(levels), check, checker)
    assert objective.figure(cost) == pytest.approx(loss, abs=5e-9)


def test_incognito_finds_the_reference_optimum_too(adult: Path) -> None:
    recoding = make("algorithm", {"name": "incognito", "measure": "arx-loss"}).run(problem(adult, 5, None))
    assert list(recoding.levels.values()) == OPTIMA[0][3]


def test_samarati_is_as_low_as_incognito(adult: Path) -> None:
    case = problem(adult, 5, None)
    low, lowest = (make("algorithm", {"name": name}).run(case) for name in ("samarati", "incognito"))
    assert low.notes["height"] == sum(lowest.levels.values())


def test_repeating_and_subtrees_lose_less(adult: Path) -> None:
    """ARX's own repetition loses 0.0577 with nothing suppressed; subtrees include every full-domain node."""
    table = read(adult, NINE)

    def loss(algorithm: dict[str, Any], measure: str) -> float:
        release = shoal.anonymize(
            table, algorithm=make("algorithm", algorithm), models=[shoal.KAnonymity(k=5)], seed=1
        )
        return release.measure(measure).value or 1.0

    assert loss({"name": "optimal", "measure": "arx-loss", "repeat": True}, "arx-loss") < 0.0577
    limited = {"measure": "lm", "suppression_limit": 0.02}
    assert loss({"name": "top-down-subtree", **limited}, "lm") < loss({"name": "optimal", **limited}, "lm")
