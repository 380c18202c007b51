"""Worked figures of the utility measures, computed on releases made by grouping the original records."""

from __future__ import annotations

from fractions import Fraction
from typing import Any

import polars as pl
import pytest

from shoal.recipe.source import read
from shoal.recoding.recoded import Released
from tests.golden import data
from tests.golden.build import cells, printed_release, release, score


def table_2(frame: Any, groups: list[list[int]]) -> Released:
    """Tables 2.2 and 2.3: postcodes of the hierarchy."""
    table = read(frame, quasi=["postcode"], sensitive=["salary"], hierarchies={"postcode": data.POSTCODES})
    return release(table, groups)


MORTGAGES = read(data.LO_TABLE_2_4, quasi=["age", "postcode"], sensitive=["salary", "mortgage"])


def ages(groups: list[list[int]], *, tree: bool) -> Released:
    """Tables 3.2 and 3.3, with the postcode as a node or as a number."""
    if not tree:
        return release(read(data.LO_TABLE_3_1, quasi=["age", "postcode"], sensitive=["salary"]), groups)
    table = read(
        data.LO_TABLE_3_1_LEAVES, quasi=["age", "postcode"], sensitive=["salary"],
        hierarchies={"postcode": data.POSTCODES},
    )  # fmt: skip
    return release(table, groups)


def heights(groups: list[list[int]]) -> Released:
    """Tables 3.9 and 3.10."""
    return release(read(data.LO_TABLE_3_8, quasi=["age", "height", "postcode"], sensitive=["salary"]), groups)


T22, T23 = table_2(data.LO_TABLE_2_1, data.TABLE_2_2), table_2(data.LO_TABLE_2_1, data.TABLE_2_3)
T26 = release(MORTGAGES, data.TABLE_2_6)
T27 = printed_release(MORTGAGES, data.TABLE_2_7, data.TABLE_2_7_CELLS)
T32, T33, T33_TREE = (
    ages(data.TABLE_3_2, tree=True),
    ages(data.TABLE_3_3, tree=False),
    ages(data.TABLE_3_3, tree=True),
)
T39, T310 = heights(data.TABLE_3_9), heights(data.TABLE_3_10)
# Loukides 2008, Ex. 3.1.3: two pairs of postcodes.
PAIRS = table_2(
    data.LO_TABLE_2_1[:4].with_columns(postcode=pl.Series(["NW10", "NW13", "NW20", "NW23"])), [[0, 1], [2, 3]]
)

# Release, measure with its parameters, the figure beside it that is meant (None: the value), expected.
FIGURES: dict[str, tuple[Released, dict[str, Any], str | None, float]] = {
    "LU-03": (T22, {"name": "dm"}, None, 64),
    "LU-04": (T23, {"name": "dm"}, None, 32),
    "LU-05": (T22, {"name": "c-avg", "k": 4}, None, 2),
    "LU-06": (T23, {"name": "c-avg", "k": 4}, None, 1),
    "LU-07": (T23, {"name": "genc"}, None, 4),
    "LU-08": (T22, {"name": "genc"}, None, 8),
    "LU-10": (T26, {"name": "cm", "target": "mortgage"}, None, Fraction(1, 2)),
    "LU-11": (T27, {"name": "cm", "target": "mortgage"}, None, 0),
    "LU-12": (T26, {"name": "am"}, "normalised", Fraction(65, 396)),
    "LU-13": (T27, {"name": "am"}, "normalised", Fraction(383, 5544)),
    "LU-14": (T26, {"name": "um"}, None, Fraction(46, 195)),
    "LU-15": (T27, {"name": "um"}, None, Fraction(557, 2080)),
    "LU-16": (T26, {"name": "ncp"}, "normalised", Fraction(329, 1040)),
    "LU-17": (T27, {"name": "ncp"}, "normalised", Fraction(557, 2080)),
    "LU-24": (T32, {"name": "um"}, None, Fraction(95, 240)),
    "LU-25": (T32, {"name": "dm"}, None, 32),
    "LU-26": (T33, {"name": "dm"}, None, 32),
    "LU-27": (T33, {"name": "c-avg", "k": 4}, None, 1),
    "LU-28": (T33, {"name": "um"}, None, Fraction(4, 5)),
    "LU-29": (T33_TREE, {"name": "um"}, None, Fraction(33, 40)),
    "LU-34": (T39, {"name": "um"}, None, Fraction(3, 4)),
    "LU-35": (T310, {"name": "um"}, None, Fraction(1, 12)),
}

# Release, column, class, Q-diversity.
Q_DIVERSITY: dict[str, tuple[Released, str, int, Fraction]] = {
    "LU-20": (T32, "age", 0, Fraction(1, 3)),
    "LU-21": (T32, "postcode", 0, Fraction(1, 4)),
    "LU-22": (T32, "age", 1, Fraction(1, 2)),
    "LU-23": (T32, "postcode", 1, Fraction(1, 2)),
    "LU-32": (PAIRS, "postcode", 0, Fraction(1, 4)),
    "LU-33": (PAIRS, "postcode", 1, Fraction(1, 2)),
}

# Release, column, class, values that a cell may stand for: the reconstruction probability is one over it.
COVERAGE: dict[str, tuple[Released, str, int, int]] = {
    "LU-09": (T23, "postcode", 0, 6),
    "LU-19": (T32, "age", 0, 11),
    "LU-30": (PAIRS, "postcode", 0, 6),
    "LU-31": (PAIRS, "postcode", 1, 11),
}

COVERED = {*FIGURES, *Q_DIVERSITY, *COVERAGE}


@pytest.mark.parametrize("name", FIGURES)
def test_figure(name: str) -> None:
    released, measure, beside, expected = FIGURES[name]
    parameters = {key: value for key, value in measure.items() if key != "name"}
    found = score(released, measure["name"], **parameters)
    value = found.value if beside is None else found.also[beside]
    assert value == pytest.approx(float(expected), abs=1e-12)


@pytest.mark.parametrize("name", Q_DIVERSITY)
def test_q_diversity(name: str) -> None:
    released, column, number, expected = Q_DIVERSITY[name]
    assert released.cells[column].spread()[number] == pytest.approx(float(expected), abs=1e-12)


@pytest.mark.parametrize("name", COVERAGE)
def test_reconstruction(name: str) -> None:
    released, column, number, expected = COVERAGE[name]
    assert released.cells[column].covered()[number] == expected


def test_grouping_gives_the_printed_cells() -> None:
    assert (cells(T22, "postcode"), cells(T23, "postcode")) == (["*"], ["NW[10-15]", "NW[20-30]"])
    assert cells(T26, "age") == ["15", "30", "[40,80]"]
    assert cells(T26, "postcode") == ["[10,13]", "[12,15]", "[20,30]"]
    assert cells(T27, "age") == ["[15,30]", "[15,30]", "[40,80]", "[40,80]"]
    assert cells(T27, "postcode") == ["[10,12]", "[13,15]", "[20,25]", "30"]
    assert (cells(T32, "age"), cells(T32, "postcode")) == (["[30,40]", "[45,60]"], ["NW[10-15]", "NW[20-30]"])
    assert (cells(T33, "age"), cells(T33, "postcode")) == (["[30,46]", "[37,60]"], ["[10,30]", "[12,30]"])
    assert cells(T33_TREE, "postcode") == ["*", "*"]
    assert cells(T310, "height") == ["170", "175", "170", "175"]


def test_the_tuple_weighted_mean_ranks_tables_2_6_and_2_7_the_other_way() -> None:
    """UM prefers Table 2.6, the mean over records prefers Table 2.7 (LU-14 to LU-17)."""
    first, second = score(T26, "um"), score(T27, "um")
    assert first.value < second.value
    assert first.also["tuple-weighted"] > second.also["tuple-weighted"]
    for released, um in ((T26, first), (T27, second)):
        # For numbers alone, three roads lead to the same mean.
        assert um.also["tuple-weighted"] == pytest.approx(
            score(released, "ncp").also["normalised"], abs=1e-12
        )
        assert um.also["tuple-weighted"] == pytest.approx(score(released, "lm").value, abs=1e-12)
