"""Comparisons: points of a grid and what came of them, fronts by brute force, the advice."""

from __future__ import annotations

import dataclasses
import json
from collections.abc import Callable, Mapping
from typing import Any, ClassVar

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays

import shoal
from shoal.data.keys import Keys
from shoal.data.table import Table
from shoal.errors import MissingExtraError, ParameterError, UserError
from shoal.registry import register
from shoal.release.compare import run as module
from shoal.release.compare.figures import Axis, distances, find_axis, pareto, ranked
from shoal.release.compare.points import Grid, Outcome, Point, evaluations
from shoal.release.compare.result import Comparison, Entry, comparison_data
from shoal.release.compare.sweep import Scene
from shoal.utility.reading import Evaluation, Finding

ACCEPTED = ["W-UNMODELLED:diagnosis"]
ALGORITHMS: list[Any] = ["mondrian", {"name": "top-down", "suppression_limit": 0.1}]
GRID = {"k": [2, 5, 1000], "mondrian.cut": ["widest", "best"]}
# What differs between two runs of the same thing.
TIME = ["seconds"]


@pytest.fixture(scope="module")
def table() -> Table:
    people = shoal.example_census(300).select("age", "sex", "diagnosis")
    return shoal.read(people, quasi=["age", "sex"], sensitive=["diagnosis"], missing="drop")


@pytest.fixture(scope="module")
def found(table: Table) -> Comparison:
    return shoal.compare(table, algorithms=ALGORITHMS, grid=GRID, acknowledge=ACCEPTED, seed=1)


def test_a_grid_multiplies_models_and_each_algorithms_own_parameters() -> None:
    grid = Grid(
        algorithms=[{"name": "mondrian"}, {"name": "toc", "listing": "printed"}],
        models=[{"name": "entropy-l", "l": 4, "on": "a"}, {"name": "entropy-l", "l": 4, "on": "b"}],
        values={"k": [2, 5], "entropy-l.l": [2, 3], "toc.delta": [0.1, 0.5, 0.9], "suppression_limit": [0.1]},
    )
    points = grid.points()
    assert [point.number for point in points] == list(range(2 * 2 + 2 * 2 * 3))
    assert points[0].label == "mondrian, k=2, entropy-l.l=2, suppression_limit=0.1"
    assert points[-1].label == "toc, k=5, entropy-l.l=3, delta=0.9, suppression_limit=0.1"
    given = {"name": "toc", "listing": "printed", "delta": 0.9, "suppression_limit": 0.1}
    assert points[-1].algorithm == given
    assert points[-1].models == [
        {"name": "entropy-l", "l": 3, "on": "a"}, {"name": "entropy-l", "l": 3, "on": "b"}, {"name": "k", "k": 5},
    ]  # fmt: skip
    assert len({json.dumps([dict(point.algorithm), point.models]) for point in points}) == len(points)


@pytest.mark.parametrize(
    "values, near",
    [
        ({"kk": [2]}, "'k'"),
        ({"entropyl.l": [2]}, "'entropy-l.l'"),
        ({"toc.delta": [0.5]}, "ALGORITHM.PARAMETER"),  # an algorithm that is not compared
        ({"mondrian.cutt": ["best"]}, "'mondrian.cut'"),
        ({"supression_limit": [0.1]}, "'suppression_limit'"),
        ({"k": [2, 1]}, "at least 2"),
        ({"mondrian.cut": ["bst"]}, "'best'"),
    ],
)
def test_what_a_grid_cannot_vary_is_said_before_anything_runs(
    table: Table, values: Mapping[str, list[Any]], near: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(Scene, "run", lambda *_: pytest.fail("something ran"))
    with pytest.raises(ParameterError, match=near):
        shoal.compare(table, algorithms=["mondrian", "top-down"], grid=values)


def test_contradictions_are_said_before_anything_runs(table: Table, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(Scene, "run", lambda *_: pytest.fail("something ran"))
    with pytest.raises(ParameterError, match="set 'k' differently"):
        shoal.compare(table, algorithms=[shoal.Mondrian(k=3)], grid={"k": [2]})
    with pytest.raises(ParameterError, match="'mondrian' twice"):
        shoal.compare(table, algorithms=["mondrian", "mondrian"], grid={"k": [2]})
    with pytest.raises(ParameterError, match="Did you mean 'mondrian'"):
        shoal.compare(table, algorithms=["modrian"], grid={"k": [2]})
    with pytest.raises(ParameterError, match="on two axes"):
        shoal.compare(table, grid={"k": [2]}, utility="mpm")
    with pytest.raises(ParameterError, match="no evaluation called 'nonsense'"):
        shoal.compare(table, grid={"k": [2]}, evaluate=["nonsense"])


@pytest.mark.parametrize(
    "name, source, better",
    [
        ("precision", "measure", "up"), ("prosecutor_max", "class", "down"), ("linkage", "attack", "down"),
        ("excess.linkage:diagnosis", "attack", "down"),
    ],
)  # fmt: skip
def test_axes_are_measures_risks_or_attacks(name: str, source: str, better: str) -> None:
    axis = find_axis("risk", name, ["diagnosis"])
    assert (axis.source, axis.better) == (source, better)


@pytest.mark.parametrize("name, near", [("linkge", "'linkage'"), ("linkage:diagnoses", "'diagnosis'"), ("lmm", "'lm'")])
def test_an_unknown_axis_proposes_the_nearest(name: str, near: str) -> None:
    with pytest.raises(ParameterError, match=near):
        find_axis("risk", name, ["diagnosis"])


def test_every_point_is_kept_with_its_figures_or_its_reason(table: Table, found: Comparison) -> None:
    frame = found.frame
    assert frame.height == 9
    lost = frame.filter(frame["k"] == 1000)
    assert set(lost["status"]) == {"infeasible"}
    assert all("1000" in reason for reason in lost["reason"])
    assert lost["lm"].null_count() == lost.height
    done = frame.filter(frame["status"] == "done")
    assert done.height == 6
    assert (done["smallest"] >= done["k"]).all()
    # The same release by the front door has the same figures.
    release = shoal.anonymize(
        table, algorithm=shoal.Mondrian(k=5, cut="best"), seed=1, acknowledge=ACCEPTED
    )
    same = frame.filter((frame["k"] == 5) & (frame["mondrian.cut"] == "best")).row(0, named=True)
    linkage = {one.name: one for one in shoal.attack(release, only=["linkage"], seed=1)[0].figures}
    assert same["lm"] == release.measure("lm").value
    assert same["mpm"] == release.measure("mpm").value
    assert same["linkage:diagnosis"] == linkage["linkage:diagnosis"].value
    assert same["linkage:diagnosis baseline"] == linkage["linkage:diagnosis"].baseline
    assert same["classes"] == release.evidence["counts"]["classes"]


def test_an_algorithm_that_cannot_work_here_is_one_point_and_not_the_end(table: Table) -> None:
    outcome = shoal.compare(table, algorithms=["personalised", "mondrian"], grid={"k": [3]}, acknowledge=ACCEPTED)
    assert outcome.frame["status"].to_list() == ["refused", "done"]
    assert "needs the model of that name" in outcome.frame["reason"][0]
    assert outcome.recommendation.startswith("2 points were compared; 1 cannot run as it is set.")
    unaccepted = shoal.compare(table, grid={"k": [3]})
    assert "W-UNMODELLED:diagnosis" in unaccepted.frame["reason"][0]
    assert unaccepted.recommended is None


def test_a_fault_of_our_own_is_shown_without_its_message(
    table: Table, monkeypatch: pytest.MonkeyPatch
) -> None:
    def fail(*_: Any, **__: Any) -> None:
        raise KeyError("somebody's value")

    monkeypatch.setattr("shoal.release.compare.points.publish", fail)
    broken = shoal.compare(table, grid={"k": [3]}, acknowledge=ACCEPTED)
    assert broken.frame["status"].to_list() == ["failed"]
    assert "KeyError" in broken.frame["reason"][0]
    assert "somebody" not in broken.frame["reason"][0]


def test_limits_and_a_control(table: Table) -> None:
    outcome = shoal.compare(
        table, grid={"k": [2, 8]}, acknowledge=ACCEPTED, limits={"prosecutor_max": 0.2}, hold_out=0.3, seed=1
    )
    over, within = outcome.entries
    assert "above the limit of 0.2" in over.outcome.over[0]
    assert not within.outcome.over
    assert outcome.front == [within]
    assert "1 exceeds the limits" in outcome.recommendation
    assert outcome.rows + outcome.held_out == table.n
    assert outcome.frame["linkage:diagnosis control"].null_count() == 0


@given(arrays(float, st.tuples(st.integers(1, 12), st.integers(1, 3)), elements=st.sampled_from([0, 1, 2, np.nan])))
@settings(max_examples=20, deadline=None)
def test_the_front_is_what_brute_force_finds(costs: np.ndarray) -> None:
    rows = costs.tolist()

    def beats(mine: list[float], other: list[float]) -> bool:
        return all(a <= b for a, b in zip(mine, other, strict=True)) and mine != other

    known = [row for row in rows if not any(np.isnan(row))]
    expected = [row in known and not any(beats(other, row) for other in known) for row in rows]
    assert pareto(costs).tolist() == expected


def test_the_nearest_to_the_ideal_corner_is_ranked_first_and_ties_go_to_suppression_then_time() -> None:
    costs = np.array([[0.0, 10.0], [1.0, 4.0], [4.0, 0.0]])
    assert distances(costs) == pytest.approx([1.0, (0.25**2 + 0.4**2) ** 0.5, 1.0])
    zero = np.zeros(3)
    assert ranked(costs, zero)[0].tolist() == [1, 0, 2]
    assert ranked(costs, np.array([0.1, 0, 0]))[0].tolist() == [1, 2, 0]
    assert distances(np.array([[1.0, 5.0], [1.0, 6.0]])) == pytest.approx([0.0, 1.0])


def made(*rows: tuple[float, float, float], **changes: Any) -> Comparison:
    """A comparison of invented points p0, p1, ..."""
    axes = [
        Axis(role=role, name=name, source=source, better="down", about="")
        for role, name, source in [
            ("utility", "lm", "measure"), ("protection", "mpm", "measure"), ("risk", "linkage", "attack"),
        ]
    ]  # fmt: skip
    entries = [
        Entry(
            point=Point(number=number, series=f"p{number}", algorithm={"name": "mondrian"}, models=[]),
            outcome=Outcome(status="done", figures=dict(zip(("lm", "mpm", "linkage"), row, strict=True)),
                            not_protected=["Membership.", "More."]),
        )
        for number, row in enumerate(rows)
    ]  # fmt: skip
    return Comparison(**({"entries": entries, "axes": axes, "varied": []} | changes))


def test_the_advice_names_the_knee_what_it_costs_and_what_it_leaves_open() -> None:
    knee = made((0.0, 1.0, 1.0), (0.1, 0.1, 0.1), (1.0, 0.0, 0.0), (0.5, 0.5, 0.5))
    assert [entry.point.series for entry in knee.front] == ["p0", "p1", "p2"]
    assert knee.recommended is knee.entries[1]
    text = knee.recommendation
    assert "Recommended is p1" in text
    assert "Against p2 it has better lm (0.1, not 1) but worse mpm (0.1, not 0) and linkage (10.00%, not" in text
    assert text.endswith("What it does not protect: Membership (and 1 more, which its manifest would list).")
    assert "no other point is better on any axis" in made((0.1, 0.1, 0.1), (0.2, 0.2, 0.2)).recommendation
    even = made((0.0, 1.0, 0.5), (1.0, 0.0, 0.5)).recommendation
    assert "Nothing stands out: p0" in even
    assert "p1 is within 0.05" in even


def test_without_a_release_there_is_nothing_to_recommend() -> None:
    nothing = made((0.1, 0.1, 0.1))
    lost = [dataclasses.replace(nothing.entries[0], outcome=Outcome(status="infeasible", reason="No."))]
    comparison = made(entries=lost)
    assert comparison.recommended is None
    assert "nothing to recommend" in comparison.recommendation
    assert comparison_data(comparison)["recommended"] is None


def test_two_processes_find_what_one_finds(table: Table, found: Comparison) -> None:
    grid = {"k": [2, 5], "mondrian.cut": ["widest"]}
    both = shoal.compare(table, grid=grid, acknowledge=ACCEPTED, seed=1, processes=2)
    same = found.frame.filter((found.frame["mondrian.cut"] == "widest") & (found.frame["k"] < 1000))
    # Which points are on a front depends on the others.
    assert both.frame.drop(*TIME, "front", "recommended").equals(same.drop(*TIME, "front", "recommended"))


@dataclasses.dataclass(frozen=True, kw_only=True)
class Exact(Evaluation):
    """Share of released cells that are one number."""

    name: ClassVar[str] = "exact"
    column: str = "age"

    def refusal(self, reading: Any) -> str | None:
        return None if self.column in reading.features else "There is no such column."

    def run(self, reading: Any) -> list[Finding]:
        value = float((reading.features[self.column].released() >= 0).mean())
        return [Finding(name="exact share", value=value, better="up", sentence="So many cells are exact.")]


def test_evaluations_stand_beside_the_axes_or_are_one(table: Table, monkeypatch: pytest.MonkeyPatch) -> None:
    from shoal import registry

    monkeypatch.setitem(registry._TABLE, "evaluation", dict(registry._TABLE.get("evaluation", {})))
    register("evaluation", "exact", f"{__name__}:Exact", "Share of exact cells.")
    monkeypatch.setattr("shoal.registry.load", loads(registry.load))
    arguments: dict[str, Any] = {"grid": {"k": [2, 20]}, "acknowledge": ACCEPTED, "seed": 1}
    beside = shoal.compare(table, **arguments, evaluate=["exact"])
    assert beside.evaluated == {"exact": "up"}
    few, many = beside.frame["exact"]
    assert few > many
    axis = shoal.compare(table, **arguments, evaluate=["exact"], utility="exact")
    assert axis.axes[0].better == "up"
    assert axis.costs[:, 0].tolist() == [-few, -many]
    release = shoal.anonymize(table, algorithm=shoal.Mondrian(k=2), acknowledge=ACCEPTED)
    figures, _, reasons = evaluations(release, [{"name": "exact", "column": "height"}], Keys.from_seed(1))
    assert (figures, reasons) == ({"exact": None}, {"exact": "There is no such column."})
    monkeypatch.setattr(Exact, "run", lack)
    with pytest.raises(UserError, match="pip install 'shoal\\[eval\\]'"):
        shoal.compare(table, **arguments, evaluate=["exact"])


def lack(*_: Any) -> None:
    raise MissingExtraError("This", "a library", "eval")


def loads(true: Callable[[str, str], Any]) -> Callable[[str, str], Any]:
    """The registry, which cannot import this file by its name, with the evaluation of this file."""
    return lambda kind, name: Exact if (kind, name) == ("evaluation", "exact") else true(kind, name)


def test_the_public_name_is_the_one_tested() -> None:
    assert shoal.compare is module.compare
