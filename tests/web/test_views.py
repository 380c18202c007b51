"""What pages show: every model in words, every plot readable without it, and results that any database takes."""

from __future__ import annotations

import json
import math
import os
from pathlib import Path
from xml.etree import ElementTree

import numpy as np
import pytest

from shoal.registry import names, summary, working
from shoal.reports import svg as drawing
from shoal.reports.dossier_model import Bars, Grid, Lines, Points, Stacks
from shoal.web.jobs import kinds as work
from shoal.web.pages import models, results_view
from shoal.web.pages import models as explaining
from shoal.web.pages.project_page import TABS
from shoal.web.preview import values_view
from shoal.web.preview.place import Place

DOCS = Path(__file__).parents[2] / "docs"
RECIPE = '[source]\npath = "a.csv"\n[roles]\nquasi = ["age"]\nsensitive = ["ill"]\n[[models]]\nname = "k"\nk = 5\n'


def test_every_model_of_ours_is_put_into_words() -> None:
    assert sorted(models.MEANING) == sorted(names("model"))
    assert all(len(one) < 125 and one.endswith(".") for one in models.MEANING.values())


def test_every_page_is_documented() -> None:
    text = (DOCS / "workbench.md").read_text("utf-8")
    assert [words for _, words in (*TABS, ("recipe", "Recipe")) if f"| {words} |" not in text] == []


def test_every_model_algorithm_and_profile_has_a_form(tmp_path: Path) -> None:
    view = models.models_view(Place(tmp_path, RECIPE))
    assert {one.name for one in view.others} == set(working("model"))
    assert {one.name for one in view.algorithms} == set(working("algorithm"))
    assert {one.name for one in view.profiles} == set(working("profile"))
    assert view.mine[0].promise == "5-anonymous"
    assert not {"k", "k-map"} & {one.name for one in view.others if one.targeted}


def test_every_setting_and_figure_is_put_into_words(tmp_path: Path) -> None:
    view = models.models_view(Place(tmp_path, RECIPE))
    silent = {one.name: [field.name for field in one.fields if not field.told] for one in view.algorithms}
    assert {name: fields for name, fields in silent.items() if fields} == {}
    upc = {field.name: field.told for one in view.algorithms if one.name == "upc" for field in one.fields}
    assert upc["protection"] == "P, shorthand that adds the model range-diversity."
    assert upc["max_suppressed"].startswith("The same as a number of rows.")  # of the class above
    told = dict(explaining.figures_told(["lm", "linkage:Diagnose", "nothing"]))
    assert told == {"lm": summary("measure", "lm"), "linkage:Diagnose": summary("attack", "linkage")}


def test_values_follow_a_hierarchy_whose_file_is_replaced(tmp_path: Path) -> None:
    (tmp_path / "a.csv").write_text("race,ill\n" + "x,1\ny,2\nz,1\n" * 5)
    text = RECIPE.replace('"age"', '"race"') + '[hierarchies]\nrace = "race.csv"\n'
    for at, group in enumerate(("both", "two")):
        (tmp_path / "race.csv").write_text(f"x;{group};*\ny;{group};*\nz;z;*\n")
        os.utime(tmp_path / "race.csv", (at, at))
        levels = dict(values_view.values_view(Place(tmp_path, text)).columns)["race"]
        assert levels[1].examples == f"{group}, z"


def test_forms_become_models_and_algorithms() -> None:
    asked = {"name": "distinct-l", "p-l": "3", "p-other": "1", "on": "ill"}
    assert models.model_from(asked) == {"name": "distinct-l", "l": 3, "on": "ill"}
    given = {"name": "upc", "p-utility": "0.7", "p-protection": " 0.5 ", "p-strict": "true", "p-k": ""}
    made = models.algorithm_from(given)
    assert made == {"name": "upc", "utility": 0.7, "protection": 0.5, "strict": True}


ODD = "<b>&\"' ]]>"
NOWHERE = [
    drawing.Dot(x=x, y=y, label="a", told="b")
    for x, y in [(math.nan, 1.0), (1.0, math.inf), (-1.7e308, 1.7e308), (1.0, 2.0), (3.0, 4.0)]
]


@pytest.mark.parametrize("svg", [
    drawing.bars(ODD, ODD, [
        drawing.Bar(label=ODD, value=0.4, low=0.3, high=0.5, marks=(("baseline", 0.1), ("control", 0.9))),
        drawing.Bar(label="x" * 80, value=0.0),
    ]),
    drawing.bars("none", "nothing", []),
    drawing.columns(ODD, ODD, [ODD, "x" * 40, "c"], {"original": [0.1, 0.2, 0.7], ODD: [0.0, 0.0, 0.0]}),
    drawing.columns("none", "nothing", [], {"rows": []}),
    drawing.plane(ODD, ODD, [drawing.Dot(x=1.0, y=-2.0, label=ODD, told=ODD)], [], (ODD, ODD)),
    drawing.plane("p", "q", [drawing.Dot(x=x, y=1e-9 * x, label="a", told="b") for x in (0.0, 1e6)], [], ("x", "y")),
    drawing.plane("p", "q", NOWHERE, NOWHERE, ("x", "y")),
    drawing.plane("p", "q", NOWHERE[:2], [], ("x", "y")),
    drawing.svg(Bars(labels=[ODD, "x" * 40], series={ODD: [0.1, 0.2]}, across=ODD, upwards=ODD), ODD),
    drawing.svg(Stacks(labels=[ODD, "x" * 40], series={ODD: [0.1, 0.2], "rest": [0.9, 0.8]}, across=ODD), ODD),
    drawing.svg(Lines(series={ODD: [(0.0, 1.0), (1.0, 0.1)]}, across=ODD, upwards=ODD, mark=(0.9, ODD)), ODD),
    drawing.svg(Lines(series={"a": []}, across="", upwards="", steps=True), "none"),
    drawing.svg(Points(points={ODD: (0.0, 0.4), "nothing": (1.0, 0.0)}, across=ODD, upwards=ODD), ODD),
    drawing.svg(Points(points={}, across="", upwards=""), "none"),
    drawing.svg(Grid(names=[ODD, "x" * 40], values=[[None, None], [0.4, None]]), ODD),
    drawing.svg(Grid(names=[], values=[]), "none"),
])  # fmt: skip
def test_a_plot_is_well_formed_named_and_without_styles(svg: str) -> None:
    root = ElementTree.fromstring(svg)
    assert root[0].tag == "title"
    width, height = float(root.attrib["width"]), float(root.attrib["height"])
    for one in root.iter():
        assert "style" not in one.attrib
        for key in ("x", "x1", "x2", "cx"):
            assert -5 <= float(one.attrib.get(key, 0)) <= width + 5, one.attrib
        for key in ("y", "y1", "y2", "cy"):
            assert -5 <= float(one.attrib.get(key, 0)) <= height + 5, one.attrib


def test_results_are_plain() -> None:
    given = {1: np.float64("nan"), "a": (np.int64(3), math.inf, {"b"}), "c": np.arange(2), "d": Path("x")}
    found = work.plain(given)
    assert json.loads(json.dumps(found, allow_nan=False)) == {"1": None, "a": [3, None, ["b"]], "c": [0, 1], "d": "x"}


def test_cells_are_the_same_changed_everything_or_gone() -> None:
    found = {
        "statement": "", "total": 3, "suppressed": 1, "columns": [{"name": "a", "role": "quasi"}] * 5, "measures": {},
        "distributions": {}, "rows": [
            {"number": 1, "before": ["x", "1.50", None, "<missing>", "z"], "after": ["x", "1.5", None, None, "*"]},
            {"number": 2, "before": ["x", "1", None, "y", "z"], "after": ["{x|y}", "[1,2]", None, "y", "*"]},
            {"number": 3, "before": ["x", "1", None, "y", "z"], "after": [None] * 5},
        ],
    }  # fmt: skip
    kinds = [[cell.kind for cell in cells] for _, cells in results_view.compare_view(found).rows]
    assert kinds == [
        ["same", "same", "same", "same", "star"], ["changed", "changed", "same", "same", "star"], ["gone"] * 5
    ]  # fmt: skip


@pytest.mark.parametrize("high", [math.nan, math.inf, -math.inf, -1.0, 0.0])
def test_an_axis_ends_whatever_is_drawn(high: float) -> None:
    assert drawing.round_places(high) == [0.0, 1.0]


def test_a_point_without_a_place_is_left_out_of_a_plane() -> None:
    assert drawing.plane("p", "q", NOWHERE, NOWHERE, ("x", "y")).count("<circle") == 2
