"""Who gets in: passwords, lock-out, sessions, forms, tokens, one-time links and the second factor."""

from __future__ import annotations

import time
from pathlib import Path

import pyotp
import pytest
from fastapi import FastAPI
from sqlalchemy import select, update

from shoal.web.accounts import proofs
from shoal.web.accounts.sessions import LIMITS
from shoal.web.accounts.users import WRONG, first_admin, make_link, make_user, open_link, use_link
from shoal.web.app import create_app
from shoal.web.errors import API
from shoal.web.permissions import Principal
from shoal.web.settings import Settings
from shoal.web.store.tables import Attempt, LogEntry, Session, Token, User, now
from tests.web.conftest import ADDRESS, PASSWORD, Browser, add_people, program, sign_in, user_of


def events(app: FastAPI) -> list[str]:
    with app.state.store.reading() as db:
        return list(db.scalars(select(LogEntry.event).order_by(LogEntry.number)))


def test_wrong_names_and_wrong_passwords_are_told_the_same(every_app: FastAPI) -> None:
    answers = [
        Browser(every_app).submit("/login", name=name, password="not the password").text
        for name in ("custodian", "nobody-at-all")
    ]
    assert all(WRONG in one for one in answers)
    assert answers[0].replace("custodian", "") == answers[1].replace("nobody-at-all", "")
    assert "not the password" not in answers[0]
    assert events(every_app) == ["sign-in refused"] * 2


def test_a_name_that_nobody_has_takes_as_long(app: FastAPI, monkeypatch: pytest.MonkeyPatch) -> None:
    """What takes the time is done once for either."""
    done: list[str] = []
    real = proofs._HASHER

    class Counted:
        hash = real.hash

        def verify(self, kept: str, given: str) -> bool:
            done.append(given)
            return real.verify(kept, given)

    monkeypatch.setattr(proofs, "_HASHER", Counted())
    for name in ("custodian", "nobody-at-all"):
        Browser(app).submit("/login", name=name, password=f"wrong for {name}")
    assert done == ["wrong for custodian", "wrong for nobody-at-all"]


def test_two_who_make_the_same_at_the_same_moment(app: FastAPI, monkeypatch: pytest.MonkeyPatch) -> None:
    client = program(app, "admin")
    monkeypatch.setattr("shoal.web.accounts.users.named", lambda *_: None)  # neither sees the other's
    answer = client.post(f"{API}/users", json={"name": "auditor"})
    assert (answer.status_code, answer.json()["error"]["code"]) == (409, "conflict")


@pytest.mark.parametrize("name", ["custodian", "nobody-at-all"])
def test_a_name_is_locked_after_some_attempts(app: FastAPI, name: str) -> None:
    browser = Browser(app)
    for _ in range(LIMITS["name"]):
        assert browser.submit("/login", name=name, password="wrong").status_code == 401
    locked = browser.submit("/login", name=name.upper(), password=PASSWORD)
    assert locked.status_code == 429
    assert "wait" in locked.text
    with app.state.store.writing() as db:
        db.execute(update(Attempt).values(since=now(minutes=-16)))
    assert browser.submit("/login", name=name, password=PASSWORD).status_code == (303 if name == "custodian" else 401)


def test_signing_in_never_takes_over_what_a_cookie_brings(app: FastAPI) -> None:
    browser = Browser(app)
    browser.cookies.set("shoal", "planted", domain="localhost.local")
    answer = browser.post("/login", data={"name": "custodian", "password": PASSWORD}, headers={"origin": ADDRESS})
    assert "planted" not in answer.headers["set-cookie"]
    other = sign_in(app, "custodian")
    before = other.cookies["shoal"]
    other.post("/login", data={"name": "admin", "password": PASSWORD, "csrf": other.token()},
               headers={"origin": ADDRESS})  # fmt: skip
    assert other.cookies["shoal"] != before
    stale = Browser(app)
    stale.cookies.set("shoal", before)
    assert stale.get("/").headers["location"] == "/login"


def test_cookies_are_for_our_server_alone(app: FastAPI) -> None:
    answer = Browser(app).submit("/login", name="admin", password=PASSWORD)
    told = answer.headers["set-cookie"].lower()
    assert "httponly" in told
    assert "samesite=lax" in told
    with app.state.store.reading() as db:
        assert all(one.hash not in told for one in db.scalars(select(Session)))


@pytest.mark.parametrize("how", ["tls", "proxy"])
def test_by_tls_cookies_and_forms_are_held_to_it(tmp_path: Path, how: str) -> None:
    address = "https://localhost" if how == "tls" else "https://shoal.example.org"
    tls = {"tls_certificate": tmp_path / "c.pem", "tls_key": tmp_path / "k.pem"}
    settings = Settings(folder=tmp_path / "data", **(tls if how == "tls" else {"address": address}))  # type: ignore[arg-type]
    app = create_app(settings)
    add_people(app)
    browser = Browser(app)
    browser.base_url = address
    fields = {"name": "admin", "password": PASSWORD}
    assert browser.post("/login", data=fields, headers={"origin": address.replace("https", "http")}).status_code == 403
    answer = browser.post("/login", data=fields, headers={"origin": address})
    assert answer.status_code == 303
    told = answer.headers["set-cookie"].lower()
    assert told.startswith("__host-shoal=")
    assert "secure" in told
    assert "domain" not in told
    assert "max-age" in answer.headers["strict-transport-security"]
    assert browser.get("/account").status_code == 200
    app.state.store.close()


@pytest.mark.parametrize("field", ["expires", "seen"])
def test_sessions_end_by_time(app: FastAPI, field: str) -> None:
    browser = sign_in(app, "custodian")
    with app.state.store.writing() as db:
        db.execute(update(Session).values({field: now(hours=-3)}))
    assert browser.get("/").headers["location"] == "/login"


@pytest.mark.parametrize(
    "headers",
    [
        {},
        {"origin": "https://evil.example"},
        {"origin": "null"},
        {"origin": ADDRESS, "sec-fetch-site": "cross-site"},
        {"sec-fetch-site": "same-site"},
        {"origin": "http://localhost:9999"},
    ],
)
def test_forms_of_others_are_refused(app: FastAPI, headers: dict[str, str]) -> None:
    browser = sign_in(app, "admin")
    fields = {"csrf": browser.token(), "name": "eve", "role": "admin"}
    answer = browser.post("/users", data=fields, headers=headers)
    assert answer.status_code == 403
    assert Browser(app).post("/login", data={"name": "admin", "password": PASSWORD}, headers=headers).status_code == 403
    with app.state.store.reading() as db:
        assert db.scalar(select(User.id).where(User.name == "eve")) is None


def test_a_form_needs_the_token_of_its_session_and_is_taken_once(every_app: FastAPI) -> None:
    admin, other = sign_in(every_app, "admin"), sign_in(every_app, "admin")
    fields = {"name": "eve", "role": "auditor"}
    for token in ("", "made.up", other.token()):
        answer = admin.post("/users", data={**fields, "csrf": token}, headers={"origin": ADDRESS})
        assert answer.status_code == 403, token
    good = admin.token()
    first = admin.post("/users", data={**fields, "csrf": good}, headers={"origin": ADDRESS})
    assert "/setup/" in first.text
    again = admin.post("/users", data={**fields, "name": "eve2", "csrf": good}, headers={"origin": ADDRESS})
    assert again.status_code == 409
    assert "eve2" not in admin.get("/users").text


def test_a_form_that_was_refused_can_be_corrected(app: FastAPI) -> None:
    admin = sign_in(app, "admin")
    address = f"/users/{user_of(app, 'admin').id}/change"
    form = {"csrf": admin.token(), "base": admin.base("/users", address)}
    for _ in range(2):  # the last admin stays one, however often it is tried
        answer = admin.post(address, data={"role": "auditor", **form}, headers={"origin": ADDRESS})
        assert (answer.status_code, "last admin" in answer.text) == (409, True)
    good = admin.post(address, data={"role": "admin", "active": "true", **form}, headers={"origin": ADDRESS})
    assert good.status_code == 303


def test_other_hosts_are_not_served(app: FastAPI) -> None:
    for name, status in (("evil.example", 400), ("localhost.evil.example", 400), ("127.0.0.1:80", 200)):
        assert Browser(app).get("/login", headers={"host": name}).status_code == status, name


def test_tokens_end_and_make_no_stronger_ones(every_app: FastAPI) -> None:
    client = program(every_app, "custodian", ["releases:read", "tokens"])
    made = client.post(f"{API}/tokens", json={"name": "a", "scopes": ["releases:read"], "days": 300}).json()
    assert made["expires"] < now(hours=25)
    for scopes in (["projects:write"], ["users:write"], ["nothing"]):
        assert client.post(f"{API}/tokens", json={"name": "b", "scopes": scopes}).status_code == 422
    with every_app.state.store.reading() as db:
        kept = [one.hash for one in db.scalars(select(Token))]
    assert made["token"] not in kept
    assert client.delete(f"{API}/tokens/{made['id']}").status_code == 204
    bearer = {"authorization": f"Bearer {made['token']}"}
    assert client.get(f"{API}/releases", headers=bearer).status_code == 401
    with every_app.state.store.writing() as db:
        db.execute(update(Token).values(expires=now(seconds=-1)))
    assert client.get(f"{API}/releases").status_code == 401


def test_a_link_works_once(every_app: FastAPI) -> None:
    with every_app.state.store.writing() as db:
        link = make_link(db, db.get_one(User, user_of(every_app, "auditor").id))
    old = sign_in(every_app, "auditor")
    browser = Browser(every_app)
    assert "Choose a password" in browser.get(f"/setup/{link}").text
    assert browser.submit(f"/setup/{link}", password="short", again="short").status_code == 422
    new = "another good password"
    assert browser.submit(f"/setup/{link}", password=new, again=new).headers["location"] == "/login"
    assert browser.get(f"/setup/{link}").status_code == 404
    assert old.get("/account").headers["location"] == "/login"
    assert Browser(every_app).submit("/login", name="auditor", password=new).status_code == 303


def test_the_first_admin_is_told_by_the_role_and_not_by_the_name(tmp_path: Path) -> None:
    """Somebody called admin may have any role, or none any more."""
    app = create_app(Settings(folder=tmp_path / "data"))
    with app.state.store.writing() as db:
        make_user(db, "Admin", "researcher", "a password of theirs")
        make_user(db, "admin-2", "auditor")
        make_user(db, "gone", "admin", "a password of before").active = False
    with app.state.store.writing() as db:
        first, again = first_admin(db), first_admin(db)
        made = open_link(db, str(again))
        assert (made.name, made.role) == ("admin-3", "admin")
        assert first != again
        use_link(db, str(again), "another password")
        assert first_admin(db) is None
    app.state.store.close()


def test_a_first_admin_gets_a_link_only_while_there_is_none(app: FastAPI) -> None:
    with app.state.store.writing() as db:
        assert first_admin(db) is None
        db.execute(update(User).values(password=None))
        first, second = first_admin(db), first_admin(db)
    assert first
    assert Browser(app).get(f"/setup/{first}").status_code == 404  # the newer one is good alone
    assert Browser(app).get(f"/setup/{second}").status_code == 200


def test_a_second_factor_is_asked_for_and_good_once(app: FastAPI, monkeypatch: pytest.MonkeyPatch) -> None:
    browser = sign_in(app, "custodian")
    page = browser.submit("/account/second-factor").text
    secret = page.partition('Secret: <code class="secret">')[2].partition("<")[0]
    pending = page.partition('name="pending" value="')[2].partition('"')[0]
    assert "data:image/svg+xml;base64," in page
    wrong = browser.submit("/account/second-factor/accept", pending=pending, code="000000", password=PASSWORD)
    assert wrong.status_code == 422
    code = pyotp.TOTP(secret).now()
    right = {"pending": pending, "code": code}
    assert browser.submit("/account/second-factor/accept", **right).status_code == 403
    assert browser.submit("/account/second-factor/accept", **right, password=PASSWORD).status_code == 303
    at = time.time() + 60

    def tried(code: str) -> int:
        return Browser(app).submit("/login", name="custodian", password=PASSWORD, code=code).status_code

    assert tried("") == 401
    assert tried(code) == 401  # it was used to set it up
    monkeypatch.setattr("time.time", lambda: at)
    later = pyotp.TOTP(secret).at(at)
    assert tried(later) == 303
    assert tried(later) == 401
    row = user_of(app, "custodian")
    assert secret.encode() not in (row.totp or b"")
    assert browser.submit("/account/second-factor/remove", password="wrong").status_code == 403
    assert browser.submit("/account/second-factor/remove", password=PASSWORD).status_code == 303
    assert tried("") == 303


def test_a_new_password_ends_other_sessions(app: FastAPI) -> None:
    one, other = sign_in(app, "researcher"), sign_in(app, "researcher")
    new = "yet another password"
    assert one.submit("/account/password", old="wrong", password=new, again=new).status_code == 403
    assert one.submit("/account/password", old=PASSWORD, password=new, again=new).status_code == 303
    assert one.get("/account").status_code == 200
    assert other.get("/account").status_code == 303


def test_faults_of_ours_tell_nothing(
    app: FastAPI, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    def broken(*_: object) -> None:
        raise ValueError("the value of somebody")

    browser, client = sign_in(app, "custodian"), program(app, "custodian")
    monkeypatch.setattr(app.state.store, "reading", broken)
    monkeypatch.setattr("shoal.web.request.signed_in", broken)
    anybody = Principal(id="x", name="x", role="custodian")
    monkeypatch.setattr("shoal.web.accounts.tokens.Bearers.find", lambda *_: anybody)
    for answer in (browser.get("/"), client.get(f"{API}/projects")):
        assert answer.status_code == 500
        assert "the value of somebody" not in answer.text
        assert "default-src 'none'" in answer.headers["content-security-policy"]
    assert "the value of somebody" not in caplog.text
    assert "ValueError" in caplog.text
