"""What reading a question costs grows with its text and its release, and no faster: looks are counted, never timed."""

from __future__ import annotations

import json
import re
import tracemalloc
from contextlib import suppress
from typing import Any

import polars as pl
import pytest

from shoal.errors import InputError, ShoalError
from shoal.vault import forms, interpret
from shoal.vault.protocol import conditions, rules_trees, submission, tables
from shoal.vault.protocol.conditions import LONGEST_LINE, Conditions
from shoal.vault.protocol.decision import Policy, examine
from shoal.vault.protocol.recount import Counter
from shoal.vault.protocol.statements import Released
from shoal.vault.protocol.submission import FORMS, Submission, read_results
from shoal.vault.protocol.tables import read_centres


@pytest.fixture(scope="module")
def tokens() -> Released:
    """A pseudonym of everybody, as coded as an illness."""
    frame = pl.DataFrame({
        "person": [f"token{number:06x}" for number in range(6000)], "sex": ["F", "M"] * 3000,
        "disease": [f"ill{number}x" for number in range(600)] * 10, "age": [1.25, 1.75, 2.5] * 2000,
    })  # fmt: skip
    return Released.of(frame, {"disease": "mapping", "age": "grading"})


def test_values_are_gathered_once_and_never_made_a_pattern_of_all(
    tokens: Released, monkeypatch: pytest.MonkeyPatch
) -> None:
    patterns, real = list[int](), re.compile

    def compiled(pattern: Any, flags: int = 0) -> re.Pattern[str]:
        patterns.append(len(pattern))
        return real(pattern, flags)

    monkeypatch.setattr(re, "compile", compiled)
    text = "IF person = token0003e8 AND disease = ill7x THEN sex = F"
    assert [str(one) for one in Conditions(tokens).read(text).conditions] == [
        "person = token0003e8", "disease = ill7x", "sex = F",
    ]  # fmt: skip
    assert sum(patterns) < 20_000  # and the tokens have 66,000 letters
    first, gathered = patterns[:], conditions._texts_of(tokens)
    patterns.clear()
    read_results(Submission(text=text), tokens)
    assert sum(patterns) < sum(first) / 2
    assert conditions._texts_of(tokens) is gathered


def test_a_text_of_which_there_are_many_takes_less_memory_than_its_cell() -> None:
    """A token of everybody: what is kept of them until the release is let go is no set of Python's texts."""
    text = f"IF who = {7:032x} OR sex = M\nIF who in {{{7:032x}, {8:032x}}} THEN sex = F"
    kept = {}
    for rows in (6_000, 40_000):  # the first loads what Python loads once
        frame = pl.DataFrame({"who": [f"{row:032x}" for row in range(rows)], "sex": ["F", "M"] * (rows // 2)})
        counter = Counter(Released.of(frame, {"sex": "mapping"}))
        tracemalloc.start()
        examine(Submission(text=text), counter, Policy(minimum=1))
        kept[rows] = tracemalloc.get_traced_memory()[0]
        tracemalloc.stop()
    assert kept[40_000] < 32 * 40_000, kept
    assert Conditions(counter.released).is_value("who", f"{9:032x}")
    assert not Conditions(counter.released).is_value("who", "9")


def test_codes_are_looked_up_in_a_text_and_not_one_by_one() -> None:
    codes, looks = frozenset(f"ill{number:05}" for number in range(1000)), list[int]()

    class Text(str):
        def __getitem__(self, which: Any) -> str:
            looks.append(1)
            return super().__getitem__(which)

        def __contains__(self, part: object) -> bool:
            pytest.fail("searched for a code in the whole text")

    text = Text("has ill00003 and ill00999 but not ill0100")
    assert submission._present(codes, text) == {"ill00003", "ill00999"}
    assert len(looks) <= len(text)


def test_the_names_above_a_table_are_looked_at_once(tokens: Released, monkeypatch: pytest.MonkeyPatch) -> None:
    asked, real = list[str](), tables.called

    def called(name: str) -> str | None:
        asked.append(name)
        return real(name)

    monkeypatch.setattr(tables, "called", called)
    read = read_results(Submission(text="sex,mean_age,n\n" + "F,1.5,10\n" * 50, form="csv"), tokens)
    assert len(read.statements) == 50
    assert asked == ["sex", "mean_age", "n"]


def test_a_name_is_split_in_one_way_alone() -> None:
    """Where nothing fits, all ways of splitting are tried; so there is one, whatever stands behind it."""
    for name in ("mean" + "_" * 900 + "x\ny", "x\ny" + "_" * 900 + "mean", "avg of x\ny", "mean.of..x\ny"):
        found = tables._MEAN.fullmatch(name)
        assert found is not None
        assert (found["behind"] or found["before"]) == "x\ny"
    assert tables._MEAN.fullmatch("mean_of_") is not None  # of a column of that name
    assert tables._MEAN.fullmatch("mean" + "_" * 900) is None


class _Lines(list[str]):
    """Lines that count how often one is looked at."""

    looks = 0

    def __getitem__(self, which: Any) -> Any:
        found = super().__getitem__(which)
        _Lines.looks += len(found) if isinstance(which, slice) else 1
        return found


class _Text(str):
    def splitlines(self, keepends: bool = False) -> list[str]:
        return _Lines(super().splitlines(keepends))


@pytest.mark.parametrize(
    "piece",
    ["Attribute Full Data 0 1\n", "Attribute Full Data 0 1\nage 1 2 3\n", "Attribute Full Data 0 1\n\n0 1 ( 1%)\n"],
)
def test_prints_are_looked_at_in_proportion_to_their_lines(tokens: Released, piece: str) -> None:
    reader, looks = Conditions(tokens), list[int]()
    for times in (100, 200):
        _Lines.looks = 0
        read_centres(_Text(piece * times), reader)
        looks.append(_Lines.looks)
    assert looks[1] < 2.5 * looks[0]


def test_what_holds_no_statement_is_searched_in_parts(tokens: Released, monkeypatch: pytest.MonkeyPatch) -> None:
    searched, real = list[int](), submission.loose_numbers

    def loose(text: str, *given: Any, **more: Any) -> Any:
        searched.append(len(text))
        return real(text, *given, **more)

    monkeypatch.setattr(submission, "loose_numbers", loose)
    codes = [f"ill{number}x" for number in range(600)]
    text = json.dumps([{"note": " ".join(codes), "other": ["+" * 3000]}])
    left = [one for one in read_results(Submission(text=text), tokens).left if "no statement" in one.why]
    assert [one.text for one in left] == codes
    assert [text[one.at : one.at + len(one.text)] for one in left] == codes  # in the list of one
    assert max(searched) <= LONGEST_LINE
    assert sum(searched) < 2 * len(text)


class _Watched:
    """A pattern that notes how much of a text it is given at a time."""

    def __init__(self, pattern: re.Pattern[str], noted: list[tuple[str, int]]) -> None:
        self._pattern, self._noted = pattern, noted

    def __getattr__(self, name: str) -> Any:
        used = getattr(self._pattern, name)

        def noting(*given: Any, **more: Any) -> Any:
            text, *place = given[1:] if name == "sub" else given
            self._noted.append((self._pattern.pattern, len(text) - (place[0] if place else 0)))
            return used(*given, **more)

        return noting


HOSTILE = [
    ":" * 999, "age <= 1.9:" + " " * 900 + "x", "|   age <= 1.9" + ": x" * 300 + "(", "2) a " + " " * 900 + "x",
    "1." * 450, "IF " + "and " * 240, "{}" * 400 + "=> {} " + "0 " * 90, "and\n" * 60, "age <= 1.9" * 400,
    f"age,{'_' * 900},n\n" + "1,1,1\n" * 20, "$a" * 1500,
]  # fmt: skip
WHOLE = {submission._BLANKS.pattern, rules_trees._ORDERED.pattern}  # which look at no place twice
MODULES = (conditions, submission, rules_trees, tables, interpret, forms)


@pytest.mark.parametrize("piece", HOSTILE, ids=range(len(HOSTILE)))
def test_patterns_are_given_a_line_at_a_time_and_every_line_as_often(
    tokens: Released, monkeypatch: pytest.MonkeyPatch, piece: str
) -> None:
    """Within a line a pattern may try what it likes; what it is given in all grows as the text does."""
    noted: list[tuple[str, int]] = []
    for module in MODULES:
        for name, found in vars(module).items():
            if isinstance(found, re.Pattern):
                monkeypatch.setattr(module, name, _Watched(found, noted))
    for form in FORMS:
        totals = []
        for times in (3, 6):
            noted.clear()
            text = "\n".join(["|   age <= 1"] * (form == "tree") + [piece] * times)
            with suppress(ShoalError):
                read_results(Submission(text=json.dumps([{"a": text}]) if form == "json" else text, form=form), tokens)
            assert {pattern for pattern, size in noted if size > 2 * LONGEST_LINE} <= WHOLE
            totals.append(sum(size for _, size in noted))
        assert totals[1] <= 3 * totals[0]


def test_a_word_begins_in_one_place() -> None:
    """Else a line of many would be gone through from each of them to its end."""
    assert [found.start() for found in re.finditer(f"(?={interpret._NAME_BEFORE})", "a$b$c.d-e a-$f")] == [0, 10]


def test_a_name_that_is_longer_than_a_line_is_none(tokens: Released) -> None:
    with pytest.raises(InputError, match="more than 1,000 characters"):
        read_results(Submission(text=f"age,{'_' * 6000},n\n1.2,3,10\n", form="csv"), tokens)
    left = read_results(Submission(text=json.dumps([{"age": "1.25", "mean_" + "x" * 6000: 5}])), tokens).left
    assert ["neither a column" in one.why for one in left] == [True]
