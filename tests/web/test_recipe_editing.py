"""Changes of a recipe by forms: what they say is there afterwards, and nothing else is lost."""

from __future__ import annotations

import tomllib
from dataclasses import replace
from typing import Any

import polars as pl
import pytest
import tomlkit
from hypothesis import given
from hypothesis import strategies as st

from shoal import registry
from shoal.errors import RecipeError, RefusalError, ShoalError
from shoal.recipe import edit
from shoal.recipe.column_profile import facts_of
from shoal.recipe.edit import blocks, joined, with_section
from shoal.recipe.recipe import parse_recipe
from shoal.web.pages import models, release
from shoal.web.preview import values_view

RECIPE = """\
# What this is for.

[source]
path = "people.csv"  # where it is

[roles]
quasi = [
    "age",   # known to neighbours
    "town",  # known to all
]
sensitive = ["illness"]
drop = ["note"]

[hierarchies]
age = { widths = [5, 10] }  # round steps

# nobody stands alone
[[models]]
name = "k"
k = 5

# several illnesses in every class
[[models]]
name = "distinct-l"
l = 3
on = "illness"

# the quickest
[algorithm]
name = "mondrian"
"""
AGES = facts_of(pl.Series("age", [str(18 + at % 60) for at in range(200)]))
NOTES = facts_of(pl.Series("note", ["a", "b", "c", "d"] * 50))


def comments(text: str) -> list[str]:
    return [line.partition("#")[2].strip() for line in text.splitlines() if "#" in line]


def test_blocks_make_up_the_recipe() -> None:
    parts = blocks(RECIPE)
    assert joined(parts) == RECIPE
    assert [one.path for one in parts] == [
        (), ("source",), ("roles",), ("hierarchies",), ("models",), ("models",), ("algorithm",)
    ]  # fmt: skip
    assert parts[4].lead == "# nobody stands alone\n"


@given(st.lists(st.sampled_from([
    "[a]\n", "[[b]]\n", "[a.c]\n", "x = 1\n", "# [d]\n", "y = [\n[1],\n[2]\n]\n", 'z = """\n[e]\n"""\n', "\n", "w = 'q'"
]), max_size=8))  # fmt: skip
def test_blocks_of_any_text_make_up_the_text(lines: list[str]) -> None:
    text = "".join(lines)
    assert joined(blocks(text)) == text


def test_a_line_in_a_list_or_a_text_is_no_heading() -> None:
    text = 'rules = [\n[1]\n]\nwords = """\n[models]\n"""\n[roles]\nquasi = ["a"]\n'
    assert [one.path for one in blocks(text)] == [(), ("roles",)]


def test_a_model_goes_with_the_comment_above_it_and_nothing_else() -> None:
    text = edit.without_model(RECIPE, 0)
    assert [one["name"] for one in tomllib.loads(text)["models"]] == ["distinct-l"]
    assert "nobody stands alone" not in text
    assert "several illnesses in every class" in text
    assert "the quickest" in text


def test_a_model_that_changes_keeps_its_comment() -> None:
    text = edit.with_model(RECIPE, {"name": "k", "k": 7}, 0)
    assert tomllib.loads(text)["models"][0] == {"name": "k", "k": 7}
    assert comments(text) == comments(RECIPE)


def test_a_model_that_is_added_stands_behind_the_others() -> None:
    text = edit.with_model(RECIPE, {"name": "entropy-l", "l": 2, "on": "illness"})
    assert [one["name"] for one in tomllib.loads(text)["models"]] == ["k", "distinct-l", "entropy-l"]
    assert comments(text) == comments(RECIPE)
    assert text.index("entropy-l") < text.index("# the quickest")


def test_models_in_one_line_become_blocks() -> None:
    text = 'models = [{ name = "k", k = 5 }]\n[source]\npath = "a.csv"\n[roles]\nquasi = ["b"]\n'
    changed = edit.with_model(text, {"name": "k", "k": 9}, 0)
    assert tomllib.loads(changed)["models"] == [{"name": "k", "k": 9}]


@pytest.mark.parametrize("place", [-1, 2])
def test_a_model_that_is_gone_is_told(place: int) -> None:
    with pytest.raises(RecipeError, match="no such model"):
        edit.without_model(RECIPE, place)


def test_a_role_moves_with_what_follows_from_it() -> None:
    facts = {"note": NOTES, "age": AGES}
    text = edit.with_roles(RECIPE, {"illness": "drop", "note": "sensitive"}, facts)
    made = parse_recipe(text)
    assert made.roles.sensitive == ["note"]
    assert made.roles.drop == ["illness"]
    assert [one["name"] for one in made.models][0] == "k"
    assert not any(one.get("on") == "illness" for one in made.models)
    assert any(one.get("on") == "note" for one in made.models)
    assert "several illnesses" not in text


def test_a_quasi_identifier_that_leaves_takes_its_hierarchy_along_and_a_new_one_gets_one() -> None:
    without = edit.with_roles(RECIPE, {"age": "neutral"}, {"age": AGES})
    assert parse_recipe(without).hierarchies == {}
    again = edit.with_roles(without, {"age": "quasi"}, {"age": AGES})
    assert parse_recipe(again).hierarchies == {"age": {"widths": [5, 10, 20]}}
    assert "known to all" in again


def test_a_model_on_a_longer_name_guards_no_column() -> None:
    """A new sensitive column 'ill' gets its model beside one on 'illness'."""
    text = RECIPE.replace('drop = ["note"]', 'drop = ["ill"]')
    made = parse_recipe(edit.with_roles(text, {"ill": "sensitive"}, {"ill": replace(NOTES, name="ill")}))
    assert [one.get("on") for one in made.models] == [None, "illness", "ill"]


def test_two_models_of_one_name_of_a_point_stay_two() -> None:
    models = [{"name": "k", "k": 3}, {"name": "k", "k": 4}]
    assert parse_recipe(edit.with_point(RECIPE, {"name": "mondrian"}, models)).models == models


def test_one_column_alone_is_the_subject() -> None:
    text = edit.with_roles(RECIPE, {"note": "subject"}, {})
    assert parse_recipe(text).roles.subject == "note"
    with pytest.raises(RecipeError, match="already"):
        edit.with_roles(text, {"town": "subject"}, {})


@pytest.mark.parametrize(("kind", "form"), [("numeric", ""), ("date", "%d.%m.%Y")])
def test_a_type_comes_and_goes(kind: str, form: str) -> None:
    text = edit.with_types(RECIPE, {"age": (kind, form)})
    assert (parse_recipe(text).columns["age"].type, parse_recipe(text).columns["age"].format) == (kind, form or None)
    assert edit.with_types(text, {"age": ("", "")}).replace("\n", "") == RECIPE.replace("\n", "")


def test_a_point_that_was_tried_is_written_with_the_comments_of_what_stays() -> None:
    models = [{"name": "k", "k": 10}, {"name": "distinct-l", "l": 3, "on": "illness"}]
    text = edit.with_point(RECIPE, {"name": "upc", "utility": 0.7, "protection": 0.5}, models)
    made = parse_recipe(text)
    assert made.models == models
    assert made.algorithm == {"name": "upc", "utility": 0.7, "protection": 0.5}
    assert comments(text) == comments(RECIPE)


names = st.text(st.characters(exclude_categories=["Cc", "Cs"]), min_size=1, max_size=12)


@given(names)
def test_any_column_can_be_named(name: str) -> None:
    text = with_section(RECIPE, ("roles",), lambda roles: roles.update({"neutral": [name]}))
    try:
        parse_recipe(text)
    except ShoalError:
        return
    text = edit.with_types(text, {name: ("categorical", "")})
    text = edit.with_hierarchy(edit.with_roles(text, {name: "quasi"}, {}), name, {"prefix": [1]})
    found = tomllib.loads(text)
    assert found["columns"][name] == {"type": "categorical"}
    assert found["hierarchies"][name] == {"prefix": [1]}
    assert name in found["roles"]["quasi"]


def test_values_and_rules_of_experts_come_and_go() -> None:
    text = values_view.with_values(RECIPE, "age", ["4", "2,5", "1", "0"])
    text = values_view.with_rule(text, values_view.rule_from({"column": "age", "boundary": "18", "keep": "1"}))
    text = values_view.with_rule(text, values_view.rule_from({"column": "town", "first": "a, b", "second": "*"}))
    research = tomllib.loads(text)["research"]
    assert research["rv"] == {"age": [4.0, 2.5, 1.0, 0.0]}
    assert research["rules"] == [
        {"column": "age", "boundary": "18", "keep": True}, {"column": "town", "separate": [["a", "b"], "*"]}
    ]  # fmt: skip
    text = values_view.without_rule(values_view.without_rule(text, 0), 0)
    assert values_view.with_values(text, "age", ["", "", "", ""]).strip() == RECIPE.strip()


@pytest.mark.parametrize("form", [
    {"column": "age"}, {"column": "age", "boundary": "3", "first": "a", "second": "b"},
    {"column": "age", "boundary": "3", "importance": "very"}, {"column": "age", "boundary": "3", "importance": "-1"},
])  # fmt: skip
def test_half_a_rule_is_refused(form: dict[str, str]) -> None:
    with pytest.raises(ShoalError):
        values_view.rule_from(form)


def test_what_people_say_of_a_release_comes_and_goes() -> None:
    said = {"title": "People", "recipients": "a\r\nb\n", "threshold": "0,09", "purpose": ""}
    text = release.with_review(RECIPE, said)
    assert tomllib.loads(text)["review"] == {"title": "People", "recipients": ["a", "b"], "threshold": 0.09}
    text = release.with_sign_off(text, "Ada", "statistician")
    view = release.review_view(text, [])
    assert view.signed[0].startswith("Ada, statistician, 20")
    assert {one.name: one.value for one in view.fields}["recipients"] == "a\nb"
    gone = release.with_review(text, {"title": "", "recipients": "", "threshold": ""})
    assert list(tomllib.loads(gone)["review"]) == ["sign_off"]
    with pytest.raises(RecipeError, match="number"):
        release.with_review(text, {"threshold": "small"})
    with pytest.raises(RecipeError, match="name"):
        release.with_sign_off(text, " ", "")


def test_a_refusal_is_accepted_with_a_reason_and_withdrawn_again() -> None:
    message = str(RefusalError("It is so.", ["W-UNMODELLED:illness", "W-ORDER"]))
    codes = release.codes_in(message)
    assert codes == ["W-UNMODELLED:illness", "W-ORDER"]
    text = release.with_accepted(RECIPE, codes, "asked by the board")
    made = parse_recipe(text)
    assert made.acknowledge == codes
    assert release.review_view(text, codes).open_codes == ()
    assert release.review_view(text, []).accepted[1] == ("W-ORDER", "asked by the board")
    assert text.startswith("# What this is for.\n")
    assert comments(text) == comments(RECIPE)
    for code in codes:
        text = release.without_accepted(text, code)
    assert tomllib.loads(text) == tomllib.loads(RECIPE)
    with pytest.raises(RecipeError, match="not accepted"):
        release.without_accepted(text, "W-ORDER")
    with pytest.raises(RecipeError, match="nothing to accept"):
        release.with_accepted(text, release.codes_in("something else"), "")


HEAD = '[source]\npath = "people.csv"\n[roles]\nquasi = ["age", "town"]\nsensitive = ["illness"]\n'
LIMITS = '[[models]]\nname = "k"\nk = 5\n[[models]]\nname = "alpha-k-complete"\nk = 2\n[models.alpha]\nflu = 0.2\n'


@pytest.mark.parametrize("models", [
    'models = [{ name = "k", k = 5 }, { name = "alpha-k-complete", k = 2, alpha = { flu = 0.2 } }]\n' + HEAD,
    HEAD + LIMITS,
])  # fmt: skip
def test_a_model_with_a_table_in_it_comes_changes_and_goes_as_one(models: str) -> None:
    kept = {"name": "alpha-k-complete", "k": 2, "alpha": {"flu": 0.2}}
    changed = tomllib.loads(edit.with_model(models, {"name": "k", "k": 9}, 0))
    assert changed["models"] == [{"name": "k", "k": 9}, kept]
    assert set(changed) == {"source", "roles", "models"}
    assert tomllib.loads(edit.without_model(models, 1))["models"] == [{"name": "k", "k": 5}]
    wanted = {**kept, "alpha": {"flu": 0.5, "a b": 0.1}}
    assert tomllib.loads(edit.with_model(models, wanted, 1))["models"][1] == wanted


def test_parameters_of_an_algorithm_that_are_tables_stay_its_own() -> None:
    wanted = {"name": "auto", "candidates": [{"name": "mondrian"}, {"name": "none", "levels": {"age": 1}}]}
    found = tomllib.loads(edit.with_algorithm(RECIPE, wanted))
    assert found["algorithm"] == wanted
    assert set(found) == set(tomllib.loads(RECIPE))


def test_what_stands_under_a_heading_of_its_own_is_changed_there() -> None:
    said = HEAD + '[review]\ntitle = "a"\n[review.accepted]\n"W-A" = "so"\n[[review.sign_off]]\nname = "x"\n'
    found = tomllib.loads(release.with_sign_off(release.with_accepted(said, ["W-B"], "why"), "Ada", ""))["review"]
    assert found["accepted"] == {"W-A": "so", "W-B": "why"}
    assert [one["name"] for one in found["sign_off"]] == ["x", "Ada"]
    known = HEAD + '[research]\nnormalise = true\n[research.rv]\ntown = [1.0, 0.0]\n[[research.rules]]\n' \
        'column = "town"\nboundary = "5"\n'  # fmt: skip
    text = values_view.with_rule(values_view.with_values(known, "age", ["2", "0"]), {"column": "age", "boundary": "3"})
    research = tomllib.loads(text)["research"]
    assert research["rv"] == {"town": [1.0, 0.0], "age": [2.0, 0.0]}
    assert [one["column"] for one in research["rules"]] == ["town", "age"]
    trees = HEAD + '[hierarchies]\ntown = "t.csv"\n[hierarchies.age]\nwidths = [5]\n'
    assert tomllib.loads(edit.with_hierarchy(trees, "age", {"widths": [2]}))["hierarchies"] == {
        "town": "t.csv", "age": {"widths": [2]}
    }  # fmt: skip
    assert tomllib.loads(edit.with_hierarchy(trees, "age", None))["hierarchies"] == {"town": "t.csv"}


def test_columns_change_places_in_roles_of_which_there_is_one() -> None:
    text = HEAD.replace("quasi", 'subject = "id"\nkey = "number"\nquasi')
    found = parse_recipe(edit.with_roles(text, {"number": "subject", "id": "key"}, {})).roles
    assert (found.subject, found.key) == ("number", "id")


def test_a_format_that_nobody_was_asked_for_stays() -> None:
    text = RECIPE + '[columns.age]\nformat = "%d.%m.%Y"\n'
    assert parse_recipe(edit.with_types(text, {"age": ("date", None)})).columns["age"].format == "%d.%m.%Y"
    assert edit.with_types(text, {"age": ("", None)}) == text


@pytest.mark.parametrize("given", [
    {"name": "t-closeness", "t": 0.1234567891},
    {"name": "alpha-k-complete", "k": 2, "alpha": {'a"b\\c': 0.25, "5": 0.5}},
    {"name": "t-closeness", "t": 0.1 + 0.2, "distance": "true"},
])  # fmt: skip
def test_a_form_that_is_sent_as_it_was_shown_changes_nothing(given: dict[str, object]) -> None:
    cls = registry.load("model", str(given["name"]))
    shown = {f"p-{one.name}": one.value for one in models._fields(cls, given, hidden=("on",))}
    assert {"name": given["name"], **models._given(cls, shown)} == given
    text = release.with_review(RECIPE, {"threshold": "0.0123456789"})
    again = {one.name: one.value for one in release.review_view(text, []).fields}
    assert release.with_review(text, again) == text


def test_a_wide_table_is_read_no_more_often_than_a_narrow_one(monkeypatch: pytest.MonkeyPatch) -> None:
    """Characters that are parsed grow as the recipe does, and not with its square."""
    parsed = 0

    def counting(parse: Any) -> Any:
        def count(text: str) -> Any:
            nonlocal parsed
            parsed += len(text)
            return parse(text)

        return count

    monkeypatch.setattr(tomlkit, "parse", counting(tomlkit.parse))
    monkeypatch.setattr(tomllib, "loads", counting(tomllib.loads))
    taken = []
    for width in (40, 80, 160):
        names = [f"column{at:03}" for at in range(width)]
        listed = ", ".join(f'"{one}"' for one in names)
        said = "".join(f"[columns.{one}]\ntype = \"categorical\"\n" for one in names)
        guards = "".join(f'[[models]]\nname = "distinct-l"\nl = 2\non = "{one}"\n' for one in names)
        text = f'[source]\npath = "a.csv"\n[roles]\nquasi = ["age"]\nsensitive = [{listed}]\n{said}{guards}'
        parsed = 0
        narrow = edit.with_roles(text, dict.fromkeys(names, "quasi"), {})
        wide = edit.with_types(narrow, dict.fromkeys(names, ("ordinal", None)))
        gone = edit.with_roles(wide, dict.fromkeys(names, "drop"), {})
        taken.append(parsed)
        assert (wide.count("[columns."), gone.count("[columns."), gone.count("[[models]]")) == (width, 0, 0)
    assert taken[2] - taken[1] < 2.2 * (taken[1] - taken[0])


@pytest.mark.parametrize("head", ["models = []\n", "columns = {}\n", 'columns = { b = { type = "categorical" } }\n'])
def test_what_stands_empty_or_in_one_line_is_no_obstacle(head: str) -> None:
    """A heading beside ``models = []`` or ``columns = {}`` makes a recipe that nobody can read."""
    text = f"# mine\n{head}{HEAD}"
    made = edit.with_model(text, {"name": "k", "k": 5}, None)
    assert parse_recipe(made).models == [{"name": "k", "k": 5}]
    made = with_section(made, ("columns", "c"), lambda table: table.update({"type": "numeric"}))
    made = with_section(made, ("columns", "d"), lambda table: None)
    columns = tomllib.loads(made)["columns"]
    assert columns == {**tomllib.loads(text).get("columns", {}), "c": {"type": "numeric"}}
    assert made.startswith("# mine\n")
    made = with_section(made, ("columns", "c"), lambda table: table.pop("type"))
    assert "c" not in tomllib.loads(made).get("columns", {})
