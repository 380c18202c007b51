"""Members of sets, types and labels that only suppressed people could have led to."""

from __future__ import annotations

from typing import Any

import polars as pl
import pytest

from shoal.verify.cells import Inputs, read_cells
from shoal.verify.manifest import read_claims
from shoal.verify.released_values import check_members, check_types
from tests.verify.cases import manifest


def looked_at(values: list[Any], texts: list[str], *, inferred: bool = True, **column: Any) -> list[str]:
    """Names of the checks that a column ``q`` of these released values fails."""
    entry = {"name": "q", "role": "quasi", "type": "categorical", "cells": "set"} | column
    claims = read_claims(manifest([entry], []))
    left = Inputs(claims.columns)
    left.read(pl.DataFrame({"q": values}), None)
    read = {"q": read_cells(claims.columns[0], pl.Series(texts))}
    checks = [check_members(claims, left, read), check_types(claims, ["q"] if inferred else [], left)]
    return [check.name for check in checks if not check.passed]


def test_members_of_sets_are_values_of_released_people() -> None:
    assert looked_at(["a", "b", None], ["{a|b}", "a", "*", "<missing>"]) == []
    assert looked_at(["a", "b"], ["{a|b|x}"]) == ["members"]
    assert looked_at(["a", "b"], ["a", "x"]) == ["members"]


def test_a_declared_order_may_be_named_whole() -> None:
    assert looked_at(["low", "high"], ["{low|mid|high}"], type="ordinal", order=["low", "mid", "high"]) == []


@pytest.mark.parametrize(
    "values, fails",
    [
        (["20", "21.5"], True), (["2020-01-01", "2021-02-03"], True), (["20", "abc"], False), (["020", "21"], False),
        (["20", "2020-01-01"], False), ([None], False),
    ],
)  # fmt: skip
def test_a_type_that_nobody_declares_is_that_of_released_values(values: list[str | None], fails: bool) -> None:
    assert looked_at(values, ["*"]) == (["types"] if fails else [])
    assert looked_at(values, ["*"], inferred=False) == []


TENS = {"widths": ["10"], "origin": "0"}


@pytest.mark.parametrize(
    "values, builder, fails",
    [
        (["20", "21"], TENS, True), (["20", "20.5"], TENS, False),
        (["20", "21"], {"widths": ["2.5"], "origin": "0"}, False), (["20", "21"], None, False),
    ],
)  # fmt: skip
def test_labels_of_fractions_need_a_fraction(values: list[str], builder: Any, fails: bool) -> None:
    more = {} if builder is None else {"builder": builder}
    rows = [[None, None, "*"], [None, "[20,30)", "*"]]
    found = looked_at(values, ["*"], type="numeric", cells="label", hierarchy=rows, **more)
    assert found == (["types"] if fails else [])
