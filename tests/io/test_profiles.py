"""Profiles: what they add to a recipe, that nothing loosens them, and that each says where it comes from."""

from __future__ import annotations

from pathlib import Path

import pytest

from shoal.errors import ParameterError, RecipeError
from shoal.models.refusals import BY_COLUMN, plain_codes
from shoal.recipe.profiles import named_profile
from shoal.recipe.recipe import Recipe, dump_recipe, parse_recipe
from shoal.registry import names
from shoal.release.run import run

RECIPE = """\
profile = "{profile}"
acknowledge = [{codes}]
[source]
path = "people.csv"
[roles]
quasi = ["age"]
sensitive = ["disease", "disease_*"]
{more}
"""
DOCS = Path(__file__).resolve().parents[2] / "docs" / "profiles.md"
SIGNED = '[review]\nsign_off = [{ name = "x" }]\nthreshold_reason = "y"'


def read(profile: str, more: str = "", codes: str = "") -> Recipe:
    return parse_recipe(RECIPE.format(profile=profile, more=more, codes=codes))


def test_a_profile_adds_its_models_and_its_threshold() -> None:
    found = read("public-use")
    assert found.models == [{"name": "k", "k": 11}, {"name": "distinct-l", "l": 2}]
    assert found.review is not None
    assert found.review.threshold == 0.091
    assert "Medicare" in str(found.review.threshold_reason)
    # What is written down is read as the same.
    assert parse_recipe(dump_recipe(found)) == found


def test_more_may_be_asked_for() -> None:
    models = '[[models]]\nname = "k"\nk = 20\n[[models]]\nname = "distinct-l"\nl = 3\non = "disease"\n'
    found = read("public-use", f"{models}[review]\nthreshold = 0.05")
    assert [(one["name"], one.get("on")) for one in found.models] == [
        ("k", None), ("distinct-l", "disease"), ("distinct-l", None)
    ]  # fmt: skip
    assert found.models[0]["k"] == 20
    assert found.review is not None
    assert found.review.threshold == 0.05


def test_without_a_sensitive_column_nothing_is_asked_of_values() -> None:
    text = RECIPE.format(profile="public-use", more="", codes="").replace('sensitive = ["disease", "disease_*"]\n', "")
    assert parse_recipe(text).models == [{"name": "k", "k": 11}]


@pytest.mark.parametrize(
    "profile, more, codes, sentence",
    [
        (
            "public-use", '[[models]]\nname = "k"\nk = 5', "",
            "The 'k' of the model 'k' is 5, and the profile 'public-use' asks for at least 11: change it, or choose "
            "another profile.",
        ),
        (
            "public-use", "", '"W-UNMODELLED:disease"',
            "The profile 'public-use' does not allow 'W-UNMODELLED:disease': remove it from 'acknowledge', or choose "
            "another profile.",
        ),
        (
            "ema-0070", "[review]\nthreshold = 0.1", "",
            "The 'threshold' in [review] is 0.1, and the profile 'ema-0070' allows 0.09 at most: lower it, or choose "
            "another profile.",
        ),
        (
            "ema-0070", '[review]\nrisk = "average"', "",
            "The profile 'ema-0070' holds the largest risk of a record against its threshold: remove 'risk' from "
            "[review], or choose another profile.",
        ),
        ("hipaa-expert", "", "", "The profile 'hipaa-expert' needs 'sign_off' under [review]: say it there."),
        (
            "hipaa-safe-harbor", 'neutral = ["seen"]\n[columns.seen]\ntype = "date"', "",
            "The profile 'hipaa-safe-harbor' allows no dates finer than a year, and 'seen' would be released as it is: "
            "drop it, or make it a quasi-identifier with a hierarchy of years.",
        ),
        (
            "hipaa-safe-harbor", '[columns.disease_date]\ntype = "date"', "",
            "The profile 'hipaa-safe-harbor' allows no dates finer than a year, and 'disease_date' would be released "
            "as it is: drop it, or make it a quasi-identifier with a hierarchy of years.",
        ),
        (
            "hipaa-safe-harbor", 'neutral = ["seen"]\n[columns.seen]\nderive = { month = "came" }', "",
            "The profile 'hipaa-safe-harbor' allows no dates finer than a year, and 'seen' would be released as it is: "
            "drop it, or make it a quasi-identifier with a hierarchy of years.",
        ),
        (
            "hipaa-safe-harbor", 'neutral = ["seen"]\n[columns.seen]\nderive = { days = "a", at = "2026-01-01" }', "",
            "The profile 'hipaa-safe-harbor' allows no dates finer than a year, and 'seen' would be released as it is: "
            "drop it, or make it a quasi-identifier with a hierarchy of years.",
        ),
        (
            "ema-0070", 'quasi_sets = [["age"], ["zip"]]', "",
            "The profile 'ema-0070' asks its models of all quasi-identifiers together, and 'quasi_sets' would ask them "
            "of each set alone: remove it from [roles], or choose another profile.",
        ),
        (
            "hipaa-safe-harbor", 'pseudonym = ["number"]', "",
            "The profile 'hipaa-safe-harbor' does not allow tokens that follow from an identifier: remove 'pseudonym' "
            "from [roles], or choose another profile.",
        ),
    ],
)  # fmt: skip
def test_nothing_loosens_a_profile(profile: str, more: str, codes: str, sentence: str) -> None:
    with pytest.raises(RecipeError) as found:
        read(profile, more, codes)
    assert str(found.value) == sentence


def test_patterns_stand_for_nobody_who_is_named() -> None:
    more = 'drop = ["disease_date"]\nsubject = "disease_of"\n[columns.disease_date]\ntype = "date"\n'
    read("hipaa-safe-harbor", f'{more}[columns.disease_of]\ntype = "date"')
    read("hipaa-safe-harbor", 'quasi_sets = [["age"], ["zip"]]\n[columns.zip]\ntype = "date"')


def test_an_unknown_profile_proposes_the_nearest() -> None:
    with pytest.raises(ParameterError, match="no profile called 'public'. Did you mean 'public-use'"):
        read("public")


@pytest.mark.parametrize("name", names("profile"))
def test_a_profile_is_documented_and_says_where_it_comes_from(name: str) -> None:
    profile = named_profile(name)
    assert profile.name == name
    assert profile.source
    assert profile.not_covered
    text = DOCS.read_text("utf-8")
    part = text.partition(f"## `{name}`")[2].partition("\n## ")[0]
    assert "**Source:**" in part
    assert "**Not covered:**" in part
    known = [*plain_codes(), *BY_COLUMN]
    assert set(profile.forbids) <= set(known)
    # The models keep to the threshold by themselves.
    sizes = [one["k"] for one in profile.models if one["name"] == "k"]
    assert (profile.threshold is None) == (not sizes)
    assert all(1 / size <= (profile.threshold or 0) for size in sizes)
    read(name, SIGNED)


@pytest.mark.parametrize("engine", ["memory", "duckdb"])
@pytest.mark.parametrize("named", ["admitted", "adm*"])
def test_dates_that_the_recipe_does_not_declare_are_refused_too(tmp_path: Path, engine: str, named: str) -> None:
    rows = [f"{at % 2},{at % 3},2020-0{1 + at % 9}-11" for at in range(40)]
    (tmp_path / "people.csv").write_text("\n".join(["age,disease,admitted", *rows, ""]))
    text = RECIPE.format(profile="hipaa-safe-harbor", codes="", more="")
    text = text.replace('"disease", "disease_*"', f'"disease", "{named}"')
    text += f'[engine]\nname = "{engine}"\n[[models]]\nname = "k"\nk = 2\n[[models]]\nname = "distinct-l"\nl = 2\n'
    with pytest.raises(RecipeError, match="allows no dates finer than a year, and 'admitted' would be released"):
        run(parse_recipe(text, tmp_path))
