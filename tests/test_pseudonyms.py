"""Released tokens and shifted dates, with any algorithm: linked rows, moved dates, and what both still tell."""

from __future__ import annotations

import datetime as dt
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl
import pytest

import shoal
from shoal.algorithms.base import Algorithm
from shoal.errors import RecipeError, RefusalError, SchemaError
from tests.verify.whole import check_shifted

START = dt.date(2024, 1, 1)


def visits(people: int = 40, times: int = 3) -> pl.DataFrame:
    """Everybody came several times, at gaps that many share."""
    rows = [(person, visit) for person in range(people) for visit in range(times)]
    return pl.DataFrame(
        {
            "patient": [f"patient {person:03d}" for person, _ in rows],
            "age": [30 + person % 4 * 10 for person, _ in rows],
            "sex": ["f" if person % 2 else "m" for person, _ in rows],
            "ward": ["north" if person % 2 else "south" for person, _ in rows],
            "seen": [START + dt.timedelta(days=person * 3 + visit * (7 + person % 2)) for person, visit in rows],
            "disease": [("flu", "cold", "gout")[(person + visit) % 3] for person, visit in rows],
        }
    )


def anonymized(algorithm: Algorithm | None = None, frame: pl.DataFrame | None = None, **changes: Any) -> shoal.Release:
    roles: dict[str, Any] = {
        "subject": "patient", "pseudonym": ["patient"], "quasi": ["age", "sex"], "sensitive": ["disease"],
        "neutral": ["seen", "ward"], "settings": {"seen": {"shift": {"days": 30}}},
    }  # fmt: skip
    roles |= changes.pop("roles", {})
    codes = ["W-TRAJECTORY", "W-NEUTRAL", "W-UNMODELLED:disease", "W-RA-LINK", "W-EXACT-QI", "W-PP-REV"]
    wanted: dict[str, Any] = {"acknowledge": codes, "seed": 5} | changes
    table = shoal.read(visits() if frame is None else frame, **roles)
    return shoal.anonymize(table, algorithm=algorithm or shoal.Mondrian(k=3), **wanted)


@pytest.mark.parametrize(
    "algorithm",
    [
        shoal.Mondrian(k=3),
        shoal.RandomAnonymisation(),
        shoal.ValueMapping(),
        shoal.Anatomy(grouping={"name": "mondrian", "k": 3}),
        shoal.Anatomy(grouping={"name": "mondrian", "k": 3}, publication="permuted"),
    ],
    ids=["generalised", "randomised", "pseudonymised", "bucketised", "permuted"],
)
@pytest.mark.parametrize("format", ["csv", "parquet"])
def test_every_method_can_release_tokens(algorithm: Algorithm, format: str, tmp_path: Path) -> None:
    made = anonymized(algorithm)
    assert made.manifest["kind"] == "pseudonymised"
    made.write(tmp_path / "out", format=format)
    report = shoal.verify_release(tmp_path / "out")
    assert report.passed, [check for check in report.checks if not check.passed]
    tokens = made.aligned()["patient"]
    assert tokens.n_unique() == 40
    assert tokens.str.contains("^[0-9a-f]{32}$").all()
    pairs = pl.DataFrame({"who": visits()["patient"], "token": tokens}).unique()
    assert pairs.height == 40


def test_centroids_with_tokens() -> None:
    frame = visits(times=1)
    made = anonymized(shoal.Microaggregation(k=3), frame)
    assert (made.manifest["kind"], made.manifest["made"]) == ("pseudonymised", "microaggregated")


def test_models_still_hold_and_count_people() -> None:
    made = anonymized()
    assert made.manifest["statement"] == "pseudonymised; 3-anonymous"
    assert made.manifest["people"] is True
    assert made.manifest["made"] == "generalised"
    entry = next(entry for entry in made.manifest["columns"] if entry["name"] == "patient")
    assert (entry["role"], entry["coded"]) == ("pseudonym", "token")
    assert [secret.column for secret in made.secrets] == ["patient", "seen"]


def test_the_same_tokens_never_come_back() -> None:
    one, other = (anonymized(seed=None).frame["patient"] for _ in range(2))
    assert not set(one) & set(other)


def test_a_trajectory_is_measured_and_refused() -> None:
    with pytest.raises(RefusalError, match="%") as caught:
        anonymized(acknowledge=["W-NEUTRAL", "W-UNMODELLED:disease"])
    assert caught.value.codes == ("W-TRAJECTORY",)
    # All visits of a person fall into one class here, which others share.
    assert next(one for one in anonymized().evidence["attacks"] if one.name == "trajectories").value == 0.0
    telling = visits().with_columns(age=pl.col("age") + pl.int_range(pl.len()) % 11 * 5)
    found = anonymized(frame=telling).evidence["attacks"]
    assert next(one for one in found if one.name == "trajectories").value > 0.3


def test_dates_of_a_person_move_alike() -> None:
    made = anonymized()
    moved = made.aligned().with_columns(true=visits()["seen"], who=visits()["patient"])
    moves = moved.select("who", move=(pl.col("seen") - pl.col("true")).dt.total_days()).unique()
    assert moves.height == 40
    assert moves["move"].abs().max() <= 30
    assert moves["move"].n_unique() > 10
    entry = next(entry for entry in made.manifest["columns"] if entry["name"] == "seen")
    expected = {"role": "neutral", "type": "date", "cells": "value", "coded": "shifted", "days": 30}
    assert entry == {"name": "seen"} | expected


def test_shifts_alone_leave_the_kind_as_it_is_and_text_in_iso() -> None:
    text = visits().with_columns(pl.col("seen").dt.strftime("%d.%m.%Y"))
    settings = {"seen": {"shift": {"days": 30}, "format": "%d.%m.%Y"}}
    made = anonymized(frame=text, roles={"pseudonym": [], "settings": settings})
    assert made.manifest["kind"] == "generalised"
    assert made.frame["seen"].str.contains(r"^\d{4}-\d\d-\d\d$").all()


def test_gaps_that_single_people_out_are_refused() -> None:
    odd = visits().with_columns(seen=pl.col("seen") + pl.duration(days=(pl.int_range(pl.len()) ** 2) % 97))
    changes: dict[str, Any] = {"frame": odd, "roles": {"pseudonym": []}}
    with pytest.raises(RefusalError, match="gaps") as caught:
        anonymized(**changes, acknowledge=["W-NEUTRAL", "W-UNMODELLED:disease"])
    assert caught.value.codes == ("W-TRAJECTORY",)
    anonymized(**changes)


def test_models_on_shifted_dates_look_at_true_ones() -> None:
    roles = {"pseudonym": [], "sensitive": ["disease", "seen"], "neutral": ["ward"]}
    made = anonymized(roles=roles, models=[shoal.DistinctL(l=2, on="seen")])
    verdict = next(verdict for verdict in made.verdict if verdict.on == "seen")
    assert (verdict.holds, verdict.by) == (True, "attested")


@pytest.mark.parametrize(
    "roles, match",
    [
        ({"subject": None, "pseudonym": [], "drop": ["patient"]}, "subject"),
        ({"quasi": ["age", "sex", "seen"], "neutral": ["ward"]}, "quasi"),
        ({"pseudonym": ["age", "patient"]}, "two roles"),
    ],
)
def test_roles_that_cannot_be(roles: dict[str, Any], match: str) -> None:
    with pytest.raises(SchemaError, match=match):
        anonymized(roles=roles)


def test_a_run_with_tokens_needs_a_vault(tmp_path: Path) -> None:
    visits().write_csv(tmp_path / "visits.csv")
    recipe = tmp_path / "recipe.toml"
    recipe.write_text(
        'acknowledge = ["W-TRAJECTORY", "W-UNMODELLED:disease"]\n[source]\npath = "visits.csv"\n[roles]\n'
        'subject = "patient"\npseudonym = ["patient"]\nquasi = ["age", "sex"]\nsensitive = ["disease"]\n'
        'neutral = ["ward"]\ndrop = ["seen"]\n[[models]]\nname = "k"\nk = 3\n',
        "utf-8",
    )
    with pytest.raises(RecipeError, match="vault"):
        shoal.run(recipe)
    recipe.write_text(recipe.read_text("utf-8") + "[output]\ndiscard_secret = true\n", "utf-8")
    shoal.run(recipe)
    assert shoal.verify_release(tmp_path / "out").passed


PEOPLE = pl.Series([f"p{i // 2}" for i in range(60)])
TRUE = pl.Series([START + dt.timedelta(days=i) for i in range(60)])
MOVES = np.repeat(np.arange(30) % 9 - 4, 2)


def moved(moves: np.ndarray) -> pl.Series:
    return pl.Series([day + dt.timedelta(days=int(move)) for day, move in zip(TRUE.to_list(), moves, strict=True)])


@pytest.mark.parametrize(
    "published, expected",
    [
        (moved(MOVES), None),
        (moved(MOVES).cast(pl.String), None),
        (moved(np.concatenate([[0], MOVES[1:]])), "did not move alike"),
        (moved(MOVES * 8), "further than 30"),
        (moved(MOVES * 0), "no date moved"),
        (moved(MOVES).set(pl.Series([True] + [False] * 59), None), "missing"),
    ],
)
def test_the_verifier_of_shifts(published: pl.Series, expected: str | None) -> None:
    check = check_shifted([("seen", published, TRUE, np.arange(60), 30)], PEOPLE)
    assert check.passed == (expected is None)
    assert expected is None or expected in check.detail
