"""Tables that the gate was not told of, gates that saw nothing, and what only one of several columns or tables has."""

from __future__ import annotations

import numpy as np
import polars as pl
import pytest

from shoal.verify.gate import Gate, _rows, gate
from shoal.verify.manifest import read_claims
from tests.verify.cases import check_of, failed, hospital_case, manifest, sensitive_case
from tests.verify.test_two_tables import COLUMNS, changed, people, two_tables
from tests.verify.whole import facts_of


def test_a_table_that_the_manifest_does_not_have_is_looked_at() -> None:
    """Left out of sight, it would be written beside the release."""
    extra = pl.DataFrame({"disease": ["flu"]})
    assert "sensitive columns" in failed(gate(hospital_case(apart=extra, values_from=np.array([0]))))


def test_a_gate_that_saw_no_batch_says_nothing() -> None:
    case = hospital_case()
    found = Gate(case)
    found.read(_rows(case, slice(0, 24)))
    with pytest.raises(ValueError, match="^the gate has seen no batch$"):
        found.report()


def test_a_release_without_rows_has_nothing_to_hold_on() -> None:
    case = hospital_case()
    none = hospital_case(released=case.released[:0], source=case.source[:0], suppressed=np.arange(24))
    assert {"classes", "k"} <= set(failed(gate(none)))
    assert all(check.passed for check in gate(none).checks if check.name in ("rows", "columns", "order"))


def test_labels_of_either_table_stand_in_the_release() -> None:
    """The manifest shows the paths of values that stand in the second table alone."""
    shown = [["flu", "lung", "*"], ["cold", "lung", "*"], ["asthma", "lung", "*"]]
    columns = [entry | ({"hierarchy": shown} if entry["name"] == "note" else {}) for entry in COLUMNS]
    said = dict(two_tables().manifest) | {"columns": columns}
    case = two_tables(manifest=said, hierarchies={"note": [*shown, ["gout", "joint", "*"]]})
    assert failed(gate(case)) == []
    other = people().with_columns(note=pl.Series(["flu", "cold", "gout"] * 8))
    assert "hierarchies" in failed(gate(changed(two_tables(other), manifest=said, hierarchies=case.hierarchies)))


def test_a_release_without_the_column_of_a_hierarchy_is_told_so() -> None:
    """Nothing was seen of its cells, which is no reason to fail otherwise."""
    shown = [["north", "up", "*"], ["south", "down", "*"]]
    columns = [entry | ({"hierarchy": shown} if entry["name"] == "ward" else {}) for entry in COLUMNS]
    said = dict(two_tables().manifest) | {"columns": columns}
    whole = {"ward": [*shown, ["west", "side", "*"]]}
    case = two_tables(manifest=said, hierarchies=whole, released=two_tables().released.drop("ward"))
    assert {"columns", "hierarchies"} <= set(failed(gate(case)))


def test_what_one_table_holds_is_not_added_to_what_the_other_holds() -> None:
    """Both have the column of the groups, and a name in it is told of each."""
    case = two_tables()
    assert case.apart is not None
    named = {str(group): f"Ann Berg{chr(97 + group)}" if group == 0 else str(group) for group in range(8)}
    group = pl.col("group").cast(pl.String).replace(named)
    hidden = pl.DataFrame({"name": ["Ann Berga", *(f"Person{row:03}" for row in range(1, 24))]})
    tables = {"released": case.released.with_columns(group), "apart": case.apart.with_columns(group)}
    report = gate(changed(case, identifiers=hidden, **tables))
    told = "3 cells of 'group' hold somebody's 'name'"
    assert check_of(report, "identifiers of anybody").detail == (
        f"Identifiers are left in the release: {told}; {told}."
    )


def test_only_columns_that_a_model_compares_with_the_input_are_counted_there() -> None:
    """Of two sensitive columns one has a model against the input; the other's shares are those of the release."""
    columns = [
        {"name": "q", "role": "quasi", "type": "categorical", "cells": "set"},
        *({"name": name, "role": "sensitive", "type": "categorical", "cells": "value"} for name in ("s0", "s1")),
    ]
    models = [{"name": "t-closeness", "t": 1, "on": "s0"}, {"name": "distinct-l", "l": 2, "on": "s1"}]
    case = sensitive_case(
        [[("a", "x"), ("b", "y")]], models[0], others=[("c", "z")], manifest=manifest(columns, models, order="kept")
    )
    report = gate(case)
    assert failed(report) == []
    assert [verdict.value for verdict in report.verdicts] == [pytest.approx(1 / 3), 2.0]


def test_the_input_is_only_known_at_the_gate() -> None:
    """And there only of columns that a model compares with it."""
    case = sensitive_case([["a", "b"]], {"name": "distinct-l", "l": 2})
    claims = read_claims(case.manifest)
    for facts in (facts_of(case.released, claims), facts_of(case.released, claims, original=case.original)):
        for ask in (facts.table, facts.answering):
            with pytest.raises(ValueError, match="^the input is only known at the gate$"):
                ask(["s"], "input")
