"""Research value from a recipe to a written release, with the list to choose from in the private evidence."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import polars as pl
import pytest

import shoal
from shoal.errors import ParameterError
from shoal.io.evidence import read_evidence
from shoal.release.run import run

RECIPE = """
seed = 1
[source]
path = "people.csv"
[roles]
quasi = ["age", "race"]
sensitive = ["illness"]
[hierarchies]
age = {{ widths = [5, 10, 30] }}
race = "race.csv"
[weights]
age = 3
[[models]]
name = "k"
k = 4
[[models]]
name = "distinct-l"
l = 2
[algorithm]
name = "{name}"
suppression_limit = 0.05
rules = [
  {{ column = "age", boundary = {boundary}, importance = 10 }},
  {{ column = "race", separate = ["White", "Black"], importance = 30 }},
]
"""


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    rng = np.random.default_rng(8)
    frame = pl.DataFrame(
        {
            "age": rng.integers(10, 40, 300), "race": rng.choice(["White", "Black", "Asian", "Other"], 300),
            "illness": rng.choice(["flu", "cold", "gout"], 300),
        }
    )  # fmt: skip
    frame.write_csv(tmp_path / "people.csv")
    races = ["White;White;*", "Black;Black;*", "Asian;Rest;*", "Other;Rest;*"]
    (tmp_path / "race.csv").write_text("\n".join(races), encoding="utf-8")
    return tmp_path


def write(folder: Path, name: str = "rv-global", boundary: int = 19) -> Path:
    (folder / "recipe.toml").write_text(RECIPE.format(name=name, boundary=boundary), encoding="utf-8")
    return folder / "recipe.toml"


def test_a_release_with_the_list_in_its_evidence(folder: Path) -> None:
    release = run(write(folder))
    assert all(verdict.holds for verdict in release.verdict)
    found = read_evidence(folder / "out")
    ranked, values = found["search"]["ranked"], found["search"]["values"]
    assert found["measures"]["height"]["value"] == sum(ranked[0]["levels"].values())
    assert ranked[0]["rv"] == pytest.approx(sum(values[name][level] for name, level in ranked[0]["levels"].items()))
    assert [one["rv"] for one in ranked] == sorted((one["rv"] for one in ranked), reverse=True)
    # Bands of ten years keep the boundary, bands of thirty reach over it.
    assert values["age"][2] > 0.0 == values["age"][3]
    assert found["algorithm"]["rules"][0] == {"column": "age", "boundary": "19", "importance": 10.0}
    # An expert may publish another string of the list.
    choice = shoal.NoAlgorithm(levels=ranked[-1]["levels"], suppression_limit=0.05)
    models = [shoal.KAnonymity(k=4), shoal.DistinctL(l=2)]
    other = shoal.anonymize(release.table, algorithm=choice, models=models, seed=1)
    assert other.evidence["counts"]["suppressed"] == ranked[-1]["suppressed"]


def test_the_exact_methods_write_the_same_release(folder: Path) -> None:
    frames = []
    for name in ("rv-global", "rv-hybrid", "rv-distributed"):
        frames.append(run(write(folder, name), replace=True).frame)
    assert frames[0].equals(frames[1])
    assert frames[0].equals(frames[2])


def test_a_rule_on_a_value_that_does_not_exist(folder: Path) -> None:
    with pytest.raises(ParameterError, match="sets the boundary 90 on 'age', .* its values go from 10 to 39"):
        run(write(folder, boundary=90))
    assert not (folder / "out").exists()
