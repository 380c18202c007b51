"""From three awkward files to a release, by the questions that are asked and nothing else."""

from __future__ import annotations

import contextlib
import io
import json
import re
import sys
from pathlib import Path

import numpy as np
import polars as pl
import pytest

from shoal.cli.main import execute
from shoal.data.schema import Roles
from shoal.io.census import FIRST_NAMES, NOTES, SURNAMES
from shoal.io.files import read_frame
from shoal.recipe.draft import Draft, drafted
from shoal.recipe.draft_text import recipe_text
from shoal.recipe.recipe import load_recipe
from shoal.recipe.roles import MOST_QUASI, MOST_SENSITIVE
from shoal.recipe.sniff import Given, read_raw
from shoal.release.check import tried
from tests.models.test_across_classes import visits
from tests.starting.awkward import hospital, survey, workbook

MAKERS = {"export.csv": hospital, "staff.xlsx": workbook, "survey.sav": survey}


def shell(*arguments: object, answers: str = "") -> tuple[int, str, str]:
    """Exit code, output and errors of a command, with answers typed in."""
    out, err, typed = io.StringIO(), io.StringIO(), sys.stdin
    sys.stdin = io.StringIO(answers)
    try:
        with contextlib.redirect_stdout(out), contextlib.redirect_stderr(err):
            code = execute([str(one) for one in arguments])
    finally:
        sys.stdin = typed
    return code, out.getvalue(), err.getvalue()


@pytest.fixture(scope="module", params=MAKERS)
def started(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, str]:
    """An awkward file, its recipe beside it, and what was printed."""
    if not request.param.endswith(".csv"):
        pytest.importorskip("pyreadstat")
        pytest.importorskip("fastexcel")
    path = MAKERS[request.param](tmp_path_factory.mktemp("start") / request.param)
    code, out, err = shell("start", path, "-o", path.with_name("recipe.toml"))
    assert (code, err) == (0, "")
    return path, out


def test_the_recipe_passes_check_and_run_as_it_is(started: tuple[Path, str]) -> None:
    path, _ = started
    recipe = path.with_name("recipe.toml")
    code, out, err = shell("check", recipe)
    assert (code, err) == (0, "")
    assert "Nothing known before a run stands in its way" in out
    code, _, err = shell("run", recipe)
    assert (code, err) == (0, "")
    folder = path.with_name(f"{path.stem}-release")
    assert shell("verify", folder)[0] == 0
    if path.suffix == ".sav":
        import pyreadstat

        _, about = pyreadstat.read_sav(str(folder / "release.sav"), output_format="polars")
        assert about.variable_value_labels["HEALTH"][1.0] == "very good"
        assert about.variable_measure["HEALTH"] == "ordinal"
        assert about.column_names_to_labels["PARTY"] == "Party voted for"
    if path.suffix == ".xlsx":
        assert read_frame(folder / "release.xlsx", sheet="release").height == 200


def test_what_is_printed_fits_a_screen_and_shows_nobody(started: tuple[Path, str]) -> None:
    path, out = started
    lines = [line for line in out.splitlines() if str(path.parent) not in line]
    assert max(map(len, lines)) <= 80
    assert len(lines) <= 24
    text = out + path.with_name("recipe.toml").read_text("utf-8")
    people = [name for name in (*SURNAMES, *FIRST_NAMES) if name in text]
    assert people == []
    assert not any(note in text for note in NOTES)
    assert "example.org" not in text


ROLES = {
    "export.csv": {
        "identifiers": ["Nachname", "Vorname", "Versichertennr"],
        "quasi": ["Geburtsdatum", "Geschlecht", "PLZ", "Aufnahme"],
        "sensitive": ["Diagnose", "CRP", "Kosten"],
        "drop": ["Bemerkung"],
        "subject": "Pat-Nr",
        "across_classes": False,  # a diagnosis is often the same at both stays
    },
    "staff.xlsx": {
        "identifiers": ["Staff ID", "E-Mail"],
        "quasi": ["Date of birth", "Gender", "Job", "Started"],
        "sensitive": ["Salary"],
    },
    "survey.sav": {
        "identifiers": ["CASEID"],
        "quasi": ["SEX", "AGE", "REGION"],
        "sensitive": ["HEALTH", "PARTY"],
        "weight": "WGT",
    },
}


def test_the_roles_are_those_that_somebody_who_knows_would_give(started: tuple[Path, str]) -> None:
    path, _ = started
    recipe = load_recipe(path.with_name("recipe.toml"))
    found = {role: given for role, given in vars(recipe.roles).items() if given != getattr(Roles(), role)}
    assert found == ROLES[path.name]
    if path.suffix == ".csv":
        assert (recipe.source.separator, recipe.source.encoding, recipe.source.decimal) == (";", "latin-1", ",")
        assert recipe.source.missing_markers == ["k.A."]
        assert recipe.columns["Geburtsdatum"].format == "%d.%m.%Y"
        assert recipe.columns["Kosten"].thousands == "."
    if path.suffix == ".sav":
        assert recipe.columns["HEALTH"].order == ["very good", "good", "fair", "bad", "very bad"]
        assert recipe.columns["PARTY"].non_answers == ["refused"]


AMBIGUOUS = "id,born,pay,sex\n" + "".join(
    f'{at},0{1 + at % 9}/0{1 + at % 7}/19{50 + at % 40},"{1 + at % 8},{100 + at % 800}",{"mf"[at % 2]}\n'
    for at in range(60)
)
DATES = "In the dates of 'born', day and month could change places"
MARKS = "In the numbers of 'pay', three digits follow every mark"


def test_what_is_ambiguous_is_refused_with_the_setting(tmp_path: Path) -> None:
    (tmp_path / "a.csv").write_text(AMBIGUOUS)
    code, out, err = shell("start", tmp_path / "a.csv", "-o", tmp_path / "r.toml")
    assert (code, out) == (2, "")
    assert err == (
        f"error: {DATES}: say --type 'born=date %d/%m/%Y' or --type 'born=date %m/%d/%Y'. {MARKS}: say --decimal , "
        "(1,5 is one and a half) or --thousands , (1,500 is fifteen hundred). With --ask, shoal start asks.\n"
    )
    assert not (tmp_path / "r.toml").exists()


def test_answers_are_typed_or_given_as_options(tmp_path: Path) -> None:
    (tmp_path / "a.csv").write_text(AMBIGUOUS)
    # The second question is put again after an answer that is none.
    code, _, err = shell("start", tmp_path / "a.csv", "-o", tmp_path / "r.toml", "--ask", answers="2\nperhaps\n2\n")
    assert code == 0, err
    assert err.count(f"{DATES}. How are they written?\n  1 %d/%m/%Y  2 %m/%d/%Y: ") == 1
    assert err.count(f"{MARKS}. What are the marks?") == 2
    asked = load_recipe(tmp_path / "r.toml")
    assert asked.columns["born"].format == "%m/%d/%Y"
    assert asked.columns["pay"].thousands == ","
    given = ["--type", "born=date %m/%d/%Y", "--thousands", ","]
    assert shell("start", tmp_path / "a.csv", "-o", tmp_path / "s.toml", *given)[0] == 0
    assert load_recipe(tmp_path / "s.toml") == asked
    code, _, err = shell("start", tmp_path / "a.csv", "--ask", answers="")
    assert code == 2
    assert err.endswith("error: Nobody answered about 'born': say --type 'born=date %d/%m/%Y' or --type 'born=date "
                        "%m/%d/%Y'.\n")  # fmt: skip


def draft_of(frame: pl.DataFrame, tmp_path: Path, **given: object) -> Draft:
    frame.write_csv(tmp_path / "a.csv")
    said = Given(**given)  # type: ignore[arg-type]
    return drafted(read_raw(str(tmp_path / "a.csv"), said), said)


def test_an_ambiguous_date_is_read_as_another_that_is_not(tmp_path: Path) -> None:
    frame = pl.DataFrame({"born": ["03/04/1990", "05/06/1991"] * 20, "seen": ["25/12/2020", "24/11/2020"] * 20})
    draft = draft_of(frame, tmp_path)
    assert draft.questions == []
    as_seen = "as those of 'seen', where day and month cannot change places"
    assert draft.notes == [f"born: dates are read as %d/%m/%Y, {as_seen}."]
    pointed = draft_of(pl.DataFrame({"born": ["03.04.1990", "05.06.1991"] * 20, "sex": ["m", "f"] * 20}), tmp_path)
    assert pointed.notes == ["born: dates are read as %d.%m.%Y, day first, as dates with points are written."]


def test_roles_that_are_given_stay(tmp_path: Path) -> None:
    frame = pl.DataFrame({"sex": ["m", "f"] * 20, "score": list(range(40))})
    draft = draft_of(frame, tmp_path, roles={"score": "neutral", "sex": "sensitive"})
    assert {name: one.role for name, one in draft.proposals.items()} == {"sex": "sensitive", "score": "neutral"}
    code, _, err = shell("start", tmp_path / "a.csv", "--quasi", "sexx")
    assert (code, err) == (2, "error: There is no column 'sexx' in the table. Did you mean 'sex'?\n")


def test_a_wide_table_begins_with_the_surest_columns(tmp_path: Path) -> None:
    wide = {f"q{at}": [(at + row) % 5 for row in range(60)] for at in range(12)}
    wide |= {f"m{at}": [(7 * at + row) % 60 / 7 for row in range(60)] for at in range(7)}
    known = {f"education {at}": ["low", "high", "none"] * 20 for at in range(9)} | {"sex": ["m", "f"] * 30}
    draft = draft_of(pl.DataFrame({**wide, **known}), tmp_path)
    assert draft.columns("quasi") == [*(f"education {at}" for at in range(MOST_QUASI - 1)), "sex"]
    assert len(draft.columns("sensitive")) == MOST_SENSITIVE


def test_what_a_run_would_refuse_is_mended_openly(tmp_path: Path) -> None:
    frame = pl.DataFrame(
        {
            "name": [f"Person{at}" for at in range(60)],
            "sex": ["m", "f"] * 30,
            "disease": [f"seen by Person{at}" if at % 2 else "flu" for at in range(60)],
            "income": [1000 + 7 * at * at for at in range(60)],
        }
    )
    draft = tried(draft_of(frame, tmp_path, roles={"disease": "sensitive"}))
    assert draft.proposals["disease"].role == "drop"
    assert draft.mended == ["disease: left out, since its cells hold identifiers of people."]
    assert "# disease: left out" in recipe_text(draft, tmp_path)


@pytest.mark.parametrize(
    "name, content, arguments, said",
    [
        ("a.csv", "39,Bachelors\n50,Masters\n", [], "The first row of 'a.csv' looks like values, not like the names of "
         "columns: name the 2 columns in their order by --columns A,B,..."),
        ("a.toml", "[source]\n", [], "'a.toml' is a recipe already: run it with shoal run a.toml, or name a data "
         "file."),
        ("a.csv", "a,b\n1,2\n", ["--type", "a=numeric"], "The --type of 'a' must be that of dates with their format: "
         "'a=date %d.%m.%Y'."),
        ("a.parquet", "x", ["--separator", ";"], "--separator is for text files, and 'a.parquet' is none: leave it "
         "out."),
    ],
)  # fmt: skip
def test_bad_input(tmp_path: Path, name: str, content: str, arguments: list[str], said: str) -> None:
    (tmp_path / name).write_text(content)
    assert shell("start", tmp_path / name, *arguments) == (2, "", f"error: {said}\n")


VISITS = {"id": "subject", "age": "quasi", "zip": "quasi", "sex": "quasi", "diagnosis": "sensitive"}


def test_a_diagnosis_is_kept_and_people_in_several_classes_are_given_up_openly(tmp_path: Path) -> None:
    draft = tried(draft_of(visits(1), tmp_path, roles=VISITS))
    assert draft.columns("sensitive") == ["diagnosis"]
    assert (draft.proposals["diagnosis"].model or {})["l"] == 3
    (note,) = draft.mended
    assert note.startswith("across_classes = false, since no release protects everybody")
    text = recipe_text(draft, tmp_path)
    assert "\nacross_classes = false" in text
    assert f"# {note}\n" in text


def test_fewer_values_are_asked_for_before_people_in_several_classes_are_given_up(tmp_path: Path) -> None:
    # Classes of both sexes have two values in common, and three by themselves.
    rows = [(f"p{at}", sex, value) for at, value in enumerate("aabb" * 9) for sex in "fm"]
    rows += [(f"{sex}{at}", sex, value) for sex, value in ("fc", "md") for at in range(6)]
    frame = pl.DataFrame(rows, schema=["id", "sex", "diagnosis"], orient="row")
    draft = tried(draft_of(frame, tmp_path, roles={"id": "subject", "sex": "quasi", "diagnosis": "sensitive"}))
    assert draft.across_classes
    assert (draft.proposals["diagnosis"].model or {})["l"] == 2
    assert "across_classes" not in recipe_text(draft, tmp_path)


def test_a_recipe_is_not_overwritten_unasked(tmp_path: Path) -> None:
    (tmp_path / "a.csv").write_text("sex,age\n" + "m,30\nf,40\n" * 20)
    (tmp_path / "r.toml").write_text("mine")
    code, _, err = shell("start", tmp_path / "a.csv", "-o", tmp_path / "r.toml")
    assert (code, err) == (
        2, f"error: '{tmp_path / 'r.toml'}' exists: choose another name for the recipe, or --replace it.\n"
    )  # fmt: skip
    assert (tmp_path / "r.toml").read_text() == "mine"
    code, out, _ = shell("start", tmp_path / "a.csv", "--json")
    found = json.loads(out)
    assert code == 0
    assert found["recipe"] is None
    assert [one["role"] for one in found["columns"]] == ["quasi", "quasi"]
    assert found["risk"]["smallest_class"] == 20


def test_the_data_are_not_overwritten_and_no_recipe_goes_into_a_release(tmp_path: Path) -> None:
    data = tmp_path / "a.csv"
    data.write_text("sex,age\n" + "m,30\nf,40\n" * 20)
    before = data.read_bytes()
    assert shell("start", data, "-o", data, "--replace") == (
        2, "", f"error: The recipe '{data}' must end in .toml: choose another name.\n"
    )  # fmt: skip
    assert data.read_bytes() == before
    (tmp_path / "out").mkdir()
    (tmp_path / "out" / "manifest.json").write_text('{"shoal": "1"}')
    code, _, err = shell("start", data, "-o", tmp_path / "out" / "r.toml")
    assert (code, "inside a release" in err) == (2, True)


def test_a_cell_that_is_no_date_is_neither_written_down_nor_taken_for_missing(tmp_path: Path) -> None:
    days = [f"{1 + at % 28:02d}.{1 + at % 12:02d}.{1930 + at}" for at in range(58)]
    frame = pl.DataFrame({"born": [*days, "ca. 1950, Mrs Miller", "31.02.1961"], "sex": ["m", "f"] * 30})
    draft = tried(draft_of(frame, tmp_path))
    text = recipe_text(draft, tmp_path)
    assert draft.proposals["born"].role == "drop"
    assert "has 2 cells that are no dates" in text
    assert "Miller" not in text
    assert "1961" not in text
    # What several rows have is a habit, which is said.
    frame = pl.DataFrame({"born": [*days[:56], *["00.00.0000"] * 4], "sex": ["m", "f"] * 30})
    draft = tried(draft_of(frame, tmp_path))
    assert draft.proposals["born"].role == "quasi"
    assert draft.notes == [
        "born: dates are read as %d.%m.%Y, day first, as dates with points are written.",
        "born: what is no date is taken for missing, as its missing_markers say.",
    ] or draft.notes == ["born: what is no date is taken for missing, as its missing_markers say."]


def test_only_what_was_tried_is_said_to_run(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    frame = pl.DataFrame({"age": [30, 40] * 30, "sex": ["m", "f"] * 30})
    draft = draft_of(frame, tmp_path)
    assert "It runs as it is" in recipe_text(tried(draft), tmp_path)
    monkeypatch.setattr("shoal.release.check._MOST_ROWS", 10)
    text = recipe_text(tried(draft), tmp_path)
    assert "It runs as it is" not in text
    assert "Not tried" in text


def test_cells_of_several_items_are_recognised_and_the_recipe_runs(tmp_path: Path) -> None:
    codes = ["I10", "E11", "F32", "J45", "M54"]
    lists = [";".join(sorted({codes[i % 5], codes[i // 5 % 5], codes[i * 7 % 3]})) for i in range(300)]
    frame = pl.DataFrame({"age": [20 + i % 60 for i in range(300)], "sex": ["f", "m"] * 150, "codes": lists})
    frame.write_csv(tmp_path / "a.csv")
    code, out, err = shell("start", tmp_path / "a.csv", "-o", tmp_path / "recipe.toml")
    assert (code, err) == (0, "")
    recipe = load_recipe(tmp_path / "recipe.toml")
    assert recipe.roles.sensitive == ["codes"]
    assert recipe.columns["codes"].items == ";"
    assert {"name": "k-m", "k": 3, "m": 2, "on": "codes"} in recipe.models
    code, out, err = shell("run", tmp_path / "recipe.toml")
    assert (code, err) == (0, "")
    assert "3^2-anonymous on codes" in out
    assert "Items of codes:" in out


def test_items_that_name_people_are_not_released(tmp_path: Path) -> None:
    mails = ["a.b@example.org", "c.d@example.org", "e.f@example.org"]
    names = ["Anna Meier", "Peter Huber", "Karl Lang"]
    rows = [(i % 3, (i // 3) % 3) for i in range(200)]
    frame = pl.DataFrame(
        {
            "age": [20 + i % 60 for i in range(200)], "contacts": [f"{mails[a]};{mails[b]}" for a, b in rows],
            "seen by": [f"{names[a]}|{names[b]}" for a, b in rows],
        }
    )  # fmt: skip
    frame.write_csv(tmp_path / "a.csv")
    code, _, err = shell("start", tmp_path / "a.csv", "-o", tmp_path / "recipe.toml")
    assert (code, err) == (0, "")
    roles = load_recipe(tmp_path / "recipe.toml").roles
    assert (roles.identifiers, roles.drop, roles.sensitive) == (["contacts"], ["seen by"], [])


@pytest.mark.parametrize("event", [True, False])
def test_an_age_takes_the_place_of_a_date_of_birth_as_the_recipe_says(tmp_path: Path, event: bool) -> None:
    born = [f"{1950 + i % 50}-03-{1 + i % 28:02d}" for i in range(200)]
    frame = pl.DataFrame({"born": born, "sex": ["f", "m"] * 100})
    seen = {"admitted": [f"2024-{1 + i % 12:02d}-05" for i in range(200)]} if event else {}
    frame.with_columns(**{name: pl.Series(days) for name, days in seen.items()}).write_csv(tmp_path / "a.csv")
    path = tmp_path / "recipe.toml"
    assert shell("start", tmp_path / "a.csv", "-o", path)[0] == 0
    text = path.read_text("utf-8")
    place = r"\n# born, (age = .*) in the place of its hierarchy, and say how it is made:\n"
    said = re.search(place + r"# (\[columns.age\])\n# (derive = .*)\n", text)
    assert said is not None
    text = re.sub(r"^born = .*", said[1], text.replace('    "born",', '    "age",'), flags=re.MULTILINE)
    path.write_text(f"{text}\n{said[2]}\n{said[3]}\n")
    code, out, err = shell("run", path)
    assert (code, err) == (0, "")
    assert "born" not in out


def test_an_amount_that_some_people_share_is_left_out_and_is_no_identifier(tmp_path: Path) -> None:
    rng = np.random.default_rng(1)
    credit = rng.integers(1000, 90_000, 400)
    credit[:20] = 0
    frame = pl.DataFrame({"used": credit, "age": rng.integers(20, 60, 400), "diagnosis": rng.choice(list("abcd"), 400)})
    draft = tried(draft_of(frame, tmp_path))
    assert draft.proposals["used"].role in ("drop", "sensitive", "neutral")
    assert draft.tried
