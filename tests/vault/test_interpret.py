"""Rules and tables of an analyst, back in the terms of the original data."""

from __future__ import annotations

import pytest

from shoal.errors import DomainError, InputError, ParameterError
from shoal.recoding.secrets import MappingTable, Secret, SecretKey
from shoal.vault.interpret import Interpreter

# Ages 15 to 45 are 1 + (age - 15)/30, ages 46 to 90 are 2 + (age - 46)/44, maxima .999.
TEXTS = {
    "H-age < 1.9": "age < 42",
    "age<=1.9": "age<=42",
    "IF H-age < 1.9 THEN WorkClass = private": "IF age < 42 THEN WorkClass = private",
    "age > 1.91": "age > 42",
    "age >= 1.91": "age >= 43",
    "age ≥ 1.91 and age ≠ 2.999": "age >= 43 and age != 90",
    "age == 1": "age = 15",
    "age <> 1.5": "age != 30",
    "1.2 <= H-age < 1.9.": "21 <= age < 42.",
    "1.9>age": "42>age",
    "age < 1.9995": "age < 46",
    "age <= 1.9995": "age <= 45",
    "age < 9": "age <= 90",
    "age > 0.5": "age >= 15",
    "age in (1.2, 1.9]": "age in (21, 42]",
    "age in [-inf, 1.9)": "age in [-inf, 42)",
    "'H-age' > 1.9 or \"age\" > 1.9": "'age' > 42 or \"age\" > 42",
    "years < 1.9 and hours < 1.9": "years < 1.9 and hours < 1.9",
    "age-group < 1.9, H-ages < 1.9, x1.2 < age": "age-group < 1.9, H-ages < 1.9, x1.2 < age",
    "mean of H-age: 1.9": "mean of age: 1.9",
    "disease = illness_3": "disease = Flu",
    "H-disease != 'illness_12' (illness_1)": "disease != 'Stomach Cancer' (Bronchitis)",
    "my_illness_3 illness_3x": "my_illness_3 illness_3x",
    "Rule 4 covers 85 % of 7 records": "Rule 4 covers 85 % of 7 records",
    "a\r\nage < 1.9\n\nb": "a\r\nage < 42\n\nb",
    "": "",
}


@pytest.mark.parametrize("text", TEXTS)
def test_texts(secrets: list[Secret], text: str) -> None:
    assert Interpreter(secrets).text(text) == TEXTS[text]


def test_tables(secrets: list[Secret]) -> None:
    text = 'H-age,disease,n,rule\r\n1.9,illness_1,3,age > 1.9\r\n,,0,"a, b"\r\n*,illness_12,1.9,disease = illness_3\r\n'
    assert Interpreter(secrets).table(text) == (
        'age,disease,n,rule\n42,Bronchitis,3,age > 42\n,,0,"a, b"\n*,Stomach Cancer,1.9,disease = Flu\n'
    )
    assert Interpreter(secrets).table("") == ""


def test_values_with_commas_are_quoted_in_tables() -> None:
    reader = Interpreter([MappingTable("s", {'a, "b"': "s_1"})])
    assert reader.table("s\ns_1\n") == 's\n"a, ""b"""\n'


def test_aliases(secrets: list[Secret]) -> None:
    reader = Interpreter(secrets, {"hidden age": "age", "d.code": "disease"})
    assert reader.text("hidden age < 1.9 and d.code = illness_3") == "age < 42 and disease = Flu"
    assert reader.table("d.code\nillness_3\n") == "disease\nFlu\n"
    with pytest.raises(ParameterError, match="'ages'"):
        Interpreter(secrets, {"x": "ages"})


def test_a_code_of_two_columns_belongs_to_the_one_named_last() -> None:
    reader = Interpreter([MappingTable("one", {"a": "c_1"}), MappingTable("two", {"b": "c_1"})])
    assert reader.text("one = c_1 and two = c_1") == "one = a and two = b"
    assert reader.table("two,one\nc_1,c_1\n") == "two,one\nb,a\n"
    with pytest.raises(DomainError, match="Line 2 .* several columns"):
        reader.text("\nc_1")


@pytest.mark.parametrize("text", ["x\nage = 1.51", "x\nage != 7", "x\nillness_4", "x\ndisease = illness_99"])
def test_what_is_no_code_is_refused_with_its_line(secrets: list[Secret], text: str) -> None:
    with pytest.raises(DomainError, match="Line 2") as refused:
        Interpreter(secrets).text(text)
    assert not [value for value in ("Flu", "15", "45", "90") if value in str(refused.value)]


@pytest.mark.parametrize("text", ["age\n1.51\n", "age\n7\n", "disease\nillness_4\n"])
def test_cells_that_are_no_codes_are_refused_with_their_line(secrets: list[Secret], text: str) -> None:
    with pytest.raises(DomainError, match="Line 2"):
        Interpreter(secrets).table(text)


@pytest.mark.parametrize("text", ["a,b\n1\n", 'a\n"x\n', 'a\n"x"y\n'])
def test_what_is_no_table_is_refused(secrets: list[Secret], text: str) -> None:
    with pytest.raises(InputError):
        Interpreter(secrets).table(text)


def test_keys_alone_interpret_nothing() -> None:
    with pytest.raises(ParameterError, match="neither a mapping nor a grading"):
        Interpreter([SecretKey("patient", bytes(32))])
