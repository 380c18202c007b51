"""Questions of somebody who wants more than they found: to have codes for nothing, or the server busy for ever."""

from __future__ import annotations

from decimal import Decimal

import numpy as np
import polars as pl
import pytest

from shoal.errors import ParameterError
from shoal.recoding.grading import GradingTable
from shoal.recoding.secrets import MappingTable, Secret, SecretKey
from shoal.vault.protocol.decision import Policy, answer, examine
from shoal.vault.protocol.recount import Counter
from shoal.vault.protocol.statements import Released
from shoal.vault.protocol.submission import Submission

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
    for figure in (
        "confidence 0e9", "confidence = 0", "support = 0e9", "lift = 0e3", "errors 0e9", "lift = 0",
        "confidence = 1e400", "confidence = 1e400 %", "error = 1e400", "lift = 1e999", "support = -1e400",
    ):  # fmt: skip
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


def test_a_number_beyond_all_is_no_code(ward: Counter) -> None:
    rows = ward.released.frame.filter(pl.col("age") == pl.col("age").min())
    share = rows.filter(pl.col("work") == "private").height / rows.height
    found = examine(Submission(text=f"IF age = -1e400 THEN work = private (confidence {share:.6f})"), ward, OPEN)
    assert found.state == "refused"


def test_no_code_rides_along_with_others_of_its_column(ward: Counter) -> None:
    """Lists and negations that change no row, or whose codes change nothing by themselves."""
    one, all_codes = CODES[1], ", ".join(CODES)
    for riding in (f"disease in {{{all_codes}}}", " AND ".join(f"disease != {code}" for code in CODES if code != one)):
        found = examine(Submission(text=f"IF disease = {one} AND {riding} THEN sex = F"), ward, OPEN)
        assert found.gained.in_column("disease") == {one}, riding
    ages = ", ".join(repr(float(code)) for code in ward.codes("age")[0][:40])
    found = examine(Submission(text=f"IF disease = {one} AND age not in {{{ages}}} THEN sex = F"), ward, OPEN)
    assert found.gained.codes == {}
    # Of four codes, one goes with sex; the others would be told beside it.
    ill = np.repeat(["a1", "b2", "c3", "d4"], 400)
    sex = np.where(np.arange(1600) % 10 < np.where(ill == "a1", 9, 5), "F", "M")
    plain = Counter(Released.of(pl.DataFrame({"ill": ill, "sex": sex}), {"ill": "mapping"}))
    assert examine(Submission(text="IF ill in {a1, b2, c3} THEN sex = F"), plain, OPEN).gained.codes == {}
    assert examine(Submission(text="IF ill = a1 THEN sex = F"), plain, OPEN).gained.codes == {"ill": {"a1"}}


def test_conditions_that_exclude_each_other_are_about_nobody(ward: Counter) -> None:
    text = f"IF disease = {CODES[1]} AND disease != {CODES[1]} THEN sex = F"
    assert examine(Submission(text=text), ward, OPEN).state == "refused"


def test_centres_tell_no_code_at_the_edge_and_one_of_everything_none(ward: Counter) -> None:
    mean = float(ward.released.frame["age"].mean())  # type: ignore[arg-type]
    assert examine(Submission(text=f"cluster,age,n\n0,{mean:.6f},3000\n"), ward, OPEN).state == "refused"
    # Two clusters of one column; the smaller has 12 rows, of which the topmost code has one.
    codes = np.concatenate([1 + 0.9 * np.arange(200) / 200, np.full(11, 5.0), [5.0001]])
    edge = Counter(Released.of(pl.DataFrame({"income": codes}), {"income": "grading"}))
    low, high = codes[:200].mean(), codes[200:].mean()
    text = f"cluster,income\n0,{low:.6f}\n1,{high + 0.0001:.6f}\n"
    found = examine(Submission(text=text), edge, Policy(minimum=12, waiting=1, budget=1, together=1))
    assert [one.line for one in found.accepted] == [2]
    assert "fewer than 12 rows have, or lie beyond" in found.refused[0].why


def test_what_a_list_means_is_told_in_an_order_of_its_own() -> None:
    mapping = MappingTable("ill", {"Flu": "a1", "Asthma": "b2", "Gout": "c3"})
    rows = pl.DataFrame({"ill": np.repeat(["a1", "b2", "c3"], 200), "sex": np.repeat(["F", "F", "M"], 200)})
    for listed in ("a1, b2", "b2, a1"):
        found = examine(Submission(text=f"IF ill in {{{listed}}} THEN sex = F"),
                        Counter(Released.of(rows, {"ill": "mapping"})), OPEN)  # fmt: skip
        assert answer(found, [mapping]).text == "IF ill in {Asthma, Flu} THEN sex = F\n"


def test_a_name_of_nothing_is_found_nowhere(ward: Counter) -> None:
    for alias in ("", " ", "--"):
        with pytest.raises(ParameterError, match="neither a letter nor a digit"):
            examine(Submission(text="IF age < 1.5 THEN work = private", aliases={alias: "age"}), ward, OPEN)
    unnamed = Released(ward.released.frame.rename({"hours": ""}), ward.released.coded)
    found = examine(Submission(text="IF age < 1.5 THEN work = private"), Counter(unnamed), OPEN)
    assert found.state == "answered"


def wide(name: str, graded: bool) -> tuple[Counter, list[Secret]]:
    """Four codes of 'diag', and another coded column whose name is spelt like one of them; sex goes with that one."""
    other = np.arange(2400) % 4 + 1
    codes = np.where(other == 3, 1.25, 1.75) if graded else np.array([f"{name}_{one}" for one in other])
    frame = pl.DataFrame({
        "diag": [f"diag_{one // 4 % 4 + 1}" for one in range(2400)], name: codes,
        "sex": np.where(np.arange(2400) // 16 % 10 < np.where(other == 3, 9, 2), "F", "M"),
    })  # fmt: skip
    ages = GradingTable(name, bounds=[(Decimal(16), Decimal(20))], names=[1], rule="paper", decimals=0)
    mapped = MappingTable(name, {f"b{one}": f"{name}_{one}" for one in range(1, 5)})
    secrets: list[Secret] = [MappingTable("diag", {f"a{one}": f"diag_{one}" for one in range(1, 5)})]
    coded = {"diag": "mapping", name: "grading" if graded else "mapping"}
    return Counter(Released.of(frame, coded)), [*secrets, ages if graded else mapped]


@pytest.mark.parametrize(
    ("name", "graded", "rule", "expected"),
    [("diag_2", False, "IF diag_2 = diag_2_3 THEN sex = F", "IF diag_2 = b3 THEN sex = F\n"),
     ("diag_2", True, "IF diag_2 < 1.75 THEN sex = F", "IF diag_2 < 19 THEN sex = F\n"),
     ("diag2", True, "IF diag2 < 1.75 THEN sex = F", "IF diag2 < 19 THEN sex = F\n")],
)  # fmt: skip
def test_the_name_of_a_column_is_no_code_of_another(name: str, graded: bool, rule: str, expected: str) -> None:
    """Nothing but what is counted is told: the value of code diag_2 is not, where a column is called so."""
    counter, secrets = wide(name, graded)
    found = examine(Submission(text=rule), counter, OPEN)
    assert set(found.gained.codes) == {name}
    made = answer(found, [*secrets, SecretKey("sex", bytes(32))])
    assert (made.text, made.left) == (expected, [])


def test_no_threshold_rides_along_with_a_code_that_makes_the_difference(ward: Counter) -> None:
    """Sex goes with the illness, whatever the age."""
    ill = (pl.col("disease") == "illness_7") & (pl.col("age") < 1.5)
    rule = f"IF disease = illness_7 AND age < 1.5 THEN sex = F ({confidence(ward, ill, pl.col('sex') == 'F')})"
    found = examine(Submission(text=rule), ward, OPEN)
    assert (found.state, found.gained.plain()) == ("refused", {})
    assert found.refused[0].why == "says no more of its codes than how often they occur"


def test_thresholds_of_a_column_are_judged_and_counted_together(ward: Counter) -> None:
    """As the interval that they make, since leaves of trees seldom bear out each end of one."""
    for low, ages in ((1.2, 2), (0.5, 1)):
        found = examine(Submission(text=f"IF age > {low} AND age < 1.5 THEN work = private"), ward, OPEN)
        assert (found.state, len(found.gained.in_column("age"))) == ("answered", ages), low
    found = examine(Submission(text="IF age > 1.2 AND age < 1.5 AND disease = illness_7 THEN sex = F"), ward, OPEN)
    assert found.state == "refused"
