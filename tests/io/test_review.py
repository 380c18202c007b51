"""The ``[review]`` table of a recipe: what it takes, what it refuses, and what of it is published."""

from __future__ import annotations

import json
from pathlib import Path

import polars as pl
import pytest

import shoal
from shoal.errors import RecipeError, VerificationError
from shoal.recipe.recipe import dump_recipe, parse_recipe
from shoal.release.entry import verify_release
from shoal.verify.manifest_schema import check_manifest

RECIPE = """\
acknowledge = ["W-UNMODELLED:disease"]
seed = 1
[source]
path = "people.csv"
[roles]
quasi = ["age"]
sensitive = ["disease"]
drop = ["town"]
[[models]]
name = "k"
k = 3
[review]
{review}
[output]
folder = "out"
"""
SAID = """\
title = "Patients of 2026"
purpose = "Research on gout"
controller = "A clinic"
legal_basis = "consent"
threshold = 0.34
threshold_reason = "one in three, by our board"
accepted = { "W-UNMODELLED:disease" = "diseases are harmless here" }
sign_off = [{ name = "Ulla Kuru", role = "board", date = 2026-11-01 }]
re_evaluation = 2028-01-31
"""


def recipe(review: str) -> str:
    return RECIPE.replace("{review}", review)


def test_a_recipe_keeps_what_is_said() -> None:
    read = parse_recipe(recipe(SAID))
    assert read.review is not None
    assert read.review.stated()["sign_off"] == [{"name": "Ulla Kuru", "role": "board", "date": "2026-11-01"}]
    assert parse_recipe(dump_recipe(read)) == read
    assert parse_recipe(recipe('recipients = "anybody"')).review.recipients == ["anybody"]  # type: ignore[union-attr]


@pytest.mark.parametrize(
    "review, sentence",
    [
        ('purpos = "x"', "There is no entry 'purpos' in [review]. Did you mean 'purpose'?"),
        (
            'purpose = " "',
            "The 'purpose' in [review] must be readable text of at most 4,000 characters, or be left out.",
        ),
        ("threshold = 0", "The 'threshold' in [review] must be above 0."),
        ('comparison = "<<"', "The 'comparison' in [review] must be '<=' or '<'. Did you mean '<'?"),
        ('re_evaluation = "soon"', "The 're_evaluation' in [review] must be a date such as 2026-01-31."),
        (
            'sign_off = [{ role = "board" }]',
            "The 'sign_off' in [review] must be a list of tables such as "
            '{ name = "…", role = "…", date = 2026-01-31 }.',
        ),
        (
            'accepted = { "W-TIGHT" = "why not" }',
            "The 'accepted' in [review] gives a reason for 'W-TIGHT', which is not accepted: add it to 'acknowledge', "
            "or remove the reason.",
        ),
        (
            'critical = ["town"]',
            "The 'critical' in [review] names 'town', which is not released: give it another role, or remove it.",
        ),
        (
            're_evaluation = 2026-01-31\nsign_off = [{ name = "x", date = 2026-02-01 }]',
            "The 're_evaluation' in [review] is no later than the last 'sign_off': name a later day.",
        ),
        (
            'public = ["sign_off"]',
            "The 'public' in [review] must be a list of entries that may be published: title, purpose, controller, "
            "contact, recipients, context, use, accepted, earlier, re_evaluation.",
        ),
    ],
)  # fmt: skip
def test_what_cannot_be_is_told_in_a_sentence(review: str, sentence: str) -> None:
    with pytest.raises(RecipeError) as found:
        parse_recipe(recipe(review))
    assert str(found.value) == sentence


def written(folder: Path, review: str) -> Path:
    # Somebody with gout is suppressed: what the recipe itself says of gout tells of nobody.
    rows = [{"age": 20 + row // 4, "disease": ("flu", "cold")[row % 2], "town": "Uu"} for row in range(12)]
    frame = pl.DataFrame([*rows, {"age": 99, "disease": "gout", "town": "Aa"}])
    frame.write_csv(folder / "people.csv")
    more = '[algorithm]\nname = "optimal"\nsuppression_limit = 0.2\n[hierarchies]\nage = { widths = [5] }\n[output]'
    (folder / "recipe.toml").write_text(recipe(review).replace("[output]", more), "utf-8")
    shoal.run(folder / "recipe.toml")
    return folder / "out"


def test_only_what_is_meant_for_the_public_is_published(tmp_path: Path) -> None:
    out = written(tmp_path, SAID)
    manifest = json.loads((out / "manifest.json").read_bytes())
    said = {"title": "Patients of 2026", "purpose": "Research on gout", "controller": "A clinic"}
    assert manifest["review"] == said
    page = (out / "report.html").read_text("utf-8")
    for text in (*said.values(), "no model protects this sensitive column", "How to use the cells", "date: not stated"):
        assert text in page
    for text in ("Ulla", "consent", "one in three", "harmless", "2028"):
        assert text not in page + (out / "manifest.json").read_text("utf-8")
    evidence = shoal.io.evidence.read_evidence(out)
    assert evidence["review"]["legal_basis"] == "consent"
    assert verify_release(out).passed


def test_more_is_published_where_the_recipe_says_so(tmp_path: Path) -> None:
    out = written(tmp_path, SAID + 'public = ["accepted", "re_evaluation"]')
    page = (out / "report.html").read_text("utf-8")
    assert "diseases are harmless here" in page
    assert "2028-01-31" in page
    assert "A clinic" not in page
    assert verify_release(out).passed


@pytest.mark.parametrize(
    "review, why",
    [
        ({"sign_off": "Ulla"}, "has a key 'sign_off' that is not known"),
        ({"title": 3}, "The 'title' in the manifest's 'review' is of the wrong kind."),
        ({"recipients": "anybody"}, "The 'recipients' in the manifest's 'review' is of the wrong kind."),
        ({"accepted": {"W-TIGHT": "so"}}, "gives a reason for a code that is not acknowledged"),
    ],
)
def test_a_manifest_says_nothing_else_there(review: dict[str, object], why: str) -> None:
    table = shoal.read(pl.DataFrame({"age": [20, 20, 30, 30]}), quasi=["age"])
    manifest = shoal.anonymize(table, models=[shoal.KAnonymity(k=2)], seed=1).manifest
    digest = {"file": "report.html", "sha256": "0" * 64}
    data = {"file": "release.csv", "format": "csv", "rows": 4, "sha256": "0" * 64}
    check_manifest({**manifest, "report": digest, "data": data, "review": {"title": "fine"}})
    with pytest.raises(VerificationError, match=why.replace("(", r"\(")):
        check_manifest({**manifest, "report": digest, "data": data, "review": review})
