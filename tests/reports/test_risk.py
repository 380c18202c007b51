"""The risk page: its data, its structure, and that it fetches and sends nothing."""

from __future__ import annotations

import json
import re
from functools import cache
from html.parser import HTMLParser
from typing import Any

import polars as pl

import shoal
from shoal.reports.risk import TEMPLATES, page_data, risk_html

EVIL = '</script><img src="x" onerror="alert(1)">&{{ 7*7 }}'


class Page(HTMLParser):
    """Tags with their attributes, what each script holds, and the text outside scripts and styles."""

    def __init__(self, text: str) -> None:
        super().__init__()
        self.tags: list[tuple[str, dict[str, str | None]]] = []
        self.scripts: list[str] = []
        self.words = ""
        self.last = ""
        self.feed(text)

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.tags.append((tag, dict(attrs)))
        self.last = tag
        if tag == "script":
            self.scripts.append("")

    def handle_endtag(self, tag: str) -> None:
        self.last = ""

    def handle_data(self, data: str) -> None:
        if self.last == "script":
            self.scripts[-1] += data
        elif self.last != "style":
            self.words += data


@cache
def report(**options: Any) -> dict[str, Any]:
    frame = pl.DataFrame({"age": ["30"] * 6 + ["41"] * 12 + ["50"], EVIL: ["f", "m"] * 9 + ["f"], "s": ["flu"] * 19})
    table = shoal.read(frame, quasi=["age", EVIL], sensitive=["s"])
    return shoal.assess(table, **options).as_dict()


@cache
def text() -> str:
    return risk_html(report(fraction=0.1), title=EVIL)


def test_the_data_are_all_there() -> None:
    data = json.loads(Page(text()).scripts[0])
    assert data == json.loads(json.dumps(page_data(report(fraction=0.1))))
    assert set(data["curves"]) == {"prosecutor", "journalist"}
    assert data["threshold"] == 0.2
    assert set(data["columns"]) == {"age", EVIL}
    bars = {one["label"]: (one["classes"], one["records"]) for one in data["sizes"]}
    assert bars["1"] == (1, 1)
    assert bars["3"] == (2, 6)
    assert bars["5 to 9"] == (2, 12)
    assert bars["100 or more"] == (0, 0)
    assert sum(records for _, records in bars.values()) == 19


def test_every_figure_stands_with_its_meaning() -> None:
    words = " ".join(Page(text()).words.split())
    for name, one in report(fraction=0.1)["figures"].items():
        assert f"{name} " in words or name in words
        assert one["sentence"] in words
    assert "Prosecutor: knows that somebody is in the table" in words
    assert "190 people, by the sampling fraction" in words
    plain = " ".join(Page(risk_html(report(suda=0), title="plain")).words.split())
    assert "Nothing is known about the population" in plain
    assert "Minimal sample uniques" not in plain
    for other in ("None", "undefined", "nan"):
        assert other not in plain


def test_names_from_the_data_stay_text() -> None:
    found = Page(text())
    tags = [tag for tag, _ in found.tags]
    assert tags.count("script") == 3
    assert "img" not in tags
    assert EVIL in found.words
    assert "49" not in found.words.replace("49.", "")
    assert not [name for _, attributes in found.tags for name in attributes if name.startswith("on")]


def test_it_is_private_and_fetches_nothing() -> None:
    found = Page(text())
    assert found.words[found.words.index("(private)") :].removeprefix("(private)").strip().startswith("Private: not")
    for tag, attributes in found.tags:
        assert tag not in ("link", "iframe", "object", "embed", "base")
        assert not {"src", "href", "action", "srcset"} & set(attributes)
    policy = next(a["content"] for _, a in found.tags if a.get("http-equiv") == "Content-Security-Policy")
    assert policy is not None
    assert "default-src 'none'" in policy
    own = found.scripts[2] + (TEMPLATES / "risk.css").read_text("utf-8")
    assert not re.search(r"https?:|//[a-z]+\.|fetch\(|XMLHttpRequest|@import|url\(", own)
    assert "showSendToCloud: false" in own
    assert 'plotlyServerURL: ""' in own
    assert "plotly.js v" in found.scripts[1][:200]


def test_axes_are_labelled_and_every_plot_has_its_place() -> None:
    found = Page(text())
    ids = [attributes["id"] for _, attributes in found.tags if "id" in attributes]
    for plot in re.findall(r'draw\("([a-z]+)"', found.scripts[2]):
        assert plot in ids
    for label in (
        "risk of a record",
        "share of records with that risk or more",
        "size of the class",
        "quasi-identifier",
    ):
        assert f'axis("{label}' in found.scripts[2]
