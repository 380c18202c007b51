"""A small table for the tests that need no random one."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import polars as pl
import pytest

from shoal.algorithms.base import Problem
from shoal.recipe.source import read
from tests.algorithms.lattice.lattices import Case

TREES: dict[str, Any] = {
    "age": [[str(age), f"{age // 10} x 10", f"{age // 20} x 20", "*"] for age in range(20, 60)],
    "sex": [["F", "*"], ["M", "*"]],
    "town": [["Aby", "east", "*"], ["Eke", "east", "*"], ["Ry", "west", "*"], ["Vik", "west", "*"]],
}


@pytest.fixture
def shop() -> Callable[..., Problem]:
    """Eight customers, with the models asked for; one basket unknown or two customers one person on request."""

    def build(models: list[dict[str, Any]], *, unknown: bool = False, people: bool = False) -> Problem:
        frame = pl.DataFrame(
            {
                "who": list("abcdefgg") if people else list("abcdefgh"), "age": [21, 25, 34, 38, 41, 47, 52, 58],
                "sex": list("FMFMFMFM"), "town": ["Aby", "Eke", "Ry", "Vik", "Aby", "Eke", "Ry", "Vik"],
                "s": [None if unknown else "a", *"bcabcab"], "x": [0, 3, 5, 1, 7, 2, 6, 4],
            }
        )  # fmt: skip
        roles: dict[str, Any] = {"subject": "who"} if people else {"drop": ["who"]}
        table = read(
            frame, quasi=["age", "sex", "town"], sensitive=["s", "x"], hierarchies=TREES, missing="value", **roles
        )
        return Case(table, models).problem()

    return build
