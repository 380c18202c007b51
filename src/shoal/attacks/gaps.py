"""Whether the gaps between a person's dates single the person out although the dates themselves are shifted."""

from __future__ import annotations

from collections.abc import Mapping

import polars as pl

from shoal.attacks.base import AttackFigure, figure
from shoal.errors import ParameterError

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
