"""The re-check: what passed the gate passes again, and whatever was tampered with does not."""

from __future__ import annotations

import io
import json
from copy import deepcopy
from datetime import date
from typing import Any

import numpy as np
import polars as pl
import pytest

from shoal.verify.gate import gate
from shoal.verify.recheck import recheck
from shoal.verify.report import GateReport
from tests.verify.cases import (
    COLUMNS,
    check_of,
    failed,
    hospital,
    hospital_case,
    hospital_manifest,
    in_words,
    manifest,
    published,
    sensitive_case,
)

SECRETS = ("flu", "cold", "asthma", "gout", "1000", "100.5")


def through_csv(frame: pl.DataFrame) -> pl.DataFrame:
    """A frame as it is read back from CSV: all text, null for missing."""
    file = io.BytesIO()
    frame.write_csv(file, null_value="<missing>")
    file.seek(0)
    return pl.read_csv(file, infer_schema=False, null_values="<missing>", empty_string_is_null=False)


def through_json(entry: dict[str, Any]) -> dict[str, Any]:
    return json.loads(json.dumps(entry, allow_nan=False))


def tampered(changes: dict[str, tuple[int, Any]]) -> tuple[GateReport, dict[str, Any]]:
    """Re-check of the hospital's release with one cell of some columns changed, rows in source order."""
    case = hospital_case()
    frame = hospital()[1]
    for column, (row, value) in changes.items():
        cells = frame[column].to_list()
        cells[row] = value
        frame = frame.with_columns(pl.Series(column, cells))
    manifest_now = published(case)
    return recheck(frame, manifest_now), manifest_now


def details(report: GateReport) -> str:
    return " ".join(check.detail for check in report.checks if not check.passed)


def assert_no_secret(report: GateReport) -> None:
    for check in report.checks:
        assert not any(secret in check.detail for secret in SECRETS)


# Round trips


def test_what_passed_the_gate_passes_again() -> None:
    case = hospital_case()
    described = through_json(published(case))
    for frame in (
        case.released,
        through_csv(case.released),
        case.released.sample(fraction=1, shuffle=True, seed=1),
    ):
        report = recheck(frame, described)
        assert failed(report) == []
        assert report.passed
        assert report.classes == described["classes"]


def test_every_type_survives_the_round_trip() -> None:
    columns = {
        "whole": (pl.Series([1, 2, None, 4]), "numeric"),
        "real": (pl.Series([0.1, 1e-7, 3.0, 12345.678901]), "numeric"),
        "single": (pl.Series([0.1, 2.5, 3.0, None], dtype=pl.Float32), "numeric"),
        "day": (pl.Series([date(2020, 1, 1), date(1999, 12, 31), None, date(1970, 1, 1)]), "date"),
        "flag": (pl.Series([True, False, None, True]), "categorical"),
        "code": (pl.Series(["1", "1.0", "2.5", None]), "categorical"),
        "text": (pl.Series(["a,b", 'q"x', "", "*"]), "categorical"),
        "level": (pl.Series(["lo", "hi", "hi", None]), "ordinal"),
    }
    described = [{"name": "q", "role": "quasi", "type": "categorical", "cells": "set"}]
    for name, (_, kind) in columns.items():
        described.append({"name": name, "role": "sensitive", "type": kind, "cells": "value"})
    described[-1]["order"] = ["lo", "hi"]  # type: ignore[assignment]
    frame = pl.DataFrame({"q": ["{a|b}"] * 4} | {name: series for name, (series, _) in columns.items()})
    original = frame.with_columns(q=pl.Series(["a", "b", "a", "b"]))
    models = [{"name": "k", "k": 4}, {"name": "entropy-l", "l": 1.5}, {"name": "t-closeness", "t": 0.5}]
    case = hospital_case(
        original=original, released=frame, source=np.arange(4), n_read=4, identifiers=pl.DataFrame(),
        manifest=manifest(described, models),
    )  # fmt: skip
    report = gate(case)
    assert report.passed
    described_now = through_json(published(case, report))
    for back in (frame, through_csv(frame)):
        assert failed(recheck(back, described_now)) == []


def test_starred_rows_survive_the_round_trip() -> None:
    original, released = hospital()
    source = np.random.default_rng(5).permutation(24)
    frame = released[source].cast(pl.String)
    star = pl.Series(source < 6)
    frame = frame.select(
        pl.when(star).then(pl.lit("*")).otherwise(pl.col(name)).alias(name) for name in frame.columns
    )
    case = hospital_case(
        released=frame, source=source, suppressed=np.arange(6), manifest=manifest(suppressed="star")
    )
    described = published(case)
    assert described["classes"]["count"] == 3
    assert recheck(through_csv(frame), described).passed


# Tampering with the release


def test_a_class_that_lost_a_row() -> None:
    described = hospital_manifest()
    report = recheck(hospital()[1][1:], described)
    assert {"rows", "digest of the classes", "digest of disease", "k"} <= set(failed(report))
    assert check_of(report, "k").detail == "k = 6 fails: 1 class has fewer, the smallest 5 rows."
    assert_no_secret(report)
    # Even with the number of rows put right.
    described["data"]["rows"] = 23
    assert not recheck(hospital()[1][1:], described).passed


def test_a_cell_that_was_narrowed() -> None:
    report, _ = tampered({"age": (0, "20")})
    assert "k" in failed(report)
    assert "the smallest 1 row" in check_of(report, "k").detail
    assert "smallest class 1 rows" in check_of(report, "digest of the classes").detail
    assert_no_secret(report)


def test_a_whole_class_that_was_narrowed() -> None:
    frame = hospital()[1].with_columns(age=pl.col("age").replace("[20,25]", "[21,24]"))
    report = recheck(frame, hospital_manifest())
    assert failed(report) == ["digest of the classes", "digest of disease", "digest of income"]
    assert "k: the classes are not those" in check_of(report, "digest of the classes").detail


def test_a_sensitive_value_that_was_changed() -> None:
    report, _ = tampered({"disease": (0, "gout")})
    assert "digest of disease" in failed(report)
    assert check_of(report, "digest of disease").detail == (
        "entropy-l on disease: the counts per class are not those that passed the gate "
        "(smallest class 6 rows)."
    )
    assert "digest of income" not in failed(report)
    assert_no_secret(report)


def test_a_sensitive_value_that_was_changed_so_that_the_model_still_holds() -> None:
    frame = hospital()[1]
    frame = frame.with_columns(disease=pl.col("disease").replace("flu", "gout"))
    report = recheck(frame, hospital_manifest())
    assert failed(report) == ["digest of disease"]


def test_sensitive_values_swapped_between_classes() -> None:
    frame = hospital()[1]
    incomes = frame["income"].to_list()
    incomes[0], incomes[6] = incomes[6], incomes[0]
    report = recheck(frame.with_columns(pl.Series("income", incomes)), hospital_manifest())
    assert failed(report) == ["digest of income"]
    assert "smallest class 6 rows" in details(report)
    assert_no_secret(report)


def test_values_swapped_within_a_class_are_the_same_release() -> None:
    frame = hospital()[1]
    diseases = frame["disease"].to_list()
    diseases[0], diseases[1] = diseases[1], diseases[0]
    assert recheck(frame.with_columns(pl.Series("disease", diseases)), hospital_manifest()).passed


def test_an_extra_column() -> None:
    report = recheck(hospital()[1].with_columns(name=pl.lit("x")), hospital_manifest())
    assert failed(report) == ["columns"]


def test_a_lost_or_moved_column() -> None:
    described = hospital_manifest()
    assert failed(recheck(hospital()[1].drop("disease"), described)) == ["columns"]
    moved = hospital()[1].select("zip", "age", *hospital()[1].columns[2:])
    assert failed(recheck(moved, described)) == ["columns"]


@pytest.mark.parametrize(
    "column, cell",
    [
        ("age", "[25,20]"),
        ("age", "[20,200]"),
        ("age", "young"),
        ("zip", "102*"),
        ("job", "{cook"),
        ("job", "\\cook"),
    ],
)
def test_cells_must_be_readable(column: str, cell: str) -> None:
    report, _ = tampered({column: (0, cell)})
    assert "cells" in failed(report)


def test_cells_of_swapped_columns_are_not_the_same() -> None:
    columns = [{"name": name, "role": "quasi", "type": "categorical", "cells": "set"} for name in ("a", "b")]
    frame = pl.DataFrame({"a": ["x", "x"], "b": ["y", "y"]})
    case = hospital_case(
        original=frame, released=frame, source=np.arange(2), n_read=2, identifiers=pl.DataFrame(),
        manifest=manifest(columns, [{"name": "k", "k": 2}]),
    )  # fmt: skip
    other = frame.select(a="b", b="a")
    assert failed(recheck(other, published(case))) == ["digest of the classes"]


def test_digests_are_not_fooled_by_separators() -> None:
    columns = [{"name": name, "role": "quasi", "type": "categorical", "cells": "set"} for name in ("a", "b")]
    digests = set()
    for one, two in (("x", "1:y"), ("x1:", "y"), ("x\n1:y", ""), ("", "x1:y")):
        frame = pl.DataFrame({"a": [one], "b": [two]})
        case = hospital_case(
            original=frame, released=frame, source=np.arange(1), n_read=1, identifiers=pl.DataFrame(),
            manifest=manifest(columns, []),
        )  # fmt: skip
        digests.add(gate(case).classes["digest"]["quasi"])
    assert len(digests) == 4


# Attested verdicts


def test_what_needs_the_input_rests_on_the_publishers_evidence() -> None:
    models = [
        {"name": "t-closeness", "t": 0.5, "on": "income", "reference": "released"},
        {"name": "t-closeness", "t": 0.5, "on": "income"},
        {"name": "max-range", "limit": 1, "on": "disease"},
    ]
    case = hospital_case(manifest=manifest(models=models))
    assert failed(gate(hospital_case(manifest=manifest(models=models)))) == []
    described = published(case)
    report = recheck(case.released, described)
    assert report.passed
    assert [verdict.by for verdict in report.verdicts] == ["rechecked", "attested", "attested"]
    assert "publisher's evidence" in check_of(report, "t-closeness on income against the input").detail
    assert "publisher's evidence" in check_of(report, "max-range on disease").detail
    described["verdicts"][1]["value"] = None
    assert recheck(case.released, described).passed
    described["verdicts"][1]["holds"] = False
    assert not recheck(case.released, described).passed


def test_people_are_attested_but_rows_are_still_enough() -> None:
    who = pl.Series("who", [f"P{row:04}" for row in range(24)])
    case = hospital_case(subject=who, manifest=manifest(people=True))
    described = published(case)
    assert [verdict["by"] for verdict in described["verdicts"]] == ["attested", "attested"]
    assert recheck(case.released, described).passed
    lie = deepcopy(described)
    lie["models"][0]["k"] = lie["verdicts"][0]["model"]["k"] = lie["verdicts"][0]["limit"] = 7
    report = recheck(case.released, in_words(lie))
    assert failed(report) == ["k"]
    assert "fewer than 7 rows, the smallest 6" in check_of(report, "k").detail


# What a failing report says


def test_no_detail_of_any_failure_holds_a_sensitive_value() -> None:
    models = [
        {"name": "k", "k": 9},
        {"name": "entropy-l", "l": 4},
        {"name": "t-closeness", "t": 0},
        {"name": "alpha-k-simple", "alpha": 0.1, "k": 2, "value": "flu", "on": "disease"},
        {"name": "alpha-k-complete", "alpha": {"flu": 0.1}, "k": 2, "on": "disease"},
        {"name": "variance", "v": 1e9, "on": "income"},
        {"name": "max-range", "limit": 0, "on": "income"},
    ]
    case = hospital_case(manifest=manifest(COLUMNS, models))
    report = gate(case)
    assert not report.passed
    assert_no_secret(report)
    assert_no_secret(recheck(case.released, published(case, report)))


def test_failing_classes_are_counted() -> None:
    case = sensitive_case([["a", "a"], ["a", "b"], ["b", "b", "b"]], {"name": "distinct-l", "l": 2})
    report = gate(case)
    verdict = report.verdicts[0]
    assert (verdict.classes, verdict.smallest) == (2, 2)
    assert (
        check_of(report, "distinct-l on s").detail
        == "distinct-l = 2 on s fails in 2 classes, the smallest 2 rows."
    )
