"""Recipes: read, refuse, write back, change in place."""

from __future__ import annotations

from contextlib import suppress
from dataclasses import fields
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st
from pydantic import TypeAdapter, ValidationError

from shoal.data.sampling import Sampling
from shoal.data.schema import ColumnSpec, Roles
from shoal.errors import RecipeError, ShoalError
from shoal.recipe.edit import update_recipe
from shoal.recipe.recipe import Recipe, dump_recipe, load_recipe, parse_recipe

SOURCE = '[source]\npath = "a.csv"\n'

FULL = """\
acknowledge = ["W-ORDER"]              # accepted on purpose
seed = 1

[source]
name = "patients"                      # identifies the source
path = "adult.data"
columns = ["age", "sex", "zip"]
separator = ";"
encoding = "latin-1"
missing_markers = ["?"]
missing = "drop"

[roles]
identifiers = ["name"]
quasi = ["age", "sex", "zip"]
sensitive = ["occupation"]
neutral = ["hours-per-week"]
drop = ["fnlwgt"]
subject = "id"
weight = "w"
key = "rowid"

[columns.admitted]
type = "date"
format = "%d/%m/%Y"
domain = [2020-01-01, 2020-12-31]

[columns.age]
type = "numeric"
domain = [0, 120]
snap = 5
use = "interval"

[columns."marital status"]
type = "ordinal"
order = [1, "2", "x"]
non_answers = [99]

[hierarchies]
age = "adult_hierarchy_age.csv"
zip = { prefix = [4, 3, 2] }
work = { nested = { "*" = { paid = ["a", "b"] } } }

[weights]
age = 2
zip = 0.5

[policies.occupation]
ranges = [["nurse", "cook"], ["clerk"]]
else = "value"

[policies.born]
ranges = [[1990-01-01, 1999-12-31], [2000-01-01, 2009-12-31]]

[policies.income]
ranges = [[0, 9.5], [10, 15]]

[policies.disease]
ranges = { level = 2 }

[policies.site]
ranges = "site.csv"

# the promises
[[models]]
name = "k"
k = 5                                  # agreed with the registry

[[models]]
name = "alpha-k-complete"
alpha = { flu = 0.5 }
on = "occupation"

[algorithm]
name = "optimal"
measure = "lm"                         # loss
suppression_limit = 0.02

[engine]
name = "memory"

[output]
folder = "out"
format = "parquet"
suppressed = "star"
order = "kept"
"""


def test_everything_is_read() -> None:
    recipe = parse_recipe(FULL, Path("here"))
    assert recipe.acknowledge == ["W-ORDER"]
    assert recipe.seed == 1
    assert recipe.source.missing_markers == ["?"]
    assert recipe.roles.subject == "id"
    assert recipe.columns["admitted"].domain == ["2020-01-01", "2020-12-31"]
    assert recipe.columns["age"].domain == [0, 120]
    assert recipe.columns["age"].snap == 5
    assert recipe.columns["marital status"].order == ["1", "2", "x"]
    assert recipe.columns["marital status"].non_answers == ["99"]
    assert recipe.hierarchies["zip"] == {"prefix": [4, 3, 2]}
    assert recipe.weights == {"age": 2, "zip": 0.5}
    assert {name: entry.otherwise for name, entry in recipe.policies.items()} == {
        "occupation": "value", "born": "error", "income": "error", "disease": "error", "site": "error",
    }  # fmt: skip
    assert recipe.policies["income"].ranges == [[0, 9.5], [10, 15]]
    assert recipe.policies["disease"].ranges == {"level": 2}
    assert recipe.models[1] == {"name": "alpha-k-complete", "alpha": {"flu": 0.5}, "on": "occupation"}
    assert recipe.algorithm == {"name": "optimal", "measure": "lm", "suppression_limit": 0.02}
    assert recipe.engine.name == "memory"
    assert recipe.output.suppressed == "star"
    assert recipe.base == Path("here")
    assert recipe.resolve("x.csv") == Path("here/x.csv")


def test_defaults() -> None:
    recipe = parse_recipe(SOURCE)
    assert recipe.seed is None
    assert recipe.source.missing == "error"
    assert recipe.source.separator is None
    assert recipe.roles.quasi == []
    assert recipe.models == []
    assert recipe.algorithm == {"name": "mondrian"}
    assert (recipe.output.folder, recipe.output.format) == ("out", "csv")


@pytest.mark.parametrize(
    "text, parts",
    [
        ("", ["'source'", "missing"]),
        ("sorce = 1", ["'sorce'", "the recipe", "'source'"]),
        ("source = 3", ["'source'", "a table"]),
        ('[source]\nname = "x"', ["'path'", "[source]"]),
        (SOURCE + 'pth = "x"', ["'pth'", "[source]", "'path'"]),
        (SOURCE + 'uri = "x"', ["'uri'", "[source]", "'url'"]),
        (SOURCE + 'url = "postgresql://x"', ["'path'", "'url'", "[source]", "keep one"]),
        (SOURCE + 'table = "x"', ["'table'", "[source]", "add its 'url'"]),
        ('[source]\nurl = "postgresql://x"', ["'url'", "[source]", "either a 'table' or a 'query'"]),
        ('[source]\nurl = "postgresql://x"\ntable = "a"\nquery = "b"', ["either a 'table' or a 'query'"]),
        ('[source]\nurl = "postgresql://x"\ntable = "a"\ncolumns = ["b"]', ["'columns'", "[source]"]),
        ('[source]\nurl = "host=x"\ntable = "a"', ["'url'", "[source]", "must begin with 'postgresql://'"]),
        (SOURCE + 'missing = "dorp"', ["'missing'", "[source]", "'drop'"]),
        (SOURCE + "separator = 1", ["'separator'", "text"]),
        (SOURCE + '[roles]\nquasy = ["a"]', ["'quasy'", "[roles]", "'quasi'"]),
        (SOURCE + '[roles]\nquasi = "a"', ["'quasi'", "[roles]", "a list"]),
        (SOURCE + '[roles]\nquasi = ["a", 1]', ["Entry 2", "'quasi'", "text"]),
        (SOURCE + '[columns.age]\ntpye = "numeric"', ["'tpye'", "[columns.age]", "'type'"]),
        (SOURCE + '[columns.age]\ntype = "numric"', ["'type'", "[columns.age]", "'numeric'"]),
        (SOURCE + "[columns.age]\ndomain = [3, 1]", ["'domain'", "lowest value first"]),
        (SOURCE + "[columns.age]\ndomain = [3]", ["'domain'", "lowest and the highest"]),
        (SOURCE + "[columns.age]\ndomain = [0, inf]", ["'domain'", "two numbers"]),
        (SOURCE + "[columns.age]\nsnap = 0", ["'snap'", "positive width"]),
        (SOURCE + '[columns.age]\nstyle = "bound"', ["'style'", "'bounds'"]),
        (SOURCE + "[columns.age]\nnon_answers = [true]", ["Entry 1", "'non_answers'"]),
        (SOURCE + "[columns]\nage = 3", ["'age'", "[columns]", "a table"]),
        (SOURCE + "[hierarchies]\nage = 3", ["'age'", "[hierarchies]", "file name"]),
        (SOURCE + "[weights]\nage = 0", ["'age'", "[weights]", "above 0"]),
        (SOURCE + "[weights]\nage = true", ["'age'", "[weights]", "number"]),
        (SOURCE + "[weights]\nage = inf", ["'age'", "[weights]", "finite"]),
        (SOURCE + "[[models]]\nk = 5", ["Entry 1", "'models'", "'name'"]),
        (SOURCE + '[[models]]\nname = "k"\n[[models]]\nname = 3', ["Entry 2", "'models'"]),
        (SOURCE + "[models]\nk = 5", ["'models'", "a list"]),
        (SOURCE + "[algorithm]\nk = 5", ["'algorithm'", "'name'"]),
        (SOURCE + '[output]\nformat = "csvv"', ["'format'", "[output]", "'csv'"]),
        (SOURCE + '[engine]\nnme = "x"', ["'nme'", "[engine]", "'name'"]),
        (SOURCE + "[policies.income]\nranges = [1]", ["'ranges'", "[policies.income]", "list of ranges"]),
        (SOURCE + "[policies.income]\nranges = []", ["'ranges'", "list of ranges"]),
        (SOURCE + "[policies.income]\nranges = { levels = 2 }", ["'ranges'", "{ level = 2 }"]),
        (SOURCE + '[policies.income]\nelse = "value"', ["'ranges'", "missing", "[policies.income]"]),
        (SOURCE + '[policies.income]\nranges = "value"\nelse = "none"', ["'else'", "'value'", "'error'"]),
        (SOURCE + '[policies.income]\nrange = "value"', ["'range'", "Did you mean 'ranges'?"]),
        (SOURCE + '[policies.income]\nranges = "value"\notherwise = "value"', ["'otherwise'", "ranges, else"]),
        (SOURCE + "[policies]\nincome = [[0, 9]]", ["'income'", "[policies]", "a table"]),
        ('base = "x"\n' + SOURCE, ["'base'", "the recipe"]),
        ("seed = true\n" + SOURCE, ["'seed'", "whole number"]),
        ("seed = 1.5\n" + SOURCE, ["'seed'", "whole number"]),
        ('acknowledge = "W-ORDER"\n' + SOURCE, ["'acknowledge'", "a list"]),
        ("x =", ["TOML", "line"]),
        ("x = 1\nx = 2", ["TOML"]),
    ],
)
def test_refusals(text: str, parts: list[str]) -> None:
    with pytest.raises(RecipeError) as caught:
        parse_recipe(text)
    message = str(caught.value)
    for part in parts:
        assert part in message or part == "line"
    assert "\n" not in message
    assert "pydantic" not in message
    assert caught.value.exit_code == 2


@pytest.mark.parametrize(
    "url, written",
    [
        ("postgresql://ann:pw@db:5432/clinic", "postgresql://ann@db:5432/clinic"),
        ("postgresql://ann@db/clinic?password=pw&sslmode=require", "postgresql://ann@db/clinic?sslmode=require"),
        ("postgres://db/clinic?pass%77ord=pw", "postgres://db/clinic"),
        ("postgresql:///?service=clinic", "postgresql:///?service=clinic"),
        ("postgresql://:pw@/x?sslpassword=pw", "postgresql://@/x"),
    ],
)
def test_a_password_is_never_written_down(url: str, written: str) -> None:
    recipe = parse_recipe(f'[source]\nurl = "{url}"\ntable = "a"\n')
    assert recipe.source.url == url
    assert url not in repr(recipe)
    assert parse_recipe(dump_recipe(recipe)).source.url == written
    with pytest.raises(RecipeError, match="in a database"):
        _ = recipe.source.file


def test_files(tmp_path: Path) -> None:
    path = tmp_path / "recipe.toml"
    with pytest.raises(RecipeError, match="There is no recipe"):
        load_recipe(path)
    path.write_bytes(b"\xef\xbb\xbf" + FULL.encode())
    assert load_recipe(path).base == tmp_path
    path.write_bytes(b"\xff\xfe")
    with pytest.raises(RecipeError, match="UTF-8"):
        load_recipe(path)
    with pytest.raises(RecipeError, match="cannot be read"):
        load_recipe(tmp_path)


@pytest.mark.parametrize("text", [FULL, SOURCE])
def test_dump_reads_back(text: str) -> None:
    recipe = parse_recipe(text)
    dumped = dump_recipe(recipe)
    assert parse_recipe(dumped) == recipe
    assert dump_recipe(parse_recipe(dumped)) == dumped


@pytest.mark.parametrize("section", [Roles, ColumnSpec, Sampling])
def test_no_text_is_taken_for_a_number_or_a_truth_value(section: type) -> None:
    for one in fields(section):
        with suppress(ValidationError, ShoalError):
            assert not isinstance(getattr(TypeAdapter(section).validate_python({one.name: "1"}), one.name), int)


NAMES = st.text(st.characters(exclude_characters="\0", codec="utf-8"), min_size=1, max_size=8)
VALUES = st.recursive(
    st.booleans() | st.integers(-(2**62), 2**62) | st.floats(allow_nan=False, allow_infinity=False) | NAMES,
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(NAMES, inner, max_size=3),
    max_leaves=6,
)


@given(
    names=st.lists(NAMES, max_size=3),
    parameters=st.dictionaries(NAMES.filter(lambda key: key != "name"), VALUES, max_size=3),
    nested=st.dictionaries(NAMES, st.dictionaries(NAMES, VALUES, min_size=1, max_size=2), max_size=2),
)
def test_dump_reads_back_whatever_the_names(names: list[str], parameters: dict, nested: dict) -> None:
    recipe = Recipe.model_validate(
        {
            "source": {"path": "a.csv", "missing_markers": names},
            "roles": {"quasi": names},
            "columns": {name: {"type": "ordinal", "order": names} for name in names},
            "hierarchies": nested,
            "models": [{"name": "m", **parameters}, {"name": "k"}],
            "algorithm": {"name": "a", **parameters},
        }
    )
    assert parse_recipe(dump_recipe(recipe)) == recipe


def test_update_keeps_comments() -> None:
    changed = update_recipe(
        FULL,
        {
            "seed": None,
            "algorithm": {"suppression_limit": 0.1, "measure": "ncp"},
            "roles": {"neutral": ["hours"], "subject": None},
            "columns": {"age": {"snap": "off"}, "new one": {"type": "categorical"}},
            "hierarchies": {"zip": {"widths": [5, 10]}},
        },
    )
    recipe = parse_recipe(changed)
    assert recipe.seed is None
    assert recipe.algorithm == {"name": "optimal", "measure": "ncp", "suppression_limit": 0.1}
    assert recipe.roles.neutral == ["hours"]
    assert recipe.roles.subject is None
    assert recipe.roles.quasi == ["age", "sex", "zip"]
    assert recipe.columns["age"].snap == "off"
    assert recipe.columns["age"].use == "interval"
    assert recipe.columns["new one"].type == "categorical"
    assert recipe.hierarchies["zip"] == {"widths": [5, 10]}
    for comment in (
        "# accepted on purpose",
        "# identifies the source",
        "# the promises",
        "# loss",
        "# agreed with",
    ):
        assert comment in changed


def test_update_replaces_models_whole_and_adds_tables() -> None:
    models = [{"name": "k", "k": 10}, {"name": "distinct-l", "l": 2, "on": ["a", "b"]}]
    changed = update_recipe("# mine\n" + SOURCE, {"models": models, "output": {"folder": "there"}})
    recipe = parse_recipe(changed)
    assert recipe.models == models
    assert recipe.output.folder == "there"
    assert changed.startswith("# mine")
    assert update_recipe(FULL, {"models": parse_recipe(FULL).models, "seed": 1}) == FULL


@pytest.mark.parametrize("said", ['[columns.a]\ntype = "date"\n', '[columns]\na = { type = "date" }\n'])
def test_none_removes_what_a_recipe_says_of_a_column(said: str) -> None:
    text = f'{SOURCE}{said}[columns.b]\ntype = "date"\n'
    assert set(parse_recipe(text).columns) == {"a", "b"}
    assert set(parse_recipe(update_recipe(text, {"columns": {"a": None, "c": None}})).columns) == {"b"}


def test_update_refuses_what_would_not_load() -> None:
    with pytest.raises(RecipeError, match="'fromat'"):
        update_recipe(FULL, {"output": {"fromat": "csv"}})
    with pytest.raises(RecipeError, match="TOML"):
        update_recipe("x =", {})
