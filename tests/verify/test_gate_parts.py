"""The parts of the gate one by one: whose rows, in what order, how unique, and what models are shown."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np
import polars as pl
import pytest

from shoal.errors import VerificationError
from shoal.verify.accounts import Accounts, Neutral
from shoal.verify.classes import Looking
from shoal.verify.comparison import Comparison, Readings
from shoal.verify.facts import Facts
from shoal.verify.gate import _batch, _rows, gate
from shoal.verify.manifest import read_claims
from shoal.verify.report import Check, GateCase, Rows
from shoal.verify.values import Coded
from tests.verify.cases import check_of, failed, manifest
from tests.verify.whole import gated, parts, steady

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
        "manifest": manifest(columns or COLUMNS, models, **({"order": "kept"} | (said or {}))),
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
    report = gated(case(**changes))
    check = check_of(report, "rows")
    assert (check.name, check.passed, check.detail) == ("rows", problem is None, problem or FINE)
    assert problem is None or report.classes["count"] == 0


def test_a_row_that_is_released_very_often_is_not_counted_as_never() -> None:
    often = case().original[[0] * 256]
    for size in (1000, 100, 1):
        report = gate(case(released=often, source=np.zeros(256, dtype=np.int64), n_read=4), size)
        assert check_of(report, "rows").detail == "1 input rows are accounted for more than once."


@pytest.mark.parametrize("people", [False, True])
@pytest.mark.parametrize("subject", [None, pl.Series(["p"] * 4)])
def test_people_are_counted_where_they_are_known(people: bool, subject: pl.Series | None) -> None:
    check = check_of(gated(case(said={"people": people}, subject=subject)), "people")
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
    rows = pl.DataFrame({"q": ["a"] * 40, "s": ["x"] * 40})
    away = np.setdiff1d(np.arange(40), source)
    given = case(
        said={"order": order}, original=rows, released=rows[: len(source)], source=source, suppressed=away, n_read=40
    )
    check = check_of(gated(given), "order")
    kept = "The release is in the order of its source although the manifest says shuffled."
    fine = f"The order of the rows is {order}, as the manifest says."
    assert (check.name, check.passed, check.detail) == ("order", passed, fine if passed else kept)


# Neutral columns

WARD = {"name": "w", "role": "neutral", "type": "categorical", "cells": "value"}
BEGIN = "of the rows are unique on quasi-identifiers and neutral columns together"


def neutral(wards: list[str], said: Any = None, quasi: str = "set", **changes: Any) -> Any:
    given = case([COLUMNS[0] | {"cells": quasi}, COLUMNS[1], WARD], said=said, **changes)
    return seldom(replace(given, released=given.released.with_columns(w=pl.Series(wards, dtype=pl.String))))


def seldom(given: GateCase) -> Check:
    """What is said of neutral columns, whatever the batches."""
    claims, frame = read_claims(given.manifest), given.released

    def fold(size: int) -> Check:
        looking, found = Looking(claims), Neutral(given, claims)
        for part in parts(frame.height, size):
            found.see(Coded(frame[part]), looking.see(Coded(frame[part])))
            if claims.group is not None:
                looking.see_groups(Coded(frame[part]))
        return found.check(looking.look().quasi)

    check: Check = steady(frame.height, fold)
    return check


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
    check = seldom(replace(given, released=released))
    added = f"66.7% {BEGIN}, and not on quasi-identifiers alone."
    assert check.detail == (f"100.0% {BEGIN}." if kind == "microaggregated" else added)


def test_nothing_is_unique_without_rows_or_neutral_columns() -> None:
    given = case()
    none = "No neutral column is released."
    assert (seldom(given).passed, seldom(given).detail) == (True, none)
    empty = neutral([], released=given.released[:0])
    assert (empty.passed, empty.detail) == (True, none)


# What is hidden, and what models are shown


def hidden(given: GateCase) -> list[str]:
    """Columns of which nothing may be told."""
    claims = read_claims(given.manifest)
    readings = Readings(given, given.manifest, claims, people=given.subject is not None)
    rows = Rows(original=given.original, identifiers=given.identifiers, subject=given.subject)
    return [one.name for one in readings.hidden(rows)]


def test_what_may_not_be_told() -> None:
    token = {"name": "id", "role": "pseudonym", "type": "categorical", "cells": "value", "coded": "token"}
    columns = [*COLUMNS, token]
    original = case().original.with_columns(id=pl.Series(["1", "2", "3", "4"]))
    names = pl.DataFrame({"name": ["A", "B", "C", "D"]})
    said = {"kind": "pseudonymised", "made": "generalised"}
    given = case(columns, said=said, original=original, identifiers=names)
    assert hidden(given) == ["name", "id"]
    who = pl.Series("who", ["p"] * 4)
    assert hidden(replace(given, subject=who)) == ["name", "id", "who"]
    assert hidden(replace(given, subject=who.alias("id"))) == ["name", "id"]
    assert hidden(case(subject=who)) == ["who"]
    assert hidden(case()) == []


def test_rows_without_a_subject_are_one_persons() -> None:
    claims = read_claims(manifest(COLUMNS, []))
    readings = Readings(case(), case().manifest, claims, people=True)
    for who, expected in ((["p", "q", "p", None], [0, 1, 0, 2]), ([None, "r", "q", "p"], [2, 3, 1, 0])):
        rows = Rows(original=case().original, identifiers=pl.DataFrame(), subject=pl.Series("who", who))
        found = readings.who(rows)
        assert found is not None
        assert found.tolist() == expected


def test_models_are_shown_people_history_and_who_is_real() -> None:
    """The release is in reverse; its first row is the last of the input's, which is made up."""
    given = case(
        models=[STEADY], said={"people": True, "counterfeits": 1}, subject=pl.Series("who", ["p", "q", "p", "r"]),
        history=pl.Series([["x"], None, ["y"], None]), counterfeits=1, released=case().original[::-1],
        source=rows(3, 2, 1, 0), n_read=3,
    )  # fmt: skip
    facts = shown(given)
    assert facts.people
    assert (facts.sizes.tolist(), facts.all_sizes.tolist()) == ([1, 2], [2, 2])
    assert facts.history is not None
    assert sorted(facts.history.rows()) == [(0, ["y"]), (1, ["x"])]
    plain = shown(case())
    assert (plain.people, plain.history) == (False, None)
    assert plain.sizes.tolist() == plain.all_sizes.tolist() == [2, 2]


def shown(given: GateCase, place: int = 0) -> Facts:
    """What models are shown: of the values as they are published, and of those that codes stand for."""
    claims = read_claims(given.manifest)
    accounts = Accounts(given, claims)
    readings = Readings(given, given.manifest, claims, people=given.subject is not None)
    for part in parts(given.original.height, 2):
        some = _rows(given, part)
        accounts.read(some)
        readings.read(some)
    accounts.settle()
    found = Comparison(given, given.manifest, claims, readings, accounts)
    looking = Looking(claims)
    for part in parts(given.released.height, 2):
        batch = _batch(given, given.released[part], given.source[part])
        assert batch.rows is not None
        accounts.see(batch)
        found.see(batch, batch.rows, Coded(batch.released))
        looking.see(Coded(given.released[part]))
    return readings.counting[place].facts(looking.look().judged)


def test_models_are_shown_values_in_place_of_codes() -> None:
    columns = [COLUMNS[0] | {"cells": "value"}, COLUMNS[1] | {"coded": "mapping"}]
    said = {"kind": "pseudonymised"}
    model = {"name": "distinct-l", "l": 2}
    uncoded = {"s": COLUMNS[1]}
    given = case(
        columns, [model], said, uncoded=uncoded, released=case().original.with_columns(s=pl.lit("c")),
        source=rows(1, 0, 3, 2),
    )  # fmt: skip
    assert shown(given).attribute(["s"]).texts.to_list() == ["c"]
    true = shown(given, 1)
    assert true.attribute(["s"]).texts.to_list() == ["y", "x"]
    assert true.histogram(["s"]).rows.tolist() == [1, 1, 1, 1]
    assert true.claims.column("s").coded is None
    for other in (case(columns, [], said, uncoded=uncoded), case(models=[model])):
        claims = read_claims(other.manifest)
        assert len(Readings(other, other.manifest, claims, people=False).counting) == 1


def test_the_first_column_that_the_gate_lacks_is_named() -> None:
    with pytest.raises(
        VerificationError, match="^The gate was given no input column 'q' to compare the release with.$"
    ):
        gate(case(original=pl.DataFrame({"x": [1, 2, 3, 4]})))
    coded = {"role": "sensitive", "type": "categorical", "cells": "value", "coded": "mapping"}
    columns = [COLUMNS[0] | {"cells": "value"}, {"name": "s", **coded}, {"name": "t", **coded}]
    said = {"kind": "pseudonymised", "acknowledged": ["W-PP-REV"]}
    wide = case().original.with_columns(t=pl.lit("c"))
    given = case(columns, [{"name": "distinct-l", "l": 2}], said, original=wide, released=wide)
    with pytest.raises(VerificationError, match="^The gate was not told what the codes of 's' stand for.$"):
        gate(given)
    assert failed(gate(replace(given, n_read=5))) == ["rows"]  # which comes first


def test_only_tokens_may_be_named_as_an_identifier_is() -> None:
    hidden = pl.DataFrame({"s": ["1", "2", "3", "4"]})
    assert failed(gate(case(identifiers=hidden))) == ["identifier columns"]
