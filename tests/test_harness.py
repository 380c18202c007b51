"""The benchmark harness: what it counts, what it compares, when it says no."""

from __future__ import annotations

import json
from pathlib import Path

import polars as pl
import pytest

from benchmarks import harness
from benchmarks.harness import Comparison, case, coded, measure, run, yardstick_groupby, yardstick_sort


@pytest.fixture
def clock(monkeypatch: pytest.MonkeyPatch) -> list[float]:
    """A clock that stands still until work moves it."""
    now = [0.0]
    monkeypatch.setattr(harness.time, "perf_counter", lambda: now[0])
    return now


def taking(clock: list[float], *seconds: float):
    """Work that takes these seconds, call after call, the last of them from then on."""
    left = list(seconds)

    def work() -> None:
        clock[0] += left.pop(0) if len(left) > 1 else left[0]

    return work


def test_the_minimum_counts_and_the_first_call_stands_alone(clock: list[float]) -> None:
    @case("kernel")
    def kernel() -> Comparison:
        return Comparison(taking(clock, 9, 3, 2, 4), yardstick=taking(clock, 7, 1.5, 1, 2), limit=2)

    result = measure(kernel, repeats=3)
    assert (result.first, result.seconds, result.yardstick, result.ratio) == (9, 2, 1, 2)
    assert result.passed


def test_a_case_without_yardstick_has_no_ratio(clock: list[float]) -> None:
    result = measure(case("alone")(lambda: Comparison(taking(clock, 1))), repeats=2)
    assert result.ratio is None
    assert result.passed


@pytest.mark.parametrize("limit, status", [(2.0, 1), (3.0, 0)])
def test_run_writes_json_and_exits_by_the_limits(
    clock: list[float], tmp_path: Path, capsys: pytest.CaptureFixture[str], limit: float, status: int
) -> None:
    one = case("slow")(lambda: Comparison(taking(clock, 5), yardstick=taking(clock, 2), limit=limit))
    other = case("other")(lambda: Comparison(taking(clock, 5)))
    path = tmp_path / "results" / "out.json"
    with pytest.raises(SystemExit) as ended:
        run([one, other], ["--repeats", "2", "--only", "slow", "--json", str(path)])
    assert ended.value.code == status
    [found] = json.loads(path.read_text())["cases"]
    assert (found["name"], found["ratio"], found["passed"]) == ("slow", 2.5, status == 0)
    assert "slow" in capsys.readouterr().out


def test_run_says_when_nothing_fits() -> None:
    with pytest.raises(SystemExit, match="No case has 'fast'"):
        run([case("slow")(lambda: Comparison(int))], ["--only", "fast"])


def test_codes_are_ranks_with_missing_first() -> None:
    frame = coded(pl.DataFrame({"a": ["y", None, "x", "y"], "b": [10, 2, 2, None]}))
    assert frame.rows() == [(2, 2), (0, 1), (1, 1), (2, 0)]
    assert set(frame.dtypes) == {pl.Int32}


def test_yardsticks_do_what_they_say() -> None:
    frame = pl.DataFrame({"a": [2, 1, 2], "b": [1, 1, 1]})
    assert sorted(yardstick_groupby(frame)().rows()) == [(1, 1, 1), (2, 1, 2)]
    assert yardstick_sort(frame)()["a"].to_list() == [1, 2, 2]


def test_the_default_group_by_has_nine_columns(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(harness, "ADULT", Path("no such file"))
    assert harness.coded_adult().shape == (30_162, 9)


def test_adult_has_its_complete_rows(adult: Path) -> None:
    assert harness.coded_adult().shape == (30_162, 9)
