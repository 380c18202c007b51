"""Clusters by research value: beside every partition of small tables, and beside full-domain strings and Mondrian."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np
import polars as pl
import pytest

import shoal
from shoal.engines.memory import MemoryRows
from shoal.errors import InfeasibleError
from shoal.recoding.recoded import apply_recoding
from shoal.recoding.recodings import Grouping
from shoal.utility.research_rules import Constraint
from shoal.utility.research_value import ResearchValue, cell_prices

AGES = [[str(age), f"[{age // 5 * 5},{age // 5 * 5 + 4}]", f"[{age // 20 * 20},{age // 20 * 20 + 19}]", "*"]
        for age in range(20, 60)]  # fmt: skip
TOWNS = [["Aby", "east", "*"], ["Eke", "east", "*"], ["Ry", "west", "*"], ["Ulm", "west", "*"]]
RULES = [{"column": "age", "boundary": 39, "importance": 3}, {"column": "town", "separate": ["east", "west"]}]


def people(seed: int, n: int, **research: Any) -> Any:
    rng = np.random.default_rng(seed)
    frame = pl.DataFrame({
        "age": rng.integers(20, 60, n), "town": rng.choice(["Aby", "Eke", "Ry", "Ulm"], n),
        "sex": rng.choice(["f", "m"], n), "weight": rng.integers(50, 90, n),
    })  # fmt: skip
    trees = {"age": AGES, "town": TOWNS}
    return shoal.read(frame, quasi=["age", "town", "sex", "weight"], hierarchies=trees, research=research)


def partitions(n: int, k: int) -> Iterator[list[int]]:
    """All ways to put n records in groups of at least k, as group numbers."""

    def grow(ids: list[int], groups: int) -> Iterator[list[int]]:
        if len(ids) == n:
            if min(np.bincount(ids)) >= k:
                yield ids
            return
        for group in range(min(groups + 1, n // k)):
            yield from grow([*ids, group], max(groups, group + 1))

    return grow([], 0)


def worth(table: Any, ids: list[int]) -> float:
    grouping = Grouping(ids=np.array(ids, dtype=np.int32), groups=max(ids) + 1)
    found = ResearchValue().score(apply_recoding(MemoryRows(table), grouping).price_stats()).value
    assert found is not None
    return found


def released(table: Any, algorithm: Any) -> float:
    value = shoal.anonymize(table, algorithm=algorithm, seed=1).measure("rv").value
    assert value is not None
    return value


@pytest.mark.parametrize("research", [{}, {"rules": RULES}, {"rv": {"age": [9.0, 8.0, 2.0, 0.0]}, "normalise": False}])
def test_no_partition_of_a_small_table_is_worth_much_more(research: dict[str, Any]) -> None:
    shares = []
    for seed in range(6):
        table = people(seed, 6, **research)
        best = max(worth(table, ids) for ids in partitions(6, 2))
        mine = released(table, shoal.ResearchClusters(k=2))
        assert mine <= best + 1e-9
        shares.append(mine / best)
    assert np.mean(shares) > 0.9


@pytest.mark.parametrize("limit", [0.0, 0.1])
def test_worth_no_less_than_the_best_string_and_than_mondrian(limit: float) -> None:
    for research in ({}, {"rules": RULES}, {"weights": "association"}):
        table = people(7, 300, **research)
        mine = released(table, shoal.ResearchClusters(k=5, suppression_limit=limit))
        assert mine >= released(table, shoal.ResearchGlobal(k=5, suppression_limit=limit)) - 1e-9
        assert mine >= released(table, shoal.Mondrian(k=5, suppression_limit=limit))


def test_a_rule_that_must_hold_does() -> None:
    rules = [rule | {"keep": True} for rule in RULES]
    table = people(7, 300, rules=rules)
    release = shoal.anonymize(table, algorithm=shoal.ResearchClusters(k=5), seed=1)
    assert [rule["kept"] for rule in release.evidence["research"]["rules"]] == [True, True]
    somebody = str(people(3, 6).frame["age"][0])
    lone = people(3, 6, rules=[{"column": "age", "separate": [somebody, "*"], "keep": True}])
    with pytest.raises(InfeasibleError, match="'rv-cluster' found nothing that keeps the rule 'age: "):
        shoal.anonymize(lone, algorithm=shoal.ResearchClusters(k=6), seed=1)


def plain(seed: int, n: int, *rules: dict[str, Any]) -> Any:
    """Columns without a hierarchy, whose cells are intervals and sets; every age is that of many."""
    rng = np.random.default_rng(seed)
    frame = pl.DataFrame({
        "age": rng.choice(np.arange(20, 80, 5), n), "town": rng.choice(["Aby", "Eke", "Ry", "Ulm"], n),
        "weight": rng.choice(np.arange(50, 90, 2), n),
    })  # fmt: skip
    return shoal.read(frame, quasi=["age", "town", "weight"], research={"rules": rules})


BOUNDARY: dict[str, Any] = {"column": "age", "boundary": 40}
PAIR: dict[str, Any] = {"column": "town", "separate": ["Aby", ["Eke", "Ry"]]}


@pytest.mark.parametrize("prepartition", [None, 60])
@pytest.mark.parametrize("rules", [[BOUNDARY], [PAIR], [BOUNDARY, PAIR]])
def test_rules_on_columns_without_a_hierarchy(rules: list[dict[str, Any]], prepartition: int | None) -> None:
    """A rule is kept where it must be, and nothing is worth less where it need not."""
    method = shoal.ResearchClusters(k=10, prepartition=prepartition)
    kept = shoal.anonymize(plain(1, 300, *(rule | {"keep": True} for rule in rules)), algorithm=method, seed=1)
    assert all(rule["kept"] for rule in kept.evidence["research"]["rules"])
    free = shoal.anonymize(plain(1, 300, *rules), algorithm=method, seed=1)
    assert free.measure("rv").value >= kept.measure("rv").value - 1e-9
    assert kept.evidence["counts"]["suppressed"] == 0


def test_too_few_on_one_side() -> None:
    """Two people of a side are suppressed where they may be, and those on no side are with whom they fit."""
    frame = plain(1, 300).frame.with_columns(town=pl.Series(["Ulm"] * 2 + ["Aby"] * 150 + ["Eke"] * 146 + ["Zug"] * 2))
    rules = [
        {"column": "town", "separate": ["Aby", "Eke"], "keep": True},
        {"column": "town", "separate": ["Zug", ["Aby", "Eke", "Ulm"]], "keep": True},
    ]
    lone = shoal.read(frame, quasi=["age", "town", "weight"], research={"rules": rules})
    release = shoal.anonymize(lone, algorithm=shoal.ResearchClusters(k=5, suppression_limit=0.01), seed=1)
    assert all(rule["kept"] for rule in release.evidence["research"]["rules"])
    assert release.evidence["counts"]["suppressed"] == 2
    with pytest.raises(InfeasibleError, match="'rv-cluster' found nothing that keeps the rules"):
        shoal.anonymize(lone, algorithm=shoal.ResearchClusters(k=5), seed=1)


def test_parameters_of_its_own_are_what_is_reported() -> None:
    table = people(7, 100)
    release = shoal.anonymize(table, algorithm=shoal.ResearchClusters(k=5, rules=RULES, normalise=False), seed=1)
    assert release.measure("rv").high == 4.0
    assert release.evidence["search"]["worth"] == pytest.approx(release.measure("rv").value)
    assert release.evidence["search"]["gap"] == pytest.approx(4.0 - release.evidence["search"]["worth"])


def test_what_cells_cost() -> None:
    age, town, sex, weight = people(7, 300).quasi
    found = cell_prices(age, None, [])
    assert found is not None
    assert found[:, 0].tolist() == pytest.approx([0.0, 4 / 39, 19 / 39, 1.0])
    rules = [Constraint.of(rule) for rule in RULES]
    mixed = cell_prices(town, None, rules[1:])
    assert mixed is not None
    assert mixed[:, 0].tolist() == [0.0, 0.5, 1.0]
    # [35,39] keeps the boundary, [20,39] too; everything breaks it.
    ruled = cell_prices(age, None, rules[:1])
    assert ruled is not None
    assert ruled[:, 0].tolist() == pytest.approx([0.0, 4 / 39, 19 / 39, 1.0])
    by_hand = cell_prices(town, [4.0, 3.0, 0.0], [])
    assert by_hand is not None
    assert by_hand[:, 0].tolist() == [0.0, 0.25, 1.0]
    sets = cell_prices(sex, None, [])
    assert sets is not None
    assert sets.tolist() == [0.0, 0.0, 1.0]
    assert cell_prices(weight, None, []) is None
