"""Rules and tables of an analyst, back in the terms of the original data."""

from __future__ import annotations

from random import Random

import pytest

from shoal.errors import InputError, ParameterError
from shoal.recoding.grading import GradingTable
from shoal.recoding.secrets import MappingTable, Secret, SecretKey
from shoal.vault.interpret import Interpreted, Interpreter
from tests.vault.conftest import BOUNDS

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
    # The paper's Figure 2, and joins that R makes of names.
    "Rule4 IF H-age < 1.9 THEN WorkClass = private": "Rule4 IF age < 42 THEN WorkClass = private",
    "hiding age < 1.9": "age < 42",
    "H.age < 1.9 | Age >= 1.9 | H_AGE == 1": "age < 42 | age >= 42 | age = 15",
    # Weka: J48, JRip, Apriori.
    "|   age <= 1.9: private (120.0/3.0)": "|   age <= 42: private (120.0/3.0)",
    "(age <= 1.9) and (hours >= 2.5) => w=private (2.0/1.0)": "(age <= 42) and (hours >= 2.5) => w=private (2.0/1.0)",
    "age='(1.2-1.9]' 120 ==> w=x 2    <conf:(0.83)> lift:(1.2) lev:(0.02) [2] conv:(1.3)": (
        "age='(21-42]' 120 ==> w=x 2    <conf:(0.83)> lift:(1.2) lev:(0.02) [2] conv:(1.3)"
    ),
    "age='\\'(-inf-1.9]\\'' age='(1.9-inf)'": "age='\\'(-inf-42]\\'' age='(42-inf)'",
    # scikit-learn and pandas.
    "|--- age <= 1.90": "|--- age <= 42",
    "|   |--- disease_illness_3 <= 0.50": "|   |--- disease_Flu <= 0.50",
    "age_(1.2, 1.9] = 1": "age_(21, 42] = 1",
    'df["age"] <= 1.9 and df.age > 1.2': 'df["age"] <= 42 and df.age > 21',
    # R: rpart, partykit, arules, cut.
    " 2) age< 1.9 300 2 private (0.83 0.17) *": " 2) age< 42 300 2 private (0.83 0.17) *",
    "[2] age <= 1.9: private (n = 2, err = 3.0%)": "[2] age <= 42: private (n = 2, err = 3.0%)",
    "{age=[1.2,1.9)} => {w=x}  0.3 0.8 1.2 120": "{age=[21,42)} => {w=x}  0.3 0.8 1.2 120",
    "age(1.2,1.9]": "age(21,42]",
    "age %in% c(1, 1.5)": "age %in% c(15, 30)",
    "diseaseillness_3 1": "diseaseFlu 1",
    # Sets, chains, between, other notations.
    "age in {1, 1.5, 2.999}": "age in {15, 30, 90}",
    "age between 1.2 and 1.9": "age between 21 and 42",
    "age NOT BETWEEN 1.2 AND 1.9": "age NOT BETWEEN 21 AND 42",
    "age >= 1.2 and < 1.9": "age >= 21 and < 42",
    "age >= 1.2 & <= 1.9 | > 2": "age >= 21 & <= 42 | > 46",
    "age = 1 or 1.5": "age = 15 or 30",
    "age < 1.9e0, age < 19E-1": "age < 42, age < 42",
    "age in ]1.2; 1.9[": "age in (21; 42)",
    "age = '1.5'": "age = '30'",
    "hours < 1.9 (n = 2, 2 %) and age < 1.9": "hours < 1.9 (n = 2, 2 %) and age < 42",
    "age < 1.9, class: 1, lift:(1.2), samples = 2": "age < 42, class: 1, lift:(1.2), samples = 2",
    "disease = illness_3": "disease = Flu",
    "H-disease != 'illness_12' (illness_1)": "disease != 'Stomach Cancer' (Bronchitis)",
    "disease in {illness_1,illness_3}": "disease in {Bronchitis,Flu}",
    "illness_1-illness_3 `illness_12`": "Bronchitis-Flu `Stomach Cancer`",
    "disease = ?, disease = <missing>": "disease = ?, disease = <missing>",
    "Rule 4 covers 85 % of 7 records": "Rule 4 covers 85 % of 7 records",
    "a\r\nage < 1.9\n\nb": "a\r\nage < 42\n\nb",
    "": "",
}


@pytest.mark.parametrize("text", TEXTS)
def test_texts(secrets: list[Secret], text: str) -> None:
    assert Interpreter(secrets).text(text) == Interpreted(TEXTS[text], [])


# What is left as it is, and the pieces that are listed.
LEFT = {
    "mean of H-age: 1.9": ["1.9"],
    "mean age of the class: 1.9": ["1.9"],
    "age about 1.9, or 2.5": ["1.9", "2.5"],
    "age 1.2-1.9": ["1.2", "1.9"],
    "age < 1,9": ["1"],
    "age is 1.2 to 1.9": ["1.2", "1.9"],
    "age is less than 1.9": ["1.9"],
    "age < 1.9x": ["1.9"],
    "age > 1.2 but under 1.9": ["1.9"],
    "between(age, 1.2, 1.9)": ["1.2", "1.9"],
    "log(age) < 1.1": ["1.1"],
    "2 * age < 2.8": ["2", "2.8"],
    "1.2 * age + 2": ["1.2", "2"],
    '1.2 <= df["age"]': ["1.2"],
    'df["age"].mean() < 1.9': ["1.9"],
    "age: Interval(1.2, 1.9, closed='right')": ["1.2", "1.9"],
    "age\n  <= 1.9": ["1.9"],
    "age_1.0 age": [],
    "my_illness_3 illness_3x": ["my_illness_3", "illness_3x"],
    "Illness_3 illness-3 illness3 ILLNESS_12": ["Illness_3", "illness-3", "illness3", "ILLNESS_12"],
    "disease = illness_99": ["illness_99"],
    "disease = ab and disease in {illness_1, x}": ["ab", "x"],
    "age = 7, 7 != age": ["7", "7"],
    "age in {1, 1.51}": ["1", "1.51"],
    "feature=age threshold=1.9": ["1.9"],
    "age > 1.2, cut: 1.9": ["1.9"],
    "age, median = 1.2, sd: 1.1": ["1.2", "1.1"],
    "age min=1.1 max=1.9, cut-off = 1.2": ["1.1", "1.9", "1.2"],
    "mean_age = 1.9, age.max: 1.2": ["1.9", "1.2"],
}


@pytest.mark.parametrize("text", LEFT)
def test_what_is_not_turned_back_is_listed(secrets: list[Secret], text: str) -> None:
    found = Interpreter(secrets).text(text)
    assert sorted(one.text for one in found.left) == sorted(LEFT[text])
    lines = text.split("\n")
    assert all(lines[one.line - 1][one.at - 1 :].startswith(one.text) for one in found.left)


@pytest.mark.parametrize(
    "text, left",
    [
        ("variable,mean,sd,n\nage,1.9,1.1,2\nhours,1.9,1.1,2\n", ["1.9", "1.1"]),
        ("column,threshold\nH-age,1.2\n", ["1.2"]),
        ("mean_age,max(age),age.min,n\n1.2,1.9,1.1,2\n", ["1.2", "1.9", "1.1"]),
        ("mean,n\n1.9,2\n", []),
    ],
)
def test_figures_of_a_graded_column_in_a_table_are_listed(secrets: list[Secret], text: str, left: list[str]) -> None:
    assert [one.text for one in Interpreter(secrets).table(text).left] == left


@pytest.mark.parametrize(
    "text, left",
    [
        ("Cluster means:\n     age hours\n1 1.25 32.1\n2 2.43 41.6\n\n1.5 2.5\n", ["1", "1.25", "2", "2.43"]),
        ("    disease  age\n1 illness_3 1.81\n", ["1", "1.81"]),
        ("age;disease\n1.9;illness_3;4\n", ["1.9"]),
        ("age hours\n[[1.25 22.]\n [2.25 47.]]\n", ["1.25", "2.25"]),
        ("age hours\n(1.25, 22)\n{2.25, 47}\n", ["1.25", "2.25"]),
        ("The age matters.\nWe had 2 runs of it.\n", []),
        ("age < 1.9\n2 1.5\n", []),
    ],
)
def test_numbers_in_rows_below_a_graded_column_are_listed(secrets: list[Secret], text: str, left: list[str]) -> None:
    reader = Interpreter(secrets)
    assert not reader.is_table(text)
    assert [one.text for one in reader.text(text).left] == left


def test_a_table_is_told_by_its_header(secrets: list[Secret]) -> None:
    reader = Interpreter(secrets)
    for text in ("age,disease\n1,2\n", "n;H-age\r\n1;2\r\n", "age\n1.9\n", "'age'\t\"mean (age)\"\n1\t2"):
        assert reader.is_table(text) == ("'" not in text), text
    for text in ("", "age", "age < 1.9, disease\n1,2\n", "age,disease\n1\n", "hours,work\n1,2\n", 'age,n\n"1,2\n'):
        assert not reader.is_table(text), text


def test_codes_of_any_shape_are_turned_back() -> None:
    """The paper's own: Figure 2 maps educations to ``general-h`` and ``general-w``."""
    coded = {"1st-4th": "general-h", "assoc-voc": "general-w", "10th": "x", "9th": "17", "hs grad": "my code_1"}
    reader = Interpreter([MappingTable("education", coded)])
    found = reader.text("IF hiding education = general-h THEN WorkClass = private\nIF H-education = 'general-w'\n")
    assert found == Interpreted("IF education = 1st-4th THEN WorkClass = private\nIF education = 'assoc-voc'\n", [])
    assert reader.text("education = x or education = 17, 17 rows") == Interpreted(
        "education = 10th or education = 9th, 17 rows", []
    )
    assert reader.text("education = my code_1").text == "education = hs grad"
    left = reader.text("general-purpose, general-hx, education = specific").left
    assert [one.text for one in left] == ["general-purpose", "general-hx", "specific"]


def test_every_number_beside_a_graded_column_is_turned_back_or_listed(secrets: list[Secret]) -> None:
    """Words, signs and brackets at random: in no mixture does a code stay unlisted."""
    random = Random(1)
    parts = ["and", "or", "is", "mean", "2", "<", "<=", "=", ",", "-", "'", "between", "in", "to", *"()[]{}"]
    reader = Interpreter(secrets)
    for _ in range(3000):
        before, behind = (" ".join(random.choices(parts, k=random.randrange(4))) for _ in range(2))
        text = f"{before} age {behind} 1.9"
        found = reader.text(text)
        assert "1.9" not in found.text or [one for one in found.left if one.text.startswith("1.9")], text


def test_every_code_is_turned_back_or_listed(secrets: list[Secret]) -> None:
    random = Random(2)
    around = ["", " ", "_", "-", ".", "'", "x", "7", "=", "(", ")", "[", "disease", "age", "H-disease ", ":", "\t", "/"]
    reader = Interpreter(secrets)
    for _ in range(3000):
        text = "".join([*random.choices(around, k=3), "illness_3", *random.choices(around, k=3)])
        found = reader.text(text)
        assert "illness_3" not in found.text or found.left, text


def test_tables(secrets: list[Secret]) -> None:
    text = 'H-age,disease,n,rule\r\n1.9,illness_1,3,age > 1.9\r\n,,0,"a, b"\r\n*,illness_12,1.9,disease = illness_3\r\n'
    assert Interpreter(secrets).table(text) == Interpreted(
        'age,disease,n,rule\n42,Bronchitis,3,age > 42\n,,0,"a, b"\n*,Stomach Cancer,1.9,disease = Flu\n', []
    )
    assert Interpreter(secrets).table("") == Interpreted("")


def test_tables_of_other_programs(secrets: list[Secret]) -> None:
    reader = Interpreter(secrets)
    assert reader.table("AGE;H.disease\n1.9;illness_1\n") == Interpreted("age;disease\n42;Bronchitis\n", [])
    assert reader.table("disease_illness_3,n\n0.5,1\n") == Interpreted("disease_Flu,n\n0.5,1\n", [])
    assert reader.table('age\n"(1.2, 1.9]"\n< 1.9\n').text == 'age\n"(21, 42]"\n< 42\n'


def test_values_with_commas_are_quoted_in_tables() -> None:
    reader = Interpreter([MappingTable("s", {'a, "b"': "s_1"})])
    assert reader.table("s\ns_1\n").text == 's\n"a, ""b"""\n'


def test_aliases(secrets: list[Secret]) -> None:
    reader = Interpreter(secrets, {"hidden age": "age", "d.code": "disease"})
    assert reader.text("hidden age < 1.9 and d.code = illness_3").text == "age < 42 and disease = Flu"
    assert reader.table("d.code\nillness_3\n").text == "disease\nFlu\n"
    with pytest.raises(ParameterError, match="'ages'"):
        Interpreter(secrets, {"x": "ages"})


def test_a_code_of_two_columns_belongs_to_the_one_named_last() -> None:
    reader = Interpreter([MappingTable("one", {"a": "c_1"}), MappingTable("two", {"b": "c_1"})])
    assert reader.text("one = c_1 and two = c_1").text == "one = a and two = b"
    assert reader.table("two,one\nc_1,c_1\n").text == "two,one\nb,a\n"
    assert str(reader.text("\nc_1").left[0]).startswith("line 2, character 1: 'c_1' is a code of several columns")


@pytest.mark.parametrize(
    "text", ["age\n1.51\n", "age\n7\n", 'age\n"1,9"\n', "age\n1.2-1.9\n", "disease\nillness_4\n", "disease\nx\n"]
)
def test_cells_that_are_no_codes_are_listed_with_their_line(secrets: list[Secret], text: str) -> None:
    found = Interpreter(secrets).table(text)
    assert found.left
    assert all(one.line == 2 for one in found.left)
    assert not [value for value in ("Flu", "15", "45", "90") for one in found.left if value in str(one).split("'")[2]]


@pytest.mark.parametrize("text", ["a,b\n1\n", 'a\n"x\n', 'a\n"x"y\n'])
def test_what_is_no_table_is_refused(secrets: list[Secret], text: str) -> None:
    with pytest.raises(InputError):
        Interpreter(secrets).table(text)


def test_keys_alone_interpret_nothing() -> None:
    with pytest.raises(ParameterError, match="neither a mapping nor a grading"):
        Interpreter([SecretKey("patient", bytes(32))])


@pytest.mark.parametrize(
    "text, turned, left",
    [
        ("IF diag_2 = diag_2_3 THEN diag = diag_2 (12/3)", "IF diag_2 = b3 THEN diag = a2 (12/3)", []),
        ("diag_2 in {diag_2_1, diag_2_3} and test-1 < 1.5", "diag_2 in {b1, b3} and test_1 < 30", []),
        ("diag_diag_2 <= 0.5", "diag_a2 <= 0.5", []),
        ("diag_2 => sex = F", "diag_2 => sex = F", ["diag_2"]),
        ("test_1 < 1.5 where it was diag_3", "test_1 < 30 where it was a3", []),
    ],
)
def test_a_column_that_is_called_like_a_code_is_no_code(text: str, turned: str, left: list[str]) -> None:
    """Neither is turned back as the other: what can be both is listed."""
    mapped = [MappingTable(name, {f"{letter}{n}": f"{name}_{n}" for n in range(1, 5)})
              for name, letter in (("diag", "a"), ("diag_2", "b"), ("test", "c"))]  # fmt: skip
    ages = GradingTable("test_1", bounds=BOUNDS, names=[1, 2], rule="paper", decimals=0)
    found = Interpreter([*mapped, ages]).text(text)
    assert (found.text, [one.text for one in found.left]) == (turned, left)
