"""Parameters of every model at the edge of what is allowed, and what its figure is compared with."""

from __future__ import annotations

import math
from typing import Any

import pytest

from shoal.errors import VerificationError
from shoal.verify.judge import Slot
from shoal.verify.terms.base import check_model, limit, term_of

COUNT = ([1, 5], [0, -1, 1.5, True, "2", None])
AT_LEAST_0 = ([0, 0.0, 7.5], [-0.001, -1, math.nan, math.inf, "1", True])
AT_LEAST_1 = ([1, 1.5], [0.999, 0, math.nan, math.inf, True])
SHARE = ([0, 0.5, 1], [-0.001, 1.001, 2, math.nan, True, "1"])
POSITIVE_SHARE = ([0.001, 1], [0, -0.001, 1.001, 2, math.nan, True])
POSITIVE = ([0.001, 3], [0, -1, math.nan, math.inf, "1", True])
REFERENCE = (["input", "released"], ["others", None, 1])
DISTANCES = ("equal", "ordered", "hierarchical", "variational", "kl")
EDGES: list[tuple[str, dict[str, Any], str, tuple[list[Any], list[Any]]]] = [
    ("k", {}, "k", COUNT),
    ("k-wildcard", {}, "k", COUNT),
    ("k-m", {"m": 2}, "k", COUNT),
    ("k-m", {"k": 2}, "m", ([1, 4], [0, 5, 1.5, True, "2", None])),
    ("k-map", {}, "k", COUNT),
    ("k-map", {"k": 2}, "fraction", POSITIVE_SHARE),
    ("k-map", {"k": 2, "fraction": 1}, "significance", ([0.001, 0.5], [0, -1, 0.501, math.nan, True, None])),
    ("delta-presence", {"delta_min": 0}, "delta_max", POSITIVE_SHARE),
    ("delta-presence", {"delta_max": 1}, "delta_min", SHARE),
    ("distinct-l", {}, "l", COUNT),
    ("entropy-l", {}, "l", AT_LEAST_1),
    ("recursive-cl", {"l": 2}, "c", ([0.001, 3], [0, -1, math.inf, True])),
    ("recursive-cl", {"c": 2}, "l", COUNT),
    ("t-closeness", {}, "t", AT_LEAST_0),
    ("t-closeness", {"t": 1}, "distance", ([None, *DISTANCES], ["near", 1])),
    ("t-closeness", {"t": 1}, "reference", REFERENCE),
    ("beta-likeness", {"variant": "basic"}, "beta", POSITIVE),
    ("beta-likeness", {"beta": 1}, "variant", (["basic", "enhanced"], ["other", None, 1])),
    ("beta-likeness", {"beta": 1, "variant": "basic"}, "reference", REFERENCE),
    ("delta-disclosure", {}, "delta", POSITIVE),
    ("delta-disclosure", {"delta": 1}, "reference", REFERENCE),
    ("alpha-k-simple", {"k": 2, "value": "a"}, "alpha", SHARE),
    ("alpha-k-simple", {"alpha": 1, "value": "a"}, "k", COUNT),
    ("alpha-k-simple", {"alpha": 1, "k": 2}, "value", (["a", 3, 2.5], [None, True, ["a"], math.nan])),
    ("alpha-k-general", {"k": 2}, "alpha", SHARE),
    ("alpha-k-general", {"alpha": 1}, "k", COUNT),
    ("alpha-k-complete", {"k": 2}, "alpha", ([{}, {"a": 0, "b": 1}], [0.5, {"a": 2}, {"a": -1}, {1: 0.5}, None])),
    ("alpha-k-complete", {"k": 2, "alpha": {}}, "default", SHARE),
    ("alpha-k-complete", {"alpha": {}}, "k", COUNT),
    ("p-sensitive", {"k": 2}, "p", COUNT),
    ("p-sensitive", {"p": 2}, "k", COUNT),
    ("k-e", {"e": 1}, "k", COUNT),
    ("k-e", {"k": 2}, "e", AT_LEAST_0),
    ("variance", {}, "v", AT_LEAST_0),
    ("eps-m", {"m": 2}, "eps", AT_LEAST_0),
    ("eps-m", {"eps": 2}, "m", AT_LEAST_1),
    ("eps-m", {"eps": 2, "m": 2}, "relative", ([True, False], [0, 1, "yes", None])),
    ("max-range", {}, "limit", AT_LEAST_0),
    ("range-diversity", {}, "p", POSITIVE_SHARE),
    ("range-confidence", {}, "p", POSITIVE_SHARE),
    ("worst-group-utility", {}, "u", SHARE),
    ("personalised", {}, "p", POSITIVE_SHARE),
    ("personalised", {"p": 1}, "guard_level", ([0, 1, 3], [-1, 0.5, "1"])),
    ("m-invariance", {}, "m", COUNT),
]


@pytest.mark.parametrize("name, rest, parameter, edge", EDGES)
def test_parameters_at_the_edge(name: str, rest: dict[str, Any], parameter: str, edge: tuple[list, list]) -> None:
    allowed, impossible = edge
    for value in allowed:
        assert check_model({"name": name, **rest, parameter: value})
    for value in impossible:
        with pytest.raises(VerificationError, match=f"model '{name}' has an impossible '{parameter}'"):
            check_model({"name": name, **rest, parameter: value})


OPTIONAL = ("distance", "default", "relative", "guard_level", "reference", "fraction", "significance")
REQUIRED = [edge for edge in EDGES if edge[2] not in OPTIONAL]


@pytest.mark.parametrize("name, rest, parameter, edge", REQUIRED)
def test_parameters_that_may_not_be_missing(name: str, rest: dict[str, Any], parameter: str, edge: Any) -> None:
    with pytest.raises(VerificationError, match=f"model '{name}' lacks its parameter '{parameter}'"):
        check_model({"name": name, **rest})


def test_parameters_that_no_model_has() -> None:
    with pytest.raises(VerificationError, match="model 'k' has an unknown parameter 'l'"):
        check_model({"name": "k", "k": 2, "z": 1, "l": 2})
    with pytest.raises(VerificationError, match="unknown parameter 'distance'"):
        check_model({"name": "distinct-l", "l": 2, "distance": "kl", "on": "s"})
    for entry in ({"name": 3}, {}, ["k"], None):
        with pytest.raises(VerificationError, match="a model without a name"):
            check_model(entry)
    with pytest.raises(VerificationError, match="the model 'z', which this version cannot verify"):
        check_model({"name": "z"})


LIMITS: list[tuple[dict[str, Any], float, str]] = [
    ({"name": "k", "k": 5}, 5, "k = 5"),
    ({"name": "distinct-l", "l": 3}, 3, "distinct-l = 3 on s"),
    ({"name": "entropy-l", "l": 2.5}, 2.5, "entropy-l = 2.5 on s"),
    ({"name": "recursive-cl", "c": 4, "l": 2}, 4, "recursive-cl = 4 on s"),
    ({"name": "t-closeness", "t": 0.25}, 0.25, "t-closeness = 0.25 on s"),
    ({"name": "alpha-k-simple", "alpha": 0.5, "k": 9, "value": "a"}, 0.5, "alpha-k-simple = 0.5 on s"),
    ({"name": "k-wildcard", "k": 5}, 5, "k-wildcard = 5"),
    ({"name": "k-m", "k": 5, "m": 2}, 5, "k-m = 5 on s"),
    ({"name": "k-map", "k": 5}, 5, "k-map = 5"),
    ({"name": "k-map", "k": 5, "fraction": 0.1, "significance": 0.05}, 2, "k-map = 5"),
    ({"name": "delta-presence", "delta_min": 0.1, "delta_max": 0.5}, 0.5, "delta-presence = 0.5"),
    ({"name": "beta-likeness", "beta": 0.5, "variant": "basic"}, 1, "beta-likeness = 0.5 on s"),
    ({"name": "delta-disclosure", "delta": 0.5}, 0.5, "delta-disclosure = 0.5 on s"),
    ({"name": "alpha-k-general", "alpha": 0.5, "k": 9}, 0.5, "alpha-k-general = 0.5 on s"),
    ({"name": "alpha-k-complete", "alpha": {"a": 0.5}, "k": 9}, 1, "alpha-k-complete on s"),
    ({"name": "p-sensitive", "p": 3, "k": 9}, 3, "p-sensitive = 3 on s"),
    ({"name": "k-e", "k": 3, "e": 0.5}, 0.5, "k-e = 0.5 on s"),
    ({"name": "variance", "v": 8}, 8, "variance = 8 on s"),
    ({"name": "eps-m", "eps": 0.5, "m": 4}, 0.25, "eps-m = 0.5 on s"),
    ({"name": "max-range", "limit": 0.75}, 0.75, "max-range = 0.75 on s"),
    ({"name": "range-diversity", "p": 0.5}, 0.5, "range-diversity = 0.5 on s"),
    ({"name": "range-confidence", "p": 0.5}, 0.5, "range-confidence = 0.5 on s"),
    ({"name": "worst-group-utility", "u": 0.5}, 0.5, "worst-group-utility = 0.5"),
    ({"name": "personalised", "p": 0.5}, 0.5, "personalised = 0.5 on s"),
    ({"name": "m-invariance", "m": 4}, 4, "m-invariance = 4 on s"),
]


@pytest.mark.parametrize("model, value, promise", LIMITS)
def test_limits_and_promises(model: dict[str, Any], value: float, promise: str) -> None:
    assert limit(model) == value
    names = ("s",) if term_of(model).valued else ()
    assert Slot(model, None, names, "", "rechecked").promise == promise


def test_promises_on_a_side_and_on_several_columns() -> None:
    close = {"name": "t-closeness", "t": 0.5}
    assert Slot(close, "s", ("s",), "input", "attested").promise == "t-closeness = 0.5 on s against the input"
    assert Slot(close, "s", ("s",), "released", "attested").label == "t-closeness on s"
    assert Slot(close, ["s", "t"], ("s", "t"), "", "attested").label == "t-closeness on the combination of s and t"
    same = {"name": "m-invariance", "m": 2}
    assert Slot(same, "s", ("s",), "history", "attested").promise == "m-invariance = 2 on s against earlier releases"
