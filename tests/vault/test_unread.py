"""What is handed in and not read is listed, line by line, whatever stands around it."""

from __future__ import annotations

import json

import polars as pl
import pytest

from shoal.vault.protocol.checking import Counter
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
