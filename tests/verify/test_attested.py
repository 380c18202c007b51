"""Attested verdicts that the file itself refutes, and none refuted that holds."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
import polars as pl
import pytest

import shoal
from shoal.verify.counts import flattest
from shoal.verify.facts import Histogram
from shoal.verify.gate import gate
from shoal.verify.recheck import recheck
from tests.conftest import many
from tests.verify.cases import check_of, published, sensitive_case

SIX = ["a", "b", "c", "d", "e", "f"]
TREE = [[value, value.upper(), "*"] for value in SIX]
POLICY = {"intervals": [["1", "3"], ["4", "6"]], "else": "value"}


def claimed(
    classes: Sequence[Sequence[Any]], model: Mapping[str, Any], *, people: bool = True, k: int = 1, **column: Any
) -> Any:
    """The re-check of a release whose manifest claims that a model holds, with people counted or values coded."""
    case = sensitive_case(classes, model, column=column, subjects=range(sum(map(len, classes))) if people else None)
    models = [model, {"name": "k", "k": k}]
    limits = published(case)["verdicts"] + [{"model": models[1], "on": None, "value": None, "limit": k}]
    by = {True: "attested", False: "rechecked"}
    verdicts = [
        entry | {"holds": True, "by": by[people or (entry["on"] is not None)], "value": None} for entry in limits
    ]
    if not people:
        verdicts[-1]["value"] = min(map(len, classes))
    described = published(case) | {"models": models, "verdicts": verdicts}
    return recheck(case.released, described)


def refuted(classes: Sequence[Sequence[Any]], model: Mapping[str, Any], **options: Any) -> bool:
    report = claimed(classes, model, **options)
    assert check_of(report, "verdicts").passed, check_of(report, "verdicts").detail
    found = [check for check in report.checks if check.name.startswith(model["name"])]
    assert found
    assert not any(value in check.detail for check in found for value in ("'a'", "'b'"))
    return not all(check.passed for check in found)


@pytest.mark.parametrize(
    "classes, model, options",
    [
        ([SIX], {"name": "p-sensitive", "p": 50, "k": 2}, {}),
        ([SIX], {"name": "distinct-l", "l": 7}, {}),
        ([SIX], {"name": "entropy-l", "l": 1000}, {}),
        ([["a", "a", "a", "a", "b"]], {"name": "entropy-l", "l": 2}, {"k": 5}),
        ([["a", "a", "b", "b"]], {"name": "recursive-cl", "c": 9, "l": 3}, {}),
        ([["a", "a", "a", "b", "c"]], {"name": "recursive-cl", "c": 1, "l": 2}, {"k": 5}),
        ([list("aabcd")], {"name": "alpha-k-general", "alpha": 0.01, "k": 2}, {}),
        ([list("aaaab")], {"name": "alpha-k-general", "alpha": 0.4, "k": 5}, {}),
        ([list("aabcd")], {"name": "alpha-k-simple", "alpha": 0.1, "k": 2, "value": "a"}, {}),
        ([list("aabcd")], {"name": "alpha-k-complete", "alpha": {"b": 0.1}, "k": 2}, {}),
        ([list("aabb"), list("aabc")], {"name": "t-closeness", "t": 0}, {}),
        ([list("aaab"), list("abbb")], {"name": "t-closeness", "t": 0.1, "distance": "equal"}, {"k": 4}),
        ([list("aaab"), list("abbb")], {"name": "t-closeness", "t": 0.05, "distance": "kl"}, {"k": 4}),
        ([list("aaab"), list("abbb")], {"name": "t-closeness", "t": 0.1, "reference": "released"}, {"k": 4}),
        ([[1, 2], [5, 6]], {"name": "t-closeness", "t": 0}, {"type": "numeric"}),
        ([[1, 2], [1, 2]], {"name": "k-e", "k": 3, "e": 1}, {"type": "numeric"}),
        ([[1, 1]], {"name": "variance", "v": 1}, {"type": "numeric"}),
        ([[1, 2, 9]], {"name": "eps-m", "eps": 1, "m": 3}, {"type": "numeric"}),
        ([[2, 2], [1, 6]], {"name": "max-range", "limit": 0.5}, {"type": "numeric"}),
        ([[1, 1, 2]], {"name": "range-diversity", "p": 0.3}, {"type": "numeric", "policy": POLICY}),
        ([[1, 2, 3]], {"name": "range-confidence", "p": 0.5}, {"type": "numeric", "policy": POLICY}),
        ([[1, 4, 5]], {"name": "range-confidence", "p": 0.2}, {"type": "numeric", "policy": POLICY}),
        ([SIX], {"name": "alpha-k-general", "alpha": 0.5, "k": 7}, {}),
    ],
    ids=lambda part: part["name"] if isinstance(part, dict) and "name" in part else "",
)
def test_a_claim_about_people_that_the_rows_refute(
    classes: Sequence[Sequence[Any]], model: dict[str, Any], options: dict[str, Any]
) -> None:
    assert refuted(classes, model, **options)


@pytest.mark.parametrize(
    "model, column",
    [
        ({"name": "distinct-l", "l": 6}, {}),
        ({"name": "p-sensitive", "p": 2, "k": 2}, {}),
        ({"name": "entropy-l", "l": 2}, {}),
        ({"name": "recursive-cl", "c": 3, "l": 2}, {}),
        ({"name": "alpha-k-general", "alpha": 0.9, "k": 2}, {}),
        ({"name": "t-closeness", "t": 0}, {}),
        ({"name": "k-e", "k": 2, "e": 0}, {"type": "numeric", "coded": "graded"}),
        ({"name": "k-e", "k": 1, "e": 5}, {"type": "numeric", "coded": "graded"}),
        ({"name": "variance", "v": 1}, {"type": "numeric", "coded": "graded"}),
        ({"name": "eps-m", "eps": 1, "m": 2}, {"type": "numeric", "coded": "graded"}),
        ({"name": "max-range", "limit": 0.5}, {}),
        ({"name": "m-invariance", "m": 2}, {}),
    ],
    ids=lambda part: part.get("name", "") if isinstance(part, dict) else "",
)
@pytest.mark.parametrize("answers", [True, False])
def test_codes_stand_one_for_one(model: dict[str, Any], column: dict[str, Any], answers: bool) -> None:
    """A class of one code has one value, unless a code may stand for something that is no answer."""
    numeric = column.get("type") == "numeric"
    classes = [[1.5, 1.5, 1.5], [2.5, 3.5, 4.5]] if numeric else [["x1"] * 3, ["x1", "x2", "x3"]]
    entry = {"coded": "mapping"} | column | ({"answers": True} if answers else {})
    original = sensitive_case(classes, model, column={key: value for key, value in column.items() if key != "coded"})
    columns = [dict(one) for one in original.manifest["columns"]]
    columns[1] |= entry
    kind = {"kind": "pseudonymised", "made": "generalised", "acknowledged": ["W-PP-REV"]}
    described = published(original) | kind | {"columns": columns}
    verdicts = [one | {"holds": True, "by": "attested", "value": None} for one in described["verdicts"]]
    report = recheck(original.released, described | {"verdicts": verdicts})
    assert check_of(report, "verdicts").passed
    told = [check for check in report.checks if check.name.startswith(model["name"])]
    assert all(check.passed for check in told) is not answers


def test_everybody_guards_a_value_that_all_of_a_class_have() -> None:
    column = {"hierarchy": TREE, "cells": "label"}
    case = sensitive_case([["a", "a"], ["b", "c"]], {"name": "personalised", "p": 0.5, "guard_level": 0}, column=column)
    described = published(case)
    described["verdicts"][0] |= {"holds": True, "value": None}
    assert not check_of(recheck(case.released, described), "personalised on s").passed


def test_a_value_lifted_to_the_root_is_not_a_missing_one() -> None:
    """Beside a leaf it hides whose that is; without it the class would have one value, which all guard."""
    model = {"name": "personalised", "p": 0.6, "guard_level": 0}
    case = sensitive_case([["*", "a", "*"], ["b", "c"]], model, column={"hierarchy": TREE, "cells": "label"})
    described = published(case)
    described["verdicts"][0] |= {"holds": True, "value": None}
    assert check_of(recheck(case.released, described), "personalised on s").passed


def test_a_star_covers_everything() -> None:
    cells = pl.Series(["*"] * 3 + ["[1,2]"] * 3 + ["[3,4]"] * 3)
    columns = [{"name": "q", "role": "quasi", "type": "numeric", "cells": "interval"}]
    original = pl.DataFrame({"q": [1, 2, 3, 1, 2, 2, 3, 4, 4]})
    case = sensitive_case([["a"] * 9], {"name": "worst-group-utility", "u": 0.5})
    manifest = dict(case.manifest) | {"columns": columns}
    report = gate(type(case)(**(vars(case) | {
        "original": original, "released": pl.DataFrame({"q": cells}), "manifest": manifest})))  # fmt: skip
    described = manifest | {
        "data": {"rows": 9}, "classes": report.classes,
        "verdicts": [{"model": manifest["models"][0], "on": None, "holds": True, "by": "attested", "value": None,
                      "limit": 0.5}],
    }  # fmt: skip
    assert not check_of(recheck(pl.DataFrame({"q": cells}), described), "worst-group-utility").passed


MODELS: list[tuple[dict[str, Any], str, str]] = [
    ({"name": "distinct-l"}, "l", "categorical"),
    ({"name": "p-sensitive", "k": 1}, "p", "categorical"),
    ({"name": "entropy-l"}, "l", "categorical"),
    ({"name": "recursive-cl", "l": 2}, "c", "categorical"),
    ({"name": "alpha-k-general", "k": 1}, "alpha", "categorical"),
    ({"name": "alpha-k-simple", "k": 1, "value": "1"}, "alpha", "categorical"),
    ({"name": "t-closeness", "distance": "equal"}, "t", "categorical"),
    ({"name": "t-closeness", "distance": "kl"}, "t", "categorical"),
    ({"name": "t-closeness"}, "t", "numeric"),
    ({"name": "range-diversity"}, "p", "numeric"),
    ({"name": "range-confidence"}, "p", "numeric"),
    ({"name": "max-range"}, "limit", "numeric"),
    ({"name": "variance"}, "v", "numeric"),
    ({"name": "eps-m", "eps": 1}, "m", "numeric"),
]


def tightest(parameter: str, value: float, name: str) -> float | None:
    """The parameter that a figure of the gate just satisfies, None where there is none."""
    if not np.isfinite(value) or value <= 0:
        return None
    if name in ("distinct-l", "p-sensitive"):
        return int(value)
    if parameter == "m":
        return int(1 / value + 1e-9)
    if parameter == "c":
        return value * (1 + 1e-9)
    return max(value, 1.0) if parameter == "l" else value


@pytest.mark.parametrize("model, parameter, kind", MODELS, ids=[f"{one[0]['name']} {one[2]}" for one in MODELS])
def test_nothing_is_refuted_that_holds(model: dict[str, Any], parameter: str, kind: str) -> None:
    """Random people with several rows each; the limit is the very figure that the gate found."""
    rng = np.random.default_rng(7)
    tried = 0
    for _ in range(many(5, 12)):
        classes = [list(rng.integers(1, 5, rng.integers(2, 9)).tolist()) for _ in range(rng.integers(1, 4))]
        if kind == "categorical":
            classes = [[str(value) if rng.random() > 0.1 else None for value in group] for group in classes]
        rows = sum(map(len, classes))
        subjects = rng.integers(0, max(2, rows * 2 // 3), rows).tolist()
        column = {"type": kind} | ({"policy": POLICY} if model["name"].startswith("range-") else {})
        loose = {"l": 1, "p": 1, "c": 1e9, "alpha": 1.0, "t": 1e9, "limit": 1.0, "v": 0, "m": 1}[parameter]
        first = gate(sensitive_case(classes, model | {parameter: loose}, column=column, subjects=subjects))
        limit = tightest(parameter, max(verdict.value for verdict in first.verdicts), model["name"])
        if limit is None:
            continue
        exact = {parameter: limit}
        case = sensitive_case(classes, model | exact, column=column, subjects=subjects)
        report = gate(case)
        if not report.passed:
            continue
        tried += 1
        back = recheck(case.released, published(case, report))
        assert [check.detail for check in back.checks if not check.passed] == []
    assert tried


@pytest.mark.parametrize("distance", ["equal", "variational", "kl"])
def test_rows_near_their_input_are_not_refuted(distance: str) -> None:
    """With rows suppressed, at the very distance that the gate found."""
    rng = np.random.default_rng(9)
    for _ in range(8):
        classes = [[str(value) for value in rng.integers(1, 5, rng.integers(2, 9))] for _ in range(rng.integers(2, 5))]
        others = [str(value) for value in rng.integers(1, 5, rng.integers(0, 9))]
        model = {"name": "t-closeness", "distance": distance}
        loose = gate(sensitive_case(classes, model | {"t": 9}, others=others))
        case = sensitive_case(classes, model | {"t": loose.verdicts[0].value}, others=others)
        back = recheck(case.released, published(case))
        assert [check.detail for check in back.checks if not check.passed] == []


def test_classes_without_answers_are_no_measure_of_the_others() -> None:
    """They hold however far they are from the input, so suppressing the others takes the released rows far from it."""
    rows = [*([None] * 20), *(["a"] * 6), *([None] * 4), *(["a"] * 60)]
    frame = pl.DataFrame({"q": ["m"] * 20 + ["n"] * 10 + [f"x{row // 5}" for row in range(60)], "s": rows})
    tree = [[value, "*"] for value in frame["q"].unique().sort()]
    table = shoal.read(frame, quasi=["q"], sensitive=["s"], hierarchies={"q": tree}, missing="value")
    release = shoal.anonymize(
        table, algorithm=shoal.Optimal(node=[0], suppression_limit=1.0), seed=1, acknowledge=["W-UNMODELLED:s"],
        models=[shoal.KAnonymity(k=10), shoal.TCloseness(t=0.14)],
    )  # fmt: skip
    assert release.frame["q"].n_unique() == 2
    back = recheck(release.frame, {**release.manifest, "data": {"rows": release.frame.height}})
    assert [check.detail for check in back.checks if not check.passed] == []


def test_the_flattest_histogram_against_a_search() -> None:
    """No counts within the rows, however dealt, have a larger entropy."""
    rng = np.random.default_rng(3)
    for _ in range(60):
        rows = rng.integers(1, 6, rng.integers(1, 5))
        least = int(rng.integers(1, rows.sum() + 1))
        zeros = np.zeros(len(rows), dtype=np.int64)
        view = Histogram(zeros, np.arange(len(rows)), rows, rows, np.ones(len(rows), bool), np.array([rows.sum()]))
        flat = flattest(view, np.array([least])).count
        assert (flat <= rows).all()
        assert flat.sum() >= min(max(least, len(rows)), rows.sum()) - 1e-9
        best = _entropy(flat)
        for dealt in np.ndindex(*rows):
            counts = np.array(dealt) + 1
            if counts.sum() >= least:
                assert _entropy(counts) <= best + 1e-9


def _entropy(counts: np.ndarray) -> float:
    share = counts / counts.sum()
    return float(-(share * np.log(share)).sum())
