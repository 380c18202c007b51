"""The public report says what the manifest says, and escapes what it quotes."""

from __future__ import annotations

import polars as pl

import shoal
from shoal.models.refusals import BY_COLUMN, plain_codes
from shoal.reports.words import meaning


def test_the_report_of_a_release() -> None:
    frame = pl.DataFrame({"<age>": [20, 20, 30, 30] * 5, "s": ["a", "b", "c", "a"] * 5})
    table = shoal.read(frame, quasi=["<age>"], sensitive=["s"], name="clinic & co")
    models = [shoal.KAnonymity(k=5), shoal.AlphaKComplete(alpha={"a": 0.75}, k=5)]
    release = shoal.anonymize(table, models=models, seed=1)
    page = release.gated.report.decode()
    assert "Release of clinic &amp; co" in page
    assert "5-anonymous" in page
    assert "&lt;age&gt;" in page
    assert "<age>" not in page
    for sentence in release.manifest["not_protected"]:
        assert sentence.split("'")[0] in page.replace("&#39;", "'")
    assert page.count("holds") == len(release.verdict)
    assert "http" not in page


def test_the_report_is_written_beside_the_manifest(tmp_path) -> None:
    frame = pl.DataFrame({"age": [20, 20, 30, 30], "s": ["a", "b", "c", "a"]})
    release = shoal.anonymize(
        shoal.read(frame, quasi=["age"], sensitive=["s"]),
        models=[shoal.KAnonymity(k=2)],
        acknowledge=["W-UNMODELLED:s"],
    )
    release.write(tmp_path / "out")
    assert (tmp_path / "out" / "report.html").read_text("utf-8") == release.gated.report.decode()
    assert not (tmp_path / "out.evidence" / "report.html").exists()


def test_every_code_that_can_be_accepted_has_a_meaning() -> None:
    for code in (*plain_codes(), *(f"{one}:column" for one in BY_COLUMN)):
        assert meaning(code), code
    assert meaning("W-NOTHING") == ""


def test_analysts_are_told_how_to_use_the_cells() -> None:
    frame = pl.DataFrame({"age": [20, 21, 30, 31] * 5, "s": ["a", "b", "c", "a"] * 5})
    table = shoal.read(frame, quasi=["age"], sensitive=["s"])
    release = shoal.anonymize(table, models=["k=5"], acknowledge=["W-UNMODELLED:s"], seed=1)
    page = release.gated.report.decode()
    assert "An interval covers the value, both ends included" in page
    assert "date: not stated" in page
    assert "no model protects this sensitive column" in page
    groups = shoal.Anatomy(l=2)
    coded = shoal.anonymize(table, algorithm=groups, acknowledge=["W-EXACT-QI"], seed=1).gated.report.decode()
    assert "Sensitive values are known by group" in coded
    assert "An interval covers" not in coded
