"""Before a run: which models are asked for, and what is refused whatever the algorithm would find."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import Protocol

import numpy as np

from shoal.data.classes import EVERYBODY, ClassMap
from shoal.data.domain import Domain
from shoal.data.rows import Rows, with_tuples
from shoal.data.stats import Attribute, GroupStats, Histogram, Key
from shoal.errors import InfeasibleError, ParameterError, RefusalError, ShoalError
from shoal.kernels import rules as kernel
from shoal.models.base import SHARED, Model, Reference, failing_stays, merging_keeps
from shoal.models.judge import Judge, Judgement
from shoal.models.refusals import refuse_named_values, refuse_neutral, refuse_sets, refuse_settings, refuse_unprotected
from shoal.recoding.items import Asked
from shoal.recoding.kinds import Kind
from shoal.recoding.publish import Output

# ----------------------------------------
# Asked before anything runs: can the models be met at all, and can each of them fail?


# Distances that are never larger.
_UP_TO_1 = (kernel.TOTAL_VARIATION, kernel.ORDERED, kernel.TREE)


def whole_reference(rows: Rows, models: Sequence[Model], among: ClassMap = EVERYBODY) -> Reference:
    """Statistics of all rows (or of one class of some) as one group, for everything the models look at."""
    domain = with_tuples(rows, [names for model in models for names in model.targets(rows.domain)])
    found: dict[Key, Attribute] = {}
    for model in models:
        for one in model.attributes(domain) if model.targets(domain) else []:
            found.setdefault(one.key, one)
    return Reference(domain=domain, stats=rows.stats(among, list(found.values())))


def refuse_infeasible(judge: Judge, suppression_limit: float) -> None:
    """Say so when not even one class of everybody would do.

    That proves infeasibility for models that merging preserves, as long as nothing may be suppressed or every
    subset of a failing class fails too.
    """
    domain = judge.reference.domain
    people = int(judge.reference.stats.sizes[0])
    if people < judge.k:
        what = "people" if domain.by_people else "rows"
        raise InfeasibleError(f"k = {judge.k} cannot be met: the table has only {people} {what}; lower k.")
    for (model, rules), judgement in zip(judge.sets, judge.judge(judge.reference.stats), strict=True):
        hopeless = failing_stays(model, rules) or (suppression_limit == 0 and merging_keeps(model, rules))
        if hopeless and not judgement.ok[0]:
            raise InfeasibleError(describe_failure(judgement))
    for model in judge.models:
        _refuse_too_few_values(model, judge.reference)


def _refuse_too_few_values(model: Model, reference: Reference) -> None:
    """No part of the table has more distinct values than all of it; one without any known value would pass."""
    need = model.distinct_needed()
    for one in model.attributes(reference.domain) if need > 1 else []:
        have = int(np.count_nonzero(reference.counts(one)))
        if have < need and not one.unknown.any():
            raise InfeasibleError(
                f"Model '{model.name}' on '{', '.join(one.names)}' cannot be met: every class needs at least {need} "
                f"different values, and the whole table has {have}; relax it."
            )


def describe_failure(judgement: Judgement) -> str:
    """One sentence on a model that the whole table fails, with the nearest limit it meets."""
    where = f" on '{', '.join(judgement.on)}'" if judgement.on else ""
    if _figure_holds(judgement):
        return (
            f"Model '{judgement.model.name}'{where} cannot be met: the whole table as one class has too few records or "
            "distinct values for it; lower what it asks for."
        )
    bound = "at most" if judgement.better == "up" else "at least"
    return (
        f"Model '{judgement.model.name}'{where} cannot be met: the whole table as one class reaches "
        f"{judgement.worst:.6g}, and the limit is {judgement.limit:.6g}; set it to {bound} {judgement.worst:.6g}."
    )


def _figure_holds(judgement: Judgement) -> bool:
    """Whether the figure shown meets its limit, so that another condition of the model is the one that fails."""
    if judgement.better == "up":
        return judgement.worst >= judgement.limit
    return judgement.worst < judgement.limit


def vacuous(judge: Judge, suppression_limit: float) -> list[tuple[Model, tuple[str, ...] | None]]:
    """Models that no class of this table can fail, with what they are set on.

    The distances and shares are convex, so a model that every single value passes is passed by every class. What is
    suppressed decides what a class is compared with where that is the released rows; then only the largest distance
    there is tells.
    """
    found: list[tuple[Model, tuple[str, ...] | None]] = []
    for model in judge.models:
        alone = Judge([model], judge.reference)
        if model.relative and suppression_limit > 0:
            void = [all(rule.op in _UP_TO_1 and rule.limit >= 1 for rule in rules) for _, rules in alone.sets]
            judged = alone.judge(judge.reference.stats)
            found += [(model, one.on) for one, never in zip(judged, void, strict=True) if never]
            continue
        if not alone.attributes:
            first = [rules[0] for _, rules in alone.sets]
            if (alone.needs_spreads or alone.needs_breaches) and min(rule.limit for rule in first) >= 1:
                found.append((model, first[0].names or None))
            continue
        values = max(one.card for one in alone.attributes)
        stats = GroupStats(
            sizes=np.full(values, np.iinfo(np.int32).max, dtype=np.int64),
            rows=np.ones(values, dtype=np.int64),
            histograms={one.key: _single_values(one, values) for one in alone.attributes},
        )
        found += [(model, judgement.on) for judgement in alone.judge(stats) if judgement.ok.all()]
    return found


def _single_values(one: Attribute, groups: int) -> Histogram:
    """Group g holds the g-th known value alone (the last one again where an attribute has fewer)."""
    known = np.flatnonzero(one.unknown == 0)
    picks = known if known.size else np.arange(one.card)
    codes = picks[np.minimum(np.arange(groups), picks.size - 1)].astype(np.int32)
    ones = np.ones(groups, dtype=np.int64)
    return Histogram(np.arange(groups + 1, dtype=np.int64), codes, ones, ones)


# ----------------------------------------
# Columns of items and the model on them: what is asked, and what goes with it.


def asked_items(judge: Judge) -> list[Asked]:
    """What the models ask of columns of items."""
    rules = [rules[0] for _, rules in judge.sets if rules[0].op == SHARED]
    return [Asked(name=rule.names[0], k=int(rule.limit), m=int(rule.p0)) for rule in rules]


def refuse_items(domain: Domain, models: Sequence[Model], *, invents: bool) -> None:
    """Refuse columns of items without their model, or with it twice, or with models of single values."""
    columns = [name for name in domain.schema.sensitive if domain.schema.spec(name).items is not None]
    for name in columns:
        mine = [model for model in models if model.valued and (name,) in model.targets(domain)]
        count = sum(model.name == "k-m" for model in mine)
        if count != 1:
            raise ParameterError(
                f"Column '{name}' holds items, and the model 'k-m' is set on it {'twice' if count else 'nowhere'}: set "
                "it once, or leave 'items' out."
            )
    for model in models if columns else ():
        shown = [name for one in (model.targets(domain) if model.valued else ()) for name in one if name in columns]
        if shown and model.name != "k-m":
            raise ParameterError(
                f"The model '{model.name}' is about single values, and '{shown[0]}' holds items: set it 'on' other "
                "columns."
            )
    if columns and invents:
        raise ParameterError(f"The algorithm makes records up, and no items for '{columns[0]}': use another one.")


Vacuous = Sequence[tuple[Model, tuple[str, ...] | None]]


class Method(Protocol):
    """An algorithm, as far as it is judged before it runs."""

    @property
    def kind(self) -> Kind: ...


    @property
    def judges_sets(self) -> bool: ...

    @property
    def invents(self) -> bool: ...

    def models(self) -> Sequence[Model]: ...

    def share_allowed(self, n: int) -> float: ...

    def refuse(self, reference: Reference) -> None: ...


def all_models(domain: Domain, models: Sequence[Model], method: Method) -> list[Model]:
    """The models asked for and those an algorithm's shorthand stands for; a contradiction is an error."""
    wanted = list(models)
    for extra in method.models():
        same = [model for model in wanted if model.name == extra.name]
        if same and same[0] != extra:
            raise ParameterError(f"The algorithm and the models set '{extra.name}' differently: keep one of them.")
        if not same:
            wanted.append(extra)
    return [model for one in wanted for model in one.resolved(domain)]


def refuse_beforehand(rows: Rows, judge: Judge, empty: Vacuous, output: Output, method: Method) -> None:
    """Refuse what no run can mend.

    Parameters
    ----------
    empty
        Models that cannot fail on the table, which protect nothing.
    """
    refuse_sets(rows.domain, judge, method.judges_sets)
    refuse_items(rows.domain, judge.models, invents=method.invents)
    refuse_named_values(rows.domain, judge.models, rows.domain.schema.coded)
    refuse_unprotected(rows.domain, judge.models, empty, output.acknowledged, method.kind)
    refuse_settings(rows.domain, output.order, output.acknowledged)
    limit = method.share_allowed(rows.domain.n)
    refuse_neutral(rows, output.neutral_limit, limit, output.acknowledged, method.kind)
    method.refuse(judge.reference)
    if not method.invents:  # records that are made up can make up for those that are lacking
        refuse_infeasible(judge, limit)


def refusals_beforehand(rows: Rows, judge: Judge, empty: Vacuous, output: Output, method: Method) -> list[ShoalError]:
    """Every refusal, as if those before it had been acknowledged, then infeasibility; as a run meets them."""
    found: list[ShoalError] = []
    accepted = set(output.acknowledged)
    while True:
        try:
            refuse_beforehand(rows, judge, empty, replace(output, acknowledged=accepted), method)
        except RefusalError as error:
            found.append(error)
            if set(error.codes) <= accepted:  # of a method that asks for the same again and again
                return found
            accepted |= set(error.codes)
        except ShoalError as error:
            return [*found, error]
        else:
            return found
