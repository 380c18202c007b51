"""Contract of every model, measure, attack and evaluation: each is reached, on the kinds of release it is for."""

from __future__ import annotations

import math
from functools import cache

import polars as pl
import pytest

import shoal
from shoal.registry import names
from shoal.results import Score
from shoal.risk.attacks.base import AttackResult
from shoal.utility.reading import Finding
from shoal.verify.recheck import recheck
from tests.contract.examples import MODELS, QUASI, Spec, label, people, read, release

# A release of every kind, one of levels, and one of people with several rows.
RELEASES: dict[str, Spec] = {
    "generalised": {"name": "mondrian"},
    "full-domain": {"name": "optimal", "suppression_limit": 0.2},
    "bucketised": {"name": "anatomy", "l": 2},
    "randomised": {"name": "random", "redraw": 3},
    "pseudonymised": {"name": "table-transform"},
    "microaggregated": {"name": "microaggregation"},
    "perturbed": {"name": "swapping"},
    "of people": {"name": "mondrian"},
}


@cache
def example(kind: str) -> shoal.Release:
    """That of Mondrian with numbers and guarded texts of a hierarchy, which some attacks are about."""
    more = {"table": read(people(), numbers=True, guard=True)} if kind == "generalised" else {}
    if kind == "of people":
        visits = people().select(*QUASI, "s", who=pl.int_range(pl.len()) % 40)
        more = {"table": shoal.read(visits, quasi=QUASI, sensitive=["s"], subject="who")}
    return release(RELEASES[kind], **more)


def test_every_kind_has_an_example() -> None:
    made = {example(kind).manifest["kind"] for kind in RELEASES}
    assert made == set(names("kind"))


def test_every_model_has_an_example() -> None:
    assert {spec["name"] for spec in MODELS} == set(names("model"))


@pytest.mark.parametrize("spec", MODELS, ids=label)
def test_a_model_holds_in_a_release_that_claims_it(spec: Spec) -> None:
    """Asked for, enforced, judged at the gate and judged again from the release alone."""
    guarded = spec["name"] == "personalised"
    algorithm = {"name": "m-invariant" if spec["name"] == "m-invariance" else "mondrian", "suppression_limit": 1.0}
    drawn = spec["name"] in ("k-map", "delta-presence")
    held = spec["name"] == "k-m"
    table = read(people(), numbers=spec.get("on") == "n", guard=guarded, population=drawn, items=held)
    made = release(algorithm, table=table, models=[{"name": "k", "k": 2}, spec])
    assert all(one.holds for one in made.verdict)
    assert any(spec.items() <= dict(one.model).items() for one in made.verdict)
    report = recheck(made.frame, {**made.manifest, "data": {"rows": made.frame.height}}, made.apart)
    assert report.passed, [check for check in report.checks if not check.passed]


def bounded(found: Score) -> bool:
    """Whether there is a figure, which then lies within its bounds; else there is a reason."""
    if found.value is None:
        assert found.reason
        return False
    assert math.isfinite(found.value)
    slack = 1e-9 * max(1.0, abs(found.value))
    assert found.low - slack <= found.value <= found.high + slack
    return True


@pytest.mark.parametrize("name", names("measure"))
def test_a_measure_stays_within_its_bounds_on_every_kind(name: str) -> None:
    found = [bounded(example(kind).measure(name)) for kind in RELEASES]
    assert any(found)


@cache
def attacked(kind: str) -> dict[str, AttackResult]:
    """All attacks that apply to a release, with another one beside it."""
    other = release({"name": "mondrian", "mode": "relaxed"}, seed=6)
    return {one.name: one for one in shoal.attack(example(kind), seed=1, others=[(other.frame, other.manifest)])}


@pytest.mark.parametrize("name", names("attack"))
def test_an_attack_has_figures_where_it_applies(name: str) -> None:
    made = [attacked(kind)[name] for kind in RELEASES if name in attacked(kind)]
    figures = [one for result in made for one in result.figures]
    assert figures, [result.note for result in made]
    assert all(result.figures or result.note for result in made)
    for one in figures:
        assert 0.0 <= one.low <= one.value <= one.high <= 1.0
        assert one.baseline is None or 0.0 <= one.baseline <= 1.0
        assert one.sentence


@cache
def evaluated() -> dict[str, list[Finding]]:
    found: dict[str, list[Finding]] = {}
    for one in shoal.evaluate(example("generalised"), seed=1):
        found.setdefault(one.name.split()[0], []).append(one)
    return found


@pytest.mark.parametrize("name", names("evaluation"))
def test_an_evaluation_has_findings_or_says_why(name: str) -> None:
    for one in evaluated()[name]:
        assert one.sentence
        assert one.value is None or math.isfinite(one.value)
