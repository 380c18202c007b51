"""What is refused until the recipe acknowledges it by its warning code."""

from __future__ import annotations

import math
from collections.abc import Collection, Mapping, Sequence

from shoal.data.domain import Domain
from shoal.data.rows import Rows
from shoal.errors import ParameterError, RefusalError
from shoal.models.base import Model
from shoal.models.judge import Judge
from shoal.params import nearest
from shoal.recoding.kinds import Kind, named
from shoal.recoding.recoded import Released
from shoal.recoding.snap import is_tight
from shoal.registry import names

_SETTINGS = ("W-NO-K", "W-ORDER", "W-TIGHT", "W-NEUTRAL", "W-ROWS")
# Codes that accept something of one column, which they name.
BY_COLUMN = ("W-UNMODELLED", "W-TEXT", "W-NAMES", "W-IDENTIFIES", "W-DETERMINES")
_LINKS = "What links the records of a person singles people out"


def plain_codes() -> list[str]:
    """Warning codes that name no column: those of settings and those of the kinds of release."""
    kinds = [named(name).code for name in names("kind")]
    return [*_SETTINGS, *(code for code in kinds if code is not None), "W-TRAJECTORY", "W-REPEAT"]


def refuse_unknown_codes(acknowledged: Collection[str]) -> None:
    """Say so when a code accepts nothing, instead of letting a slip pass for consent."""
    plain = plain_codes()
    for code in acknowledged:
        name, _, column = code.partition(":")
        if code not in plain and not (name in BY_COLUMN and column):
            known = [*plain, *(f"{one}:column" for one in BY_COLUMN)]
            near = nearest(code, known)
            hint = f"did you mean '{near}'?" if near else f"there are {', '.join(known)}."
            raise ParameterError(f"There is no warning code '{code}': {hint}")


def refuse_unprotected(
    domain: Domain,
    models: Sequence[Model],
    vacuous: Sequence[tuple[Model, tuple[str, ...] | None]],
    acknowledged: Collection[str],
    kind: Kind,
) -> None:
    """Refuse a release without an identity model, or with a sensitive column that no model protects by itself.

    The code that the kind of release needs is asked for later, with what was measured, and stands for those that it
    implies.
    """
    implied = kind.implies
    if not any(model.identity for model in models) and "W-NO-K" not in (*acknowledged, *implied):
        raise RefusalError(
            "No model protects identity, so people may be unique in the release: add model 'k'.", ["W-NO-K"]
        )
    covered: set[str] = set()
    shared: dict[str, str] = {}  # columns that a model judges with others only, and its name
    for model in models:
        several = tuple(model.judged_together(domain.schema.sensitive))
        for judged in [several] if several else model.targets(domain):
            if (model, judged) in vacuous:
                continue
            if model.protects_each(len(judged)):
                covered |= set(judged)
            else:
                shared |= dict.fromkeys(judged, model.name)
    for name in domain.schema.sensitive if "W-UNMODELLED" not in implied else ():
        code = f"W-UNMODELLED:{name}"
        if name not in covered and code not in acknowledged:
            void = [model.name for model, on in vacuous if on and name in on]
            why = "no model"
            if name in shared:
                why = (
                    f"no model of its own, only '{shared[name]}' on several columns at once, which may hold where "
                    "everybody in a class has the same value"
                )
            elif void:
                why = f"only models that cannot fail on this table ({', '.join(void)}: vacuous)"
            raise RefusalError(f"The sensitive column '{name}' has {why}: add one that protects it.", [code])


def refuse_settings(domain: Domain, order: str, acknowledged: Collection[str]) -> None:
    """Refuse settings that give the source's order or the classes' exact extremes away."""
    if order == "kept" and "W-ORDER" not in acknowledged:
        raise RefusalError('order = "kept" publishes the rows in the order of the source.', ["W-ORDER"])
    tight = [column for column in domain.quasi if is_tight(column)]
    if tight and "W-TIGHT" not in acknowledged:
        given = tight[0].spec.snap
        shown = '"off"' if given == "off" else f"{given:g}"
        raise RefusalError(
            f"snap = {shown} publishes the exact extremes of classes in '{tight[0].name}'.", ["W-TIGHT"]
        )


def refuse_sets(domain: Domain, judge: Judge, judges_sets: bool) -> None:
    """Refuse several sets where the method protects all quasi-identifiers together, or a model knows no sets."""
    if not domain.schema.quasi_sets:
        return
    if not judges_sets:
        raise ParameterError(
            "Several sets of quasi-identifiers are for the algorithms 'optimal' (without 'repeat') and 'none': use one "
            "of them, or leave quasi_sets out, which protects all of them together."
        )
    odd = [model for model in judge.models if model.relative or model.membership or model.of_cells]
    if odd or judge.needs_spreads or judge.needs_breaches or judge.needs_population:
        named = f"The model '{odd[0].name}'" if odd else "One of the models"
        raise ParameterError(
            f"{named} is about all quasi-identifiers together, and not about sets of them: leave it or quasi_sets out."
        )


def refuse_neutral(
    rows: Rows,
    neutral_limit: float,
    suppression_limit: float,
    acknowledged: Collection[str],
    kind: Kind,
) -> None:
    """Refuse neutral columns that no release can bring below their limit.

    Whoever is unique on them alone is unique in every release, and only suppression makes such rows fewer. Where
    quasi-identifiers are published as they are the gate counts otherwise, and shifted dates may meet.
    """
    schema, n = rows.domain.schema, rows.domain.n
    columns = [name for name in schema.neutral if name not in schema.shifted]
    if not columns or kind.code is not None or "W-NEUTRAL" in acknowledged:
        return
    unique = rows.alone(columns)
    gone = min(unique, math.ceil(suppression_limit * n))
    if unique > gone and (unique - gone) / (n - gone) > neutral_limit:
        named = ", ".join(f"'{name}'" for name in columns)
        raise RefusalError(
            f"{unique / n:.1%} of the rows are unique on the neutral columns alone ({named}), so every release "
            f"is above the neutral_limit of {neutral_limit:.1%}.", ["W-NEUTRAL"],
        )  # fmt: skip


def refuse_named_values(domain: Domain, models: Sequence[Model], coded: Collection[str]) -> None:
    """Refuse a model that names values of a coded column: manifests would show them, and its limit tell their codes.

    Parameters
    ----------
    coded
        Columns that are published as codes.
    """
    for model in models if coded else ():
        shown = [name for name in _targets(model, domain) if name in coded]
        if model.names_values and shown:
            raise ParameterError(
                f"The model '{model.name}' names values of column '{shown[0]}', which is published as codes, and the "
                "manifest would show them: use a model that names none, or publish no codes of it."
            )


def _targets(model: Model, domain: Domain) -> list[str]:
    return [name for several in model.targets(domain) for name in several]


def refuse_misfits(released: Released, models: Sequence[Model], suppressed: str, kind: Kind) -> None:
    """Say so where settings are for generalised cells and the method makes none, or models for values it lifted.

    ``kind`` is what the method said it makes: by that was told what has to be accepted.
    """
    if released.made != kind:
        raise ParameterError(
            f"The method says that it makes {kind} releases, and made a {released.made} one: repair the method."
        )
    refuse_named_values(released.domain, models, released.coded)
    for model in models:
        targets = _targets(model, released.domain)
        lifted = [name for name in targets if name in released.recoding.lifted]
        if lifted and not model.of_nodes:
            raise ParameterError(
                f"The model '{model.name}' is set on '{lifted[0]}', whose values are lifted: set it on other columns."
            )
    if released.made.generalises:
        return
    what = f"a {released.made} release has none"
    if suppressed == "star":
        raise ParameterError(f"suppressed = \"star\" is for generalised cells, and {what}: leave it out.")
    styled = [column.name for column in released.domain.quasi if column.spec.style != "auto"]
    if styled:
        raise ParameterError(f"The style of column '{styled[0]}' is for generalised cells, and {what}: leave it out.")
    of_cells = [model.name for model in models if model.of_cells]
    if of_cells:
        raise ParameterError(f"The model '{of_cells[0]}' is about generalised cells, and {what}: leave it out.")


def refuse_measured(found: Mapping[str, str], acknowledged: Collection[str]) -> None:
    """Refuse a release that protects less than it seems to, with what an attack on this very release found.

    Parameters
    ----------
    found
        The most telling finding, by the warning code that accepts it.
    """
    meaning = {kind.code: kind.meaning for kind in map(named, names("kind"))}
    for code, sentence in found.items():
        if code not in acknowledged:
            raise RefusalError(f"{meaning.get(code, _LINKS)}: {sentence}", [code])
