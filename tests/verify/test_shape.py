"""The outer shape of a manifest: the nearest that is accepted and the nearest that is refused, part by part."""

from __future__ import annotations

import re
from typing import Any

import pytest

from shoal.errors import VerificationError
from shoal.verify.manifest_schema import check_manifest

COLUMN = {"name": "q", "role": "quasi", "type": "categorical", "cells": "value"}
TOKEN = {"name": "who", "role": "pseudonym", "type": "categorical", "cells": "value", "coded": "token"}
VERDICT = {"model": {}, "on": None, "holds": True, "by": "rechecked", "value": 3, "limit": 3}
FIGURE = {"name": "unique", "value": 0.5, "interval": [0, 1], "baseline": None, "sentence": "50%"}
HASH = "0123456789abcdef" * 4


def manifest(**changes: Any) -> dict[str, Any]:
    """The smallest manifest; a change to ``...`` takes a part out."""
    found: dict[str, Any] = {
        "shoal": "1.0", "manifest": 1, "kind": "generalised", "source": None, "statement": "", "not_protected": [],
        "data": {"file": "release.csv", "format": "csv", "rows": 3, "sha256": HASH},
        "report": {"file": "report.html", "sha256": HASH}, "suppressed": "drop", "order": "shuffled", "people": False,
        "columns": [COLUMN], "models": [], "verdicts": [], "classes": {}, "acknowledged": [],
    }  # fmt: skip
    found |= changes
    if "classes" not in changes and isinstance(found["columns"], list):
        entries = [one for one in found["columns"] if isinstance(one, dict) and one.get("role") == "sensitive"]
        digest = dict.fromkeys(["quasi", *(one["name"] for one in entries)], "")
        found["classes"] = {"count": 1, "smallest": 3, "digest": digest}
    return {key: value for key, value in found.items() if value is not ...}


def data(**changes: Any) -> dict[str, Any]:
    return manifest(data=manifest()["data"] | changes)


def column(**changes: Any) -> dict[str, Any]:
    return manifest(columns=[COLUMN, COLUMN | {"name": "r"} | changes])


def figure(**changes: Any) -> dict[str, Any]:
    return manifest(measured=[FIGURE, FIGURE | changes])


def built(rule: Any) -> dict[str, Any]:
    return column(hierarchy=[["a", "*"]], builder=rule)


def apart(**changes: Any) -> dict[str, Any]:
    table = {"file": "sensitive.csv", "rows": 3, "sha256": HASH} | changes
    return data(sensitive={key: value for key, value in table.items() if value is not ...})


def redrawn(*chances: Any, token: bool = False, **changes: Any) -> dict[str, Any]:
    """A randomised release whose columns have these chances."""
    columns = [COLUMN | {"name": f"q{at}"} | ({} if p is None else {"p": p}) for at, p in enumerate(chances)]
    return manifest(columns=columns + [TOKEN] * token, **({"kind": "randomised", "redraw": 1} | changes))


def refused(given: Any, message: str) -> None:
    with pytest.raises(VerificationError, match=f"^{re.escape(message)}$"):
        check_manifest(given)


PARTS = list(manifest())
ACCEPTED: dict[str, dict[str, Any]] = {
    "smallest": manifest(),
    "source": manifest(source="hospital.csv"),
    "version": manifest(shoal="10.20.3rc1+local.2"),
    "date": manifest(date="2026-01-31"),
    "texts": manifest(not_protected=["a"], acknowledged=["b", "c"]),
    "no rows": data(rows=0),
    "parquet": data(file="release.parquet", format="parquet"),
    "formulas": data(formulas="escaped"),
    "apart": apart(),
    "apart in parquet": manifest(data={
        "file": "release.parquet", "format": "parquet", "rows": 3, "sha256": HASH,
        "sensitive": {"file": "sensitive.parquet", "rows": 0, "sha256": HASH}}),
    "bucketised": manifest(kind="bucketised", group="g", publication="tables"),
    "made bucketised": manifest(
        kind="pseudonymised", made="bucketised", group="g", publication="tables", columns=[COLUMN, TOKEN]),
    "randomised": redrawn(1.0),
    "made randomised": redrawn(0.75, 0.25, token=True, kind="pseudonymised", made="randomised"),
    "some redrawn": redrawn(0.5, 0.5, 0, redraw=2),
    "counterfeits": manifest(counterfeits=0),
    "parts": manifest(
        models=[{"name": "k", "k": 3}], verdicts=[VERDICT],
        classes={"count": 1, "smallest": 3, "digest": {"quasi": ""}}),
    "attested": manifest(verdicts=[VERDICT | {"by": "attested", "value": None}]),
    "figures": figure(),
    "figure at an end": figure(value=0, interval=[0, 0]),
    "figure at the other": figure(value=1.0, baseline=0.25),
    "bounds": column(type="numeric", cells="bounds", columns=["a", "b"], null="*"),
    "representatives": column(type="numeric", cells="representative", null="*"),
    "sets": column(cells="set", several="{|}"),
    "intervals": column(type="numeric", cells="interval", several="[,]"),
    "hierarchy": column(hierarchy=[["a", "*"]], whole=True),
    "shifted": column(role="sensitive", type="date", coded="shifted", days=3, answers=True),
    "prefix": built({"prefix": [1, 2], "mask": "*"}),
    "widths": built({"widths": ["5", "7.5"], "origin": "-1"}),
    "edges": built({"intervals": {"edges": [["0", "5", "10"], ["0", "10"]]}}),
    "dates": built({"dates": ["month", "year"]}),
    "quantiles": built({"quantiles": [4, 2]}),
    "order and more": column(type="ordinal", order=["a"], policy={"level": 0}, hierarchy=[["a"]]),
    "domain": column(type="numeric", domain=["1", "2"]),
    "non-answers": column(role="sensitive", non_answers=["a"]),
}  # fmt: skip


@pytest.mark.parametrize("name", ACCEPTED)
def test_manifests_that_are_in_shape(name: str) -> None:
    check_manifest(ACCEPTED[name])


@pytest.mark.parametrize("part", PARTS)
def test_a_part_that_is_missing_or_of_another_kind(part: str) -> None:
    if part == "manifest":
        told = wrong = "The manifest is not of version 1: verify it with the Shoal that wrote it."
    else:
        told, wrong = f"The manifest lacks '{part}'.", f"The '{part}' of the manifest is of the wrong kind."
    refused(manifest(**{part: ...}), told)
    refused(manifest(**{part: 3}), wrong)


@pytest.mark.parametrize(
    "part, value",
    [("date", 3), ("made", 3), ("group", 3), ("publication", 3), ("redraw", True), ("redraw", 1.5), ("measured", {}),
     ("counterfeits", "1"), ("counterfeits", False), ("people", 1)],
)  # fmt: skip
def test_a_part_that_need_not_be_there_is_of_its_kind(part: str, value: Any) -> None:
    refused(manifest(**{part: value}), f"The '{part}' of the manifest is of the wrong kind.")


@pytest.mark.parametrize("version", [0, 2, True, 1.0, "1"])
def test_another_version(version: Any) -> None:
    refused(manifest(manifest=version), "The manifest is not of version 1: verify it with the Shoal that wrote it.")


def unknown(where: str, key: str) -> str:
    return f"{where} has a key '{key}' that is not known, so nothing checks it."


FILE = "The 'data' of the manifest must be the file release.csv or release.parquet."
APART = "The table of sensitive values in the manifest must be the file sensitive.csv or sensitive.parquet."
ROWS = "The 'data' of the manifest must give its number of rows."
HASHED = "The 'data' of the manifest must give its SHA-256 in hexadecimal."
FORMULAS = "The 'formulas' of the manifest's data can only be 'escaped', in a CSV file."
NAMES = "The 'columns' of the manifest must be at least one, each named once."
WHOLE = "The 'measured' of the manifest must have all of their parts."
NUMBERS = "The 'measured' of the manifest must be numbers."
OUTSIDE = "The 'measured' of the manifest has a figure outside its interval."
ISO = "The 'date' of the manifest must be an ISO date."
SHOAL = "The 'shoal' of the manifest must be a version."
CHANCES = "The manifest must give each quasi-identifier its chance 'p' to be redrawn, in all 1."
DRAWN = "The 'redraw' of the manifest must be a number of its columns with a chance above 0."
BUILT = "Column 2 of the manifest has a 'builder' that says nothing about it."
REFUSED: list[tuple[Any, str]] = [
    ([], "The manifest is not a JSON object."),
    (None, "The manifest is not a JSON object."),
    (manifest(zeal=1, also=2), unknown("The manifest", "also")),
    (manifest(group="g"), unknown("The manifest", "group")),
    (manifest(kind="randomised", publication="tables"), unknown("The manifest", "publication")),
    (manifest(kind="bucketised", redraw=1), unknown("The manifest", "redraw")),
    (manifest(kind="bucketised", made="generalised", group="g"), unknown("The manifest", "group")),
    (manifest(kind="randomised", made="generalised", redraw=1), unknown("The manifest", "redraw")),
    *[(redrawn(*given), CHANCES) for given in ((None,), (0.5, None), (0.5, 0.4), (1.5, -0.5), (True,), ("1",))],
    *[(redrawn(0.5, 0.5, 0.0, redraw=redraw), DRAWN) for redraw in (0, 3, ...)],
    (redrawn(0.6, 0.4, redraw=2), "The manifest redraws several columns of a record, and their chances are not equal."),
    (redrawn(1.0, kind="generalised", redraw=...),
     "The manifest gives chances to be redrawn, and nothing of the release was."),
    (column(role="sensitive", p=1.0), "Column 2 of the manifest has a 'p' that says nothing about it."),
    (manifest(not_protected=["a", 1]), "The 'not_protected' of the manifest must be texts."),
    (manifest(acknowledged=["a", 1]), "The 'acknowledged' of the manifest must be texts."),
    (manifest(shoal="1"), SHOAL),
    (manifest(shoal="v1.0"), SHOAL),
    (manifest(shoal="1.0 (certified)"), SHOAL),
    (manifest(date="today"), ISO),
    (manifest(date="20260131"), ISO),
    (manifest(date="2026-02-30"), ISO),
    # Data
    (data(format="xls", file="release.xls"), FILE),
    (data(file="release.parquet"), FILE),
    (data(file="../release.csv"), FILE),
    (data(rows=-1), ROWS),
    (data(rows=True), ROWS),
    (data(rows=None), ROWS),
    (data(sha256=HASH[1:]), HASHED),
    (data(sha256=HASH + "0"), HASHED),
    (data(sha256=HASH.upper()), HASHED),
    (data(sha256=None), HASHED),
    (data(certified=True), unknown("The manifest's 'data'", "certified")),
    (data(formulas="kept"), FORMULAS),
    (data(file="release.parquet", format="parquet", formulas="escaped"), FORMULAS),
    (data(sensitive=[]), APART),
    (apart(file="sensitive.parquet"), APART),
    (apart(file=...), APART),
    (apart(rows=-1), ROWS),
    (apart(rows=...), ROWS),
    (apart(sha256=""), HASHED),
    (apart(format="csv"), unknown("The manifest's table of sensitive values", "format")),
    (apart(formulas="escaped"), unknown("The manifest's table of sensitive values", "formulas")),
    # Report
    (manifest(report={"file": "index.html", "sha256": HASH}),
     "The 'report' of the manifest must be the file report.html."),
    (manifest(report={"file": "report.html"}), "The 'report' of the manifest must give its SHA-256 in hexadecimal."),
    (manifest(report={"file": "report.html", "sha256": HASH, "by": 1}), unknown("The manifest's 'report'", "by")),
    # Columns
    (manifest(columns=[]), NAMES),
    (manifest(columns=[COLUMN, COLUMN]), NAMES),
    (manifest(columns=[COLUMN, 3]), "Column 2 of the manifest has no name."),
    (column(name=3), "Column 2 of the manifest has no name."),
    (manifest(columns=[{"role": "quasi"}]), "Column 1 of the manifest has no name."),
    (column(role="identifier"),
     "The role of column 2 of the manifest must be one of quasi, sensitive, neutral, pseudonym."),
    (column(type="number"),
     "The type of column 2 of the manifest must be one of numeric, date, ordinal, categorical."),
    (column(cells="text"),
     "The cells of column 2 of the manifest must be one of interval, label, set, value, bounds, representative, "
     "items."),
    (column(note=1), unknown("Column 2 of the manifest", "note")),
    *((column(**{key: value}), f"Column 2 of the manifest has a '{key}' that says nothing about it.")
      for key, value in (("columns", ["a", "b"]), ("null", "*"), ("whole", True), ("days", 3), ("answers", True),
                         ("builder", {"dates": []}))),
    (column(cells="set"),
     "Column 2 of the manifest does not say how several values are written: verify it with the Shoal that wrote it."),
    (column(several="{|}"), "Column 2 of the manifest has a 'several' that says nothing about it."),
    (column(days=3, whole=True), "Column 2 of the manifest has a 'whole' that says nothing about it."),
    (column(type="numeric", cells="bounds", null=""),
     "Column 2 of the manifest has a 'null' that says nothing about it."),
    (column(role="sensitive", answers=True), "Column 2 of the manifest has a 'answers' that says nothing about it."),
    (column(role="neutral", coded="mapping", answers=True),
     "Column 2 of the manifest has a 'answers' that says nothing about it."),
    (column(role="sensitive", coded="mapping", days=3),
     "Column 2 of the manifest has a 'days' that says nothing about it."),
    *((built(rule), BUILT) for rule in (
        None, [], {}, {"dates": [], "note": 1}, {"prefix": [1]}, {"mask": "*"}, {"dates": ["month", None]},
        {"dates": "month"}, {"quantiles": [[4]]}, {"prefix": [1], "mask": ["*"]}, {"widths": [5], "origin": None},
        {"intervals": []}, {"intervals": {"edges": [], "note": 1}}, {"intervals": {"edges": 3}},
        {"intervals": {"edges": [3]}}, {"intervals": {"edges": [[1], [[1]]]}},
        {"dates": ["safe"]}, {"prefix": ["safe"], "mask": "*"}, {"prefix": [1], "mask": "**"}, {"quantiles": [True]},
        {"widths": ["safe"], "origin": "0"}, {"widths": ["5"], "origin": 0}, {"intervals": {"edges": [["0", "safe"]]}},
        {"intervals": {"edges": []}}, {"prefix": [-1], "mask": "*"})),
    *((column(**{key: value}), f"Column 2 of the manifest has a '{key}' that says nothing about it.")
      for key, value in (("order", ["safe"]), ("domain", ["a", "b"]), ("non_answers", ["safe"]))),
    # Models, verdicts and figures
    (manifest(models=[{}, 3]), "The 'models' of the manifest must be JSON objects."),
    (manifest(verdicts=[VERDICT, None]), "The 'verdicts' of the manifest must be JSON objects."),
    (manifest(measured=[FIGURE, []]), "The 'measured' of the manifest must be JSON objects."),
    (manifest(verdicts=[VERDICT | {"note": 1}]), unknown("An entry of the manifest's 'verdicts'", "note")),
    (figure(note=1), unknown("An entry of the manifest's 'measured'", "note")),
    (manifest(classes=manifest()["classes"] | {"largest": 9}), unknown("The manifest's 'classes'", "largest")),
    (manifest(verdicts=[VERDICT, VERDICT | {"by": "attested"}]),
     "The manifest gives a figure to an attested verdict, which nothing checks."),
    (manifest(measured=[FIGURE, {key: FIGURE[key] for key in FIGURE if key != "baseline"}]), WHOLE),
    (figure(name=3), WHOLE),
    (figure(sentence=None), WHOLE),
    (figure(interval=[0]), WHOLE),
    (figure(interval=[0, 0.5, 1]), WHOLE),
    (figure(interval=(0, 1)), WHOLE),
    (figure(value=None), NUMBERS),
    (figure(value=True), NUMBERS),
    (figure(interval=[0, "1"]), NUMBERS),
    (figure(interval=[False, 1]), NUMBERS),
    (figure(baseline="0"), NUMBERS),
    (figure(baseline=False), NUMBERS),
    (figure(interval=[0.6, 1]), OUTSIDE),
    (figure(interval=[0, 0.4]), OUTSIDE),
]  # fmt: skip


@pytest.mark.parametrize("given, message", REFUSED)
def test_manifests_that_are_refused(given: Any, message: str) -> None:
    refused(given, message)
