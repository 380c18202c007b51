"""The risk of being found and of being known, before a table was anonymised and after: what an auditor compares."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
import polars as pl

from shoal.data.classes import Grouped, RowIds, Together
from shoal.data.column import file_columns
from shoal.data.domain import Domain, distinct
from shoal.data.hierarchy import ROOT
from shoal.data.rows import Frequency, Rows, with_codes
from shoal.models.feasibility import whole_reference
from shoal.models.judge import Judge
from shoal.recoding.kinds import Trait
from shoal.recoding.publish import Publishing
from shoal.recoding.recoded import Released
from shoal.registry import load
from shoal.results import Risk
from shoal.risk.attackers import confidence, homogeneous, marketer_figures, prosecutor_figures
from shoal.risk.classes import Classes, every_cell, homogeneous_share, merged_classes, real_classes
from shoal.risk.exposure import by_column, journalist, shape

_THRESHOLD = 0.2


def before_and_after(released: Released, *, cells: bool = True) -> dict[str, Any]:
    """Compute the figures of prosecutor and marketer by quasi-identifiers as they were read and as they are published.

    Those of the journalist where the population is known; under ``classes`` how large classes are, under ``columns``
    what each quasi-identifier adds. Beside them, how far a class tells sensitive values; of the release where its
    records show them as they are. Counterfeits, the last rows, and rows that are starred throughout are nobody.
    Private: the first says something about suppressed people.

    Parameters
    ----------
    cells
        Whether memory holds the frequency table; without it nothing is known of what was before.
    """
    names = list(released.domain.schema.sensitive)
    # Groups have quasi-identifiers as they were read, and no sensitive value beside any of them.
    told = [] if released.made.has(Trait.GROUPS) else [name for name in names if name not in released.changed]
    now, are = _counted(released.rows, real_classes(released, _looking_alike(released)), told)
    if not cells:
        return _beside(released, None, {"before": {}, "after": now}, {"before": None, "after": are})
    # Known anew, so that the cells, which are nearly as many as the rows, are gone with the figures.
    rows = released.rows.knowing(released.domain)
    frequency = rows.frequency([])
    was, were = _counted(rows, real_classes(released, every_cell(frequency.rows.size)), names)
    # Counterfeits are among the cells.
    known = None if released.counterfeits else frequency
    return _beside(released, known, {"before": was, "after": now}, {"before": were, "after": are})


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


def _looking_alike(released: Released) -> Grouped:
    """Class the released rows by how their quasi-identifiers look; those of nothing but stars are in no class."""
    if released.made.has(Trait.GROUPS):
        return _exactly_alike(released)
    schema, classes = released.domain.schema, released.classmap
    merged = any(one.column.cells == "representative" for one in released.cells.values())
    if not released.made.generalises or not (merged or set(schema.released) <= set(schema.quasi)):
        return classes
    nothing = pl.Series([None] * classes.groups, dtype=pl.String)
    frame = Publishing(released, "drop").frame(np.arange(classes.groups), lambda name: nothing)
    shown = frame.select(name for column in released.domain.quasi for name in file_columns(column))
    starred = shown.select(pl.all_horizontal(pl.all().cast(pl.String) == ROOT).fill_null(False)).to_series().to_numpy()
    if shown.width < frame.width:  # other columns are no stars
        starred = np.zeros_like(starred)
    if not merged:  # no two of them look the same
        return classes.keep(~starred)
    number = shown.select(pl.struct(pl.all()).rank("dense")).to_series().to_numpy().astype(np.int32) - 1
    groups = int(number.max(initial=-1)) + 1
    found = merged_classes(released, np.where(starred, -1, number), groups)
    return found.keep(np.bincount(number[~starred], minlength=groups) > 0)


def _exactly_alike(released: Released) -> Grouped:
    """Class the released rows by equal quasi-identifiers, where these are published as they are."""
    if not released.n_suppressed:
        return every_cell(released.rows.frequency([]).rows.size)
    assert isinstance(released.classmap, RowIds)
    kept = np.flatnonzero(released.classmap.ids >= 0)
    quasi = released.domain.quasi
    codes = np.stack([with_codes(released.rows).codes_of(column.name)[kept] for column in quasi])
    of, found, _ = distinct(codes, np.array([column.card for column in quasi]))
    ids = np.full(released.domain.n, -1, dtype=np.int32)
    ids[kept] = of
    return RowIds(ids, found.shape[1])


def _counted(
    rows: Rows, classes: Grouped, sensitive: Sequence[str]
) -> tuple[dict[str, Risk], np.ndarray | None]:
    """Figures of classes, and their sizes in people; none where there are no classes."""
    if not classes.groups:
        return {}, None
    found = Classes(sizes=rows.stats(classes, []).sizes)
    figures = prosecutor_figures(found, _THRESHOLD) | marketer_figures(found, {})
    return figures | _known(rows, classes, sensitive) if sensitive else figures, found.sizes


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


def risk_facts(released: Released, *, cells: bool = True) -> dict[str, Any]:
    """Compute the risk before and after, and of a sample what drawing it does to the risk.

    Parameters
    ----------
    cells
        Whether memory holds the frequency table.
    """
    found = before_and_after(released, cells=cells)
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
