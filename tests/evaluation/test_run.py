"""Running evaluations: which are chosen, and what happens to those that cannot be run."""

from __future__ import annotations

from typing import Any

import pytest

import shoal
from shoal import registry
from shoal.errors import MissingExtraError, ParameterError
from shoal.utility.association_rules import AssociationRules
from shoal.utility.count_queries import CountQueries
from tests.evaluation.test_reading import people, released


@pytest.fixture
def stubs(monkeypatch: pytest.MonkeyPatch) -> None:
    """Two evaluations only, of which one lacks a library."""

    def missing(self: Any, reading: Any) -> Any:
        raise MissingExtraError("It", "another library", "eval")

    table = {
        name: target
        for name, target in registry._TABLE["evaluation"].items()
        if name in (CountQueries.name, AssociationRules.name)
    }
    monkeypatch.setitem(registry._TABLE, "evaluation", table)
    monkeypatch.setattr(AssociationRules, "run", missing)


@pytest.mark.usefixtures("stubs")
def test_what_was_asked_for_by_name_must_be_there() -> None:
    release = released(shoal.Mondrian(k=3), people())
    everything = shoal.evaluate(release)
    assert [one.name for one in everything][-2:] == ["count-queries 90th percentile", "rules"]
    assert (everything[-1].value, "pip install" in everything[-1].sentence) == (None, True)
    own = shoal.evaluate(release, [CountQueries(workload=["sex = f"]), "all"])
    assert own[0].also["each"][0]["query"] == "sex = f"
    assert [one.name for one in own].count("count-queries median") == 1
    with pytest.raises(MissingExtraError):
        shoal.evaluate(release, ["rules"])


def test_the_seed_decides_and_what_does_not_apply_says_why() -> None:
    release = released(shoal.TableTransform(), people())
    assert "no boundaries" in shoal.evaluate(release, ["boundaries"])[0].sentence
    made = released(shoal.Mondrian(k=3), people())
    first, second, third = (shoal.evaluate(made, ["count-queries"], seed=seed) for seed in (1, 1, 2))
    assert first == second
    assert first != third
    with pytest.raises(ParameterError, match="name or a spec"):
        shoal.evaluate(made, [1])  # type: ignore[list-item]
    with pytest.raises(ParameterError, match="Did you mean 'rules'"):
        shoal.evaluate(made, ["rule"])
