"""The pages of a project: each over the same recipe, each form a new version of it, and nothing of the data can run."""

from __future__ import annotations

import hashlib
import io
import re
import tomllib
import zipfile
from html import unescape
from html.parser import HTMLParser
from itertools import product
from pathlib import Path

import pytest
from fastapi import FastAPI
from sqlalchemy import select

from shoal.errors import ShoalError
from shoal.web.errors import API
from shoal.web.preview.place import Place
from shoal.web.preview.values_view import values_view
from shoal.web.projects.project import Fit, Workspace, folder_of
from shoal.web.store.tables import LogEntry, Project, RecipeVersion
from tests.web.conftest import Browser, program, sign_in, user_of
from tests.web.working import RECIPE, add_job, add_project, people, work_off

TABS = ("data", "hierarchies", "models", "risk", "explore", "compare", "attacks", "release", "values", "recipe")
SCRIPT = "<script>alert(1)</script>"


class Runnable(HTMLParser):
    """Collects what a policy against inline code would stop, and what could run without one."""

    def __init__(self) -> None:
        super().__init__()
        self.found: list[str] = []

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        given = dict(attrs)
        own = tag == "script" and str(given.get("src", "")).startswith("/static/")
        if (tag in ("script", "style", "iframe", "object") and not own) or {"style"} & set(given):
            self.found.append(tag)
        self.found += [name for name in given if name.startswith("on")]
        self.found += [text for text in given.values() if str(text).strip().lower().startswith("javascript:")]


def runnable(text: str) -> list[str]:
    parser = Runnable()
    parser.feed(text)
    return parser.found


class Bench:
    """A custodian at a project."""

    def __init__(self, app: FastAPI, recipe: str = RECIPE) -> None:
        self.app, self.browser = app, sign_in(app, "custodian")
        self.project: Project = add_project(app, recipe)
        self.at = f"/projects/{self.project.id}"

    @property
    def space(self) -> Workspace:
        with self.app.state.store.reading() as db:
            return Workspace.newest(db, self.project, self.app.state.settings)

    @property
    def folder(self) -> Path:
        return folder_of(self.project.id, self.app.state.settings)

    def page(self, tab: str) -> str:
        answer = self.browser.get(f"{self.at}/{tab}")
        assert answer.status_code == 200, answer.text
        return answer.text

    def send(self, tab: str, base: int | None = None, **fields: object) -> tuple[int, str]:
        """Send a form of a page; the status and, where it was not taken, why."""
        version = self.space.version if base is None else base
        answer = self.browser.submit(f"{self.at}/{tab}", base=version, **fields)
        found = re.search(r'class="problem" role="alert">([^<]+)<', answer.text)
        return answer.status_code, found[1] if found else ""


@pytest.fixture
def bench(app: FastAPI) -> Bench:
    return Bench(app)


def test_every_page_is_there_before_anything_ran(bench: Bench) -> None:
    for tab in TABS:
        text = bench.page(tab)
        assert 'href="' + bench.at + '/recipe"' in text, tab
        assert runnable(text) == [], tab


def test_whoever_is_no_custodian_sees_none_of_them(app: FastAPI, bench: Bench) -> None:
    for role in ("admin", "researcher", "auditor"):
        browser: Browser = sign_in(app, role)
        for tab in (*TABS, "counts", "hierarchies/age", "recipe.toml"):
            assert browser.get(f"{bench.at}/{tab}").status_code == 403, (role, tab)


def test_a_role_and_a_type_are_saved_as_a_new_version(bench: Bench) -> None:
    names = ["age", "sex", "zip", "illness"]
    fields = {"role-0": "quasi", "role-1": "drop", "role-2": "quasi", "role-3": "sensitive", "type-2": "categorical"}
    assert bench.send("data", column=names, **fields)[0] == 303
    made = tomllib.loads(bench.space.text)
    assert bench.space.version == 2
    assert made["roles"]["quasi"] == ["age", "zip"]
    assert made["roles"]["drop"] == ["sex"]
    assert made["columns"]["zip"] == {"type": "categorical"}
    assert "Undo: take version 1 again" in bench.page("data?saved=2")
    assert "Undo" not in bench.page("data?saved=1")
    for tab, to in (("data", "data"), ("//elsewhere", "recipe")):
        fields = {"base": bench.space.version, "version": 1, "tab": tab}
        answer = bench.browser.submit(f"{bench.at}/recipe/restore", **fields)
        assert answer.headers["location"] == f"{bench.at}/{to}?saved={bench.space.version}"


def test_two_people_cannot_overwrite_each_other(bench: Bench) -> None:
    assert bench.send("models", name="k", place="0", **{"p-k": "6"})[0] == 303
    answer = bench.browser.submit(f"{bench.at}/models", base=1, name="k", place="0", **{"p-k": "7"})
    assert answer.status_code == 409
    assert "yours started from version 1" in answer.text
    # What was chosen is still there, and is not made of lines that others changed.
    assert '<span class="added">+k = 7</span>' in answer.text
    assert "Make it on version" not in answer.text
    assert tomllib.loads(bench.space.text)["models"][0]["k"] == 6
    typed = bench.space.text.replace("k = 6", "k = 8 # typed for an hour")
    answer = bench.browser.submit(f"{bench.at}/recipe", base=1, text=typed)
    assert answer.status_code == 409
    page = answer.text
    assert page.count("k = 8 # typed for an hour") == 2  # kept in the field, and held against what there is now
    assert '<span class="removed">-k = 6</span>' in page
    assert 'name="base" value="2"' in page


def test_a_change_that_came_too_late_can_be_made_on_what_others_made(bench: Bench) -> None:
    assert bench.send("models", name="k", place="0", **{"p-k": "6"})[0] == 303
    sent = {"title": "A \"title\"", "recipients": "one\ntwo"}
    answer = bench.browser.submit(f"{bench.at}/release/review", base=1, **sent)
    assert answer.status_code == 409
    form = answer.text.partition("Your change, which was not saved")[2].partition("</form>")[0]
    assert "Make it on version 2" in form
    fields = {name: unescape(value) for name, value in re.findall(r'name="([\w-]+)" value="([^"]*)"', form)}
    assert bench.browser.submit(re.findall(r'action="([^"]+)"', form)[0], **fields).status_code == 303
    made = tomllib.loads(bench.space.text)
    assert (made["models"][0]["k"], made["review"]) == (6, {"title": 'A "title"', "recipients": ["one", "two"]})
    # A model that is to be removed may be another one by now.
    assert bench.send("models", name="distinct-l", **{"p-l": "2"})[0] == 303
    late = bench.browser.submit(f"{bench.at}/models", base=2, do="remove", place="1")
    assert (late.status_code, "Make it on version" in late.text) == (409, False)


@pytest.mark.sample(5)
@pytest.mark.parametrize(("tab", "fields", "told"), [
    ("models", {"name": "k", "p-k": "one"}, "whole number"),
    ("models", {"name": "nothing"}, "no model"),
    ("models", {"do": "remove", "place": "9"}, "no such model"),
    ("models/algorithm", {"name": "mondrian", "p-mode": "sideways"}, "mode"),
    ("models/profile", {"profile": "no-such"}, "profile"),
    ("hierarchies/age", {"do": "edit", "edits": "paint it black"}, "paint"),
    ("hierarchies/age", {"do": "move", "label": "20"}, "choose both"),
    ("hierarchies/age", {"do": "suggest", "how": "prefix"}, "proposal"),
    ("hierarchies/age", {"do": "upload"}, "No file"),
    ("hierarchies/age", {"do": "paint"}, "no change"),
    ("values", {"do": "rule", "column": "age"}, "boundary"),
    ("values", {"do": "values", "column": "age", "value": ["1", "2", "x"]}, "numbers"),
    ("recipe", {"text": "[source]\npath = '../../other'\n"}, "leads out"),
    ("recipe", {"text": "[source\n"}, "TOML"),
    ("recipe", {"text": "colour = 1\n[source]\npath = 'source/people.csv'\n"}, "colour"),
])  # fmt: skip
def test_a_form_that_is_wrong_is_told_on_its_page(bench: Bench, tab: str, fields: dict[str, str], told: str) -> None:
    status, why = bench.send(tab, **fields)
    assert status == 422
    assert told in why
    assert bench.space.version == 1


def test_a_hierarchy_that_is_edited_is_a_file_that_earlier_versions_keep(bench: Bench) -> None:
    assert bench.send("hierarchies/age", do="suggest", how="widths")[0] == 303
    assert "widths" in str(tomllib.loads(bench.space.text)["hierarchies"]["age"])
    first = re.findall(r"<option[^>]*>(\[[^<]+\])</option>", bench.page("hierarchies/age"))[0]
    assert bench.send("hierarchies/age", do="edit", edits=f'rename "{first}" to young')[0] == 303
    named = tomllib.loads(bench.space.text)["hierarchies"]["age"]
    assert re.fullmatch(r"hierarchies/age-[0-9a-f]{10}\.csv", named)
    assert (bench.folder / named).stat().st_mode & 0o777 == 0o600
    assert named in bench.browser.get(f"{bench.at}/files").text
    assert bench.send("hierarchies/age", do="edit", edits="rename young to first")[0] == 303
    assert (bench.folder / named).is_file()
    assert bench.send("recipe/restore", version="3")[0] == 303
    assert "young" in bench.page("hierarchies/age")


def test_a_hierarchy_that_does_not_cover_the_data_is_refused(bench: Bench) -> None:
    token = bench.browser.token(f"{bench.at}/hierarchies/sex")
    answer = bench.browser.post(
        f"{bench.at}/hierarchies/sex", data={"csrf": token, "base": "1", "do": "upload"},
        files={"file": ("sex.csv", b"f;*\n")}, headers={"origin": "http://localhost"},
    )  # fmt: skip
    assert answer.status_code == 422
    assert "1 of 2 values have no line" in answer.text


def test_a_version_that_cannot_be_is_refused(bench: Bench) -> None:
    for tab in ("models", "recipe", "values", "hierarchies/sex", "release/review"):
        for base in (10**20, -1):
            assert bench.browser.submit(f"{bench.at}/{tab}", base=base).status_code == 422, tab


def test_classes_are_counted_on_chosen_levels(bench: Bench) -> None:
    levels = {"column": ["age", "sex", "zip"], "level-0": "0", "level-1": "0", "level-2": "0"}
    fine = bench.browser.get(f"{bench.at}/counts", params=levels).text
    coarse = bench.browser.get(f"{bench.at}/counts", params={**levels, "level-0": "1", "level-2": "1"}).text
    assert re.search(r"Classes</dt><dd>2<", coarse)
    assert not re.search(r"Classes</dt><dd>2<", fine)
    assert "<html" not in coarse
    odd = bench.browser.get(f"{bench.at}/counts", params={**levels, "level-0": "9" * 400})
    assert odd.status_code == 200


def test_an_earlier_version_is_taken_again_and_the_newest_can_be_downloaded(bench: Bench) -> None:
    first = bench.space.text
    assert bench.send("models", name="k", place="0", **{"p-k": "9"})[0] == 303
    assert "+k = 9" in bench.page("recipe?version=1")
    assert bench.send("recipe/restore", version="1")[0] == 303
    assert bench.space.text == first
    assert bench.browser.get(f"{bench.at}/recipe.toml").text == first
    assert bench.browser.get(f"{bench.at}/recipe?version=99").status_code == 404


def test_a_recipe_can_be_uploaded_before_there_is_one(app: FastAPI) -> None:
    from shoal.web.projects.project import make_project

    browser = sign_in(app, "custodian")
    with app.state.store.writing() as db:
        project = make_project(db, "Bare", user_of(app, "custodian").id, app.state.settings)
    at = f"/projects/{project.id}"
    (folder_of(project.id, app.state.settings) / "source" / "people.csv").write_text(people())
    for tab in TABS[:-1]:
        assert browser.get(f"{at}/{tab}").headers["location"] == at, tab
    assert browser.submit(f"{at}/models", base=0, name="k", **{"p-k": "5"}).headers["location"] == at
    answer = browser.post(
        f"{at}/recipe", data={"csrf": browser.token(f"{at}/recipe"), "base": "0"},
        files={"file": ("recipe.toml", RECIPE.replace("\n", "\r\n").encode())}, headers={"origin": "http://localhost"},
    )  # fmt: skip
    assert answer.headers["location"] == f"{at}/recipe?saved=1"
    for tab in TABS:
        assert browser.get(f"{at}/{tab}").status_code == 200, tab


def test_what_jobs_measure_is_shown(bench: Bench) -> None:
    for kind in ("risk", "attack", "compare"):
        add_job(bench.app, bench.project, kind)
    add_job(bench.app, bench.project, "explore", algorithms=["mondrian"], k=[3, 5])
    work_off(bench.app)
    assert "prosecutor-max" in bench.page("risk")
    assert "The worst figure of each attack" in bench.page("attacks")
    compared = bench.page("compare")
    assert 'class="changed"' in compared
    anew, alike = "Every run draws anew", "so every run of it draws alike"
    assert all(anew in page and alike not in page for page in (compared, bench.page("attacks")))
    with bench.app.state.store.writing() as db:  # as if the jobs had been of this one
        db.get_one(RecipeVersion, (bench.project.id, 1)).text = f"seed = 1\n{RECIPE}"
    assert all(alike in page and anew not in page for page in (bench.page("compare"), bench.page("attacks")))
    explored = bench.page("explore")
    job = re.search(r'name="job" value="(\w+)"', explored)
    assert job is not None
    assert bench.send("explore/pick", job=job[1], point="0")[0] == 303
    assert tomllib.loads(bench.space.text)["models"][0]["k"] == 3
    assert "of version 1 of the recipe" in bench.page("risk")
    assert bench.send("explore/pick", job="0" * 32, point="0") == (
        422, "There is a newer exploration: look at it, then choose again."
    )  # fmt: skip


def test_buttons_start_jobs(bench: Bench) -> None:
    for tab in ("risk", "attacks", "compare", "release", "release/check"):
        assert bench.send(tab)[0] == 303, tab
        assert "Waiting for its turn" in bench.page(tab.partition("/")[0])
    assert bench.send("explore", algorithm=["mondrian"], k="3 x")[0] == 422
    assert bench.send("explore", algorithm=["mondrian"], k="3, 5")[0] == 303


def test_what_a_run_is_refused_for_can_be_accepted(app: FastAPI) -> None:
    bench = Bench(app, RECIPE.replace('acknowledge = ["W-UNMODELLED:illness"]', ""))
    assert bench.send("release/check")[0] == 303
    work_off(app)
    assert "Accept what it was refused for" in bench.page("release")
    # Only what the page showed is accepted: another run may have ended since.
    assert bench.send("release/accept", reason="a pilot", code="W-ORDER")[0] == 422
    assert bench.send("release/accept", reason="a pilot", code="W-UNMODELLED:illness")[0] == 303
    made = tomllib.loads(bench.space.text)
    assert made["acknowledge"] == ["W-UNMODELLED:illness"]
    assert made["review"]["accepted"] == {"W-UNMODELLED:illness": "a pilot"}
    assert bench.send("release/check")[0] == 303
    work_off(app)
    assert "Nothing known before a run stands in its way" in bench.page("release")
    assert bench.send("release/review", title="People", threshold="2")[0] == 422
    assert bench.send("release/review", title="People", threshold="0.2")[0] == 303
    assert bench.send("release/accept", withdraw="W-UNMODELLED:illness")[0] == 303
    assert "acknowledge" not in tomllib.loads(bench.space.text)


def test_a_release_is_opened_signed_granted_and_downloaded(app: FastAPI, bench: Bench) -> None:
    assert bench.send("release")[0] == 303
    work_off(app)
    found = re.search(r'href="(/releases/\w+)"', bench.page("release"))
    assert found is not None
    at, researcher = found[1], sign_in(app, "researcher")
    for address in (at, f"{at}/download", f"{at}/report", f"{at}/files/release.csv"):
        assert researcher.get(address).status_code == 404, address
    assert "No release was granted" in researcher.get("/releases").text
    assert bench.browser.submit(f"{at}/grants", user="nobody").status_code == 422
    assert bench.browser.submit(f"{at}/grants", user="researcher").status_code == 303
    assert bench.browser.submit(f"{at}/sign").status_code == 303
    assert "signed with the server" in bench.browser.get(at).text
    assert at in researcher.get("/releases").text
    content = zipfile.ZipFile(io.BytesIO(researcher.get(f"{at}/download").content))
    assert {"People.sig", "signing.pub", "People/release.csv", "People/manifest.json"} <= set(content.namelist())
    assert not list((app.state.settings.folder / "incoming").glob(".incoming-*"))
    assert researcher.get(f"{at}/dossier").status_code == 403
    for audience in ("internal", "regulator"):
        dossier = sign_in(app, "auditor").get(f"{at}/dossier", params={"audience": audience})
        assert dossier.status_code == 200
        assert "sandbox" in dossier.headers["content-security-policy"]
        assert "script-src" not in dossier.headers["content-security-policy"]
    assert bench.browser.get(f"{at}/dossier?audience=../evidence").status_code == 404
    make_dossiers_anew(app, bench.browser, at)
    granted = re.search(r'action="(/releases/\w+/grants/\w+/revoke)"', bench.browser.get(at).text)
    assert granted is not None
    assert bench.browser.submit(granted[1]).status_code == 303
    assert researcher.get(at).status_code == 404


def make_dossiers_anew(app: FastAPI, browser: Browser, at: str) -> None:
    """For all three audiences, by the page and by the API: as the run made them, and as commands would."""
    first = browser.get(f"{at}/dossier").text
    auditor, client = sign_in(app, "auditor"), program(app, "custodian")
    assert 'name="audience"' in browser.get(at).text
    assert 'name="audience"' not in auditor.get(at).text
    assert auditor.get(f"{at}/dossier?audience=external").status_code == 404
    for audience in ("internal", "external", "regulator"):
        sent = browser.submit(f"{at}/dossier", audience=audience)
        assert sent.status_code == 303, sent.text
        page = auditor.get(sent.headers["location"])
        assert (page.status_code, "sandbox" in page.headers["content-security-policy"]) == (200, True)
        assert page.headers["content-type"] == "text/html; charset=utf-8"
        made = client.post(f"{API}{at}/dossiers", json={"audience": audience, "format": "json"})
        assert made.status_code == 201, made.text
        told = client.get(f"{API}{at}/dossiers/{audience}?format=json")
        assert hashlib.sha256(told.content).hexdigest() == made.json()["sha256"]
        assert told.json()["audience"] == audience
        saved = auditor.get(f"{at}/dossier?audience={audience}&format=json")
        assert (saved.content, "attachment" in saved.headers["content-disposition"]) == (told.content, True)
    assert browser.get(f"{at}/dossier").text == first
    for audience, format in product(("internal", "external", "regulator"), ("html", "json")):
        assert f'href="{at}/dossier?audience={audience}&amp;format={format}"' in auditor.get(at).text
    assert "format=md" not in auditor.get(at).text
    assert browser.submit(f"{at}/dossier", audience="nobody").status_code == 422
    assert client.post(f"{API}{at}/dossiers", json={"audience": "internal", "format": "exe"}).status_code == 422
    assert auditor.submit(f"{at}/dossier", audience="internal").status_code == 403
    with app.state.store.reading() as db:
        lines = [one.facts for one in db.scalars(select(LogEntry).where(LogEntry.event == "dossier made"))]
    assert len(lines) == 6
    folder = app.state.settings.projects
    assert not list(folder.rglob("*evidence*"))


def test_pages_of_a_source_that_is_gone_or_in_a_database_say_so(bench: Bench) -> None:
    (bench.folder / "source" / "people.csv").unlink()
    for tab in ("data", "hierarchies", "values"):
        assert "upload them again" in bench.page(tab), tab
    assert bench.browser.get(f"{bench.at}/hierarchies/age").status_code == 422
    text = bench.space.text.replace('path = "source/people.csv"', 'url = "postgresql://u@h/d"\ntable = "t"')
    with pytest.raises(ShoalError, match="in a database"):
        values_view(Place(bench.folder, text))


def test_script_in_names_and_cells_is_harmless(app: FastAPI) -> None:
    """In the project's name, in columns, labels, cells, hierarchies and notes."""
    bench = Bench(app)
    column = f"{SCRIPT}'\" onload=x"
    rows = [f'"{SCRIPT}{at % 3}",{20 + at % 30},ill{at % 4}' for at in range(60)]
    quoted = '"' + column.replace('"', '""') + '"'
    (bench.folder / "source" / "people.csv").write_text("\n".join([f"{quoted},age,illness", *rows]) + "\n")
    recipe = RECIPE.replace('["age", "sex", "zip"]', f"[{_toml(column)}, 'age']")
    with app.state.store.writing() as db:
        bench.space.save(db, Fit(recipe), base=1, author=bench.project.owner, note=SCRIPT)
        db.merge(bench.project).name = SCRIPT
    address = f"hierarchies/{column}".replace("%", "%25").replace("?", "%3F").replace("#", "%23")
    assert bench.send("compare")[0] == 303
    work_off(app)
    for tab in (*TABS, address):
        text = bench.page(tab)
        assert runnable(text) == [], tab
    assert SCRIPT.replace("<", "&lt;").replace(">", "&gt;") in bench.page("data")
    assert bench.send(address, do="edit", edits=f'merge "{SCRIPT}0", "{SCRIPT}1" as "{SCRIPT}both"')[0] == 303
    assert "&lt;script&gt;alert(1)&lt;/script&gt;both" in bench.page(address)


def _toml(text: str) -> str:
    return '"' + text.replace("\\", "\\\\").replace('"', '\\"') + '"'
