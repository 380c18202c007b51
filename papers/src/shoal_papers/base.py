"""What an experiment is: an item of a paper, what it is run with, and what comes out."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any, TypeVar

import polars as pl

from shoal.data.keys import Keys
from shoal.errors import ParameterError
from shoal.params import choice, nearest
from shoal_papers.data import Data
from shoal_papers.plots import Plot

KINDS = ("hard", "soft", "info")
VERDICTS = ("holds", "does not hold", "inconclusive", "info")
# Where a statement of a document stands once it was run again; those that are printed beside ours stand nowhere.
STANDINGS = ("reproduced", "refuted", "not decidable")
FULL_SEEDS, QUICK_SEEDS = 5, 2
Thing = TypeVar("Thing")


@dataclass(frozen=True, kw_only=True)
class Claim:
    """A statement of a document, and how it fares.

    Attributes
    ----------
    kind
        ``"hard"`` (follows from the method, must hold), ``"soft"`` (what the document found) or ``"info"`` (a number of
        the document's to print beside ours).
    text
        The statement, in our words.
    verdict
        ``"holds"``, ``"does not hold"``, ``"inconclusive"``, or ``"info"``.
    evidence
        One sentence with the numbers.
    numbers
        The same for machines.
    reason
        Why it does not hold, where that is known: then it is refuted. Or what it hangs on and nobody prints: then it
        is inconclusive, whatever our settings show.
    """

    kind: str
    text: str
    verdict: str
    evidence: str
    numbers: Mapping[str, Any] = field(default_factory=dict)
    reason: str = ""

    def __post_init__(self) -> None:
        choice("a claim", "kind", self.kind, KINDS)
        choice("a claim", "verdict", self.verdict, VERDICTS)
        if (self.kind == "info") != (self.verdict == "info"):
            raise ParameterError(f"The claim '{self.text}' is of kind '{self.kind}', which has other verdicts.")

    @property
    def standing(self) -> str | None:
        """``"reproduced"``, ``"refuted"`` (only with the reason), ``"not decidable"``, or None for a mere number."""
        if self.kind == "info":
            return None
        if self.verdict == "holds":
            return "reproduced"
        return "refuted" if self.verdict == "does not hold" and self.reason else "not decidable"


@dataclass(frozen=True, kw_only=True, eq=False)
class Outcome:
    """What a run of an item gives.

    Attributes
    ----------
    table
        The table behind the plot, None for an item that cannot be reproduced.
    plots
        Drawn side by side in one figure.
    claims
        Every statement that was checked.
    notes
        Sentences a reader needs: choices of ours, slips of the document, what is a stand-in.
    readings
        Other readings of an unclear text that were tried, and what they gave.
    runs
        One row a run (seed and point), where ``table`` sums them up.
    """

    table: pl.DataFrame | None
    claims: Sequence[Claim]
    plots: Sequence[Plot] = ()
    notes: Sequence[str] = ()
    readings: Sequence[str] = ()
    runs: pl.DataFrame | None = None


@dataclass(frozen=True, kw_only=True, eq=False)
class Context:
    """All that an item may use: its parameters, seeds, data, random streams, and a way to say how far it is.

    Attributes
    ----------
    parameters
        The item's, with those for quick runs put over them when ``quick``.
    seeds
        One a repetition: at least five, two when quick.
    data
        Data sets, each recorded with its hash when it is used.
    progress
        Told the step and, where known, the share of the item that is done.
    """

    parameters: Mapping[str, Any]
    seeds: Sequence[int]
    quick: bool
    data: Data
    progress: Callable[[str, float | None], None] = lambda step, share: None

    def keys(self, seed: int) -> Keys:
        """Random streams of one seed."""
        return Keys.from_seed(seed)

    def each(self, things: Iterable[Thing], label: Callable[[Thing], str] = str) -> Iterator[Thing]:
        """The same things one by one, with progress."""
        known = list(things)
        for place, thing in enumerate(known):
            self.progress(label(thing), place / len(known))
            yield thing


@dataclass(frozen=True, kw_only=True, eq=False)
class Item:
    """One figure, table or worked example of a document.

    Attributes
    ----------
    id
        Short, as the document counts it: ``"4.3"``, ``"T4.3"``, ``"6a"``, ``"examples"``.
    key
        Unique over all papers: ``"EXP-LO-4.3"``; names the files.
    title, shows
        A heading, and what is plotted against what.
    statement
        What the document says about it, in our words.
    run
        The procedure; None where ``impossible`` says why it cannot be reproduced.
    needs
        Data sets: ``"adult"``, ``"census"``. Stand-ins that a seed generates need nothing.
    parameters, quick
        Parameters of a full run, and those that a quick run changes.
    also
        Further ids under which it can be asked for, such as of figures that one run draws.
    fixed
        Whether seeds play no part, as in worked examples.
    repeats
        Seeds of a full run: fewer than usual where data of the document's own size leave little to chance.
    refuted
        By the beginning of a claim's text, why it does not hold: taken where it does not.
    undecidable
        Likewise, what the document does not print and the claim hangs on: one that does not hold is then inconclusive.
    """

    id: str
    key: str
    title: str
    shows: str
    statement: str
    run: Callable[[Context], Outcome] | None
    needs: Sequence[str] = ()
    parameters: Mapping[str, Any] = field(default_factory=dict)
    quick: Mapping[str, Any] = field(default_factory=dict)
    also: Sequence[str] = ()
    fixed: bool = False
    repeats: int = FULL_SEEDS
    impossible: str = ""
    refuted: Mapping[str, str] = field(default_factory=dict)
    undecidable: Mapping[str, str] = field(default_factory=dict)

    def __post_init__(self) -> None:
        if (self.run is None) != bool(self.impossible):
            raise ParameterError(f"The item '{self.key}' needs a procedure, or the reason why it has none.")
        unknown = [name for name in self.quick if name not in self.parameters]
        if unknown:
            raise ParameterError(f"The item '{self.key}' has no parameter '{unknown[0]}' for quick runs to change.")

    def settings(self, quick: bool) -> dict[str, Any]:
        """Parameters of a full or a quick run."""
        return {**self.parameters, **(self.quick if quick else {})}

    def seeds(self, first: int, quick: bool) -> tuple[int, ...]:
        """Seeds of a run, counted from the first."""
        count = 1 if self.fixed else QUICK_SEEDS if quick else self.repeats
        return tuple(range(first, first + count))

    def carry_out(self, context: Context) -> Outcome:
        """Run it, or say why that cannot be done."""
        if self.run is None:
            claim = Claim(kind="info", text=self.statement, verdict="info", evidence=f"Not run: {self.impossible}")
            return Outcome(table=None, claims=[claim], notes=[self.impossible])
        outcome = self.run(context)
        return replace(outcome, claims=self._reasoned(outcome.claims))

    def _reasoned(self, claims: Sequence[Claim]) -> list[Claim]:
        """The same claims, with the reasons that are known for those that do not hold."""
        told = {**self.refuted, **self.undecidable}
        lost = [start for start in told if not any(claim.text.startswith(start) for claim in claims)]
        if lost:
            raise ParameterError(f"The item '{self.key}' has a reason for '{lost[0]}', which it does not claim.")
        found = []
        for claim in claims:
            start = next((start for start in told if claim.text.startswith(start)), None)
            if start is not None and start in self.undecidable and claim.verdict != "holds":
                claim = replace(claim, verdict="inconclusive", reason=told[start])
            elif start is not None and claim.verdict == "does not hold":
                claim = replace(claim, reason=told[start])
            found.append(claim)
        return found


def impossible(*, id: str, key: str, title: str, shows: str, statement: str, reason: str) -> Item:
    """An item that cannot be reproduced, and why."""
    return Item(id=id, key=key, title=title, shows=shows, statement=statement, run=None, impossible=reason)


@dataclass(frozen=True, kw_only=True, eq=False)
class Paper:
    """One of the five documents.

    Attributes
    ----------
    name
        As the command line and the registry have it, such as ``"loukides"``.
    authors, about
        Who wrote it, and its subject in a few words.
    items
        In the order of the document.
    """

    name: str
    authors: str
    about: str
    items: Sequence[Item]

    def __post_init__(self) -> None:
        names = [name for item in self.items for name in (item.id, item.key, *item.also)]
        twice = sorted({name for name in names if names.count(name) > 1})
        if twice:
            raise ParameterError(f"The paper '{self.name}' has the id '{twice[0]}' twice: choose another.")

    @property
    def summary(self) -> str:
        """One line for lists."""
        return f"{self.authors}: {self.about}."

    def item(self, name: str) -> Item:
        """An item by its id, its key or another of its ids."""
        known = {one.lower(): item for item in self.items for one in (item.id, item.key, *item.also)}
        if name.lower() in known:
            return known[name.lower()]
        near = nearest(name.lower(), known)
        hint = f"Did you mean '{near}'?" if near else f"It has: {', '.join(item.id for item in self.items)}."
        raise ParameterError(f"The paper '{self.name}' has no item '{name}'. {hint}")
