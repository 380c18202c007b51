"""Attacks against plain ways to do the same: linkage of 100,000 people with as many records."""

from __future__ import annotations

import numpy as np
import polars as pl

from benchmarks.harness import Comparison, Work, case, run
from shoal.algorithms.mondrian import Mondrian
from shoal.data.keys import Keys
from shoal.io.census import generate
from shoal.models.diversity import DistinctL
from shoal.recipe.source import read
from shoal.recoding.kinds import GENERALISED
from shoal.release.entry import anonymize
from shoal.results import Release
from shoal.risk.attacks.case import AttackCase
from shoal.risk.attacks.classes import Background
from shoal.risk.attacks.views import identified_people, people_frame, release_view

ROWS = 100_000
QUASI = ["age", "sex", "postcode", "marital_status", "education"]


def released(rows: int = ROWS) -> Release:
    """A release of a census, every column without a hierarchy."""
    frame = generate(rows).select(*QUASI, "diagnosis")
    table = read(frame, quasi=QUASI, sensitive=["diagnosis"], missing="value")
    return anonymize(table, algorithm=Mondrian(k=5), models=[DistinctL(l=2)], seed=1)


def scan(release: Release) -> Work:
    """One look at every record's ends: what finding the matches of a single person costs the plain way."""
    cells = release.released.cells
    classes = release.released.classes
    codes = release.table.quasi_codes[:, 0]
    age, sets = cells["age"], [cells[name] for name in QUASI[1:]]
    low, high = age.low[classes], age.high[classes]  # type: ignore[attr-defined]
    bits = [one.bits[classes, code >> 6] for one, code in zip(sets, codes[1:], strict=True)]  # type: ignore[attr-defined]

    def work() -> int:
        found = (low <= codes[0]) & (codes[0] <= high)
        for word, code in zip(bits, codes[1:], strict=True):
            found &= (word >> np.uint64(code & 63)) & np.uint64(1) == 1
        return int(found.sum())

    return work


@case("linkage: 100,000 people against 100,000 records, in scans of all records")
def linkage() -> Comparison:
    release = released()
    view = release_view(release)
    frame: pl.DataFrame = people_frame(release)

    def work() -> float:
        vectors, vector = identified_people(view, frame).places
        return float((1.0 / view.cells.counts(vectors)[vector]).mean())

    # A plain attacker scans all records once a person: 100,000 scans. This is a few hundred.
    return Comparison(work, yardstick=scan(release), limit=1000.0)


@case("background knowledge about 100,000 people, in scans of all records")
def background() -> Comparison:
    release = released()
    view = release_view(release)
    people = identified_people(view, people_frame(release))
    whole = AttackCase(kind=GENERALISED, made=GENERALISED, view=view, keys=Keys.from_seed(1), people=people)
    return Comparison(lambda: Background().run(whole), yardstick=scan(release), limit=10_000.0)


if __name__ == "__main__":
    run([linkage, background])
