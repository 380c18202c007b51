"""Accepted statements in the terms of the original data: the only part of the protocol that has the secrets."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace

from shoal.pseudonyms.secrets import Secret
from shoal.vault.interpret import Interpreter
from shoal.vault.leftovers import Left
from shoal.vault.protocol.asking import Examined
from shoal.vault.protocol.statements import BEHIND, GRADING, Condition, Statement

_MEAN = "is a mean of codes, which is not the code of a mean: ask the custodian for the mean of the values"
_CENTRE = "the value of the code nearest to the centre, and not the mean of the values"


@dataclass(frozen=True)
class Answer:
    """Statements turned back, a line each, and every token that was not."""

    text: str
    left: Sequence[Left]


def answer(examined: Examined, secrets: Sequence[Secret]) -> Answer:
    """Turn back what was accepted, from the conditions that were read and from nothing else in the text."""
    coded = {one.column: one.kind for one in secrets}
    interpreter = Interpreter(secrets)
    left: list[Left] = []
    lines = [_statement(one, interpreter, coded, left) for one in examined.accepted]
    return Answer("".join(f"{line}\n" for line in lines), [*examined.left, *left])


def _statement(one: Statement, interpreter: Interpreter, coded: Mapping[str, str], left: list[Left]) -> str:
    told = [_told(each, one.line, interpreter, coded, left) for each in one.conditions]
    start = " AND ".join(told) or "anything"
    if one.centre:
        parts = [Condition(name, "=", (value,)) for name, value in one.centre]
        start = "centre at " + ", ".join(_told(each, one.line, interpreter, coded, left) for each in parts)
        start += f" ({_CENTRE})" if any(coded.get(name) == GRADING for name, _ in one.centre) else ""
    if one.concluded is not None:
        start = f"IF {start} THEN {_told(one.concluded, one.line, interpreter, coded, left)}"
    figures = [str(each) for each in one.stated if each.column not in coded]
    left += [Left(one.line, 1, str(each), _MEAN) for each in one.stated if each.column in coded]
    if one.behind:
        return f"{start} ({': '.join(filter(None, (BEHIND, ', '.join(figures))))})"
    return start + (f" ({', '.join(figures)})" if figures else "")


def _told(
    condition: Condition, line: int, interpreter: Interpreter, coded: Mapping[str, str], left: list[Left]
) -> str:
    """A condition with its values; one on a column without codes stays."""
    if condition.column not in coded:
        return str(condition)
    if len(condition.values) > 1:  # by what they mean, so that their order does not tell which is which
        alone = {one: interpreter.text(str(replace(condition, values=(one,)))).text for one in condition.values}
        condition = replace(condition, values=tuple(sorted(alone, key=lambda one: alone[one])))
    made = interpreter.text(str(condition))
    left += [Left(line, one.at, one.text, one.why) for one in made.left]
    return made.text
