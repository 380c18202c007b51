"""``shoal compare``: the recipe's section, flags, files, and a page that fetches nothing."""

from __future__ import annotations

import json
import re
from collections.abc import Callable
from pathlib import Path

import polars as pl
import pytest

from shoal.recipe.recipe import dump_recipe, load_recipe, parse_recipe
from shoal.reports.compare import plot_data
from tests.cli.conftest import Result

Shoal = Callable[..., Result]

RECIPE = """\
acknowledge = ["W-UNMODELLED:disease"]
seed = 1

[source]
name = "people"
path = "people.csv"

[roles]
identifiers = ["name"]
quasi = ["age", "sex"]
sensitive = ["disease"]

[algorithm]
name = "mondrian"
cut = "best"

[compare]
algorithms = ["mondrian", { name = "top-down", suppression_limit = 0.5 }]

[compare.grid]
k = [2, 4, 500]
"""
QUICK = ("--processes", 1)


@pytest.fixture
def recipe(tmp_path: Path) -> Path:
    lines = ["name,age,sex,disease"]
    for number in range(150):
        disease = ("flu", "cold", "gout")[number * 5 % 11 % 3]
        lines.append(f"person{number},{20 + number * 7 % 45},{'fm'[number % 2]},{disease}")
    (tmp_path / "people.csv").write_text("\n".join(lines) + "\n", "utf-8")
    path = tmp_path / "recipe.toml"
    path.write_text(RECIPE, "utf-8")
    return path


def test_a_recipe_with_a_grid_gives_table_page_and_advice(shoal: Shoal, recipe: Path) -> None:
    table = recipe.parent / "points.csv"
    result = shoal("compare", recipe, "--csv", table, *QUICK)
    assert result.code == 0, result.err
    assert "6 points were compared" in result.out
    assert "infeasible: " in result.out
    page = recipe.parent / "recipe.compare.html"
    for private in (page, table):
        assert private.stat().st_mode & 0o777 == 0o600
    frame = pl.read_csv(table)
    assert frame["point"].to_list() == [f"{name}, k={k}" for name in ("mondrian", "top-down") for k in (2, 4, 500)]
    assert frame["recommended"].sum() == 1

    text = page.read_text("utf-8")
    ours = re.sub(r"<script>/\*\*.*?</script>", "", text, flags=re.DOTALL)
    assert len(ours) < len(text) / 10, "plotly's own script was not found"
    assert not re.search(r"(src|href|action)\s*=|https?://|@import|url\(", ours)
    assert "default-src 'none'" in ours
    assert all(f"<td>{label}</td>" in ours for label in frame["point"])
    shown = json.loads(re.search(r"const plot = (.*);\n", ours)[1])  # type: ignore[index]
    points = [trace for trace in shown["traces"] if "hovertext" in trace]
    assert sum(len(trace["x"]) for trace in points) == 2 * 4  # in both plots, those that gave a release
    assert shown["layout"]["xaxis"]["title"]["text"] == "loss (lm)   ← better"
    assert len({trace["marker"]["symbol"][0] for trace in points}) == 2
    assert len({trace["line"]["dash"] for trace in points}) == 2
    assert not any(word in ours for word in ("person1", "flu", "gout"))


@pytest.mark.parametrize(
    "algorithm,reason",
    [
        ('{ name = "samarati" }', "Every quasi-identifier is '*'"),
        ('{ name = "optimal" }', "Every quasi-identifier is '*'"),
        ('{ name = "mondrian" }', "Every row has the same quasi-identifiers"),
    ],
)
def test_an_empty_release_is_never_recommended(shoal: Shoal, recipe: Path, algorithm: str, reason: str) -> None:
    tree = "" if "mondrian" in algorithm else "[hierarchies]\nage = { widths = [10, 30] }\n"
    text = RECIPE.split("[algorithm]")[0].replace('"age", "sex"]', '"age"]\ndrop = ["sex"]') + tree
    text += f'[algorithm]\nname = "mondrian"\n[compare]\nalgorithms = [{algorithm}]\ngrid = {{ k = [149] }}\n'
    recipe.write_text(text, "utf-8")
    result = shoal("compare", recipe, *QUICK, "--json")
    assert result.code == 0, result.out
    assert [(one["status"], reason in one["reason"]) for one in result.json["points"]] == [("empty", True)]
    assert result.json["recommended"] is None
    assert result.json["front"] == []
    assert "1 gave an empty release" in result.json["recommendation"]
    assert reason.split("'")[0] in Path(result.json["file"]).read_text("utf-8")
    shown = shoal("compare", recipe, *QUICK, "--replace").out
    assert "empty: Every" in " ".join(shown.split())


def test_an_earlier_page_is_replaced_only_where_that_is_asked_for(shoal: Shoal, recipe: Path) -> None:
    first = shoal("compare", recipe, "--json", *QUICK)
    blocked = shoal("compare", recipe, *QUICK)
    assert (blocked.code, "exists" in blocked.err) == (2, True)
    again = shoal("compare", recipe, "--replace", "--json", *QUICK)
    timeless = [[{**point, "seconds": 0} for point in run.json["points"]] for run in (first, again)]
    assert timeless[0] == timeless[1]


def test_flags_replace_what_the_recipe_sweeps(shoal: Shoal, recipe: Path) -> None:
    result = shoal(
        "compare", recipe, "--algorithm", "mondrian cut=widest", "--algorithm", "top-down", "--grid", "k=3",
        "--grid", "mondrian.mode=strict,relaxed", "--utility", "precision", "--risk", "prosecutor_mean", "--json",
        *QUICK,
    )  # fmt: skip
    assert result.code == 0, result.out
    assert [axis["name"] for axis in result.json["axes"]] == ["precision", "mpm", "prosecutor_mean"]
    points = result.json["points"]
    labels = ["mondrian, k=3, mode=strict", "mondrian, k=3, mode=relaxed", "top-down, k=3"]
    assert [point["label"] for point in points] == labels
    assert points[0]["algorithm"] == {"name": "mondrian", "cut": "widest", "mode": "strict"}


@pytest.mark.parametrize(
    "flags, message",
    [
        (["--grid", "kk=2"], "Did you mean 'k'?"),
        (["--grid", "k"], "key=value"),
        (["--algorithm", "mondrain"], "Did you mean 'mondrian'?"),
        (["--algorithm", "mondrian cot=best"], "Did you mean 'cut'?"),
        (["--risk", "linkage:diseas"], "Did you mean 'disease'?"),
        (["-o", "page.txt"], "must end in .html"),
        (["--csv", "people.csv", "--replace"], "no table of a comparison"),
    ],
)
def test_mistakes_end_with_two_and_write_nothing(
    shoal: Shoal, recipe: Path, flags: list[str], message: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(recipe.parent)
    before = {path: path.read_bytes() for path in recipe.parent.iterdir()}
    result = shoal("compare", recipe, *flags, *QUICK)
    assert (result.code, message in result.err) == (2, True), result.err
    assert {path: path.read_bytes() for path in recipe.parent.iterdir()} == before


def test_the_recipes_section_survives_a_round_trip(recipe: Path) -> None:
    made = load_recipe(recipe)
    again = parse_recipe(dump_recipe(made), recipe.parent)
    assert again.compare == made.compare
    assert made.compare.algorithms[0] == {"name": "mondrian"}
    bare = parse_recipe(RECIPE + "toc.delta = [0.5]\n")
    assert bare.compare.grid == parse_recipe(RECIPE + '"toc.delta" = [0.5]\n').compare.grid
    assert parse_recipe(dump_recipe(bare)).compare == bare.compare


@pytest.mark.parametrize(
    "section, message",
    [
        ("[compare]\nalgorithm = []\n", "Did you mean 'algorithms'?"),
        ("[compare.grid]\nk = 5\n", "must be a table of lists"),
        ("[compare.grid]\nk = []\n", "must be a table of lists"),
        ("[compare]\nalgorithms = [5]\n", "Entry 1 of 'algorithms' in [compare] must be a table with a 'name'"),
    ],
)
def test_a_section_with_a_mistake_gets_one_sentence(shoal: Shoal, recipe: Path, section: str, message: str) -> None:
    recipe.write_text(RECIPE.split("[compare]")[0] + section, "utf-8")
    result = shoal("compare", recipe)
    assert (result.code, message in result.err) == (2, True), result.err


def test_many_points_keep_only_the_labels_of_the_front() -> None:
    axes = [
        {"role": role, "name": role, "better": "down", "share": False} for role in ("utility", "protection", "risk")
    ]
    points = [
        {
            "number": number, "label": f"p{number}", "series": "p", "settings": {"k": number}, "over": [],
            "values": {"utility": number, "protection": 100 - min(number, 1), "risk": 1.0}, "suppressed": 0.0,
            "shown": {"utility": "", "protection": "", "risk": ""}, "beside": {}, "classes": 1, "smallest": 1,
            "seconds": 0,
        }
        for number in range(60)
    ]  # fmt: skip
    fronts = {"protection": [0, 1], "risk": [0]}
    data = {"axes": axes, "points": points, "varied": ["k"], "fronts": fronts, "recommended": 0}
    texts = [trace["text"] for trace in plot_data(data)["traces"] if "text" in trace]
    assert [[text for text in one if text] for one in texts] == [["1"], ["<b>0</b>"], [], ["<b>0</b>"]]
