"""Every kind of release from the command line: made, refused, verified, and found out when somebody changed it."""

from __future__ import annotations

import csv
import hashlib
import json
import shutil
from collections.abc import Callable
from pathlib import Path

import polars as pl
import pytest

from shoal.vault import seal

QUASI = ("age", "sex", "education")
DROPPED = (
    "person", "birth_date", "postcode", "region", "marital_status", "occupation", "industry", "income", "admitted",
    "visits",
)  # fmt: skip
CASES: dict[str, list[str]] = {
    "randomised": ["--algorithm", "random", "--acknowledge", "W-RA-LINK"],
    "pseudonymised": ["--algorithm", "mapping", "--acknowledge", "W-PP-REV", "--vault", "keys.vault"],
    "bucketised": ["--algorithm", "anatomy", "--set", "l=3", "--acknowledge", "W-EXACT-QI"],
    "permuted": [
        "--algorithm", "anatomy", "--set", "l=3", "--set", "publication=permuted", "--acknowledge", "W-EXACT-QI",
    ],
    "microaggregated": [
        "--algorithm", "microaggregation", "--model", "k=3", "--acknowledge", "W-UNMODELLED:diagnosis",
    ],
}  # fmt: skip
Rows = list[dict[str, str]]


@pytest.fixture(autouse=True)
def surroundings(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setattr(seal, "MEMORY", 10)
    monkeypatch.setenv("SHOAL_PASSPHRASE", "correct horse")
    monkeypatch.chdir(tmp_path)


@pytest.fixture
def flags(census: Path, tmp_path: Path) -> list[str]:
    # One row a person: kinds of release are looked at here, and not what people with several rows need.
    rows = pl.read_csv(census / "out.source" / "census.csv", infer_schema=False)
    rows.unique("person", keep="first", maintain_order=True).write_csv(tmp_path / "people.csv")
    roles = [str(tmp_path / "people.csv"), "--identifier", "name", "--sensitive", "diagnosis"]
    roles += [part for name in QUASI for part in ("--quasi", name)]
    roles += [part for name in DROPPED for part in ("--drop", name)]
    return [*roles, "--missing", "drop", "--seed", "3"]


@pytest.fixture(scope="module")
def kept(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Where a release of every kind is kept once it is made."""
    return tmp_path_factory.mktemp("kept")


@pytest.fixture
def release(shoal, flags: list[str], kept: Path, tmp_path: Path, request: pytest.FixtureRequest) -> Path:
    if not (kept / request.param).exists():
        made = shoal("anonymize", *flags, "-o", "out", *CASES[request.param], "--json")
        assert made.code == 0, made.out
        assert made.json["kind"] in (request.param, "bucketised")
        shutil.copytree(tmp_path, kept / request.param)
    shutil.copytree(kept / request.param, tmp_path, dirs_exist_ok=True)
    return tmp_path / "out"


def exchange_values(rows: Rows) -> Rows:
    """Two people of different groups or classes had their diagnoses exchanged."""
    key = (lambda row: row["group"]) if "group" in rows[0] else (lambda row: tuple(row[name] for name in QUASI))
    other = next(row for row in rows if key(row) != key(rows[0]) and row["diagnosis"] != rows[0]["diagnosis"])
    rows[0]["diagnosis"], other["diagnosis"] = other["diagnosis"], rows[0]["diagnosis"]
    return rows


def exchange_groups(rows: Rows) -> Rows:
    """Two people had their groups exchanged."""
    other = next(row for row in rows if row["group"] != rows[0]["group"])
    rows[0]["group"], other["group"] = other["group"], rows[0]["group"]
    return rows


def lose_a_row(rows: Rows) -> Rows:
    return rows[1:]


def change_a_value(rows: Rows) -> Rows:
    """One quasi-identifier, or one centroid, is another."""
    rows[0]["age"] = f"{float(rows[0]['age']) + 1:g}"
    return rows


def add_an_identifier(rows: Rows) -> Rows:
    return [row | {"name": f"Person {index}"} for index, row in enumerate(rows)]


def break_a_type(rows: Rows) -> Rows:
    rows[0]["age"] = "old"
    return rows


def tamper(folder: Path, name: str, change: Callable[[Rows], Rows]) -> None:
    """Change a table of a release and make hash and number of rows in the manifest fit."""
    data, described = folder / f"{name}.csv", folder / "manifest.json"
    with data.open(newline="", encoding="utf-8") as file:
        rows = change(list(csv.DictReader(file)))
    with data.open("w", newline="", encoding="utf-8") as file:
        writer = csv.DictWriter(file, list(rows[0]), lineterminator="\n")
        writer.writeheader()
        writer.writerows(rows)
    manifest = json.loads(described.read_text("utf-8"))
    entry = manifest["data"] if name == "release" else manifest["data"][name]
    entry |= {"sha256": hashlib.sha256(data.read_bytes()).hexdigest(), "rows": len(rows)}
    described.write_text(json.dumps(manifest), "utf-8")


ANY = [lose_a_row, change_a_value, add_an_identifier, break_a_type]


@pytest.mark.parametrize(
    "release, table, change",
    [
        *((kind, "release", change) for kind in CASES for change in ANY),
        *((kind, "release", exchange_values) for kind in CASES if kind != "bucketised"),
        *(("bucketised", "sensitive", change) for change in (exchange_values, lose_a_row, add_an_identifier)),
        *((kind, "release", exchange_groups) for kind in ("bucketised", "permuted")),
        ("bucketised", "sensitive", exchange_groups),
    ],
    indirect=["release"],
)
def test_tampering_is_found(shoal, release: Path, table: str, change: Callable[[Rows], Rows]) -> None:
    tamper(release, table, lambda rows: rows)
    assert shoal("verify", release).code == 0
    tamper(release, table, change)
    result = shoal("verify", release)
    assert result.code == 4
    assert (result.err.startswith("error: "), result.err.count("\n")) == (True, 1)
    assert "Person " not in result.out + result.err


@pytest.mark.parametrize("release", ["bucketised"], indirect=True)
def test_a_changed_byte_in_the_second_table(shoal, release: Path) -> None:
    data = release / "sensitive.csv"
    data.write_bytes(data.read_bytes()[:-2] + b"x\n")
    result = shoal("verify", release)
    assert (result.code, result.out) == (4, "")
    assert "sensitive.csv" in result.err
    data.unlink()
    assert shoal("verify", release).code == 2


@pytest.mark.parametrize("kind", ["randomised", "pseudonymised", "bucketised"])
def test_refusals_give_figures_and_write_nothing(shoal, flags: list[str], kind: str, tmp_path: Path) -> None:
    arguments = [part for part in CASES[kind] if part != "--acknowledge" and not part.startswith("W-")]
    result = shoal("anonymize", *flags, "-o", "out", *arguments)
    assert (result.code, result.out, result.err.count("\n")) == (2, "", 1)
    assert "%" in result.err
    assert [path.name for path in tmp_path.iterdir()] == ["people.csv"]


def test_secrets_go_to_the_vault_and_nowhere_else(shoal, flags: list[str], tmp_path: Path) -> None:
    bare = [part for part in CASES["pseudonymised"] if part not in ("--vault", "keys.vault")]
    refused = shoal("anonymize", *flags, "-o", "out", *bare)
    assert (refused.code, refused.err.count("\n")) == (2, 1)
    assert "vault" in refused.err
    inside = shoal("anonymize", *flags, "-o", "out", *bare, "--vault", "out/keys.vault")
    assert (inside.code, "public" in inside.err) == (2, True)
    assert not (tmp_path / "out").exists()

    made = shoal("anonymize", *flags, "-o", "out", *CASES["pseudonymised"], "--save-recipe", "recipe.toml")
    assert made.code == 0, made.err
    assert "entry 'out'" in made.out
    assert "passphrase" not in Path("recipe.toml").read_text("utf-8")
    listed = shoal("vault", "list", "keys.vault", "--json").json["entries"]
    assert [secret["column"] for secret in listed["out"]] == ["diagnosis"]

    again = shoal("run", "recipe.toml", "--vault", "other.vault", "--replace")
    assert again.code == 0, again.err
    assert Path("other.vault").exists()
    forgetful = shoal("anonymize", *flags, "-o", "third", *bare, "--discard-secret")
    assert forgetful.code == 0, forgetful.err


def test_check_knows_what_a_run_will_ask_for(shoal, flags: list[str]) -> None:
    made = shoal("anonymize", *flags, "-o", "out", *CASES["pseudonymised"], "--save-recipe", "recipe.toml")
    assert made.code == 0, made.err
    text = Path("recipe.toml").read_text("utf-8")
    Path("recipe.toml").write_text(text.replace('"W-PP-REV"', "").replace("vault = ", "# vault = "), "utf-8")
    result = shoal("check", "recipe.toml", "--replace", "--json")
    assert result.code == 2
    assert [one["codes"] for one in result.json["refusals"]] == [["W-PP-REV"]]
    assert "vault" in result.json["error"]["message"]


def test_codes_are_mined_beside_the_values(shoal, flags: list[str]) -> None:
    made = shoal("anonymize", *flags, "-o", "out", *CASES["pseudonymised"], "--save-recipe", "recipe.toml")
    assert made.code == 0, made.err
    asked = ["--evaluate", "rules", "--evaluate", "classifiers", "--json"]
    against = ["--against", "people.csv", "--missing", "drop"]
    recipe = shoal("measure", "recipe.toml", *asked).json["evaluations"]
    alone = shoal("measure", "out", *against, *asked).json["evaluations"]
    vault = shoal("measure", "out", *against, "--vault", "keys.vault", *asked).json["evaluations"]
    assert [one["name"] for one in recipe[:2]] == ["rules recovered", "rules artificial"]
    assert [one["value"] for one in recipe[:2]] == [1.0, 0.0]
    assert recipe[:3] == vault[:3]
    assert (alone[0]["name"], alone[0]["value"]) == ("rules number", 1.0)
    assert "of its own rows held out" in alone[1]["sentence"]
    assert "coded as published" in vault[3]["sentence"]
    wrong = shoal("measure", "recipe.toml", *asked[:-1], "--vault", "keys.vault")
    assert (wrong.code, "leave out --vault" in wrong.err) == (2, True)


def test_codes_on_top_of_generalised_cells_and_again_for_later_records(shoal, flags: list[str], tmp_path: Path) -> None:
    kept = [
        "--model", "k=5", "--model", "distinct-l=2 on diagnosis", "--code", 'diagnosis={how="mapping", prefix="d"}',
        "--acknowledge", "W-PP-REV", "--vault", "keys.vault",
    ]  # fmt: skip
    first = shoal("anonymize", *flags, *kept, "-o", "first", "--save-recipe", "recipe.toml", "--json")
    assert (first.code, first.json["kind"]) == (0, "pseudonymised"), first.out
    assert shoal("verify", "first").code == 0
    assert shoal("run", "recipe.toml", "--replace").code == 0
    assert shoal("anonymize", *flags, *kept, "-o", "later", "--codes", "first").code == 0
    shoal("vault", "get", "keys.vault", "first", "-o", "codes.json")
    filed = shoal("anonymize", *flags, *kept, "-o", "filed", "--codes", "codes.json")
    assert filed.code == 0, filed.err
    secrets = [json.loads((tmp_path / "codes.json").read_text())]
    for name in ("later", "filed"):
        shoal("vault", "get", "keys.vault", name, "-o", f"{name}.json")
        secrets.append(json.loads((tmp_path / f"{name}.json").read_text()))
    assert secrets[0] == secrets[1] == secrets[2]
    mapping = dict(list(secrets[0][0]["mapping"].items())[2:])
    (tmp_path / "codes.json").write_text(json.dumps([secrets[0][0] | {"mapping": mapping}]))
    lost = shoal("anonymize", *flags, *kept, "-o", "lost", "--codes", "codes.json")
    assert lost.code == 2
    assert "The mapping given for column 'diagnosis' misses 2 of its values" in lost.err
    assert not any(value in lost.err for value in secrets[0][0]["mapping"])
