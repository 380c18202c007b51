"""`shoal risk`: files, recipes and releases, what it prints and what it never prints."""

from __future__ import annotations

import json
import sys
from pathlib import Path

import pytest

FLAGS = ["--quasi", "age", "--quasi", "sex", "--sensitive", "disease"]
DATA = {
    "target", "notes", "name", "rows", "records", "people", "quasi", "threshold", "population", "population_size",
    "figures", "class_sizes", "curves", "contributions", "sensitive", "suda", "discovered", "riskiest", "html",
}  # fmt: skip


def refused(result, code: int, *expected: str) -> None:
    assert (result.code, result.out, result.err.count("\n")) == (code, "", 1), result.err
    for words in expected:
        assert words in result.err


def test_a_file(shoal, patients: Path, secrets: list[str]) -> None:
    result = shoal("risk", patients, *FLAGS)
    assert (result.code, result.err) == (0, "")
    shown = ["patients: 8 rows", "prosecutor-max", "100.00%", "Nothing is known about the population", "entropy l"]
    for words in [*shown, "found for certain", "What each quasi-identifier adds", "Rows at most risk"]:
        assert words in result.out
    for word in [*secrets, "1000", "34"]:
        assert word not in result.out


def test_json(shoal, patients: Path, secrets: list[str]) -> None:
    result = shoal("risk", patients, *FLAGS, "--fraction", "0.1", "--top", "2", "--json")
    assert (result.code, result.err) == (0, "")
    data = result.json
    assert set(data) == DATA
    assert data["figures"]["prosecutor-expected"]["value"] == 8
    assert set(data["figures"]["journalist-mean"]) == {"value", "interval", "baseline", "sentence"}
    assert data["class_sizes"] == {"1": 8}
    assert [row["row"] for row in data["riskiest"]] == [1, 2]
    assert set(data["riskiest"][0]) == {"row", "prosecutor", "journalist", "suda", "dis"}
    for word in secrets:
        assert word not in result.out


def test_a_population_file(shoal, patients: Path, tmp_path: Path) -> None:
    lines = patients.read_text("utf-8").splitlines()
    register = tmp_path / "register.csv"
    register.write_text("\n".join([*lines, *lines[1:]]) + "\n", "utf-8")
    data = shoal("risk", patients, *FLAGS, "--population", register, "--json").json
    assert (data["population"], data["population_size"]) == ("table", 16)
    assert data["figures"]["journalist-max"]["value"] == 0.5
    refused(shoal("risk", register, *FLAGS, "--population", patients), 2, "8 of 8 classes have more records")
    register.write_text("age,gender\n21,f\n", "utf-8")
    refused(shoal("risk", patients, *FLAGS, "--population", register), 2, "'register.csv' has no column 'sex'")


def test_weights_and_households(shoal, tmp_path: Path) -> None:
    file = tmp_path / "survey.csv"
    file.write_text("age,w,home\n30,10,a\n30,10,b\n41,5,b\n", "utf-8")
    given = ["--quasi", "age", "--weight", "w", "--household", "home"]
    data = shoal("risk", file, *given, "--json").json
    assert (data["population"], data["population_size"]) == ("weights", 25)
    assert data["figures"]["household-expected"]["value"] > 0
    file.write_text("age,w,home\n30,0.5,a\n", "utf-8")
    refused(shoal("risk", file, *given), 2, "'w' has 1 weights below 1")


def test_a_recipe_is_its_raw_data_and_a_folder_its_release(shoal, census: Path) -> None:
    recipe = census / "out.source" / "recipe.toml"
    raw = shoal("risk", recipe, "--json").json
    assert raw["people"]
    assert raw["figures"]["sample-unique"]["value"] > 0.5
    released = shoal("risk", census / "out", "--json").json
    smallest = json.loads((census / "out" / "manifest.json").read_text("utf-8"))["classes"]["smallest"]
    assert released["figures"]["prosecutor-max"]["value"] == pytest.approx(1 / smallest)
    assert released["suda"]["records"] == 0
    assert set(released["sensitive"]) == set(raw["sensitive"])


def test_starred_rows_are_no_class(shoal, patients: Path, tmp_path: Path) -> None:
    flags = ["--identifier", "name", "--drop", "zip", *FLAGS, "--model", "k=2", "--acknowledge", "W-UNMODELLED:disease"]
    made = shoal("anonymize", patients, "-o", tmp_path / "out", *flags, "--suppressed", "star", "--set",
                 "suppression_limit=1", "--algorithm", "mondrian", "--seed", "1")  # fmt: skip
    assert made.code == 0, made.err
    file = tmp_path / "out" / "release.csv"
    stars = sum(set(line.split(",")) == {"*"} for line in file.read_text("utf-8").splitlines())
    assert shoal("risk", tmp_path / "out", "--json").json["rows"] == 8 - stars


KINDS = {
    "randomised": (["--algorithm", "random", "--acknowledge", "W-RA-LINK", "--acknowledge", "W-NO-K"], "'ra-linkage'"),
    "pseudonymised": (
        ["--algorithm", "mapping", "--acknowledge", "W-PP-REV", "--acknowledge", "W-NO-K", "--discard-secret"],
        "'frequency-matching'",
    ),
    "bucketised": (["--algorithm", "anatomy", "--set", "l=2", "--acknowledge", "W-EXACT-QI"], "'relinking'"),
    "microaggregated": (["--algorithm", "microaggregation", "--model", "k=2"], "'nearest'"),
}


@pytest.mark.parametrize("kind", KINDS)
def test_what_classes_mean_where_nothing_is_generalised(shoal, patients: Path, tmp_path: Path, kind: str) -> None:
    made, attack = KINDS[kind]
    roles = ["--identifier", "name", "--drop", "zip", *FLAGS, "--acknowledge", "W-UNMODELLED:disease"]
    result = shoal("anonymize", patients, "-o", tmp_path / "out", *roles, *made, "--seed", "1")
    assert result.code == 0, result.err
    data = shoal("risk", tmp_path / "out", "--json").json
    assert attack in " ".join(data["notes"])
    # The value beside a record of a group need not be its own.
    assert set(data["sensitive"]) == (set() if kind == "bucketised" else {"disease"})
    page = tmp_path / "page.html"
    shown = shoal("risk", tmp_path / "out", "--html", page)
    assert f"Note: {data['notes'][0]}" in " ".join(shown.out.split())
    assert attack in page.read_text("utf-8").partition("plotly.js v")[0].replace("&#39;", "'")


def test_sensitive_ranges_of_a_file(shoal, tmp_path: Path) -> None:
    file, ranges, tree = (tmp_path / name for name in ("file.csv", "ranges.csv", "tree.csv"))
    file.write_text("age,pay\n2*,1\n2*,2\n2*,9\n3*,1\n3*,2\n", "utf-8")
    ranges.write_text("".join(f"{one};{one // 5 * 5};{one // 5 * 5 + 4}\n" for one in range(10)), "utf-8")
    tree.write_text("".join(f"{one};{'low' if one < 5 else 'high'};*\n" for one in range(10)), "utf-8")
    flags = ["--quasi", "age", "--sensitive", "pay", "--json"]

    def worst(*more: object) -> float | None:
        result = shoal("risk", file, *flags, *more)
        assert result.code == 0, result.err
        return result.json["sensitive"]["pay"]["range_confidence"]

    assert worst() is None
    assert worst("--policy", "pay=value") == pytest.approx(1 / 2)
    assert worst("--policy", f"pay={ranges}") == 1
    assert worst("--policy", "pay=[[0,1],[2,9]]") == pytest.approx(2 / 3)
    assert worst("--policy", "pay=level:1", "--hierarchy", f"pay={tree}") == 1
    refused(shoal("risk", file, *flags[:4], "--policy", "pay=level:1"), 2, "has no hierarchy")
    refused(shoal("risk", file, *flags[:4], "--policy", "age=value"), 2, "not a sensitive column")
    refused(shoal("risk", file, *flags[:4], "--hierarchy", f"age={tree}"), 2, "which is not a sensitive column")


def test_sensitive_ranges_of_a_release_are_its_manifests(shoal, tmp_path: Path) -> None:
    file = tmp_path / "file.csv"
    file.write_text("age,pay\n" + "".join(f"{20 + one},{one * 7 % 12}\n" for one in range(12)), "utf-8")
    made = ["--quasi", "age", "--sensitive", "pay", "--model", "k=3", "--model", "range-confidence=0.9 on pay"]
    policy = ["--policy", "pay=[[0,3],[4,7],[8,11]]"]
    result = shoal("anonymize", file, "-o", tmp_path / "out", *made, *policy, "--seed", "1")
    assert result.code == 0, result.err
    found = shoal("risk", tmp_path / "out", "--json").json["sensitive"]["pay"]["range_confidence"]
    bare = ["--quasi", "age", "--sensitive", "pay", *policy, "--json"]
    again = shoal("risk", tmp_path / "out" / "release.csv", *bare).json["sensitive"]["pay"]["range_confidence"]
    assert 0 < found == again <= 0.9
    refused(shoal("risk", tmp_path / "out", *policy), 2, "--policy is for a file, and a release says it itself")


def test_the_page(shoal, patients: Path, tmp_path: Path, secrets: list[str]) -> None:
    page = tmp_path / "page.html"
    result = shoal("risk", patients, *FLAGS, "--html", page)
    assert result.code == 0
    assert f"Private, not for publication: {page}" in result.out
    assert page.stat().st_mode & 0o777 == 0o600
    head, _, _ = page.read_text("utf-8").partition("plotly.js v")
    assert "patients: risk of re-identification" in head
    for word in secrets:
        assert word not in head
    refused(shoal("risk", patients, *FLAGS, "--html", page), 2, "exists", "--replace")
    assert shoal("risk", patients, *FLAGS, "--html", page, "--replace").code == 0
    refused(shoal("risk", patients, *FLAGS, "--html", tmp_path / "page.txt"), 2, "must end in .html")


def test_values_are_for_a_terminal(shoal, patients: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    refused(shoal("risk", patients, *FLAGS, "--show-values"), 2, "to a terminal only")
    monkeypatch.setattr(sys.stdout, "isatty", lambda: True, raising=False)
    shown = shoal("risk", patients, *FLAGS, "--show-values", "--top", "1")
    assert shown.code == 0
    assert "21" in shown.out
    assert "flu" not in shown.out
    result = shoal("risk", patients, *FLAGS, "--show-values", "--json")
    assert (result.code, result.json["error"]["type"]) == (2, "ParameterError")


@pytest.mark.parametrize(
    "flags, expected",
    [
        (["--quasi", "agee"], ["no column 'agee'", "Did you mean 'age'?"]),
        ([], ["no quasi-identifier"]),
        ([*FLAGS, "--fraction", "0"], ["'fraction'", "above 0 and up to 1"]),
        ([*FLAGS, "--fraction", "1.1"], ["'fraction'"]),
        ([*FLAGS, "--threshold", "2"], ["'threshold'"]),
        ([*FLAGS, "--suda", "-1"], ["'suda'"]),
        ([*FLAGS, "--household", "zipp"], ["no household column 'zipp'", "Did you mean 'zip'?"]),
        ([*FLAGS, "--weight", "zip", "--fraction", "0.5"], ["both say how large the population is"]),
        ([*FLAGS, "--population", "nowhere.csv"], ["There is no file 'nowhere.csv'"]),
    ],
)
def test_bad_input(shoal, patients: Path, flags: list[str], expected: list[str]) -> None:
    refused(shoal("risk", patients, *flags), 2, *expected)


def test_roles_belong_to_files(shoal, census: Path) -> None:
    recipe = census / "out.source" / "recipe.toml"
    refused(shoal("risk", recipe, "--quasi", "age"), 2, "--quasi is for a file, and a recipe says it itself")
    refused(shoal("risk", census / "out", "--missing-marker", "?"), 2, "--missing-marker is for a file, and a release")
    refused(shoal("risk", census), 2, "manifest.json")


def test_help(shoal) -> None:
    result = shoal("risk", "--help")
    assert result.code == 0
    for option in ("--population", "--fraction", "--weight", "--household", "--threshold", "--html", "--show-values"):
        assert option in result.out


def test_a_release_whose_sensitive_hierarchy_is_shown_in_part(shoal, tmp_path: Path) -> None:
    """The distance between released values follows from their paths alone, which the manifest shows."""
    rows = [f"{20 + n % 4},{('flu', 'cold', 'gout')[n % 3]}" for n in range(24)]
    (tmp_path / "people.csv").write_text("\n".join(["age,disease", *rows]) + "\n", "utf-8")
    (tmp_path / "d.csv").write_text("flu;lung;*\ncold;lung;*\ngout;joint;*\nkuru;brain;*\n", "utf-8")
    found = []
    for public in ("true", "false"):
        (tmp_path / "recipe.toml").write_text(
            'seed = 1\n[source]\npath = "people.csv"\n[roles]\nquasi = ["age"]\nsensitive = ["disease"]\n'
            f'[hierarchies]\ndisease = {{ path = "d.csv", public = {public} }}\n[[models]]\nname = "k"\nk = 3\n'
            f'[[models]]\nname = "distinct-l"\nl = 2\n[algorithm]\nname = "mondrian"\n'
            f'[output]\nfolder = "out-{public}"\n',
            "utf-8",
        )
        assert shoal("run", tmp_path / "recipe.toml").code == 0
        found.append(shoal("risk", tmp_path / f"out-{public}", "--json").json["sensitive"]["disease"])
    assert found[0] == found[1]
    assert found[0]["distance"] == "hierarchical"
