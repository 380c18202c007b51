"""Records on disk: what is written, what is skipped, and how the command ends."""

from __future__ import annotations

import contextlib
import io
import json
from pathlib import Path
from typing import Any

import polars as pl
import pytest

from shoal import registry
from shoal.cli.main import execute
from shoal_papers.base import Context, Item, Outcome, Paper, impossible
from shoal_papers.claims import checked, info
from shoal_papers.plots import Plot, Series

WORDS = {"shows": "A line.", "statement": "It <goes> up."}
COUNT = {"runs": 0}


def _line(context: Context) -> Outcome:
    COUNT["runs"] += 1
    frame = context.data.standin("synthetic-b", n=context.parameters["rows"], seed=context.seeds[0]).frame
    return Outcome(
        table=pl.DataFrame({"x": [1, 2], "y": [0.1, float("nan")]}),
        runs=frame,
        plots=[Plot(title="t", x="x", y="y", series=[Series(name="a", x=[1, 2], y=[1.0, 2.0])])],
        claims=[checked("It is one", context.parameters["rows"] != 7, "Seen.", rows=frame.height), info("x", 1.0, 2.0)],
        notes=["A note."],
        readings=["Another reading."],
    )


def _colours(context: Context) -> Outcome:
    texts = {"It is green": True, "It is red": False, "It is blue": False, "It is new": False}
    claims = [checked(text, holds, "Seen.", kind="soft") for text, holds in texts.items()]
    return Outcome(table=None, claims=[*claims, info("x", 1.0, 2.0)])


MADE_UP = Paper(
    name="made-up",
    authors="Nobody",
    about="nothing",
    items=[
        Item(id="1", key="EXP-T-1", title="One", run=_line, parameters={"rows": 20}, quick={"rows": 10}, **WORDS),
        Item(id="2", key="EXP-T-2", title="Two", run=_line, parameters={"rows": 7}, **WORDS),
        Item(id="3", key="EXP-T-3", title="Three", run=_line, needs=["adult"], parameters={"rows": 5}, **WORDS),
        impossible(id="4", key="EXP-T-4", title="Four", reason="It is lost.", **WORDS),
        Item(
            id="5",
            key="EXP-T-5",
            title="Five",
            run=_colours,
            **WORDS,
            refuted={"It is red": "paint was not invented", "It is green": "never said"},
            undecidable={"It is new": "its year is not printed"},
        ),
    ],
)


@pytest.fixture(autouse=True)
def _registered(monkeypatch: pytest.MonkeyPatch) -> None:
    entry = registry.Entry("nowhere:MADE_UP", "Nothing.")
    monkeypatch.setattr(registry, "_installed", lambda: {"paper": [("made-up", entry)]})
    monkeypatch.setattr("shoal_papers.reproduce.load", _load)
    COUNT["runs"] = 0


def _load(kind: str, name: str) -> Any:
    registry.summary(kind, name)  # an unknown name is refused, as ever
    return MADE_UP


def run(*arguments: str) -> tuple[int, str, str]:
    out, err = io.StringIO(), io.StringIO()
    with contextlib.redirect_stdout(out), contextlib.redirect_stderr(err):
        code = execute(["reproduce", *arguments])
    return code, out.getvalue(), err.getvalue()


def test_an_item_leaves_table_figure_page_and_record(tmp_path: Path) -> None:
    code, out, _ = run("made-up", "1", "--output", str(tmp_path), "--quick", "--json")
    assert code == 0
    suffixes = ("-runs.csv", ".csv", ".html", ".json", ".png", ".svg")
    files = sorted(path.name for path in tmp_path.iterdir())
    assert files == [*(f"EXP-T-1{suffix}" for suffix in suffixes), "index.html"]
    record = json.loads((tmp_path / "EXP-T-1.json").read_text("utf-8"))
    assert (record["seeds"], record["quick"], record["parameters"]) == ([1, 2], True, {"rows": 10})
    assert list(record["data"]) == ["synthetic-b, seed 1"]
    assert [claim["verdict"] for claim in record["claims"]] == ["holds", "info"]
    assert json.loads(out)["items"][0]["key"] == record["key"]
    page = (tmp_path / "EXP-T-1.html").read_text("utf-8")
    digest = record["data"]["synthetic-b, seed 1"]["sha256"]
    for text in ("It &lt;goes&gt; up.", "A note.", "Another reading.", "data:image/svg+xml", digest):
        assert text in page
    assert 'href="EXP-T-1.html"' in (tmp_path / "index.html").read_text("utf-8")
    assert json.loads(out)["soft"] == {"reproduced": 0, "refuted": 0, "not decidable": 0}


def test_a_page_opens_with_what_is_reproduced_refuted_and_not_decidable(tmp_path: Path) -> None:
    code, out, _ = run("made-up", "5", "--output", str(tmp_path))
    assert code == 0
    assert "Soft claims: 1 hold, 1 are refuted with the reason, 2 are open." in out
    page = (tmp_path / "EXP-T-5.html").read_text("utf-8")
    parts = page.partition("<h2>In short</h2>")[2].partition("<h2>")[0].split("<p><strong>")[1:]
    assert [part.partition("<")[0] for part in parts] == ["Reproduced", "Refuted, with the reason", "Not decidable"]
    assert "<li>It is green</li>" in parts[0]
    assert "<li>It is red: paint was not invented</li>" in parts[1]
    assert "<li>It is blue: it does not hold here, and" in parts[2]
    assert "<li>It is new: its year is not printed</li>" in parts[2]
    index = (tmp_path / "index.html").read_text("utf-8")
    assert "1 claims are reproduced, 1 refuted with the reason, and 2 not decidable" in index


def test_the_index_passes_over_records_of_another_layout(tmp_path: Path) -> None:
    (tmp_path / "EXP-T-9.json").write_text('{"paper": "made-up", "claims": []}', "utf-8")
    assert run("made-up", "1", "--output", str(tmp_path), "--quick")[0] == 0
    assert "EXP-T-9" not in (tmp_path / "index.html").read_text("utf-8")


def test_what_other_code_made_is_run_again(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    go = ("made-up", "1", "--output", str(tmp_path), "--quick")
    run(*go)
    monkeypatch.setattr("shoal_papers.store.code_stamp", lambda: "changed")
    run(*go)
    assert COUNT["runs"] == 2


def test_what_is_on_record_is_not_run_again(tmp_path: Path) -> None:
    go = ("made-up", "1", "--output", str(tmp_path), "--quick")
    run(*go)
    code, out, _ = run(*go)
    assert (code, COUNT["runs"]) == (0, 1)
    assert "on record" in out
    for changed in (["--again"], ["--seed", "5"]):
        run(*go, *changed)
    assert COUNT["runs"] == 3
    run(*go[:-1])  # a full run is another run
    assert COUNT["runs"] == 4
    (tmp_path / "EXP-T-1.svg").unlink()
    run(*go[:-1])
    (tmp_path / "EXP-T-1.json").write_text("{broken", "utf-8")
    run(*go[:-1])
    assert COUNT["runs"] == 6


def test_a_hard_claim_that_fails_is_exit_4_only_when_strict(tmp_path: Path) -> None:
    assert run("made-up", "2", "--output", str(tmp_path))[0] == 0
    code, _, err = run("made-up", "2", "--output", str(tmp_path), "--strict")
    assert (code, COUNT["runs"]) == (4, 1)
    assert err == "error: EXP-T-2: the hard claim 'It is one' does not hold.\n"
    code, out, _ = run("made-up", "1", "2", "--output", str(tmp_path), "--strict", "--json")
    found = json.loads(out)
    assert (code, found["error"]["exit_code"]) == (4, 4)
    assert [one["broken"] for one in found["items"]] == [[], ["It is one"]]


def test_missing_data_is_exit_2_before_anything_runs(tmp_path: Path) -> None:
    for given in ([], ["--data", str(tmp_path / "nowhere")]):
        code, _, err = run("all", "--output", str(tmp_path / "out"), *given)
        assert (code, COUNT["runs"]) == (2, 0)
        assert "download 'adult.data' from the UCI Machine Learning Repository" in err
    assert not (tmp_path / "out").exists()


def test_an_impossible_item_has_a_page_that_says_so(tmp_path: Path) -> None:
    code, _, _ = run("made-up", "4", "--output", str(tmp_path), "--strict")
    assert code == 0
    assert "cannot be reproduced: It is lost." in (tmp_path / "EXP-T-4.html").read_text("utf-8")
    assert not (tmp_path / "EXP-T-4.csv").exists()


def test_lists_and_slips() -> None:
    code, out, _ = run("--list", "--json")
    assert code == 0
    assert [(one["item"], one["needs"], one["possible"]) for one in json.loads(out)["items"]] == [
        ("1", "-", "yes"), ("2", "-", "yes"), ("3", "adult", "yes"), ("4", "-", "no"),
        ("5", "-", "yes"),
    ]  # fmt: skip
    assert run()[0] == run("all", "1")[0] == run("made-up", "77")[0] == run("made-down")[0] == 2
    assert "Did you mean 'made-up'?" in run("made-down")[2]


def test_data_says_where_from_and_refuses_another_file(tmp_path: Path) -> None:
    out, err = io.StringIO(), io.StringIO()
    with contextlib.redirect_stdout(out), contextlib.redirect_stderr(err):
        assert execute(["data", "adult"]) == 0
        (tmp_path / "adult.data").write_text(", ".join(["1"] * 15) + "\n", "utf-8")
        assert execute(["data", "adult", str(tmp_path)]) == 2
    assert "UCI Machine Learning Repository" in out.getvalue()
    assert "CC BY 4.0" in out.getvalue()
    assert "it has 1 rows, not 32561" in err.getvalue()


def test_data_checks_the_real_file(adult: Path) -> None:
    out = io.StringIO()
    with contextlib.redirect_stdout(out):
        assert execute(["data", "adult", str(adult.parent), "--json"]) == 0
    copy = json.loads(out.getvalue())["copy"]
    assert (copy["rows"], copy["complete"], copy["columns"], copy["same_hash"]) == (32561, 30162, 15, True)
