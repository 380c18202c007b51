"""The comparison with peers: one price for all tools, from what they released. Nothing is installed here."""

from __future__ import annotations

import json
import sys
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl
import pytest

import shoal
from benchmarks import peers
from benchmarks.peers import Data, mean_loss, price, read_anonypy, read_shoal

FRAME = pl.DataFrame({"age": [20, 30, 40, 60], "job": ["a", "b", "c", "d"], "s": ["x", "y", "x", "y"]})
DATA = Data("hand", FRAME, ("age", "job"), "s")


def cells(ages: list[list[float]], jobs: list[list[str]], count: list[int]) -> pl.DataFrame:
    return pl.DataFrame({"age": ages, "job": jobs, "count": count})


@pytest.mark.parametrize(
    "ages, jobs, count, expected",
    [
        ([[20.0, 20.0]], [["a"]], [4], 0.0),
        ([[20.0, 60.0]], [["a", "b", "c", "d"]], [4], 1.0),
        # (10/40 + 1/3) over two records and (20/40 + 1/3) over two, by two columns
        ([[20.0, 30.0], [40.0, 60.0]], [["a", "b"], ["c", "d"]], [2, 2], (0.25 + 0.5 + 2 / 3) / 4),
        # a row that stands for three records, and one record left out
        ([[20.0, 40.0]], [["a", "b", "c"]], [3], (3 * (0.5 + 2 / 3) + 2) / 8),
        ([[20.0, 40.0]] * 3, [["a", "b", "c"]] * 3, [1, 1, 1], (3 * (0.5 + 2 / 3) + 2) / 8),
    ],
)
def test_the_loss_of_cells_made_by_hand(ages: Any, jobs: Any, count: Any, expected: float) -> None:
    assert mean_loss(cells(ages, jobs, count), DATA) == pytest.approx(expected)


def test_a_column_of_one_value_loses_nothing() -> None:
    data = Data("one", FRAME.with_columns(age=pl.lit(5), job=pl.lit("a")), ("age", "job"), "s")
    assert mean_loss(cells([[5.0, 5.0]], [["a"]], [4]), data) == 0.0


def test_cells_of_both_tools_are_read_into_one_form() -> None:
    ages, jobs = FRAME["age"], FRAME["job"]
    assert read_anonypy(pl.Series(["17-35", "20", "-5--2", "1.5-2.5"]), True).to_list() == [
        [17, 35], [20, 20], [-5, -2], [1.5, 2.5],
    ]  # fmt: skip
    assert read_anonypy(pl.Series(["['21-36']", "['20']", "[21-36]"]), True).to_list() == [[21, 36], [20, 20], [21, 36]]
    for unreadable in ("", "x", "21 to 36", "['21-36', '40']", "21-36-40"):
        with pytest.raises(ValueError, match="1 cells"):
            read_anonypy(pl.Series([unreadable]), True)
    assert read_anonypy(pl.Series(["b,a", "c"]), False).to_list() == [["a", "b"], ["c"]]
    assert read_shoal(pl.Series(["[17,35]", "20", "*"]), True, ages).to_list() == [[17, 35], [20, 20], [20, 60]]
    assert read_shoal(pl.Series(["{a|b}", "c", "*"]), False, jobs).to_list() == [["a", "b"], ["c"], list("abcd")]


def test_our_release_is_priced_as_the_measure_lm_prices_it(tmp_path: Path) -> None:
    rng = np.random.default_rng(3)
    frame = pl.DataFrame(
        {"age": rng.integers(17, 90, 300), "job": rng.choice(list("abcdef"), 300), "s": rng.choice(["x", "y"], 300)}
    )
    table = shoal.read(frame, quasi=["age", "job"], sensitive=["s"])
    release = shoal.anonymize(table, algorithm=shoal.Mondrian(k=5), acknowledge=["W-UNMODELLED:s"], seed=1)
    release.frame.select("age", "job").write_csv(tmp_path / "release.csv")
    found = price("shoal", tmp_path / "release.csv", Data("random", frame, ("age", "job"), "s"))
    assert found["loss"] == pytest.approx(release.measure("lm").value)
    assert found["classes"] == release.manifest["classes"]["count"]
    assert found["smallest"] == release.manifest["classes"]["smallest"]


def test_rows_of_a_peer_that_look_alike_are_one_class(tmp_path: Path) -> None:
    text = 'age,job,count\n20-30,"a,b",1\n20-30,"b,a",1\n40-60,"c,d",2\n'
    (tmp_path / "release.csv").write_text(text)
    assert price("anonypy", tmp_path / "release.csv", DATA) == {
        "classes": 2, "smallest": 2, "loss": pytest.approx((0.25 + 0.5 + 2 / 3) / 4),
    }  # fmt: skip


def test_a_run_without_any_peer_says_so_and_goes_on(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr(peers, "install", lambda folder: (Path(sys.executable), []))
    peers.main(["--data", "census", "--rows", "60", "--k", "3", "--json", str(tmp_path / "found.json")])
    found = json.loads((tmp_path / "found.json").read_text())
    assert [row["tool"] for row in found] == [
        "shoal mondrian", "shoal mondrian, search alone", "shoal mondrian, best cut", "shoal audit",
    ]  # fmt: skip
    assert found[0]["smallest"] >= 3
    assert 0 < found[0]["loss"] < 1
    assert "shoal audit" in capsys.readouterr().out


def test_a_peer_that_cannot_be_installed_is_named(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    python = tmp_path / "bin" / "python"
    python.parent.mkdir()
    python.write_text('#!/bin/sh\necho "no such thing" >&2\ncase "$*" in *pycanon*) exit 1;; esac\n')
    python.chmod(0o755)
    assert peers.install(tmp_path) == (python, ["anonypy"])
    said = capsys.readouterr().err
    assert "NOT COMPARED: pycanon" in said
    assert "no such thing" in said


def test_a_job_that_fails_leaves_a_gap_in_the_table(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    answer = peers.run_job("shoal", Path(sys.executable), DATA, tmp_path, k=9, repeats=1, cut="widest", search=False)
    row = peers._row("shoal", DATA, 9, answer, {})
    assert "FAILED: shoal on hand" in capsys.readouterr().err
    assert row.seconds is None
    assert peers.as_table([row]).row_count == 1


def test_figures_agree_but_for_rounding() -> None:
    ours = {"k": [None, 2.0], "entropy l": [None, 2.7], "t": [None, 1 / 3], "alpha": [None, 0.5]}
    theirs = {"k": [0.1, 2.0], "entropy l": [0.1, 2.0], "t": [0.1, 1 / 3 + 1e-13], "alpha": [0.1, 0.6], "c": [0, 1.0]}
    found = peers.compare(ours, theirs)
    assert found == {"k": "agree", "entropy l": "agree", "t": "agree", "alpha": "differ"}
    assert peers.compare({"entropy l": [None, 3 - 1e-12]}, {"entropy l": [0.1, 3.0]}) == {"entropy l": "agree"}
    row = peers._row("pycanon", DATA, None, {"seconds": [1.0]}, {"figures": theirs, "agreement": found})
    assert "alpha 0.6 (0.100) differ" in list(peers.as_table([row]).columns[-1].cells)[0]


@pytest.mark.parametrize(
    "values, numbers", [([3, 1, 2, 2], True), (["3", "1.5", "2", "2"], True), (["3", "x", "3", "x"], False)]
)
def test_every_tool_reads_sensitive_numbers_as_numbers(values: list[Any], numbers: bool) -> None:
    data = Data("hand", FRAME.with_columns(s=pl.Series(values)), ("age", "job"), "s")
    assert peers.read_as_numbers(data) == ["age", *(["s"] if numbers else [])]


def test_a_peer_is_held_against_our_audit(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def answered(job: str, *_: Any, **__: Any) -> dict[str, Any]:
        return {"seconds": [1.0], "figures": {"k": [None, 1.0], "alpha": [None, 1.0 if job == "pycanon" else 0.5]}}

    monkeypatch.setattr(peers, "run_job", answered)
    mine, theirs = peers.measurers(DATA, Path(sys.executable), ["pycanon"], tmp_path)
    assert mine.agreement is None
    assert theirs.agreement == {"k": "agree", "alpha": "differ"}
