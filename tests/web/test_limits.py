"""What is expensive can be asked for only so often, by each account for itself; and told when it can be again."""

from __future__ import annotations

from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import httpx
import pytest
from fastapi import FastAPI
from sqlalchemy import delete, update

from shoal.web.app import create_app
from shoal.web.errors import API, Refused
from shoal.web.jobs import queue
from shoal.web.permissions import Limits
from shoal.web.settings import Offer, Settings
from shoal.web.store.tables import Job, Token
from tests.web.conftest import Browser, add_people, program, sign_in
from tests.web.test_releases import add_release
from tests.web.working import RECIPE, Gate, add_job, add_project, people, upload


@pytest.fixture
def settings(tmp_path: Path) -> Settings:
    return Settings(
        folder=tmp_path / "data", uploads_per_hour=2, jobs_per_hour=2, downloads_per_hour=2, edits_per_hour=2,
        jobs_waiting=4,
    )


def test_a_share_is_used_up_and_comes_back(tmp_path: Path) -> None:
    now = 0.0
    limits = Limits(Settings(folder=tmp_path, jobs_per_hour=4), clock=lambda: now)
    for _ in range(4):
        limits.take("jobs", "a")
    with pytest.raises(Refused, match="4 times within an hour: try again in 15 minutes") as refused:
        limits.take("jobs", "a")
    assert refused.value.headers == {"retry-after": "900"}
    limits.take("jobs", "b")  # of somebody else
    limits.take("uploads", "a")  # of another kind
    now = 899.0
    with pytest.raises(Refused, match="in 1 second"):
        limits.take("jobs", "a")
    now = 901.0
    limits.take("jobs", "a")
    with pytest.raises(Refused):
        limits.take("jobs", "a")
    now = 1e6
    for _ in range(4):
        limits.take("jobs", "a")
    with pytest.raises(Refused):
        limits.take("jobs", "a")


def test_nobody_fills_the_memory_with_names(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("shoal.web.permissions._REMEMBERED", 10)
    limits = Limits(Settings(folder=tmp_path, jobs_per_hour=1), clock=lambda: 0.0)
    for at in range(50):
        limits.take("jobs", str(at))
    assert len(limits._left) <= 10
    with pytest.raises(Refused):
        limits.take("jobs", "49")


def by_page(app: FastAPI, what: str) -> Callable[[], httpx.Response]:
    browser, project = sign_in(app, "custodian"), add_project(app).id
    release = add_release(app)
    return {
        "uploads": lambda: upload(browser, people()),
        "jobs": lambda: browser.submit(f"/projects/{project}/risk"),
        "downloads": lambda: browser.get(f"/releases/{release.id}/files/release.csv"),
        "edits": lambda: browser.submit(f"/projects/{project}/recipe", base=1, text=f"{RECIPE}\n# more"),
    }[what]


def by_program(app: FastAPI, what: str) -> Callable[[], httpx.Response]:
    client, project = program(app, "custodian"), add_project(app).id
    release = add_release(app)
    return {
        "uploads": lambda: client.put(f"{API}/projects/{project}/files/source/people.csv", content=people()),
        "jobs": lambda: client.post(f"{API}/projects/{project}/jobs", json={"kind": "risk"}),
        "downloads": lambda: client.get(f"{API}/releases/{release.id}/files/release.csv"),
        "edits": lambda: client.put(f"{API}/projects/{project}/recipe", json={"text": f"{RECIPE}\n# more", "base": 1}),
    }[what]


@pytest.mark.parametrize("what", ["uploads", "jobs", "downloads", "edits"])
def test_pages_and_programs_are_told_to_wait(app: FastAPI, what: str) -> None:
    page, called = by_page(app, what), by_program(app, what)
    assert page().status_code in (200, 303)
    assert called().status_code in (200, 201)  # of the same account, and so of the same share
    refused, told = page(), called()
    assert (refused.status_code, told.status_code) == (429, 429)
    assert "asked for too often, 2 times within an hour" in refused.text
    assert refused.headers["content-type"].startswith("text/html")
    assert 0 < int(refused.headers["retry-after"]) <= 1800
    assert 0 < int(told.headers["retry-after"]) <= 1800
    assert told.json()["error"]["code"] == "too-often"
    assert set(told.json()["error"]) == {"code", "message", "where"}


def test_only_so_many_jobs_wait(every_app: FastAPI) -> None:
    object.__setattr__(every_app.state.settings, "jobs_waiting", 2)
    one, other, third = (add_project(every_app) for _ in range(3))
    for project in (one, other):
        add_job(every_app, project, "risk")
    client = program(every_app, "custodian")
    mine = client.post(f"{API}/projects/{third.id}/jobs", json={"kind": "risk"})
    assert (mine.status_code, mine.headers["retry-after"]) == (429, "60")
    assert mine.json()["error"]["message"].startswith("2 jobs of yours wait already")
    object.__setattr__(every_app.state.settings, "jobs_waiting", 3)
    add_job(every_app, one, "risk")
    page = sign_in(every_app, "custodian").submit(f"/projects/{one.id}/risk")
    assert (page.status_code, "3 jobs of yours wait already" in page.text) == (429, True)


def test_two_jobs_at_once_are_no_more_than_two_in_turn(every_app: FastAPI, monkeypatch: pytest.MonkeyPatch) -> None:
    object.__setattr__(every_app.state.settings, "jobs_waiting", 2)
    project = add_project(every_app)
    add_job(every_app, project, "risk")
    begun, counted = Gate(), Gate(Gate.DWELL)
    monkeypatch.setattr(queue, "refuse_more", counted.after(queue.refuse_more))

    def added(_: int) -> bool:
        begun.come()
        try:
            add_job(every_app, project, "risk")
        except Refused:
            return False
        return True

    with ThreadPoolExecutor(2) as pool:
        assert sorted(pool.map(added, range(2))) == [False, True]
    assert (begun.met, counted.met) == (True, False)


def test_wrong_tokens_are_limited_by_where_they_come_from(app: FastAPI, monkeypatch: pytest.MonkeyPatch) -> None:
    good, late = program(app, "researcher"), program(app, "custodian")
    assert good.get(f"{API}/me").status_code == 200
    app.state.limits._an_hour["wrong tokens"] = 3
    wrong = Browser(app)
    told = [wrong.get(f"{API}/me", headers={"authorization": f"Bearer shoal_{at}"}) for at in range(5)]
    assert [one.status_code for one in told] == [401, 401, 401, 429, 429]
    assert told[-1].json()["error"]["message"].startswith("Wrong tokens were sent too often, 3 times within an hour")
    assert 0 < int(told[-1].headers["retry-after"]) <= 1200
    # No token at all is no wrong one; one that was good before is still looked at, and a new one has to wait as well.
    assert wrong.get(f"{API}/me").status_code == 401
    assert good.get(f"{API}/me").status_code == 200
    assert late.get(f"{API}/me").status_code == 429
    with app.state.store.writing() as db:
        db.execute(delete(Token))
    assert [good.get(f"{API}/me").status_code for _ in range(2)] == [401, 429]


def test_good_tokens_use_up_nothing(app: FastAPI) -> None:
    app.state.limits._an_hour["wrong tokens"] = 1
    for name in ("researcher", "custodian", "auditor"):
        client = program(app, name)
        assert [client.get(f"{API}/me").status_code for _ in range(3)] == [200] * 3


def test_jobs_of_a_project_are_counted_whoever_asks(app: FastAPI) -> None:
    from shoal.web.accounts.users import make_user

    with app.state.store.writing() as db:
        make_user(db, "other", "custodian")
    project = add_project(app)
    for by in ("other", "custodian") * 2:
        add_job(app, project, "risk", by=by)
    with pytest.raises(Refused, match="4 jobs of this project wait"):
        add_job(app, project, "risk")


def test_looking_at_a_source_is_a_job_like_any_other(tmp_path: Path) -> None:
    file = tmp_path / "people.csv"
    file.write_text(people())
    app = create_app(
        Settings(folder=tmp_path / "data", jobs_per_hour=3, offers=(Offer(name="people", place=str(file)),))
    )
    add_people(app)
    browser = sign_in(app, "custodian")
    first = browser.submit("/projects/new", name="one", offer="people")
    again = f"{first.headers['location']}/answers"
    with app.state.store.writing() as db:
        db.execute(update(Job).values(result={"questions": [{"column": "age"}]}))
    told = [browser.submit(again, **{"answer:age": "quasi"}).status_code for _ in range(2)]
    assert (first.status_code, told) == (303, [303, 303])
    assert browser.submit(again).status_code == 429
    assert browser.submit("/projects/new", name="two", offer="people").status_code == 429
    app.state.store.close()


def test_what_nobody_may_do_counts_for_nobody(app: FastAPI) -> None:
    client, project = program(app, "researcher"), add_project(app)
    for _ in range(4):
        assert client.post(f"{API}/projects/{project.id}/jobs", json={"kind": "risk"}).status_code == 403
    forged = Browser(app)
    for _ in range(4):
        assert forged.post(f"/projects/{project.id}/risk", headers={"origin": "http://evil"}).status_code == 403


def test_the_description_that_anybody_may_have_is_made_once(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    app = create_app(Settings(folder=tmp_path / "data"))
    add_people(app)
    browser = Browser(app)
    first = browser.get(f"{API}/openapi.json").json()
    monkeypatch.setattr("shoal.web.api.accounts.get_openapi", lambda **_: pytest.fail("made again"))
    assert browser.get(f"{API}/openapi.json").json() == first
    app.state.store.close()
