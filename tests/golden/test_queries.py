"""Count queries on the documents' own releases: Yang & Qiao 2010, eqs. 12 and 13, and Loukides 2008, Sec. 2.1.1."""

from __future__ import annotations

from itertools import permutations
from typing import Any

import numpy as np
import polars as pl
import pytest

from shoal.utility.count_queries import Answers, answer
from shoal.utility.queries import parse_query
from shoal.utility.reading import Reading, read_published
from tests.golden.data import YQ_FIG_1, YQ_FIG_4

COVERED = {"RA-13", "LU-18"}
# Loukides 2008, Tables 2.1 and 2.3: postcodes NW10 to NW30 as numbers.
POSTCODES = pl.DataFrame({"postcode": [10, 12, 13, 15, 20, 22, 25, 30], "salary": [10, 10, 10, 10, 20, 40, 40, 30]})
# Yang & Qiao 2010, Fig. 2, with its star for jobs.
FIG_2 = pl.DataFrame(
    {
        "age": ["{40-50|50-60|60-70}"] * 5 + ["{20-30|30-40}"] * 5,
        "job": ["*"] * 5 + ["{banker|trader}"] * 2 + ["clerk"] * 3,
        "country": ["USA"] * 5 + ["*"] * 5,
        "disease": [
            "hypertension", "hypertension", "diabetes", "diabetes", "cancer", "cancer", "heart disease", "hypertension",
            "hypertension", "diabetes",
        ],
    }
)  # fmt: skip


def manifest(kind: str, quasi: dict[str, dict[str, Any]], sensitive: str, **more: Any) -> dict[str, Any]:
    columns = [{"name": name, "role": "quasi", **entry} for name, entry in quasi.items()]
    columns.append({"name": sensitive, "role": "sensitive", "type": "categorical", "cells": "value"})
    return {"kind": kind, "suppressed": "drop", "columns": columns, **more}


def asked(reading: Reading, *queries: str) -> Answers:
    return answer(reading, [parse_query(text, reading) for text in queries])


def fig_4(frame: pl.DataFrame = YQ_FIG_4, original: pl.DataFrame = YQ_FIG_1) -> Reading:
    entry = {"type": "categorical", "cells": "value"}
    quasi = dict.fromkeys(["age", "job", "country"], entry)
    return read_published(frame, manifest("bucketised", quasi, "disease", group="group"), original)


def test_ra_13_a_count_from_groups() -> None:
    """Three clerks have hypertension, and the groups let 1.6 be expected, which is 0.4 of all clerks."""
    found = asked(fig_4(), "job = clerk and disease = hypertension", "job = clerk")
    assert found.truth.tolist() == [3, 4]
    assert found.estimate == pytest.approx([8 / 5, 4], abs=1e-12)


def test_counts_from_groups_are_means_over_permutations() -> None:
    """Over all ways to deal the values of each group."""
    rows = [0, 1, 2, 8, 3, 4, 5]
    frame = YQ_FIG_1[rows].with_columns(group=pl.Series([1, 1, 1, 1, 2, 2, 2]))
    jobs, ills = YQ_FIG_1["job"].to_list(), YQ_FIG_1["disease"].to_list()
    counts = []
    for first in permutations([0, 1, 2, 8]):
        for second in permutations([3, 4, 5]):
            dealt = dict(zip(rows, [*first, *second], strict=True))
            counts.append(sum(jobs[row] == "clerk" and ills[dealt[row]] == "hypertension" for row in dealt))
    found = asked(fig_4(frame), "job = clerk and disease = hypertension")
    assert found.estimate[0] == pytest.approx(np.mean(counts), abs=1e-12)


def test_lu_18_a_postcode_within_an_interval() -> None:
    """Four of [10,15], six postcodes each: two thirds of one record, whose true number is 1."""
    released = POSTCODES.with_columns(postcode=pl.Series(["[10,15]"] * 4 + ["[20,30]"] * 4))
    quasi = {"postcode": {"type": "numeric", "cells": "interval"}}
    found = asked(read_published(released, manifest("generalised", quasi, "salary"), POSTCODES), "postcode = 10")
    assert found.estimate[0] == pytest.approx(2 / 3, abs=1e-12)
    assert found.errors()[0] == pytest.approx(1 / 3, abs=1e-12)


def test_eq_12_on_fig_2() -> None:
    """By hand: a set of three ages, any of five jobs, any of four countries."""
    entry = {"type": "categorical", "cells": "set"}
    quasi = dict.fromkeys(["age", "job", "country"], entry)
    reading = read_published(FIG_2, manifest("generalised", quasi, "disease"), YQ_FIG_1)
    jobs, countries = (YQ_FIG_1[name].n_unique() for name in ("job", "country"))
    found = asked(
        reading,
        "age = 50-60 and disease = hypertension",
        "job in {clerk, trader} and country = USA and disease in {hypertension, cancer}",
    )
    second = 3 * 2 / jobs + 1 * 1 / 2 / countries + 2 / countries
    assert found.estimate == pytest.approx([2 / 3, second], abs=1e-12)
