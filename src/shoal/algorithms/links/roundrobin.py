"""Groups for (eps,m)-anonymity: records dealt out in the order of their numbers, then cut along quasi-identifiers."""

from __future__ import annotations

from typing import Any

import numpy as np

from shoal.algorithms.base import Problem, sensitive_codes, shuffled_codes
from shoal.algorithms.prices import prices_of
from shoal.data.stats import Attribute
from shoal.errors import InfeasibleError, ParameterError
from shoal.kernels.mondrian import Options, Work, cut_parts
from shoal.models.base import Rule


def round_robin(problem: Problem) -> tuple[np.ndarray, dict[str, Any]]:
    """Group of every row, and notes.

    With g the most records within eps of any one, dealing the sorted records out to g groups puts at most one of any
    window into each of them, and each has at least floor(n / g) records: enough if that is at least m.
    """
    crowd, rule, one = _crowding(problem)
    order, codes = shuffled_codes(problem)
    values = problem.table.values(one)[order]
    known = one.unknown[values] == 0
    n, m = int(known.sum()), round(1.0 / rule.limit)
    groups = max(crowd, 1)
    if n // groups < m:
        raise InfeasibleError(
            f"Round robin cannot meet m = {m} on '{one.names[0]}': {crowd} of its {n} known values lie within eps of "
            f"one of them, so m = {n // groups} is the most; lower m or eps, or use 'mondrian' with the model 'eps-m'."
        )
    ids = deal(rule.ref[values], known, groups)
    problem.progress("cutting the groups")
    by_group = np.argsort(ids, kind="stable")
    order, codes = order[by_group], codes[by_group]
    work = Work(codes, np.empty_like(codes), order, np.empty_like(order), np.zeros(order.size, dtype=np.uint8))
    starts = np.searchsorted(ids[by_group], np.arange(groups + 1))
    prices, judged = prices_of(problem.domain), (problem.judge.rules, sensitive_codes(problem), None)
    cut_parts(work, starts, prices, judged, Options(problem.judge.k, False, False), None, None, False)
    found = np.empty(order.size, dtype=np.int32)
    found[order] = np.cumsum(work.ends) - work.ends
    return found, {"dealt": groups}


def deal(places: np.ndarray, known: np.ndarray, groups: int) -> np.ndarray:
    """Record number i, in ascending order of its number, goes to group i mod g; so do the unknown ones, as they come.

    Equal numbers keep their order.
    """
    ids = np.empty(places.size, dtype=np.int64)
    rows = np.flatnonzero(known)
    ids[rows[np.argsort(places[rows], kind="stable")]] = np.arange(rows.size) % groups
    rest = np.flatnonzero(~known)
    ids[rest] = np.arange(rest.size) % groups
    return ids


def _crowding(problem: Problem) -> tuple[int, Rule, Attribute]:
    """The most records within eps of one, the rule of the one eps-m model, and its attribute."""
    judge = problem.judge
    mine = [at for at, (model, _) in enumerate(judge.sets) if model.name == "eps-m"]
    if len(mine) != 1:
        raise ParameterError(
            f"The grouping 'round-robin' needs the model 'eps-m' on one attribute, and there are {len(mine)}: add it, "
            "or set its 'on'."
        )
    rule = judge.sets[mine[0]][1][0]
    one = rule.attribute
    assert one is not None
    share = judge.judge(judge.reference.stats)[mine[0]].values[0]
    known = int((one.unknown[problem.table.values(one)] == 0).sum())
    return (0 if np.isnan(share) else round(share * known)), rule, one
