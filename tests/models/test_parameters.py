"""Every registered model: its parameters survive a round trip, and bad ones get one sentence."""

from __future__ import annotations

import dataclasses
import json
from typing import Any

import pytest

from shoal.errors import ParameterError, SchemaError
from shoal.registry import load, make, names, summary
from tests.models.judging import ALL, SPECS, judged

NAN = float("nan")
# A model with one parameter out of its range, and what the message must name.
BAD: list[tuple[dict[str, Any], str]] = [
    ({"name": "k", "k": 1}, "'k' of KAnonymity must be a whole number of at least 2. Got 1."),
    ({"name": "k", "k": 2.5}, "whole number"),
    ({"name": "k", "k": True}, "whole number"),
    ({"name": "k", "k": "5"}, "whole number"),
    ({"name": "k", "k": None}, "whole number"),
    ({"name": "k", "k": NAN}, "whole number"),
    ({"name": "distinct-l", "l": 1}, "'l' of DistinctL"),
    ({"name": "distinct-l", "l": 0}, "'l' of DistinctL"),
    ({"name": "entropy-l", "l": 0.5}, "'l' of EntropyL"),
    ({"name": "entropy-l", "l": float("inf")}, "'l' of EntropyL"),
    ({"name": "entropy-l", "l": "three"}, "'l' of EntropyL"),
    ({"name": "recursive-cl", "c": 0, "l": 2}, "'c' of RecursiveCL must be a number above 0. Got 0."),
    ({"name": "recursive-cl", "c": 1, "l": 1.5}, "'l' of RecursiveCL"),
    ({"name": "t-closeness", "t": -0.1}, "'t' of TCloseness must be a number of at least 0. Got -0.1."),
    ({"name": "t-closeness", "t": NAN}, "'t' of TCloseness"),
    ({"name": "t-closeness", "t": 0.1, "distance": "order"}, "Did you mean 'ordered'?"),
    ({"name": "t-closeness", "t": 0.1, "reference": "inputs"}, "Did you mean 'input'?"),
    ({"name": "alpha-k-simple", "alpha": 0, "k": 2, "value": "x"}, "'alpha' of AlphaKSimple"),
    ({"name": "alpha-k-simple", "alpha": 0.5, "k": 2}, "'value'"),
    ({"name": "alpha-k-general", "alpha": 1.1, "k": 2}, "above 0 and up to 1. Got 1.1."),
    ({"name": "alpha-k-general", "alpha": 0.5, "k": 1}, "'k' of AlphaKGeneral"),
    ({"name": "alpha-k-complete", "alpha": 0.5, "k": 2}, "'alpha' of AlphaKComplete must be a table"),
    ({"name": "alpha-k-complete", "alpha": {"x": 2}, "k": 2}, "'alpha' of AlphaKComplete"),
    ({"name": "p-sensitive", "p": 1, "k": 3}, "'p' of PSensitive"),
    ({"name": "p-sensitive", "p": 2, "k": 1}, "'k' of PSensitive"),
    ({"name": "k-e", "k": 1, "e": 3}, "'k' of KE"),
    ({"name": "k-e", "k": 2, "e": -1}, "'e' of KE"),
    ({"name": "variance", "v": -1}, "'v' of Variance"),
    ({"name": "eps-m", "eps": -1, "m": 2}, "'eps' of EpsM"),
    ({"name": "eps-m", "eps": 1, "m": 1}, "'m' of EpsM"),
    ({"name": "max-range", "limit": 1.5}, "'limit' of MaxRange must be a number from 0 to 1. Got 1.5."),
    ({"name": "range-diversity", "p": 0}, "'p' of RangeDiversity must be a number above 0 and up to 1. Got 0."),
    ({"name": "range-diversity", "p": 1.5}, "'p' of RangeDiversity"),
    ({"name": "range-confidence", "p": -0.1}, "'p' of RangeConfidence"),
    ({"name": "range-confidence", "p": NAN}, "'p' of RangeConfidence"),
    ({"name": "worst-group-utility", "u": 1.1}, "'u' of WorstGroupUtility must be a number from 0 to 1. Got 1.1."),
    ({"name": "worst-group-utility", "u": 0.5, "on": "s"}, "has no parameter 'on'"),
    ({"name": "m-invariance", "m": 1}, "'m' of MInvariance"),
    ({"name": "m-invariance", "m": 2, "on": ["a", "b"]}, "single sensitive column"),
    ({"name": "k"}, "needs its parameter 'k'"),
    ({"name": "entropy-l", "k": 3}, "has no parameter 'k'"),
    ({"name": "t-closeness", "t": 0.1, "distanc": "kl"}, "Did you mean 'distance'?"),
    ({"name": "entropy"}, "Did you mean 'entropy-l'?"),
    ({"k": 3}, "needs a 'name'"),
]


def test_every_registered_model_is_tested() -> None:
    # These need guards, a history, a population, stars or items: tests/test_guards.py, tests/models/test_invariance.py,
    # tests/models/test_population.py, tests/models/test_wildcard.py, tests/models/test_items.py.
    elsewhere = {"personalised", "m-invariance", "delta-presence", "k-wildcard", "k-m"}
    assert set(SPECS) | elsewhere == set(names("model"))


@pytest.mark.parametrize("spec", ALL, ids=lambda spec: spec["name"])
def test_round_trip(spec: dict[str, Any]) -> None:
    model = make("model", spec)
    written = model.parameters()
    assert {key: written[key] for key in spec} == spec
    again = make("model", json.loads(json.dumps(written)))
    assert (again, hash(again)) == (model, hash(model))
    with pytest.raises(dataclasses.FrozenInstanceError):
        model.name = "other"


@pytest.mark.parametrize("name", SPECS)
def test_declarations(name: str) -> None:
    made = load("model", name)
    assert made.name == name
    assert made.monotone in ("up", "down", "none")
    assert made.main in {field.name for field in dataclasses.fields(made)}
    assert summary("model", name).endswith(".")
    assert made.__doc__
    # The design's table: failing is inherited by every subset for these, and for no other.
    assert made.inherited is (name in {"k", "distinct-l", "p-sensitive", "k-e"})


@pytest.mark.parametrize("spec", [{"name": "distinct-l", "l": 2, "on": ["a", "b"]}, {"name": "k", "k": 4.0}])
def test_lists_and_whole_floats_are_written_plainly(spec: dict[str, Any]) -> None:
    assert json.loads(json.dumps(make("model", spec).parameters())) == spec


@pytest.mark.parametrize(
    "spec,message", BAD, ids=lambda x: x["name"] if isinstance(x, dict) and "name" in x else ""
)
def test_bad_parameters(spec: dict[str, Any], message: str) -> None:
    with pytest.raises(ParameterError) as caught:
        make("model", spec)
    text = str(caught.value)
    assert message in text
    assert "\n" not in text
    assert text[-1] in ".?"
    assert caught.value.exit_code == 2


WRONG_COLUMN: list[tuple[dict[str, Any], str]] = [
    ({"name": "variance", "v": 1}, "needs a single numeric attribute, and 's' is none"),
    ({"name": "k-e", "k": 2, "e": 1}, "needs a single numeric attribute"),
    ({"name": "eps-m", "m": 2, "eps": 1}, "needs a single numeric attribute"),
    ({"name": "t-closeness", "t": 0.1, "distance": "ordered"}, "has no order"),
    ({"name": "t-closeness", "t": 0.1, "distance": "hierarchical"}, "has no hierarchy"),
    ({"name": "alpha-k-simple", "alpha": 0.5, "k": 2, "value": "nowhere"}, "never has"),
]


@pytest.mark.parametrize("spec,message", WRONG_COLUMN, ids=lambda x: x["name"] if isinstance(x, dict) else "")
def test_models_that_do_not_fit_their_column(spec: dict[str, Any], message: str) -> None:
    with pytest.raises(ParameterError, match=message) as caught:
        judged([["flu", "cold"]], spec)
    # Sensitive values stay out of messages, those of the recipe too.
    assert "flu" not in str(caught.value)


def test_a_model_on_a_column_that_is_not_sensitive() -> None:
    with pytest.raises(SchemaError, match="'q', which is not a sensitive attribute"):
        judged([["flu", "cold"]], {"name": "distinct-l", "l": 2, "on": "q"})


@pytest.mark.parametrize("name", ["alpha-k-simple", "alpha-k-complete"])
def test_a_named_value_of_a_tuple(name: str) -> None:
    spec = {"name": name} | SPECS[name][0] | {"on": ["s0", "s1"]}
    with pytest.raises(ParameterError, match="tuple of attributes"):
        judged([[("b", "x"), ("c", "y")]], spec)


@pytest.mark.parametrize("name", ["range-diversity", "range-confidence"])
def test_ranges_of_a_tuple(name: str) -> None:
    with pytest.raises(ParameterError, match="'s0', 's1' are several"):
        judged([[("b", "x"), ("c", "y")]], {"name": name, "p": 0.5, "on": ["s0", "s1"]})


@pytest.mark.parametrize("value", [10, "10", 10.0, "10.0"])
def test_a_named_number_is_found_however_it_is_written(value: Any) -> None:
    spec = {"name": "alpha-k-simple", "alpha": 1, "k": 2, "value": value}
    assert judged([[10, 10, 20]], spec).worst == pytest.approx(2 / 3)
