"""Which verdicts a manifest's models ask for, and how the release fares on each."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from shoal.verify import closeness, extents, guarded, invariance, models, numeric, ranges
from shoal.verify.claims import Claims, Column
from shoal.verify.facts import Facts, Sample
from shoal.verify.outcome import Outcome
from shoal.verify.terms import ASKS_SIZE, COUNTS_PEOPLE, NO_TARGET, RANGES, limit
from shoal.verify.types import Check, Verdict

# The parameter that stands for the model in a sentence.
_MAIN = {
    "k": "k",
    "distinct-l": "l",
    "entropy-l": "l",
    "recursive-cl": "c",
    "t-closeness": "t",
    "alpha-k-simple": "alpha",
    "alpha-k-general": "alpha",
    "p-sensitive": "p",
    "k-e": "e",
    "variance": "v",
    "eps-m": "eps",
    "max-range": "limit",
    "range-diversity": "p",
    "range-confidence": "p",
    "worst-group-utility": "u",
    "personalised": "p",
    "m-invariance": "m",
}
_PREDICATES: dict[str, Callable[[Mapping[str, Any], Sample], Outcome]] = {
    "k": models.k,
    "distinct-l": models.distinct_l,
    "entropy-l": models.entropy_l,
    "recursive-cl": models.recursive_cl,
    "t-closeness": closeness.t_closeness,
    "alpha-k-simple": models.alpha_simple,
    "alpha-k-general": models.alpha_general,
    "alpha-k-complete": models.alpha_complete,
    "p-sensitive": models.p_sensitive,
    "k-e": numeric.k_e,
    "variance": numeric.variance,
    "eps-m": numeric.eps_m,
    "max-range": numeric.max_range,
    "range-diversity": ranges.range_diversity,
    "range-confidence": ranges.range_confidence,
    "worst-group-utility": extents.worst_group_utility,
    "personalised": guarded.personalised,
    "m-invariance": invariance.m_invariance,
}
# The model that is judged twice: by what is released, and by what only the publisher knows.
_SIDES = {"m-invariance": ("released", "history")}
_AGAINST = {"input": " against the input", "history": " against earlier releases"}


@dataclass(frozen=True)
class Slot:
    """One verdict to be found.

    Attributes
    ----------
    model
        The model as the manifest has it.
    on
        The attribute as a verdict names it: a name, a list of names, or None for models of classes as such.
    names
        The column names behind it.
    side
        For t-closeness the table to compare with, which the model names; for m-invariance ``"released"`` or
        ``"history"``, the earlier releases; else empty.
    by
        ``"rechecked"`` or ``"attested"``.
    """

    model: Mapping[str, Any]
    on: str | list[str] | None
    names: tuple[str, ...]
    side: str
    by: str

    @property
    def label(self) -> str:
        """Such as ``entropy-l on occupation``."""
        return (
            self.model["name"]
            + (f" on {' and '.join(self.names)}" if self.names else "")
            + _AGAINST.get(self.side, "")
        )

    @property
    def promise(self) -> str:
        """The label with its main parameter, such as ``entropy-l = 3 on occupation``."""
        name = self.model["name"]
        figure = self.model[_MAIN[name]] if name in _MAIN else ""
        main = f" = {figure:g}" if isinstance(figure, float) else f" = {figure}" if name in _MAIN else ""
        return name + main + self.label.removeprefix(name)


def slots(claims: Claims) -> list[Slot]:
    """The verdicts that the models of a manifest ask for, in order.

    A figure that needs the input, its subjects or values that are published as codes cannot be derived from what is
    published: it is attested.
    """
    found = []
    for model in claims.models:
        name = model["name"]
        for on, names in _targets(claims, model):
            coded = any(claims.column(part).coded is not None for part in names)
            needs_input = _needs_input(claims, name, names) or (claims.people and name in COUNTS_PEOPLE) or coded
            needs_input |= claims.counterfeits > 0 and name in ASKS_SIZE  # who is real is not published
            for side in (model.get("reference", "input"),) if name == "t-closeness" else _SIDES.get(name, ("",)):
                by = "attested" if needs_input or side in _AGAINST else "rechecked"
                found.append(Slot(model=model, on=on, names=names, side=side, by=by))
    return found


def judge(slot: Slot, facts: Facts) -> Verdict:
    """The verdict of one slot. A release without any class has nothing to hold on, so nothing holds."""
    bound = limit(slot.model)
    if not facts.classes.count:
        return Verdict(model=slot.model, on=slot.on, holds=False, by=slot.by, value=0.0, limit=bound)
    outcome = _PREDICATES[slot.model["name"]](slot.model, Sample(facts, slot.names, slot.side))
    failing = facts.classes.sizes[~outcome.passes]
    return Verdict(
        model=slot.model,
        on=slot.on,
        holds=not len(failing),
        by=slot.by,
        value=outcome.worst_value(bound),
        limit=bound,
        classes=len(failing),
        smallest=int(failing.min()) if len(failing) else 0,
    )


def verdict_check(slot: Slot, verdict: Verdict, people: bool) -> Check:
    """A verdict in words: class counts and sizes, never a figure that could give a value away."""
    count = verdict.classes
    if verdict.holds:
        detail = f"{slot.promise} holds in every class."
    elif not count:
        detail = f"{slot.promise} cannot hold: the release has no class."
    elif slot.model["name"] == "k":
        smallest = _rows(verdict.smallest)
        if people:
            smallest = "1 person" if verdict.value == 1 else f"{verdict.value:,.0f} people"
        classes = "1 class has" if count == 1 else f"{count:,} classes have"
        detail = f"{slot.promise} fails: {classes} fewer, the smallest {smallest}."
    else:
        detail = (
            f"{slot.promise} fails in {count:,} {'class' if count == 1 else 'classes'}, "
            f"the smallest {_rows(verdict.smallest)}."
        )
    return Check(name=slot.label, passed=verdict.holds, detail=detail)


def size_asked(model: Mapping[str, Any]) -> int:
    """The class size a model asks for, 0 when it asks for none."""
    return int(model["k"]) if model["name"] in ASKS_SIZE else 0


def _targets(
    claims: Claims, model: Mapping[str, Any]
) -> list[tuple[str | list[str] | None, tuple[str, ...]]]:
    on = model.get("on")
    if model["name"] in NO_TARGET:
        return [(None, ())]
    if isinstance(on, str):
        return [(on, (on,))]
    if on is not None:
        return [(list(on), tuple(on))]
    every: Sequence[str] = [column.name for column in claims.role("sensitive")]
    if model["name"] == "max-range":
        return [(list(every), tuple(every))]
    return [(name, (name,)) for name in every]


def _needs_input(claims: Claims, model: str, names: Sequence[str]) -> bool:
    """Whether a model measures by a domain that is not public."""
    columns = [claims.column(name) for name in names]
    if model == "personalised":  # guards are as sensitive as values
        return True
    if model == "worst-group-utility":
        return not all(extents.has_public_extent(column) for column in claims.role("quasi"))
    if model in RANGES and any(column.policy is not None and column.policy.part for column in columns):
        return True
    if model == "range-diversity":  # ranges of one value have no width to measure
        columns = [column for column in columns if column.policy is not None]
    elif model != "max-range":
        return False
    return not all(_has_public_domain(column) for column in columns)


def _has_public_domain(column: Column) -> bool:
    if column.hierarchy is not None:
        return column.whole
    return column.order is not None if column.type == "ordinal" else column.domain is not None


def _rows(count: int) -> str:
    return f"{count:,} row" if count == 1 else f"{count:,} rows"
