"""A bucketised release at the gate and at the re-check: two tables that share a group, made by hand."""

from __future__ import annotations

from typing import Any

import numpy as np
import polars as pl
import pytest

from shoal.errors import VerificationError
from shoal.verify.gate import gate
from shoal.verify.recheck import recheck
from shoal.verify.report import GateCase
from tests.verify.cases import check_of, failed, manifest, published

COLUMNS = [
    {"name": "age", "role": "quasi", "type": "numeric", "cells": "value"},
    {"name": "ward", "role": "neutral", "type": "categorical", "cells": "value"},
    {"name": "note", "role": "sensitive", "type": "categorical", "cells": "value"},
    {"name": "cost", "role": "sensitive", "type": "numeric", "cells": "value"},
]
MODELS = [{"name": "distinct-l", "l": 3, "on": "note"}, {"name": "k", "k": 3}]
N = 24
# Of 24 people each is alone, no group has a single value, and one of three values is guessed right.
FIGURES = [
    {
        "name": "uniqueness", "value": 1, "interval": [0.862, 1], "baseline": None,
        "sentence": "100.0% of the records are alone with their exact quasi-identifiers, so that being in it is known.",
    },
    *(
        figure
        for name in ("note", "cost")
        for figure in (
            {
                "name": f"homogeneity of {name}", "value": 0, "interval": [0, 0.138], "baseline": None,
                "sentence": f"0.0% of the records are in a group with a single value of '{name}', which is theirs.",
            },
            {
                "name": f"relinking of {name}", "value": 0.3333, "interval": [0.1797, 0.5329], "baseline": 0.3333,
                "sentence": f"By learning from the release alone, 33.3% of the values of '{name}' are guessed right "
                "within their groups; the commonest value of each group is right for 33.3%.",
            },
        )
    ),
]  # fmt: skip


def people() -> pl.DataFrame:
    return pl.DataFrame(
        {
            "age": [20 + row for row in range(N)],
            "ward": ["north", "south"] * (N // 2),
            "note": ["flu", "cold", "asthma"] * (N // 3),
            "cost": [row * 1.5 for row in range(N)],
        }
    )


def two_tables(original: pl.DataFrame | None = None, **changes: Any) -> GateCase:
    """Groups of three neighbours, values sorted within each."""
    original = people() if original is None else original
    source = np.random.default_rng(1).permutation(N)
    group = source // 3
    origin = source[np.lexsort((original["cost"].to_numpy()[source] * -1, group))]
    fields: dict[str, Any] = {
        "original": original,
        "released": original[source].select("age", "ward").with_columns(group=pl.Series(group)),
        "apart": original[origin].select(pl.Series(origin // 3).alias("group"), "note", "cost"),
        "source": source,
        "values_from": origin,
        "suppressed": np.array([], dtype=np.int64),
        "n_read": N,
        "n_dropped": 0,
        "identifiers": pl.DataFrame({"name": [f"Person{row:03}" for row in range(N)]}),
        "subject": None,
        "neutral_limit": 1.0,
        "manifest": manifest(
            COLUMNS, MODELS, kind="bucketised", group="group", publication="tables", acknowledged=["W-EXACT-QI"],
            measured=FIGURES,
        ),
    }
    return GateCase(**(fields | changes))


def changed(case: GateCase, **changes: Any) -> GateCase:
    return GateCase(**(vars(case) | changes))


def test_two_tables_pass_and_pass_again() -> None:
    case = two_tables()
    report = gate(case)
    assert failed(report) == []
    assert [verdict.holds for verdict in report.verdicts] == [True, True]
    assert report.classes["count"] == 8
    described = published(case, report)
    again = recheck(case.released, described, case.apart)
    assert failed(again) == []
    assert check_of(again, "groups").detail == "Groups are equally large in both tables."


def test_an_identifier_in_the_second_table_is_found() -> None:
    notes = [f"called Person{row:03} back" if row % 3 == 0 else note for row, note in enumerate(people()["note"])]
    case = two_tables(people().with_columns(note=pl.Series(notes)))
    assert "name" not in case.released.columns
    assert "identifier values" in failed(gate(case))
    assert failed(gate(changed(case, identifiers=pl.DataFrame()))) == []


def test_an_identifier_in_the_first_table_is_found() -> None:
    wards = [f"Person{row:03}" if row < 5 else "north" for row in range(N)]
    assert "identifier values" in failed(gate(two_tables(people().with_columns(ward=pl.Series(wards)))))


def test_values_come_from_the_released_rows_each_once() -> None:
    case = two_tables()
    assert case.values_from is not None
    elsewhere = case.values_from.copy()
    elsewhere[0] = elsewhere[1]
    report = gate(changed(case, values_from=elsewhere))
    assert check_of(report, "origin").detail == "Sensitive values do not come from the released rows, each once."
    turned = gate(changed(case, values_from=np.roll(case.values_from, 1)))
    assert "values of 'cost' are not those of the rows they come from" in check_of(turned, "origin").detail
    assert check_of(gate(case), "origin").detail == "Sensitive values come from released rows."


def test_the_second_table_has_its_columns_and_no_other() -> None:
    case = two_tables()
    assert case.apart is not None
    for apart, detail in (
        (None, "The table of sensitive values lacks the column 'group'."),
        (case.apart.drop("cost"), "The table of sensitive values lacks the column 'cost'."),
        (case.apart.with_columns(age=pl.lit(1)), "The table of sensitive values has a column 'age' that the manifest "
         "does not list."),
        (case.apart.select("note", "group", "cost"), "The table of sensitive values has its columns in another order "
         "than the manifest."),
    ):  # fmt: skip
        report = gate(changed(case, apart=apart))
        assert failed(report) == ["sensitive columns"]
        assert check_of(report, "sensitive columns").detail == detail


def test_a_second_table_that_nobody_announced() -> None:
    case = two_tables()
    described = published(case)
    one = dict(described) | {"publication": "permuted"}
    report = recheck(case.released, one, case.apart)
    assert {"columns", "sensitive columns"} <= set(failed(report))


@pytest.mark.parametrize("rows", [23, 25])
def test_both_tables_have_the_manifests_rows(rows: int) -> None:
    case = two_tables()
    assert case.apart is not None
    described = published(case)
    other = pl.concat([case.apart, case.apart])[:rows]
    report = recheck(case.released, described, other)
    assert check_of(report, "rows").detail == f"The release has 24 rows, and {rows} of sensitive values."
    assert {"rows", "groups"} <= set(failed(report))


def test_groups_must_be_equally_large_in_both_tables() -> None:
    case = two_tables()
    assert case.apart is not None
    described = published(case)
    moved = case.apart.with_columns(group=pl.Series([1, *case.apart["group"][1:]]))
    report = recheck(case.released, described, moved)
    assert check_of(report, "groups").detail == "Some groups differ in size between the tables."
    renamed = case.apart.with_columns(group=pl.col("group") + 1)
    assert "groups" in failed(recheck(case.released, described, renamed))


def test_neutral_columns_count_by_what_they_add() -> None:
    """Every age is unique as it is, so that a neutral column makes nobody more so."""
    case = two_tables(neutral_limit=0.0)
    found = check_of(gate(case), "neutral columns")
    assert (found.passed, found.detail) == (
        True, "0.0% of the rows are unique on quasi-identifiers and neutral columns together, and not on "
        "quasi-identifiers alone.",
    )  # fmt: skip
    alike = people().with_columns(age=pl.lit(30))
    wards = pl.Series([f"w{row}" for row in range(N)])
    crowded = check_of(gate(two_tables(alike.with_columns(ward=wards), neutral_limit=0.5)), "neutral columns")
    assert (crowded.passed, crowded.detail[:6]) == (False, "100.0%")


def test_what_exact_values_need_is_acknowledged() -> None:
    case = two_tables()
    bare = dict(case.manifest) | {"acknowledged": []}
    report = gate(changed(case, manifest=bare))
    assert failed(report) == ["warning codes"]
    lost = check_of(report, "warning codes").detail
    assert lost == "The release is bucketised, and 'W-EXACT-QI' is not acknowledged."
    fine = check_of(gate(case), "warning codes").detail
    assert fine == "What this kind of release needs is acknowledged: W-EXACT-QI."


def test_exact_values_may_look_like_cells() -> None:
    """What would have to be escaped in a generalised release stands here as it is."""
    places = ["A|B", "{x}", "[1,2]", "*"] * 6
    entry = {"name": "place", "role": "quasi", "type": "categorical", "cells": "value"}
    original = people().with_columns(place=pl.Series(places))
    case = two_tables(original)
    shown = case.released.with_columns(place=original["place"].gather(case.source))
    described = dict(case.manifest) | {"columns": [COLUMNS[0], entry, *COLUMNS[1:]]}
    case = changed(case, released=shown.select("age", "place", "ward", "group"), manifest=described)
    report = gate(case)
    assert failed(report) == []
    assert check_of(report, "cells").detail == "Every quasi-identifier cell can be read."
    assert failed(recheck(case.released, published(case, report), case.apart)) == []


def test_exact_values_fit_their_columns_description() -> None:
    columns = [COLUMNS[0] | {"domain": ["0", "40"]}, *COLUMNS[1:]]
    case = two_tables()
    report = gate(changed(case, manifest=dict(case.manifest) | {"columns": columns}))
    assert failed(report) == ["quasi-identifier values"]
    detail = check_of(report, "quasi-identifier values").detail
    assert detail == "3 rows of 'age' hold something outside its declared domain."
    fine = check_of(gate(case), "quasi-identifier values").detail
    assert fine == "Every quasi-identifier value fits its column's description."


@pytest.mark.parametrize("change", [{"group": None}, {"group": "age"}, {"publication": "both"}, {"publication": None}])
def test_what_a_bucketised_manifest_needs(change: dict[str, Any]) -> None:
    case = two_tables()
    with pytest.raises(VerificationError):
        gate(changed(case, manifest=dict(case.manifest) | change))


def test_people_of_a_group_are_those_whose_values_stand_in_it() -> None:
    """The three rows of the first group are one person's; the second table is in another order than the first."""
    who = pl.Series("who", ["P000", "P000", "P000", *(f"P{row:03}" for row in range(3, N))])
    case = two_tables()
    described = dict(case.manifest) | {"people": True, "models": [{"name": "k", "k": 3}]}
    report = gate(changed(case, subject=who, manifest=described))
    (verdict,) = report.verdicts
    assert (verdict.value, verdict.classes, verdict.by) == (1, 1, "attested")


# Tokens


def tokens(wards: list[str] | None = None, subject: bool = False) -> GateCase:
    """Twelve people in one class, their numbers published as tokens."""
    numbers = [f"number{row:03}" for row in range(12)]
    original = pl.DataFrame({"q": ["a", "b"] * 6, "id": numbers, "ward": wards or ["north"] * 12})
    columns = [
        {"name": "q", "role": "quasi", "type": "categorical", "cells": "set"},
        {"name": "id", "role": "pseudonym", "type": "categorical", "cells": "value", "coded": "token"},
        {"name": "ward", "role": "neutral", "type": "categorical", "cells": "value"},
    ]
    released = original.with_columns(q=pl.lit("{a|b}"), id=pl.Series([f"token{row * 7 % 12}" for row in range(12)]))
    source = np.random.default_rng(2).permutation(12)
    return changed(
        two_tables(), original=original, released=released[source], apart=None, source=source, values_from=None,
        n_read=12, identifiers=pl.DataFrame(), subject=original["id"] if subject else None,
        manifest=manifest(
            columns, [{"name": "k", "k": 12}], kind="pseudonymised", made="generalised", people=subject,
            acknowledged=["W-TRAJECTORY"],
        ),
    )  # fmt: skip


@pytest.mark.parametrize("subject", [False, True])
def test_what_tokens_stand_for_is_an_identifier_whose_name_may_be_told(subject: bool) -> None:
    assert failed(gate(tokens(subject=subject))) == []
    wards = [f"see number{row:03}" if row == 4 else "north" for row in range(12)]
    assert "identifier values" in failed(gate(tokens(wards, subject)))


def test_tokens_are_acknowledged() -> None:
    case = tokens()
    report = gate(changed(case, manifest=dict(case.manifest) | {"acknowledged": []}))
    lost = check_of(report, "warning codes").detail
    assert lost == "The release is pseudonymised, and 'W-TRAJECTORY' is not acknowledged."


# Codes


def coded(**changes: Any) -> GateCase:
    """Four costs in one class, published as codes that say nothing of how far apart they are."""
    original = pl.DataFrame({"q": ["a"] * 4, "s": [1, 9, 1, 9], "t": ["x", "y", "x", "y"]})
    columns = [
        {"name": "q", "role": "quasi", "type": "categorical", "cells": "value"},
        {"name": "s", "role": "sensitive", "type": "numeric", "cells": "value", "coded": "mapping"},
        {"name": "t", "role": "sensitive", "type": "categorical", "cells": "value", "coded": "mapping"},
    ]
    codes = original.with_columns(s=pl.Series(["c1", "c2"] * 2), t=pl.Series(["d1", "d2"] * 2))
    source = np.array([2, 0, 3, 1])
    fields = {
        "original": original, "released": codes[source], "apart": None, "source": source, "values_from": None,
        "n_read": 4, "identifiers": pl.DataFrame(),
        "uncoded": {column["name"]: {key: column[key] for key in column if key != "coded"} for column in columns[1:]},
        "manifest": manifest(
            columns, [{"name": "variance", "v": 16, "on": "s"}], kind="pseudonymised", acknowledged=["W-PP-REV"]
        ),
    }  # fmt: skip
    return changed(two_tables(), **(fields | changes))


def test_models_look_at_what_codes_stand_for() -> None:
    report = gate(coded())
    assert failed(report) == []
    assert (report.verdicts[0].value, report.verdicts[0].by) == (16, "attested")


def test_the_gate_must_be_told_what_codes_stand_for() -> None:
    known = coded().uncoded
    for lost, named in (({}, "s"), ({"t": known["t"]}, "s"), ({"s": known["s"]}, "t")):
        with pytest.raises(VerificationError, match=f"^The gate was not told what the codes of '{named}' stand for.$"):
            gate(coded(uncoded=lost))
    without = dict(coded().manifest) | {"models": []}
    assert failed(gate(coded(uncoded={}, manifest=without))) == []


def test_the_first_column_that_is_lost_is_named() -> None:
    case = two_tables()
    with pytest.raises(VerificationError, match="^The gate was given no input column 'age' to compare"):
        gate(changed(case, original=case.original.drop("age", "note")))
