"""How much may be asked: questions in all and within an hour, and thresholds that several researchers close in by."""

from __future__ import annotations

from pathlib import Path

import polars as pl
import pytest
from fastapi import FastAPI
from sqlalchemy import update

from shoal.web.permissions import Limits
from shoal.web.settings import Settings
from shoal.web.store.tables import Grant, Question, now
from tests.web.conftest import program, sign_in, user_of
from tests.web.test_trust import LIMITS, add_release, cut, log_of, made  # noqa: F401

Made = tuple[Path, list[dict], pl.DataFrame]


@pytest.fixture
def release(app: FastAPI, made: Made) -> str:  # noqa: F811
    return add_release(app, made)


def limit(app: FastAPI, release: str, **limits: str) -> None:
    assert sign_in(app, "custodian").set_limits(release, **LIMITS, **limits).status_code == 303


def test_questions_in_all_are_limited_logged_and_shown(app: FastAPI, release: str, made: Made) -> None:  # noqa: F811
    limit(app, release, questions="2")
    at, ill, _ = cut(made)
    client, ask = program(app, "researcher"), f"/api/v1/releases/{release}/questions"
    # One that is refused counts as well.
    for text in (f"IF age < {at} THEN disease = {ill}", "IF sex = F THEN disease = nothing"):
        assert client.post(ask, json={"text": text}).status_code == 201
    for _ in range(3):
        beyond = client.post(ask, json={"text": f"IF age < {at} THEN disease = {ill}"})
        assert beyond.status_code == 429
        assert beyond.json()["error"]["message"] == (
            "You have asked 2 questions about this release, and its custodian lets you ask 2: ask them for more."
        )
    page = sign_in(app, "researcher").submit(f"/releases/{release}/ask", text="x")
    assert page.status_code == 429
    assert "ask them for more" in page.text
    assert "2 of 2" in page.text
    lines = [one for one in log_of(app) if one.who == "researcher"]
    assert [one.facts["number"] for one in lines if one.event == "question"] == [1, 2]
    # However often it is tried, and whatever else is done meanwhile, the log is not filled with it.
    assert [one.facts["within"] for one in lines if one.event == "limit of questions"] == ["all"]
    assert next(one for one in reversed(log_of(app)) if one.event == "policy").facts["questions"] == 2
    assert "researcher (2 of 2 questions)" in sign_in(app, "custodian").get(f"/releases/{release}/leaks").text
    figures = program(app, "auditor").get(f"/api/v1/releases/{release}/leaks").json()
    assert [one["questions"] for one in figures] == [2, 2]
    limit(app, release, questions="3")
    assert client.post(ask, json={"text": f"IF age < {at} THEN disease = {ill}"}).status_code == 201


def test_questions_within_an_hour_are_limited(app: FastAPI, release: str) -> None:
    limit(app, release, hourly="1")
    client, ask = program(app, "researcher"), f"/api/v1/releases/{release}/questions"
    assert client.post(ask, json={"text": "IF sex = F THEN disease = nothing"}).status_code == 201
    late = client.post(ask, json={"text": "IF sex = M THEN disease = nothing"})
    assert late.status_code == 429
    assert "within an hour" in late.json()["error"]["message"]
    page = sign_in(app, "researcher").submit(f"/releases/{release}/ask", text="x")
    assert (page.status_code, 0 < int(page.headers["retry-after"]) <= 3600) == (429, True)
    assert 3500 < int(late.headers["retry-after"]) <= 3600
    with app.state.store.writing() as db:
        db.execute(update(Question).values(created=now(hours=-1, seconds=-1)))
    assert client.post(ask, json={"text": "IF sex = M THEN disease = nothing"}).status_code == 201


def test_what_cannot_be_read_uses_up_a_share_as_well(app: FastAPI, release: str) -> None:
    app.state.limits = Limits(Settings(folder=app.state.settings.folder, jobs_per_hour=2))
    client, ask = program(app, "researcher"), f"/api/v1/releases/{release}/questions"
    told = [client.post(ask, json={"text": "{", "form": "json"}).status_code for _ in range(3)]
    assert told == [422, 422, 429]


def test_limits_are_whole_numbers(app: FastAPI, release: str) -> None:
    boss = sign_in(app, "custodian")
    for wrong in ({"questions": "0"}, {"hourly": "2.5"}, {"questions": ""}):
        answer = boss.set_limits(release, **LIMITS, **wrong)
        assert answer.status_code == 422, wrong
        assert "whole" in answer.text


def test_two_researchers_close_in_on_nobody(app: FastAPI, release: str, made: Made) -> None:  # noqa: F811
    limit(app, release)
    with app.state.store.writing() as db:
        db.add(Grant(release=release, user=user_of(app, "researcher2").id, by=user_of(app, "custodian").id))
    at, ill, _ = cut(made)
    ages = made[2]["age"].unique().sort()
    near = float(ages[int(ages.search_sorted(at)) - 1])
    assert made[2].filter((pl.col("age") > near) & (pl.col("age") <= at)).height < 20
    boss = sign_in(app, "custodian")
    assert boss.set_limits(release, **{**LIMITS, "minimum": "20"}).status_code == 303
    ask = f"/api/v1/releases/{release}/questions"
    first = program(app, "researcher").post(ask, json={"text": f"IF age < {at} THEN disease = {ill}"}).json()
    assert first["state"] == "answered"
    other = program(app, "researcher2")
    second = other.post(ask, json={"text": f"IF age < {near} THEN disease = {ill}"}).json()
    assert second["state"] == "refused"
    assert "fewer than 20 rows from another one" in second["refused"][0]["why"]
    # The very same threshold closes in on nobody.
    assert other.post(ask, json={"text": f"IF age < {at} THEN disease = {ill}"}).json()["state"] == "answered"
