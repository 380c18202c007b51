"""The parts of the gate one by one: whose rows, in what order, how unique, and what models are shown."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np
import polars as pl
import pytest

from shoal.errors import VerificationError
from shoal.verify import gate
from shoal.verify.claims import read_claims
from shoal.verify.classes import find_look
from shoal.verify.gate import (
    _check_neutral,
    _check_order,
    _check_people,
    _check_rows,
    _facts,
    _hidden,
    _row_problem,
    _true_facts,
)
from shoal.verify.types import GateCase
from tests.verify.cases import failed, manifest

COLUMNS: list[dict[str, Any]] = [
    {"name": "q", "role": "quasi", "type": "categorical", "cells": "set"},
    {"name": "s", "role": "sensitive", "type": "categorical", "cells": "value"},
]
STEADY = {"name": "m-invariance", "m": 2}
LENGTHS = "The release, its list of source rows and the manifest disagree on the number of rows."
GIVEN = "Identifiers or subjects were not given for exactly the input rows."
PLUS = "The rows read are not the rows dropped plus the rows given to the gate."
EARLIER = "What earlier releases had was not given for exactly the input rows."
OUTSIDE = "A released or suppressed row points outside the input."
STARS = "A suppressed row is released with something other than * in a column."
MADE_UP = "The manifest does not give the number of counterfeit rows."
FINE = "Every row read is released, suppressed or dropped, exactly once."


def case(columns: list[dict[str, Any]] | None = None, models: Any = (), said: Any = None, **changes: Any) -> GateCase:
    """Four rows, released as they are."""
    original = pl.DataFrame({"q": ["a", "a", "b", "b"], "s": ["x", "y", "x", "y"]})
    fields: dict[str, Any] = {
        "original": original, "released": original, "source": np.arange(4), "suppressed": np.array([], dtype=np.int64),
        "n_read": 4, "n_dropped": 0, "identifiers": pl.DataFrame(), "subject": None,
        "manifest": manifest(columns or COLUMNS, models, order="kept", **(said or {})),
    }  # fmt: skip
    return GateCase(**(fields | changes))


def rows(*given: int) -> np.ndarray:
    return np.array(given, dtype=np.int64)


def some(count: int) -> pl.DataFrame:
    return case().original[:count]


STAR = pl.DataFrame({"q": ["a", "a", "b", "*"], "s": ["x", "y", "x", "*"]})
TWO_STARS = pl.DataFrame({"q": ["a", "a", "*", "*"], "s": ["x", "y", "*", "*"]})
HALF = STAR.with_columns(s=pl.Series(["x", "y", "x", "y"]))


@pytest.mark.parametrize(
    "changes, problem",
    [
        ({}, None),
        ({"said": {"data": {"rows": 4}}}, None),
        ({"said": {"data": {"rows": 5}}}, LENGTHS),
        ({"source": rows(0, 1, 2)}, LENGTHS),
        ({"released": some(3)}, LENGTHS),
        ({"identifiers": pl.DataFrame({"i": ["a"] * 4}), "subject": pl.Series(["p"] * 4)}, None),
        ({"identifiers": pl.DataFrame({"i": ["a"] * 3})}, GIVEN),
        ({"subject": pl.Series(["p"] * 3)}, GIVEN),
        ({"subject": pl.Series(["p"] * 5)}, GIVEN),
        ({"n_read": 6, "n_dropped": 2}, None),
        ({"n_read": 5}, PLUS),
        ({"n_read": 3, "n_dropped": -1}, PLUS),
        ({"n_read": 5, "counterfeits": -1}, PLUS),
        ({"history": pl.Series([None] * 4)}, None),
        ({"history": pl.Series([None] * 3)}, EARLIER),
        ({"source": rows(0, 1, 2, 4)}, OUTSIDE),
        ({"source": rows(0, 1, 2, -1)}, OUTSIDE),
        ({"source": np.array([0.0, 1.0, 2.0, 3.0])}, OUTSIDE),
        ({"source": rows(3, 2, 1, 0).astype(np.uint32)}, None),
        ({"suppressed": rows(4)}, OUTSIDE),
        ({"suppressed": rows(-1)}, OUTSIDE),
        ({"suppressed": np.array([])}, None),
        ({"suppressed": rows(0, 3)}, "2 input rows are accounted for more than once."),
        ({"source": rows(0, 1, 2, 2)}, "1 input rows are accounted for more than once."),
        ({"source": rows(1, 2, 3), "released": some(3), "suppressed": rows(0)}, None),
        ({"source": rows(1, 2, 3), "released": some(3)}, "1 input rows are neither released nor suppressed."),
        ({"source": rows(1, 2), "released": some(2)}, "2 input rows are neither released nor suppressed."),
        ({"source": rows(1, 2, 3), "released": some(3), "suppressed": rows(0, 0)},
         "1 input rows are accounted for more than once."),
        ({"released": STAR, "suppressed": rows(3), "said": {"suppressed": "star"}}, None),
        ({"released": STAR, "source": rows(3, 1, 2, 0), "suppressed": rows(0), "said": {"suppressed": "star"}}, None),
        ({"released": HALF, "suppressed": rows(3), "said": {"suppressed": "star"}}, STARS),
        ({"released": STAR, "suppressed": rows(2, 3), "said": {"suppressed": "star"}}, STARS),
        ({"released": STAR, "suppressed": rows(3, 3), "said": {"suppressed": "star"}},
         "1 input rows are accounted for more than once."),
        ({"released": TWO_STARS, "suppressed": rows(2, 3, 3), "said": {"suppressed": "star"}},
         "1 input rows are accounted for more than once."),
        ({"released": STAR, "suppressed": rows(3)}, "1 input rows are accounted for more than once."),
        ({"source": rows(0, 1, 2), "released": some(3), "suppressed": rows(3), "said": {"suppressed": "star"}},
         "1 input rows are neither released nor suppressed."),
        ({"n_read": 3, "counterfeits": 1, "models": [STEADY], "said": {"counterfeits": 1}}, None),
        ({"n_read": 3, "counterfeits": 1}, MADE_UP),
        ({"n_read": 2, "counterfeits": 2, "models": [STEADY], "said": {"counterfeits": 1}}, MADE_UP),
        ({"n_read": 2, "counterfeits": 2, "models": [STEADY], "said": {"counterfeits": 1},
          "source": rows(0, 1, 2), "released": some(3), "suppressed": rows(3)}, None),
        ({"n_read": 2, "counterfeits": 2, "models": [STEADY], "said": {"counterfeits": 2},
          "source": rows(1, 2, 3), "released": some(3), "suppressed": rows(0)}, None),
    ],
)  # fmt: skip
def test_every_row_is_accounted_for(changes: dict[str, Any], problem: str | None) -> None:
    given = case(**changes)
    claims = read_claims(given.manifest)
    assert _row_problem(given, claims) == problem
    check = _check_rows(given, claims)
    assert (check.name, check.passed, check.detail) == ("rows", problem is None, problem or FINE)


@pytest.mark.parametrize("people", [False, True])
@pytest.mark.parametrize("subject", [None, pl.Series(["p"] * 4)])
def test_people_are_counted_where_they_are_known(people: bool, subject: pl.Series | None) -> None:
    given = case(said={"people": people}, subject=subject)
    check = _check_people(given, read_claims(given.manifest))
    counted = "rows" if subject is None else "people"
    right = people is (subject is not None)
    assert (check.name, check.passed) == ("people", right)
    end = ", as the manifest says." if right else ", but the manifest says otherwise."
    assert check.detail == f"Models count {counted}{end}"


@pytest.mark.parametrize(
    "source, order, passed",
    [
        (np.arange(20), "shuffled", False), (np.arange(19), "shuffled", True), (np.arange(20), "kept", True),
        (np.arange(20)[::-1], "shuffled", True), (np.r_[1, 0, np.arange(2, 20)], "shuffled", True),
        (np.arange(0, 40, 2), "shuffled", False),
    ],
)  # fmt: skip
def test_the_order_of_the_source(source: np.ndarray, order: str, passed: bool) -> None:
    check = _check_order(read_claims(manifest(order=order)), source)
    kept = "The release is in the order of its source although the manifest says shuffled."
    fine = f"The order of the rows is {order}, as the manifest says."
    assert (check.name, check.passed, check.detail) == ("order", passed, fine if passed else kept)


# Neutral columns

WARD = {"name": "w", "role": "neutral", "type": "categorical", "cells": "value"}
BEGIN = "of the rows are unique on quasi-identifiers and neutral columns together"


def neutral(wards: list[str], said: Any = None, quasi: str = "set", **changes: Any) -> Any:
    given = case([COLUMNS[0] | {"cells": quasi}, COLUMNS[1], WARD], said=said, **changes)
    given = replace(given, released=given.released.with_columns(w=pl.Series(wards)))
    claims = read_claims(given.manifest)
    return _check_neutral(given, claims, find_look(given.released, None, claims).quasi)


@pytest.mark.parametrize(
    "wards, limit, accepted, passed, detail",
    [
        (["n", "n", "n", "n"], 0.0, [], True, f"0.0% {BEGIN}."),
        (["n", "s", "n", "n"], 0.5, [], True, f"50.0% {BEGIN}."),
        (["n", "s", "n", "n"], 0.4, [], False, f"50.0% {BEGIN}, above the limit of 40.0%."),
        (["n", "s", "n", "n"], 0.4, ["W-NEUTRAL"], True, f"50.0% {BEGIN}, which W-NEUTRAL accepts."),
        (["n", "s", "n", "n"], 0.5, ["W-NEUTRAL"], True, f"50.0% {BEGIN}."),
    ],
)
def test_rows_that_are_unique(wards: list[str], limit: float, accepted: Any, passed: bool, detail: str) -> None:
    check = neutral(wards, neutral_limit=limit, acknowledged=accepted)
    assert (check.name, check.passed, check.detail, check.code) == ("neutral columns", passed, detail, "W-NEUTRAL")


@pytest.mark.parametrize("kind", ["randomised", "pseudonymised", "bucketised", "microaggregated"])
def test_rows_that_are_unique_already(kind: str) -> None:
    """The last of them is alone with its quasi-identifier, which counts only where such values are means of several."""
    released = pl.DataFrame({"q": ["a", "a", "b"], "s": ["x", "y", "x"], "w": ["n", "s", "s"], "g": [1, 1, 1]})
    said: dict[str, Any] = {"kind": kind, "made": kind}
    columns = None
    if kind == "bucketised":
        said |= {"group": "g", "publication": "tables"}
    if kind == "pseudonymised":
        columns = COLUMNS[1] | {"coded": "mapping"}
    given = case([COLUMNS[0] | {"cells": "value"}, columns or COLUMNS[1], WARD], said=said, neutral_limit=1.0)
    given = replace(given, released=released)
    claims = read_claims(given.manifest)
    check = _check_neutral(given, claims, find_look(given.released, None, claims).quasi)
    added = f"66.7% {BEGIN}, and not on quasi-identifiers alone."
    assert check.detail == (f"100.0% {BEGIN}." if kind == "microaggregated" else added)


def test_nothing_is_unique_without_rows_or_neutral_columns() -> None:
    given = case()
    claims = read_claims(given.manifest)
    quasi = find_look(given.released, None, claims).quasi
    none = "No neutral column is released."
    assert (_check_neutral(given, claims, quasi).passed, _check_neutral(given, claims, quasi).detail) == (True, none)
    empty = neutral([], released=given.released[:0])
    assert (empty.passed, empty.detail) == (True, none)


# What is hidden, and what models are shown


def test_what_may_not_be_told() -> None:
    token = {"name": "id", "role": "pseudonym", "type": "categorical", "cells": "value", "coded": "token"}
    columns = [*COLUMNS, token]
    original = case().original.with_columns(id=pl.Series(["1", "2", "3", "4"]))
    hidden = pl.DataFrame({"name": ["A", "B", "C", "D"]})
    said = {"kind": "pseudonymised", "made": "generalised"}
    given = case(columns, said=said, original=original, identifiers=hidden)
    assert [one.name for one in _hidden(given)] == ["name", "id"]
    who = pl.Series("who", ["p"] * 4)
    assert [one.name for one in _hidden(replace(given, subject=who))] == ["name", "id", "who"]
    assert [one.name for one in _hidden(replace(given, subject=who.alias("id")))] == ["name", "id"]
    assert [one.name for one in _hidden(case(subject=who))] == ["who"]
    assert _hidden(case()) == []


def test_what_models_are_shown() -> None:
    given = case(
        subject=pl.Series(["p", "q", "p", "r"]), history=pl.Series([["x"], None, ["y"], None]), counterfeits=1,
        released=case().original[::-1],
    )  # fmt: skip
    claims = read_claims(given.manifest)
    look = find_look(given.released, None, claims)
    found = _facts(given, claims, look, rows(3, 2, 1, 0))
    assert found.origin is not None
    assert found.origin.tolist() == [3, 2, 1, 0]
    assert found.subject is not None
    assert found.subject.tolist() == [2, 0, 1, 0]
    assert found.input_subject is not None
    assert found.input_subject.tolist() == [0, 1, 0, 2]
    assert found.history is not None
    assert found.history.to_list() == [None, ["y"], None, ["x"]]
    assert found.real is not None
    assert found.real.tolist() == [False, True, True, True]
    plain = _facts(case(), claims, look, rows(3, 2, 1, 0))
    assert (plain.subject, plain.input_subject, plain.history, plain.real) == (None, None, None, None)


def test_models_are_shown_values_in_place_of_codes() -> None:
    columns = [COLUMNS[0] | {"cells": "value"}, COLUMNS[1] | {"coded": "mapping"}]
    said = {"kind": "pseudonymised"}
    model = {"name": "distinct-l", "l": 2}
    uncoded = {"s": COLUMNS[1]}
    given = case(columns, [model], said, uncoded=uncoded, released=case().original.with_columns(s=pl.lit("c")))
    claims = read_claims(given.manifest)
    look = find_look(given.released, None, claims)
    true = _true_facts(given, claims, look, rows(1, 0, 3, 2))
    assert true is not None
    assert true.frame["s"].to_list() == ["y", "x", "y", "x"]
    assert true.claims.column("s").coded is None
    without = case(columns, [], said, uncoded=uncoded)
    assert _true_facts(without, read_claims(without.manifest), look, rows(0, 1, 2, 3)) is None
    plain = case(models=[model])
    assert _true_facts(plain, read_claims(plain.manifest), look, rows(0, 1, 2, 3)) is None


def test_the_first_column_that_the_gate_lacks_is_named() -> None:
    with pytest.raises(
        VerificationError, match="^The gate was given no input column 'q' to compare the release with.$"
    ):
        gate(case(original=pl.DataFrame({"x": [1, 2, 3, 4]})))
    coded = {"role": "sensitive", "type": "categorical", "cells": "value", "coded": "mapping"}
    columns = [COLUMNS[0] | {"cells": "value"}, {"name": "s", **coded}, {"name": "t", **coded}]
    given = case(columns, [{"name": "distinct-l", "l": 2}], {"kind": "pseudonymised"})
    released = given.released.with_columns(t=pl.lit("c"))
    claims = read_claims(given.manifest)
    with pytest.raises(VerificationError, match="^The gate was not told what the codes of 's' stand for.$"):
        _true_facts(given, claims, find_look(released, None, claims), rows(0, 1, 2, 3))


def test_only_tokens_may_be_named_as_an_identifier_is() -> None:
    hidden = pl.DataFrame({"s": ["1", "2", "3", "4"]})
    assert failed(gate(case(identifiers=hidden))) == ["identifier columns"]
