"""Person numbers that are dropped, and published ones, are found where PostgreSQL or Spark keeps the rows."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from shoal.cli.main import execute
from shoal.recipe.edit import update_recipe
from tests.engines.server import Server
from tests.test_person_columns import CASES, RECIPE

ASKED = ["W-ROWS of a dropped column", "W-IDENTIFIES:number"]


def lay_out(case: str, engine: str, folder: Path) -> Path:
    """A recipe for the rows of a case in a file."""
    made, roles = CASES[case]
    made().write_csv(folder / "rows.csv")
    recipe = folder / "recipe.toml"
    recipe.write_text(
        RECIPE.format(path="rows.csv", roles=roles, engine=engine, codes="").replace("mondrian", "optimal")
    )
    return recipe


@pytest.mark.parametrize("gate", [False, True])
@pytest.mark.parametrize("case", ASKED)
def test_postgres_refuses(
    case: str,
    gate: bool,
    postgres: Server,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    recipe = lay_out(case, "postgres", tmp_path)
    postgres.fill("public.visits", CASES[case][0]().sample(fraction=1.0, shuffle=True, seed=3), None)
    address = {"path": None, "url": postgres.url(), "table": "public.visits", "name": "visits"}
    recipe.write_text(update_recipe(recipe.read_text(), {"source": address}))
    if gate:
        monkeypatch.setattr("shoal.release.prepare.person_refusals", lambda *given, **more: [])
    assert execute(["run", str(recipe)]) == 2
    assert f'"{case.partition(" ")[0]}"' in capsys.readouterr().err


@pytest.mark.parametrize("case", ASKED)
def test_spark_refuses(case: str, spark: Any, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    recipe = lay_out(case, "spark", tmp_path)
    assert execute(["run", str(recipe)]) == 2
    assert f'"{case.partition(" ")[0]}"' in capsys.readouterr().err


def test_the_gate_of_spark_refuses_a_dropped_person_number_by_itself(
    spark: Any, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    recipe = lay_out(ASKED[0], "spark", tmp_path)
    monkeypatch.setattr("shoal.release.prepare.person_refusals", lambda *given, **more: [])
    assert execute(["run", str(recipe)]) == 2
    assert '"W-ROWS"' in capsys.readouterr().err
