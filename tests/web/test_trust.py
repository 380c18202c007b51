"""The trusted side on the server: questions from asking to answer, what is counted, kept sealed, and logged."""

from __future__ import annotations

import hashlib
import json
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import numpy as np
import polars as pl
import pytest
from fastapi import FastAPI
from sqlalchemy import select, update

import shoal
from shoal.cli.main import execute
from shoal.errors import VerificationError
from shoal.vault.protocol.decision import Policy
from shoal.web.app import create_app
from shoal.web.errors import API
from shoal.web.projects.project import folder_of, make_project
from shoal.web.questions.questions import policy_of
from shoal.web.server_keys import open_keyring, put, strongroom
from shoal.web.store.tables import Grant, LogEntry, Question, Release, Sealed
from tests.web.backups import put_back_database, take_backup
from tests.web.conftest import program, sign_in, user_of
from tests.web.working import add_job

MARKED = "Zyzzyva fever"
LIMITS = {"minimum": "10", "waiting": "1", "budget": "1", "together": "1", "enumeration": "1", "automatic": "true"}


@pytest.fixture(scope="module")
def made(tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, list[dict], pl.DataFrame]:
    """A release with mapped diseases and graded ages; the young have the marked disease."""
    draw = np.random.default_rng(1)
    age = draw.integers(15, 91, 900)
    ill = np.where(draw.random(900) < 0.8, np.where(age < 42, MARKED, "Gout"), draw.choice(["Asthma", "Ulcer"], 900))
    frame = pl.DataFrame({"sex": draw.choice(["F", "M"], 900), "age": age, "disease": ill})
    table = shoal.read(frame, quasi=["sex"], sensitive=["age", "disease"], name="people")
    release = shoal.anonymize(table, algorithm="table-transform", seed=1, acknowledge=["W-PP-REV"])
    folder = release.write(tmp_path_factory.mktemp("release") / "out")
    return folder, [one.reveal() for one in release.secrets], release.frame


@pytest.fixture
def release(app: FastAPI, made: tuple[Path, list[dict], pl.DataFrame]) -> str:
    return add_release(app, made)


def add_release(app: FastAPI, made: tuple[Path, list[dict], pl.DataFrame]) -> str:
    """The release in a project, granted to a researcher."""
    folder, secrets, frame = made
    owner, settings = user_of(app, "custodian"), app.state.settings
    keyring = app.state.keys.keyring
    with app.state.store.writing() as db:
        project = make_project(db, "People", owner.id, settings)
    job = add_job(app, project, "check")
    place = folder_of(project.id, settings) / "releases" / "one"
    place.parent.mkdir(exist_ok=True)
    place.mkdir()
    for file in folder.iterdir():
        (place / file.name).write_bytes(file.read_bytes())
    with app.state.store.writing() as db:
        db.add(Release(id=job.id, project=project.id, job=job.id, name="People", folder="releases/one",
                       statement="coded", kind="pseudonymised", rows=frame.height,
                       manifest=hashlib.sha256((place / "manifest.json").read_bytes()).hexdigest()))  # fmt: skip
        db.flush()
        put(db, keyring, "secrets", f"{job.id}/secrets", json.dumps(secrets).encode(), release=job.id)
        wide = Policy(waiting=0.5, budget=0.6, together=0.8)  # of four diseases, one is half of what is to be known
        put(db, keyring, "policy", job.id, json.dumps(wide.plain()).encode(), release=job.id)
        db.add(Grant(release=job.id, user=user_of(app, "researcher").id, by=owner.id))
    return job.id


def cut(made: tuple[Path, list[dict], pl.DataFrame]) -> tuple[float, str, str]:
    """A threshold near 42, and the codes of the two common diseases."""
    mapping = next(one["mapping"] for one in made[1] if one["kind"] == "mapping")
    codes = made[2].filter(pl.col("disease") == mapping["Gout"])["age"].sort()
    return float(codes[2]), mapping[MARKED], mapping["Gout"]


def test_from_question_to_answer(app: FastAPI, release: str, made: tuple) -> None:
    at, ill, gout = cut(made)
    ruth = sign_in(app, "researcher")
    assert "Have results interpreted" in ruth.get(f"/releases/{release}/ask").text
    text = f"IF age < {at} THEN disease = {ill}\nIF sex = F THEN disease = {gout} (confidence 0.99)\n{ill} and nonsense"
    sent = ruth.submit(f"/releases/{release}/ask", text=text)
    assert sent.status_code == 303, sent.text
    page = ruth.get(sent.headers["location"]).text
    assert f"THEN disease = {MARKED}" in page
    assert "states confidence 0.99" in page
    assert 'class="tag good">answered' in page
    assert "answered" in ruth.get("/questions").text
    # Somebody else neither sees it nor may ask.
    other = sign_in(app, "researcher2")
    assert other.get(sent.headers["location"]).status_code == 404
    assert other.get(f"/releases/{release}/ask").status_code == 404
    assert other.submit(f"/releases/{release}/ask", text=text).status_code == 404
    boss = sign_in(app, "custodian")
    told = boss.get(f"/releases/{release}/leaks").text
    assert "researcher" in told
    assert "matching of column" in told
    assert MARKED not in sign_in(app, "auditor").get(f"/releases/{release}/leaks").text
    events = [one.event for one in log_of(app)]
    assert [one for one in events if one in ("question", "answer", "refusal")] == ["question", "answer"]
    assert not [one for one in log_of(app) if MARKED in json.dumps(one.facts) or ill in json.dumps(one.facts)]


def test_the_api_says_the_same(app: FastAPI, release: str, made: tuple) -> None:
    at, ill, _ = cut(made)
    client = program(app, "researcher")
    found = client.post(f"/api/v1/releases/{release}/questions", json={"text": f"IF age < {at} THEN disease = {ill}"})
    assert found.status_code == 201, found.text
    assert found.json()["answer"].endswith(f"THEN disease = {MARKED}\n")
    key = found.json()["id"]
    assert client.get(f"/api/v1/questions/{key}").json() == found.json()
    assert [one["id"] for one in client.get(f"/api/v1/releases/{release}/questions").json()] == [key]
    rows = made[2].filter((pl.col("disease") == ill) & (pl.col("age") < at))
    table = f'disease,age,count,mean_age\n{ill},"[0, {at})",{rows.height},{rows["age"].mean():.6f}\n'
    left = client.post(f"/api/v1/releases/{release}/questions", json={"text": table}).json()
    assert "mean of codes" in left["left"][0]["why"]
    assert program(app, "researcher2").get(f"/api/v1/questions/{key}").status_code == 404
    assert program(app, "researcher2").get("/api/v1/questions").json() == []
    figures = program(app, "auditor").get(f"/api/v1/releases/{release}/leaks").json()
    assert [one["who"] for one in figures] == ["researcher", None]
    assert figures[0]["columns"] == figures[1]["columns"]
    wrong = client.post(f"/api/v1/releases/{release}/questions", json={"text": "{", "form": "json"})
    assert wrong.status_code == 422
    assert "as JSON" in wrong.json()["error"]["message"]


def test_the_log_holds_what_was_answered_without_telling_it(app: FastAPI, release: str, made: tuple) -> None:
    """By its salt an answer is shown to be the one of the log; without it nobody can try likely ones."""
    researcher, (value, code, _) = program(app, "researcher"), cut(made)
    given = {"text": f"IF age < {value} THEN disease = {code}"}
    one = researcher.post(f"{API}/releases/{release}/questions", json=given).json()
    assert one["state"] == "answered"
    line = next(entry.facts for entry in reversed(log_of(app)) if entry.event == "answer")

    def digest(text: str, salt: str = "") -> str:
        return hashlib.sha256((f"{salt}\n" if salt else "").encode() + text.encode()).hexdigest()

    assert line["answer"] == digest(one["answer"], one["salt"])
    assert line["proof"] == proof_of(one)
    everything = json.dumps(line)
    assert one["salt"] not in everything
    assert digest(one["answer"]) not in everything


def proof_of(one: dict) -> str:
    """What the log should say of what was checked of a question."""
    checked = {name: one[name] for name in ("left", "refused", "statements")}
    text = json.dumps(checked, sort_keys=True, ensure_ascii=False, separators=(",", ":"))
    return hashlib.sha256(f"{one['salt']}\n{text}".encode()).hexdigest()


@pytest.mark.parametrize("allowed, event", [(True, "answer"), (False, "refusal")])
def test_a_decision_of_the_custodian_has_its_proof_in_the_log(
    app: FastAPI, release: str, made: tuple, allowed: bool, event: str
) -> None:
    assert sign_in(app, "custodian").set_limits(release, **{**LIMITS, "automatic": ""}).status_code == 303
    researcher, (value, code, _) = program(app, "researcher"), cut(made)
    given = {"text": f"IF age < {value} THEN disease = {code}"}
    one = researcher.post(f"{API}/releases/{release}/questions", json=given).json()
    assert one["state"] == "waiting"
    decided = program(app, "custodian").post(f"{API}/questions/{one['id']}/decision", json={"answer": allowed})
    assert decided.status_code == 200, decided.text
    line = next(entry for entry in reversed(log_of(app)) if entry.event == event)
    assert line.facts["proof"] == proof_of(researcher.get(f"{API}/questions/{one['id']}").json())


def test_an_invented_rule_and_an_enumeration_are_refused_and_logged(app: FastAPI, release: str, made: tuple) -> None:
    client = program(app, "researcher")
    counts = made[2]["disease"].value_counts().rows()
    for text in ("\n".join(f"disease = {code}: n = {n}" for code, n in counts),
                 f"IF sex = F THEN disease = {counts[0][0]} (confidence 0.97)"):  # fmt: skip
        found = client.post(f"/api/v1/releases/{release}/questions", json={"text": text}).json()
        assert (found["state"], found["answer"]) == ("refused", None)
        assert found["refused"]
        assert log_of(app)[-1].event == "refusal"
    assert not any(MARKED in json.dumps(found) for found in client.get("/api/v1/questions").json())


def test_limits_that_a_form_does_not_show_stay(app: FastAPI, release: str) -> None:
    with app.state.store.writing() as db:
        wanted = Policy(statements=7, questions=3)
        put(db, app.state.keys.keyring, "policy", release, json.dumps(wanted.plain()).encode(), release=release)
    assert sign_in(app, "custodian").set_limits(release, **LIMITS).status_code == 303
    with app.state.store.reading() as db:
        kept = policy_of(db, app.state.keys.keyring, release, app.state.settings)
    assert (kept.statements, kept.questions, kept.budget) == (7, 3, 1)


def test_what_is_beyond_the_limits_waits_and_the_custodian_decides(app: FastAPI, release: str, made: tuple) -> None:
    at, ill, gout = cut(made)
    boss, client = sign_in(app, "custodian"), program(app, "researcher")
    limits = {"minimum": "10", "waiting": "0.01", "budget": "0.9", "together": "0.9", "enumeration": "0.3"}
    assert boss.set_limits(release, **limits, automatic="true").status_code == 303
    assert boss.set_limits(release, **{**limits, "budget": "7"}).status_code == 422
    assert boss.set_limits(release, **{**limits, "minimum": "x"}).status_code == 422
    keys = [client.post(f"/api/v1/releases/{release}/questions", json={"text": text}).json()["id"]
            for text in (f"IF age < {at} THEN disease = {ill}", f"IF age >= {at} THEN disease = {gout}")]  # fmt: skip
    states = [client.get(f"/api/v1/questions/{key}").json() for key in keys]
    assert [(one["state"], one["answer"]) for one in states] == [("waiting", None)] * 2
    assert sign_in(app, "researcher").submit(f"/questions/{keys[0]}/decision", decision="answer").status_code == 403
    assert boss.submit(f"/questions/{keys[0]}/decision", decision="answer").status_code == 303
    assert boss.submit(f"/questions/{keys[1]}/decision", decision="refuse").status_code == 303
    assert MARKED in client.get(f"/api/v1/questions/{keys[0]}").json()["answer"]
    assert client.get(f"/api/v1/questions/{keys[1]}").json()["state"] == "refused"
    assert boss.submit(f"/questions/{keys[1]}/decision", decision="answer").status_code == 409


def test_the_budget_is_of_all_questions_together(app: FastAPI, release: str, made: tuple) -> None:
    at, ill, gout = cut(made)
    boss, client = sign_in(app, "custodian"), program(app, "researcher")
    limits = {"minimum": "10", "waiting": "1", "budget": "1", "together": "0.5", "enumeration": "0.3"}
    assert boss.set_limits(release, **limits, automatic="true").status_code == 303
    with app.state.store.writing() as db:
        db.add(Grant(release=release, user=user_of(app, "researcher2").id, by=user_of(app, "custodian").id))
    ask = f"/api/v1/releases/{release}/questions"
    assert client.post(ask, json={"text": f"IF age < {at} THEN disease = {ill}"}).json()["state"] == "answered"
    # Another researcher's further code would be too much for all together.
    other = program(app, "researcher2").post(ask, json={"text": f"IF age >= {at} THEN disease = {gout}"}).json()
    assert other["state"] == "refused"
    assert "all researchers together" in other["refused"][0]["why"]


def test_questions_at_the_same_moment_overrun_no_budget(every_app: FastAPI, made: tuple) -> None:
    app = every_app
    release = add_release(app, made)
    at, ill, gout = cut(made)
    limits = {**LIMITS, "budget": "0.6"}
    assert sign_in(app, "custodian").set_limits(release, **limits).status_code == 303
    ask = f"/api/v1/releases/{release}/questions"
    texts = [f"IF age < {at} THEN disease = {ill}", f"IF age >= {at} THEN disease = {gout}"] * 2
    clients = [program(app, "researcher") for _ in texts]
    with ThreadPoolExecutor(len(texts)) as pool:
        found = list(pool.map(lambda one: one[0].post(ask, json={"text": one[1]}), zip(clients, texts, strict=True)))
    assert {one.status_code for one in found} <= {201, 409}
    told = {text for one, text in zip(found, texts, strict=True) if one.json().get("answer")}
    assert len(told) == 1
    figures = program(app, "auditor").get(f"/api/v1/releases/{release}/leaks").json()[-1]["columns"]
    assert max(one["share"] for one in figures) <= 0.6
    with app.state.store.reading() as db:
        strongroom(db, app.state.keys.keyring).check()
    assert "The chain of its lines holds" in sign_in(app, "auditor").get("/log").text


def test_releases_that_are_coded_alike_have_one_budget(app: FastAPI, release: str, made: tuple) -> None:
    at, ill, gout = cut(made)
    again, boss, client = add_release(app, made), sign_in(app, "custodian"), program(app, "researcher")
    for one in (release, again):
        limits = {**LIMITS, "budget": "0.5"}
        assert boss.set_limits(one, **limits).status_code == 303
    first, second = (f"/api/v1/releases/{one}/questions" for one in (release, again))
    assert client.post(first, json={"text": f"IF age < {at} THEN disease = {ill}"}).json()["state"] == "answered"
    other = client.post(second, json={"text": f"IF age >= {at} THEN disease = {gout}"}).json()
    assert "than one researcher may know" in other["refused"][0]["why"]
    told = program(app, "auditor").get(f"/api/v1/releases/{again}/leaks").json()
    assert told == program(app, "auditor").get(f"/api/v1/releases/{release}/leaks").json()


def test_export_is_explicit_the_custodian_s_and_logged(app: FastAPI, release: str, made: tuple) -> None:
    boss = sign_in(app, "custodian")
    page = boss.get("/vault").text
    assert "secrets are as they were left" in page
    assert MARKED not in page
    assert boss.submit(f"/releases/{release}/export").status_code == 422
    found = boss.submit(f"/releases/{release}/export", sure="true")
    assert found.json() == made[1]
    assert log_of(app)[-1].event == "export"
    for name in ("researcher", "auditor", "admin"):
        assert sign_in(app, name).submit(f"/releases/{release}/export", sure="true").status_code in (403, 404)
        assert sign_in(app, name).get("/vault").status_code == 403


def test_marked_values_stand_nowhere_in_plain(app: FastAPI, release: str, made: tuple) -> None:
    at, ill, _ = cut(made)
    client = program(app, "researcher")
    client.post(f"/api/v1/releases/{release}/questions", json={"text": f"IF age < {at} THEN disease = {ill}"})
    sign_in(app, "custodian").submit(f"/releases/{release}/export", sure="true")
    files = [path for path in app.state.settings.folder.rglob("*") if path.is_file()]
    assert any(path.name.startswith("shoal.db") for path in files) == app.state.store.sqlite
    for path in files:
        content = path.read_bytes()
        assert MARKED.encode() not in content, path.name
        assert b"Asthma" not in content, path.name


def test_an_older_copy_of_the_database_is_noticed(every_app: FastAPI, made: tuple) -> None:
    app = every_app
    release = add_release(app, made)
    at, ill, gout = cut(made)
    client, store, keyring = program(app, "researcher"), app.state.store, app.state.keys.keyring
    ask = f"/api/v1/releases/{release}/questions"
    assert sign_in(app, "custodian").set_limits(release, **LIMITS).status_code == 303
    assert client.post(ask, json={"text": f"IF age < {at} THEN disease = {ill}"}).status_code == 201
    with store.reading() as db:
        older = {one.id: one.sealed for one in db.scalars(select(Sealed))}
    assert client.post(ask, json={"text": f"IF age >= {at} THEN disease = {gout}"}).status_code == 201
    with store.reading() as db:
        newer = {one.id: one.sealed for one in db.scalars(select(Sealed))}
    known = next(name for name in newer if name.startswith("known/") and older.get(name, b"") != newer[name])
    assert known in older
    with store.writing() as db:  # the budget of before
        db.execute(update(Sealed).where(Sealed.id == known).values(sealed=older[known]))
    with store.reading() as db, pytest.raises(VerificationError, match="put back"):
        strongroom(db, keyring).check()
    answer = client.post(ask, json={"text": f"IF age < {at} THEN disease = {ill}"})
    assert answer.status_code == 409
    assert "put back" in answer.json()["error"]["message"]
    with store.writing() as db:  # everything of before
        for name, sealed in older.items():
            db.execute(update(Sealed).where(Sealed.id == name).values(sealed=sealed))
    with pytest.raises(VerificationError, match="is an older copy"):
        open_keyring(app.state.settings, store)
    assert client.post(ask, json={"text": "x"}).status_code == 409


def test_a_fresh_master_key_and_a_restored_backup(
    every_app: FastAPI, made: tuple, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    app, release, (at, ill, _) = every_app, add_release(every_app, made), cut(made)
    ask, folder = f"/api/v1/releases/{release}/questions", app.state.settings.folder
    there = [str(folder), "--database", app.state.settings.database]
    (tmp_path / "shoal-data").symlink_to(folder)
    client = program(app, "researcher")
    key = client.post(ask, json={"text": f"IF age < {at} THEN disease = {ill}"}).json()["id"]
    old = (folder / "master.key").read_bytes()
    other = tmp_path / "new.key"
    other.write_bytes(bytes(range(32)))
    other.chmod(0o600)
    assert execute(["vault", "rotate", *there, "--new-key", str(other)]) == 0
    assert "sealed pieces are under a fresh master key" in capsys.readouterr().out
    assert execute(["vault", "rotate", *there]) == 2  # by the old key file
    (folder / "master.key").write_bytes(other.read_bytes())
    again = create_app(app.state.settings)
    assert again.state.keys.keyring.generation == 2
    fresh = program(again, "researcher")
    assert MARKED in fresh.get(f"/api/v1/questions/{key}").json()["answer"]
    # A backup of the database alone, put back: noticed, and accepted only on purpose.
    take_backup(app.state.settings, tmp_path)
    for path in (*tmp_path.glob("backup.*"), *folder.glob("shoal.db*")):
        assert not [one for one in (old, old.hex().encode()) if one in path.read_bytes()], path.name
    assert sign_in(again, "custodian").set_limits(release, **LIMITS).status_code == 303
    again.state.store.close()
    app.state.store.close()
    put_back_database(app.state.settings, tmp_path)
    restored = create_app(app.state.settings)
    noticed = program(restored, "researcher").get(f"/api/v1/questions/{key}")
    assert noticed.status_code == 409
    assert "an older copy" in noticed.json()["error"]["message"]
    assert execute(["vault", "accept", *there]) == 0
    assert MARKED in program(restored, "researcher").get(f"/api/v1/questions/{key}").json()["answer"]
    assert [one.event for one in log_of(restored)][-1] == "restored backup accepted"
    restored.state.store.close()
    assert execute(["vault", "accept", str(tmp_path)]) == 2


def test_a_transaction_that_fails_moves_no_anchor(app: FastAPI) -> None:
    keyring, store = app.state.keys.keyring, app.state.store
    with store.writing() as db:
        put(db, keyring, "test", "one", b"1")
    before = keyring.anchor.read_bytes()
    with store._write() as db:
        put(db, keyring, "test", "two", b"2")
        db.rollback()
        db.commit()
    assert keyring.anchor.read_bytes() == before
    with store.reading() as db:
        assert strongroom(db, keyring).names() == ["test/one"]


def test_the_log_is_exported_and_checked_and_tampering_is_told(
    app: FastAPI, release: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    sign_in(app, "researcher")
    auditor = sign_in(app, "auditor")
    assert "The chain of its lines holds" in auditor.get("/log").text
    place = tmp_path / "server.log"
    place.write_bytes(auditor.get("/log/file").content)
    head = log_of(app)[-1].hash
    assert execute(["log", "verify", str(place), "--head", head]) == 0
    assert execute(["log", "show", str(place)]) == 0
    place.write_bytes(b"".join(place.read_bytes().splitlines(keepends=True)[:-1]))
    assert execute(["log", "verify", str(place), "--head", head]) == 4
    assert "lines at its end were dropped" in capsys.readouterr().err
    with app.state.store.writing() as db:
        db.execute(update(LogEntry).where(LogEntry.number == 2).values(who="nobody"))
    assert "Line 2 of the log" in auditor.get("/log").text
    place.write_bytes(program(app, "auditor").get("/api/v1/log").content)
    assert execute(["log", "verify", str(place)]) == 4
    assert sign_in(app, "custodian").get("/log").status_code == 403


def test_a_sealed_question_that_was_changed_is_not_shown(app: FastAPI, release: str, made: tuple) -> None:
    at, ill, _ = cut(made)
    client = program(app, "researcher")
    ask = f"/api/v1/releases/{release}/questions"
    one, two = (client.post(ask, json={"text": f"IF age < {at} THEN disease = {ill}{more}"}).json()["id"]
                for more in ("", " (rows 3)"))  # fmt: skip
    with app.state.store.writing() as db:
        db.execute(update(Question).where(Question.id == two).values(answer=db.get_one(Question, one).answer))
    assert client.get(f"/api/v1/questions/{two}").status_code == 409


def log_of(app: FastAPI) -> list[LogEntry]:
    with app.state.store.reading() as db:
        return list(db.scalars(select(LogEntry).order_by(LogEntry.number)))


def test_without_its_evidence_a_release_has_a_public_dossier_alone(app: FastAPI, release: str) -> None:
    client = program(app, "custodian")
    private = client.post(f"{API}/releases/{release}/dossiers", json={"audience": "internal"})
    assert (private.status_code, "is not kept here" in private.text) == (409, True)
    assert client.post(f"{API}/releases/{release}/dossiers", json={"audience": "external"}).status_code == 201
    assert MARKED not in client.get(f"{API}/releases/{release}/dossiers/external").text
