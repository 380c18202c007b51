"""Versions of a recipe: read before a transaction, kept with their files or not at all, listed without their texts."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
from fastapi import FastAPI
from sqlalchemy import inspect
from starlette.datastructures import FormData

from shoal.errors import ShoalError
from shoal.web.errors import API, Refused
from shoal.web.pages.project_page import lost_change
from shoal.web.preview.place import Place
from shoal.web.projects import project as workspace
from shoal.web.projects.project import folder_of, versions
from shoal.web.store.tables import File, Project, RecipeVersion
from tests.web.conftest import program, sign_in
from tests.web.working import RECIPE, add_project

CHANGED = f"{RECIPE}\n# more"


@pytest.fixture
def project(app: FastAPI) -> Project:
    return add_project(app)


@pytest.fixture
def read(app: FastAPI, monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """Texts that were read as recipes; while one is, somebody else writes."""
    found: list[str] = []
    parse = workspace.parse_confined

    def watched(text: str, *more: Any) -> Any:
        found.append(text)
        with app.state.store.writing() as db:
            assert db.get(File, ("none", "none")) is None
        return parse(text, *more)

    monkeypatch.setattr(workspace, "parse_confined", watched)
    return found


def test_others_write_while_a_recipe_is_read(app: FastAPI, project: Project, read: list[str]) -> None:
    address = f"{API}/projects/{project.id}/recipe"
    assert program(app, "custodian").put(address, json={"text": CHANGED, "base": 1}).status_code == 201
    answer = sign_in(app, "custodian").submit(f"/projects/{project.id}/recipe", text=RECIPE, base=2)
    assert answer.status_code == 303
    assert (read.count(CHANGED), read.count(RECIPE)) == (1, 1)


def test_a_recipe_made_from_an_older_version_is_not_read(app: FastAPI, project: Project, read: list[str]) -> None:
    address = f"{API}/projects/{project.id}/recipe"
    assert program(app, "custodian").put(address, json={"text": CHANGED, "base": 7}).status_code == 409
    answer = sign_in(app, "custodian").submit(f"/projects/{project.id}/recipe", text=CHANGED, base=7)
    assert answer.status_code == 409
    assert CHANGED not in read


@pytest.mark.parametrize("base", [1, 7])
def test_a_hierarchy_is_kept_with_the_version_that_names_it(app: FastAPI, project: Project, base: int) -> None:
    browser, address = sign_in(app, "custodian"), f"/projects/{project.id}/hierarchies/sex"
    answer = browser.post(
        address, data={"csrf": browser.token(), "base": str(base), "do": "upload"},
        files={"file": ("sex.csv", b"f;*\nm;*\n")}, headers={"origin": "http://localhost"},
    )  # fmt: skip
    kept = list((folder_of(project.id, app.state.settings) / "hierarchies").iterdir())
    with app.state.store.reading() as db:
        rows = db.query(File).filter(File.kind == "hierarchy").count()
    assert (answer.status_code, len(kept), rows) == ((303, 1, 1) if base == 1 else (409, 0, 0))


@pytest.mark.parametrize("error", [ShoalError("x"), Refused(503, "busy", "x"), OSError(5, "x")])
def test_who_was_late_is_told_so_also_where_nobody_can_tell_what_is_lost(tmp_path: Path, error: Exception) -> None:
    def make(place: Place) -> tuple[str, str]:
        raise error

    place = Place(tmp_path, RECIPE)
    assert lost_change(place, place, make, FormData(), "/") is None


def test_versions_are_listed_bit_by_bit_and_without_their_texts(app: FastAPI, project: Project) -> None:
    with app.state.store.writing() as db:
        for number in range(2, 151):
            db.add(RecipeVersion(project=project.id, number=number, text=CHANGED, author=project.owner))
    with app.state.store.reading() as db:
        assert all("text" in inspect(one).unloaded for one in versions(db, project.id))
    client, browser = program(app, "custodian"), sign_in(app, "custodian")
    address, page = f"{API}/projects/{project.id}/recipe/versions", f"/projects/{project.id}/recipe"

    def numbers(query: str) -> list[int]:
        return [one["number"] for one in client.get(f"{address}{query}").json()]

    assert numbers("") == list(range(150, 50, -1))
    assert numbers("?before=51&limit=2") == [50, 49]
    assert numbers("?before=1") == []
    assert 'href="?before=51"' in browser.get(page).text
    older = browser.get(f"{page}?before=51").text
    assert ('href="?version=50#difference"' in older, "Older versions" in older) == (True, False)
