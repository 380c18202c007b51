"""A release that was changed after it passed the gate does not verify, even with its hash made to fit."""

from __future__ import annotations

import csv
import hashlib
import json
from collections import Counter
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from shoal.reports.release import release_html
from shoal.verify.manifest import read_claims
from shoal.verify.wording import needed_codes, not_protected, statement

QUASI = ("age", "sex", "education")
DROPPED = (
    "person", "birth_date", "postcode", "region", "marital_status", "occupation", "industry", "income", "admitted",
    "visits",
)  # fmt: skip
Rows = list[dict[str, str]]


def class_of(row: dict[str, str]) -> tuple[str, ...]:
    return tuple(row[name] for name in QUASI)


def lose_a_row(rows: Rows) -> Rows:
    """One class, the smallest, lost a row."""
    sizes = Counter(map(class_of, rows))
    smallest = min(sizes, key=lambda key: sizes[key])
    at = next(index for index, row in enumerate(rows) if class_of(row) == smallest)
    return rows[:at] + rows[at + 1 :]


def narrow_a_cell(rows: Rows) -> Rows:
    """One interval lost its lowest value."""
    at = next(index for index, row in enumerate(rows) if row["age"].startswith("["))
    low, high = rows[at]["age"].strip("[]").split(",")
    rows[at]["age"] = f"[{int(low) + 1},{high}]"
    return rows


def move_a_value(rows: Rows) -> Rows:
    """Two people of different classes had their diagnoses exchanged."""
    other = next(row for row in rows if class_of(row) != class_of(rows[0]) and row["diagnosis"] != rows[0]["diagnosis"])
    rows[0]["diagnosis"], other["diagnosis"] = other["diagnosis"], rows[0]["diagnosis"]
    return rows


def add_an_identifier(rows: Rows) -> Rows:
    """The names came back."""
    return [row | {"name": f"Person {index}"} for index, row in enumerate(rows)]


def tamper(folder: Path, change: Callable[[Rows], Rows]) -> Rows:
    """Change the data of a release and make hash and number of rows in the manifest fit."""
    data, described = folder / "release.csv", folder / "manifest.json"
    with data.open(newline="", encoding="utf-8") as file:
        rows = list(csv.DictReader(file))
    rows = change(rows)
    with data.open("w", newline="", encoding="utf-8") as file:
        writer = csv.DictWriter(file, list(rows[0]), lineterminator="\n")
        writer.writeheader()
        writer.writerows(rows)
    manifest = json.loads(described.read_text("utf-8"))
    manifest["data"] |= {"sha256": hashlib.sha256(data.read_bytes()).hexdigest(), "rows": len(rows)}
    described.write_text(json.dumps(manifest), "utf-8")
    return rows


@pytest.fixture
def release(shoal, census: Path, tmp_path: Path) -> Path:
    """A 5-anonymous release of the census in which rows are counted, not people."""
    roles = ["--identifier", "name", "--sensitive", "diagnosis"]
    roles += [part for name in QUASI for part in ("--quasi", name)]
    roles += [part for name in DROPPED for part in ("--drop", name)]
    models = ["--model", "k=5", "--model", "entropy-l=2 on diagnosis"]
    reading = ["--missing", "value", "--seed", "3", "--set", "suppression_limit=0.2", "--acknowledge", "W-ROWS"]
    source = census / "out.source" / "census.csv"
    made = shoal("anonymize", source, "-o", tmp_path / "out", *roles, *models, *reading, "--json")
    assert made.code == 0, made.out
    assert made.json["smallest"] == 5
    return tmp_path / "out"


def test_nothing_is_found_when_nothing_was_changed(shoal, release: Path) -> None:
    tamper(release, lambda rows: rows)
    assert shoal("verify", release).code == 0


def test_a_changed_byte(shoal, release: Path) -> None:
    data = release / "release.csv"
    content = bytearray(data.read_bytes())
    content[-2] ^= 1
    data.write_bytes(content)
    result = shoal("verify", release)
    assert (result.code, result.out, result.err.count("\n")) == (4, "", 1)
    assert "hash" in result.err
    assert shoal("verify", release, "--json").json["error"]["exit_code"] == 4


@pytest.mark.parametrize(
    "change, model, size",
    [
        (lose_a_row, "k = 5 fails", "the smallest 4 rows"),
        (narrow_a_cell, "k = 5 fails", "the smallest 1 row"),
        (move_a_value, "entropy-l on diagnosis", "smallest class 5 rows"),
        (add_an_identifier, "k = 5", "the smallest 5 rows"),
    ],
    ids=["lost row", "narrowed cell", "moved value", "added identifier"],
)
def test_tampering_is_found(shoal, release: Path, change: Callable[[Rows], Rows], model: str, size: str) -> None:
    rows = tamper(release, change)
    result = shoal("verify", release)
    assert result.code == 4
    assert (result.err.startswith("error: "), result.err.count("\n")) == (True, 1)
    assert model in result.out
    assert size in result.out
    data = shoal("verify", release, "--json")
    assert (data.code, data.err, data.json["passed"], data.json["error"]["exit_code"]) == (4, "", False, 4)
    said = result.out + result.err + data.out
    assert not [value for value in {row["diagnosis"] for row in rows} if value in said]
    assert "Person " not in said


@pytest.mark.parametrize("change", [lose_a_row, move_a_value], ids=["lost row", "moved value"])
def test_tampering_with_people_is_found(shoal, census: Path, tmp_path: Path, change: Callable[[Rows], Rows]) -> None:
    (tmp_path / "out").mkdir()
    for path in (census / "out").iterdir():
        (tmp_path / "out" / path.name).write_bytes(path.read_bytes())
    tamper(tmp_path / "out", change)
    result = shoal("verify", tmp_path / "out")
    assert result.code == 4
    assert "k = 5" in result.out


def test_a_manifest_that_promises_less_or_more(shoal, release: Path) -> None:
    described = release / "manifest.json"
    manifest = json.loads(described.read_text("utf-8"))
    described.write_text(json.dumps(manifest | {"models": manifest["models"][:1]}), "utf-8")
    assert shoal("verify", release).code == 4
    manifest["models"][0]["k"] = 6
    described.write_text(json.dumps(manifest), "utf-8")
    assert shoal("verify", release).code == 4


def rewrite(folder: Path, change: Callable[[dict[str, Any]], Any]) -> None:
    """Change the manifest of a release."""
    described = folder / "manifest.json"
    manifest = json.loads(described.read_text("utf-8"))
    change(manifest)
    described.write_text(json.dumps(manifest), "utf-8")


def claim_of_people(*models: dict[str, Any]) -> Callable[[dict[str, Any]], Any]:
    """People are said to be counted, so that verdicts are only attested, and other models to hold."""

    def change(manifest: dict[str, Any]) -> None:
        limits = {"p-sensitive": "p", "entropy-l": "l", "alpha-k-general": "alpha", "t-closeness": "t", "k": "k"}
        sides = [(model, on) for model in models for on in ([None] if model["name"] == "k" else ["diagnosis"])]
        sides = [one for one in sides for _ in range(2 if one[0]["name"] == "t-closeness" else 1)]
        attested = {"holds": True, "by": "attested", "value": None}
        verdicts = [attested | {"model": model, "on": on, "limit": model[limits[model["name"]]]} for model, on in sides]
        manifest |= {"people": True, "models": list(models), "verdicts": verdicts}
        claims = read_claims(manifest)
        codes = sorted({*manifest["acknowledged"], *needed_codes(claims)})
        words = {"statement": statement(claims), "not_protected": not_protected(claims, codes), "acknowledged": codes}
        manifest |= words

    return change


K5 = {"name": "k", "k": 5}
CLAIMS = [
    [{"name": "p-sensitive", "p": 50, "k": 5}],
    [K5, {"name": "entropy-l", "l": 1000}],
    [{"name": "alpha-k-general", "alpha": 0.01, "k": 5}],
    [K5, {"name": "t-closeness", "t": 0, "distance": "equal"}],
    [{"name": "k", "k": 100_000}],
]


@pytest.mark.parametrize("models", CLAIMS, ids=[models[-1]["name"] for models in CLAIMS])
def test_claims_of_people_that_the_file_refutes(shoal, release: Path, models: list[dict[str, Any]]) -> None:
    rewrite(release, claim_of_people(*models))
    result = shoal("verify", release)
    assert (result.code, result.err.count("\n")) == (4, 1)
    assert f"{models[-1]['name']} = " in result.err
    assert " fails" in result.err


def test_people_alone_are_nothing_that_the_file_could_refute(shoal, release: Path) -> None:
    """What cannot be refuted is said to rest on the publisher's word."""

    def change(manifest: dict[str, Any]) -> None:
        claim_of_people(K5, {"name": "entropy-l", "l": 2})(manifest)
        (release / "report.html").write_text(release_html(manifest), "utf-8")
        manifest["report"]["sha256"] = hashlib.sha256((release / "report.html").read_bytes()).hexdigest()

    rewrite(release, change)
    result = shoal("verify", release)
    assert result.code == 0
    assert "2 of 2 verdicts rest on the publisher's evidence" in result.out


@pytest.mark.parametrize(
    "change, told",
    [
        (lambda m: m.update(statement="50-anonymous"), "The statement is not what the models say."),
        (lambda m: m.update(models=[], verdicts=[]), "The statement is not what the models say."),
        (lambda m: m.update(not_protected=[]), "What is not protected is not what such a release has to say."),
        (lambda m: m.update(order="kept"), "W-ORDER"),
        (lambda m: m["data"].update(certified=True), "'certified'"),
        (lambda m: m.update(acknowledged=["approved"]), "no warning code"),
        (lambda m: m.update(counterfeits=-3), "counterfeits"),
    ],
)
def test_words_that_do_not_follow(shoal, release: Path, change: Callable[[dict[str, Any]], Any], told: str) -> None:
    rewrite(release, change)
    result = shoal("verify", release)
    assert (result.code, result.err.count("\n")) == (4, 1)
    assert told in result.err + result.out


def test_a_replaced_report_and_a_file_too_many(shoal, release: Path) -> None:
    report = (release / "report.html").read_bytes()
    (release / "report.html").write_bytes(report.replace(b"5-anonymous", b"50-anonymous"))
    result = shoal("verify", release)
    assert (result.code, result.out) == (4, "")
    assert "'report.html' is not the file" in result.err
    (release / "report.html").write_bytes(report)
    (release / "names.csv").write_text("name\n")
    assert "also holds 'names.csv'" in shoal("verify", release).err


def test_a_key_twice(shoal, release: Path) -> None:
    described = release / "manifest.json"
    described.write_text(described.read_text("utf-8").replace('"k": 5', '"k": 50, "k": 5', 1), "utf-8")
    result = shoal("verify", release)
    assert (result.code, result.err) == (4, "error: The manifest has the key 'k' twice in one object.\n")
