"""What only people can say about a file, how they can say it, and what follows from it."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace

from shoal.errors import InputError
from shoal.starting.columns import Facts
from shoal.starting.proposing import ROLES, Proposal
from shoal.starting.reading import Given


@dataclass(frozen=True, kw_only=True)
class Question:
    """A question with its possible answers.

    Attributes
    ----------
    what, asked
        What is not known, and the question about it.
    default
        What an empty answer means; None where there has to be one.
    option
        How the same is said on the command line.
    settle
        Takes what was said so far and an answer, and gives what was said then.
    """

    column: str
    what: str
    asked: str
    answers: tuple[str, ...]
    default: str | None = None
    option: str
    settle: Callable[[Given, str], Given]

    def answered(self, given: Given, answer: str) -> Given | None:
        """What was said with an answer; None where it is none."""
        chosen = answer.strip() or self.default
        if chosen is not None and chosen.isdigit() and 1 <= int(chosen) <= len(self.answers) and self.answers:
            chosen = chosen if chosen in self.answers else self.answers[int(chosen) - 1]
        return self.settle(given, chosen) if chosen is not None and chosen in self.answers else None


def date_question(one: Facts) -> Question:
    """Which part of a date is the day."""

    def settle(given: Given, form: str) -> Given:
        return replace(given, formats={**given.formats, one.name: form})

    return Question(
        column=one.name, what=f"In the dates of '{one.name}', day and month could change places",
        asked="How are they written?", answers=tuple(one.formats), settle=settle,
        option=" or ".join(f"--type '{one.name}=date {form}'" for form in one.formats),
    )  # fmt: skip


def number_question(one: Facts) -> Question:
    """What a comma or a point in a number is."""
    words = dict(one.numbers.either)

    def settle(given: Given, answer: str) -> Given:
        chosen = words[answer]
        return replace(given, decimal=chosen.decimal, thousands=chosen.thousands)

    return Question(
        column=one.name, what=f"In the numbers of '{one.name}', three digits follow every mark",
        asked="What are the marks?", answers=tuple(words), settle=settle,
        option="--decimal , (1,5 is one and a half) or --thousands , (1,500 is fifteen hundred)",
    )  # fmt: skip


def role_question(proposal: Proposal) -> Question:
    """What to do with a column that nothing certain is known of."""

    def settle(given: Given, role: str) -> Given:
        return replace(given, roles={**given.roles, proposal.name: role})

    return Question(
        column=proposal.name, what=f"Of '{proposal.name}' nothing is certain ({proposal.why})",
        asked="What is it?", answers=ROLES, default=proposal.role, settle=settle,
        option=f"--{proposal.role.removesuffix('s')} '{proposal.name}'",
    )  # fmt: skip


def refuse_open(questions: Sequence[Question]) -> None:
    """Refuse to guess, and name what settles it."""
    if questions:
        said = " ".join(f"{one.what}: say {one.option}." for one in questions)
        raise InputError(f"{said} With --ask, shoal start asks.")
