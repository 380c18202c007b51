"""A manifest is read strictly: what cannot be understood cannot be verified."""

from __future__ import annotations

from typing import Any

import pytest

from shoal.errors import VerificationError
from shoal.verify.manifest import read_claims
from tests.verify.cases import COLUMNS, manifest

SENSITIVE = {"name": "s", "role": "sensitive", "type": "categorical", "cells": "value"}
NUMBER = SENSITIVE | {"type": "numeric"}
QUASI = {"name": "q", "role": "quasi", "type": "categorical", "cells": "set"}
LABEL = QUASI | {"cells": "label"}


def test_a_good_manifest() -> None:
    claims = read_claims(manifest())
    assert claims.names == [column["name"] for column in COLUMNS]
    assert [column.name for column in claims.role("sensitive")] == ["disease", "income"]
    assert claims.column("age").domain == (0, 120)
    assert claims.column("income").name == "income"


@pytest.mark.parametrize(
    "columns, message",
    [
        ([QUASI, QUASI], "twice"),
        ([QUASI | {"role": "identifier"}], "role"),
        ([QUASI | {"type": "number"}], "type"),
        ([QUASI | {"cells": "interval"}], "categorical"),
        ([QUASI | {"cells": "interval", "type": "ordinal"}], "order"),
        ([SENSITIVE | {"cells": "set"}], "value"),
        ([SENSITIVE | {"type": "ordinal"}], "order"),
        ([SENSITIVE | {"name": "quasi"}], "quasi"),
        ([SENSITIVE | {"non_answers": "refused"}], "non_answers"),
        ([SENSITIVE | {"type": "ordinal", "order": ["a", "a"]}], "order"),
        ([NUMBER | {"domain": ["1"]}], "domain"),
        ([NUMBER | {"domain": ["9", "1"]}], "domain"),
        ([NUMBER | {"domain": ["a", "b"]}], "domain"),
        ([LABEL], "hierarchy"),
        ([LABEL | {"hierarchy": []}], "hierarchy"),
        ([LABEL | {"hierarchy": ["a"]}], "hierarchy"),
        ([LABEL | {"hierarchy": [["a", 1]]}], "hierarchy"),
        ([LABEL | {"hierarchy": [["a", "*"], ["b", "x", "*"]]}], "length"),
        ([LABEL | {"hierarchy": [["a", "*"], ["a", "*"]]}], "twice"),
        ([LABEL | {"hierarchy": [["a", "x"], ["b", "y"]]}], "root"),
        ([LABEL | {"hierarchy": [["a", "x", "u", "*"], ["b", "x", "v", "*"]]}], "two"),
        ([LABEL | {"hierarchy": [["a", "b", "*"], ["b", "c", "*"]]}], "two different sets"),
    ],
)
def test_columns_that_cannot_be_verified(columns: list[dict[str, Any]], message: str) -> None:
    with pytest.raises(VerificationError, match=message):
        read_claims(manifest(columns, []))


@pytest.mark.parametrize(
    "model, message",
    [
        ({"k": 5}, "name"),
        ({"name": "n-hidden", "n": 3}, "n-hidden"),
        ({"name": "m-invariance", "m": 1.5}, "'m'"),
        ({"name": "m-invariance", "m": 3, "on": ["s", "n"]}, "together"),
        ({"name": "k"}, "'k'"),
        ({"name": "k", "k": 0}, "'k'"),
        ({"name": "k", "k": 2.5}, "'k'"),
        ({"name": "k", "k": True}, "'k'"),
        ({"name": "k", "k": "5"}, "'k'"),
        ({"name": "k", "k": 5, "on": "s"}, "'on'"),
        ({"name": "k", "k": 5, "but": "not really"}, "'but'"),
        ({"name": "entropy-l", "l": 0.5}, "'l'"),
        ({"name": "entropy-l", "l": float("nan")}, "'l'"),
        ({"name": "distinct-l", "l": 2.5}, "'l'"),
        ({"name": "recursive-cl", "c": 0, "l": 2}, "'c'"),
        ({"name": "t-closeness", "t": -0.1}, "'t'"),
        ({"name": "t-closeness", "t": 0.1, "distance": "near"}, "'distance'"),
        ({"name": "t-closeness", "t": 0.1, "reference": "both"}, "'reference'"),
        ({"name": "t-closeness", "t": 0.1, "distance": "ordered"}, "ordered"),
        ({"name": "t-closeness", "t": 0.1, "distance": "hierarchical"}, "hierarchical"),
        ({"name": "alpha-k-general", "alpha": 1.5, "k": 2}, "'alpha'"),
        ({"name": "alpha-k-complete", "alpha": 0.5, "k": 2}, "'alpha'"),
        ({"name": "alpha-k-simple", "alpha": 0.5, "k": 2}, "'value'"),
        ({"name": "eps-m", "eps": 1, "m": 2}, "numeric"),
        ({"name": "eps-m", "eps": 1, "m": 0.5}, "'m'"),
        ({"name": "max-range", "limit": -1}, "'limit'"),
        ({"name": "distinct-l", "l": 2, "on": "q"}, "sensitive"),
        ({"name": "distinct-l", "l": 2, "on": []}, "sensitive"),
        ({"name": "distinct-l", "l": 2, "on": [["s"]]}, "sensitive"),
        ({"name": "distinct-l", "l": 2, "on": ["s", "s"]}, "twice"),
        ({"name": "alpha-k-simple", "alpha": 0.5, "k": 2, "value": "a", "on": ["s", "n"]}, "together"),
        ({"name": "variance", "v": 1, "on": ["n", "n2"]}, "one numeric column"),
    ],
)
def test_models_that_cannot_be_verified(model: dict[str, Any], message: str) -> None:
    columns = [QUASI, SENSITIVE, NUMBER | {"name": "n"}, NUMBER | {"name": "n2"}]
    with pytest.raises(VerificationError, match=message):
        read_claims(manifest(columns, [model]))


def test_a_model_needs_something_to_judge() -> None:
    with pytest.raises(VerificationError, match="quasi"):
        read_claims(manifest([SENSITIVE], [{"name": "k", "k": 2}]))
    with pytest.raises(VerificationError, match="sensitive"):
        read_claims(manifest([QUASI], [{"name": "distinct-l", "l": 2}]))


def test_a_label_may_stand_on_several_levels_for_the_same_leaves() -> None:
    rows = [["a", "a", "*"], ["b", "x", "*"], ["c", "x", "*"], ["<missing>", "<missing>", "*"]]
    assert read_claims(manifest([LABEL | {"hierarchy": rows}], [])).columns[0].hierarchy == rows
