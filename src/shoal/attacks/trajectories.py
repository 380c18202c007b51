"""Whether the records that a token links single their person out."""

from __future__ import annotations

import polars as pl

from shoal.attacks.base import AttackFigure, figure
from shoal.recoding.recoded import Released


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
