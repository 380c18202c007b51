"""What the command line turns back and what a server reads of the same rule are the same records."""

from __future__ import annotations

import polars as pl
import pytest

from shoal.vault.interpret import Interpreter
from shoal.vault.protocol.conditions import Conditions
from shoal.vault.protocol.recount import Counter
from shoal.vault.protocol.statements import Released
from tests.vault.test_protocol import AGES, ILLS, ask, small, told  # noqa: F401

BOTH = [
    "age < 1.9", "H-age <= 1.9", "hiding age > 1.5", "age ≥ 1.2", "age == 1.5", "age != 1.5", "age <> 1.5", "1.9 > age",
    "1.2 <= age < 1.9", "age >= 1.2 and < 1.9", "age >= 1.2 and age < 1.9", "(age <= 1.9) and (hours >= 33)",
    "age in (1.2, 1.9]", "age='(1.2-1.9]'", "age='\\'(-inf-1.9]\\''", "age in [1.2, inf)", "age in ]1.2; 1.9[",
    "age(1.2,1.9]", "age between 1.2 and 1.9", "age BETWEEN 1.2 AND 1.9", "age in {1, 1.5, 2.999}",
    "age %in% c(1, 1.5)", "age not in {1, 1.5}", "'age' < 1.9", 'df["age"] <= 1.9', "Age < 19E-1", "age < 1.9995",
    "age > 1.91", "age < 9", "disease = illness_3", "disease == 'illness_3'", "disease != illness_12",
    "disease in {illness_3, illness_7}",
    "disease not in {illness_3, illness_7}", "disease_illness_3 > 0.5", "disease_illness_3 <= 0.50",
    "disease=illness_3 and sex = F", "H-disease = illness_7 & age > 2",
]  # fmt: skip


@pytest.mark.parametrize("text", BOTH)
def test_both_read_the_same_of_a_condition(small: Counter, text: str) -> None:  # noqa: F811
    frame = small.released.frame
    original = frame.with_columns(age=AGES.decode(frame["age"]).cast(pl.Float64), disease=ILLS.decode(frame["disease"]))
    plain = Counter(Released.of(original, {}))
    turned = Interpreter([AGES, ILLS]).text(text)
    assert not turned.left
    there, here = Conditions(small.released).read(text), Conditions(plain.released).read(turned.text)
    assert there.conditions
    assert (small.rows(there.conditions) == plain.rows(here.conditions)).all(), (turned.text, there, here)


# What the command line turns back as it stands, and a server, which would have to count it, does not: it says so.
ALONE = [
    "age not between 1.2 and 1.9", "age NOT BETWEEN 1.2 AND 1.9", "age = 1 or 1.5", "age not in (1.2, 1.9]",
    "age < 1.2 or age > 1.9", "age < 1.2 | sex = F", "age < 1.2 || sex = F", "age >= 1.2 & <= 1.9 | > 2",
    "not age < 1.9", "age < 1.9 unless sex = F",
]  # fmt: skip


@pytest.mark.parametrize("text", ALONE)
def test_what_a_server_cannot_count_is_named_and_not_read_as_something_else(small: Counter, text: str) -> None:  # noqa: F811
    assert not Interpreter([AGES, ILLS]).text(text).left
    rows = small.n - 1
    for rule in (f"IF {text} THEN disease = illness_3", f"{text}: n = {rows}", f"IF disease = illness_3 THEN {text}"):
        found = ask(small, rule)
        assert found.accepted == (), rule
        assert "no statement that could be read" in found.refused[0].why, (rule, found.refused)
        assert found.left[0].line == 1
        assert any(word in found.left[0].why for word in ("alternatives", "was not read", "no condition")), found.left
