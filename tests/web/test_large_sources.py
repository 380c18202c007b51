"""Sources that the memory of a job does not hold: looked at by their beginning, for an engine that keeps rows."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import polars as pl
import pytest
from fastapi import FastAPI

from shoal.errors import InputError
from shoal.recipe.recipe import parse_recipe
from shoal.web.jobs import kinds
from shoal.web.jobs.sandbox import without_places
from shoal.web.projects.project import Fit, Workspace, folder_of
from tests.web.conftest import user_of
from tests.web.working import add_job, add_project, job_of, people, work_off


def start(app: FastAPI, folder: Path, tmp_path: Path, memory: int) -> dict[str, Any]:
    asked = {
        "kind": "start", "folder": str(folder), "parameters": {"given": {"roles": {"illness": "sensitive"}}},
        "source": {"path": "source/people.csv"}, "offers": [], "temporary": str(tmp_path), "memory": memory,
    }  # fmt: skip
    return kinds.do(asked, lambda step: None)


def test_a_large_file_is_looked_at_by_its_beginning(
    app: FastAPI, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    project = add_project(app)
    folder = folder_of(project.id, app.state.settings)
    (folder / "source" / "people.csv").write_text(people(3000))
    whole = start(app, folder, tmp_path, 4 << 30)
    assert (whole["rows"], parse_recipe(whole["text"]).engine.name) == (3000, "memory")
    assert "It runs as it is" in whole["text"]
    monkeypatch.setattr(kinds, "_ROWS", 1000)
    part = start(app, folder, tmp_path, 1 << 19)
    recipe = parse_recipe(part["text"])
    assert (part["rows_looked_at"], recipe.engine.name, recipe.source.path) == (1000, "duckdb", "source/people.csv")
    assert "rows" not in part
    assert "# Only 1,000 rows of its beginning were looked at" in part["text"]
    assert "It runs as it is" not in part["text"]
    assert str(tmp_path) not in part["text"]
    with app.state.store.writing() as db:
        owner = user_of(app, "custodian").id
        Workspace.newest(db, project, app.state.settings).save(db, Fit(part["text"]), base=1, author=owner)
    job = add_job(app, project, "check")
    with app.state.store.writing() as db:
        db.merge(job).recipe = 2
    work_off(app)
    assert (job_of(app, job.id).state, job_of(app, job.id).message) == ("done", None)


def test_columns_in_the_names_of_folders_are_in_the_first_recipe(app: FastAPI, tmp_path: Path) -> None:
    table, lent = pl.read_csv(people(240).encode()), tmp_path / "lent"
    for at, year in enumerate(["2020", "2021", "2022"]):
        place = lent / f"year={year}/Jane Doe {at}.parquet"
        place.parent.mkdir(parents=True)
        table[80 * at : 80 * at + 80].write_parquet(place)
    asked: dict[str, Any] = {
        "kind": "start", "folder": str(folder_of(add_project(app).id, app.state.settings)),
        "parameters": {"given": {"roles": {"illness": "sensitive"}}}, "source": {"path": str(lent)},
        "offers": [{"name": "people", "place": str(lent), "table": None}], "temporary": str(tmp_path / "job"),
        "memory": 4 << 30,
    }  # fmt: skip
    recipe = parse_recipe(kinds.do(asked, lambda step: None)["text"])
    assert (recipe.engine.name, recipe.source.path, recipe.source.name) == ("duckdb", str(lent), "lent")
    assert "year" in recipe.roles.quasi
    (lent / "b.parquet").symlink_to("/nowhere")
    with pytest.raises(InputError) as failed:
        kinds.do(asked, lambda step: None)
    assert without_places(str(failed.value), [], asked["offers"]).startswith("'b.parquet' in 'people' is neither")
