"""A first recipe for raw rows: what was found, what is proposed, and what has to be asked."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

import polars as pl

from shoal.errors import InputError, SchemaError
from shoal.params import choice, nearest
from shoal.recipe.column_profile import ALWAYS, AMONG_NUMBERS, PLAIN, Facts, facts_of
from shoal.recipe.roles import ROLES as roles_ROLES
from shoal.recipe.roles import Proposal, dressed, propose
from shoal.recipe.sniff import Given, Raw
from shoal.recipe.value_patterns import is_numbered, is_person
from shoal.risk.audit import audit

# ----------------------------------------
# Which column says whose row it is, where people have several rows.


# What stays the same in all rows of a person.
_STEADY = ("date of birth", "sex")
_SINGLE, _FEW, _LEAST = 0.98, 0.02, 10
_NEARLY_ALL = 0.99


def subject_of(frame: pl.DataFrame, facts: Mapping[str, Facts]) -> tuple[str, str] | None:
    """The column that tells people apart and why it is taken for that; None where every row is somebody else's.

    It repeats, has many values and no gaps, and is called after people, or is a number under which birth dates and sex
    never change.
    """
    steady = [name for name, one in facts.items() if one.named in _STEADY]
    found: list[tuple[bool, float, str, str]] = []
    for name, one in facts.items():
        if not _may_be(one):
            continue
        rows = one.rows / one.distinct
        if is_person(name):
            found.append((True, one.distinct, name, f"a person, {rows:.1f} rows each"))
        elif steady and is_numbered(name) and _keeps(frame, name, steady):
            kept = " and ".join(steady[:2])
            found.append((False, one.distinct, name, f"{rows:.1f} rows each, with one {kept}"))
    if not found:
        return None
    best = max(found)
    return best[2], best[3]


def _may_be(one: Facts) -> bool:
    several = max(_LEAST, _FEW * one.rows) <= one.distinct < _SINGLE * one.rows
    plain = one.type == "categorical" or (one.type == "numeric" and one.whole)
    return several and plain and one.missing == 0 and not one.look.text and one.named not in _STEADY


def _keeps(frame: pl.DataFrame, name: str, steady: list[str]) -> bool:
    """Whether nearly everybody has one value of each steady column."""
    changes = frame.group_by(name).agg(pl.col([other for other in steady if other != name]).n_unique())
    return all(float((changes[other] == 1).mean()) >= _NEARLY_ALL for other in changes.columns if other != name)  # type: ignore[arg-type]


# ----------------------------------------
# What only people can say about a file, how they can say it, and what follows from it.


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
        asked="What is it?", answers=roles_ROLES, default=proposal.role, settle=settle,
        option=f"--{proposal.role.removesuffix('s')} '{proposal.name}'",
    )  # fmt: skip


def refuse_open(questions: Sequence[Question]) -> None:
    """Refuse to guess, and name what settles it."""
    if questions:
        said = " ".join(f"{one.what}: say {one.option}." for one in questions)
        raise InputError(f"{said} With --ask, shoal start asks.")


_DAY_FIRST = "%d.%m.%Y"
ROLES = ("identifiers", "quasi", "sensitive", "neutral", "drop", "subject", "weight", "key")
READ = ("quasi", "sensitive", "neutral", "weight")  # roles whose cells have to be understood


@dataclass(frozen=True, eq=False, kw_only=True)
class Draft:
    """What is known of a source, and a proposal for each of its columns.

    Attributes
    ----------
    notes
        What was decided about reading it, in words.
    questions
        What nobody can know but who made the file: no recipe is written before they are answered.
    unique, smallest, people
        Of the raw rows on the proposed quasi-identifiers: the share that nobody shares them with, the smallest class,
        and how many people there are.
    mended
        What was changed since a run would have refused it.
    tried
        Whether a run of it passes.
    across_classes
        Whether the values that all classes of a person's rows leave possible are judged.
    stronger
        The draft before models were made to ask for fewer values, None where they were not.
    """

    raw: Raw
    given: Given
    facts: Mapping[str, Facts]
    proposals: Mapping[str, Proposal]
    notes: Sequence[str] = ()
    questions: Sequence[Question] = ()
    unique: float | None = None
    smallest: int | None = None
    people: int | None = None
    mended: Sequence[str] = field(default=())
    tried: bool = False
    across_classes: bool = True
    stronger: Draft | None = None

    def columns(self, role: str) -> list[str]:
        """Columns of a role."""
        return [name for name, one in self.proposals.items() if one.role == role]

    def changed(self, name: str, **what: Any) -> Draft:
        """The same with another proposal for a column."""
        proposal = dressed(replace(self.proposals[name], **what), self.facts[name])
        return replace(self, proposals={**self.proposals, name: proposal})

    def with_proposal(self, proposal: Proposal) -> Draft:
        """The same with a proposal as it is given."""
        return replace(self, proposals={**self.proposals, proposal.name: proposal})


def drafted(raw: Raw, given: Given) -> Draft:
    """Look at every column of some rows, and propose a recipe."""
    _refuse_unknown(raw.frame.columns, [*given.roles, *given.formats])
    for name, role in given.roles.items():
        choice(f"column '{name}'", "role", role, ROLES)
    facts, notes, questions = _settled(_all_facts(raw, given), raw, given)
    subject = None if "subject" in given.roles.values() else subject_of(raw.frame, facts)
    proposals = propose(facts, subject, given.roles)
    if raw.in_database:
        proposals = _with_key(proposals, facts)
    asked = [one for one in questions if proposals[one.column].role in READ]
    return with_risk(
        Draft(raw=raw, given=given, facts=facts, proposals=proposals, notes=notes, questions=asked)
    )


def with_risk(draft: Draft) -> Draft:
    """The same with the risk of its raw rows."""
    quasi, subject = draft.columns("quasi"), draft.columns("subject")
    if not quasi:
        return draft
    found = audit(draft.raw.frame, quasi=quasi, subject=subject[0] if subject else None)
    return replace(draft, unique=found.own_value.unique_share, smallest=found.own_value.k, people=found.people)


def _refuse_unknown(columns: Sequence[str], named: Sequence[str]) -> None:
    for name in named:
        if name not in columns:
            near = nearest(name, columns)
            hint = f"Did you mean '{near}'?" if near else f"The columns are: {', '.join(columns)}."
            raise SchemaError(f"There is no column '{name}' in the table. {hint}")


def _all_facts(raw: Raw, given: Given) -> dict[str, Facts]:
    orders = _orders(raw)

    def found(comma: bool) -> dict[str, Facts]:
        return {
            name: facts_of(raw.frame[name], given.notation, comma, orders.get(name, ()))
            for name in raw.frame.columns
        }

    facts = found(False)
    comma = any(one.numbers.notation.decimal == "," and not one.numbers.either for one in facts.values())
    return found(True) if comma and given.thousands is None else facts


def _orders(raw: Raw) -> dict[str, list[str]]:
    """Labels in their order, of columns that the file calls ordinal."""
    labels = raw.labels
    return {name: list(labels.values[name].values()) for name, kind in labels.measures.items()
            if kind == "ordinal" and name in labels.values}  # fmt: skip


def _settled(facts: dict[str, Facts], raw: Raw, given: Given) -> tuple[dict[str, Facts], list[str], list[Question]]:
    """Facts with one format of dates and one notation each, as far as that is certain; what was concluded; the rest."""
    notes, questions = _layout_notes(raw), []
    commas = [name for name, one in facts.items() if one.numbers.notation.decimal == "," and not one.numbers.either]
    certain = {name: one.formats[0] for name, one in facts.items() if len(one.formats) == 1 and "%d" in one.formats[0]}
    certain |= {name: form for name, form in given.formats.items() if "%d" in form}
    for name, one in facts.items():
        if name in given.formats:
            facts[name] = replace(one, type="date", formats=(given.formats[name],), problem="")
        elif len(one.formats) > 1:
            form, why = _format_of(one, certain)
            if form is None:
                questions.append(date_question(one))
            else:
                notes.append(f"{name}: dates are read as {form}, {why}.")
                facts[name] = replace(one, formats=(form,))
        if one.numbers.either:
            if commas:
                chosen = one.numbers.either[0][1]
                words = one.numbers.either[0][0]
                notes.append(f"{name}: {words}, as '{commas[0]}' has decimal commas.")
                facts[name] = replace(facts[name], numbers=replace(one.numbers, notation=chosen, either=()))
            else:
                questions.append(number_question(one))
        if any("%y" in form for form in facts[name].formats):
            notes.append(f"{name}: years of two digits, 00 to 69 are read as 2000 to 2069.")
        if one.sentinels:
            notes.append(f"{name}: {', '.join(one.sentinels)} is taken for missing, far from all other numbers.")
        habits = [text for text in one.markers if text.casefold() not in ALWAYS | AMONG_NUMBERS]
        if one.type == "date" and habits:
            notes.append(f"{name}: what is no date is taken for missing, as its missing_markers say.")
    return facts, notes, questions


def _format_of(one: Facts, certain: Mapping[str, str]) -> tuple[str | None, str]:
    """The format of dates whose day and month could change places, where something tells."""
    if one.formats[0] == _DAY_FIRST:
        return _DAY_FIRST, "day first, as dates with points are written"
    for name, form in certain.items():
        if form in one.formats:
            return form, f"as those of '{name}', where day and month cannot change places"
    return None, ""


def _layout_notes(raw: Raw) -> list[str]:
    if raw.layout is not None and raw.layout.guessed:
        return [f"The file is not UTF-8; it is read as {raw.layout.encoding}: look at letters with accents."]
    return []


def _with_key(proposals: dict[str, Proposal], facts: Mapping[str, Facts]) -> dict[str, Proposal]:
    """The same with the column that tells rows of a database apart, unless somebody said which."""
    if any(one.role == "key" for one in proposals.values()):
        return proposals
    alone = [name for name, one in facts.items() if one.distinct == one.rows and one.missing == 0]
    chosen = sorted(alone, key=lambda name: proposals[name].role not in ("identifiers", "drop"))
    if not chosen:
        raise SchemaError(
            "Rows of a database have no order of their own, and no column of the table tells them apart: have its "
            "owner add a key, or take a view or a --query with a column such as row_number() in its place."
        )
    key = replace(proposals[chosen[0]], role="key", why="tells the rows apart", settings={}, tree=None, model=None)
    return proposals | {chosen[0]: key}


def markers(draft: Draft) -> tuple[list[str], dict[str, list[str]]]:
    """Markers of the whole source, and those of single columns: what is a value elsewhere is no marker there."""
    released = [name for name, one in draft.proposals.items() if one.role in READ]
    common: list[str] = list(draft.given.markers)
    apart: dict[str, list[str]] = {}
    for name in released:
        for marker in draft.facts[name].markers:
            if marker in common:
                continue
            others = [other for other in released if marker not in draft.facts[other].markers]
            if marker.casefold() in ALWAYS and not any(_has(draft.raw.frame[other], marker) for other in others):
                common.append(marker)
            else:
                apart.setdefault(name, []).append(marker)
    return common, apart


def _has(series: pl.Series, text: str) -> bool:
    return series.dtype == pl.String and bool((series == text).any())


def notations(draft: Draft) -> tuple[str | None, dict[str, dict[str, str]]]:
    """The decimal mark of the source, and what single columns say of their numbers."""
    found = {
        name: one.numbers.notation for name, one in draft.facts.items()
        if draft.proposals[name].role in READ and one.numbers.notation != PLAIN and one.type == "numeric"
    }  # fmt: skip
    decimals = {one.decimal for one in found.values()}
    decimal = "," if decimals == {","} else None
    apart: dict[str, dict[str, str]] = {}
    for name, one in found.items():
        own = {} if decimal == one.decimal or one.decimal == "." else {"decimal": one.decimal}
        if one.thousands is not None:
            own |= {"decimal": one.decimal, "thousands": one.thousands}
        if own:
            apart[name] = own
    return decimal, apart
