"""What Chapters 5 and 6 promise holds on tiny samples, and range diversity is what its definition says."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from shoal.utility.reading import read_release
from shoal_papers.base import Context
from shoal_papers.data import Data
from shoal_papers.loukides.paper import PAPER
from shoal_papers.loukides.upc import ITEMS
from shoal_papers.loukides.upc_census import census_queries
from shoal_papers.loukides.upc_common import (
    CENSUS_QUASI,
    INCOME,
    OURS,
    PERSONAL,
    census_tables,
    make,
    pair_weights,
    protected,
    seen_range_diversity,
    synthetic_tables,
    upc,
    upc_named,
)
from shoal_papers.loukides.upc_synthetic import synthetic, synthetic_queries
from shoal_papers.standins import census_standin

# Few releases each: enough for every claim and reading to be computed.
TINY: dict[str, dict[str, Any]] = {
    "6.4": {"rows": 120, "tried": 90, "k": [2], "delta": [0.2, 0.4]},
    "6.14": {"rows": 150, "tried": 90, "k": [2], "queries": 50},
    "6.18": {"rows": 150, "people": 120, "people_k": 2, "tried": 90, "k": [2]},
    "6.24": {"rows": 150, "tried": 90, "k": [2], "queries": 200},
    "6.26": {"rows": 120, "tried": 90, "k": [2, 10]},
    "T6.3": {"rows": 100, "tried": 80, "k": [2], "queries": 50},
    "6.32": {"rows": 150, "tried": 100, "k": 5, "p": [0.3, 1.0]},
    "6.34": {"rows": 150, "tried": 100, "k": 5, "u": [0.1, 1.0]},
    "6.36": {"rows": [120, 240]},
    "6.37": {"rows": 120, "quasi": [2, 3]},
}


def test_every_figure_and_table_has_an_item() -> None:
    wanted = [f"6.{number}" for number in (*range(4, 12), *range(14, 23), *range(24, 31), *range(32, 38))]
    for name in [*wanted, "T6.3", "T6.4", "T6.5", "upc-examples"]:
        assert PAPER.item(name) in ITEMS
    assert {item.id for item in ITEMS} == {*TINY, "upc-examples"}


def test_every_worked_example_is_recomputed() -> None:
    outcome = PAPER.item("upc-examples").carry_out(Context(parameters={}, seeds=(1,), quick=True, data=Data()))
    assert [claim.text for claim in outcome.claims if claim.kind == "hard" and claim.verdict != "holds"] == []
    assert outcome.table is not None
    golden = {f"LP-{number}" for number in (*range(16, 32),)}
    assert golden | {"AL-17", "T5.1", "T5.3", "LU-52"} == set(outcome.table["id"])


@pytest.mark.sample(6)
@pytest.mark.parametrize("name", list(TINY))
def test_what_must_hold_holds(name: str) -> None:
    item = PAPER.item(name)
    outcome = item.carry_out(Context(parameters=item.settings(True) | TINY[name], seeds=(1,), quick=True, data=Data()))
    hard = [claim for claim in outcome.claims if claim.kind == "hard"]
    assert [claim.text for claim in hard if claim.verdict != "holds"] == []
    assert hard or name in ("6.14", "6.24", "6.36", "6.37")
    assert outcome.runs is not None
    assert outcome.plots
    assert all(plot.better == "down" for plot in outcome.plots)
    assert len(outcome.readings) >= 2


def test_range_diversity_of_published_cells_is_its_definition() -> None:
    tables = census_tables(census_standin(n=200, seed=3))
    made = make(tables.plain, upc(3, 0.7, 0.5), 1, 0.5)
    assert made.release is not None
    assert made.figures["wgp"] == pytest.approx(made.release.measure("wgp").value)
    tree = tables.plain.columns[INCOME].hierarchy
    assert tree is not None
    weights = pair_weights(tree, 2)
    by_class: dict[tuple[Any, ...], list[int]] = {}
    for *cells, income in made.release.frame.select([*CENSUS_QUASI, INCOME]).rows():
        by_class.setdefault(tuple(cells), []).append(tree.leaf_code[str(income)])
    means = [np.mean([[weights[u, x] for x in codes] for u in codes]) for codes in by_class.values()]
    assert sorted(set(np.round(means, 9))) == sorted(set(np.round(made.rd, 9)))


def test_a_lifted_income_counts_for_every_value_it_covers() -> None:
    tables = census_tables(census_standin(n=120, seed=3))
    algorithm, models = protected(PERSONAL, 4)
    made = make(tables.trees, algorithm, 1, 0.5, models)
    assert made.release is not None
    reading = read_release(made.release)
    texts = reading.features[INCOME].texts
    assert any(not text.isdigit() for text in texts)
    rd = seen_range_diversity(reading, tables.trees)
    assert rd.size == 120
    assert 0.0 < rd.min() <= rd.max() <= 1.0


def test_census_queries_are_those_of_the_two_types() -> None:
    made = make(census_tables(census_standin(n=200, seed=1)).plain, upc(3, 0.7, 0.5), 1, 0.5).release
    assert made is not None
    for span in (10, 0):
        for query in census_queries(made, 40, span, 1):
            one, income = query.conditions
            assert one.column in CENSUS_QUASI
            assert income.column == INCOME
            assert len(income.values) == span + 1
            assert 0 <= int(income.values[0]) < 40
            if one.column == "age":
                assert float(one.high) - float(one.low) == 15


def test_synthetic_queries_cover_a_fifth_of_the_whole_domain() -> None:
    """Four of the twenty values of Section 6.1, also where standard normal records hardly ever are."""
    tables = synthetic_tables(synthetic(Data(None), 300, 1))
    made = make(tables.plain, upc_named(OURS, 5, 0.7, 0.7), 1, 0.7).release
    assert made is not None
    queries = synthetic_queries(made, 400, 1)
    ends = [(int(one.conditions[0].low or ""), int(one.conditions[0].high or "")) for one in queries]
    assert {high - low for low, high in ends} == {3}
    assert {low for low, _ in ends} == set(range(17))
    for place in (1, 2):
        assert {int(one.conditions[place].low or "") for one in queries} == set(range(20))
