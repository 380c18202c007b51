"""Before a run: which models are asked for, and what is refused whatever the algorithm would find."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import Protocol

from shoal.data.domain import Domain
from shoal.data.rows import Rows
from shoal.errors import ParameterError, RefusalError, ShoalError
from shoal.judging.feasible import refuse_infeasible
from shoal.judging.items import refuse_items
from shoal.judging.refusals import refuse_named_values, refuse_neutral, refuse_sets, refuse_settings, refuse_unprotected
from shoal.models.base import Model
from shoal.models.judge import Judge
from shoal.models.rules import Reference
from shoal.recoding.kinds import Kind
from shoal.recoding.publish import Output

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
