"""Somebody with a researcher's account and a program: whatever they hand in, the server tells no more and stays up."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import polars as pl
import pytest
from fastapi import FastAPI

from shoal.cli.server import _show
from shoal.errors import VerificationError
from tests.web.conftest import program, sign_in
from tests.web.test_trust import LIMITS, MARKED, add_release, cut, log_of, made  # noqa: F401

Made = tuple[Path, list[dict], pl.DataFrame]
ILL = "ILLNESS"
JSON = {"content-type": "application/json"}
HOSTILE: dict[str, Any] = {
    "a confidence of any size": f"IF sex = F AND disease = {ILL} THEN sex = F (confidence = 1e400)",
    "an error of any size": f"IF disease = {ILL} THEN sex = M (error = 1e400 %)",
    "figures of any size": f"lhs rhs support confidence lift\n{{disease={ILL}}} => {{sex=M}} 1e400 1e400 1e400",
    "weights of any size": f"|--- disease_{ILL} > 0.5\n|   |--- weights: [1e400, 0.0] class: F",
    "an exponent of thousands of digits": f"disease,count\n{ILL},1e{'9' * 5000}\n",
    "a number of thousands of digits": f"disease,count\n{ILL},{'9' * 5000}\n",
    "no number": f'[{{"if": [["disease", "=", "{ILL}"]], "then": ["sex = F"], "confidence": NaN}}]',
    "half a character": f'[{{"if": [["sex", "=", "\\ud800{ILL}"]], "then": ["disease = \\udfff"], "\\ud801": 1}}]',
    "half a character as a target": {"text": f"|--- age <= 1.5\n|   |--- class: {ILL}", "target": "\ud800"},
    "a centre with a column twice": '[{"centre": {"age": 1.5, "AGE": 2}}, {"centre": {"age": 1, "AGE": 2}}]',
    "centres that are none": '[{"centre": {"age": [1], "sex": null}}, {"centre": {"age": {}, "sex": 1e999}}]',
    "deep lists": "[" * 90_000,
    "a list in a list": f'[{{"if": [["disease", ["="], [["{ILL}"]]]], "then": [[]], "n": [[]]}}]',
    "names alike": f"IF diseаse = {ILL} THEN ſex = F (confidence 0.5)",
    "a code in a value": f"IF sex = F{ILL} THEN disease = {ILL}x",
    "nothing but blanks": " " * 190_000 + ".",
    "long aliases": {"text": f"IF x < 1 THEN disease = {ILL}", "aliases": {"x" * 100_000: "age"}},
    "an alias of a code": {"text": f"IF {ILL} < 1 THEN sex = F", "aliases": {ILL: "age"}},
}  # fmt: skip


@pytest.fixture(scope="module")
def site(tmp_path_factory: pytest.TempPathFactory, made: Made) -> tuple[FastAPI, str]:  # noqa: F811
    from shoal.web.app import create_app
    from shoal.web.settings import Settings
    from tests.web.conftest import add_people

    app = create_app(Settings(folder=tmp_path_factory.mktemp("site") / "data"))
    add_people(app)
    release = add_release(app, made)
    many = {**LIMITS, "questions": "1000", "hourly": "1000"}
    assert sign_in(app, "custodian").set_limits(release, **many).status_code == 303
    return app, release


@pytest.mark.parametrize("what", HOSTILE)
def test_nothing_is_told_and_nothing_breaks(site: tuple[FastAPI, str], made: Made, what: str) -> None:  # noqa: F811
    app, release = site
    _, ill, _ = cut(made)
    given = HOSTILE[what] if isinstance(HOSTILE[what], dict) else {"text": HOSTILE[what]}
    body = json.dumps(given).replace(ILL, ill)  # in which half a character is an escape, as JSON allows
    client, browser = program(app, "researcher"), sign_in(app, "researcher")
    answer = client.post(f"/api/v1/releases/{release}/questions", content=body, headers=JSON)
    assert answer.status_code in (201, 422), answer.text
    assert MARKED not in answer.text
    if answer.status_code == 201:
        assert answer.json()["state"] == "refused", answer.json()
        assert browser.get(f"/questions/{answer.json()['id']}").status_code == 200
    sent = browser.submit(f"/releases/{release}/ask", text=json.loads(body)["text"])
    assert sent.status_code in (303, 422)


def test_codes_that_ride_along_are_not_told(site: tuple[FastAPI, str], made: Made) -> None:  # noqa: F811
    """Lists and negations that change nothing name every code of a mapping beside the one that matters."""
    app, release = site
    at, ill, _ = cut(made)
    codes = made[2]["disease"].unique().sort().to_list()
    others = [one for one in codes if one != ill]
    client = program(app, "researcher")
    for riding in (f"disease in {{{', '.join(codes)}}}", " AND ".join(f"disease != {one}" for one in others)):
        text = f"IF disease = {ill} AND {riding} THEN age < {at}"
        found = client.post(f"/api/v1/releases/{release}/questions", json={"text": text}).json()
        assert found["state"] == "answered", found
        assert found["answer"].startswith(f"IF disease = {MARKED} THEN age <")
    told = program(app, "auditor").get(f"/api/v1/releases/{release}/leaks").json()[-1]["columns"]
    assert next(one["told"] for one in told if one["column"] == "disease") == 1


def test_what_is_refused_or_left_is_listed_up_to_some_hundred_and_counted(
    site: tuple[FastAPI, str], made: Made, capsys: pytest.CaptureFixture[str]  # noqa: F811
) -> None:
    (app, release), (at, ill, _) = site, cut(made)
    boss, client = sign_in(app, "custodian"), program(app, "researcher")
    by_hand = {name: limit for name, limit in LIMITS.items() if name != "automatic"}
    assert boss.set_limits(release, **by_hand, questions="1000", hourly="1000").is_redirect
    odd = [f"disease_{number} stands for nothing" for number in range(310)]
    wrong = [f"IF sex = F THEN disease = {ill} (confidence 0.9{number:03})" for number in range(305)]
    text = "\n".join([f"IF age < {at} THEN disease = {ill}", *wrong, *odd])
    found = client.post(f"/api/v1/releases/{release}/questions", json={"text": text}).json()
    assert (found["state"], len(found["refused"]), len(found["left"])) == ("waiting", 300, 300)
    assert found["more"] == {"refused": 5, "left": 10}
    page = boss.get(f"/questions/{found['id']}").text
    assert "5 more were refused" in page
    assert "10 more were not turned back" in page
    assert boss.submit(f"/questions/{found['id']}/decision", decision="refuse").is_redirect
    last = log_of(app)[-1].facts
    assert (last["accepted"], last["refused"], last["unread"]) == (1, 305, 310)
    with pytest.raises(VerificationError, match="^305 statements"):
        _show({**found, "state": "answered"}, as_json=False)
    told = capsys.readouterr().err
    assert "refused: 5 more" in told
    assert "not turned back: 10 more" in told
