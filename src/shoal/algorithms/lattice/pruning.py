"""When one node's verdict may stand for others', and what to say when none is left."""

from __future__ import annotations

from shoal.algorithms.base import Problem
from shoal.errors import InfeasibleError, ParameterError
from shoal.models.base import failing_stays, merging_keeps
from shoal.models.judge import Judge, Judgement
from shoal.recoding.lattice import Lattice

# Methods that list nodes by the height keep a flag for each.
LARGEST = 20_000_000


def suppression_is_monotone(judge: Judge, allowed: int) -> bool:
    """Whether whatever is coarser than an allowed generalisation is allowed, and so finer than a forbidden one not."""
    return all(failing_stays(*one) or (allowed == 0 and merging_keeps(*one)) for one in judge.sets)


def refuse_unsound(owner: str, judge: Judge, allowed: int) -> None:
    """Refuse models under which suppression is not monotone, and say why it is not."""
    for model, rules in judge.sets:
        if failing_stays(model, rules) or (allowed == 0 and merging_keeps(model, rules)):
            continue
        seen = [rule.attribute for rule in rules if rule.attribute is not None]
        if model.monotone != "up" or not all(rule.keeps for rule in rules):
            why = "merging two classes that satisfy it can give one that does not"
        elif any(one.people for one in seen) and (model.inherited or allowed == 0):
            why = "a person with rows in two classes counts once when they are merged"
        elif model.inherited or (allowed == 0 and any(one.unknown.any() for one in seen)):
            why = "a class without any known value satisfies it, and need not when it is merged with another"
        else:
            why = "with suppression, generalising further can make more rows fail it"
        without = "" if allowed == 0 or not merging_keeps(model, rules) else "set suppression_limit to 0 or "
        raise ParameterError(
            f"{owner} cannot rule out nodes by the model '{model.name}', because {why}: {without}use 'optimal'."
        )


def refuse_large(owner: str, lattice: Lattice) -> None:
    """Refuse lattices that cannot be listed."""
    if lattice.size > LARGEST:
        raise ParameterError(
            f"The lattice has {lattice.size} nodes, too many for {owner}: use 'optimal' with 'seconds', fewer "
            "quasi-identifiers or lower hierarchies."
        )


def infeasible(problem: Problem, allowed: int) -> InfeasibleError:
    """The error that says which models even one class of everybody fails, and by how much."""
    judge = problem.judge
    failing = [one for one in judge.judge(judge.reference.stats) if not one.ok.all()]
    top = "; ".join(_at_top(one) for one in failing)
    where = f" (one class of everybody: {top})" if top else ""
    return InfeasibleError(
        f"No generalisation satisfies the models with at most {allowed} of {problem.domain.n} rows "
        f"suppressed{where}: raise the suppression_limit or relax the models."
    )


def _at_top(one: Judgement) -> str:
    on = f" on '{', '.join(one.on)}'" if one.on else ""
    return f"model '{one.model.name}'{on} reaches {one.worst:.6g}, and its limit is {one.limit:.6g}"
