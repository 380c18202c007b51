"""After recoding: judge the classes, suppress those that fail, within the limit."""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from shoal.errors import InfeasibleError
from shoal.judging.settle import settled
from shoal.models.judge import Judge
from shoal.models.rules import BREACH
from shoal.recoding.applied import Released
from shoal.table.classmap import RowIds
from shoal.table.guards import guards_of
from shoal.table.history import broken_classes
from shoal.table.rows import Rows
from shoal.table.stats import unknown_flags


def enforce(released: Released, judge: Judge, rows: Rows, limit: float) -> Released:
    """Suppress failing classes until all hold, each model against the reference that it names."""
    table = released.table
    while True:
        classes = RowIds(released.classes, released.n_classes)
        stats = rows.stats(classes, judge.attributes)
        if judge.needs_spreads:
            stats = replace(stats, spreads=released.spreads)
        if judge.needs_breaches:
            stats = replace(stats, breaches=_breaches(released, judge))
        if table.counterfeits:
            stats = replace(stats, sizes=_real_sizes(released))
        if table.history is not None:
            stats = replace(stats, broken=_broken(released))
        good = settled(judge, stats, classes, rows)
        if good.all():
            return replace(released, k=judge.k)
        failing = {one.model.name for one in judge.judge(stats) if not one.ok.all()}
        failing |= {model.name for model in judge.models if model.relative}
        released = released.suppress(~good)
        share = released.n_suppressed / table.n
        if released.n_classes == 0 or share > limit + 1e-12:
            raise InfeasibleError(
                _too_much(released, share, limit, sorted(failing))
            )


def _breaches(released: Released, judge: Judge) -> dict[tuple[str, int], np.ndarray]:
    """The likeliest breach of each class, by sensitive column and guard level, of values or nodes above them."""
    found = {}
    for _, rules in judge.sets:
        if rules[0].op == BREACH:
            name, level = rules[0].names[0], int(rules[0].p0)
            guards = guards_of(released.table, name, None if level < 0 else level)
            found[name, level] = guards.worst(released.classes, released.n_classes, released.recoding.lifted.get(name))
    return found


def _real_sizes(released: Released) -> np.ndarray:
    """People of each class; methods that make records up have one row a person."""
    real = released.classes[: released.table.n - released.table.counterfeits]
    return np.bincount(real[real >= 0], minlength=released.n_classes)


def _broken(released: Released) -> dict[str, np.ndarray]:
    """Classes in which somebody's signature of earlier releases does not live on."""
    history = released.table.history
    assert history is not None
    column, codes = released.table.columns[history.column], released.table.codes[history.column]
    classes, groups = released.classes, released.n_classes
    return {history.column: broken_classes(history, column.texts, classes, groups, codes, unknown_flags(column))}


def _too_much(released: Released, share: float, limit: float, names: list[str]) -> str:
    which = f" (failing: {', '.join(names)})" if names else ""
    if released.n_classes == 0:
        return f"No class satisfies the models{which}, so nothing could be released: relax them or generalise more."
    return (
        f"{released.n_suppressed} of {released.table.n} rows ({share:.2%}) would have to be suppressed{which}, and the "
        f"suppression_limit is {limit:.2%}: raise it, relax the models, or generalise more."
    )
