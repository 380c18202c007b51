"""Files that come in: streamed, private, refused where they are no data, and recipes that stay in their project."""

from __future__ import annotations

import asyncio
import errno
import gzip
import stat
import threading
import tracemalloc
import zlib
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from fastapi import FastAPI
from sqlalchemy import func, select

from shoal.errors import RecipeError
from shoal.io import files as unpacking
from shoal.web.app import create_app
from shoal.web.errors import API
from shoal.web.projects.confinement import MOST, parse_confined, paths_of
from shoal.web.projects.uploads import INCOMING, clean_name
from shoal.web.settings import Offer, Settings
from shoal.web.store.tables import File, Project
from tests.web.conftest import ADDRESS, add_people, program, sign_in
from tests.web.working import MARKED, RECIPE, add_project, job_of, people, project_of, upload, work_off


def projects(app: FastAPI) -> int:
    with app.state.store.reading() as db:
        return int(db.scalar(select(func.count()).select_from(Project)) or 0)


def left(app: FastAPI) -> list[str]:
    """What lies in the folder of files that have no place yet."""
    folder: Path = app.state.settings.folder / "incoming"
    return [path.name for path in folder.iterdir()] if folder.exists() else []


def test_everything_is_private(app: FastAPI) -> None:
    add_project(app)
    client = program(app, "custodian")
    project = client.get(f"{API}/projects").json()[0]["id"]
    answer = client.put(f"{API}/projects/{project}/files/source/more.csv", content=people().encode())
    assert answer.status_code == 201
    for path in app.state.settings.folder.rglob("*"):
        mode = stat.S_IMODE(path.stat().st_mode)
        assert mode == 0o700 if path.is_dir() else mode == 0o600 or path.name == "people.csv", path


@pytest.mark.parametrize(
    "name, content, words",
    [
        ("people.exe", people(), "kind of"),
        ("people", people(), "kind of"),
        ("people.csv", "", "empty"),
        ("people.csv", b"a,b\n\0\0\0\1,2\n", "no text"),
        ("people.parquet", people(), "not what its name says"),
        ("people.xlsx", people(), "not what its name says"),
        ("people.csv", "long_name," * 120_000 + "last\n1\n", "longer than the mebibyte that is looked at"),
    ],
    ids=["program", "nameless", "empty", "binary", "parquet", "workbook", "long"],
)
def test_what_is_no_data_is_refused(app: FastAPI, name: str, content: str | bytes, words: str) -> None:
    answer = upload(sign_in(app, "custodian"), content, name)
    assert answer.status_code == 422
    assert words in answer.text
    assert MARKED not in answer.text
    assert (projects(app), left(app)) == (0, [])


def test_an_archive_is_checked_by_its_beginning_and_read_by_a_job(
    app: FastAPI, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Whatever it unpacks to, or not: of many that hold nothing, and of one without an end, little is unpacked."""
    browser, text = sign_in(app, "custodian"), people(100_000).encode()
    assert len(text) > 1 << 20
    broken = gzip.compress(text, 0)[: len(text) - (1 << 16)]
    project, job = project_of(app, upload(browser, broken, "people.csv.gz"))
    work_off(app)
    told = "'people.csv.gz' is not a whole gzip file: check how it was made."
    assert (job_of(app, job.id).state, job_of(app, job.id).message) == ("failed", told)
    made, member = [0], zlib.decompressobj

    def counted(*given: Any) -> Any:
        made[0] += 1
        return member(*given)

    monkeypatch.setattr(zlib, "decompressobj", counted)
    for content, words in ((gzip.compress(b"") * 500_000, "is empty"), (broken[: 1 << 18], "not a whole gzip file")):
        answer = upload(browser, content, "people.csv.gz")
        assert (answer.status_code, words in answer.text) == (422, True)
        assert "incoming" not in answer.text
    bomb = gzip.compress(b"a,b\n" + b"1,2\n" * 5_000_000, 1)[:-9]  # whoever came to its end would tell that it has none
    assert upload(browser, bomb, "people.csv.gz").status_code == 303
    assert 0 < made[0] < 2 * unpacking._MEMBERS
    assert left(app) == []


def test_an_upload_that_is_too_large_is_refused_by_what_it_says_and_by_what_comes(tmp_path: Path) -> None:
    app = create_app(Settings(folder=tmp_path / "data", upload_bytes=1 << 16, form_bytes=1 << 14))
    add_people(app)
    browser, client = sign_in(app, "custodian"), program(app, "custodian")
    big = "x" * (1 << 18)
    assert upload(browser, big).status_code == 413

    def endless() -> Iterator[bytes]:
        for _ in range(64):
            yield b"y" * 4096

    project = client.post(f"{API}/projects", json={"name": "p"}).json()["id"]
    answer = client.put(f"{API}/projects/{project}/files/source/a.csv", content=endless())
    assert answer.status_code == 413
    assert answer.json()["error"]["code"] == "too-large"
    assert browser.post("/users", data={"name": big}, headers={"origin": ADDRESS}).status_code == 413
    assert left(app) == []
    app.state.store.close()


def test_large_uploads_take_little_memory(app: FastAPI) -> None:
    """Asked without the tests' client, which would collect the whole body first."""
    client = program(app, "custodian")
    project = client.post(f"{API}/projects", json={"name": "p"}).json()["id"]
    block, blocks = (people(200).encode() * 20)[: 1 << 16], 640
    path = f"{API}/projects/{project}/files/source/large.csv"
    scope = {
        "type": "http", "http_version": "1.1", "method": "PUT", "path": path, "raw_path": path.encode(),
        "query_string": b"", "scheme": "http", "server": ("localhost", 80), "client": ("127.0.0.1", 1),
        "headers": [(b"host", b"localhost"), (b"authorization", client.headers["authorization"].encode())],
    }  # fmt: skip
    sent = 0
    answers: list[dict[str, Any]] = []

    async def receive() -> dict[str, Any]:
        nonlocal sent
        sent += 1
        return {"type": "http.request", "body": block, "more_body": sent < blocks}

    async def send(message: dict[str, Any]) -> None:
        answers.append(message)

    tracemalloc.start()
    asyncio.run(app(scope, receive, send))  # type: ignore[arg-type]
    _, most = tracemalloc.get_traced_memory()
    tracemalloc.stop()
    assert answers[0]["status"] == 201
    assert sent * len(block) > 38 << 20
    assert most < 12 << 20


def test_halves_of_uploads_are_gone_after_a_new_start(app: FastAPI) -> None:
    folder: Path = app.state.settings.folder / INCOMING
    folder.mkdir()
    (folder / ".incoming-0123").write_text(MARKED)
    create_app(app.state.settings).state.store.close()
    assert left(app) == []


def test_a_recipe_has_an_end(tmp_path: Path) -> None:
    with pytest.raises(RecipeError, match="larger than a MiB"):
        parse_confined(RECIPE + "#" * MOST, tmp_path)


def test_a_full_disk_is_told_and_leaves_nothing(app: FastAPI, monkeypatch: pytest.MonkeyPatch) -> None:
    def full(_: object) -> None:
        raise OSError(errno.ENOSPC, "No space left on device")

    browser = sign_in(app, "custodian")
    token = browser.token()
    monkeypatch.setattr("shoal.web.projects.uploads.os.fsync", full)
    answer = browser.post(
        "/projects/new/files", data={"csrf": token}, files={"file": ("a.csv", people().encode())},
        headers={"origin": ADDRESS},
    )  # fmt: skip
    assert (answer.status_code, "disk is full" in answer.text) == (507, True)
    assert (projects(app), left(app)) == (0, [])


def test_an_upload_that_no_job_could_look_at_leaves_no_rows_behind(app: FastAPI) -> None:
    object.__setattr__(app.state.settings, "jobs_waiting", 0)
    browser = sign_in(app, "custodian")
    answer = browser.post(
        "/projects/new/files", data={"csrf": browser.token()}, files={"file": ("a.csv", people().encode())},
        headers={"origin": ADDRESS},
    )  # fmt: skip
    assert answer.status_code == 429
    assert projects(app) == 0
    assert left(app) == []
    kept = [one for one in app.state.settings.folder.rglob("*") if one.is_file()]
    assert kept
    assert [one.name for one in kept if MARKED.encode() in one.read_bytes()] == []


def test_a_form_of_others_writes_nothing(app: FastAPI) -> None:
    browser = sign_in(app, "custodian")
    files = {"file": ("people.csv", people().encode())}
    forged = browser.post("/projects/new/files", data={"csrf": "made.up"}, files=files, headers={"origin": ADDRESS})
    assert forged.status_code == 403
    other = browser.post("/projects/new/files", data={"csrf": browser.token()}, files=files,
                         headers={"origin": "https://evil.example"})  # fmt: skip
    assert other.status_code == 403
    none = browser.post("/projects/new/files", data={"csrf": browser.token()}, headers={"origin": ADDRESS})
    assert none.status_code == 422
    assert (projects(app), left(app)) == (0, [])


@pytest.mark.parametrize(
    "given, made",
    [
        ("../../etc/passwd", "passwd"), ("a\\b\\c.csv", "c.csv"), (".hidden.csv", "hidden.csv"),
        ("<script>.csv", "_script_.csv"), ("", "file"), ("a\nb.csv", "a_b.csv"),
    ],
)  # fmt: skip
def test_names_mean_nothing_to_a_system(given: str, made: str) -> None:
    assert clean_name(given) == made


def test_a_script_in_a_name_is_harmless(app: FastAPI) -> None:
    browser = sign_in(app, "custodian")
    upload(browser, people(), name="<script>alert(1)</script>.csv")
    text = browser.get("/").text
    assert projects(app) == 1
    assert "<script>alert" not in text


@pytest.mark.parametrize(
    "change",
    [
        ('path = "source/people.csv"', 'path = "/etc/passwd"'),
        ('path = "source/people.csv"', 'path = "../../x/source/people.csv"'),
        ("[algorithm]", '[hierarchies]\nzip = "../../../secret.csv"\n[algorithm]'),
        ("[algorithm]", '[hierarchies]\nzip = { path = "/root/x.csv" }\n[algorithm]'),
        ("[algorithm]", '[output]\nfolder = "/tmp/out"\n[algorithm]'),
        ("[algorithm]", '[output]\nlog = "../all.log"\n[algorithm]'),
        ("[algorithm]", '[output]\nvault = "/x.vault"\n[algorithm]'),
        ("[algorithm]", '[engine]\nname = "duckdb"\nscratch = "/tmp"\n[algorithm]'),
        ("[algorithm]", '[workload]\nqueries = "/etc/hosts"\n[algorithm]'),
        ("[algorithm]", '[research]\nvalues = "../v.csv"\n[algorithm]'),
        ("[algorithm]", '[registry]\nfile = "/r.registry"\n[algorithm]'),
        ("[algorithm]", '[policies.illness]\nranges = "/etc/hosts"\n[algorithm]'),
        ('path = "source/people.csv"', 'path = "source/people.csv"\npopulation = "/etc/hosts"'),
        ('path = "source/people.csv"', 'url = "postgresql://db.example/x"\ntable = "t"'),
        ('path = "source/people.csv"', 'table = "text.`/etc/hostname`"'),
        ('path = "source/people.csv"', 'path = "file:///etc/hostname"'),
        ('path = "source/people.csv"', 'path = "file:/etc/hostname"'),
        ('path = "source/people.csv"', 'path = "s3a://bucket/people.parquet"'),
        ("[algorithm]", '[hierarchies]\nzip = { path = "http://db.example/x.csv" }\n[algorithm]'),
        ("[algorithm]", '[engine]\nname = "duckdb"\nscratch = "file:///tmp"\n[algorithm]'),
    ],
)
def test_a_recipe_reaches_nothing_outside_of_its_project(tmp_path: Path, change: tuple[str, str]) -> None:
    (tmp_path / "source").mkdir()
    with pytest.raises(RecipeError, match="leads out of the project|not offered"):
        parse_confined(RECIPE.replace(*change), tmp_path)


def test_every_path_of_a_recipe_is_known() -> None:
    """A new entry of a recipe that holds a path has to be looked at here."""
    from shoal.recipe import recipe

    texts = {
        f"{name}.{field}" for name, section in recipe._SECTIONS.items() if name in ("source", "engine", "output")
        for field, info in section.model_fields.items() if "str" in str(info.annotation)
    } | {"registry.file", "research.values", "workload.queries"}  # fmt: skip
    whole = RECIPE.replace(
        "[algorithm]",
        '[engine]\nname = "duckdb"\nscratch = "s"\n[registry]\nfile = "r"\n[research]\nvalues = "v"\n'
        '[workload]\nqueries = "q"\n[output]\nvault = "x"\ncodes = "c"\nlog = "l"\n'
        '[policies.illness]\nranges = "p"\n[hierarchies]\nzip = "z"\n[algorithm]',
    ).replace('csv"', 'csv"\npopulation = "p"')
    found = {where for where, _ in paths_of(recipe.parse_recipe(whole))}
    assert found - {"hierarchies.zip", "policies.illness"} <= texts
    # What is left names something, or says how something is written.
    assert texts - found == {
        "source.columns", "source.encoding", "source.missing_markers", "source.name", "source.query",
        "source.separator", "source.sheet", "source.table", "source.thousands", "source.url", "engine.memory",
        "engine.name", "output.date", "output.table", "output.token_key", "output.vault_entry",
    }  # fmt: skip


def test_a_link_to_elsewhere_is_followed_before_it_is_believed(tmp_path: Path) -> None:
    (tmp_path / "p" / "source").mkdir(parents=True)
    (tmp_path / "secret.csv").write_text(people())
    (tmp_path / "p" / "source" / "people.csv").symlink_to(tmp_path / "secret.csv")
    with pytest.raises(RecipeError, match="leads out"):
        parse_confined(RECIPE, tmp_path / "p")
    offer = Offer(name="o", place=str(tmp_path / "secret.csv"))
    assert parse_confined(RECIPE, tmp_path / "p", [offer]).source.path == "source/people.csv"


def test_no_recipe_on_the_server_is_for_a_cluster(tmp_path: Path) -> None:
    """Spark reads by names and addresses of its own, whatever a path is confined to."""
    (tmp_path / "source").mkdir()
    with pytest.raises(RecipeError, match="'spark'.*not for the server: choose"):
        parse_confined(RECIPE.replace("[algorithm]", '[engine]\nname = "spark"\n[algorithm]'), tmp_path)


@pytest.mark.parametrize("path", ["offers/*/../secret/x.parquet", "offers/*", "offers/**/*.parquet", "offers"])
def test_a_pattern_or_folder_is_filled_in_before_it_is_believed(tmp_path: Path, path: str) -> None:
    """A link of an offer that was withdrawn, and what is beside the place of one, are outside."""
    folder, lent, secret = tmp_path / "p", tmp_path / "lent", tmp_path / "secret"
    for one in (folder / "offers", lent, secret):
        one.mkdir(parents=True)
    (secret / "x.parquet").write_bytes(b"")
    (lent / "y.parquet").write_bytes(b"")
    (folder / "offers" / "lent").symlink_to(lent)
    offers, text = [Offer(name="o", place=str(lent))], RECIPE.replace("source/people.csv", path)
    if ".." not in path:
        assert parse_confined(text, folder, offers).source.path == path
        (folder / "offers" / "x.parquet").symlink_to(secret / "x.parquet")
    with pytest.raises(RecipeError, match="leads out"):
        parse_confined(text, folder, offers)


def test_two_people_who_change_one_recipe(every_app: FastAPI) -> None:
    project, client = add_project(every_app), program(every_app, "custodian")
    address = f"{API}/projects/{project.id}/recipe"
    changed = RECIPE.replace("k = 5", "k = 6")
    answers: list[int] = []

    def save() -> None:
        answers.append(client.put(address, json={"text": changed, "base": 1}).status_code)

    both = [threading.Thread(target=save) for _ in range(2)]
    for one in both:
        one.start()
    for one in both:
        one.join()
    assert sorted(answers) == [201, 409]
    assert client.get(address).json()["number"] == 2
    assert client.get(address, params={"version": 1}).json()["text"] == RECIPE
    unknown = client.put(address, json={"text": RECIPE + "\n[nonsense]\nx = 1\n", "base": 2})
    assert (unknown.status_code, "nonsense" in unknown.json()["error"]["message"]) == (422, True)
    assert client.put(address, json={"text": "not TOML [", "base": 2}).status_code == 422


def test_a_project_goes_with_its_files(app: FastAPI) -> None:
    project, client = add_project(app), program(app, "custodian")
    folder = app.state.settings.projects / project.id
    assert client.delete(f"{API}/projects/{project.id}").status_code == 204
    assert not folder.exists()
    with app.state.store.reading() as db:
        assert db.scalars(select(File)).first() is None
