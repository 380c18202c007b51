"""A page that is older than what it changes: whoever sends its form undoes nothing that somebody else did meanwhile."""

from __future__ import annotations

from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import polars as pl
import pytest
from fastapi import FastAPI

from shoal.vault.protocol.decision import Policy
from shoal.web.accounts import users
from shoal.web.errors import API
from shoal.web.questions import questions
from shoal.web.request import Here
from tests.web.conftest import PASSWORD, program, sign_in, user_of
from tests.web.test_trust import LIMITS, add_release, made  # noqa: F401
from tests.web.working import Gate

Made = tuple[Path, list[dict], pl.DataFrame]


def policy(app: FastAPI, release: str) -> Policy:
    with app.state.store.reading() as db:
        return questions.policy_of(db, app.state.keys.keyring, release, app.state.settings)


def test_an_older_page_gives_nobody_a_role_back(app: FastAPI) -> None:
    admin, user = sign_in(app, "admin"), user_of(app, "custodian").id
    seen = admin.base("/users", f"/users/{user}/change")
    assert admin.change_user(user, role="researcher", active="true").status_code == 303
    late = admin.change_user(user, role="custodian", active="true", base=seen)
    assert late.status_code == 409
    assert "Somebody changed this user meanwhile, who is &#39;researcher, active&#39; now" in late.text
    assert f'name="base" value="{user_of(app, "custodian").base}"' in late.text  # the page as it is now
    assert user_of(app, "custodian").role == "researcher"
    assert admin.submit(f"/users/{user}/change", role="custodian", active="true").status_code == 422  # without a base
    assert admin.change_user(user, role="custodian", active="true").status_code == 303


def test_a_program_says_what_its_change_is_made_from_if_it_likes(app: FastAPI) -> None:
    client, user = program(app, "admin"), user_of(app, "custodian")
    address = f"{API}/users/{user.id}"
    assert sign_in(app, "admin").change_user(user.id, role="auditor", active="true").status_code == 303
    (now,) = [one["base"] for one in client.get(f"{API}/users").json() if one["name"] == "custodian"]
    assert client.patch(address, json={"active": False, "base": user.base}).status_code == 409
    assert client.patch(address, json={"active": False, "base": now}).json()["base"] == "auditor, ended"
    assert client.patch(address, json={"active": False}).status_code == 200


def test_an_older_page_raises_no_budget(app: FastAPI, made: Made) -> None:  # noqa: F811
    release, boss = add_release(app, made), sign_in(app, "custodian")
    seen = boss.base(f"/releases/{release}/leaks", f"/releases/{release}/policy")
    assert boss.set_limits(release, **{**LIMITS, "budget": "0.125"}).status_code == 303
    late = boss.set_limits(release, **LIMITS, base=seen)
    assert late.status_code == 409
    assert "Somebody set other limits meanwhile" in late.text
    assert 'value="0.125"' in late.text
    assert policy(app, release).budget == 0.125
    assert boss.submit(f"/releases/{release}/policy", **LIMITS).status_code == 422  # without a base
    assert boss.set_limits(release, **LIMITS).status_code == 303


def test_of_two_who_set_limits_at_once_one_is_told(
    every_app: FastAPI, made: Made, monkeypatch: pytest.MonkeyPatch  # noqa: F811
) -> None:
    release, begun, written = add_release(every_app, made), Gate(), Gate(Gate.DWELL)
    bosses = [sign_in(every_app, "custodian") for _ in range(2)]
    monkeypatch.setattr("shoal.web.pages.questions.set_policy", begun.before(questions.set_policy))
    monkeypatch.setattr(questions, "put", written.before(questions.put))
    wanted = [{**LIMITS, "budget": budget} for budget in ("0.125", "0.25")]
    with ThreadPoolExecutor(2) as pool:
        sent = list(pool.map(lambda boss, one: boss.set_limits(release, **one).status_code, bosses, wanted))
    assert (begun.met, written.met, sorted(sent)) == (True, False, [303, 409])
    assert policy(every_app, release).budget == float(wanted[sent.index(303)]["budget"])


def test_of_two_who_change_a_user_at_once_one_is_told(every_app: FastAPI, monkeypatch: pytest.MonkeyPatch) -> None:
    with every_app.state.store.writing() as db:
        users.make_user(db, "admin2", "admin", PASSWORD)
    admins, user = [sign_in(every_app, name) for name in ("admin", "admin2")], user_of(every_app, "custodian")
    begun, written = Gate(), Gate(Gate.DWELL)
    monkeypatch.setattr("shoal.web.request.Here.writing", begun.before(Here.writing))
    monkeypatch.setattr(users, "end_all", written.before(users.end_all))
    roles = ["researcher", "auditor"]
    with ThreadPoolExecutor(2) as pool:
        sent = list(
            pool.map(lambda one, role: one.change_user(user.id, role=role, active="true").status_code, admins, roles)
        )
    assert (begun.met, written.met, sorted(sent)) == (True, False, [303, 409])
    assert user_of(every_app, "custodian").role == roles[sent.index(303)]
