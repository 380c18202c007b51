"""The explorer's page: its data, its structure, and that it fetches and sends nothing."""

from __future__ import annotations

import json
import re
from dataclasses import replace
from functools import cache
from html.parser import HTMLParser
from typing import Any

import pytest

from shoal.reports.compare import TEMPLATES, counted, explore_html, page_data
from shoal.results import Survey, SurveyNode

EVIL = '</script><img src="x" onerror="alert(1)">&{{ 7*7 }}'
VOID = {"meta", "input", "br", "img", "link"}


def node(levels: tuple[int, int], loss: float | None, suppressed: int, verdict: str) -> SurveyNode:
    classes = 0 if verdict == "fails" else 4
    return SurveyNode(
        levels=levels, loss=loss, suppressed=suppressed, classes=classes, smallest=2 * classes, verdict=verdict
    )


SURVEY = Survey(
    measure="lm",
    better="down",
    rows=200,
    limit=0.05,
    columns=["age", EVIL],
    heights=[2, 1],
    level_names=[["as it is, 9 values", "3 groups such as <40", "everything is *"], ["as it is, 2 values", EVIL]],
    lattice=6,
    chosen={"every node": 6},
    nodes=[
        node((1, 1), 0.5, 10, "allowed"), node((2, 0), 0.6, 0, "allowed"), node((2, 1), 1.0, 0, "allowed"),
        node((0, 1), 0.4, 90, "over"), node((1, 0), 0.45, 11, "over"), node((0, 0), None, 200, "fails"),
    ],
    optimum=0,
    proven=True,
)  # fmt: skip


class Page(HTMLParser):
    """Tags with their attributes, what each script holds, and the text outside scripts and styles."""

    def __init__(self, text: str) -> None:
        super().__init__()
        self.tags: list[tuple[str, dict[str, str | None]]] = []
        self.scripts: list[str] = []
        self.words = ""
        self.open: list[str] = []
        self.feed(text)
        assert not self.open, f"{self.open} is not closed"

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.tags.append((tag, dict(attrs)))
        if tag not in VOID:
            self.open.append(tag)
        if tag == "script":
            self.scripts.append("")

    def handle_endtag(self, tag: str) -> None:
        assert self.open.pop() == tag

    def handle_data(self, data: str) -> None:
        if self.open and self.open[-1] == "script":
            self.scripts[-1] += data
        elif not self.open or self.open[-1] != "style":
            self.words += data

    @property
    def ids(self) -> list[str]:
        return [attributes["id"] or "" for _, attributes in self.tags if "id" in attributes]

    @property
    def data(self) -> dict[str, Any]:
        return json.loads(self.scripts[0])


@cache
def text() -> str:
    return explore_html(SURVEY, title=EVIL, models=["k=5", f"distinct-l=2 on {EVIL}"], extra=EVIL)


def page(**changes: Any) -> Page:
    return Page(explore_html(replace(SURVEY, **changes), title="patients", models=["k=5"]))


def test_the_data_are_all_there() -> None:
    data = Page(text()).data
    assert data == json.loads(json.dumps(page_data(SURVEY, EVIL)))
    assert data["levels"][data["optimum"]] == [1, 1]
    assert data["verdict"] == [0, 0, 0, 1, 1, 2]
    assert data["loss"][-1] is None
    assert {len(data[key]) for key in ("levels", "loss", "suppressed", "classes", "smallest", "verdict")} == {6}
    assert data["about"].startswith("Mean loss of a cell")


def test_names_from_the_data_stay_text() -> None:
    found = Page(text())
    assert [tag for tag, _ in found.tags].count("script") == 3
    assert "img" not in [tag for tag, _ in found.tags]
    assert EVIL in found.words
    assert not [name for _, attributes in found.tags for name in attributes if name.startswith("on")]
    assert "49" not in found.words


def test_it_is_marked_private_before_anything_else() -> None:
    found = Page(text())
    shown = found.words[found.words.index("(private)") :].removeprefix("(private)").strip()
    assert shown.startswith("Private: not for publication.")


def test_it_fetches_nothing_and_sends_nothing() -> None:
    found = Page(text())
    for tag, attributes in found.tags:
        assert tag not in ("link", "iframe", "object", "embed", "base")
        assert not {"src", "href", "action", "srcset"} & set(attributes)
    policy = next(a["content"] for tag, a in found.tags if a.get("http-equiv") == "Content-Security-Policy")
    assert policy is not None
    assert "default-src 'none'" in policy
    assert "form-action 'none'" in policy
    assert "http" not in policy
    own = found.scripts[2] + (TEMPLATES / "explore.css").read_text("utf-8")
    assert not re.search(r"https?:|//[a-z]+\.|fetch\(|XMLHttpRequest|@import|url\(", own)
    # Plotly would offer a button that sends the chart to its makers.
    assert "showSendToCloud: false" in found.scripts[2]
    assert 'plotlyServerURL: ""' in found.scripts[2]


def test_plotly_is_inside() -> None:
    script = Page(text()).scripts[1]
    assert "plotly.js v" in script[:200]
    assert len(script) > 1_000_000


def test_the_script_finds_every_element_it_asks_for() -> None:
    found = Page(text())
    asked = set(re.findall(r'byId\("([a-z-]+)"\)', found.scripts[2])) | {"data", "nodes"}
    assert asked <= set(found.ids)
    assert len(found.ids) == len(set(found.ids))


def test_markers_differ_in_shape_and_axes_say_which_way_is_better() -> None:
    script = Page(text()).scripts[2]
    assert len(set(re.findall(r'symbol: "([a-z-]+)"', script))) == 5
    assert "← better   rows suppressed" in script
    assert "better →" in script


def test_what_was_counted_is_said() -> None:
    assert counted(SURVEY) == "All 6 nodes of the lattice were counted."
    part = replace(SURVEY, lattice=12960, chosen={"the optimum": 1, "a sample": 5})
    assert counted(part) == ("The lattice has 12,960 nodes; 6 were counted: the optimum (1), a sample (5).")
    assert "All 6 nodes of the lattice were counted." in page().words


@pytest.mark.parametrize(
    "changes, expected",
    [
        ({}, "at most 5 % of them may be suppressed. Every class must satisfy k=5."),
        ({"proven": False}, "the search ended before it could prove that none is better"),
        ({"optimum": None, "nodes": SURVEY.nodes[3:]}, "allowed: the one that suppresses least loses 5.50 %"),
    ],
)  # fmt: skip
def test_the_heading_says_what_matters(changes: dict[str, Any], expected: str) -> None:
    words = " ".join(page(**changes).words.split())
    assert expected in words
    for other in ("None", "undefined"):
        assert other not in words


def test_the_same_survey_gives_the_same_page() -> None:
    assert explore_html(SURVEY, title="a", models=[]) == explore_html(SURVEY, title="a", models=[])
