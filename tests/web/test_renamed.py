"""A grading that another column goes by as well, of another release or the same one, shares what was told of it."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import polars as pl
import pytest
from fastapi import FastAPI

import shoal
from shoal.recoding.secrets import restore
from tests.web.conftest import program, sign_in
from tests.web.test_trust import LIMITS, add_release

Made = tuple[Path, list[dict], pl.DataFrame]
_ROWS = 1200


def released(place: Path, frame: pl.DataFrame) -> Made:
    coded = [name for name in frame.columns if name not in ("sex", "work")]
    table = shoal.read(frame, quasi=["sex", "work"], sensitive=coded, name="people")
    made = shoal.anonymize(table, algorithm="table-transform", seed=1, acknowledge=["W-PP-REV"])
    return made.write(place), [one.reveal() for one in made.secrets], made.frame


@pytest.fixture(scope="module")
def people() -> pl.DataFrame:
    """The young work in private, and of the old most are women."""
    draw = np.random.default_rng(3)
    age = np.concatenate([[15, 90], draw.integers(15, 91, _ROWS - 2)])
    later = np.concatenate([[90, 15], np.clip(age[2:] + draw.integers(-3, 4, _ROWS - 2), 15, 90)])
    return pl.DataFrame({
        "sex": np.where(draw.random(_ROWS) < np.where(age < 70, 0.4, 0.9), "F", "M"),
        "work": np.where(draw.random(_ROWS) < np.where(age < 40, 0.9, 0.2), "private", "state"),
        "age": age, "later": later,
    })  # fmt: skip


@pytest.fixture(scope="module")
def twice(people: pl.DataFrame, tmp_path_factory: pytest.TempPathFactory) -> list[Made]:
    """The same people, whose age is called otherwise in the second release."""
    place = tmp_path_factory.mktemp("renamed")
    one = people.select("sex", "work", "age")
    return [released(place / "one", one), released(place / "two", one.rename({"age": "years"}))]


@pytest.fixture(scope="module")
def both(people: pl.DataFrame, tmp_path_factory: pytest.TempPathFactory) -> Made:
    """Two columns by one grading."""
    return released(tmp_path_factory.mktemp("both") / "out", people)


def code(made: Made, column: str, age: int) -> str:
    """The code of an age."""
    secret = next(restore(one) for one in made[1] if one["column"] == column)
    return repr(secret.encode(pl.Series([age]))[0])


def limited(app: FastAPI, release: str) -> None:
    sent = {**LIMITS, "budget": "0.5", "together": "0.5"}
    assert sign_in(app, "custodian").set_limits(release, **sent).status_code == 303


def share(app: FastAPI, release: str, column: str) -> float:
    figures = program(app, "auditor").get(f"/api/v1/releases/{release}/leaks").json()[-1]["columns"]
    return next(one["share"] for one in figures if one["column"] == column)


def test_a_column_of_another_name_shares_the_budget(every_app: FastAPI, twice: list[Made]) -> None:
    one, two = (add_release(every_app, made) for made in twice)
    for release in (one, two):
        limited(every_app, release)
    client = program(every_app, "researcher")
    young = f"IF age < {code(twice[0], 'age', 40)} THEN work = private"
    old = f"IF years >= {code(twice[1], 'years', 70)} THEN sex = F"
    found = client.post(f"/api/v1/releases/{one}/questions", json={"text": young}).json()
    assert found["state"] == "answered", found
    assert share(every_app, one, "age") == share(every_app, two, "years") > 0.2
    found = client.post(f"/api/v1/releases/{two}/questions", json={"text": old}).json()
    assert found["state"] == "refused"
    assert "than one researcher may know" in found["refused"][0]["why"]


def test_two_columns_of_one_release_share_it_within_a_question(every_app: FastAPI, both: Made) -> None:
    release = add_release(every_app, both)
    limited(every_app, release)
    lines = [
        f"IF age < {code(both, 'age', 40)} THEN work = private",
        f"IF later >= {code(both, 'later', 70)} THEN sex = F",
    ]
    address = f"/api/v1/releases/{release}/questions"
    found = program(every_app, "researcher").post(address, json={"text": "\n".join(lines)}).json()
    assert [one["line"] for one in found["statements"]] == [1], found
    assert "than one researcher may know" in found["refused"][0]["why"]
    assert max(share(every_app, release, name) for name in ("age", "later")) <= 0.5
