"""What is answered, what waits for the custodian, and what is refused: decided on the released table alone.

Nothing here has a secret. Every reason follows from the release, from what was submitted and from what was answered
before, so that a refusal tells nothing about a mapping or a grading.
"""

from __future__ import annotations

from collections.abc import Callable, Container, Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import asdict, dataclass, fields, replace
from typing import Any

import numpy as np

from shoal.errors import DomainError, ParameterError
from shoal.recoding.grading import GradingTable
from shoal.recoding.secrets import MappingTable, Secret
from shoal.vault.forms import Codes
from shoal.vault.interpret import Left
from shoal.vault.leaks import NOTHING, Code, Known, leak
from shoal.vault.protocol.recount import Counter, Tally, after, check, snapped
from shoal.vault.protocol.statements import BEHIND, GRADING, Condition, Statement
from shoal.vault.protocol.submission import Submission, read_results
from shoal.vault.protocol.trivial import check_centres, enumerated, is_trivial

ANSWERED, WAITING, REFUSED = "answered", "waiting", "refused"
_NOTHING = "begins what has no statement that could be read: hand in rules, a tree, a table of figures, or centres"


@dataclass(frozen=True, kw_only=True)
class Policy:
    """What the custodian lets be answered.

    Attributes
    ----------
    minimum
        Rows that a statement, each code in it, and each stretch between thresholds must have.
    automatic
        Answer at once what is within the limits; else everything waits for the custodian.
    waiting, budget, together
        Shares of what is to be known of a column's codes: above the first an answer waits, above the second one
        researcher gets none, above the third nobody does, because all may put together what they know.
    enumeration
        Share of a mapping's codes that statements of one code each may name in a question.
    statements
        How many a question may have.
    questions, hourly
        How many questions one researcher may ask about a release, in all and within an hour; a server keeps to it.
    """

    minimum: int = 10
    automatic: bool = True
    waiting: float = 0.25
    budget: float = 0.5
    together: float = 0.6
    enumeration: float = 0.3
    statements: int = 200
    questions: int = 100
    hourly: int = 30

    def __post_init__(self) -> None:
        for name in ("minimum", "statements", "questions", "hourly"):
            value = getattr(self, name)
            if isinstance(value, bool) or not isinstance(value, int) or value < 1:
                raise ParameterError(f"The '{name}' of a policy must be a whole number of at least 1.")
        for name in ("waiting", "budget", "together", "enumeration"):
            value = getattr(self, name)
            if isinstance(value, bool) or not isinstance(value, int | float) or not 0 <= value <= 1:
                raise ParameterError(f"The '{name}' of a policy must be a share from 0 to 1.")
        if not isinstance(self.automatic, bool):
            raise ParameterError("The 'automatic' of a policy must be true or false.")

    def plain(self) -> dict[str, Any]:
        """In JSON's types."""
        return asdict(self)

    @classmethod
    def of_plain(cls, plain: Mapping[str, Any]) -> Policy:
        """What :meth:`plain` gave."""
        unknown = plain.keys() - {one.name for one in fields(cls)}
        if unknown:
            known = ", ".join(one.name for one in fields(cls))
            raise ParameterError(f"A policy has no '{min(unknown)}': it has {known}.")
        return cls(**plain)


@dataclass(frozen=True)
class Refused:
    """A statement that is not answered, and why, in words that tell no value."""

    line: int
    statement: str
    why: str

    def __str__(self) -> str:
        return f"Line {self.line} {self.why}."


@dataclass(frozen=True, kw_only=True)
class Examined:
    """What becomes of a submission.

    Attributes
    ----------
    state
        ``answered``, ``waiting`` for the custodian, or ``refused`` where no statement was accepted.
    accepted
        Statements that the release bears out, thresholds at codes of the release.
    gained
        Codes whose values an answer tells.
    """

    state: str
    accepted: tuple[Statement, ...]
    refused: tuple[Refused, ...]
    left: tuple[Left, ...]
    gained: Known


@dataclass(frozen=True, kw_only=True)
class Budget:
    """How much may be known of a release, and how much is.

    Attributes
    ----------
    mine, everyone
        What the asker, and all askers together, were told before.
    shared
        Which of the codes that an answer tells stand for the same in this release.
    """

    tally: Tally
    policy: Policy
    mine: Known
    everyone: Known
    shared: Callable[[Known], Known] = lambda known: known
    where: str = ""


def examine(
    given: Submission, counter: Counter, policy: Policy, *, mine: Known = NOTHING, everyone: Known = NOTHING,
    beside: Sequence[Budget] = (),
) -> Examined:  # fmt: skip
    """Read a submission, check it, and decide.

    Parameters
    ----------
    mine, everyone
        What the asker, and all askers together, were told before.
    beside
        Other releases whose codes an answer tells as well.
    """
    budgets = [Budget(tally=counter, policy=policy, mine=mine, everyone=everyone), *beside]
    readings = read_results(given, counter.released)
    refused: list[Refused] = [] if readings.statements else [Refused(1, _shown(given.text), _NOTHING)]
    sound = _sound(list(readings.statements), counter, policy, refused)
    accepted: list[Statement] = []
    gained, wait = NOTHING, not policy.automatic
    for one in sound:
        points = Known.of(points_of(one, counter.released.coded))
        why = next(filter(None, (_beyond(one, points, gained, each) for each in budgets)), None)
        if why is not None:
            refused.append(_refusal(one, why))
            continue
        wait = wait or any(_waits(points, gained, each) for each in budgets)
        gained |= points
        accepted.append(one)
    state = REFUSED if not accepted else WAITING if wait else ANSWERED
    ordered = tuple(sorted(refused, key=lambda one: one.line))
    return Examined(state=state, accepted=tuple(accepted), refused=ordered, left=tuple(readings.left), gained=gained)


def points_of(statement: Statement, coded: Mapping[str, str]) -> Iterator[tuple[str, Code]]:
    """Coded columns, and the codes of theirs that turning a statement back tells the values of."""
    for one in statement.everything():
        yield from ((one.column, value) for value in one.values if one.column in coded)
    yield from ((column, value) for column, value in statement.centre if column in coded)


def _sound(found: list[Statement], counter: Counter, policy: Policy, refused: list[Refused]) -> list[Statement]:
    """Statements that the release bears out and that say something; the others are refused."""
    for one in found[policy.statements :]:
        refused.append(_refusal(one, f"is beyond the {policy.statements} statements that a question may have"))
    found = found[: policy.statements]
    centres = {place: one for place, one in enumerate(found) if one.centre}
    problems = check_centres(list(centres.values()), counter, policy.minimum) if centres else []
    of_centres = dict(zip(centres, problems, strict=True))
    listed = enumerated(found, counter, policy.enumeration)
    left = np.ones(counter.n, dtype=bool)
    sound: list[Statement] = []
    for place, one in enumerate(found):
        among = left
        left = after(one, counter, left) if one.ordered else left  # whatever becomes of the rule itself
        if place in listed:
            why: str | None = "is one of a list that goes through the codes of a column one by one"
        elif one.centre:
            why = of_centres[place]
        else:
            why, one = _checked(one, counter, policy.minimum, among)
        moved = snapped(one, counter)
        if why is None:
            why = _unknown(one, counter) or _rare(moved, counter, policy.minimum)
        if why is None and one.concluded is not None and moved.concluded is None:
            why = "concludes with what holds for every row"
        if why is None and not one.centre and is_trivial(moved, counter, among if one.behind else None):
            why = "says no more of its codes than how often they occur"
        if why is not None:
            refused.append(_refusal(one, why))
        elif moved not in sound:
            sound.append(moved)
    return sound


def _checked(one: Statement, counter: Counter, minimum: int, left: np.ndarray) -> tuple[str | None, Statement]:
    """What is wrong with a rule; one of a list may hold among the rows that are left for it alone, and then says so."""
    why = check(one, counter, minimum)
    if why is not None and one.ordered and check(one, counter, minimum, left) is None:
        return None, replace(one, behind=True)
    return _with_hint(why, one), one


def _with_hint(why: str | None, one: Statement) -> str | None:
    """Most figures that are off are so because a program rounded a threshold."""
    cuts = [value for each in one.conditions if each.sign[0] in "<>" for value in each.values]
    rounded = any(isinstance(value, float) and round(value, 3) == value != round(value) for value in cuts)
    off = why is not None and "the release has" in why
    return f"{why} (print thresholds with all their digits)" if off and rounded else why


def _shown(text: str) -> str:
    """How a text begins."""
    return text.strip().partition("\n")[0][:80]


def _refusal(one: Statement, why: str) -> Refused:
    return Refused(one.line, str(one), why)


def _unknown(statement: Statement, counter: Counter) -> str | None:
    """What nobody has is said of everybody that they have not: any text would be confirmed in the place of a value."""
    for one in statement.everything():
        plain = one.column not in counter.coded and one.sign in ("=", "!=")
        if plain and len(counter.known(one)) < len(set(one.values)):
            return f"names a value that column '{one.column}' does not have"
    return None


def _rare(statement: Statement, counter: Counter, minimum: int) -> str | None:
    """Codes must be common themselves, also where a statement says that they are not meant."""
    for one in _of_codes(statement, counter.coded):
        if not one.values:
            return f"names a code that column '{one.column}' does not have"
        if any(_rows(one, value, statement, counter) < minimum for value in one.values):
            return f"names a code of column '{one.column}' that fewer than {minimum:,} rows have, or lie beyond"
    return None


def _of_codes(statement: Statement, coded: Container[str]) -> list[Condition]:
    """What a statement says of coded columns, its centre included."""
    return [one for one in (*statement.everything(), *statement.coordinates()) if one.column in coded]


def _rows(one: Condition, value: Code, statement: Statement, tally: Tally) -> int:
    """How many rows a code is told of: those that have it, or the fewer of those on either side of a threshold."""
    codes, counts = tally.codes(one.column)
    if statement.centre and tally.coded[one.column] == GRADING:  # it is about the rows around it, not about those at it
        return min(int(counts[codes <= value].sum()), int(counts[codes >= value].sum()))
    if one.sign in ("=", "!="):
        return int(counts[codes == value].sum())
    below = int(counts[codes <= value if one.sign in ("<=", ">") else codes < value].sum())
    return min(below, int(counts.sum()) - below)


def _beyond(statement: Statement, points: Known, gained: Known, budget: Budget) -> str | None:
    """Why a release does not bear that codes are told, after those that the same answer tells before them.

    In another release than the one that was asked about a code may be that of few people, or of nobody, which is no
    reason.
    """
    mine, everyone = (known | budget.shared(gained) for known in (budget.mine, budget.everyone))
    points, least = budget.shared(points), budget.policy.minimum
    for one in _of_codes(statement, points.codes):
        new = points.in_column(one.column) & set(one.values) - mine.in_column(one.column)
        if any(0 < _rows(one, value, statement, budget.tally) < least for value in new):
            few = f"fewer than {least:,} rows{budget.where} have, or lie beyond"
            return f"names a code of column '{one.column}' that {few}"
    return _close(points, mine | everyone, budget) or _over(points, mine, everyone, budget)


def _close(points: Known, before: Known, budget: Budget) -> str | None:
    """Between two codes of a grading that are told there must be enough rows, or nobody."""
    for column in points.codes:
        if budget.tally.coded[column] != GRADING:
            continue
        codes, counts = budget.tally.codes(column)
        old = before.in_column(column)
        new = points.in_column(column) - old
        known, least = sorted(float(code) for code in old | new), budget.policy.minimum
        for low, high in zip(known, known[1:], strict=False):
            if {low, high} & new and 0 < int(counts[(codes > low) & (codes <= high)].sum()) < least:
                return f"has a threshold of column '{column}' fewer than {least:,} rows{budget.where} from another one"
    return None


def _over(points: Known, mine: Known, everyone: Known, budget: Budget) -> str | None:
    """Whether codes would take somebody beyond a budget."""
    for column in _telling(points, mine, everyone, budget.tally):
        if leak(column, mine | points, budget.tally).share > budget.policy.budget:
            return f"would tell more of column '{column}'{budget.where} than one researcher may know"
        if leak(column, everyone | points, budget.tally).share > budget.policy.together:
            return f"would tell more of column '{column}'{budget.where} than all researchers together may know"
    return None


def _waits(points: Known, gained: Known, budget: Budget) -> bool:
    mine, everyone = (known | budget.shared(gained) for known in (budget.mine, budget.everyone))
    points = budget.shared(points)
    new = _telling(points, mine, everyone, budget.tally)
    least = budget.policy.waiting if budget.policy.automatic else -1.0
    return any(leak(column, mine | points, budget.tally).share > least for column in new)


def _telling(points: Known, mine: Known, everyone: Known, tally: Tally) -> Iterator[str]:
    """Columns of a release that codes tell something new of: codes that it has, or from which something follows."""
    for column in points.codes:
        new = points.in_column(column) - mine.in_column(column)
        if new and (
            not new.isdisjoint(tally.codes(column)[0].tolist())
            or any(_bits(column, one | points, tally) > _bits(column, one, tally) for one in (mine, everyone))
        ):
            yield column


def _bits(column: str, known: Known, tally: Tally) -> float:
    return round(leak(column, known, tally).bits, 9)


# ----------------------------------------
# Accepted statements in the terms of the original data: the only part of the protocol that has the secrets.


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
