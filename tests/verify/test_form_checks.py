"""Which checks each kind of release gets, and how single cells are held against their source."""

from __future__ import annotations

from dataclasses import replace
from datetime import date, timedelta
from typing import Any

import numpy as np
import polars as pl
import pytest

from shoal.errors import VerificationError
from shoal.verify.gate import _rows, gate
from shoal.verify.kinds.generalised import _behind, differing
from shoal.verify.manifest import read_claims
from shoal.verify.values import Held, encode
from tests.verify.cases import check_of, failed, hospital_case, manifest, sensitive_case
from tests.verify.test_recheck_tables import permuted
from tests.verify.test_shifted_dates import FIRST, shifted_case
from tests.verify.test_two_tables import coded, tokens, two_tables

FIRST_CHECKS = ["columns", "identifier columns", "rows", "people", "warning codes", "hierarchies", "order"]
NAMES = ["identifier values", "identifiers of anybody"]
PEOPLE = ["rows of people"]
READ = ["cells", "quasi-identifier values"]
LAST = ["ends", "members", "types", "classes", "sensitive values", "neutral columns"]
TWO = ["columns", "sensitive columns", *FIRST_CHECKS[1:], "identifier values", *NAMES]
BUCKETS = ["origin", "tables", "exact rows", "group sizes", "group values", "apart"]


@pytest.mark.parametrize(
    "case, expected",
    [
        (hospital_case, [*FIRST_CHECKS, *NAMES, *PEOPLE, *READ, "values", "coverage", *LAST, "k",
                         "entropy-l on disease"]),
        (two_tables, [*TWO, *PEOPLE, *READ, *BUCKETS, *LAST, "distinct-l on note", "k"]),
        (permuted, [*FIRST_CHECKS, *NAMES, *PEOPLE, *READ, *BUCKETS, *LAST, "distinct-l on note", "k"]),
        (tokens, [*FIRST_CHECKS, *NAMES, *PEOPLE, *READ, "values", "coverage", "rows", "columns", "one to one: id",
                  "originals absent: id", *LAST, "k"]),
        (coded, [*FIRST_CHECKS, *NAMES, *PEOPLE, *READ, "rows", "columns", "unchanged: q", "one to one: s",
                 "originals absent: s", "one to one: t", "originals absent: t", *LAST, "variance on s"]),
        (shifted_case, [*FIRST_CHECKS, *NAMES, *READ, "values", "coverage", "shifted dates", *LAST]),
        (lambda: shifted_case(True), [*TWO, *READ, *BUCKETS, "shifted dates", *LAST]),
    ],
)  # fmt: skip
def test_every_kind_has_its_checks(case: Any, expected: list[str]) -> None:
    report = gate(case())
    assert [check.name for check in report.checks] == expected
    assert report.passed


@pytest.mark.parametrize(
    "ours, theirs, wrong",
    [
        (["3", "4.0"], ["3.0", "4"], 0),
        (["3", None], ["3", None], 0),
        (["3", None, "5"], ["3", "4", None], 2),
        ([3.0, 4.0], ["3", "5"], 1),
        ([3.0], ["3"], 0),
        ([], [], 0),
    ],
)
def test_values_that_differ(ours: list[Any], theirs: list[Any], wrong: int) -> None:
    (column,) = read_claims(
        manifest([{"name": "s", "role": "sensitive", "type": "numeric", "cells": "value"}], [])
    ).columns
    assert differing(Held(*encode(pl.Series(ours))), Held(*encode(pl.Series(theirs))), column) == wrong


def test_values_without_an_origin() -> None:
    found = check_of(gate(replace(two_tables(), values_from=None)), "origin")
    assert (found.passed, found.detail) == (False, "Sensitive values do not come from the released rows, each once.")


def test_several_columns_that_differ_are_all_told() -> None:
    case = hospital_case()
    fine = "Sensitive and neutral values are those of their source rows."
    assert check_of(gate(case), "values").detail == fine
    covers = "Every quasi-identifier cell covers the value of its source row."
    assert check_of(gate(case), "coverage").detail == covers
    frame = case.released.with_columns(disease=pl.lit("gout"), ward=pl.lit("east"))
    found = check_of(gate(replace(case, released=frame)), "values")
    assert found.detail == "Values differ from their source in 24 rows of 'disease' and 24 rows of 'ward'."
    cells = case.released.with_columns(age=pl.lit("[90,91]"), zip=pl.lit("1000"))
    told = check_of(gate(replace(case, released=cells)), "coverage").detail
    assert told == "24 cells of 'age' and 18 cells of 'zip' do not cover the value of their source row."


def test_a_starred_row_has_no_value_to_compare() -> None:
    """In a release that drops rows a star is a value, and not the one that was read."""
    model = {"name": "k", "k": 1}
    case = sensitive_case([["a", "b"], ["c"]], model)
    stars = pl.DataFrame({"q": ["g0", "g0", "*"], "s": ["a", "b", "*"]})
    starred = dict(case.manifest) | {"suppressed": "star"}
    gone = replace(case, released=stars, suppressed=np.array([2]), manifest=starred)
    assert failed(gate(gone)) == []
    assert "values" in failed(gate(replace(case, released=stars)))


def test_a_starred_row_has_no_node_to_compare() -> None:
    tree = [["a", "x", "all"], ["b", "x", "all"], ["c", "y", "all"]]
    column = {"cells": "label", "hierarchy": tree}
    case = sensitive_case([["a", "b"], ["c"]], {"name": "k", "k": 1}, column=column)
    stars = pl.DataFrame({"q": ["g0", "g0", "*"], "s": ["x", "x", "*"]})
    starred = dict(case.manifest) | {"suppressed": "star"}
    gone = replace(case, released=stars, suppressed=np.array([2]), manifest=starred)
    assert failed(gate(gone)) == []
    wrong = gone.released.with_columns(s=pl.Series(["y", "x", "*"]))
    assert failed(gate(replace(gone, released=wrong))) == ["nodes of s"]


def test_lifted_values_are_not_compared_as_values() -> None:
    column = {"cells": "label", "hierarchy": [["a", "x"], ["b", "x"]]}
    case = sensitive_case([["a", "b"]], {"name": "k", "k": 1}, column=column)
    lifted = replace(case, released=case.released.with_columns(s=pl.lit("x")))
    assert failed(gate(lifted)) == []


@pytest.mark.parametrize("moved, passes", [(0, True), (1, False), (-1, False)])
def test_dates_that_may_not_move_do_not(moved: int, passes: bool) -> None:
    case = shifted_case()
    seen = [FIRST + timedelta(30 * int(row) + (moved if row == 3 else 0)) for row in case.source]
    columns = [entry | ({"days": 0} if "days" in entry else {}) for entry in case.manifest["columns"]]
    still = replace(
        case, released=case.released.with_columns(seen=pl.Series(seen)),
        manifest=dict(case.manifest) | {"columns": columns},
    )  # fmt: skip
    assert check_of(gate(still), "shifted dates").passed is passes


def test_dates_shifted_beside_codes_are_not_held_to_be_codes() -> None:
    case = coded()
    days = pl.Series("seen", [date(2020, 1, day) for day in (1, 2, 3, 4)])
    entry = {"name": "seen", "role": "neutral", "type": "date", "cells": "value", "coded": "shifted", "days": 9}
    described = dict(case.manifest) | {"columns": [*case.manifest["columns"], entry], "people": True}
    both = replace(
        case, original=case.original.with_columns(days), manifest=described, neutral_limit=1.0,
        released=case.released.with_columns((days.gather(case.source)).dt.offset_by("3d")),
        subject=pl.Series("who", ["p", "q", "r", "s"]),
    )  # fmt: skip
    report = gate(both)
    assert failed(report) == []
    assert "one to one: seen" not in [check.name for check in report.checks]


@pytest.mark.parametrize(
    "behind", [None, pl.DataFrame({"other": ["[1,2]"] * 24}), pl.DataFrame({"age": ["[1,2]"] * 23})]
)
def test_representatives_need_what_they_stand_for(behind: pl.DataFrame | None) -> None:
    with pytest.raises(
        VerificationError, match="^The gate was not given what the representatives of 'age' stand for.$"
    ):
        _behind(_rows(hospital_case(behind=behind), slice(0, 24)), "age")
    given = pl.Series("age", ["[1,2]"] * 24)
    assert _behind(_rows(hospital_case(behind=given.to_frame()), slice(0, 24)), "age").equals(given)


def test_codes_are_compared_row_by_row() -> None:
    case = coded()
    mixed = case.released.with_columns(s=pl.Series(["c1", *case.released["s"][1:-1], "c9"]))
    assert "one to one: s" in failed(gate(replace(case, released=mixed)))


def test_starred_rows_have_no_code() -> None:
    case = tokens()
    stars = case.released.with_columns(
        pl.when(pl.Series(case.source == 4)).then(pl.lit("*")).otherwise(pl.col(name)).alias(name)
        for name in case.released.columns
    )
    described = dict(case.manifest) | {"suppressed": "star", "models": []}
    gone = replace(case, released=stars, suppressed=np.array([4]), manifest=described)
    assert failed(gate(gone)) == []


@pytest.mark.parametrize(
    "kind, codes, expected",
    [
        ("randomised", ["W-RA-LINK"], ["rows once", "values", "drawn values", "redrawn cells", "chances"]),
        ("microaggregated", [], ["centroids", "values"]),
    ],
)
def test_other_kinds_have_checks_of_their_own(kind: str, codes: list[str], expected: list[str]) -> None:
    original = pl.DataFrame({"age": [20, 30] * 6, "s": ["a", "b"] * 6})
    columns = [
        {"name": "age", "role": "quasi", "type": "numeric", "cells": "value"},
        {"name": "s", "role": "sensitive", "type": "categorical", "cells": "value"},
    ]
    columns[0] |= {"p": 1.0} if kind == "randomised" else {}
    redrawn = {"redraw": 1} if kind == "randomised" else {}
    source = np.random.default_rng(2).permutation(12)
    case = hospital_case(
        original=original, released=original[source], source=source, n_read=12, identifiers=pl.DataFrame(),
        manifest=manifest(columns, [], kind=kind, acknowledged=codes, **redrawn),
    )  # fmt: skip
    names = [check.name for check in gate(case).checks]
    assert names == [*FIRST_CHECKS, *NAMES, *READ, *expected, *LAST]


def test_dates_shifted_in_one_table_of_groups() -> None:
    """They come from the rows of their values, as in a table of their own."""
    two = shifted_case(True)
    assert two.values_from is not None
    source = two.source[np.argsort(two.source // 3, kind="stable")]
    assert two.apart is not None
    both = pl.DataFrame({"age": two.original["age"].gather(source)}).hstack(two.apart.select("seen", "note", "group"))
    one = replace(
        two, source=source, released=both, apart=None, manifest=dict(two.manifest) | {"publication": "permuted"}
    )
    assert failed(gate(one)) == []
