"""The account of rows without a gate: order across batches, rows released twice, and batches without their rows."""

from __future__ import annotations

from collections.abc import Sequence
from types import SimpleNamespace
from typing import Any

import numpy as np
import polars as pl
import pytest

from shoal.verify.accounts import Accounts, Origins
from shoal.verify.manifest import read_claims
from shoal.verify.report import Batch, Rows
from tests.verify.cases import manifest

COLUMNS = [
    {"name": "q", "role": "quasi", "type": "categorical", "cells": "set"},
    {"name": "s", "role": "sensitive", "type": "categorical", "cells": "value"},
]


def given(rows: int) -> Rows:
    return Rows(original=pl.DataFrame({"q": ["a"] * rows, "s": ["x"] * rows}), identifiers=pl.DataFrame(), subject=None)


def batch(source: Sequence[int], known: bool = True, cell: str = "a") -> Batch:
    frame = pl.DataFrame({"q": [cell] * len(source), "s": [cell] * len(source)})
    return Batch(released=frame, source=np.array(source, dtype=np.int64), rows=given(len(source)) if known else None)


def account(rows: int, *batches: Batch, away: Sequence[int] = (), told: Any = None, **said: Any) -> Accounts:
    """The account of so many input rows, read in two batches, and of batches of the release."""
    fields = {"suppressed": np.array(away, dtype=int), "n_read": rows, "n_dropped": 0, "counterfeits": 0}
    setting: Any = SimpleNamespace(**(fields | (told or {})))
    found = Accounts(setting, read_claims(manifest(COLUMNS, said.pop("models", []), **said)))
    for part in (given(rows // 2), given(rows - rows // 2)):
        found.read(part)
    found.settle()
    for one in batches:
        found.see(one)
    return found


R = range


@pytest.mark.parametrize(
    "parts, kept",
    [
        ([[*R(24)]], True),
        ([[*R(12)], [*R(12, 24)]], True),
        ([[*R(12)], [], [*R(12, 24)]], True),
        ([[*R(12, 24)], [*R(12)]], False),
        ([[*R(1, 12)], [0, *R(12, 24)]], False),
        ([[0, 5], [1, 2, 3, 4, *R(6, 24)]], False),
        ([[0, 1, 9], [2, 3, 4, 5, 6, 7, 8, *R(10, 24)]], False),
        ([[1, 0, *R(2, 24)]], False),
        ([[1, 0], [*R(2, 24)]], False),
        ([[*R(22)], [23, 22]], False),
        ([[0, 2, 1, 3], [*R(4, 24)]], False),
        ([[*R(19)]], False),
        ([[*R(10)], [*R(10, 20)]], True),
    ],
)
def test_the_order_of_the_source_goes_through_all_batches(parts: list[list[int]], kept: bool) -> None:
    rows = sum(map(len, parts))
    found = account(rows, *map(batch, parts))
    assert found.problem() is None
    assert (found.rows, found.released) == (rows, rows)
    order = found.check_order()
    assert (order.passed, "although the manifest says shuffled" in order.detail) == (not kept, kept)
    assert account(rows, *map(batch, parts), order="kept").check_order().passed


@pytest.mark.parametrize(
    "parts, once, everybody, times",
    [
        ([[0, 1], [2, 3]], True, True, [1, 1, 1, 1]),
        ([[0, 1], [3]], True, False, [1, 1, 0, 1]),
        ([[0, 1], [2, 3, 0]], False, False, [2, 1, 1, 1]),
        ([[0, 1, 1, 1], [2, 3]], False, False, [1, 2, 1, 1]),
        ([[0, 1], [1], [1], [2, 3, 3]], False, False, [1, 2, 1, 2]),
        ([[3, 3], [0], []], False, False, [1, 0, 0, 2]),
    ],
)
def test_who_is_released_how_often(parts: list[list[int]], once: bool, everybody: bool, times: list[int]) -> None:
    """Of rows that only one batch has, and of those that several have."""
    found = account(4, *map(batch, parts))
    assert (found.once, found.everybody, found.times.tolist()) == (once, everybody, times)
    origins = Origins(4)
    for part in parts:
        origins.see(batch(part))
    assert origins.sound
    assert origins.same(found) is once
    assert origins.same(account(4, batch([0, 1, 2]))) is False


def test_numbers_of_rows_are_those_of_the_manifest() -> None:
    for rows, problem in ((4, False), (3, True), (0, True)):
        assert (account(4, batch([0, 1]), batch([2, 3]), data={"rows": rows}).problem() is not None) is problem


@pytest.mark.parametrize("wrong", [batch([2, 3], known=False), batch([2, 4]), batch([-1, 2])])
def test_rows_that_are_not_given_are_not_accounted_for(wrong: Batch) -> None:
    outside = "A released or suppressed row points outside the input."
    for order in ((batch([0, 1]), wrong), (wrong, batch([0, 1]))):
        found = account(4, *order)
        assert (found.sound, found.problem()) == (False, outside)
        origins = Origins(4)
        for one in order:
            origins.see(one)
        assert not origins.sound
        assert not origins.same(account(4, batch([0, 1])))
    assert account(4, away=[4]).problem() == outside


def test_lists_that_are_too_short_are_told_first() -> None:
    short = Batch(released=batch([0, 1]).released, source=np.array([0]), rows=given(1))
    told = "The release, its list of source rows and the manifest disagree on the number of rows."
    for order in ((batch([2, 3]), short), (short, batch([2, 3]))):
        assert account(4, *order).problem() == told
    origins = Origins(4)
    origins.see(short)
    assert not origins.sound


def test_suppressed_rows_are_starred_where_the_manifest_says_so() -> None:
    bare = "A suppressed row is released with something other than * in a column."
    twice = "2 input rows are accounted for more than once."
    for one, other, problem in (("a", "*", None), ("*", "*", None), ("*", "a", bare), ("a", "a", bare)):
        for turned in (1, -1):
            parts = (batch([0, 1], cell=one), batch([2, 3], cell=other))[::turned]
            assert account(4, *parts, away=[2, 3], suppressed="star").problem() == problem
            assert account(4, *parts, away=[2, 3]).problem() == twice
    found = account(4, batch([0, 1]), away=[2, 3])
    assert found.problem() is None
    assert found.kept(np.array([3, 0, 2, 1])).tolist() == [1, 3]
    assert account(4, batch([0, 1]), away=[2]).problem() == "1 input rows are neither released nor suppressed."
    assert account(4, batch([0, 1]), away=[2, 3, 3]).problem() == "1 input rows are accounted for more than once."


@pytest.mark.parametrize(
    "told, claimed, away, right",
    [
        ({}, 0, [], True),
        ({"n_read": 5, "n_dropped": 1}, 0, [], True),
        ({"n_read": 5}, 0, [], False),
        ({"n_read": 3, "n_dropped": -1}, 0, [], False),
        ({"n_read": 5, "counterfeits": -1}, 0, [], False),
        ({"n_read": 3, "counterfeits": 1}, 1, [], True),
        ({"n_read": 3, "counterfeits": 1}, 0, [], False),
        ({"n_read": 2, "counterfeits": 2}, 1, [3], True),
        ({"n_read": 2, "counterfeits": 2}, 2, [0], True),
        ({"n_read": 2, "counterfeits": 2}, 1, [0], False),
        ({"n_read": 2, "counterfeits": 2}, 2, [3], False),
    ],
)
def test_rows_read_dropped_and_made_up_add_up(told: Any, claimed: int, away: list[int], right: bool) -> None:
    """The last rows are those that were made up, and some of them may be suppressed."""
    steady = [{"name": "m-invariance", "m": 2}]
    kept = [row for row in range(4) if row not in away]
    check = account(4, batch(kept), away=away, told=told, models=steady, counterfeits=claimed).check()
    fine = "Every row read is released, suppressed or dropped, exactly once."
    assert (check.name, check.passed, check.detail == fine) == ("rows", right, right)
