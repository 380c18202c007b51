"""Set-partitioning from below, against the same steps in plain Python, and against every partition there is."""

from __future__ import annotations

from itertools import combinations, product
from typing import Any

import polars as pl
import pytest

import shoal
from shoal.algorithms.blocks.set_partition import SetPartition
from shoal.errors import ParameterError
from tests.algorithms.blocks.plain import (
    SUBTREES,
    Partition,
    as_partitions,
    judged,
    partitions,
    people,
    problem_of,
    spread,
)
from tests.engines.plain import PlainEngine


def loss(frame: pl.DataFrame, place: int, mine: Partition, *, tree: bool) -> float:
    """What one column's blocks lose, over all rows."""
    values = frame[:, place].to_list()
    of = {value: block for block in mine for value in block}
    return sum(spread(values, of[value], tree=tree and place == 1) for value in values) / 3


def ways(frame: pl.DataFrame, cut: list[Partition], *, free: bool, tree: bool) -> list[tuple[int, Partition]]:
    """Every merger, in the order in which equals are taken."""
    found = []
    for place, mine in enumerate(cut):
        if tree and place == 1:
            tops = [set("abcd"), set("ab"), set("cd")]
            for top in tops:
                inside = [block for block in mine if block < top]
                # All children are whole nodes, and nothing below them is open.
                nodes = {frozenset("ab"), frozenset("cd")} if len(top) == 4 else {frozenset(one) for one in top}
                if inside and set(inside) == nodes:
                    found.append((place, [*(b for b in mine if b not in inside), frozenset(top)]))
            continue
        order = sorted(mine, key=min)
        pairs = combinations(order, 2) if free and place > 0 else zip(order, order[1:], strict=False)
        found += [(place, [*(b for b in mine if b not in pair), pair[0] | pair[1]]) for pair in pairs]
    return found


def plainly(frame: pl.DataFrame, k: int, allowed: int, *, free: bool, tree: bool) -> list[Partition]:
    cut = [[frozenset([value]) for value in sorted(set(frame[:, place]))] for place in range(3)]
    if tree:
        cut[1] = [frozenset(one) for one in SUBTREES[-1]]
    while (lost := judged(frame, cut, k, 1, tree=tree)["lost"]) > allowed:
        best: tuple[Any, ...] = ()
        for number, (place, mine) in enumerate(ways(frame, cut, free=free, tree=tree)):
            wider = loss(frame, place, mine, tree=tree) - loss(frame, place, cut[place], tree=tree)
            helped = lost - judged(frame, [*cut[:place], mine, *cut[place + 1 :]], k, 1, tree=tree)["lost"]
            touched = frame[:, place].is_in([v for block in mine if block not in cut[place] for v in block]).sum()
            per = wider / (helped or max(touched, 1))
            key = (helped == 0, float(f"{per:.8g}"), number)
            if not best or key < best[0]:
                best = key, place, mine
        cut[best[1]] = best[2]
    return cut


@pytest.mark.parametrize("order", ["ordered", "unordered"])
@pytest.mark.parametrize("tree", [False, True], ids=["runs", "nodes"])
@pytest.mark.parametrize("seed", range(8))
def test_steps_are_those_of_the_book(seed: int, tree: bool, order: str) -> None:
    frame, table = people(seed, tree=tree)
    k, limit = 2 + seed % 3, [0.0, 0.1, 0.3][seed % 3]
    models = [{"name": "k", "k": k}]
    found = SetPartition(order=order, suppression_limit=limit).run(problem_of(table, models))
    expected = plainly(frame, k, int(limit * frame.height + 1e-9), free=order == "unordered", tree=tree)
    assert list(map(set, as_partitions(table, found.blocks))) == list(map(set, expected))
    assert judged(frame, expected, k, 1, tree=tree)["lost"] == found.notes["suppressed"]
    again = SetPartition(order=order, suppression_limit=limit).run(problem_of(table, models, PlainEngine()))
    assert all((again.blocks[name] == of).all() for name, of in found.blocks.items())


@pytest.mark.parametrize("seed", range(4))
def test_it_is_never_better_than_the_best_partition(seed: int) -> None:
    frame, table = people(seed, tree=False)
    every = product(*(partitions(sorted(set(frame[name]))) for name in "nxf"))
    best = min(
        figures["lm"]
        for cut in every
        if (figures := judged(frame, list(cut), 2, 1, tree=False))["lost"] == 0
    )
    found = SetPartition().run(problem_of(table, [{"name": "k", "k": 2}]))
    mine = judged(frame, as_partitions(table, found.blocks), 2, 1, tree=False)
    assert mine["lost"] == 0
    assert mine["lm"] >= best - 1e-9


def test_models_of_values_are_merged_for() -> None:
    _, table = people(6, tree=False)
    models = [shoal.KAnonymity(k=2), shoal.EntropyL(l=1.5)]
    made = shoal.anonymize(table, algorithm=shoal.SetPartition(suppression_limit=0.1), models=models, seed=1)
    assert all(verdict.holds for verdict in made.verdict)


def test_sets_need_no_order() -> None:
    """Postcodes of the thesis, Section 2.2: NW10 with NW16, which no run of them holds without NW12."""
    people = pl.DataFrame({"postcode": ["NW10", "NW12", "NW12", "NW16", "NW20", "NW21"], "s": list("abcabc")})
    table = shoal.read(people, quasi=["postcode"], sensitive=["s"])
    made = shoal.anonymize(table, algorithm=shoal.SetPartition(k=2), acknowledge=["W-UNMODELLED:s"], seed=1)
    cells = set(made.frame["postcode"])
    assert cells == {"{NW10|NW16}", "NW12", "{NW20|NW21}"}
    runs = shoal.anonymize(
        table, algorithm=shoal.SetPartition(k=2, order="ordered"), acknowledge=["W-UNMODELLED:s"], seed=1
    )
    assert "{NW10|NW16}" not in set(runs.frame["postcode"])


def test_orders() -> None:
    with pytest.raises(ParameterError, match="The 'order' of SetPartition must be one of"):
        SetPartition(order="random")
