"""Figures of attacks cannot be left out, made up, or told otherwise than they are."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import polars as pl
import pytest

import shoal
from shoal.verify.recheck import recheck

KINDS: dict[str, tuple[Callable[[], Any], list[str]]] = {
    "randomised": (shoal.RandomAnonymisation, ["W-RA-LINK"]),
    "bucketised": (lambda: shoal.Anatomy(l=2), ["W-EXACT-QI"]),
    "pseudonymised": (shoal.ValueMapping, ["W-PP-REV"]),
    "generalised": (lambda: shoal.Mondrian(k=4), ["W-UNMODELLED:disease"]),
}


def checked(kind: str, change: Callable[[dict[str, Any]], Any] = lambda manifest: None) -> tuple[bool, str]:
    """Whether a release with a changed manifest passes, and what is said about its figures."""
    people = pl.DataFrame({"age": [20 + row // 2 * (row % 5) for row in range(40)], "disease": ["flu", "cold"] * 20})
    table = shoal.read(people, quasi=["age"], sensitive=["disease"])
    made, codes = KINDS[kind]
    release = shoal.anonymize(table, algorithm=made(), acknowledge=codes, seed=1)
    manifest = release.manifest | {"data": {"rows": release.frame.height}}
    change(manifest)
    report = recheck(release.frame, manifest, release.apart)
    (found,) = [check for check in report.checks if check.name == "measured"]
    assert all(check.passed for check in report.checks if check is not found)
    return found.passed, found.detail


@pytest.mark.parametrize("kind", KINDS)
def test_what_was_measured_is_accepted(kind: str) -> None:
    assert checked(kind)[0]


@pytest.mark.parametrize("kind", [kind for kind in KINDS if kind != "generalised"])
def test_figures_that_are_left_out(kind: str) -> None:
    assert "is missing" in checked(kind, lambda manifest: manifest.pop("measured"))[1]
    assert "is missing" in checked(kind, lambda manifest: manifest["measured"].pop(0))[1]


@pytest.mark.parametrize("kind", [kind for kind in KINDS if kind != "generalised"])
@pytest.mark.parametrize("sentence", ["Nobody can be found.", "99.9% of the records are safe."])
def test_a_sentence_that_tells_another_figure(kind: str, sentence: str) -> None:
    def change(manifest: dict[str, Any]) -> None:
        manifest["measured"][0]["sentence"] = sentence

    assert "is not the one that such a figure has, or tells another number." in checked(kind, change)[1]


@pytest.mark.parametrize("kind", ["bucketised", "pseudonymised"])
def test_a_share_that_anybody_can_count(kind: str) -> None:
    def change(manifest: dict[str, Any]) -> None:
        told = manifest["measured"][0]["sentence"].partition("%")[2]
        manifest["measured"][0] |= {"value": 0.0, "interval": [0, 0.0876], "sentence": f"0.0%{told}"}

    passed, detail = checked(kind, change)
    assert (passed, "is not the one that can be counted in the release" in detail) == (False, True)


def test_figures_that_belong_to_other_kinds() -> None:
    figure = {"name": "unique", "value": 0, "interval": [0, 1], "baseline": None, "sentence": "Nobody can be found."}
    assert not checked("generalised", lambda manifest: manifest.update(measured=[figure]))[0]
