"""Questions of somebody who wants more than they found: to have codes for nothing, or the server busy for ever."""

from __future__ import annotations

import time
from contextlib import suppress

import numpy as np
import polars as pl
import pytest

from shoal.errors import ParameterError, ShoalError
from shoal.vault.protocol.asking import Policy, examine
from shoal.vault.protocol.checking import Counter
from shoal.vault.protocol.reading import Submission, read_results
from shoal.vault.protocol.statements import Released

CODES = [f"illness_{number}" for number in range(12)]
OPEN = Policy(waiting=1.0, budget=1.0, together=1.0)


@pytest.fixture(scope="module")
def ward() -> Counter:
    """3,000 people: sex goes with the illness, work with the age, and hours with nothing."""
    draw = np.random.default_rng(0)
    age, ill = draw.integers(18, 80, 3000), draw.integers(0, 12, 3000)
    frame = pl.DataFrame({
        "age": np.where(age < 40, 1 + 0.999 * (age - 18) / 21, 2 + 0.999 * (age - 40) / 39),
        "disease": [CODES[one] for one in ill],
        "sex": np.where(draw.random(3000) < np.where(ill % 2, 0.8, 0.3), "F", "M"),
        "work": np.where((age < 40) & (draw.random(3000) < 0.9), "private", "state"),
        "hours": draw.integers(10, 60, 3000),
    })  # fmt: skip
    return Counter(Released.of(frame, {"age": "grading", "disease": "mapping"}))


def confidence(ward: Counter, conditions: pl.Expr, concluded: pl.Expr) -> str:
    rows = ward.released.frame.filter(conditions)
    return f"confidence = {rows.filter(concluded).height / rows.height:.4f}"


def test_a_figure_that_any_number_would_bear_out_proves_nothing(ward: Counter) -> None:
    rule = "IF sex = F AND age < 1.5 THEN work = state"
    for figure in ("confidence 0e9", "confidence = 0", "support = 0e9", "lift = 0e3", "errors 0e9", "lift = 0"):
        found = examine(Submission(text=f"{rule} ({figure})"), ward, OPEN)
        assert found.state == "refused", figure


def test_no_code_rides_along_with_a_column_that_makes_the_difference(ward: Counter) -> None:
    """Being young makes people work; naming an illness beside it would tell the illness."""
    young, private = pl.col("age") < 1.5, pl.col("work") == "private"
    lines = [
        f"IF disease = {code} AND age < 1.5 THEN work = private "
        f"({confidence(ward, (pl.col('disease') == code) & young, private)})"
        for code in CODES
    ]
    many = f"IF disease in {{{', '.join(CODES[:5])}}} AND age < 1.5 THEN work = private"
    found = examine(Submission(text="\n".join([*lines, many])), ward, OPEN)
    assert found.gained.in_column("disease") == frozenset()
    assert examine(Submission(text="IF age < 1.5 THEN work = private"), ward, OPEN).state == "answered"


def test_a_column_that_says_nothing_makes_no_list_of_codes_another_one(ward: Counter) -> None:
    lines = [
        f"IF disease = {code} AND hours >= 11 THEN sex = F "
        f"({confidence(ward, (pl.col('disease') == code) & (pl.col('hours') >= 11), pl.col('sex') == 'F')})"
        for code in CODES
    ]
    found = examine(Submission(text="\n".join(lines)), ward, OPEN)
    assert {one.why for one in found.refused} == {"is one of a list that goes through the codes of a column one by one"}
    assert found.state == "refused"


def test_a_name_of_nothing_is_found_nowhere(ward: Counter) -> None:
    for alias in ("", " ", "--"):
        with pytest.raises(ParameterError, match="neither a letter nor a digit"):
            examine(Submission(text="IF age < 1.5 THEN work = private", aliases={alias: "age"}), ward, OPEN)
    unnamed = Released(ward.released.frame.rename({"hours": ""}), ward.released.coded)
    found = examine(Submission(text="IF age < 1.5 THEN work = private"), Counter(unnamed), OPEN)
    assert found.state == "answered"


@pytest.mark.parametrize(
    "text",
    [f"age,{'_' * 60_000},n\n1.2,3,10\n", f"age,{'_' * 900},n\n" + "1,1,1\n" * 2000,
     f'[{{"age": "1.2", "{"_" * 60_000}": 5, "n": 10}}]', "and\n" * 49_000],
    ids=["long header", "many rows", "long key", "joined lines"],
)  # fmt: skip
def test_nothing_that_is_handed_in_takes_long_to_read(ward: Counter, text: str) -> None:
    start = time.process_time()
    with suppress(ShoalError):
        read_results(Submission(text=text), ward.released)
    assert time.process_time() - start < 6
