"""Everything that is known about the risk of a table, in one report."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import asdict
from typing import Any

import numpy as np

from shoal.errors import ParameterError
from shoal.params import real, whole
from shoal.results import Risk
from shoal.risk.audit import audit_table
from shoal.risk.classes import Classes, class_weights, group_table, population_sizes
from shoal.risk.contributions import contributions
from shoal.risk.household import household_figures
from shoal.risk.individual import individual_risk
from shoal.risk.reidentify import (
    confidence,
    counted,
    homogeneous,
    journalist_figures,
    marketer_figures,
    n_population,
    prosecutor_figures,
    risk_curve,
)
from shoal.risk.report import RecordRisks, RiskReport
from shoal.risk.suda import class_scores, dis_figure, dis_scores, find_uniques, summarise
from shoal.risk.uniqueness import uniqueness_figures
from shoal.table.table import Table

Progress = Callable[[str], None]
# Whom so few quasi-identifiers single out stands out in any population.
_FEW = 2


def assess(
    table: Table,
    *,
    threshold: float = 0.2,
    population: Table | None = None,
    fraction: float | None = None,
    household: str | None = None,
    suda: int = 6,
    pairs: bool = False,
    progress: Progress | None = None,
) -> RiskReport:
    """Measure the risk of re-identification of a table: raw data, or a release of any tool.

    Parameters
    ----------
    threshold
        Risk above which a record counts as at risk.
    population
        A table of everybody, with the same quasi-identifiers.
    fraction
        Share of the population that is in the table, for a simple random sample. Survey weights (the ``weight`` role)
        say more, and only one of population, fraction and weights is used: they cannot be given together.
    household
        Column whose equal values are one household.
    suda
        Largest minimal unique to search for, 0 to search for none.
    pairs
        Leave out pairs of quasi-identifiers as well, to see what they add to the risk.

    Examples
    --------
    >>> from shoal.io.source import read
    >>> import polars as pl
    >>> people = pl.DataFrame({"age": [30, 30, 30, 41, 41], "sex": ["f", "f", "f", "m", "f"]})
    >>> assess(read(people, quasi=["age", "sex"])).figures["prosecutor-mean"].value
    0.6
    """
    step = progress if progress is not None else lambda text: None
    _check(table, threshold, population, fraction, suda)
    step("counting classes")
    classes, source = _classes(table, population, fraction)
    journalist = journalist_figures(classes, threshold)
    figures = prosecutor_figures(classes, threshold) | journalist | marketer_figures(classes, journalist)
    step("estimating uniqueness in the population")
    figures |= uniqueness_figures(classes)
    risk, variance = _class_risk(classes)
    by_record: dict[str, Any] = {"journalist": None if source is None else risk[classes.ids]}
    if household is not None:
        step("looking at households")
        found, by_record["household"] = household_figures(table, household, classes, risk, variance)
        figures |= found
    summary = None
    if suda:
        summary, more, arrays = _special_uniques(table, classes, suda, source, step)
        figures |= more
        by_record |= arrays
    step("looking at sensitive values")
    sensitive = _sensitive(table, figures) if table.schema.sensitive else {}
    step("leaving quasi-identifiers out")
    sizes, counts = classes.histogram
    return RiskReport(
        name=table.name,
        rows=table.n,
        records=classes.records,
        people=table.subjects is not None,
        quasi=list(table.schema.quasi),
        threshold=threshold,
        population=source,
        population_size=None if source is None else n_population(classes),
        figures=figures,
        class_sizes={int(size): int(count) for size, count in zip(sizes, counts, strict=True)},
        curves=_curves(classes),
        contributions=contributions(table, classes, pairs=pairs),
        sensitive=sensitive,
        suda=summary,
        by_record=RecordRisks(numbers=_row_numbers(table), prosecutor=1.0 / classes.sizes[classes.ids], **by_record),
    )


def _check(table: Table, threshold: float, population: Table | None, fraction: float | None, suda: int) -> None:
    real("the risk", "threshold", threshold, low=1e-4, high=1.0)
    whole("the risk", "suda", suda, least=0)
    if fraction is not None:
        real("the risk", "fraction", fraction, low=0.0, high=1.0, open_low=True)
    given = {"population": population, "fraction": fraction, "weight column": table.schema.weight}
    known = [name for name, entry in given.items() if entry is not None]
    if len(known) > 1:
        raise ParameterError(f"A {known[0]} and a {known[1]} both say how large the population is: keep one of them.")


def _classes(table: Table, population: Table | None, fraction: float | None) -> tuple[Classes, str | None]:
    """The classes, with what is known about the population, and how it is known."""
    ids, first, sizes = group_table(table)
    sizes = sizes.astype(np.int64)
    more: dict[str, Any] = {}
    source = None
    if population is not None:
        more["population"], more["everybody"] = population_sizes(table, population, first, sizes)
        source = "table"
    elif fraction is not None:
        more["shares"], source = np.full(sizes.size, float(fraction)), "fraction"
    elif table.schema.weight is not None:
        more["shares"], source = sizes / class_weights(table, ids, sizes.size), "weights"
    return Classes(ids=ids, sizes=sizes, first=first, **more), source


def _class_risk(classes: Classes) -> tuple[np.ndarray, np.ndarray | None]:
    """Risk of each class's records: the journalist's where the population is known, else the prosecutor's."""
    if classes.shares is not None:
        return individual_risk(classes.sizes, classes.shares)
    return 1.0 / (classes.sizes if classes.population is None else classes.population), None


def _special_uniques(
    table: Table, classes: Classes, most: int, source: str | None, step: Progress
) -> tuple[Any, dict[str, Risk], dict[str, np.ndarray]]:
    found = find_uniques(table, classes, most, step)
    scores = class_scores(found, classes)
    arrays, figures = {"suda": scores[classes.ids]}, {}
    summary = summarise(found, table, classes)
    few = np.zeros(classes.sizes.size, dtype=bool)
    few[found.classes[found.sizes <= _FEW]] = True
    share = float(few.sum() / classes.records)
    text = f"{share:.1%} of the records are singled out by at most {min(_FEW, found.most)} of their quasi-identifiers."
    figures["special-unique"] = counted(share, None, text)
    if source is not None:
        chance = dis_figure(classes, classes.records / n_population(classes))
        if chance is not None:
            figures["dis"] = chance
            unique = int((classes.sizes == 1).sum())
            arrays["dis"] = dis_scores(scores, found.keys, chance.value, unique)[classes.ids]
    return summary, figures, arrays


def _sensitive(table: Table, figures: dict[str, Risk]) -> Mapping[str, Mapping[str, Any]]:
    """Figures of the sensitive attributes; the shares among them are risks as well."""
    found, whole_table = audit_table(table)
    for name, one in found.sensitive.items():
        base = whole_table.sensitive[name]
        figures[f"homogeneous {name}"] = homogeneous(name, one.homogeneous_share, base.homogeneous_share)
        if np.isfinite(one.alpha):
            figures[f"confidence {name}"] = confidence(name, one.alpha, base.alpha)
        if one.range_confidence is not None and np.isfinite(one.range_confidence):
            figures[f"range-confidence {name}"] = counted(
                one.range_confidence, base.range_confidence,
                f"Who finds the class of a person guesses the range of {name} with up to {one.range_confidence:.0%}.",
            )  # fmt: skip
    return {name: asdict(one) for name, one in found.sensitive.items()}


def _curves(classes: Classes) -> dict[str, list[tuple[float, float]]]:
    found = {"prosecutor": risk_curve(classes.sizes, classes.sizes, None)}
    if classes.population is not None:
        found["journalist"] = risk_curve(classes.sizes, classes.population, None)
    elif classes.shares is not None:
        found["journalist"] = risk_curve(classes.sizes, classes.sizes, classes.shares)
    return found


def _row_numbers(table: Table) -> np.ndarray:
    """Row of the source, from 1; keys that are not positions leave only the order of the rows kept."""
    if table.schema.key is not None:
        return np.arange(1, table.n + 1)
    return table.row_keys.astype(np.int64) + 1
