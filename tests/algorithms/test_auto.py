"""Auto: the best of several methods on a part of the table, run on all of it, with its reason."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import shoal
from shoal.algorithms.auto import Auto, portfolio
from shoal.algorithms.polish import outcome
from shoal.data.table import take_rows
from shoal.errors import ParameterError
from shoal.registry import make
from tests.algorithms.lattice.lattices import Case
from tests.algorithms.test_polish import people

K3: list[dict[str, Any]] = [{"name": "k", "k": 3}]


def test_the_best_on_the_part_is_run_on_all() -> None:
    problem = Case(people(5, 900), K3).problem()
    best = {"name": "mondrian", "cut": "best"}
    specs = [{"name": "mondrian"}, best | {"polish": "lm"}, best]
    found = Auto(candidates=specs, sample=200).run(problem)
    notes = found.notes["auto"]
    figures = [one["figure"] for one in notes["tried"]]
    assert figures[1] == min(figures)
    assert notes["chosen"]["polish"] == "lm"
    assert "mondrian" in notes["why"]
    assert f"{figures[1]:.4g}" in notes["why"]
    assert (found.ids == make("algorithm", specs[1]).run(problem).ids).all()
    assert outcome(problem, found, "lm", 0) < outcome(problem, make("algorithm", specs[0]).run(problem), "lm", 0)


def test_the_part_keeps_records_as_close_as_the_table_has_them() -> None:
    problem = Case(people(6, 8000), K3).problem()
    part = Auto(sample=2000)._part(problem)
    assert 2000 <= part.table.n < 3000
    assert part.judge.reference.stats is problem.judge.reference.stats
    rows = np.sort(np.random.default_rng(1).choice(8000, part.table.n, replace=False))
    thin = Case(take_rows(problem.table, rows), K3).problem()
    whole, sampled, scattered = (
        outcome(one, make("algorithm", {"name": "mondrian", "cut": "best"}).run(one), "lm", 0)
        for one in (problem, part, thin)
    )
    assert abs(sampled - whole) < 0.5 * abs(scattered - whole)


def test_failures_are_named_and_the_rest_goes_on() -> None:
    problem = Case(people(7, 60, hierarchy=False), [*K3, {"name": "distinct-l", "l": 2}]).problem()
    found = Auto(candidates=[{"name": "personalised"}, {"name": "mondrian"}]).run(problem)
    tried = found.notes["auto"]["tried"]
    assert tried[0]["figure"] is None
    assert "needs the model of that name" in tried[0]["failed"]
    assert found.notes["auto"]["chosen"]["name"] == "mondrian"


def test_a_measure_without_a_figure_is_no_failure_of_the_models() -> None:
    table = shoal.read(people(7, 60).frame.drop("s", "who"), quasi=["age", "town", "job"])
    notes = Auto(candidates=[{"name": "mondrian"}], measure="mpm").run(Case(table, K3).problem()).notes["auto"]
    assert notes["tried"][0]["failed"].startswith("no mpm: ")
    assert notes["why"] == "No method reached any mpm on the 60 records tried; 'mondrian' is the first of them."


def test_figures_of_which_more_is_better_are_given_as_they_are() -> None:
    paths = [[f"t{x}", f"half {x // 4}", "*"] for x in range(8)]
    table = shoal.read(people(7, 60).frame.select("town"), quasi=["town"], hierarchies={"town": paths})
    found = Auto(measure="precision").run(Case(table, K3).problem()).notes["auto"]
    figures = [one["figure"] for one in found["tried"]]
    assert min(figures) > 0
    assert f"reached the best precision, {max(figures):.4g}; the next best" in found["why"]


@pytest.mark.parametrize("measure", ["lm", "ncp", "arx-loss"])
def test_default_portfolio_through_the_pipeline(measure: str) -> None:
    table = people(8, 300)
    release = shoal.anonymize(
        table, algorithm=Auto(k=3, measure=measure, sample=150), seed=1, acknowledge=["W-UNMODELLED:s"]
    )
    notes = release.evidence["search"]["auto"]
    assert len(notes["tried"]) == len(portfolio(measure, Case(table, K3).problem()))
    assert all(one["figure"] is not None for one in notes["tried"])


def test_levels_need_full_domain_methods() -> None:
    problem = Case(people(9, 40), K3).problem()
    assert {spec["name"] for spec in portfolio("precision", problem)} == {"optimal", "incognito"}


@pytest.mark.parametrize(
    ("given", "message"),
    [
        ({"measure": "nothing"}, "measure"),
        ({"sample": 1}, "sample"),
        ({"candidates": []}, "at least one"),
        ({"candidates": [{"name": "auto"}]}, "own candidate"),
        ({"candidates": [{"name": "mondrian", "cuts": 1}]}, "cut"),
    ],
)
def test_bad_parameters(given: dict[str, Any], message: str) -> None:
    with pytest.raises(ParameterError, match=message):
        Auto(**given)
