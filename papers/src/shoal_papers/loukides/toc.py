"""Loukides' Chapters 3 and 4: utility against protection (TOC k-anonymisation, the method MRG), item by item."""

from __future__ import annotations

import polars as pl

from shoal_papers.base import Context, Item, Outcome
from shoal_papers.claims import equals
from shoal_papers.loukides.toc_common import ORDER, QUASI, SENSITIVE
from shoal_papers.loukides.toc_heuristics import DELTAS, QUALITY, SIZES, SUBSPACES
from shoal_papers.loukides.toc_queries import QUERIES, RANGES
from shoal_papers.loukides.toc_time import SCALING, SUBSPACE_TIME
from shoal_papers.loukides.toc_tradeoff import AGAINST_K, WEIGHTS

# Table 4.2; 72 of the 74 ages from 17 to 90 occur.
DOMAINS = {
    "age": 74, "sex": 2, "race": 5, "salary-class": 2, "native-country": 41, "workclass": 7, "marital-status": 7,
    "occupation": 14,
}  # fmt: skip


def _domains(context: Context) -> Outcome:
    adult = context.data.adult().select(*QUASI, *SENSITIVE)
    ages = adult["age"].to_numpy()
    found = {name: adult[name].n_unique() for name in adult.columns} | {"age": int(ages.max() - ages.min()) + 1}
    top = int(adult["occupation"].value_counts()["count"].to_numpy().max())
    rows = [
        {"column": name, "values": found[name], "stated": size, "occurring": adult[name].n_unique()}
        for name, size in DOMAINS.items()
    ]
    return Outcome(
        table=pl.DataFrame(rows),
        claims=[
            equals("Complete rows", adult.height, 30_162),
            *(equals(f"Values of {name}", found[name], size) for name, size in DOMAINS.items()),
            equals("Largest l for which groups of l different occupations can be made", adult.height // top, 7),
        ],
        notes=[ORDER, "Age counts the years from the lowest to the highest; 72 of them occur."],
    )


TABLE = Item(
    id="T4.2",
    key="EXP-LO-T4.2",
    title="The attributes of Adult",
    shows="Domain sizes of the six quasi-identifiers and the two sensitive attributes.",
    statement="Adult has 30,162 complete rows; domains have 74, 2, 5, 2, 41, 7, 7 and 14 values.",
    run=_domains,
    needs=["adult"],
    fixed=True,
)
ITEMS = [
    RANGES, DELTAS, SIZES, TABLE, QUALITY, SUBSPACES, SCALING, SUBSPACE_TIME, AGAINST_K, WEIGHTS, QUERIES,
]  # fmt: skip
