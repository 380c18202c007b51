"""Workbooks and files of SPSS, Stata and SAS: read, and written as copies of a release with their labels."""

from __future__ import annotations

import contextlib
import datetime
import hashlib
import json
import random
import sys
import zipfile
from pathlib import Path
from typing import Any

import polars as pl
import pytest

import shoal
from shoal.cli.main import execute
from shoal.errors import GateError, InputError, ParameterError, VerificationError
from shoal.io import copies
from shoal.io.copies import write_copies
from shoal.io.excel import read_workbook, write_workbook
from shoal.io.files import read_frame
from shoal.io.statistics_files import Labels, read_labels
from shoal.release.entry import verify_release
from shoal.release.write import write_release
from tests.conftest import many

pyreadstat = pytest.importorskip("pyreadstat")
xlsxwriter = pytest.importorskip("xlsxwriter")
pytest.importorskip("fastexcel")

RAW = pl.DataFrame({"sex": [1.0, 2.0, 1.0], "age": [30.0, 41.0, 999.0], "grade": [1.0, 2.0, 7.0], "w": [0.5, 1.0, 2.0]})
SEX = {1: "male", 2: "female", 3: "diverse"}


def labelled(path: Path) -> Path:
    values = {"sex": SEX, "grade": {7: "refused"}}
    how: dict[str, Any] = {"column_labels": {"sex": "Sex"}, "variable_value_labels": values}
    if path.suffix == ".sav":
        how |= {"missing_ranges": {"age": [999]}, "variable_measure": {"sex": "nominal"}}
    getattr(pyreadstat, f"write_{path.suffix[1:]}")(RAW, str(path), **how)
    return path


@pytest.mark.parametrize("kind", [".sav", ".dta"])
def test_labels_are_read_where_every_value_has_one(tmp_path: Path, kind: str) -> None:
    frame = read_frame(labelled(tmp_path / f"a{kind}"))
    assert frame["sex"].to_list() == ["male", "female", "male"]
    assert frame["grade"].to_list() == [1, 2, 7]  # a word for a non-answer alone makes no category of numbers
    assert frame["w"].to_list() == [0.5, 1.0, 2.0]
    assert frame["age"].to_list() == [30, 41, None if kind == ".sav" else 999]
    labels = read_labels(tmp_path / f"a{kind}")
    assert labels.columns["sex"] == "Sex"
    assert list(labels.values["sex"].values()) == ["male", "female", "diverse"]


def test_files_of_sas_are_read(tmp_path: Path) -> None:
    pyreadstat.write_xport(pl.DataFrame({"AGE": [30.0, 41.0], "SEX": ["m", "f"]}), str(tmp_path / "a.xpt"))
    assert read_frame(tmp_path / "a.xpt").rows() == [(30, "m"), (41, "f")]


def test_two_values_with_one_label_stay_apart(tmp_path: Path) -> None:
    path = tmp_path / "a.sav"
    pyreadstat.write_sav(RAW.select("sex"), str(path), variable_value_labels={"sex": {1: "same", 2: "same"}})
    assert read_frame(path)["sex"].to_list() == ["same (1)", "same (2)", "same (1)"]


@pytest.mark.parametrize("name", ["a.sav", "a.xlsx", "a.dta", "a.sas7bdat"])
def test_damaged_files_are_one_sentence(tmp_path: Path, name: str) -> None:
    (tmp_path / name).write_bytes(b"secret cell")
    with pytest.raises(InputError, match=rf"^'{name}' cannot be read as .*: check that it is whole\.$"):
        read_frame(tmp_path / name)


def book(path: Path, **sheets: list[list[Any]]) -> Path:
    with xlsxwriter.Workbook(str(path)) as made:
        days = made.add_format({"num_format": "yyyy-mm-dd"})
        for name, rows in sheets.items():
            sheet = made.add_worksheet(name)
            for at, row in enumerate(rows):
                for place, cell in enumerate(row):
                    sheet.write(at, place, cell, *([days] if isinstance(cell, datetime.date) else []))
    return path


def test_a_workbook_is_read(tmp_path: Path) -> None:
    day = datetime.date(2024, 5, 1)
    rows = [["id", "born", "pay", "zip"], [1, day, 10.5, "01067"], [2, None, None, " n/a "], [None, None, None, None]]
    frame = read_frame(book(tmp_path / "a.xlsx", S=rows, T=[]), missing_markers=["n/a"])
    assert frame.rows() == [(1, day, 10.5, "01067"), (2, None, None, None)]


def test_a_workbook_of_several_sheets_needs_one_named(tmp_path: Path) -> None:
    path = book(tmp_path / "a.xlsx", One=[["a"], [1]], Two=[["b"], [2]])
    with pytest.raises(InputError) as caught:
        read_frame(path)
    assert str(caught.value) == (
        "'a.xlsx' has 2 sheets with cells (One, Two): name one of them as 'sheet' under [source], or --sheet."
    )
    assert read_frame(path, sheet="Two").rows() == [(2,)]
    with pytest.raises(InputError, match=r"has no sheet 'Tow': did you mean 'Two'\?"):
        read_frame(path, sheet="Tow")
    (tmp_path / "b.csv").write_text("a\n1\n")
    with pytest.raises(ParameterError, match="'b.csv' is no workbook, so it has no sheet 'Two'"):
        read_frame(tmp_path / "b.csv", sheet="Two")


def test_a_sheet_without_a_header_needs_columns(tmp_path: Path) -> None:
    path = book(tmp_path / "a.xlsx", S=[[1, "x"], [2, "y"]])
    assert read_frame(path, columns=["n", "c"]).rows() == [(1, "x"), (2, "y")]
    beside = book(tmp_path / "b.xlsx", S=[["a", None], [1, "stray"]])
    with pytest.raises(InputError, match="has a column without a name"):
        read_frame(beside)


RELEASED = pl.DataFrame(
    {
        "sex": ["male", "{female|male}", "*", "<missing>"],
        "age group": ["[20,29]", "[30,39]", "*", "=1+1"],
        "pay": [1, 2, None, 4],
        "day": [datetime.date(2024, 5, 1), None, datetime.date(2024, 5, 2), None],
    }
)
LABELS = Labels(columns={"sex": "Sex"}, values={"sex": SEX})


@pytest.mark.parametrize("kind", ["sav", "dta"])
def test_labels_are_written_back_with_the_values_they_had(tmp_path: Path, kind: str) -> None:
    write_copies({"release": RELEASED}, tmp_path, kinds=[kind], labels=LABELS)
    frame, about = getattr(pyreadstat, f"read_{kind}")(str(tmp_path / f"release.{kind}"), output_format="polars")
    values = {int(value): label for value, label in about.variable_value_labels["sex"].items()}
    # The label of a value that nobody is left with is not published.
    assert values == {1: "male", 4: "*", 5: "{female|male}"}
    assert [None if one is None else int(one) for one in frame["sex"].to_list()] == [1, 5, 4, None]
    assert about.column_names_to_labels == {"sex": "Sex", "age_group": "age group", "pay": "pay", "day": "day"}


def test_a_workbook_holds_cells_as_text_and_labels_on_a_sheet(tmp_path: Path) -> None:
    write_copies({"release": RELEASED}, tmp_path, kinds=["xlsx"], labels=LABELS)
    found = read_frame(tmp_path / "release.xlsx", sheet="release")
    assert found["age group"].to_list() == ["[20,29]", "[30,39]", "*", "=1+1"]  # no formula
    assert found["sex"].to_list() == ["male", "{female|male}", "*", None]
    assert read_frame(tmp_path / "release.xlsx", sheet="labels").rows() == [("sex", None, "Sex"), ("sex", "1", "male")]


def test_equal_releases_are_equal_files(tmp_path: Path) -> None:
    for name in ("a", "b"):
        (tmp_path / name).mkdir()
        write_copies({"release": RELEASED}, tmp_path / name, kinds=["xlsx", "sav", "dta"], labels=LABELS)
    for path in (tmp_path / "a").iterdir():
        assert path.read_bytes() == (tmp_path / "b" / path.name).read_bytes(), path.name
    header = (tmp_path / "a" / "release.sav").read_bytes()[92:109]
    assert header == b"01 Jan 7000:00:00"
    assert b"01 Jan 1970 00:00" in (tmp_path / "a" / "release.dta").read_bytes()


def test_a_copy_that_differs_is_not_published(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    whole = copies.write_labelled
    monkeypatch.setattr(copies, "write_labelled", lambda frame, path, labels: whole(frame.reverse(), path, labels))
    with pytest.raises(GateError, match="The copy 'release.sav' does not hold what passed the gate"):
        write_copies({"release": RELEASED}, tmp_path, kinds=["sav"])


@pytest.fixture(scope="module")
def released(tmp_path_factory: pytest.TempPathFactory) -> Path:
    frame = pl.DataFrame({"age": [20, 21, 40, 41] * 3, "sex": ["m", "f"] * 6})
    table = shoal.read(frame, quasi=["age", "sex"])
    folder = tmp_path_factory.mktemp("copies") / "out"
    shoal.anonymize(table, models=[shoal.KAnonymity(k=3)], seed=1).write(folder, copies=["xlsx", "dta"])
    return folder


def test_copies_stand_in_the_manifest_and_are_verified(released: Path) -> None:
    manifest = json.loads((released / "manifest.json").read_bytes())
    assert [one["file"] for one in manifest["data"]["copies"]] == ["release.xlsx", "release.dta"]
    assert verify_release(released).passed
    whole = (released / "release.dta").read_bytes()
    (released / "release.dta").write_bytes(whole + b"x")
    try:
        with pytest.raises(VerificationError, match=r"release\.dta"):
            verify_release(released)
    finally:
        (released / "release.dta").write_bytes(whole)


COPY = {"file": "release.dta", "sha256": "0" * 64}


@pytest.mark.parametrize(
    "listed", [{}, [1], [COPY | {"file": "../release.dta"}], [COPY | {"sha256": "0"}], [COPY | {"more": 1}], [COPY] * 2]
)
def test_a_manifest_with_odd_copies_is_refused(released: Path, listed: Any) -> None:
    from shoal.verify.manifest_schema import check_manifest

    manifest = json.loads((released / "manifest.json").read_bytes())
    manifest["data"]["copies"] = listed
    with pytest.raises(VerificationError):
        check_manifest(manifest)


def test_a_sheet_is_named_by_a_flag(tmp_path: Path) -> None:
    from shoal.cli.main import execute

    rows: list[list[Any]] = [["age", "pay"], *([20 + at % 2, at] for at in range(8))]
    path = book(tmp_path / "a.xlsx", One=rows, Two=[["x"], [1]])
    flags = ["--sheet", "One", "--quasi", "age", "--quasi", "pay", "--model", "k=2", "--seed", "1"]
    assert execute(["anonymize", str(path), "-o", str(tmp_path / "out"), *flags]) == 0
    assert read_frame(tmp_path / "out" / "release.csv").height == 8


@pytest.fixture
def copied(tmp_path: Path) -> Path:
    """A release with numbers, dates, gaps and labels, as CSV and in every other format."""
    day = datetime.date(2024, 5, 1)
    frame = pl.DataFrame({"sex": list("ffmm"), "town": list("abab"), "pay": [1.5, None, 3.0, 4.0], "seen": [day] * 4})
    table = shoal.read(frame, quasi=["sex", "town"], neutral=["pay", "seen"], missing="value")
    made = shoal.anonymize(table, models="k=2", seed=1, acknowledge=["W-NEUTRAL"])
    return write_release(made, tmp_path / "out", copies=["xlsx", "sav", "dta"])


def test_cells_of_copies_are_compared(copied: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert execute(["verify", str(copied), "--json"]) == 0
    found = json.loads(capsys.readouterr().out)
    names = ["copy release.xlsx", "copy release.sav", "copy release.dta"]
    assert [one["name"] for one in found["checks"] if one["name"].startswith("copy")] == names
    assert found["not_compared"] == []
    # The dossier has the hash of every file.
    listed = json.loads((copied / "manifest.json").read_text())["data"]["copies"]
    page = shoal.report(copied, audience="external", format="json")
    assert all(copy["sha256"] in page for copy in listed)


def tampered(folder: Path, name: str) -> None:
    """Give a changed copy the hash that the manifest has of it."""
    manifest = json.loads((folder / "manifest.json").read_bytes())
    for copy in manifest["data"]["copies"]:
        if copy["file"] == name:
            copy["sha256"] = hashlib.sha256((folder / name).read_bytes()).hexdigest()
    (folder / "manifest.json").write_text(json.dumps(manifest, indent=2), "utf-8")


@pytest.mark.parametrize("change", ["cell", "row", "column", "sheet", "none"])
def test_a_copy_with_other_cells_does_not_verify(copied: Path, change: str) -> None:
    """Its hash is the manifest's, so that nothing but its cells tells."""
    frame = read_workbook(copied / "release.xlsx", "release")
    odd = {
        "cell": frame.with_columns(pay=pl.Series([9.0, *frame["pay"].to_list()[1:]])),
        "row": frame.head(3), "column": frame.rename({"town": "name"}), "sheet": frame, "none": frame,
    }[change]  # fmt: skip
    more = {"names": frame} if change == "sheet" else {}
    write_workbook({"release": odd, **more}, copied / "release.xlsx", Labels())
    tampered(copied, "release.xlsx")
    (check,) = [one for one in verify_release(copied).checks if one.name == "copy release.xlsx"]
    assert check.passed == (change == "none")
    if change != "none":
        assert check.detail == "The cells of 'release.xlsx' are not those of the release."


def test_copies_that_nothing_here_reads_are_said(
    copied: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setitem(sys.modules, "pyreadstat", None)
    assert execute(["verify", str(copied)]) == 0
    told = " ".join(capsys.readouterr().out.split())
    assert "Known by their hashes alone" in told
    assert "release.sav, release.dta." in told


@pytest.mark.parametrize("seed", range(many(20, 300)))
def test_a_damaged_workbook_is_read_or_refused_in_one_sentence(tmp_path: Path, seed: int) -> None:
    """The list of sheets may be whole where the sheets are not."""
    path, rng = tmp_path / "people.xlsx", random.Random(seed)
    RAW.write_excel(path)
    data = bytearray(path.read_bytes())
    for _ in range(rng.randint(1, 8)):
        data[rng.randrange(len(data))] = rng.randrange(256)
    path.write_bytes(data)
    with contextlib.suppress(InputError):
        read_workbook(path)


def test_a_sheet_that_is_cut_off_is_exit_2(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    whole, path = tmp_path / "whole.xlsx", tmp_path / "people.xlsx"
    RAW.write_excel(whole)
    with zipfile.ZipFile(whole) as parts, zipfile.ZipFile(path, "w") as cut:
        for name in parts.namelist():
            data = parts.read(name)
            cut.writestr(name, data[: len(data) // 2] if "sheet1" in name else data)
    roles = ["--quasi", "sex", "--quasi", "age", "--sensitive", "grade", "--drop", "w"]
    assert execute(["anonymize", str(path), "-o", str(tmp_path / "out"), *roles, "--model", "k=2"]) == 2
    assert capsys.readouterr().err == "error: 'people.xlsx' cannot be read as a workbook: check that it is whole.\n"
