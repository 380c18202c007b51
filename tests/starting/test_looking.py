"""What is found out about a file and its columns."""

from __future__ import annotations

import random
from pathlib import Path

import polars as pl
import pytest

from shoal.errors import InputError
from shoal.io.cell_format import Notation
from shoal.io.census import insurance
from shoal.recipe.column_profile import facts_of, numbers_of, sentinels_of
from shoal.recipe.draft import subject_of
from shoal.recipe.sniff import sniff
from shoal.recipe.value_patterns import NUMBERS, is_numbered, is_person, kind_of_name, look, recognised


@pytest.mark.parametrize(
    "content, encoding, separator, names",
    [
        (b"a,b\n1,2\n", "utf-8", ",", ["a", "b"]),
        ("größe;ort\n1,5;Köln\n".encode("latin-1"), "latin-1", ";", ["größe", "ort"]),
        ("preis;ort\n5 €;Köln\n".encode("cp1252"), "cp1252", ";", ["preis", "ort"]),
        ("a\tb\n1\t2\n".encode("utf-16"), "utf-16", "\t", ["a", "b"]),
        ("\ufeffa|b\n1|2\n".encode(), "utf-8", "|", ["a", "b"]),
        (b'name,text\nx,"a; b; c"\ny,"d; e"\n', "utf-8", ",", ["name", "text"]),
        (b"39,Bachelors\n50,Masters\n", "utf-8", ",", None),
        (b"m,yes\nf,no\nm,no\n", "utf-8", ",", None),
        (b"only\nx\ny\n", "utf-8", ",", ["only"]),
    ],
)
def test_a_text_file_is_recognised(
    tmp_path: Path, content: bytes, encoding: str, separator: str, names: list[str] | None
) -> None:
    path = tmp_path / "a.csv"
    path.write_bytes(content)
    found = sniff(path)
    assert (found.encoding, found.separator, found.names) == (encoding, separator, names)


def test_what_is_no_text_is_refused(tmp_path: Path) -> None:
    (tmp_path / "a.csv").write_bytes(b"a\0b")
    with pytest.raises(InputError, match="contains zero bytes"):
        sniff(tmp_path / "a.csv")
    (tmp_path / "b.csv").write_bytes(b"")
    with pytest.raises(InputError, match="'b.csv' is empty"):
        sniff(tmp_path / "b.csv")
    (tmp_path / "c.csv").write_bytes(b"\n" * (1 << 20))
    with pytest.raises(InputError, match="'c.csv' holds nothing but blank lines"):
        sniff(tmp_path / "c.csv")
    (tmp_path / "d.csv").write_bytes(b"long_name," * 120_000 + b"last\n1\n")
    with pytest.raises(InputError, match="first line of 'd.csv' is longer than the mebibyte that is looked at"):
        sniff(tmp_path / "d.csv")


# One right number of each kind, as their own documents give them.
RIGHT = {
    "an IBAN": "DE89 3704 0044 0532 0130 00",
    "a German health insurance number": "A123456780",
    "a Swiss insurance number": "756.9217.0769.85",
    "a French social security number": "255081416802538",
    "an NHS number": "943 476 5919",
    "a German tax number": "86095742719",
    "a Polish PESEL": "44051401359",
    "a Dutch BSN": "111222333",
    "a number with Luhn's check digit": "4539 1488 0343 6467",
}


@pytest.mark.parametrize("number", NUMBERS, ids=lambda one: one.words)
def test_numbers_with_check_digits(number: object) -> None:
    right = RIGHT[number.words]  # type: ignore[attr-defined]
    found = recognised([right] * 10)
    assert found is not None
    assert found.words == number.words  # type: ignore[attr-defined]
    wrong = right[:-1] + str((int(right[-1]) + 1) % 10)
    other = recognised([wrong] * 10)
    assert other is None or other.words != found.words


def test_chance_makes_no_identifier() -> None:
    draw = random.Random(1)
    assert recognised([f"{draw.randrange(10**9, 10**10)}" for _ in range(200)]) is None
    assert recognised([RIGHT["an IBAN"]] * 9) is None
    assert recognised([insurance(draw) for _ in range(50)]).words == "a German health insurance number"  # type: ignore[union-attr]


@pytest.mark.parametrize(
    "cells, direct",
    [
        (["a@b.de", "c.d@example.org"], "an e-mail address"),
        (["+49 30 1234567", "0049 89 7654321"], "a telephone number"),
        (["(212) 555-1234", "(646) 555-9876"], "a telephone number"),
        (["Hauptstraße 5", "Am Ring 12a"], "a street address"),
        (["12 Oak Street", "7 Elm Rd."], "a street address"),
        (["https://a.example/b", "192.168.0.1"], "an address on the internet"),
        (["red", "green"], None),
        (["2020-01-02", "2021-03-04"], None),
        (["01067", "10115"], None),
    ],
)
def test_cells_that_name_people(cells: list[str], direct: str | None) -> None:
    assert look(pl.Series(cells)).direct == direct


@pytest.mark.parametrize(
    "name, kind",
    [
        ("Geburtsdatum", "date of birth"), ("GebDatum", "date of birth"), ("DOB", "date of birth"),
        ("Nachname", "name"),
        ("last_name", "name"), ("Product Name", None), ("PLZ", "postcode"), ("ZIP-Code", "postcode"), ("Sex", "sex"),
        ("E-Mail", "e-mail address"), ("Telefonnr.", "telephone number"), ("Straße", "address"), ("Diagnose", "health"),
        ("ICD10", "health"), ("Einkommen", "money"), ("fnlwgt", "weight of a survey"), ("Bemerkung", "free text"),
        ("Aufnahmedatum", "date of an event"), ("native-country", "place"), ("x17", None),
    ],
)  # fmt: skip
def test_names_of_columns(name: str, kind: str | None) -> None:
    assert kind_of_name(name) == kind


def test_numbers_of_people_and_rows() -> None:
    assert is_person("Pat-Nr")
    assert is_person("patientID")
    assert is_numbered("Fall-Nr")
    assert not is_person("Station")
    assert not is_numbered("Bundesland")


@pytest.mark.parametrize(
    "cells, notation",
    [
        (["1,5", "2,25"], Notation(decimal=",")),
        (["1.234,5", "12,1"], Notation(decimal=",", thousands=".")),
        (["1,234.50", "12"], Notation(thousands=",")),
        (["1'234", "5"], Notation(thousands="'")),
        (["1.5", "2"], Notation()),
        (["01067", "10115"], None),
        (["1,5", "x"], None),
        (["nan", "1"], None),
    ],
)
def test_how_numbers_are_written(cells: list[str], notation: Notation | None) -> None:
    found = numbers_of(pl.Series(cells))
    assert (None if found is None else found.notation) == notation
    assert found is None or not found.either


def test_three_digits_behind_every_mark_are_ambiguous() -> None:
    assert [words for words, _ in numbers_of(pl.Series(["1,234", "5,678"])).either] == [  # type: ignore[union-attr]
        "decimal commas", "commas between thousands",
    ]  # fmt: skip
    assert not numbers_of(pl.Series(["1,234", "5,67"])).either  # type: ignore[union-attr]
    assert numbers_of(pl.Series(["1.234", "567"]), comma=True).either  # type: ignore[union-attr]
    assert not numbers_of(pl.Series(["1.234", "567"])).either  # type: ignore[union-attr]
    said = numbers_of(pl.Series(["1,234"]), Notation(thousands=","))
    assert said is not None
    assert said.notation.thousands == ","
    assert not said.either


def test_numbers_for_missing_ones_lie_far_from_all_others() -> None:
    ages = pl.DataFrame({"value": [30.0, 41.0, 95.0, 999.0, -1.0], "rows": [5, 5, 5, 3, 2]})
    assert sentinels_of(ages) == [-1.0, 999.0]
    assert sentinels_of(ages.with_columns(rows=pl.lit(1))) == []
    scores = pl.DataFrame({"value": [90.0, 95.0, 98.0, 99.0], "rows": [5, 5, 5, 5]})
    assert sentinels_of(scores) == []


def test_words_for_missing_are_markers_where_all_else_is_numbers_or_dates() -> None:
    crp = facts_of(pl.Series("CRP", ["1,5", "k.A.", "unbekannt", "2,5", None]))
    assert (crp.type, sorted(crp.markers), crp.missing, crp.distinct) == ("numeric", ["k.A.", "unbekannt"], 3, 2)
    born = facts_of(pl.Series("geb", ["13.04.1990", "20.05.1985", "unbekannt"]))
    assert (born.type, born.markers, born.formats) == ("date", ["unbekannt"], ("%d.%m.%Y",))
    family = facts_of(pl.Series("status", ["single", "unknown", "n/a", "married"]))
    assert (family.markers, family.non_answers) == (["n/a"], ["unknown"])
    land = facts_of(pl.Series("land", ["DE", "NA", "FR", "IT"]))  # Namibia
    assert land.markers == []


def test_dates_whose_day_and_month_could_change_places() -> None:
    assert facts_of(pl.Series("d", ["03/04/2020", "05/06/2021"])).formats == ("%d/%m/%Y", "%m/%d/%Y")
    assert facts_of(pl.Series("d", ["03/14/2020", "05/06/2021"])).formats == ("%m/%d/%Y",)
    assert facts_of(pl.Series("d", ["2020-03-04"])).formats == ()
    mixed = facts_of(pl.Series("d", ["03.04.2020", "2021-05-06", "04.05.2020", "2020-01-01"]))
    assert mixed.problem == "holds dates in several forms"


def test_whose_rows_they_are() -> None:
    def found(**columns: list[object]) -> tuple[str, str] | None:
        frame = pl.DataFrame(columns)
        return subject_of(frame, {name: facts_of(frame[name]) for name in frame.columns})

    twice = [at // 2 for at in range(60)]
    sex = ["m" if one % 3 else "f" for one in twice]
    assert found(patient=twice, sex=sex) == ("patient", "a person, 2.0 rows each")
    assert found(fallnr=twice, sex=sex) == ("fallnr", "2.0 rows each, with one sex")
    assert found(fallnr=twice, sex=["m", "f"] * 30) is None
    assert found(patient=list(range(60)), sex=sex) is None
    assert found(ward=twice, sex=sex) is None
