"""What is handed in and not read is listed, line by line, whatever stands around it."""

from __future__ import annotations

import json
import re

import polars as pl
import pytest

from shoal.errors import InputError
from shoal.vault.protocol.recount import Counter
from shoal.vault.protocol.statements import Released
from tests.vault.test_protocol import ask, forms, small, told  # noqa: F401

RULE = "IF age < 1.9 THEN disease = illness_3"
# What stands behind a rule, and the codes of it that have to be listed.
AROUND = {
    "We saw illness_12 too": ["illness_12"],
    "illness_1 17": ["illness_1"],
    "disease_illness_7 0.53": ["illness_7"],
    "diseaseillness_7 0.53": ["illness_7"],
    "illness_3": ["illness_3"],
    "my_illness_12, Illness-7": ["illness_12", "Illness-7"],
    "it is at 1.5": ["1.5"],
    "1  2.5  33.1": ["1", "2.5"],
    "illness_1 illness_12 \n      120        30 ": ["illness_1", "illness_12"],
    "IF age < 1.5 and years < 3 THEN disease = illness_7": ["age < 1.5", "illness_7"],
    "Number of Rules : 2\nThat is all.\n\n-----": [],
}


@pytest.mark.parametrize("text", AROUND)
def test_codes_on_lines_that_were_not_read_are_listed(small: Counter, text: str) -> None:  # noqa: F811
    found = ask(small, f"{RULE}\n{text}")
    assert told(found) == "IF age < 42 THEN disease = Flu\n"
    listed = [one.text for one in found.left]
    assert all(code in listed for code in AROUND[text]), listed
    assert bool(listed) == bool(AROUND[text])
    alone = ask(small, text)
    assert (alone.state, alone.accepted) == ("refused", ())
    assert "no statement that could be read" in alone.refused[0].why


def test_no_tree_or_table_hides_codes(small: Counter) -> None:  # noqa: F811
    bars = "age < 1.9: illness_3 (602.0/120.0)\nage >= 1.9\n|   disease = illness_7\nillness_12 was there"
    listed = [one.text for one in ask(small, bars, target="disease").left]
    assert {"illness_7", "illness_12", "age >= 1.9"} <= set(listed)
    sklearn = "illness_12: 3\n|--- age <= 1.89\n|   |--- class: illness_3\n|--- age >  1.89\n|   |--- class: illness_7"
    assert [one.text for one in ask(small, sklearn).left] == ["illness_12"]
    rpart = "1) root 9 5 illness_3 (0.5 0.5)\n  2) age< 1.9 6 2 illness_3 (0.8 0.2) *\nillness_12"
    assert "illness_12" in [one.text for one in ask(small, rpart).left]
    csv = "disease,note,n\nillness_1,see illness_12,5\n"
    assert {"illness_1", "illness_12"} <= {one.text for one in ask(small, csv).left}
    given = {"statements": [{"if": ["age < 1.9"], "then": ["disease = illness_3"]}], "note": "illness_12"}
    assert [one.text for one in ask(small, json.dumps(given)).left] == ["illness_12"]


def test_nothing_of_what_was_read_is_listed(small: Counter) -> None:  # noqa: F811
    for name, (text, _) in forms(small).items():
        found = ask(small, text, **({"target": "disease"} if name in ("J48", "PART") else {}))
        assert not [one for one in found.left if "in no statement" in one.why], name


def test_an_empty_question_has_a_reason(small: Counter) -> None:  # noqa: F811
    for text in ("", "\n\n", "thank you", "[]"):
        assert ask(small, text).refused[0].why.startswith("begins what has no statement")


def test_codes_without_a_shape_are_found_as_words() -> None:
    frame = pl.DataFrame({"ill": ["x", "general-h", "17"] * 40, "sex": ["F", "M", "F"] * 40})
    counter = Counter(Released.of(frame, {"ill": "mapping"}))
    found = ask(counter, "max of x\ngeneral-h 3\n17 rows")
    assert [(one.line, one.text) for one in found.left] == [(1, "x"), (2, "general-h"), (3, "17")]


TWO = "K-means clustering with 2 clusters of sizes 600, 600\n\nCluster means:\n"
# What was read once in part alone, and what has to be listed or refused of it; {n} rows are young and have flu.
HIDDEN = {
    "a cell with alternatives": ('age,disease,n\n"< 1.9 or > 2.75",illness_3,{n}\n', ["2.75"]),
    "a centre that is a list": ('[{{"centre": [1.25, 2.75], "disease": "illness_3", "n": {n}}}]', ["1.25", "2.75"]),
    "a list under another name": ('[{{"age": "<1.9", "ages": [2.75], "disease": "illness_3", "n": {n}}}]', ["2.75"]),
    "a coordinate twice": ('[{{"centre": {{"age": 1.25}}, "age": 2.75, "n": {n}}}]', ["1.25", "2.75"]),
    "Weka's line without a name": (
        "Attribute Full Data 0 1\nage 1.9 1.2 2.5\nillness_12 1.25 2.75\nhours 34 20 47\n",
        ["illness_12", "1.25", "2.75"]),
    "rules behind R's sums of squares": (
        f"{TWO}  hours\n1 32\n2 42\n\nWithin cluster sum of squares by cluster:\n[1] 15.1 39.8\n\n"
        "[1] {{disease=illness_12}} => {{sex=F}} 0.07 0.83\n[2] {{age=1.25}} => {{disease=illness_7}} 0.07 0.83\n",
        ["illness_12", "illness_7", "1.25"]),
    "R's column by two names": (f"{TWO}  age H-age hours\n1 1.25 2.5 32\n2 2.25 1.5 42\n", ["1.25", "2.5", "2.25"]),
    "R's column in two parts": (f"{TWO}  age\n1 1.25\n2 2.25\n  age\n1 1.5\n2 2.5\n", ["1.25", "2.25", "1.5", "2.5"]),
    "numpy's column by two names": ("age H-age hours\n[[1.25 2.5 32]\n [2.25 1.5 42]]\n", ["1.25", "2.5", "2.25"]),
    "rows with names": ("        sex     work n\nillness_12 F private {n}\n", ["illness_12"]),
    "rows with numbers for names": ("     disease sex n\n1.25 illness_3 F {n}\n", ["1.25", "illness_3"]),
}  # fmt: skip


@pytest.mark.parametrize("what", HIDDEN)
def test_nothing_is_read_in_part_without_a_word(small: Counter, what: str) -> None:  # noqa: F811
    text, codes = HIDDEN[what]
    n = small.released.frame.filter(pl.col("age") < 1.9, pl.col("disease") == "illness_3").height
    found = ask(small, text.format(n=n))
    told = " ".join([*(one.text for one in found.left), *(one.statement for one in found.refused)])
    assert [code for code in codes if code not in re.findall(r"[\w.]+", told)] == [], told
    assert found.accepted == ()


@pytest.mark.parametrize(
    ("text", "form"),
    [("age,age,work,n\n1.25,<1.5,private,9\n", "csv"), ('[{"age": 1.25, "age": "<1.5", "n": 9}]', "json")],
)  # fmt: skip
def test_a_name_that_stands_twice_is_refused(small: Counter, text: str, form: str) -> None:  # noqa: F811
    with pytest.raises(InputError, match="a name twice"):
        ask(small, text, form=form)


def test_a_code_is_not_listed_by_a_longer_one(small: Counter) -> None:  # noqa: F811
    """What a line begins with is listed as it is, and the rest of a long one code by code."""
    text = f"hours of illness_12, disease_illness_7 and 21.95 {'and so on ' * 8} illness_1, illness_7 at 1.9"
    found = ask(small, text)
    assert [one.text for one in found.left][1:] == ["illness_1", "1.9"]
