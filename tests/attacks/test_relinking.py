"""Attacks on bucketised releases: what they find where there is something to find, and nothing where there is not."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import polars as pl
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from shoal.algorithms.links.anatomy import Anatomy
from shoal.data.table import Table
from shoal.recipe.source import read
from shoal.recoding.recodings import Bucketed
from shoal.risk.attacks import bucketised as attack
from tests.algorithms.lattice.lattices import Case
from tests.test_adult import COLUMNS, QUASI


def anatomised(table: Table, l: int) -> Bucketed:  # noqa: E741
    algorithm = Anatomy(l=l)
    return algorithm.run(Case(table, [model.parameters() for model in algorithm.models()]).problem())


def table_of(data: dict[str, Any]) -> Table:
    return read(pl.DataFrame(data), quasi=[name for name in data if name != "s"], sensitive=["s"], missing="value")


def naive(table: Table, ids: np.ndarray) -> float:
    """Naive Bayes with soft counts, record by record, in plain Python."""
    rows = table.frame.rows(named=True)
    groups = {g: [row["s"] for row, one in zip(rows, ids, strict=True) if one == g] for g in set(ids.tolist())}
    quasi = table.schema.quasi
    weight = [{s: groups[g].count(s) / len(groups[g]) for s in set(groups[g])} for g in ids.tolist()]
    total: dict[str, float] = {}
    joint: dict[tuple[str, Any, str], float] = {}
    for row, shares in zip(rows, weight, strict=True):
        for s, share in shares.items():
            total[s] = total.get(s, 0.0) + share
            for name in quasi:
                joint[name, row[name], s] = joint.get((name, row[name], s), 0.0) + share
    cards = {name: table.columns[name].card for name in quasi}
    success = 0.0
    for row, shares in zip(rows, weight, strict=True):
        score = {}
        for s, share in shares.items():
            fits = [(joint.get((name, row[name], s), 0.0) + 1) / (total[s] + cards[name]) for name in quasi]
            score[s] = float(np.log(share) + np.log(fits).sum())
        top = [s for s, one in score.items() if one >= max(score.values()) - 1e-9]
        success += (row["s"] in top) / len(top)
    return success / len(rows)


@settings(max_examples=25)
@given(st.integers(0, 10**6), st.integers(2, 30), st.integers(1, 6))
def test_the_guess_is_naive_bayes(seed: int, n: int, groups: int) -> None:
    rng = np.random.default_rng(seed)
    table = table_of({"q": rng.choice(list("uvw"), n), "r": rng.integers(0, 3, n), "s": rng.choice(list("abcd"), n)})
    ids = rng.integers(0, groups, n).astype(np.int32)
    found = attack.relinking(table, Bucketed(ids=ids, groups=groups), table.columns["s"])
    assert found.value == pytest.approx(naive(table, ids), abs=1e-9)


def test_parts_change_nothing(monkeypatch: pytest.MonkeyPatch) -> None:
    rng = np.random.default_rng(1)
    table = table_of({"q": rng.integers(0, 500, 300), "s": rng.choice(list("abcd"), 300)})
    bucketed = Bucketed(ids=rng.integers(0, 20, 300).astype(np.int32), groups=20)
    whole = attack.relinking(table, bucketed, table.columns["s"])
    monkeypatch.setattr(attack, "_PAIRS", 17)
    assert attack.relinking(table, bucketed, table.columns["s"]) == whole


def test_many_values_are_counted_as_few_are(monkeypatch: pytest.MonkeyPatch) -> None:
    rng = np.random.default_rng(2)
    table = table_of({"q": rng.integers(0, 9, 300), "r": rng.choice(list("uvw"), 300), "s": rng.integers(0, 150, 300)})
    bucketed = Bucketed(ids=rng.integers(0, 60, 300).astype(np.int32), groups=60)
    few = attack.relinking(table, bucketed, table.columns["s"], rounds=1)
    for pairs in (1 << 22, 50):
        monkeypatch.setattr(attack, "_PAIRS", pairs)
        monkeypatch.setattr(attack, "_DENSE", 0)
        many = attack.relinking(table, bucketed, table.columns["s"], rounds=1)
        assert (many.value, many.control) == pytest.approx((few.value, few.control), abs=1e-12)


def test_of_many_records_and_values_the_control_looks_at_some(monkeypatch: pytest.MonkeyPatch) -> None:
    rng = np.random.default_rng(3)
    table = table_of({"q": rng.integers(0, 4, 900), "s": rng.choice(["a", "b", "c"], 900, p=[0.7, 0.2, 0.1])})
    bucketed = Bucketed(ids=np.arange(900, dtype=np.int32) // 3, groups=300)
    every = attack.relinking(table, bucketed, table.columns["s"])
    monkeypatch.setattr(attack, "_CONTROLS", 600)
    monkeypatch.setattr(attack, "_FEWEST", 100)
    some = attack.relinking(table, bucketed, table.columns["s"])
    assert (some.value, some.baseline) == (every.value, every.baseline)
    assert some.control != every.control
    low, high = some.control_interval
    assert low < every.control < high
    assert high - low > 1.5 * (every.control_interval[1] - every.control_interval[0])


def test_what_goes_together_is_linked_again() -> None:
    """Where the quasi-identifier determines the value, four of twelve values a group protect nobody."""
    rng = np.random.default_rng(2)
    values = rng.permutation(np.repeat(np.arange(12), 100))
    table = table_of({"q": values * 10, "s": [str(value) for value in values]})
    found = attack.relinking(table, anatomised(table, 4), table.columns["s"])
    assert found.value > 0.99
    assert found.baseline == pytest.approx(0.25)
    assert found.low <= found.value <= found.high


def test_groups_that_all_hold_the_same_teach_nothing() -> None:
    """Four values, each in every group: nothing tells one group from another."""
    values = np.random.default_rng(2).permutation(np.repeat(np.arange(4), 100))
    table = table_of({"q": values * 10, "s": [str(value) for value in values]})
    assert attack.relinking(table, anatomised(table, 4), table.columns["s"]).value == pytest.approx(0.25)


def test_where_nothing_goes_together_it_is_no_better_than_guessing() -> None:
    rng = np.random.default_rng(3)
    values = rng.permutation(np.repeat(range(12), 400))
    table = table_of({"q": rng.integers(0, 4, 4800), "s": [str(value) for value in values]})
    found = attack.relinking(table, anatomised(table, 4), table.columns["s"])
    assert found.value == pytest.approx(0.25, abs=0.04)
    assert found.control == pytest.approx(1 / 12, abs=0.03)


def test_uniqueness_and_homogeneity() -> None:
    table = table_of({"q": [1, 1, 2, 3], "s": ["a", "a", "a", "b"]})
    bucketed = Bucketed(ids=np.array([0, 0, 1, 1], dtype=np.int32), groups=2)
    assert attack.uniqueness(table, bucketed).value == 0.5
    assert attack.homogeneity(table, bucketed, table.columns["s"]).value == 0.5
    suppressed = Bucketed(ids=np.array([-1, 0, 1, 1], dtype=np.int32), groups=2)
    assert attack.uniqueness(table, suppressed).value == 1.0


def test_unknown_values_are_not_guessed() -> None:
    table = table_of({"q": [1, 2, 3], "s": pl.Series([None, None, None], dtype=pl.String)})
    bucketed = Bucketed(ids=np.zeros(3, dtype=np.int32), groups=1)
    assert attack.relinking(table, bucketed, table.columns["s"]).value == 0.0
    assert len(attack.attack_bucketised(table, bucketed)) == 3


def test_adult(adult: Path) -> None:
    """Anatomy promises one in seven; learning from the release doubles that."""
    table = read(
        adult, columns=COLUMNS, missing_markers=["?"], missing="drop", quasi=QUASI, sensitive=["occupation"],
        drop=[name for name in COLUMNS if name not in (*QUASI, "occupation")],
    )  # fmt: skip
    figures = {one.name: one for one in attack.attack_bucketised(table, anatomised(table, 7))}
    linked = figures["relinking of occupation"]
    assert linked.baseline == pytest.approx(1 / 7, abs=1e-3)
    assert linked.value > 0.28
    assert linked.control is not None
    assert linked.value > linked.control > linked.baseline
    assert figures["homogeneity of occupation"].value == 0.0
    assert figures["uniqueness"].value == pytest.approx(0.293, abs=0.001)
