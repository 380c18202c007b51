"""Whether the gaps between a person's dates single the person out although the dates themselves are shifted."""

from __future__ import annotations

from collections.abc import Mapping

import polars as pl

from shoal.errors import ParameterError
from shoal.recoding.recoded import Released
from shoal.risk.attacks.base import AttackFigure, figure

CODE = "W-TRAJECTORY"


def gap_patterns(dates: Mapping[str, pl.Series], subjects: pl.Series) -> AttackFigure:
    """Share of people whose pattern of gaps nobody else has.

    The attacker knows how far apart a person's dates are (a fortnight between two admissions), which a shift by the
    same number of days leaves as it was. A pattern is the dates of a person in every column, as days after the person's
    first. Shifted or true dates give the same figure.

    Parameters
    ----------
    dates
        Columns of type Date with one entry a row; missing ones are left out.
    subjects
        Whose row it is.
    """
    if not dates:
        raise ParameterError("There is no date column to look for gaps in.")
    people = subjects.n_unique()
    parts = [
        pl.DataFrame({"who": subjects, "day": days.cast(pl.Int32)}).with_columns(column=pl.lit(place, dtype=pl.Int32))
        for place, days in enumerate(dates.values())
    ]
    patterns = (
        pl.concat(parts)
        .drop_nulls("day")
        .with_columns(gap=pl.col("day") - pl.col("day").min().over("who"))
        .sort("who", "column", "gap")
        .group_by("who")
        .agg(pattern=pl.concat_str("column", "gap", separator=":").str.join(" "))
    )
    alone = int(patterns.group_by("pattern").len()["len"].eq(1).sum())
    share = alone / people if people else 0.0
    sentence = f"{share:.1%} of the {people:,} people have gaps between their dates that nobody else has."
    return figure("gap patterns", share, people, sentence, baseline=1.0 / people if people else None)


# ----------------------------------------
# Whether the records that a token links single their person out.


def trajectories(released: Released, tokens: pl.Series) -> AttackFigure:
    """Share of people whose released records, taken together, are in classes that nobody else's are in.

    The attacker knows the quasi-identifiers of all records of a person. One record alone is as hidden as its class;
    several, which the token links, are only as hidden as their combination.

    Parameters
    ----------
    tokens
        Token of each input row; rows that are suppressed or have none are left out.
    """
    rows = pl.DataFrame({"who": tokens, "class": released.classes}).filter(
        (pl.col("class") >= 0) & pl.col("who").is_not_null()
    )
    path = pl.col("class").sort().cast(pl.String).str.join(" ")
    paths = rows.group_by("who").agg(path=path)
    people = paths.height
    alone = int(paths.group_by("path").len()["len"].eq(1).sum())
    share = alone / people if people else 0.0
    sentence = f"{share:.1%} of the {people:,} people with a token have a combination of records that nobody else has."
    return figure("trajectories", share, people, sentence, baseline=1.0 / people if people else None)
