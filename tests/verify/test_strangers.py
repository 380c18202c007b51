"""No released cell names anybody: identifiers of every row are looked for in every column, in any spelling."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl
import pytest

import shoal
from shoal.errors import GateError, RefusalError
from shoal.registry import load
from shoal.release.entry import verify_release
from shoal.verify.gate import gate
from shoal.verify.report import GateCase
from tests.verify.cases import COLUMNS, failed, hospital_case, manifest
from tests.verify.whole import check_anybody, check_texts, check_words

SYLLABLES = ["ber", "dor", "gri", "hal", "ken", "lun", "mar", "nor", "pol", "rad", "sten", "tor", "vik", "wal", "zin"]
GIVEN = ["Anna", "Bernd", "Carla", "David", "Eva", "Frank", "Greta", "Hans", "Ida", "Jan"]
VOCABULARY = ["seen", "today", "pain", "better", "review", "stable", "cough", "night", "dose", "weeks", "mild", "since"]


def people(count: int) -> pl.Series:
    """Different people, written "Surname, First name"."""
    surnames = [
        f"{first}{second}{third}".title() for first in SYLLABLES for second in SYLLABLES for third in SYLLABLES[:4]
    ]
    return pl.Series("name", [f"{surnames[row]}, {GIVEN[row % 10]}" for row in range(count)])


def notes(count: int, seed: int = 1) -> list[str]:
    random = np.random.default_rng(seed)
    return [" ".join(random.choice(VOCABULARY, 5)) for _ in range(count)]


def planted(cell: str, row: int = 8, count: int = 200) -> pl.DataFrame:
    cells = notes(count)
    cells[row] = cell
    return pl.DataFrame({"note": cells})


def found(frame: pl.DataFrame, *hidden: pl.Series, subject: pl.Series | None = None) -> tuple[bool, bool]:
    """Whether whole identifiers are found, and words of them; no message holds a value."""
    whole = check_anybody([frame], hidden, subject)
    named = check_words(frame.get_columns(), hidden, hidden, subject, ())
    text = " ".join(check.detail for check in [whole, *named])
    for cell in frame.select(pl.col(pl.String)).to_series(0).to_list():
        assert cell is None or len(cell) < 8 or cell not in text
    return not whole.passed, bool(named)


@pytest.mark.parametrize(
    "written",
    [
        "{0}, {1}", "{1} {0}", "{0} {1}", "{0}/{1}", "seen: {1} {0}, again", "{0}{1}", "mail {1}.{0}@clinic.org",
        "MR {1} {0}", "{0}-{1}",
    ],
)  # fmt: skip
@pytest.mark.parametrize("change", [str, str.upper, str.lower])
def test_another_rows_name_is_found_in_any_spelling(written: str, change: Any) -> None:
    names = people(200)
    surname, given = names[57].split(", ")
    assert found(planted(change(written.format(surname, given))), names)[0]


@pytest.mark.parametrize(
    "identifier", ["Müller-Lüdenscheidt, Jörg", "Ångström, Søren", "Straßburger, Zoë", "Núñez, José"]
)
@pytest.mark.parametrize("count", [1, 3])
def test_accents_and_umlauts_are_no_hiding_place(identifier: str, count: int) -> None:
    names = pl.concat([people(199), pl.Series("name", [identifier])])
    bare = identifier.replace("ü", "ue").replace("ö", "oe").replace("ß", "ss").replace("Å", "A").replace("ø", "o")
    bare = bare.replace("ú", "u").replace("ñ", "n").replace("é", "e").replace("ë", "e")
    cells = notes(200)
    for row in range(count):
        cells[row] = f"Hr. {bare.split(',')[0].upper()} called"
    assert found(pl.DataFrame({"note": cells}), names)[1]
    assert found(planted(bare), names)[0]


@pytest.mark.parametrize(
    "identifier, cell",
    [
        ("0171/5550123", "call 0171 5550123"), ("0171/5550123", "+49 171 555-0123"),
        ("0171/5550123", "tel.01715550123"),
        ("1234567", "no. 1234567"), ("1234567", "file KH-1234567-A"), ("AB-123456", "see ab123456"),
        ("AB123456", "AB 123456"),
        ("DE89 3704 0044 0532 0130 00", "iban DE89370400440532013000"), ("jo.smith@x.org", "write to JO.SMITH@x.org"),
        ("jo.smith@x.org", "jo smith rang"), ("P0007", "as p0007 said"), ("123-45-6789", "ssn 123 45 6789"),
        ("06.12.34.56.78", "06.12.34.56.78"), ("06 12 34 56 78", "tel 06/12/34/56/78"),
        ("2024-01-12-0042", "2024-01-12-0042"),
        ("0171/5550123", "0171\u00a0555\u20110123"), ("DE89370400440532013000", "iban DE89 3704 0044 0532 0130 00"),
        ("AB123456C", "AB 12 34 56 C"),
    ],
)  # fmt: skip
def test_numbers_and_addresses_are_found_with_other_separators(identifier: str, cell: str) -> None:
    hidden = pl.Series("id", [identifier, *(f"{900_000_000 + 7919 * row}" for row in range(199))])
    assert found(planted(cell, row=40), hidden)[0]


@pytest.mark.parametrize(
    "identifier, cell",
    [
        ("Berdorhal, Eva", "Ber\u00addor\u200bhal"), ("O'Reilly, Ann", "Mrs OREILLY"), ("OReilly, Ann", "Mrs O’Reilly"),
        ("Abel-Zand, Jo", "abelzand"), ("Hugolin, Jo", "chez l'Hugolin"), ("王伟", "王伟"), ("王伟", "电话 王伟"),
    ],
)  # fmt: skip
def test_marks_inside_a_name_and_short_names_of_other_scripts_are_no_hiding_place(identifier: str, cell: str) -> None:
    names = pl.Series("name", [identifier, *people(199)])
    assert found(planted(cell), names)[1]


def test_a_number_is_found_in_a_column_of_numbers() -> None:
    phones = pl.Series("phone", [5_550_000 + 37 * row for row in range(200)])
    incomes = [20_000 + 13 * row for row in range(200)]
    assert check_anybody([pl.DataFrame({"income": incomes})], [phones], None).passed
    incomes[9] = phones[100]
    assert not check_anybody([pl.DataFrame({"income": incomes})], [phones], None).passed
    assert not check_anybody([pl.DataFrame({"income": [float(x) for x in incomes]})], [phones], None).passed


def test_numbers_meet_by_chance() -> None:
    random = np.random.default_rng(3)
    numbers = pl.Series("number", random.permutation(200_000)[:50_000] + 100_000)
    incomes = pl.DataFrame({"income": random.integers(0, 400_000, 20_000)})
    assert check_anybody([incomes], [numbers], None).passed


def test_numbers_that_run_on_hold_months_and_incomes_by_chance_but_not_a_column_of_themselves() -> None:
    numbers = pl.Series("number", np.arange(202_001, 203_001))
    months = [202_301 + row % 12 for row in range(1000)]
    assert check_anybody([pl.DataFrame({"month": months})], [numbers], None).passed
    mothers = [int(numbers[row * 7 % 1000]) if row % 20 == 0 else None for row in range(1000)]
    assert not check_anybody([pl.DataFrame({"mother": mothers})], [numbers], None).passed
    zeros = pl.Series("number", ["000000", "0000000", "00000000"] * 2)
    assert check_anybody([pl.DataFrame({"month": months})], [zeros], None).passed


def test_a_surname_in_every_note_is_found() -> None:
    names = people(529)
    cells = [f"{note}, Hr. {name.split(',')[0].upper()}" for note, name in zip(notes(529), names, strict=True)]
    checks = check_words([pl.Series("note", cells)], [names], [names], None, ())
    assert [check.code for check in checks] == ["W-NAMES:note"]
    assert "529 cells of 'note'" in checks[0].detail
    assert check_words([pl.Series("note", cells)], [names], [names], None, ["W-NAMES:note"])[0].passed


def test_common_surnames_are_found_in_their_own_rows() -> None:
    given = [f"{one} {other}" for one in GIVEN for other in GIVEN]
    names = pl.Series("name", [f"{('Meier', 'Huber', 'Bauer')[row % 3]}, {given[row % 16]}" for row in range(300)])
    cells = [f"{note}, Fr. {name.split(',')[0]}" for note, name in zip(notes(300), names, strict=True)]
    assert check_words([pl.Series("note", cells)], [names], [names], None, ())
    turned = pl.Series("note", cells[1:] + cells[:1])
    assert not check_words([turned], [names], [names], None, ()), "half of them have any such name: it says nothing"


def test_vocabulary_is_no_name() -> None:
    names = pl.concat([people(195), pl.Series("name", ["Mild, Jo", "Dose, Al", "Since, Bo", "Night, Cy", "Pain, Di"])])
    assert found(pl.DataFrame({"note": notes(200)}), names) == (False, False)


@pytest.mark.parametrize("value", ["M", "Berlin", "Bad Homburg", "12345678"])
def test_what_many_share_names_nobody(value: str) -> None:
    shared = pl.Series("town", [value] * 60 + ["Elsewhere"] * 140)
    assert found(planted(value, row=150), shared) == (False, False)


def test_people_count_not_rows() -> None:
    names = pl.Series("name", [f"{name}" for name in people(10) for _ in range(30)])
    subject = pl.Series("who", [row // 30 for row in range(300)])
    cell = planted(names[0], row=250, count=300)
    assert found(cell, names, subject=subject)[0]
    assert not found(cell, names)[0]


@pytest.mark.parametrize(
    "cells, is_text",
    [
        (notes(200), True), (["flu", "cold"] * 100, False), ([f"ward {row}" for row in range(200)], False),
        (["a rather long and common diagnosis", "another one that many have"] * 100, False),
        (["fine"] * 150 + notes(50), True), (notes(200)[:5] + ["fine"] * 195, False), ([None] * 200, False),
        ([f"患者{chr(0x4e00 + row)}伟来院" for row in range(200)], True),
    ],
)  # fmt: skip
def test_free_text_is_told_from_categories(cells: list[str | None], is_text: bool) -> None:
    column = pl.Series("note", cells, dtype=pl.String)
    checks = check_texts([column], ())
    assert [check.code for check in checks] == (["W-TEXT:note"] if is_text else [])
    assert all(check.passed for check in check_texts([column], ["W-TEXT:note"]))


def with_ward(wards: list[Any], **changes: Any) -> GateCase:
    names = people(24)
    case = hospital_case(identifiers=names.to_frame(), acknowledged=["W-NEUTRAL", *changes.pop("accept", [])])
    ward = pl.Series("ward", wards)
    return replace(
        case,
        original=case.original.with_columns(ward),
        released=case.released.with_columns(ward.gather(case.source)),
        **changes,
    )


def test_the_gate_looks_for_the_next_patient() -> None:
    names = people(24)
    assert failed(gate(with_ward(names.shift(1, fill_value=names[23]).to_list())))[0] == "identifiers of anybody"


def test_the_gate_asks_for_words_and_texts() -> None:
    names = people(24)
    report = gate(with_ward([f"Hr. {names[(row + 1) % 24].split(',')[0]}" for row in range(24)]))
    assert failed(report) == ["names in ward"]
    assert gate(with_ward(["north"] * 23 + [f"Hr. {names[3].split(',')[0]}"], accept=["W-NAMES:ward"])).passed
    texts = [f"{note} {row}" for row, note in enumerate(notes(24))]
    assert failed(gate(with_ward(texts))) == ["free text in ward"]
    assert gate(with_ward(texts, accept=["W-TEXT:ward"])).passed


def test_a_closed_list_of_values_is_no_free_text() -> None:
    texts = [f"{note} {row}" for row, note in enumerate(notes(24))]
    closed = {"type": "ordinal", "order": sorted(texts)}
    columns = [{**entry, **closed} if entry["name"] == "ward" else entry for entry in COLUMNS]
    assert "free text in ward" not in failed(gate(with_ward(texts, manifest=manifest(columns))))


ROLES: dict[str, Any] = {"identifiers": ["name"], "quasi": ["age"], "sensitive": ["disease"], "neutral": ["note"]}


def source(cells: list[str]) -> pl.DataFrame:
    count = len(cells)
    return pl.DataFrame(
        {
            "name": people(count),
            "age": [20 + row % 50 for row in range(count)],
            "disease": ["flu", "cold", "gout", "asthma"] * (count // 4),
            "note": cells,
        }
    )


def release(cells: list[str], *accept: str) -> shoal.Release:
    models = [shoal.KAnonymity(k=4), shoal.DistinctL(l=2)]
    return shoal.anonymize(
        shoal.read(source(cells), **ROLES), models=models, acknowledge=["W-NEUTRAL", *accept], seed=1
    )


def test_a_run_refuses_text_until_it_is_acknowledged_and_says_so(tmp_path: Path) -> None:
    with pytest.raises(RefusalError, match="W-TEXT:note"):
        release(notes(200))
    cells = notes(200)
    cells[7] += f" {people(200)[57].split(',')[0]}"
    made = release(cells, "W-TEXT:note", "W-NAMES:note")
    assert any("free text of 'note'" in one for one in made.manifest["not_protected"])
    assert verify_release(made.write(tmp_path / "out")).passed


def test_no_code_accepts_a_whole_name() -> None:
    cells = planted(people(200)[57])["note"].to_list()
    with pytest.raises(GateError, match="somebody's 'name'"):
        release(cells, "W-TEXT:note", "W-NAMES:note")


def test_both_tables_of_a_bucketised_release_are_searched() -> None:
    cells = ["fine"] * 200
    frame = source(cells).with_columns(
        disease=pl.Series(["flu", "cold", "gout", "asthma"] * 49 + ["flu", "cold", "gout", people(200)[57]])
    )
    with pytest.raises(GateError, match="1 cells of 'disease' hold somebody's 'name'"):
        shoal.anonymize(
            shoal.read(frame, **ROLES), algorithm=load("algorithm", "anatomy")(l=2), seed=1,
            acknowledge=["W-EXACT-QI", "W-NEUTRAL", "W-NAMES:disease"],
        )  # fmt: skip


@pytest.mark.parametrize("code", ["W-TEXT", "W-NAMES", "W-UNMODELLED", "W-TEXT:", "W-ORDER:note"])
def test_codes_of_a_column_name_it(code: str) -> None:
    with pytest.raises(shoal.errors.ParameterError, match="no warning code"):
        release(["fine"] * 200, code)
