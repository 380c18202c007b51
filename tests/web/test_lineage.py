"""Mappings and gradings that were extended for later records share what was told of the codes they have in common."""

from __future__ import annotations

import copy
import json
import shutil
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl
import pytest
from fastapi import FastAPI

import shoal
from shoal.recoding.secrets import restore
from shoal.web.projects.project import folder_of
from shoal.web.questions import ledger, lineage
from shoal.web.questions.ledger import _in_common
from shoal.web.questions.lineage import read_table
from shoal.web.store.tables import Release
from tests.web.conftest import program, sign_in
from tests.web.test_trust import LIMITS, MARKED, add_release, cut, made  # noqa: F401

Made = tuple[Path, list[dict], pl.DataFrame]


def extended(secrets: list[dict]) -> list[dict]:
    """One more disease, and ages up to 120."""
    found = copy.deepcopy(secrets)
    for one in found:
        if one["kind"] == "mapping":
            one["mapping"]["Scurvy"] = "disease_9"
        else:
            one["bounds"].append(["100", "120"])
            one["names"].append(one["names"][-1] + 1)
    return found


def sister(secrets: list[dict]) -> list[dict]:
    """Another disease by the same new code, and ages up to 110."""
    found = copy.deepcopy(secrets)
    for one in found:
        if one["kind"] == "mapping":
            one["mapping"]["Mumps"] = "disease_9"
        else:
            one["bounds"].append(["100", "110"])
            one["names"].append(one["names"][-1] + 1)
    return found


def turned(secrets: list[dict]) -> list[dict]:
    """The same codes for other diseases, but for one, and other categories."""
    found = copy.deepcopy(secrets)
    for one in found:
        if one["kind"] == "mapping":
            (first, *rest), values = one["mapping"].values(), list(one["mapping"])
            one["mapping"] = dict(zip(values, [first, *rest[1:], rest[0]], strict=True))
        else:
            one["bounds"] = [[str(int(end) + 200) for end in pair] for pair in one["bounds"]]
    return found


def told(app: FastAPI, release: str) -> dict[str, int]:
    figures = program(app, "auditor").get(f"/api/v1/releases/{release}/leaks").json()[-1]["columns"]
    return {one["column"]: one["told"] for one in figures}


@pytest.mark.parametrize("order", [0, 1], ids=["the first is asked about", "the later one is"])
def test_an_extended_mapping_shares_its_budget(every_app: FastAPI, made: Made, order: int) -> None:  # noqa: F811
    app, boss = every_app, sign_in(every_app, "custodian")
    folder, secrets, frame = made
    both = [add_release(app, one) for one in (made, (folder, extended(secrets), frame))]
    other = add_release(app, (folder, turned(secrets), frame))
    for one in (*both, other):
        wanted = {**LIMITS, "budget": "0.6"}
        assert boss.set_limits(one, **wanted).status_code == 303
    first, second = both[order], both[1 - order]
    at, ill, gout = cut(made)
    client = program(app, "researcher")
    text = f"IF age < {at} THEN disease = {ill}"
    assert client.post(f"/api/v1/releases/{first}/questions", json={"text": text}).json()["state"] == "answered"
    assert told(app, first) == told(app, second) == {"age": 1, "disease": 1}
    assert told(app, other) == {"age": 0, "disease": 0}
    text = f"IF age >= {at} THEN disease = {gout}"
    refused = client.post(f"/api/v1/releases/{second}/questions", json={"text": text}).json()
    assert "than one researcher may know" in refused["refused"][0]["why"]


def coded_alike(made: Made, place: Path, ills: list[str]) -> Made:  # noqa: F811
    """A later release of other people by the same codes."""
    kept = [restore(one) for one in made[1]]
    draw = np.random.default_rng(2)
    frame = pl.DataFrame({"sex": draw.choice(["F", "M"], len(ills)), "age": draw.integers(15, 91, len(ills)),
                          "disease": ills})  # fmt: skip
    table = shoal.read(frame, quasi=["sex"], sensitive=["age", "disease"], name="people")
    release = shoal.anonymize(table, algorithm="table-transform", seed=2, codes=kept, acknowledge=["W-PP-REV"])
    return release.write(place / "out"), [one.reveal() for one in release.secrets], release.frame


def test_two_extensions_of_one_small_mapping_share_their_budget(app: FastAPI, made: Made) -> None:  # noqa: F811
    folder, secrets, frame = made
    add_release(app, made)
    first, second = (add_release(app, (folder, longer(secrets), frame)) for longer in (extended, sister))
    other = add_release(app, (folder, turned(secrets), frame))
    limit(app, first)
    at, ill, _ = cut(made)
    ask = f"/api/v1/releases/{first}/questions"
    text = f"IF age < {at} THEN disease = {ill}"
    assert program(app, "researcher").post(ask, json={"text": text}).json()["state"] == "answered"
    assert told(app, first) == told(app, second) == {"age": 1, "disease": 1}
    assert told(app, other) == {"age": 0, "disease": 0}


@pytest.mark.parametrize(
    ("mine", "other", "related"),
    [
        ("abcd", "abcd", True),
        ("abcdx", "abcd", True),  # all of the smaller one
        ("abcdx", "abcdy", True),  # no code stands for something else
        ("abcdX", "abcdY", False),  # one does, and it may all be a coincidence
        ("abcdefghX", "abcdefghY", True),  # that of so many may not
        ("abpqrs", "abtuvw", False),  # fewer than half
        ("klX", "klY", True),  # both have all of a third
    ],
)
def test_what_is_no_coincidence(mine: str, other: str, related: bool) -> None:
    def table(codes: str) -> dict[str, str]:
        return {code.replace("Y", "X"): code for code in codes}

    found = _in_common(table(mine), table(other), [table(mine), table(other), table("kl"), table("a")])
    assert found == (set(mine) & set(other) if related else set())


def test_tables_are_compared_with_those_alone_that_somebody_was_told_of(monkeypatch: pytest.MonkeyPatch) -> None:
    """Servers keep many tables, of which few have to do with each other: no pair of them looks at all the others."""
    rows = {f"pieces/{name}": json.dumps({"ill_1": f"a{name}", "ill_2": f"b{name}"}).encode() for name in range(20)}
    rows |= {f"known/{name}/ruth": b'["ill_1"]' for name in (3, 4)}
    compared: list[set[str]] = []

    def count(*given: Any) -> set[str]:
        compared.append(_in_common(*given))
        return compared[-1]

    monkeypatch.setattr(ledger, "kept", lambda *_: list(rows))
    monkeypatch.setattr(ledger, "get", lambda _, __, purpose, name: rows[f"{purpose}/{name}"])
    monkeypatch.setattr(ledger, "_pieces", {})
    monkeypatch.setattr(ledger, "_in_common", count)
    anything: Any = None
    known = ledger.Ledger({"ill": "3", "later": "5"}).read(anything, anything)
    assert known["ruth"].codes == {"ill": {"ill_1"}}
    assert compared == [{"ill_1", "ill_2"}, set(), set(), set()]
    assert _in_common({"a": "1"}, {"a": "2"}, (pytest.fail("looked at the others") for _ in range(20))) == set()


@pytest.fixture(scope="module")
def narrow(made: Made, tmp_path_factory: pytest.TempPathFactory) -> Made:  # noqa: F811
    """A later release by the same codes, whose people have two of the diseases alone."""
    return coded_alike(made, tmp_path_factory.mktemp("narrow"), [MARKED, "Asthma"] * 150)


def limit(app: FastAPI, release: str, **more: str) -> None:
    sent = sign_in(app, "custodian").set_limits(release, **{**LIMITS, **more})
    assert sent.status_code == 303, sent.text


def test_an_answer_fits_the_budget_of_every_release_with_the_same_codes(
    every_app: FastAPI, made: Made, narrow: Made  # noqa: F811
) -> None:
    app, client = every_app, program(every_app, "researcher")
    wide, small = add_release(app, made), add_release(app, narrow)
    limit(app, wide, budget="0.9", together="0.95")
    at, ill, gout = cut(made)

    def asked(text: str) -> dict:
        return client.post(f"/api/v1/releases/{wide}/questions", json={"text": text}).json()

    text = f"IF age < {at} THEN disease = {ill}"
    # One of two diseases is all that there is to know of the other release, whatever it is of this one.
    for more, who in (({"budget": "0.7"}, "one researcher"), ({"together": "0.7"}, "all researchers together")):
        limit(app, small, **more)
        why = asked(text)["refused"][0]["why"]
        assert why == f"would tell more of column 'disease' of another release than {who} may know"
    assert told(app, wide)["disease"] == told(app, small)["disease"] == 0
    # What the other release does not have tells nothing of it.
    assert asked(f"IF sex = F AND age >= {at} THEN disease = {gout}")["state"] == "answered"
    # An answer waits where the other release's custodian wants to be asked, who may say yes within the budgets.
    limit(app, small, waiting="0.7")
    waiting = asked(text)
    assert waiting["state"] == "waiting"
    decision = f"/questions/{waiting['id']}/decision"
    assert sign_in(app, "custodian").submit(decision, decision="answer").status_code == 303
    assert told(app, small)["disease"] == 1


def test_a_release_whose_files_are_gone_is_counted_all_the_same(app: FastAPI, made: Made, narrow: Made) -> None:  # noqa: F811
    wide, small = add_release(app, made), add_release(app, narrow)
    limit(app, wide, budget="0.9", together="0.95")
    limit(app, small)
    at, ill, gout = cut(made)
    ask, client = f"/api/v1/releases/{wide}/questions", program(app, "researcher")
    with app.state.store.reading() as db:
        one = db.get_one(Release, small)
    place = folder_of(one.project, app.state.settings) / one.folder
    place.rename(place.with_name("away"))
    text = {"text": f"IF age >= {at} THEN disease = {gout}"}
    told_so = client.post(ask, json=text)  # nobody has counted it yet
    words = "Another release has the same codes, and its files cannot be read"
    assert (told_so.status_code, told_so.json()["error"]["message"].partition(":")[0]) == (409, words)
    place.with_name("away").rename(place)
    assert client.post(ask, json=text).json()["state"] == "answered"
    shutil.rmtree(place)
    lineage._tallies.clear()
    limit(app, small, budget="0.7")
    refused = client.post(ask, json={"text": f"IF age < {at} THEN disease = {ill}"}).json()["refused"]
    assert refused[0]["why"].startswith("would tell more of column 'disease' of another release")


def test_a_release_that_is_too_large_is_not_taken_for_the_one_that_was_asked_about(
    app: FastAPI, made: Made, narrow: Made, monkeypatch: pytest.MonkeyPatch  # noqa: F811
) -> None:
    wide, (at, _, gout) = add_release(app, made), cut(made)
    boss = sign_in(app, "custodian")
    assert boss.set_limits(wide, **{one: limit for one, limit in LIMITS.items() if one != "automatic"}).is_redirect
    ask, text = f"/api/v1/releases/{wide}/questions", {"text": f"IF age >= {at} THEN disease = {gout}"}
    waiting = program(app, "researcher").post(ask, json=text).json()
    large, small = add_release(app, narrow), replace(app.state.settings, job_memory=1 << 12)
    monkeypatch.setattr(lineage, "read_table", lambda release, *given: read_table(release, given[0], small))
    told_so = program(app, "researcher").post(ask, json=text)
    assert told_so.status_code == 409
    assert told_so.json()["error"]["message"].startswith("Another release has the same codes, and its files cannot")
    told_so = boss.submit(f"/questions/{waiting['id']}/decision", decision="answer")
    assert (told_so.status_code, large in told_so.text, "job-memory" in told_so.text) == (409, True, True)


def test_a_code_of_few_people_in_another_release_is_not_told(app: FastAPI, made: Made, tmp_path: Path) -> None:  # noqa: F811
    few = add_release(app, coded_alike(made, tmp_path, ["Gout"] * 3 + ["Asthma", MARKED] * 50))
    wide, (at, _, gout) = add_release(app, made), cut(made)
    for one in (wide, few):
        limit(app, one)
    ask = f"/api/v1/releases/{wide}/questions"
    text = f"IF age >= {at} THEN disease = {gout}"
    found = program(app, "researcher").post(ask, json={"text": text}).json()
    assert "fewer than 10 rows of another release have" in found["refused"][0]["why"]
    limit(app, few, minimum="3")
    assert program(app, "researcher").post(ask, json={"text": text}).json()["state"] == "answered"
