"""What evidence holds beside the figures before and after: counted again by hand, and the same on an engine."""

from __future__ import annotations

from collections import Counter
from pathlib import Path
from typing import Any

import polars as pl
import pytest

import shoal
from shoal.io.evidence import read_evidence
from shoal.risk.exposure import BINS, shape

ROWS = [{"age": 20 + row % 7, "sex": "fm"[row % 2], "disease": ("flu", "cold", "gout")[row % 3]} for row in range(60)]


def drops(rows: list[tuple[Any, ...]], width: int) -> dict[int, tuple[float, float]]:
    """Mean risk and uniqueness less those without each column."""

    def figures(keys: list[tuple[Any, ...]]) -> tuple[float, float]:
        sizes = Counter(keys)
        return len(sizes) / len(keys), sum(size == 1 for size in sizes.values()) / len(keys)

    whole = figures(rows)
    parts = [figures([(*row[:out], *row[out + 1 :]) for row in rows]) for out in range(width)]
    return {out: (whole[0] - part[0], whole[1] - part[1]) for out, part in enumerate(parts)}


def test_sizes_and_curves_are_those_of_the_classes() -> None:
    found = shape(pl.Series([1, 1, 2, 12, 12, 700]).to_numpy())
    assert (found["records"], found["classes"], found["smallest"], found["largest"]) == (728, 6, 1, 700)
    bars = {one["from"]: (one["classes"], one["records"]) for one in found["sizes"] if one["classes"]}
    assert bars == {1: (2, 2), 2: (1, 2), 11: (2, 24), 501: (1, 700)}
    assert [one["from"] for one in found["sizes"]] == list(BINS)
    assert found["curve"][0] == (1.0, 2 / 728)
    assert found["curve"][11] == (1 / 12, 28 / 728)
    assert shape(pl.Series([], dtype=pl.Int64).to_numpy()) == {}


def test_evidence_says_what_each_column_adds() -> None:
    table = shoal.read(pl.DataFrame(ROWS), quasi=["age", "sex"], sensitive=["disease"])
    release = shoal.anonymize(
        table, algorithm=shoal.Mondrian(k=4), models=[shoal.DistinctL(l=2)], seed=1
    )
    found = release.evidence["risk"]
    for when, frame in (("before", table.frame), ("after", release.frame)):
        rows = frame.select("age", "sex").rows()
        for place, name in enumerate(("age", "sex")):
            mine = found["columns"][when][name]
            assert (mine["mean"], mine["unique"]) == pytest.approx(drops(rows, 2)[place])
        assert found["classes"][when]["classes"] == len(set(rows))
        assert found["classes"][when]["smallest"] == min(Counter(rows).values())
    assert found["columns"]["notes"] == []
    exact = release.frame["age"].str.contains("[", literal=True).not_().mean()
    assert release.evidence["columns"]["age"]["exact"] == pytest.approx(exact)
    assert release.evidence["columns"]["age"]["values"] == 7
    assert release.evidence["columns"]["age"]["cells"] == release.frame["age"].n_unique()
    assert sum(release.evidence["columns"]["age"]["levels"].values()) == pytest.approx(1.0)


def test_people_are_counted_once_a_class() -> None:
    frame = pl.DataFrame(ROWS).with_columns(pl.Series("who", [row // 2 for row in range(60)]))
    table = shoal.read(frame, quasi=["age"], sensitive=["disease"], neutral=["sex"], subject="who")
    accepted = ["W-UNMODELLED:disease", "W-NEUTRAL"]
    release = shoal.anonymize(table, algorithm=shoal.Mondrian(k=4), seed=1, acknowledge=accepted)
    assert release.evidence["people"] == {"rows": 60, "people": 30}
    shown = release.aligned()["age"]
    classes: dict[str, set[int]] = {}
    for cell, who in zip(shown, frame["who"], strict=True):
        classes.setdefault(cell, set()).add(who)
    after = release.evidence["risk"]["classes"]["after"]
    assert after["smallest"] == min(map(len, classes.values()))
    # Without the only column everybody is one class of thirty people.
    mean = sum(1 for _ in classes) / sum(map(len, classes.values())) - 1 / 30
    assert release.evidence["risk"]["columns"]["after"]["age"]["mean"] == pytest.approx(mean)


def test_the_journalist_is_held_against_a_population(tmp_path: Path) -> None:
    pl.DataFrame(ROWS * 3).select("age", "sex").write_csv(tmp_path / "everybody.csv")
    table = shoal.read(
        pl.DataFrame(ROWS), quasi=["age", "sex"], sensitive=["disease"], population=str(tmp_path / "everybody.csv")
    )
    release = shoal.anonymize(
        table, algorithm=shoal.Mondrian(k=4), models=[shoal.DistinctL(l=2)], seed=1
    )
    before, after = (release.evidence["risk"][when] for when in ("before", "after"))
    # Three times as many people of every combination.
    assert before["journalist-max"].value == pytest.approx(before["prosecutor-max"].value / 3)
    assert after["journalist-max"].value == pytest.approx(after["prosecutor-max"].value / 3)


def test_an_engine_counts_the_same(tmp_path: Path) -> None:
    pytest.importorskip("duckdb")
    pl.DataFrame(ROWS).write_csv(tmp_path / "people.csv")
    recipe: dict[str, Any] = {
        "seed": 1,
        "source": {"path": str(tmp_path / "people.csv")},
        "roles": {"quasi": ["age", "sex"], "sensitive": ["disease"]},
        "hierarchies": {"age": {"widths": [2, 4]}, "sex": {"nested": {"*": ["f", "m"]}}},
        "models": [{"name": "k", "k": 5}, {"name": "distinct-l", "l": 2}],
        "algorithm": {"name": "optimal"},
    }
    found = {}
    for engine in ("memory", "duckdb"):
        shoal.run(recipe | {"engine": {"name": engine}, "output": {"folder": str(tmp_path / engine)}})
        evidence = read_evidence(tmp_path / engine)
        found[engine] = {key: evidence[key] for key in ("risk", "columns", "people")}
    assert found["memory"] == found["duckdb"]


def test_an_engine_counts_people_and_cells_that_look_the_same_as_memory_does(tmp_path: Path) -> None:
    """Representatives of several classes are one value to a reader, and people do not add up over classes."""
    pytest.importorskip("duckdb")
    numbered = [row | {"who": f"p{number // 2}"} for number, row in enumerate(ROWS * 2)]
    pl.DataFrame(numbered).write_csv(tmp_path / "people.csv")
    recipe: dict[str, Any] = {
        "seed": 1,
        "acknowledge": ["W-TIGHT"],
        "source": {"path": str(tmp_path / "people.csv")},
        "roles": {"subject": "who", "quasi": ["age", "sex"], "sensitive": ["disease"], "across_classes": False},
        "columns": {"age": {"style": "representative"}},
        "models": [{"name": "k", "k": 2}, {"name": "distinct-l", "l": 2}],
        "algorithm": {"name": "mondrian", "suppression_limit": 1.0},
    }
    found = {}
    for engine in ("memory", "duckdb"):
        shoal.run(recipe | {"engine": {"name": engine}, "output": {"folder": str(tmp_path / engine)}})
        found[engine] = read_evidence(tmp_path / engine)["risk"]
    assert found["memory"] == found["duckdb"]
    assert set(found["duckdb"]["columns"]["after"]) == {"age", "sex"}
