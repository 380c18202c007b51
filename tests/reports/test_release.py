"""The public report says what the manifest says, and escapes what it quotes."""

from __future__ import annotations

import polars as pl

import shoal


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
