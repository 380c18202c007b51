"""What a manifest shows of hierarchies, and what its readers can do with it."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import polars as pl
import pytest

import shoal
from shoal.data.hierarchy import Hierarchy, shown_entry, shown_rows
from shoal.data.hierarchy_builders import dates, prefix, quantiles
from shoal.errors import InputError
from shoal.recoding.reader_labels import completed, publisher_manifest, readers_manifest
from shoal.release.entry import verify_release
from shoal.release.write import read_tables
from shoal.utility.reading import read_published


def people() -> pl.DataFrame:
    jobs = ("nurse", "doctor", "cook", "smith")
    rows = [(f"19{50 + row % 40}-0{1 + row % 9}-15", 20 + row % 45, f"{10 + row % 4}0{row % 10}", jobs[row % 4],
             ("flu", "cold", "asthma")[row % 3]) for row in range(80)]  # fmt: skip
    return pl.DataFrame(rows, schema=["born", "age", "zip", "job", "disease"], orient="row")


def released(public: bool = False, models: Any = (), algorithm: Any = None) -> shoal.Release:
    table = shoal.read(
        people(), quasi=["born", "age", "zip", "job"], sensitive=["disease"], settings={"zip": {"type": "categorical"}},
        hierarchies={
            "born": {"dates": ["year", "decade"]}, "age": {"widths": [5, 10]}, "zip": {"prefix": [2]},
            "job": {"nested": {"*": {"care": ["nurse", "doctor"], "trade": ["cook", "smith"]}}, "public": public},
        },
    )  # fmt: skip
    return shoal.anonymize(
        table, algorithm=algorithm or shoal.Mondrian(cut="widest"), models=[shoal.KAnonymity(k=4), *models], seed=1,
        acknowledge=["W-UNMODELLED:disease"],
    )  # fmt: skip


def entry(manifest: dict[str, Any], name: str) -> dict[str, Any]:
    return next(column for column in manifest["columns"] if column["name"] == name)


def test_rows_are_the_paths_of_labels_and_null_below_them() -> None:
    tree = dates("born", ["1975-03-09", "1976-01-01", "1981-05-05"], ["year", "decade"])
    assert shown_rows(tree, {"1970s", "1981-05-05"}) == [
        [None, None, None, "*"], [None, None, "1970s", "*"], ["1981-05-05", "1981", "1980s", "*"],
    ]  # fmt: skip
    assert shown_rows(tree, {"*"}) == [[None, None, None, "*"]]
    assert shown_entry(tree, ())["builder"] == {"dates": ["year", "decade"]}


def test_labels_made_of_values_stand_alone() -> None:
    tree = quantiles("income", ["100", "210", "320", "430"], groups=[4, 2])
    assert shown_rows(tree, {tree.labels[1][1]}) == [[None, None, None, "*"], [None, "[200,299]", None, "*"]]


def test_a_label_on_several_levels_is_shown_on_its_lowest() -> None:
    tree = Hierarchy.from_rows("pet", [["cat", "mammal", "*"], ["carp", "*"]])
    assert shown_rows(tree, {"carp"}) == [[None, None, "*"], ["carp", "carp", "*"]]


def test_public_hierarchies_are_whole() -> None:
    whole = entry(released(public=True).manifest, "job")
    assert whole["whole"] is True
    assert sorted(row[0] for row in whole["hierarchy"]) == ["cook", "doctor", "nurse", "smith"]
    assert "whole" not in entry(released().manifest, "job")


@pytest.mark.parametrize("public", [True, False])
def test_what_counts_values_is_attested_unless_they_are_public(tmp_path: Path, public: bool) -> None:
    table = shoal.read(people().select("age", "job"), quasi=["job"], sensitive=["age"], hierarchies={
        "job": {"nested": {"*": {"care": ["nurse", "doctor"], "trade": ["cook", "smith"]}}, "public": public}
    })  # fmt: skip
    release = shoal.anonymize(
        table, models=[shoal.KAnonymity(k=4), shoal.WorstGroupUtility(u=0.9)], seed=1, acknowledge=["W-UNMODELLED:age"]
    )
    assert [verdict.by for verdict in release.verdict] == ["rechecked", "rechecked" if public else "attested"]
    assert verify_release(release.write(tmp_path / "out")).passed


@pytest.mark.parametrize("algorithm", ["mondrian", "top-down-subtree", "bottom-up"])
def test_a_stranger_can_verify_and_read_it(tmp_path: Path, algorithm: str) -> None:
    release = released(public=True, algorithm=algorithm)
    folder = release.write(tmp_path / "out")
    assert verify_release(folder).passed
    frames, manifest = read_tables(folder)
    ours = read_published(frames["release"], publisher_manifest(manifest, release.table), people())
    theirs = read_published(frames["release"], manifest, people())
    for name, feature in ours.features.items():
        other = theirs.features[name]
        covered = [
            {text: {one.values[code] for code in one.code[start:stop]} for text, start, stop in zip(
                one.texts, one.at[:-1], one.at[1:], strict=True)} for one in (feature, other)
        ]  # fmt: skip
        assert covered[0] == covered[1], name


def test_people_under_labels_that_nobody_explains_are_an_error() -> None:
    manifest, frame = released().manifest, people()
    with pytest.raises(InputError, match=r"4 of 4 different values of 'job' .*--hierarchy job=FILE"):
        readers_manifest(manifest, [frame])
    told = readers_manifest(manifest, [frame], {"job": {"nested": {"*": {"care": ["nurse", "doctor"], "trade": [
        "cook", "smith"]}}}})  # fmt: skip
    assert {row[0] for row in entry(told, "job")["hierarchy"]} == {"nurse", "doctor", "cook", "smith"}
    with pytest.raises(InputError, match="no hierarchy of a column 'disease'"):
        readers_manifest(manifest, [frame], {"disease": {"prefix": [1]}})


def test_labels_that_overlap_are_not_guessed_at() -> None:
    rows = [[None, None, "*"], [None, "20+", "*"], [None, "40+", "*"]]
    column = {"name": "age", "type": "numeric", "hierarchy": rows}
    assert completed(column, pl.Series(["25"]))["hierarchy"][0] == ["25", "20+", "*"]
    with pytest.raises(InputError, match="1 of 2 different values of 'age'"):
        completed(column, pl.Series(["25", "45"]))


def test_values_lie_under_the_finest_label_that_holds_them() -> None:
    rows = [[None, None, None, "*"], [None, None, "<200", "*"], [None, "[100,199]", "<200", "*"]]
    rows.append(["7", None, None, "*"])
    column = {"name": "x", "type": "numeric", "hierarchy": rows, "builder": {"quantiles": [4, 2]}}
    found = {row[0]: row[1:] for row in completed(column, pl.Series(["7.0", "50", "150", "500"]))["hierarchy"]}
    assert found["7"] == ["7", "7", "*"]
    assert found["50"] == ["50", "<200", "*"]
    assert found["150"] == ["[100,199]", "<200", "*"]
    assert found["500"] == ["500", "500", "*"]


def test_labels_without_anybody_are_kept() -> None:
    tree = prefix("zip", ["1001", "1002", "2001"], [2])
    column = {"name": "zip", "type": "categorical", **shown_entry(tree, {"10**", "20**"})}
    assert completed(column, pl.Series(["1001"]))["hierarchy"] == [["1001", "10**", "*"], ["20**", "20**", "*"]]
