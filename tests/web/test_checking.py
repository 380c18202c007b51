"""A check on the server finds what ``shoal check`` finds: everything at once, on the page and by the API."""

from __future__ import annotations

import json

import pytest
from fastapi import FastAPI

from shoal.cli.main import execute
from shoal.release.check import findings
from shoal.web.errors import API
from shoal.web.store.tables import Job, Project, now
from tests.web.conftest import program, sign_in
from tests.web.working import MARKED, RECIPE, add_job, add_project, job_of, people, upload, work_off

# Three things at once: a warning that nobody accepted, a code that there is none of, and classes that cannot be.
WRONG = RECIPE.replace("W-UNMODELLED:illness", "W-NONE-SUCH").replace("k = 5", "k = 500")
# A model on a combination of columns alone, which is none on illness and none on zip.
COMBINED = RECIPE.replace('["illness"]\n[[', '["illness", "zip"]\n[[').replace(', "zip"]\nsens', "]\nsens")
COMBINED = COMBINED.replace("W-UNMODELLED:illness", "W-ORDER") + (
    '[[models]]\nname = "distinct-l"\nl = 2\non = ["illness", "zip"]\n'
)


@pytest.mark.parametrize("recipe", [RECIPE, WRONG, COMBINED, RECIPE.replace("people.csv", "none.csv")])
def test_the_server_and_the_command_find_the_same(
    app: FastAPI, recipe: str, capsys: pytest.CaptureFixture[str]
) -> None:
    project = add_project(app, recipe)
    job = add_job(app, project, "check")
    work_off(app)
    folder = app.state.settings.projects / project.id
    (folder / "recipe.toml").write_text(recipe + '[output]\nfolder = "out"\n')
    execute(["check", str(folder / "recipe.toml"), "--json"])
    printed = json.loads(capsys.readouterr().out.replace(f"{folder}/", ""))  # which the server does not tell
    execute(["check", str(folder / "recipe.toml")])
    lines = capsys.readouterr().out.replace(f"{folder}/", "").splitlines()
    found = program(app, "custodian").get(f"{API}/jobs/{job.id}").json()
    assert (found["state"], found["message"]) == ("done", None)
    result = found["result"]
    assert ("only 'distinct-l' on several columns at once" in json.dumps(result)) == (recipe == COMBINED)
    for told in (printed, result):
        told.pop("error", None)
    assert result == printed
    page = sign_in(app, "custodian").get(f"/projects/{project.id}/release").text
    told = [one for one in lines if one.startswith(("Refused", "Infeasible", "Nothing"))]
    assert len(told) == (1 if recipe == RECIPE else len(result["problems"]))
    assert [one for one in told if one.replace("'", "&#39;").replace('"', "&#34;") not in page] == []
    assert MARKED not in page + json.dumps(result)


@pytest.mark.parametrize("more", [{}, {"rows": 60, "vacuous": [], "untold": []}])
def test_all_that_cannot_be_is_called_infeasible(more: dict) -> None:
    problems = [{"message": "a", "exit_code": 3}, {"message": "b", "exit_code": 2}, {"message": "c", "exit_code": 3}]
    told = findings({"problems": problems, "infeasible": "a", **more})
    assert told == ["Infeasible: a", "Refused: b", "Infeasible: c"]


FREE = {
    "rows": 60, "rows_dropped": 0, "people": None, "problems": [], "refusals": [], "columns": [],
    "untold": ["whether all rows can be released"], "vacuous": [],
}  # fmt: skip
ENDING = "Nothing known before a run stands in its way"


def ended(app: FastAPI, project: Project, kind: str, **values: object) -> None:
    """A job that came to an end just now."""
    job = add_job(app, project, kind)
    with app.state.store.writing() as db:
        for name, value in {"state": "done", "started": now(), **values}.items():
            setattr(db.get_one(Job, job.id), name, value)


def test_a_check_stands_for_what_it_looked_at_alone(app: FastAPI) -> None:
    project, browser = add_project(app), sign_in(app, "custodian")
    address = f"/projects/{project.id}/release"
    ended(app, project, "check", result=FREE)
    assert ENDING in browser.get(address).text
    ended(app, project, "check", state="failed", message="The job took more memory than it may.")
    page = browser.get(address).text
    assert (ENDING in page, "more memory" in page) == (False, True)
    ended(app, project, "check", result=FREE)
    assert ENDING in browser.get(address).text
    # The same name with other rows.
    assert upload(browser, people(40), to=f"/projects/{project.id}", kind="source").status_code == 303
    page = browser.get(address).text
    assert (ENDING in page, "check it again" in page) == (False, True)
    ended(app, project, "check", result=FREE)
    assert ENDING in browser.get(address).text
    assert upload(browser, people(50), to=f"/projects/{project.id}", kind="source").status_code == 303
    assert ENDING not in browser.get(address).text


def test_codes_are_offered_for_what_the_recipe_still_promises(app: FastAPI) -> None:
    project, browser = add_project(app, RECIPE.replace("W-UNMODELLED:illness", "W-ORDER")), sign_in(app, "custodian")
    address, client = f"/projects/{project.id}", program(app, "custodian")
    refused = 'It is so. To accept this, add "W-UNMODELLED:illness" to \'acknowledge\'.'
    ended(app, project, "run", state="failed", message=refused)
    offered = "Accept what it was refused for"
    assert offered in browser.get(f"{address}/release").text
    assert browser.submit(f"{address}/release/review", base=1, title="People").status_code == 303
    assert offered in browser.get(f"{address}/release").text
    text = client.get(f"{API}{address}/recipe").json()["text"]
    sent = {"text": text.replace("k = 5", "k = 6"), "base": 2}
    assert client.put(f"{API}{address}/recipe", json=sent).status_code == 201
    assert offered not in browser.get(f"{address}/release").text
    answer = browser.submit(f"{address}/release/accept", base=3, code="W-UNMODELLED:illness")
    assert (answer.status_code, "nothing to accept" in answer.text) == (422, True)


def test_a_promise_of_nothing_is_no_good_news(app: FastAPI) -> None:
    project = add_project(app)
    empty = [{"model": {"name": "t-closeness", "t": 1.0}, "on": ["illness"]}]
    ended(app, project, "check", result={**FREE, "vacuous": empty})
    page = sign_in(app, "custodian").get(f"/projects/{project.id}/release").text
    assert '<p class="warning">Vacuous: &#39;t-closeness&#39; on illness cannot fail on this table.</p>' in page
    assert '<p class="done">Vacuous' not in page
    assert f'<p class="done">{ENDING}' in page


def test_everything_is_told_and_accepted_at_once(app: FastAPI) -> None:
    project = add_project(app, WRONG)
    job = add_job(app, project, "check")
    work_off(app)
    result = job_of(app, job.id).result or {}
    assert [one["type"] for one in result["problems"]] == ["ParameterError", "RefusalError", "InfeasibleError"]
    assert "<code>W-UNMODELLED:illness</code>" in sign_in(app, "custodian").get(f"/projects/{project.id}/release").text
