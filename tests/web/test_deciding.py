"""The custodian decides questions that wait: refusing is always possible, and nobody is answered who may not ask."""

from __future__ import annotations

import json
import shutil
from pathlib import Path

import polars as pl
import pytest
from fastapi import FastAPI
from sqlalchemy import update

from shoal.web.projects.project import folder_of
from shoal.web.questions import questions
from shoal.web.server_keys import put
from shoal.web.store.tables import Grant, Question, Release, User, now
from tests.web.conftest import program, sign_in, user_of
from tests.web.test_trust import LIMITS, MARKED, add_release, cut, log_of, made, release  # noqa: F401

Made = tuple[Path, list[dict], pl.DataFrame]


@pytest.fixture
def waiting(app: FastAPI, made: Made, release: str) -> str:  # noqa: F811
    """A question that waits for the custodian."""
    return put_one(app, made, release)


def put_one(app: FastAPI, made: Made, release: str) -> str:  # noqa: F811
    by_hand = {key: value for key, value in LIMITS.items() if key != "automatic"}
    assert sign_in(app, "custodian").set_limits(release, **by_hand).status_code == 303
    at, ill, _ = cut(made)
    text = f"IF age < {at} THEN disease = {ill}"
    found = program(app, "researcher").post(f"/api/v1/releases/{release}/questions", json={"text": text}).json()
    assert found["state"] == "waiting"
    return found["id"]


def decide(app: FastAPI, question: str, decision: str) -> int:
    return sign_in(app, "custodian").submit(f"/questions/{question}/decision", decision=decision).status_code


def state(app: FastAPI, question: str) -> str:
    with app.state.store.reading() as db:
        return db.get_one(Question, question).state


def test_a_question_about_a_release_that_cannot_be_read_is_refused(app: FastAPI, release: str, waiting: str) -> None:  # noqa: F811
    with app.state.store.reading() as db:
        one = db.get_one(Release, release)
    questions._tables.clear()
    place = folder_of(one.project, app.state.settings) / one.folder
    for harm in (lambda: (place / "Gout.txt").write_text("a note"), lambda: shutil.rmtree(place)):
        harm()
        sent = sign_in(app, "custodian").submit(f"/questions/{waiting}/decision", decision="answer")
        assert (sent.status_code, "The files of this release cannot be read" in sent.text) == (409, True)
        assert str(app.state.settings.folder) not in sent.text
    assert decide(app, waiting, "refuse") == 303
    assert state(app, waiting) == "refused"
    last = log_of(app)[-1]
    assert (last.event, last.facts["accepted"], last.facts["question"]) == ("refusal", 1, waiting)
    told = program(app, "researcher").get(f"/api/v1/questions/{waiting}").json()
    assert (told["state"], told["answer"], len(told["statements"])) == ("refused", None, 1)


def test_a_question_that_cannot_be_opened_is_refused(app: FastAPI, waiting: str) -> None:
    with app.state.store.writing() as db:
        db.execute(update(Question).where(Question.id == waiting).values(checked=b"x", text=b"x"))
    assert decide(app, waiting, "refuse") == 303
    assert state(app, waiting) == "refused"


def test_an_answer_to_another_question_stands_in_no_refusal_s_way(
    app: FastAPI, waiting: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """As if another release was made whenever somebody looks; what is allowed is another thing by that."""
    real = questions._Seen.again
    monkeypatch.setattr(
        questions._Seen, "again", lambda seen, *given: questions.replace(real(seen, *given), releases=seen.releases + 1)
    )
    assert decide(app, waiting, "answer") == 409
    assert decide(app, waiting, "refuse") == 303
    assert state(app, waiting) == "refused"


@pytest.mark.parametrize("gone", ["the grant", "the account", "the role"])
def test_nobody_is_answered_who_may_not_ask_any_more(app: FastAPI, release: str, waiting: str, gone: str) -> None:  # noqa: F811
    user = user_of(app, "researcher").id
    with app.state.store.writing() as db:
        if gone == "the grant":
            db.execute(update(Grant).where(Grant.release == release, Grant.user == user).values(revoked=now()))
        else:
            changed = {"active": False} if gone == "the account" else {"role": "auditor"}
            db.execute(update(User).where(User.id == user).values(**changed))
    sent = sign_in(app, "custodian").submit(f"/questions/{waiting}/decision", decision="answer")
    assert (sent.status_code, "has lost the account or the release" in sent.text) == (409, True)
    assert state(app, waiting) == "waiting"
    assert MARKED not in sent.text
    assert decide(app, waiting, "refuse") == 303


def test_only_a_word_of_the_custodian_decides(app: FastAPI, waiting: str) -> None:
    assert decide(app, waiting, "") == 422
    assert state(app, waiting) == "waiting"
    assert decide(app, waiting, "answer") == 303
    assert decide(app, waiting, "refuse") == 409
    assert state(app, waiting) == "answered"


def test_the_vault_shows_a_release_of_tokens_too(app: FastAPI, release: str) -> None:  # noqa: F811
    key = [{"kind": "key", "column": "patient", "key": "00" * 32}]
    with app.state.store.writing() as db:
        put(db, app.state.keys.keyring, "secrets", f"{release}/secrets", json.dumps(key).encode(), release=release)
    shown = sign_in(app, "custodian").get("/vault")
    assert (shown.status_code, "patient" in shown.text) == (200, True)
