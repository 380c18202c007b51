"""Values that look alike are refused where they are counted, with the count and without the values."""

from __future__ import annotations

import random
import unicodedata
from collections import Counter
from dataclasses import asdict
from decimal import Decimal, InvalidOperation
from pathlib import Path
from typing import Any

import polars as pl
import pytest

import shoal
from shoal.cli.main import execute
from shoal.data.stats import unknown_flags
from shoal.data.texts import Spellings, spelling_facts
from shoal.errors import InputError, ParameterError
from shoal.io.evidence import read_evidence
from shoal.recipe.recipe import load_recipe
from shoal.recipe.source import settled
from shoal.release.check import examine, findings
from shoal.web.pages.release import check_view
from tests.conftest import many

HIDDEN = ["\u200b", "\u200c", "\u00ad", "\u2060", "\ufe0f", "\u034f", "\x01", "\u180e", "\U000e0041", "\u200e"]


def read(values: list[str], role: str = "sensitive") -> shoal.Table:
    frame = pl.DataFrame({"a": [str(i % 2) for i in range(len(values))], "s": values})
    return shoal.read(frame, quasi=["a"], **{role: "s" if role == "subject" else ["s"]})


@pytest.mark.parametrize("mark", HIDDEN)
@pytest.mark.parametrize("role", ["sensitive", "subject"])
def test_invisible_characters(mark: str, role: str) -> None:
    with pytest.raises(InputError, match="Column 's' has 2 values that differ .* only in invisible") as caught:
        read(["HIV", f"HI{mark}V", "flu"], role)
    assert "HI" not in str(caught.value).replace("which", "")
    assert read(["HIV", f"fl{mark}u"], role).n == 2
    assert read(["HIV", f"HI{mark}V"], "neutral").n == 2


@pytest.mark.parametrize("blank", ["  ", "\u00a0", "\u2009", "\n", "\t", "\u3000", "\u2800"])
def test_kinds_of_white_space(blank: str) -> None:
    with pytest.raises(InputError, match="has 2 values"):
        read(["heart failure", f"heart{blank}failure", "flu"])


def test_case_and_letters_are_visible() -> None:
    assert read(["HIV", "hiv", "H\u0399V", "H-I-V"]).columns["s"].card == 4


@pytest.mark.parametrize("mark", [*HIDDEN, "\u200b \u200d", "\u2800"])
def test_an_answer_that_nobody_sees_is_none(mark: str) -> None:
    for value in (mark, f"*{mark}"):
        with pytest.raises(InputError, match="has 1 values that differ .* an empty cell only in invisible"):
            read(["HIV", value])


def read_with(settings: dict[str, Any], values: list[str]) -> shoal.Table:
    frame = pl.DataFrame({"a": [str(i % 2) for i in range(len(values))], "s": values})
    return shoal.read(frame, quasi=["a"], sensitive=["s"], settings={"s": settings})


def test_a_non_answer_is_one_however_it_was_typed() -> None:
    """The cells are composed and without blanks at their edges, so what is declared of them is too."""
    for declared in ("re\u0301fuse\u0301", "r\u00e9fus\u00e9", " r\u00e9fus\u00e9\u00a0"):
        column = read_with({"non_answers": [declared]}, ["HIV", "r\u00e9fus\u00e9"]).columns["s"]
        assert dict(zip(column.texts, unknown_flags(column), strict=True)) == {"HIV": 0, "r\u00e9fus\u00e9": 1}
    with pytest.raises(InputError, match="has 1 values that differ .* a non-answer"):
        read_with({"non_answers": ["refused"]}, ["HIV", "re\u200bfused"])
    with pytest.raises(ParameterError, match="'non_answers' of a column must be a list"):
        read_with({"non_answers": "refused"}, ["HIV", "refused"])


def test_orders_and_hierarchies_meet_their_values_however_they_were_typed() -> None:
    assert read_with({"order": ["low", "e\u0301leve\u0301 "]}, ["low", "\u00e9lev\u00e9"]).columns["s"].card == 2
    tree = shoal.Hierarchy.from_rows("s", [["e\u0301 ", "e\u0301 ", "*"], ["b", "c", "*"]])
    assert tree.labels[0] == ("\u00e9", "b")


def facts(values: list[str], role: str = "sensitive") -> list[tuple[int, int]]:
    return [(one["spellings"], one["values"]) for one in spelling_facts(read(values, role).domain)]


@pytest.mark.parametrize(
    "values, found",
    [
        (["HIV", "hiv", "flu"], [(2, 1)]),
        (["HIV", "\uff28\uff29\uff36", "flu"], [(2, 1)]),
        (["1", "01", "x"], [(2, 1)]),
        (["NA", "n/a", "N.A.", "#N/A", "flu"], [(4, 1)]),
        (["p1", "P1", "1", "1.0", "x"], [(4, 2)]),
        (["-1", "1", "10", "100", "x"], []),
        (["1.5", "01.50", "+1.5", "1.05", "x"], [(3, 1)]),
        (["a", "b", "na", "nab"], []),
    ],
)
@pytest.mark.parametrize("role", ["sensitive", "subject"])
def test_spellings_are_counted(values: list[str], found: list[tuple[int, int]], role: str) -> None:
    """Beside texts that are no numbers, or they might be read as numbers, of which all spellings are one value."""
    assert facts(values, role) == found
    assert facts(values, "neutral") == []
    for sentence in (one["sentence"] for one in spelling_facts(read(values, role).domain)):
        assert sentence.startswith("In column 's' ")
        assert ". If they are, " in sentence  # which nobody but the publisher knows
        assert not [value for value in values if len(value) > 2 and value != "n/a" and value in sentence]


def test_codes_of_one_length_are_no_spellings_of_each_other() -> None:
    assert facts([f"{code:05d}" for code in range(0, 1200, 7)]) == []


def test_numbers_are_read_as_numbers_whatever_their_spelling() -> None:
    table = read_with({"type": "numeric"}, ["1", "01", "2"])
    assert (table.columns["s"].card, spelling_facts(table.domain)) == (2, [])
    assert facts(["1", "01", "2"]) == [(2, 1)]  # by their zeros these are codes


def test_a_declared_non_answer_counts_as_a_spelling_and_missing_cells_do_not() -> None:
    assert [one["spellings"] for one in spelling_facts(read_with({"non_answers": ["NA"]}, ["n/a", "x"]).domain)] == [1]
    two = spelling_facts(read_with({"non_answers": ["NA", "n/a"]}, ["HIV", "hiv", "x"]).domain)
    assert [(one["spellings"], one["values"]) for one in two] == [(2, 1)]  # non-answers that nobody gave are no values
    frame = pl.DataFrame({"a": ["0", "1", "0"], "s": ["x", None, "<MISSING>"]})
    assert spelling_facts(shoal.read(frame, quasi=["a"], sensitive=["s"], missing="value").domain) == []


def form(text: str) -> Any:
    """What two spellings have in common, by other means than those of `shoal`."""
    plain = " ".join(unicodedata.normalize("NFKC", text).casefold().split())
    if [letter for letter in plain if letter.isalnum()] == ["n", "a"]:
        return "n/a"
    try:
        number = Decimal(plain) if set(plain) <= set("0123456789.+-") else None
    except InvalidOperation:
        number = None
    return plain if number is None or plain[-1] == "." or not plain.strip("+-")[0].isdigit() else number


def test_counts_are_those_of_another_count() -> None:
    draw = random.Random(14)
    stems = ["hiv", "flu", "n/a", "na", "p1", "p01", "1", "10", "1.5", "0", "-3", "stra\u00dfe", "a b", "b"]
    for _ in range(many(12, 600)):
        values = []
        for _ in range(draw.randint(2, 8)):
            text = draw.choice(stems)
            if text[0].isdigit():
                zeros = ["", "0"] if "." in text else ["", "", ".0", ".00"]
                text = "0" * draw.randint(0, 2) + text + draw.choice(zeros)
            text = draw.choice([str.upper, str.lower, str.title, str])(text)
            wide = "".join(chr(ord(one) + 0xFEE0) if "!" <= one <= "~" else one for one in text)
            values.append(draw.choice([text, text, wide]))
        values.append("word")  # or the column may be one of numbers
        counted = Counter(map(form, set(values)))
        alike = [count for count in counted.values() if count > 1]
        assert facts(values) == ([(sum(alike), len(alike))] if alike else []), values
        assert facts(values, "subject") == facts(values), values


RECIPE = """
[source]
path = "visits.csv"
[roles]
quasi = ["age"]
sensitive = ["disease"]
subject = "person"
key = "row"
[[models]]
name = "k"
k = 2
[[models]]
name = "distinct-l"
l = 2
[algorithm]
name = "optimal"
[engine]
name = "{engine}"
[output]
folder = "out"
"""
ROWS = "row,person,age,disease\n" + "".join(
    f"{row},{who},30,{what}\n"
    for row, (who, what) in enumerate([("p1", "HIV"), ("P1", "hiv"), ("p2", "flu"), ("p3", "gout"), ("p4", "HIV")])
)
COUNTED = [
    Spellings(column="person", role="subject", spellings=2, values=1),
    Spellings(column="disease", role="sensitive", spellings=2, values=1),
]


def lay_out(folder: Path, engine: str) -> Path:
    (folder / "visits.csv").write_text(ROWS)
    (folder / "recipe.toml").write_text(RECIPE.format(engine=engine))
    return folder / "recipe.toml"


@pytest.mark.parametrize("engine", ["memory", "duckdb"])
def test_spellings_are_told_by_every_command(tmp_path: Path, capsys: pytest.CaptureFixture[str], engine: str) -> None:
    if engine == "duckdb":
        pytest.importorskip("duckdb")
    recipe = lay_out(tmp_path, engine)
    counted = [{**asdict(one), "sentence": one.sentence} for one in COUNTED]
    sentences = [f"Warning: {one.sentence}" for one in COUNTED]
    data, problems = examine(settled(load_recipe(recipe)), lambda step: None)
    assert (data["spellings"], problems) == (counted, [])
    assert findings(data)[:2] == sentences
    assert check_view(data).warnings == tuple(sentences)
    assert not set(sentences) & set(check_view(data).sentences)
    assert execute(["check", str(recipe)]) == 0
    assert " ".join(capsys.readouterr().out.split()).count("Warning: In column") == 2
    assert execute(["run", str(recipe)]) == 0
    assert " ".join(capsys.readouterr().out.split()).count("Warning: In column") == 2
    assert read_evidence(tmp_path / "out")["spellings"] == counted
    assert "spellings" not in (tmp_path / "out" / "manifest.json").read_text()
    assert execute(["report", str(tmp_path / "out"), "-o", str(tmp_path / "dossier.html")]) == 0
    assert (tmp_path / "dossier.html").read_text().count("may be spellings of 1 ") == 2
