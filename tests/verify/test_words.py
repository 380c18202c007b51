"""The verifier's words are its own, and yet those that a release is described in."""

from __future__ import annotations

from typing import Any

import pytest

from shoal.errors import ParameterError
from shoal.recoding.kinds import named
from shoal.registry import load, make, names
from shoal.release.manifest import statement as described
from shoal.verify.manifest_column import Column
from shoal.verify.manifest_schema import Claims, Counted
from shoal.verify.wording import needed_codes, statement

MODELS: dict[str, dict[str, Any]] = {
    "k": {"k": 5},
    "k-m": {"k": 5, "m": 2},
    "k-wildcard": {"k": 5},
    "k-map": {"k": 5},
    "delta-presence": {"delta_min": 0.1, "delta_max": 0.5},
    "distinct-l": {"l": 3},
    "entropy-l": {"l": 2.5},
    "recursive-cl": {"c": 2, "l": 3},
    "t-closeness": {"t": 0.2},
    "beta-likeness": {"beta": 0.5, "variant": "enhanced"},
    "delta-disclosure": {"delta": 1.5},
    "alpha-k-simple": {"alpha": 0.5, "k": 4, "value": "flu"},
    "alpha-k-general": {"alpha": 0.5, "k": 4},
    "alpha-k-complete": {"alpha": {"flu": 0.5}, "k": 4},
    "p-sensitive": {"p": 2, "k": 4},
    "k-e": {"k": 3, "e": 10.5},
    "variance": {"v": 3},
    "eps-m": {"eps": 0.5, "m": 3},
    "max-range": {"limit": 0.4},
    "range-diversity": {"p": 0.3},
    "range-confidence": {"p": 0.3},
    "personalised": {"p": 0.4},
    "m-invariance": {"m": 3},
    "worst-group-utility": {"u": 0.5},
}
KINDS = [
    ("generalised", "generalised"),
    ("randomised", "randomised"),
    ("pseudonymised", "generalised"),
    ("bucketised", "bucketised"),
    ("pseudonymised", "bucketised"),
    ("microaggregated", "microaggregated"),
]


def claims(*models: dict[str, Any], kind: str = "generalised", made: str = "generalised", **more: Any) -> Claims:
    columns = tuple(
        Column.model_construct(name=name, role=role, type="categorical", cells="value")
        for name, role in (("age", "quasi"), ("disease", "sensitive"), ("job", "sensitive"))
    )
    settings = {"suppressed": "drop", "order": "shuffled", "people": False, "data": Counted(rows=9)} | more
    return Claims.model_construct(columns=columns, models=models, kind=kind, made=made, **settings)


def test_every_model_has_words() -> None:
    assert set(MODELS) == set(names("model"))


@pytest.mark.parametrize("kind, made", KINDS)
@pytest.mark.parametrize("name", MODELS)
def test_both_say_the_same(name: str, kind: str, made: str) -> None:
    for on in ({}, {"on": "job"}, {"on": ["disease", "job"]}):
        model = {"name": name} | MODELS[name] | (on if load("model", name).valued else {})
        try:
            ours = [make("model", model), make("model", {"name": "k", "k": 7})]
        except ParameterError:  # one that is about one column
            continue
        said = statement(claims(model, {"name": "k", "k": 7}, kind=kind, made=made))
        assert said == described(ours, ["disease", "job"], named(kind), named(made))
    assert statement(claims(kind=kind, made=made)) == described([], ["disease"], named(kind), named(made))


@pytest.mark.parametrize(
    "models, made, codes",
    [
        ([], "generalised", ["W-NO-K", "W-UNMODELLED:disease", "W-UNMODELLED:job"]),
        ([{"name": "k", "k": 5}], "generalised", ["W-UNMODELLED:disease", "W-UNMODELLED:job"]),
        ([{"name": "p-sensitive", "p": 2, "k": 4, "on": "job"}], "generalised", ["W-UNMODELLED:disease"]),
        ([{"name": "distinct-l", "l": 2}], "generalised", ["W-NO-K"]),
        ([{"name": "distinct-l", "l": 2}], "bucketised", []),
        ([{"name": "m-invariance", "m": 2}, {"name": "entropy-l", "l": 1}], "generalised", []),
        ([{"name": "k", "k": 5}, {"name": "t-closeness", "t": 1}], "microaggregated",
         ["W-UNMODELLED:disease", "W-UNMODELLED:job"]),
        ([], "randomised", []),
        ([], "pseudonymised", []),
        ([], "perturbed", []),
    ],
)  # fmt: skip
def test_what_has_to_be_acknowledged(models: list[dict[str, Any]], made: str, codes: list[str]) -> None:
    assert needed_codes(claims(*models, made=made, kind=made)) == codes
    assert needed_codes(claims(*models, made=made, kind=made, order="kept")) == ["W-ORDER", *codes]
