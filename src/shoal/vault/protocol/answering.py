"""Accepted statements in the terms of the original data: the only part of the protocol that has the secrets."""

from __future__ import annotations

from collections.abc import Sequence
from contextlib import suppress
from dataclasses import dataclass

from shoal.errors import DomainError
from shoal.recoding.grading import GradingTable
from shoal.recoding.secrets import MappingTable, Secret
from shoal.vault.leftovers import Left
from shoal.vault.names import Codes
from shoal.vault.protocol.asking import Examined
from shoal.vault.protocol.statements import BEHIND, Condition, Statement

_MEAN = "is a mean of codes, which is not the code of a mean: ask the custodian for the mean of the values"
_NO_CODE = "has a code that stands for no value of this entry"
_CENTRE = "the value of the code nearest to the centre, and not the mean of the values"


@dataclass(frozen=True)
class Answer:
    """Statements turned back, a line each, and every token that was not."""

    text: str
    left: Sequence[Left]


def answer(examined: Examined, secrets: Sequence[Secret]) -> Answer:
    """Turn back what was accepted, from the conditions that were read and from nothing else in the text."""
    values, left = _Values(secrets), list[Left]()
    lines = [_statement(one, values, left) for one in examined.accepted]
    return Answer("".join(f"{line}\n" for line in lines), [*examined.left, *left])


class _Values:
    """What codes of a column stand for, column by column: a name that is spelt like a code of another is none here."""

    def __init__(self, secrets: Sequence[Secret]) -> None:
        self.graded = {one.column: one for one in secrets if isinstance(one, GradingTable)}
        self._mapped = Codes([one for one in secrets if isinstance(one, MappingTable)])
        self.columns = {*self.graded, *self._mapped}

    def told(self, condition: Condition, line: int, left: list[Left]) -> str:
        """A condition with its values; one on a column without codes stays, and one of which a code has no value."""
        column, sign, codes = condition.column, condition.sign, condition.values
        if column not in self.columns:
            return str(condition)
        found = [each for code in codes if (each := self._value(column, sign, code)) is not None]
        if len(found) < len(codes):
            left.append(Left(line, 1, str(condition), _NO_CODE))
            return str(condition)
        # In the order of what they mean, so that it does not tell which is which.
        return str(Condition(column, found[0][0], tuple(sorted(value for _, value in found))))

    def _value(self, column: str, sign: str, code: float | str) -> tuple[str, str] | None:
        """A comparison with a code as one with a value, whose sign may be another at either end of a grading."""
        if column in self.graded:
            with suppress(DomainError):
                return self.graded[column].threshold(sign, float(code))
            return None
        value = self._mapped.value(column, str(code))
        return None if value is None else (sign, value)


def _statement(one: Statement, values: _Values, left: list[Left]) -> str:
    start = " AND ".join(values.told(each, one.line, left) for each in one.conditions) or "anything"
    if one.centre:
        start = "centre at " + ", ".join(values.told(each, one.line, left) for each in one.coordinates())
        start += f" ({_CENTRE})" if any(name in values.graded for name, _ in one.centre) else ""
    if one.concluded is not None:
        start = f"IF {start} THEN {values.told(one.concluded, one.line, left)}"
    figures = [str(each) for each in one.stated if each.column not in values.columns]
    left += [Left(one.line, 1, str(each), _MEAN) for each in one.stated if each.column in values.columns]
    if one.behind:
        return f"{start} ({': '.join(filter(None, (BEHIND, ', '.join(figures))))})"
    return start + (f" ({', '.join(figures)})" if figures else "")
