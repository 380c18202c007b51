"""Everything that is known about the risk of a table, in one report."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import asdict, replace
from typing import Any

import numpy as np

from shoal.data.classes import Cells
from shoal.data.rows import ArrayRows, Frequency, PeopledRows, in_memory
from shoal.data.table import Table
from shoal.errors import ParameterError
from shoal.params import real, whole
from shoal.results import Risk
from shoal.risk.attackers import (
    confidence,
    counted,
    homogeneous,
    household_figures,
    individual_risk,
    journalist_figures,
    marketer_figures,
    n_population,
    prosecutor_figures,
    risk_curve,
)
from shoal.risk.audit import audit_classes
from shoal.risk.classes import Classes, class_weights, contributions, counted_rows, every_cell, population_sizes
from shoal.risk.report import RecordRisks, RiskReport
from shoal.risk.suda import class_scores, dis_figure, dis_scores, find_uniques, summarise
from shoal.risk.uniqueness import uniqueness_figures

Progress = Callable[[str], None]
# Whom so few quasi-identifiers single out stands out in any population.
_FEW = 2
# Of rows that an engine keeps, so many of those at most risk are known by number.
MOST_LISTED = 1000


def assess(
    table: Table | PeopledRows,
    *,
    threshold: float = 0.2,
    population: Table | PeopledRows | None = None,
    fraction: float | None = None,
    household: str | None = None,
    suda: int = 6,
    pairs: bool = False,
    progress: Progress | None = None,
) -> RiskReport:
    """Measure the risk of re-identification of a table: raw data, or a release of any tool.

    Parameters
    ----------
    table
        A table, or rows that an engine keeps (`shoal.open_source`), of which only counts are looked at.
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
    >>> from shoal.recipe.source import read
    >>> import polars as pl
    >>> people = pl.DataFrame({"age": [30, 30, 30, 41, 41], "sex": ["f", "f", "f", "m", "f"]})
    >>> assess(read(people, quasi=["age", "sex"])).figures["prosecutor-mean"].value
    0.6
    """
    step = progress if progress is not None else lambda text: None
    rows = counted_rows(table)
    _check(rows, threshold, population, fraction, household, suda)
    step("counting classes")
    cells = rows.frequency([])
    classes, source = _classes(rows, cells, population, fraction)
    journalist = journalist_figures(classes, threshold)
    figures = prosecutor_figures(classes, threshold) | journalist | marketer_figures(classes, journalist)
    step("estimating uniqueness in the population")
    figures |= uniqueness_figures(classes)
    risk, variance = _class_risk(classes)
    by_class = {"prosecutor": 1.0 / classes.sizes, "journalist": None if source is None else risk}
    summary = None
    if suda:
        summary, more, arrays = _special_uniques(rows, cells, classes, suda, source, step)
        figures |= more
        by_class |= arrays
    by_record = _by_record(rows, by_class, step)
    if household is not None:
        step("looking at households")
        mine = in_memory(rows)
        ids = mine.ids(every_cell(classes.sizes.size))
        found, homes = household_figures(mine.table, household, ids, risk, variance)
        figures, by_record = {**figures, **found}, replace(by_record, household=homes)
    step("looking at sensitive values")
    sensitive = _sensitive(rows, figures) if rows.domain.schema.sensitive else {}
    sizes, counts = classes.histogram
    return RiskReport(
        name=rows.domain.name,
        rows=rows.domain.n,
        records=classes.records,
        people=rows.domain.by_people,
        quasi=list(rows.domain.schema.quasi),
        threshold=threshold,
        population=source,
        population_size=None if source is None else n_population(classes),
        figures=figures,
        class_sizes={int(size): int(count) for size, count in zip(sizes, counts, strict=True)},
        curves=_curves(classes),
        contributions=contributions(rows, cells, pairs=pairs, progress=step),
        sensitive=sensitive,
        suda=summary,
        by_record=by_record,
    )


def _check(
    rows: PeopledRows, threshold: float, population: Any, fraction: float | None, household: str | None, suda: int
) -> None:
    real("the risk", "threshold", threshold, low=1e-4, high=1.0)
    whole("the risk", "suda", suda, least=0)
    if fraction is not None:
        real("the risk", "fraction", fraction, low=0.0, high=1.0, open_low=True)
    given = {"population": population, "fraction": fraction, "weight column": rows.domain.schema.weight}
    known = [name for name, entry in given.items() if entry is not None]
    if len(known) > 1:
        raise ParameterError(f"A {known[0]} and a {known[1]} both say how large the population is: keep one of them.")
    if household is not None and not isinstance(rows, ArrayRows):
        raise ParameterError(
            "The risk of households looks at rows one by one: use the engine 'memory', or leave the household out."
        )


def _classes(
    rows: PeopledRows, cells: Frequency, population: Table | PeopledRows | None, fraction: float | None
) -> tuple[Classes, str | None]:
    """The classes, with what is known about the population, and how it is known."""
    sizes = cells.sizes
    more: dict[str, Any] = {}
    source = None
    if population is not None:
        more["population"], more["everybody"] = population_sizes(rows.domain, cells, counted_rows(population))
        source = "table"
    elif fraction is not None:
        more["shares"], source = np.full(sizes.size, float(fraction)), "fraction"
    elif rows.domain.schema.weight is not None:
        more["shares"], source = sizes / class_weights(rows, sizes.size), "weights"
    return Classes(sizes=sizes, **more), source


def _by_record(rows: PeopledRows, by_class: Mapping[str, np.ndarray | None], step: Progress) -> RecordRisks:
    """What is known of rows by their classes: of all that are in memory, else of those at most risk."""
    known = {name: entry for name, entry in by_class.items() if entry is not None}
    risk = known.get("journalist", known["prosecutor"])
    score = known.get("suda", np.zeros(risk.size))
    classes, everybody = every_cell(risk.size), isinstance(rows, ArrayRows)
    if not everybody:
        step("listing rows at risk")
        classes = _riskiest(risk, score, rows.frequency([]).rows)
    numbers, ids = np.zeros(0, dtype=np.int64), np.zeros(0, dtype=np.int32)
    for batch in rows.listed(classes, []):
        numbers, ids = np.concatenate([numbers, batch.numbers]), np.concatenate([ids, batch.classes])
        if not everybody and numbers.size > MOST_LISTED:
            first = np.lexsort((numbers, -score[ids], -risk[ids]))[:MOST_LISTED]
            numbers, ids = numbers[first], ids[first]
    return RecordRisks(numbers=numbers, **{name: entry[ids] for name, entry in known.items()})


def _riskiest(risk: np.ndarray, score: np.ndarray, rows: np.ndarray) -> Cells:
    """Classes among which the rows at most risk are; all others are none."""
    order = np.lexsort((-score, -risk))
    last = order[min(int(np.searchsorted(np.cumsum(rows[order]), MOST_LISTED)), order.size - 1)]
    kept = (risk > risk[last]) | ((risk == risk[last]) & (score >= score[last]))
    return Cells(np.where(kept, np.arange(kept.size), -1).astype(np.int32), kept.size)


def _class_risk(classes: Classes) -> tuple[np.ndarray, np.ndarray | None]:
    """Risk of each class's records: the journalist's where the population is known, else the prosecutor's."""
    if classes.shares is not None:
        return individual_risk(classes.sizes, classes.shares)
    return 1.0 / (classes.sizes if classes.population is None else classes.population), None


def _special_uniques(
    rows: PeopledRows, cells: Frequency, classes: Classes, most: int, source: str | None, step: Progress
) -> tuple[Any, dict[str, Risk], dict[str, np.ndarray]]:
    found = find_uniques(rows, cells, most, step)
    scores = class_scores(found, classes)
    arrays, figures = {"suda": scores}, {}
    summary = summarise(found, rows.domain, cells)
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
            arrays["dis"] = dis_scores(scores, found.keys, chance.value, unique)
    return summary, figures, arrays


def _sensitive(rows: PeopledRows, figures: dict[str, Risk]) -> Mapping[str, Mapping[str, Any]]:
    """Figures of the sensitive attributes; the shares among them are risks as well."""
    found, whole_table = audit_classes(rows)
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
