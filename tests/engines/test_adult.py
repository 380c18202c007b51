"""All of Adult on engines that keep the rows: the same files as in memory."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.engines.alike import outcome

pytest.importorskip("duckdb")

_RECIPE = """
seed = 1
acknowledge = ["W-RA-LINK", "W-NO-K", "W-UNMODELLED:occupation"]
[source]
path = "{data}"
columns = ["age", "workclass", "fnlwgt", "education", "education-num", "marital-status", "occupation", "relationship",
           "race", "sex", "capital-gain", "capital-loss", "hours-per-week", "native-country", "salary-class"]
missing = "drop"
missing_markers = ["?"]
[roles]
quasi = ["age", "workclass", "education", "marital-status", "race", "sex", "native-country"]
sensitive = ["occupation"]
drop = ["fnlwgt", "education-num", "relationship", "capital-gain", "capital-loss", "hours-per-week", "salary-class"]
[hierarchies]
{hierarchies}
{models}
[algorithm]
name = "{algorithm}"
"""
_MODELS = """
[[models]]
name = "k"
k = 10
[[models]]
name = "t-closeness"
t = 0.5
on = "occupation"
"""
_COLUMNS = ("age", "workclass", "education", "marital-status", "race", "sex", "native-country")


@pytest.mark.parametrize("algorithm", ["optimal", "mondrian", "top-down-subtree", "incognito", "random"])
def test_adult_gives_the_same_files(algorithm: str, adult: Path, tmp_path: Path) -> None:
    files = [f'{name} = {{ separator = ";", path = "{adult.parent}/adult_hierarchy_{name}.csv" }}' for name in _COLUMNS]
    recipe = tmp_path / "recipe.toml"
    models = "" if algorithm == "random" else _MODELS
    recipe.write_text(
        _RECIPE.format(data=adult, hierarchies="\n".join(files), models=models, algorithm=algorithm), encoding="utf-8"
    )
    expected = outcome(recipe, "memory")
    assert expected[0] == 0, expected[1]
    assert outcome(recipe, "duckdb") == expected
