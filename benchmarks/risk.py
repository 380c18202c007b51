"""Risk on Adult with eight quasi-identifiers, against one Polars group_by over its nine columns."""

from __future__ import annotations

import sys

from benchmarks.harness import ADULT, ADULT_COLUMNS, ADULT_NINE, Comparison, case, run, yardstick_groupby
from shoal.data.table import Table
from shoal.recipe.source import read
from shoal.risk.assess import assess
from shoal.risk.classes import counted_rows
from shoal.risk.suda import find_uniques

QUASI = [name for name in ADULT_NINE if name != "occupation"]


def _adult() -> Table:
    if not ADULT.is_file():
        sys.exit("This benchmark needs ../shared/data/adult beside the checkout.")
    drop = [name for name in ADULT_COLUMNS if name not in ADULT_NINE]
    return read(
        ADULT,
        columns=ADULT_COLUMNS,
        missing_markers=["?"],
        missing="drop",
        quasi=QUASI,
        sensitive=["occupation"],
        drop=drop,
    )


@case("SUDA, eight keys, all sizes / group_by")
def suda() -> Comparison:
    table = _adult()

    def work() -> None:
        rows = counted_rows(table)
        find_uniques(rows, rows.frequency([]), len(QUASI))

    return Comparison(work, yardstick_groupby(), 100.0)


@case("everything, fraction 0.01 / group_by")
def everything() -> Comparison:
    table = _adult()
    return Comparison(lambda: assess(table, fraction=0.01), yardstick_groupby(), 400.0)


if __name__ == "__main__":
    run([suda, everything])
