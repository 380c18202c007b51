"""Methods that rewrite rows one by one, on Spark: the bytes, and the secrets, that memory gives."""

from __future__ import annotations

import json
import re
from pathlib import Path
from typing import Any

import polars as pl
import pytest

import shoal.spark
from shoal.errors import RecipeError
from shoal.recoding.secrets import SecretKey, tokens
from tests.engines.alike import keyed, outcome
from tests.engines.test_coded_streams import coded

pytest.importorskip("pyspark")

REWRITING = {
    "random": 'name = "random"\nredraw = 2',
    "mapping": 'name = "mapping"\non = "diagnosis"',
    "graded": 'name = "graded"\non = "income"\ncategories = 3',
    "table-transform": 'name = "table-transform"',
}


def rewriting(folder: Path, name: str, rows: int) -> Path:
    """A recipe whose method rewrites rows, beside moved dates and tokens."""
    recipe = coded(folder, rows)
    text = re.sub(r"\[\[models]].*(?=\[output])", f"[algorithm]\n{REWRITING[name]}\n", recipe.read_text(), flags=re.S)
    text = re.sub(r"^code = .*\n", "", text, flags=re.M)
    accepted = '"W-NO-K", "W-RA-LINK", "W-UNMODELLED:diagnosis", "W-UNMODELLED:income"'
    recipe.write_text(text.replace('"W-TRAJECTORY"', f'"W-TRAJECTORY", {accepted}'))
    return keyed(recipe, folder / "people.csv")


@pytest.mark.parametrize("changed", [{"missing": "drop"}], ids=str)
def test_coded_columns_tokens_and_moved_dates_are_those_of_memory(
    changed: dict[str, str], tmp_path: Path, spark: Any
) -> None:
    recipe = keyed(coded(tmp_path, 200, **changed), tmp_path / "people.csv")
    found = outcome(recipe, "spark")
    assert found[:2] == (0, "")
    assert found == outcome(recipe, "memory")
    assert json.loads(found[2]["manifest.json"])["kind"] == "pseudonymised"


@pytest.mark.parametrize("name", REWRITING)
def test_methods_that_rewrite_rows_give_the_same_files(
    name: str, tmp_path: Path, spark: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    # Classes of redrawn rows are as many as rows, and go by files where that is too much to send.
    monkeypatch.setattr("shoal.engines.spark._SENT", 50)
    recipe = rewriting(tmp_path, name, 120)
    found = outcome(recipe, "spark")
    assert found[:2] == (0, "")
    assert found == outcome(recipe, "memory")


def test_the_secrets_of_a_dataframe_stay_with_whoever_asked_for_it(spark: Any, tmp_path: Path) -> None:
    rows = pl.DataFrame({"line": range(90), "who": [f"p{row % 40}" for row in range(90)], "age": [20, 30, 40] * 30})
    frame = spark.createDataFrame(rows.to_arrow(compat_level=pl.CompatLevel.oldest()))
    recipe: dict[str, Any] = {
        "roles": {"key": "line", "pseudonym": ["who"], "quasi": ["age"]}, "models": [{"name": "k", "k": 5}],
        "algorithm": {"name": "mondrian"}, "acknowledge": ["W-TRAJECTORY", "W-ROWS"],
    }  # fmt: skip
    with pytest.raises(RecipeError, match="There is a 'vault' under"):
        shoal.spark.anonymize(frame, {**recipe, "output": {"vault": "people.vault"}})
    with shoal.spark.anonymize(frame, recipe, scratch=tmp_path) as release:
        (key,) = release.secrets
        assert isinstance(key, SecretKey)
        found = release.frame.groupBy("who").count().toArrow()
    assert sorted(found["who"].to_pylist()) == sorted(tokens(rows["who"].unique(), key.raw()))
    assert key.raw().hex() not in repr(release)
    with shoal.spark.anonymize(frame, {**recipe, "output": {"discard_secret": True}}) as release:
        assert release.secrets == ()
