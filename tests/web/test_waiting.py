"""Pages that wait for others to be read: a few, for a moment, and never those that read nothing."""

from __future__ import annotations

import asyncio
import pickle
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor, as_completed
from itertools import islice
from threading import Event, Semaphore, Thread
from typing import Any

import httpx
import pytest
from fastapi import FastAPI

from shoal.errors import InputError
from shoal.web.errors import API, Refused
from shoal.web.preview import cache
from shoal.web.preview.cache import Remembered, TooMuch, Unreadable, remembered, turn, unreadable
from shoal.web.questions import questions
from shoal.web.questions.lineage import read_table
from tests.web.conftest import ADDRESS, program, sign_in, user_of
from tests.web.test_at_once import Made
from tests.web.test_trust import add_release, cut, made  # noqa: F401
from tests.web.working import add_project


class Queue:
    """Who has to wait, counted as they come; ``end`` is the end of their patience, however long that takes."""

    def __init__(self, monkeypatch: pytest.MonkeyPatch) -> None:
        self._change, self._over, self._came = cache._LINE.change, Event(), Semaphore(0)
        self._wait = self._change.wait_for
        monkeypatch.setattr(self._change, "wait_for", self._stand)

    def _stand(self, ready: Callable[[], bool], patience: float) -> bool:
        self._came.release()
        self._wait(lambda: self._over.is_set() or ready(), 120)
        return ready()

    def came(self, many: int) -> bool:
        """Whether so many more came into the line."""
        return all(self._came.acquire(timeout=60) for _ in range(many))

    def end(self) -> None:
        self._over.set()
        with self._change:
            self._change.notify_all()


@pytest.fixture
def queue(monkeypatch: pytest.MonkeyPatch) -> Queue:
    return Queue(monkeypatch)


@pytest.fixture
def taken(monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    """Two other projects read, and do not come to an end."""
    monkeypatch.setattr(cache, "PATIENCE", 0.05)
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
    answer = browser.get(f"/projects/{project.id}/data")
    assert (answer.status_code, answer.headers["retry-after"]) == (503, "5")
    assert "The server reads other files for pages just now: try again in a few seconds." in answer.text
    for page in (f"/projects/{project.id}/recipe", f"/projects/{project.id}/models", "/"):
        assert browser.get(page).status_code == 200


def test_a_form_that_gave_up_can_be_sent_again(app: FastAPI, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(cache, "PATIENCE", 0.05)
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
    app: FastAPI, made: Made, monkeypatch: pytest.MonkeyPatch, queue: Queue  # noqa: F811
) -> None:
    release, (at, ill, _) = add_release(app, made), cut(made)
    client, asked = program(app, "researcher"), {"text": f"IF age < {at} THEN disease = {ill}"}
    address, read = f"{API}/releases/{release}/questions", []

    def slow(*given: Any) -> Any:
        read.append(given)
        assert len(read) == 1 or queue.came(3)  # the first is too large
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


def test_other_pages_are_answered_while_very_many_wait(app: FastAPI, taken: None, queue: Queue) -> None:
    """More ask for what has to be read than the server has threads."""
    project, browser = add_project(app), sign_in(app, "custodian")

    async def ask() -> tuple[int, int, set[int]]:
        transport = httpx.ASGITransport(app)
        async with httpx.AsyncClient(transport=transport, base_url=ADDRESS, cookies=dict(browser.cookies)) as client:
            slow = [asyncio.create_task(client.get(f"/projects/{project.id}/data")) for _ in range(80)]
            await asyncio.wait(slow, return_when=asyncio.FIRST_COMPLETED)
            answer = await client.get("/")
            waiting = sum(not one.done() for one in slow)
            queue.end()
            return answer.status_code, waiting, {one.status_code for one in await asyncio.gather(*slow)}

    status, waiting, others = asyncio.run(ask())
    assert (status, others) == (200, {503})
    assert waiting >= cache.OF_ONE  # it came before any of them gave up


def test_no_more_wait_than_there_is_room_for(monkeypatch: pytest.MonkeyPatch, taken: None, queue: Queue) -> None:
    monkeypatch.setattr(cache, "WAITING", 4)
    monkeypatch.setattr(cache, "OF_ONE", 3)

    def ask(whose: str) -> None:
        with pytest.raises(Refused) as told, turn(whose):
            pass
        assert busy(told.value)

    with ThreadPoolExecutor(12) as pool:
        try:
            for whose, many, room in (("mine", 6, 3), ("theirs", 3, 1)):
                asked = [pool.submit(ask, whose) for _ in range(many)]
                assert queue.came(room)
                told = list(islice(as_completed(asked, 60), many - room))
                assert [one.result() for one in told] == [None] * (many - room)  # at once, and all others wait
                assert sum(not one.done() for one in asked) == room
        finally:
            queue.end()


def test_one_project_leaves_room_for_another(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(cache, "PATIENCE", 0.05)

    def read(whose: str) -> bool:
        with turn(whose):
            return True

    with turn("mine"), ThreadPoolExecutor(1) as pool:
        assert pool.submit(read, "theirs").result()
        with pytest.raises(Refused) as told:
            pool.submit(read, "mine").result()
    assert busy(told.value)
    assert not cache._LINE._reading
    assert not cache._LINE._waiting


def test_one_account_leaves_room_for_another(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(cache, "PATIENCE", 0.05)

    def read(whose: str, account: str, then: Callable[[], None] = lambda: None) -> None:
        cache.ASKING.set(lambda: account)
        with turn(whose):
            then()

    def meanwhile() -> None:
        with ThreadPoolExecutor(1) as pool:
            pool.submit(read, "theirs", "them").result()
            with pytest.raises(Refused) as told:
                pool.submit(read, "my other", "me").result()
        assert busy(told.value)

    with ThreadPoolExecutor(1) as pool:
        pool.submit(read, "mine", "me", meanwhile).result()
    assert not cache._LINE._reading
    assert not cache._LINE._waiting


def test_a_page_is_read_for_the_account_that_asks(app: FastAPI, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(cache, "PATIENCE", 0.05)
    address, browser = f"/projects/{add_project(app).id}/data", sign_in(app, "custodian")
    mine = user_of(app, "custodian").id
    for account, status in ((mine, 503), ("somebody", 200)):
        token = cache.ASKING.set(lambda account=account: account)  # type: ignore[misc]
        with turn("another project"):
            assert browser.get(address).status_code == status
        cache.ASKING.reset(token)


def test_what_is_remembered_has_an_end(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(cache, "KEPT", 1000)
    read: list[str] = []

    @remembered(8)
    def reads(whose: str, size: int) -> bytes:
        read.append(whose)
        return bytes(size)

    for whose, size in (("a", 300), ("b", 300), ("a", 300), ("c", 600), ("a", 300), ("b", 300), ("d" * 900, 300)):
        assert reads(whose, size) == bytes(size)
    assert "".join(read) == "abcb" + "d" * 900
    assert list(reads._known) == [("d" * 900, 300)]  # the last is kept, however large it is


def test_what_is_known_is_told_whoever_reads(taken: None) -> None:
    given: Remembered[int] = remembered(2)(lambda whose: len(whose))
    with cache._LINE.change:
        given._known["mine",] = (pickle.dumps(4), None, float("inf"))
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
        raise unreadable(OSError(5, "Input/output error"))

    times = [0.0]
    monkeypatch.setattr(cache, "clock", lambda: times[0])
    for whose, kind in (("too much", TooMuch), ("wrong", InputError), ("away", Unreadable)):
        for _ in range(2):
            with pytest.raises(kind):
                reads(whose)
    assert read == ["too much", "wrong", "away", "away"]
    times[0] = cache._AGAIN + 1
    for whose in ("too much", "wrong"):
        with pytest.raises(InputError):
            reads(whose)
    assert read[4:] == ["too much"]
    reads.forget("wrong")
    with pytest.raises(InputError):
        reads("wrong")
    assert read[5:] == ["wrong"]

