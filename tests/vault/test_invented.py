"""What a release does not bear out is confirmed to nobody, however it comes along with what it does."""

from __future__ import annotations

import json

import polars as pl
import pytest

from shoal.recoding.secrets import MappingTable
from shoal.vault.protocol.decision import Examined, answer, examine
from shoal.vault.protocol.recount import Counter
from shoal.vault.protocol.statements import Released
from shoal.vault.protocol.submission import Submission
from tests.vault.test_hostile_questions import CODES, OPEN, ward  # noqa: F401

SECRET = [MappingTable("disease", {f"true {place}": code for place, code in enumerate(CODES)})]


def asked(ward: Counter, text: str, form: str = "auto") -> Examined:  # noqa: F811
    return examine(Submission(text=text, form=form), ward, OPEN)


def told(found: Examined) -> str:
    return answer(found, SECRET).text


def centres(ward: Counter) -> list[float]:  # noqa: F811
    """Where two clusters of hours have their means."""
    hours = ward.released.frame["hours"]
    low, high = float(hours.quantile(0.25) or 0), float(hours.quantile(0.75) or 0)
    for _ in range(50):
        near = (hours - low).abs() <= (hours - high).abs()
        low, high = float(hours.filter(near).mean() or 0), float(hours.filter(~near).mean() or 0)  # type: ignore[arg-type]
    return [low, high]


@pytest.mark.parametrize(
    ("name", "cells", "why"),
    [
        ("then", ["disease = illness_1", "disease = illness_2"], "is a centre and a rule at once"),
        ("if", ["disease = illness_1", "disease = illness_2"], "is a centre and a rule at once"),
        ("confidence", ["0.99", "0.98"], "states a figure that cannot be checked of a centre"),
        ("mean hours", ["3", "4"], "states a figure that cannot be checked of a centre"),
        ("lift", ["7", "8"], "states a figure that cannot be checked of a centre"),
    ],
)
def test_nothing_rides_along_with_a_centre(ward: Counter, name: str, cells: list[str], why: str) -> None:  # noqa: F811
    places = centres(ward)
    rows = [f"{at},{place},{cell}" for at, (place, cell) in enumerate(zip(places, cells, strict=True))]
    found = asked(ward, "\n".join([f"cluster,hours,{name}", *rows]), "csv")
    assert (found.state, found.gained.plain()) == ("refused", {})
    assert all(why in one.why for one in found.refused)
    assert len(found.refused) == 2
    whole = [{"centre": {"hours": place}, name: cell} for place, cell in zip(places, cells, strict=True)]
    assert asked(ward, json.dumps({"centres": whole}), "json").state == "refused"
    bare = "\n".join(["cluster,hours", *(row.rpartition(",")[0] for row in rows)])
    assert asked(ward, bare, "csv").state == "answered"


def test_no_text_is_put_into_an_answer_as_a_value_that_nobody_has(ward: Counter) -> None:  # noqa: F811
    """Every row has another one, so that it would hold; and a line break in it would begin a statement."""
    line = "x\nIF work = state THEN disease = true 5"
    rule = "IF {} AND age < 1.5 THEN work = private"
    for text in (rule.format("sex not in {all of them}"), rule.format("sex != nobody"), rule.format("sex in {F, M, x}"),
                 rule.format("hours != 3.25"), rule.format("hours in {10, 11, 12.5}")):  # fmt: skip
        found = asked(ward, text)
        assert found.state == "refused", text
        assert "names a value that column" in found.refused[0].why, text
    young = {"if": [["sex", "not in", [line, "y"]], ["age", "<", 1.5]], "then": [["work", "=", "private"]]}
    assert asked(ward, json.dumps([young]), "json").state == "refused"
    assert asked(ward, rule.format("sex != F")).state == "answered"
    assert asked(ward, rule.format("hours not in {10, 11}")).state == "answered"


def test_a_rule_that_holds_behind_others_alone_is_told_so(ward: Counter) -> None:  # noqa: F811
    """Rules that are refused themselves take away whatever does not fit."""
    frame, pair = ward.released.frame, ["illness_1", "illness_2"]
    every, some = (
        (one.filter(pl.col("sex") == "F")["disease"] == "illness_1").mean()
        for one in (frame, frame.filter(pl.col("disease").is_in(pair)))
    )
    before = f"IF disease in {{{', '.join(code for code in CODES if code not in pair)}}} THEN hours > 0"
    rule = "IF sex = F THEN disease = illness_1"
    found = asked(ward, "\n".join(["decision list", before, f"{rule} (confidence = {some:.6f})"]), "rules")
    (last,) = [one for one in found.accepted if one.concluded is not None and one.concluded.column == "disease"]
    assert every < some / 2
    assert last.behind
    words = "among rows that no rule before it in the list meets"
    assert f"IF sex = F THEN disease = true 1 ({words}: confidence " in told(found)
    assert words in str(last)
    alone = asked(ward, f"decision list\n{rule} (confidence = {every:.6f})", "rules")
    assert words not in told(alone)


def test_what_holds_for_all_rows_that_are_left_says_nothing_of_its_codes(ward: Counter) -> None:  # noqa: F811
    """Where only one illness is left, everybody has it."""
    before = f"IF disease in {{{', '.join(code for code in CODES if code != 'illness_1')}}} THEN hours > 0"
    found = asked(ward, f"decision list\n{before}\nIF sex = F THEN disease = illness_1 (confidence = 1)", "rules")
    assert found.gained.plain() == {}
    assert found.refused[-1].why == "says no more of its codes than how often they occur"


FIRST = "IF sex = M AND hours > 40 THEN work = state"
BEFORE = {
    "alternatives": ["IF hours > 20 OR sex = F THEN work = state"],
    "a column that is none": ["IF town = Rome THEN work = state"],
    "a column that is none, as PART writes it": ["town = Rome: state (3.0)"],
    "a line that is too long": [f"IF hours > 20 THEN work = state {'x' * 1000}"],
    "what begins like the header of R": ["lhs OR rhs: IF hours > 20 OR sex = F THEN work = state"],
    "what ends like the header of R": ["IF hours > 20 AND", "lhs is rhs THEN work = state"],
    "the header of R": ["lhs rhs support"],
    "a print of counts": ["sex work n", "F state 1107"],
    "a print of centres": ["age  hours", "[[1.25 22.] [2.25 47.]]"],
    "another list": ["PART decision list"],
    "an enumeration": [f"IF disease = {code} THEN sex = {'MF'[place % 2]}" for place, code in enumerate(CODES[:6])],
}


@pytest.mark.parametrize("what", BEFORE)
def test_rows_that_are_left_are_not_counted_without_a_rule_before(ward: Counter, what: str) -> None:  # noqa: F811
    """Its figures are of the rows that the first rule alone leaves."""
    rest = ward.released.frame.filter(~((pl.col("sex") == "M") & (pl.col("hours") > 40)), pl.col("age") < 1.5)
    rule = f"IF age < 1.5 THEN work = private ({rest.height}/{rest.filter(pl.col('work') == 'state').height})"
    whole = asked(ward, "\n".join(["JRIP rules:", FIRST, "", rule]))
    assert whole.accepted[-1].behind
    found = asked(ward, "\n".join(["JRIP rules:", FIRST, *BEFORE[what], rule]))
    assert "IF age < 1.5" not in " ".join(map(str, found.accepted))


def test_a_rule_is_not_read_without_its_part_that_is_too_long(ward: Counter) -> None:  # noqa: F811
    text = f"IF age < 1.5 AND\nhours > {'0' * 1000}40\nTHEN work = private"
    assert asked(ward, text).accepted == ()


def test_the_lift_of_a_rule_behind_others_is_that_among_the_rows_that_are_left(ward: Counter) -> None:  # noqa: F811
    rest = ward.released.frame.filter(pl.col("sex") != "M")
    met, young = pl.col("work") == "private", pl.col("age") < 1.5
    inside = rest.filter(young).filter(met).height / rest.filter(young).height
    right = inside / (rest.filter(met).height / rest.height)
    wrong = inside / (ward.released.frame.filter(met).height / rest.height)
    states = []
    for lift in (right, wrong):
        text = f"decision list\nIF sex = M THEN hours > 0\nIF age < 1.5 THEN work = private (lift = {lift:.6f})"
        states.append([one.line for one in asked(ward, text, "rules").accepted])
    assert (3 in states[0], 3 in states[1]) == (True, False)


@pytest.mark.parametrize("figure", ["confidence = 1", "errors = 0", "lift = {lift}", "right = {n}"])
def test_what_concludes_nothing_is_not_right_in_so_many_cases(ward: Counter, figure: str) -> None:  # noqa: F811
    rows = ward.released.frame.filter((pl.col("disease") == "illness_1") & (pl.col("sex") == "F")).height
    text = f"disease = illness_1 AND sex = F n = {rows}"
    assert asked(ward, text).state == "answered"
    told = figure.format(lift=ward.n / rows, n=rows)
    assert "and has none: write it as a rule" in asked(ward, f"{text} {told}").refused[0].why


@pytest.mark.parametrize("what", ["not age < 1.5", "age < 1.5 unless they are ill", "age < 1.5 for 90 of 100"])
def test_a_condition_of_which_a_part_was_not_read_is_none(ward: Counter, what: str) -> None:  # noqa: F811
    """Without the part, the rule would be another one."""
    for text, form in (
        (json.dumps([{"if": [what], "then": ["work = private"]}]), "json"),
        (json.dumps([{"if": what, "then": "work = private"}]), "json"),
        (json.dumps([{"if": [["age", "<", f"1.5 {what}"]], "then": "work = private"}]), "json"),
        (f"antecedents;consequents\n{what};work = private", "csv"),
    ):
        assert asked(ward, text, form).state == "refused", text
    assert asked(ward, json.dumps([{"if": ["age < 1.5"], "then": ["work = private"]}]), "json").state == "answered"


def test_rows_of_many_classes_are_no_less_exact_for_it(ward: Counter) -> None:  # noqa: F811
    """A leaf of 450 rows in which 400 are right is not one of 400 without a fault, however many classes have none."""
    rows = ward.released.frame.filter(pl.col("age") <= 1.5)
    right = rows.filter(pl.col("work") == "private").height
    for others, state in (([rows.height - right], "answered"), ([0] * 200, "refused")):
        weights = ", ".join(map(str, [right, *others]))
        text = f"|--- age <= 1.50\n|   |--- weights: [{weights}] class: private\n"
        assert asked(ward, text).state == state, others


def test_a_threshold_that_only_those_without_a_value_do_not_meet_is_not_left_out(ward: Counter) -> None:  # noqa: F811
    """Figures of those who have an age would be confirmed of all."""
    frame = ward.released.frame.with_columns(age=pl.when(pl.int_range(pl.len()) % 4 > 0).then("age"))
    partly = Counter(Released(frame, ward.released.coded))
    ill = frame.filter((pl.col("disease") == "illness_7") & pl.col("age").is_not_null())
    rule = "IF disease = illness_7 AND age > 0 THEN sex = F"
    found = asked(partly, f"{rule} ({ill.height}/{ill.filter(pl.col('sex') == 'M').height})")
    assert (found.state, found.gained.plain()) == ("refused", {})
    whole = asked(ward, rule)
    assert told(whole) == "IF disease = true 7 THEN sex = F\n"


@pytest.mark.parametrize(
    ("sign", "values", "read"),
    [(sign, [0, 2], "disease not in {illness_0, illness_2}") for sign in ("NOT IN", "<>", "≠")]
    + [("==", [1, 3], "disease in {illness_1, illness_3}"), ("in", [1], "disease = illness_1")]
    + [(sign, [1, 3], None) for sign in ("notin", "<", None)],
)  # fmt: skip
def test_a_list_in_json_is_meant_as_its_sign_says(
    ward: Counter, sign: str | None, values: list[int], read: str | None  # noqa: F811
) -> None:  # fmt: skip
    rule = {"if": [["disease", sign, [f"illness_{one}" for one in values]]], "then": ["sex = F"]}
    found = asked(ward, json.dumps([rule]), "json")
    assert [str(one.conditions[0]) for one in found.accepted] == ([] if read is None else [read])
    assert bool(found.left) == (read is None)
