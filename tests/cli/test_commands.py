"""Every command on good input, for people and for machines."""

from __future__ import annotations

import json
import re
import tomllib
from pathlib import Path

import pytest

from shoal import registry
from tests.cli.conftest import recipe_text

RELEASE = {
    "folder", "evidence", "rows", "classes", "smallest", "statement", "not_protected", "acknowledged", "people",
    "counts", "suppression", "models", "verdicts", "split_verdicts", "vacuous", "overlaps", "checks", "measures",
    "algorithm", "auto", "seconds", "kind", "attacks", "vault", "registry", "formulas", "research", "search", "chosen",
    "sample", "items", "spellings",
}  # fmt: skip
SCORE = {"name", "value", "better", "low", "high", "suppression", "also", "reason"}


def test_demo_leaves_release_evidence_and_source(census: Path) -> None:
    assert {path.name for path in (census / "out").iterdir()} >= {"release.csv", "manifest.json"}
    assert (census / "out.evidence").stat().st_mode & 0o777 == 0o700
    assert {path.name for path in (census / "out.source").iterdir()} == {"census.csv", "recipe.toml"}
    assert not [path.name for path in census.iterdir() if path.name.startswith(".")]


def test_demo_says_what_happened_and_what_to_try(shoal, tmp_path: Path) -> None:
    result = shoal("demo", "--rows", 300, "--seed", 1, "-o", tmp_path / "out")
    assert result.code == 0
    assert result.err == ""
    for expected in ("300 rows", "5-anonymous", "classes, the smallest", "What is left", "suppressed", "shoal verify"):
        assert expected in result.out


def test_demo_refuses_to_replace_unless_asked(shoal, tmp_path: Path) -> None:
    folder = tmp_path / "out"
    assert shoal("demo", "--rows", 200, "-o", folder, "--json").json["source"] == f"{folder}.source"
    again = shoal("demo", "--rows", 200, "-o", folder)
    assert (again.code, again.out) == (2, "")
    assert shoal("demo", "--rows", 200, "-o", folder, "--replace").code == 0
    (tmp_path / "out.source" / "mine.txt").write_text("precious")
    assert shoal("demo", "--rows", 200, "-o", folder, "--replace").code == 2
    assert (tmp_path / "out.source" / "mine.txt").read_text() == "precious"


def test_demo_that_fails_leaves_nothing(shoal, tmp_path: Path) -> None:
    assert shoal("demo", "--rows", 3, "-o", tmp_path / "some" / "where" / "out").code == 3
    assert list(tmp_path.iterdir()) == []
    (tmp_path / "out.source").mkdir()
    (tmp_path / "out.source" / "census.csv").write_text("earlier")
    assert shoal("demo", "--rows", 3, "-o", tmp_path / "out", "--replace").code == 3
    assert (tmp_path / "out.source" / "census.csv").read_text() == "earlier"
    assert [path.name for path in tmp_path.iterdir()] == ["out.source"]


def test_run_repeats_the_demo_byte_for_byte(shoal, census: Path) -> None:
    before = (census / "out" / "release.csv").read_bytes()
    result = shoal("run", census / "out.source" / "recipe.toml", "--replace", "--json")
    assert result.code == 0
    assert set(result.json) == RELEASE
    assert result.json["rows"] == 400
    assert set(result.json["measures"]) == set(registry.names("measure"))
    assert all(set(score) == SCORE for score in result.json["measures"].values())
    assert all(verdict["holds"] for verdict in result.json["verdicts"])
    assert (census / "out" / "release.csv").read_bytes() == before


def test_dry_run_writes_nothing(shoal, census: Path, tmp_path: Path) -> None:
    for name in ("census.csv", "recipe.toml"):
        (tmp_path / "source").mkdir(exist_ok=True)
        (tmp_path / "source" / name).write_bytes((census / "out.source" / name).read_bytes())
    result = shoal("run", tmp_path / "source" / "recipe.toml", "--dry-run", "--json")
    assert result.code == 0
    assert result.json["folder"] is None
    assert [path.name for path in tmp_path.iterdir()] == ["source"]
    assert "Nothing was written." in shoal("run", tmp_path / "source" / "recipe.toml", "--dry-run").out


def test_anonymize_and_its_recipe_agree(shoal, patients: Path, flags: list[str], tmp_path: Path) -> None:
    (tmp_path / "kept").mkdir()
    recipe = tmp_path / "kept" / "recipe.toml"
    extra = ["--type", "zip=categorical", "--hierarchy", "zip={prefix=[3,2]}", "--set", "cut=best", "--seed", 7]
    result = shoal("anonymize", patients, "-o", tmp_path / "out", *flags, *extra, "--save-recipe", recipe, "--json")
    assert result.code == 0, result.err
    assert set(result.json) == RELEASE | {"recipe"}
    assert result.json["statement"] == "2-anonymous, distinct 2-diverse on disease"
    assert result.json["algorithm"]["cut"] == "best"
    written = tomllib.loads(recipe.read_text("utf-8"))
    assert written["hierarchies"] == {"zip": {"prefix": [3, 2]}}
    before = (tmp_path / "out" / "release.csv").read_bytes()
    assert shoal("run", recipe, "--replace").code == 0
    assert (tmp_path / "out" / "release.csv").read_bytes() == before


def test_saved_recipe_sees_relative_paths_from_its_own_folder(
    shoal, patients: Path, flags: list[str], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    (tmp_path / "sub").mkdir()
    assert shoal("anonymize", patients.name, "-o", "out", *flags, "--save-recipe", "sub/recipe.toml").code == 0
    written = tomllib.loads((tmp_path / "sub" / "recipe.toml").read_text("utf-8"))
    assert written["source"]["path"] == "../patients.csv"
    assert written["output"]["folder"] == "../out"
    for name in ("sub/recipe.toml", "nowhere/recipe.toml", "sub"):
        again = shoal("anonymize", patients.name, "-o", "out2", *flags, "--save-recipe", name)
        assert (again.code, again.err.count("\n"), (tmp_path / "out2").exists()) == (2, 1, False)
    assert [path.name for path in (tmp_path / "sub").iterdir()] == ["recipe.toml"]


def test_anonymize_reads_a_file_without_header(shoal, tmp_path: Path, flags: list[str]) -> None:
    rows = "Anna;21;f;1000;flu\nBoris;?;m;1000;cold\nClara;23;f;1001;asthma\nDavid;24;m;1001;flu\nElena;31;f;10;cold\n"
    (tmp_path / "raw.data").write_text(rows, "utf-8")
    reading = [
        "--columns",
        "name,age,sex,zip,disease",
        "--separator",
        ";",
        "--missing-marker",
        "?",
        "--missing",
        "drop",
    ]
    output = ["-o", tmp_path / "out", "--format", "parquet", "--json"]
    result = shoal("anonymize", tmp_path / "raw.data", *output, *flags, *reading)
    assert result.code == 0, result.err
    assert result.json["counts"]["dropped"] == 1
    assert (tmp_path / "out" / "release.parquet").is_file()


def test_verify_passes_what_demo_wrote(shoal, census: Path) -> None:
    result = shoal("verify", census / "out")
    assert (result.code, result.err) == (0, "")
    assert "FAILED" not in result.out
    data = shoal("verify", census / "out", "--json").json
    assert data["passed"] is True
    assert {check["passed"] for check in data["checks"]} == {True}
    keys = {"model", "on", "holds", "by", "value", "limit", "classes", "smallest", "vouched_by"}
    assert set(data["verdicts"][0]) == keys


def test_audit_shows_both_readings_of_missing(shoal, tmp_path: Path) -> None:
    path = tmp_path / "table.csv"
    path.write_text("age,sex,disease\n2*,f,flu\n2*,,cold\n3*,m,flu\n3*,m,cold\n", "utf-8")
    roles = ["--quasi", "age", "--quasi", "sex", "--sensitive", "disease"]
    data = shoal("audit", path, *roles, "--json").json
    assert (data["own_value"]["k"], data["wildcard"]["k"]) == (1, 2)
    assert data["own_value"]["sensitive"]["disease"]["distinct_l"] == 1
    text = shoal("audit", path, *roles).out
    assert "missing is a value" in text
    assert "missing is a wildcard" in text
    assert "flu" not in text


def test_audit_of_a_complete_file_has_one_reading(shoal, patients: Path) -> None:
    result = shoal("audit", patients, "--quasi", "sex", "--sensitive", "disease")
    assert result.code == 0
    assert "both readings of missing cells agree" in result.out
    assert re.search(r"k \(smallest class\)\s+4", result.out)
    assert shoal("audit", patients, "--quasi", "sex", "--json").json["wildcard"] is None


def test_audit_of_a_release_finds_what_was_promised(shoal, census: Path) -> None:
    roles = [part for name in ("age", "sex", "postcode", "education", "marital_status") for part in ("--quasi", name)]
    data = shoal("audit", census / "out" / "release.csv", *roles, "--sensitive", "diagnosis", "--json").json
    assert data["own_value"]["k"] >= 5
    assert data["own_value"]["sensitive"]["diagnosis"]["entropy_l"] >= 2


def test_measure_of_a_recipe_and_of_its_release_agree(shoal, census: Path) -> None:
    made = shoal("measure", census / "out.source" / "recipe.toml", "--json").json
    recorded = shoal("measure", census / "out", "--json").json
    assert made["measures"] == recorded["measures"]
    assert list(made["measures"]) == registry.names("measure")


def test_measure_by_name(shoal, census: Path) -> None:
    result = shoal("measure", census / "out", "um", "lm")
    assert result.code == 0
    assert "tuple-weighted" in result.out
    assert "ncp" not in result.out
    wrong = shoal("measure", census / "out", "nncp")
    assert (wrong.code, wrong.err) == (2, "error: There is no measure called 'nncp'. Did you mean 'ncp'?\n")


def test_measure_without_evidence(shoal, census: Path, tmp_path: Path) -> None:
    (tmp_path / "alone").mkdir()
    for path in (census / "out").iterdir():
        (tmp_path / "alone" / path.name).write_bytes(path.read_bytes())
    result = shoal("measure", tmp_path / "alone")
    assert (result.code, result.err.count("\n")) == (2, 1)


def test_check_describes_every_column(shoal, census: Path) -> None:
    recipe = census / "out.source" / "recipe.toml"
    assert shoal("check", recipe).code == shoal("run", recipe).code == 2  # the folder is in use
    result = shoal("check", recipe, "--replace")
    assert (result.code, result.err) == (0, "")
    assert "--dry-run" in result.out
    data = shoal("check", recipe, "--replace", "--json").json
    columns = {column["name"]: column for column in data["columns"]}
    assert len(columns) == 15
    assert columns["postcode"]["hierarchy"]["height"] == 5
    assert columns["education"]["missing"] > 0
    assert (columns["age"]["kind"], columns["sex"]["kind"], columns["name"]["type"]) == ("tree", "flat", None)
    assert data["rows"] == 400
    assert data["output_free"] is False
    assert "error" not in data


@pytest.mark.parametrize("what", ["algorithms", "models", "measures", "evaluations", "engines"])
def test_list(shoal, what: str) -> None:
    names = registry.names(what.removesuffix("s"))
    assert [entry["name"] for entry in shoal("list", what, "--json").json[what]] == names
    text = shoal("list", what).out
    assert all(name in text for name in names)


def test_json_has_no_numbers_that_json_lacks(shoal, tmp_path: Path) -> None:
    path = tmp_path / "same.csv"
    path.write_text("age,disease\n20,flu\n20,flu\n", "utf-8")
    result = shoal("audit", path, "--quasi", "age", "--sensitive", "disease", "--json")
    data = json.loads(result.out, parse_constant=lambda name: pytest.fail(f"{name} is no JSON"))
    assert data["own_value"]["sensitive"]["disease"]["recursive_c"] is None


def test_auto_says_what_it_tried_what_it_chose_and_why(shoal, patients: Path, tmp_path: Path) -> None:
    roles = 'identifiers = ["name"]\nquasi = ["age", "sex", "zip"]'
    text = recipe_text(roles, k=2, source='path = "patients.csv"')
    both = 'name = "auto"\ncandidates = [{ name = "mondrian" }, { name = "optimal" }]'
    (tmp_path / "recipe.toml").write_text(text.replace('name = "mondrian"', both), "utf-8")
    said = " ".join(shoal("run", tmp_path / "recipe.toml").out.split())
    assert "Tried on 8 records" in said
    assert "chosen" in said
    assert "Of 2 methods tried on 8 records, 'mondrian' reached the best lm" in said
    found = shoal("run", tmp_path / "recipe.toml", "--replace", "--json").json["auto"]
    assert [one["method"] for one in found["tried"]] == ["mondrian", "optimal"]
    assert found["tried"][0]["figure"] < found["tried"][1]["figure"]
    assert found["chosen"]["name"] == "mondrian"
    assert "mondrian" not in (tmp_path / "out" / "manifest.json").read_text("utf-8")
