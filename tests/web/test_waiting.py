"""Pages that wait for others to be read: a few, for a moment, and never those that read nothing."""

from __future__ import annotations

import asyncio
import time
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from threading import Event, Thread
from typing import Any

import httpx
import pytest
from fastapi import FastAPI

from shoal.errors import InputError
from shoal.web.errors import API, Refused
from shoal.web.trust import questions
from shoal.web.trust.tables import read_table
from shoal.web.views import remembering
from shoal.web.views.apart import TooMuch
from shoal.web.views.remembering import Remembered, remembered, turn
from tests.web.conftest import ADDRESS, program, sign_in
from tests.web.test_at_once import Made
from tests.web.test_trust import add_release, cut, made  # noqa: F401
from tests.web.working import add_project


@pytest.fixture
def taken(monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    """Two other projects read, and do not come to an end."""
    monkeypatch.setattr(remembering, "PATIENCE", 0.5)
    end, begun = Event(), [Event(), Event()]

    def hold(at: int) -> None:
        with turn(f"other-{at}"):
            begun[at].set()
            end.wait(120)

    threads = [Thread(target=hold, args=(at,)) for at in range(2)]
    for one, has_begun in zip(threads, begun, strict=True):
        one.start()
        assert has_begun.wait(10)
    yield
    end.set()
    for one in threads:
        one.join()


def busy(answer: Refused) -> bool:
    return (answer.status, answer.code, answer.headers) == (503, "busy", {"retry-after": "5"})


def test_a_page_gives_up_with_a_sentence(app: FastAPI, taken: None) -> None:
    project = add_project(app)
    browser = sign_in(app, "custodian")
    started = time.monotonic()
    answer = browser.get(f"/projects/{project.id}/data")
    assert (answer.status_code, answer.headers["retry-after"]) == (503, "5")
    assert "The server reads other files for pages just now: try again in a few seconds." in answer.text
    assert time.monotonic() - started < 20
    for page in (f"/projects/{project.id}/recipe", f"/projects/{project.id}/models", "/"):
        assert browser.get(page).status_code == 200


def test_a_form_that_gave_up_can_be_sent_again(app: FastAPI, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(remembering, "PATIENCE", 0.2)
    project = add_project(app)
    browser, address = sign_in(app, "custodian"), f"/projects/{project.id}/hierarchies/age"
    sent = {"csrf": browser.token(), "base": "1", "do": "suggest", "how": "widths"}
    with turn("one"), turn("two"):
        assert browser.post(address, data=sent, headers={"origin": ADDRESS}).status_code == 503
    assert browser.post(address, data=sent, headers={"origin": ADDRESS}).status_code == 303


def test_a_program_is_told_the_same_as_data(app: FastAPI, taken: None) -> None:
    def reads() -> None:
        with turn("mine"):
            pass

    app.add_api_route(f"{API}/reads", reads)
    answer = sign_in(app, "custodian").get(f"{API}/reads")
    assert (answer.status_code, answer.headers["retry-after"]) == (503, "5")
    message = "The server reads other files for pages just now: try again in a few seconds."
    assert answer.json() == {"error": {"code": "busy", "message": message, "where": None}}


def test_a_question_waits_for_its_release_no_longer_and_is_not_counted(
    app: FastAPI, taken: None, made: Made  # noqa: F811
) -> None:
    release, (at, ill, _) = add_release(app, made), cut(made)
    client, asked = program(app, "researcher"), {"text": f"IF age < {at} THEN disease = {ill}"}
    answer = client.post(f"{API}/releases/{release}/questions", json=asked)
    assert (answer.status_code, answer.json()["error"]["code"], answer.headers["retry-after"]) == (503, "busy", "5")
    assert client.get(f"{API}/questions").json() == []


def test_a_release_is_read_once_for_those_who_ask_together_and_not_beyond_its_size(
    app: FastAPI, made: Made, monkeypatch: pytest.MonkeyPatch  # noqa: F811
) -> None:
    release, (at, ill, _) = add_release(app, made), cut(made)
    client, asked = program(app, "researcher"), {"text": f"IF age < {at} THEN disease = {ill}"}
    address, read = f"{API}/releases/{release}/questions", []

    def slow(*given: Any) -> Any:
        read.append(given)
        time.sleep(0.5)
        return read_table(*given)

    monkeypatch.setattr(questions, "read_table", slow)
    memory = app.state.settings.job_memory
    largest = max(path.stat().st_size for path in made[0].iterdir())
    assert 32 * made[2].height * made[2].width > largest  # cells weigh more in memory than on disk
    object.__setattr__(app.state.settings, "job_memory", 4 * largest)
    answer = client.post(address, json=asked)
    assert (answer.status_code, "MiB that results are checked on here" in answer.text) == (409, True)
    object.__setattr__(app.state.settings, "job_memory", memory)
    with ThreadPoolExecutor(4) as pool:
        found = list(pool.map(lambda _: client.post(address, json=asked).status_code, range(4)))
    assert (set(found), len(read)) == ({201}, 2)


def test_other_pages_are_answered_while_very_many_wait(
    app: FastAPI, taken: None, monkeypatch: pytest.MonkeyPatch
) -> None:
    """More ask for what has to be read than the server has threads."""
    monkeypatch.setattr(remembering, "PATIENCE", 10.0)
    project, browser = add_project(app), sign_in(app, "custodian")

    async def ask() -> tuple[int, int, set[int]]:
        transport = httpx.ASGITransport(app)
        async with httpx.AsyncClient(transport=transport, base_url=ADDRESS, cookies=dict(browser.cookies)) as client:
            slow = [asyncio.create_task(client.get(f"/projects/{project.id}/data")) for _ in range(80)]
            await asyncio.wait(slow, timeout=30, return_when=asyncio.FIRST_COMPLETED)
            answer = await client.get("/")
            waiting = sum(not one.done() for one in slow)
            return answer.status_code, waiting, {one.status_code for one in await asyncio.gather(*slow)}

    status, waiting, others = asyncio.run(ask())
    assert (status, others) == (200, {503})
    assert waiting >= remembering.OF_ONE  # it came before any of them gave up


def test_no_more_wait_than_there_is_room_for(monkeypatch: pytest.MonkeyPatch, taken: None) -> None:
    monkeypatch.setattr(remembering, "PATIENCE", 3.0)
    monkeypatch.setattr(remembering, "WAITING", 4)
    monkeypatch.setattr(remembering, "OF_ONE", 3)

    def ask(whose: str) -> float:
        started = time.monotonic()
        with pytest.raises(Refused) as told, turn(whose):
            pass
        assert busy(told.value)
        return time.monotonic() - started

    with ThreadPoolExecutor(12) as pool:
        mine = [pool.submit(ask, "mine") for _ in range(6)]
        time.sleep(0.3)
        theirs = [pool.submit(ask, "theirs") for _ in range(3)]
        took = [[one.result() > 1.5 for one in each] for each in (mine, theirs)]
    assert [sum(each) for each in took] == [3, 1]  # of six and of three; all others were told at once


def test_one_project_leaves_room_for_another(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(remembering, "PATIENCE", 0.2)

    def read(whose: str) -> bool:
        with turn(whose):
            return True

    with turn("mine"), ThreadPoolExecutor(1) as pool:
        assert pool.submit(read, "theirs").result()
        with pytest.raises(Refused) as told:
            pool.submit(read, "mine").result()
    assert busy(told.value)
    assert not remembering._LINE._reading
    assert not remembering._LINE._waiting


def test_what_is_known_is_told_whoever_reads(taken: None) -> None:
    given: Remembered[int] = remembered(2)(lambda whose: len(whose))
    with remembering._LINE.change:
        given._known["mine",] = (4, None, float("inf"))
    assert given("mine") == 4
    with pytest.raises(Refused):
        given("yours")


def test_what_was_refused_is_not_read_again_and_what_took_too_much_for_a_while(monkeypatch: pytest.MonkeyPatch) -> None:
    read: list[str] = []

    @remembered(4)
    def reads(whose: str) -> int:
        read.append(whose)
        if whose == "too much":
            raise TooMuch("It takes too long.")
        if whose == "wrong":
            raise InputError("It is wrong.")
        raise OSError(5, "Input/output error")

    monkeypatch.setattr(remembering, "_AGAIN", 0.3)
    for whose, kind in (("too much", TooMuch), ("wrong", InputError), ("away", OSError)):
        for _ in range(2):
            with pytest.raises(kind):
                reads(whose)
    assert read == ["too much", "wrong", "away", "away"]
    time.sleep(0.4)
    for whose in ("too much", "wrong"):
        with pytest.raises(InputError):
            reads(whose)
    assert read[4:] == ["too much"]
    reads.forget("wrong")
    with pytest.raises(InputError):
        reads("wrong")
    assert read[5:] == ["wrong"]

