"""The re-check of a manifest that was altered or broken, beside a release that was not."""

from __future__ import annotations

from typing import Any

import pytest

from shoal.errors import VerificationError
from shoal.verify.recheck import recheck
from shoal.verify.report import GateReport
from tests.verify.cases import check_of, failed, hospital, hospital_manifest, in_words


def altered(change: Any) -> GateReport:
    described = hospital_manifest()
    change(described)
    return recheck(hospital()[1], described)


def lower_k(m: dict[str, Any]) -> None:
    m["models"][0]["k"] = 7


@pytest.mark.parametrize(
    "change, check",
    [
        (lower_k, "verdicts"),
        (lambda m: m["verdicts"].pop(), "verdicts"),
        (lambda m: m["verdicts"].append(m["verdicts"][0]), "verdicts"),
        (lambda m: m["verdicts"][0].update(by="attested"), "verdicts"),
        (lambda m: m["verdicts"][1].update(on="income"), "verdicts"),
        (lambda m: m["models"].pop(), "verdicts"),
        (lambda m: m["verdicts"][0].update(value=7), "k"),
        (lambda m: m["verdicts"][0].update(limit=5), "k"),
        (lambda m: m["verdicts"][0].update(holds=False), "k"),
        (lambda m: m["verdicts"][1].update(value=3.1), "entropy-l on disease"),
        (lambda m: m["classes"].update(count=5), "digest of the classes"),
        (lambda m: m["classes"].update(smallest=7), "digest of the classes"),
        (lambda m: m["classes"]["digest"].update(quasi="0"), "digest of the classes"),
        (lambda m: m["classes"]["digest"].update(income="0"), "digest of income"),
        (lambda m: m["data"].update(rows=25), "rows"),
        (lambda m: m["columns"].pop(), "columns"),
        (lambda m: m.update(statement="50-anonymous"), "statement"),
        (lambda m: m.update(models=[], verdicts=[]), "statement"),
        (lambda m: m["not_protected"].pop(), "not protected"),
        (lambda m: m["not_protected"].append("Nothing else."), "not protected"),
        (lambda m: m["acknowledged"].append("W-NO-K"), "not protected"),
        (lambda m: m["acknowledged"].remove("W-UNMODELLED:income"), "refusals"),
        (lambda m: m["acknowledged"].append("certified"), "refusals"),
        (lambda m: m.update(order="kept"), "refusals"),
    ],
)
def test_a_manifest_that_does_not_fit_fails(change: Any, check: str) -> None:
    assert check in failed(altered(change))


def test_a_consistent_lie_about_k_still_fails() -> None:
    def lie(m: dict[str, Any]) -> None:
        m["models"][0]["k"] = m["verdicts"][0]["model"]["k"] = m["verdicts"][0]["limit"] = 7
        m["verdicts"][0]["value"] = 7
        m.update(in_words(m))

    report = altered(lie)
    assert failed(report) == ["k"]
    assert check_of(report, "k").detail == "k = 7 fails: 4 classes have fewer, the smallest 6 rows."


# Broken manifests


@pytest.mark.parametrize(
    "change",
    [
        lambda m: m.pop("columns"),
        lambda m: m.pop("models"),
        lambda m: m.pop("verdicts"),
        lambda m: m.pop("classes"),
        lambda m: m.pop("data"),
        lambda m: m.pop("people"),
        lambda m: m.pop("suppressed"),
        lambda m: m.pop("order"),
        lambda m: m.update(columns="age"),
        lambda m: m.update(columns=[1]),
        lambda m: m.update(models=[1]),
        lambda m: m.update(verdicts=[1]),
        lambda m: m.update(people="no"),
        lambda m: m["data"].update(rows="24"),
        lambda m: m["verdicts"][0].pop("value"),
        lambda m: m["verdicts"][0].update(value="6"),
        lambda m: m["verdicts"][0].update(model="k"),
        lambda m: m["classes"].pop("digest"),
        lambda m: m["classes"]["digest"].pop("quasi"),
        lambda m: m["classes"]["digest"].pop("income"),
        lambda m: m["classes"].update(count="4"),
        lambda m: m["columns"][0].pop("name"),
        lambda m: m["columns"][0].pop("cells"),
        lambda m: m["columns"][1].pop("hierarchy"),
    ],
)
def test_a_broken_manifest_is_one_sentence(change: Any) -> None:
    with pytest.raises(VerificationError) as caught:
        altered(change)
    message = str(caught.value)
    assert message.endswith(".")
    assert "\n" not in message


def test_something_else_than_a_manifest() -> None:
    with pytest.raises(VerificationError):
        recheck(hospital()[1], [])  # type: ignore[arg-type]
