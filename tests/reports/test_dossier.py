"""The dossier: one data model for three audiences, in three formats, of which one may tell nothing private."""

from __future__ import annotations

import json
import re
from dataclasses import replace
from functools import cache
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import polars as pl
import pytest
import tomlkit

import shoal
from shoal.io.evidence import read_evidence
from shoal.recoding.kinds import Trait, made_of
from shoal.reports.dossier import AUDIENCES, PRIVATE, dossier, dossier_html, dossier_json, dossier_markdown
from shoal.reports.dossier_model import NOT_STATED, Dossier, Facts, Items, Plot, Table, Text
from shoal.reports.release import release_html
from shoal.verify.folder import read_manifest
from tests.reports.test_risk import EVIL, Page

REVIEW = {
    "title": EVIL, "purpose": "Research", "controller": "A clinic", "legal_basis": "consent",
    "threshold": 0.25, "threshold_reason": "by our board", "critical": ["age"], "deviations": ["none of note"],
    "accepted": {"W-NEUTRAL": "visits are known to nobody"}, "re_evaluation": "2028-01-31",
    "sign_off": [{"name": "Ulla Kuru", "role": "board"}],
}  # fmt: skip


KINDS = {
    "random": {}, "anatomy": {"l": 2}, "mapping": {}, "microaggregation": {"k": 4}, "swapping": {},
}  # fmt: skip
CODES = ["W-RA-LINK", "W-PERTURBED", "W-PP-REV", "W-EXACT-QI", "W-NO-K", "W-UNMODELLED:disease", "W-NEUTRAL"]


@pytest.mark.parametrize("name", KINDS)
def test_every_kind_of_release_has_its_dossier(tmp_path: Path, name: str) -> None:
    ages, sexes, ill = [20 + row % 9 for row in range(60)], ["f", "m"] * 30, ["flu", "cold", "gout"] * 20
    pl.DataFrame({"age": ages, "sex": sexes, "disease": ill}).write_csv(tmp_path / "people.csv")
    recipe: dict[str, Any] = {
        "acknowledge": CODES, "seed": 1, "source": {"path": str(tmp_path / "people.csv")},
        "roles": {"quasi": ["age", "sex"], "sensitive": ["disease"]}, "algorithm": {"name": name, **KINDS[name]},
        "review": {"threshold": 1.0}, "output": {"folder": str(tmp_path / "out"), "discard_secret": name == "mapping"},
    }  # fmt: skip
    shoal.run(recipe)
    pages = {who: shoal.report(tmp_path / "out", audience=who, format="md") for who in AUDIENCES}
    made = made_of(read_manifest(tmp_path / "out"))
    # Of records that only happen to agree, nobody may say that their classes bound a risk.
    assert ("The release keeps to its threshold" in pages["internal"]) == made.has(Trait.ALIKE)
    for told in made.class_figures:
        assert told in pages["regulator"]
        assert told not in pages["external"]


@cache
def facts(review: bool = True) -> Facts:
    rows = [
        {"name": f"Person{row}", "age": 20 + row % 23, "sex": "fm"[row % 2], "visits": row % 4,
         "disease": ("flu", "cold")[row % 2 ^ row % 3 % 2]}
        for row in range(120)
    ]  # fmt: skip
    recipe: dict[str, Any] = {
        "acknowledge": ["W-NEUTRAL"],
        "seed": 1,
        "roles": {"identifiers": ["name"], "quasi": ["age", "sex"], "sensitive": ["disease"], "neutral": ["visits"]},
        "models": [{"name": "k", "k": 4}, {"name": "distinct-l", "l": 2}],
        "review": REVIEW if review else {},
    }
    with TemporaryDirectory() as folder:
        pl.DataFrame(rows).write_csv(f"{folder}/people.csv")
        source, out = {"name": "ward", "path": f"{folder}/people.csv"}, Path(folder, "out")
        shoal.run(recipe | {"source": source, "output": {"folder": str(out)}})
        evidence, manifest = read_evidence(out), read_manifest(out)
    recipe = tomlkit.parse(evidence["recipe"]).unwrap()
    return Facts(manifest=manifest, evidence=evidence, recipe=recipe, review=evidence["review"], digest="0" * 64)


def section(made: Dossier, key: str) -> list[Any]:
    return list(next(one for one in made.sections if one.key == key).blocks)


def rows_of(made: Dossier, key: str) -> list[list[str]]:
    return [list(row) for block in section(made, key) if isinstance(block, Table) for row in block.rows]


def test_every_section_stands_in_its_place() -> None:
    assert [one.key for one in dossier(facts(), "internal").sections] == [
        "identification", "situation", "principals", "variables", "threats", "threshold", "risk", "criteria", "attacks",
        "models", "utility", "deviations", "history", "hashes", "sign-off", "crosswalk",
    ]  # fmt: skip
    keys = {who: {one.key for one in dossier(facts(), who).sections} for who in AUDIENCES}
    assert keys["internal"] == keys["regulator"]
    # Method, threshold, variables, risk, utility: the order of an anonymisation report.
    order = [one.key for one in dossier(facts(), "regulator").sections]
    assert [key for key in order if key in ("models", "threshold", "variables", "risk", "utility")] == [
        "models", "threshold", "variables", "risk", "utility"
    ]  # fmt: skip


def test_what_nobody_said_is_not_stated() -> None:
    made = dossier(facts(review=False), "internal")
    assert ["purpose", NOT_STATED] in rows_of(made, "identification")
    assert ["legal basis", NOT_STATED] in rows_of(made, "identification")
    assert ["threshold", NOT_STATED] in rows_of(made, "threshold")
    assert rows_of(made, "sign-off") == [[NOT_STATED, NOT_STATED, NOT_STATED, ""]]
    assert ["to be evaluated again by", NOT_STATED] in rows_of(made, "history")


def test_figures_are_those_of_the_evidence() -> None:
    made, evidence = dossier(facts(), "internal"), facts().evidence
    before, after = (evidence["risk"][when]["prosecutor-mean"]["value"] for when in ("before", "after"))
    found = next(row for row in rows_of(made, "risk") if row[0] == "prosecutor, mean risk")
    assert found[1:3] == [f"{100 * before:.2f} %", f"{100 * after:.2f} %"]
    variables = {row[0]: row[1:] for row in rows_of(made, "variables")}
    assert variables["name"][:2] == ["direct identifier", "removed"]
    assert variables["age (critical)"][0] == "indirect identifier"
    assert variables["age (critical)"][2] == "23"
    assert ["inference", "rows whose class has one disease only"] in [row[:2] for row in rows_of(made, "criteria")]
    assert rows_of(made, "attacks")
    assert ["W-NEUTRAL", "visits are known to nobody"] in [[row[0], row[-1]] for row in rows_of(made, "deviations")]
    plots = [block.title for one in made.sections for block in one.blocks if isinstance(block, Plot)]
    for title in (
        "Levels used", "Records by size of their class", "Share of records at every risk",
        "Distribution of age, before and after", "Differences of associations", "Errors of count queries",
        "Utility against protection",
    ):  # fmt: skip
        assert title in plots


@pytest.mark.parametrize(
    "more, sign, kept", [(0, "<=", True), (0, "<", False), (-0.01, "<=", False), (0.01, "<", True)]
)
def test_a_threshold_may_be_reached_or_not(more: float, sign: str, kept: bool) -> None:
    limit = facts().evidence["risk"]["after"]["prosecutor-max"]["value"] + more
    mine = replace(facts(), review={**facts().review, "threshold": limit, "comparison": sign})
    (told,) = (block for block in section(dossier(mine, "internal"), "threshold") if isinstance(block, Text))
    assert told.tone == ("good" if kept else "bad")


def test_those_outside_are_told_what_the_manifest_says() -> None:
    """Whatever evidence there is, the same words come of a release without any."""
    bare = Facts(manifest=facts().manifest, digest=facts().digest)
    for write in (dossier_html, dossier_markdown, dossier_json):
        told = write(dossier(facts(), "external"))
        assert told == write(dossier(bare, "external"))
        for private in ("Ulla", "consent", "our board", "visits are known", "2028", "rows suppressed", "Private"):
            assert private not in told
    assert "A clinic" in release_html(facts().manifest)


@pytest.mark.parametrize("audience", AUDIENCES)
def test_a_page_is_whole_and_fetches_nothing(audience: str) -> None:
    text = dossier_html(dossier(facts(), audience))
    page = Page(text)
    tags = [tag for tag, _ in page.tags]
    assert not {"script", "img", "link", "iframe", "object", "embed", "base"} & set(tags)
    for _, attributes in page.tags:
        assert not {"src", "action", "srcset"} & set(attributes)
        assert str(attributes.get("href", "#")).startswith("#")
        assert not [name for name in attributes if name.startswith("on")]
    assert "http" not in text.replace("http-equiv", "")
    assert "@import" not in text
    assert "url(" not in text
    assert (PRIVATE in page.words) == (audience != "external")
    assert EVIL in page.words
    assert tags.count("h2") == len(dossier(facts(), audience).sections)
    policy = next(a["content"] for _, a in page.tags if a.get("http-equiv") == "Content-Security-Policy")
    assert policy is not None
    assert "default-src 'none'" in policy


@pytest.mark.parametrize("audience", AUDIENCES)
def test_all_formats_say_the_same(audience: str) -> None:
    made = dossier(facts(), audience)
    told = json.loads(dossier_json(made))
    assert [one["title"] for one in told["sections"]] == [one.title for one in made.sections]
    assert told["private"] == (audience != "external")
    assert ("notice" in told) == told["private"]
    page, markdown = " ".join(Page(dossier_html(made)).words.split()), dossier_markdown(made)
    for one in made.sections:
        assert f"{one.title}" in page
        assert one.title in markdown
        for block in one.blocks:
            if isinstance(block, Items):
                assert all(" ".join(item.split()) in page for item in block.items)
    assert markdown.count("\n## ") == len(made.sections)


def test_markdown_is_no_markup_of_the_data() -> None:
    text = dossier_markdown(dossier(facts(), "internal"))
    assert "<img" not in text.replace("\\<img", "")
    widths = [line.replace("\\|", "").count("|") for line in text.splitlines() if line.startswith("|")]
    assert min(widths) >= 3


@pytest.mark.parametrize("engine", ["memory", "duckdb"])
def test_a_private_dossier_has_the_worst_class_of_models_that_count_people(tmp_path: Path, engine: str) -> None:
    days = [f"2024-{1 + row % 12:02d}-{1 + row % 28:02d}" for row in range(90)]
    people = {"who": [row // 2 for row in range(90)], "seen": days, "disease": ["flu", "cold", "gout"] * 30}
    pl.DataFrame(people).write_csv(tmp_path / "people.csv")
    recipe = {
        "seed": 1, "source": {"path": str(tmp_path / "people.csv")}, "review": {}, "engine": {"name": engine},
        "roles": {"subject": "who", "quasi": ["seen"], "sensitive": ["disease"]},
        "models": [{"name": "k", "k": 4}, {"name": "distinct-l", "l": 2}], "output": {"folder": str(tmp_path / "out")},
    }  # fmt: skip
    shoal.run(recipe)
    worst = read_evidence(tmp_path / "out")["worst"]
    assert worst[0] >= 4
    assert f"| holds | {worst[0]:g} | 4 |" in shoal.report(tmp_path / "out", format="md")
    assert read_manifest(tmp_path / "out")["verdicts"][0]["value"] is None
    # Days are written as days, and not as numbers; of rows that are kept elsewhere nothing of it is measured.
    assert ("from 2024-" in shoal.report(tmp_path / "out")) == (engine == "memory")


def test_words_stay_whole_and_only_long_texts_are_broken() -> None:
    page = dossier_html(dossier(facts(), "internal"))
    assert 'class="long">' in page  # hashes
    assert re.findall(r'class="[^"]*long[^"]*">[^<]{1,24}<', page) == []
