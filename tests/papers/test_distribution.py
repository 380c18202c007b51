"""The documents are a distribution of their own: what it says of itself, and what happens without it."""

from __future__ import annotations

import contextlib
import io
import json
import tomllib
from pathlib import Path

import pytest

from shoal import registry
from shoal.cli.main import execute
from shoal.registry import VERSION

PROJECT = tomllib.loads((Path(__file__).parents[2] / "papers" / "pyproject.toml").read_text("utf-8"))["project"]


def run(*arguments: str) -> tuple[int, str, str]:
    out, err = io.StringIO(), io.StringIO()
    with contextlib.redirect_stdout(out), contextlib.redirect_stderr(err):
        code = execute(list(arguments))
    return code, out.getvalue(), err.getvalue()


def test_both_have_one_version() -> None:
    assert PROJECT["version"] == VERSION
    assert f"shoal[eval]=={VERSION}" in PROJECT["dependencies"]


def test_its_papers_are_in_the_catalogue_and_say_whose_they_are() -> None:
    points = PROJECT["entry-points"]["shoal.papers"]
    assert sorted(registry.names("paper")) == sorted(points)
    assert {name: registry._entry("paper", name).target for name in points} == points
    code, out, err = run("list", "papers", "--json")
    assert (code, err) == (0, "")
    listed = json.loads(out)["papers"]
    assert {one["origin"] for one in listed} == {f"shoal-papers {VERSION}"}
    for one in listed:
        paper = registry.load("paper", one["name"])
        assert (paper.name, one["summary"]) == (one["name"], f"{paper.authors}: {paper.about}.")


@pytest.mark.parametrize("command", ["reproduce --list", "reproduce morton", "data adult"])
def test_without_it_one_sentence_says_what_to_install(command: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("shoal.cli.data.find_spec", lambda name: None)
    code, out, err = run(*command.split())
    assert (code, out) == (2, "")
    assert err.endswith("needs shoal-papers, which is not installed: run pip install shoal-papers.\n")
    assert err.count("\n") == 1


def test_where_its_papers_are_not_registered_nothing_is_run_in_silence(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    monkeypatch.setattr(registry, "_installed", dict)
    for command in ("reproduce --list", f"reproduce all -o {tmp_path / 'out'}"):
        code, out, err = run(*command.split())
        assert (code, out) == (2, "")
        assert err == (
            "error: No paper is registered: run pip install shoal-papers again, so that its papers are known.\n"
        )


def test_a_paper_that_is_none_is_left_out_of_all_and_refused_by_name(monkeypatch: pytest.MonkeyPatch) -> None:
    odd = registry.Entry("json:JSONDecoder", None, "others 1.0")
    gone = registry.Entry("nowhere_at_all:PAPER", None, "others 1.0")
    ours = registry._installed()["paper"]
    monkeypatch.setattr(registry, "_installed", lambda: {"paper": [*ours, ("odd", odd), ("gone", gone)]})
    code, out, err = run("reproduce", "--list", "--json")
    assert code == 0
    assert {one["paper"] for one in json.loads(out)["items"]} == set(PROJECT["entry-points"]["shoal.papers"])
    assert "The paper 'odd' of others 1.0 is no paper" in err
    assert "The paper 'gone' of others 1.0 cannot be loaded (ModuleNotFoundError" in err
    code, out, err = run("reproduce", "odd", "--list")
    assert (code, out) == (2, "")
    assert err == "error: The paper 'odd' of others 1.0 is no paper: repair or uninstall that distribution.\n"


def test_without_it_there_are_no_papers(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(registry, "_installed", dict)
    code, out, err = run("list", "papers", "--json")
    assert (code, json.loads(out)) == (0, {"papers": []})
    assert err == "warning: There are none without shoal-papers: run pip install shoal-papers.\n"
