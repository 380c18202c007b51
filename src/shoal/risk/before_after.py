"""The risk of being found and of being known, before a table was anonymised and after: what an auditor compares."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
import polars as pl

from shoal.data.classes import Cells, Grouped, RowIds, Together
from shoal.data.column import file_columns
from shoal.data.domain import Domain, distinct
from shoal.data.rows import Frequency, Rows, with_codes
from shoal.data.table import Table
from shoal.data.texts import is_held, is_text, told
from shoal.data.value_index import number_cells
from shoal.kernels.grouping import group_rows, number_keys
from shoal.models.feasibility import whole_reference
from shoal.models.judge import Judge
from shoal.recoding.kinds import Trait
from shoal.recoding.publish import Published
from shoal.recoding.recoded import Released
from shoal.registry import load
from shoal.results import Risk
from shoal.risk.attackers import confidence, homogeneous, marketer_figures, prosecutor_figures
from shoal.risk.classes import Classes, every_cell, group_table, homogeneous_share, people
from shoal.risk.exposure import by_column, journalist, shape

_THRESHOLD = 0.2
_STAR = "*"


def before_and_after(released: Released, published: Published) -> dict[str, Any]:
    """Figures of prosecutor and marketer by quasi-identifiers: as they were read, and as they are published.

    Those of the journalist where the population is known; under ``classes`` how large classes are, under ``columns``
    what each quasi-identifier adds. Beside them, how far a class tells sensitive values; of the release where its
    records show them as they are. Counterfeits, the last rows of the table, and rows that are starred throughout are
    nobody. Private: the first says something about suppressed people.
    """
    table = released.table
    real = table.n - table.counterfeits
    columns = [name for column in table.quasi for name in file_columns(column) if name in published.frame.columns]
    shown = _alike(published.frame.select(columns))
    kept = published.source < real
    if all(is_text(kind) for kind in published.frame.dtypes):
        kept &= ~_starred(published.frame)
    names = list(table.schema.sensitive)
    told = [] if released.made.has(Trait.GROUPS) else [name for name in names if name not in released.changed]
    # Opened anew, so that the cells, which are nearly as many as the rows, are gone with the figures.
    rows = load("engine", "memory")().open(table)
    cells = None if table.counterfeits else rows.frequency([])
    if cells is None:
        before, read_sizes = _figures(table, group_table(table)[0][:real], np.arange(real), names)
    else:
        before, read_sizes = _counted(rows, every_cell(cells.rows.size), cells.sizes, names)
    after, shown_sizes = _figures(table, shown[kept], published.source[kept], told)
    return _beside(released, cells, {"before": before, "after": after}, {"before": read_sizes, "after": shown_sizes})


def _starred(frame: pl.DataFrame) -> np.ndarray:
    """Rows that hold a star in every column, all of which are text."""
    starred = np.ones(frame.height, dtype=bool)
    for column in frame.iter_columns():
        if is_held(column.dtype) and _STAR not in column.dtype.categories:  # type: ignore[attr-defined]
            return np.zeros(frame.height, dtype=bool)
        starred &= (told(column) == _STAR).fill_null(False).to_numpy()
    return starred


def _beside(
    released: Released,
    cells: Frequency | None,
    figures: Mapping[str, dict[str, Risk]],
    sizes: Mapping[str, np.ndarray | None],
) -> dict[str, Any]:
    """Figures with what stands beside them; counterfeits are nobody, so that nothing more is said with them."""
    more = {} if cells is None and released.n_counterfeit else journalist(released, cells, _THRESHOLD)
    return {
        **{when: {**found, **more.get(when, {})} for when, found in figures.items()},
        "classes": {when: {} if one is None else shape(one) for when, one in sizes.items()},
        "columns": by_column(released, cells),
        "threshold": _THRESHOLD,
    }


def _alike(frame: pl.DataFrame) -> np.ndarray:
    """The same number for rows that look the same."""
    if not frame.width:
        return np.zeros(frame.height, dtype=np.int64)
    numbers = [_numbers(column).astype(np.int32) for column in frame.iter_columns()]
    return group_rows(np.stack(numbers), np.array([int(one.max(initial=0)) + 1 for one in numbers]))[0]


def _numbers(cells: pl.Series) -> np.ndarray:
    """The same number for equal cells."""
    if is_held(cells.dtype):
        return (cells.to_physical().cast(pl.Int32) + 1).fill_null(0).to_numpy()
    found = number_cells(cells)
    assert found is not None  # as many as there are
    return found[0]


def counted_before_and_after(released: Released, *, cells: bool = True) -> dict[str, Any]:
    """The same by whoever counts the rows of a release.

    Parameters
    ----------
    cells
        Whether memory holds the frequency table; without it nothing is known of what was before.
    """
    rows, names = released.rows, list(released.domain.schema.sensitive)
    if not cells:
        told = [name for name in names if name not in released.changed]
        after, sizes = _counted_classes(released, released.classmap, told)
        return _beside(released, None, {"before": {}, "after": after}, {"before": None, "after": sizes})
    frequency = rows.frequency([])
    before = every_cell(frequency.rows.size)
    # Groups have quasi-identifiers as they were read, and no sensitive value beside any of them.
    groups = released.made.has(Trait.GROUPS)
    told = [] if groups else [name for name in names if name not in released.changed]
    alike = _looking_alike(released, before) if groups else released.classmap
    was, were = _counted(rows, before, frequency.sizes, names)
    now, are = _counted_classes(released, alike, told)
    return _beside(released, frequency, {"before": was, "after": now}, {"before": were, "after": are})


def _looking_alike(released: Released, cells: Cells) -> Grouped:
    """Released rows of equal quasi-identifiers as classes, where these are published as they are."""
    if not released.n_suppressed:
        return cells
    assert isinstance(released.classmap, RowIds)
    kept = np.flatnonzero(released.classmap.ids >= 0)
    quasi = released.domain.quasi
    codes = np.stack([with_codes(released.rows).codes_of(column.name)[kept] for column in quasi])
    of, found, _ = distinct(codes, np.array([column.card for column in quasi]))
    ids = np.full(released.domain.n, -1, dtype=np.int32)
    ids[kept] = of
    return RowIds(ids, found.shape[1])


def _counted_classes(
    released: Released, classes: Grouped, sensitive: Sequence[str]
) -> tuple[dict[str, Risk], np.ndarray | None]:
    """Figures of released rows; none where there are none."""
    if not released.n_classes:
        return {}, None
    return _counted(released.rows, classes, released.rows.stats(classes, []).sizes, sensitive)


def _counted(
    rows: Rows, classes: Grouped, sizes: np.ndarray, sensitive: Sequence[str]
) -> tuple[dict[str, Risk], np.ndarray]:
    """Figures of classes of so many people."""
    found = Classes(sizes=sizes)
    figures = prosecutor_figures(found, _THRESHOLD) | marketer_figures(found, {})
    return figures | _known(rows, classes, sensitive) if sensitive else figures, sizes


def _figures(
    table: Table, ids: np.ndarray, rows: np.ndarray, sensitive: Sequence[str]
) -> tuple[dict[str, Risk], np.ndarray | None]:
    if not ids.size:
        return {}, None
    numbers, first, counts = number_keys(ids.astype(np.uint64))
    if table.subjects is not None:
        counts = people(numbers, table.subjects[rows], table.n_subjects, first.size)
    classes = Classes(sizes=counts.astype(np.int64))
    found = prosecutor_figures(classes, _THRESHOLD) | marketer_figures(classes, {})
    if not sensitive:
        return found, classes.sizes
    of_row = np.full(table.n, -1, dtype=np.int32)
    of_row[rows] = numbers
    rows_of = load("engine", "memory")().open(table)
    return found | _known(rows_of, RowIds(of_row, first.size), sensitive), classes.sizes


def _known(rows: Rows, classes: Grouped, sensitive: Sequence[str]) -> dict[str, Risk]:
    """What classes tell about sensitive values, by models that cannot fail; all their rows as one are the baseline."""
    models = [load("model", "distinct-l")(l=2, on=name) for name in sensitive]
    models += [load("model", "alpha-k-general")(alpha=1.0, k=2, on=name) for name in sensitive]
    judge = Judge(models, whole_reference(rows, models, Together(classes)))
    stats = rows.stats(classes, judge.attributes)
    found: dict[str, Risk] = {}
    for one, base in zip(judge.judge(stats), judge.judge(judge.reference.stats), strict=True):
        assert one.on is not None
        (name,) = one.on
        if one.model.name == "distinct-l":
            alone = homogeneous_share(judge, one, stats)
            found[f"homogeneous {name}"] = homogeneous(name, alone, float((base.values == 1).all()))
        elif np.isfinite(one.worst):
            found[f"confidence {name}"] = confidence(name, one.worst, base.worst)
    return found


# ----------------------------------------
# What drawing a sample does to the risk of being found: little to whoever is known to be in it, much to all others.


_FOUND, _AMONG = "prosecutor-max", "journalist-max"


def risk_facts(released: Released, published: Published) -> dict[str, Any]:
    """The risk before and after, and of a sample what it does to it."""
    found = before_and_after(released, published)
    return {"risk": found, **drawn_facts(released.domain, found)}


def counted_facts(released: Released, *, cells: bool) -> dict[str, Any]:
    """The same where an engine keeps the rows."""
    found = counted_before_and_after(released, cells=cells)
    return {"risk": found, **drawn_facts(released.domain, found)}


def drawn_facts(domain: Domain, risk: Mapping[str, Any]) -> dict[str, Any]:
    """Of a sample: what drew how much of how much, and the largest risks with it; nothing where all rows take part.

    Parameters
    ----------
    risk
        The figures before and after, of which those after are looked at.

    Private: how many rows the source has, and which part of them, is no declared parameter where a number is drawn.
    """
    sample = domain.sample
    if sample is None:
        return {}
    after, what = risk["after"], "people" if sample.people else "rows"
    chance = sample.drawn / sample.source
    known: Risk | None = after.get(_FOUND)
    counted: Risk | None = after.get(_AMONG)
    told = [f"{sample.drawn:,} of {sample.source:,} {what} were drawn ({chance:.2%})."]
    if known is not None:
        told.append(
            f"Whoever knows that a person was drawn (prosecutor) finds that person with up to {known.value:.2%}: "
            "sampling does not lower that."
        )
        told.append(
            "Whoever knows only that a person is in the source finds that person with up to "
            f"{known.value * chance:.2%}, since being drawn has a chance of {chance:.2%}."
        )
    told.append(
        f"Whoever picks somebody of the population (journalist) is right with up to {counted.value:.2%}."
        if counted is not None
        else "No population is known: give the whole source as one, and the journalist's risk is counted in it."
    )
    # A table may be released several times: what drew its rows must not order them, or the orders would be one.
    return {
        "sample_secret": sample.keys.secret,
        "sample": {
            "of": what, "source": sample.source, "drawn": sample.drawn, "chance": chance, "strata": sample.strata,
            "share": sample.sampling.share, "number": sample.sampling.number, "by": list(sample.sampling.by),
            "prosecutor": None if known is None else known.value,
            "in_source": None if known is None else known.value * chance,
            "journalist": None if counted is None else counted.value, "told": told,
        }
    }  # fmt: skip
