"""Research value of local recodings: that of the levels where there are levels, and its definition elsewhere."""

from __future__ import annotations

from typing import Any

import numpy as np
import polars as pl
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from shoal.engines.memory import MemoryRows
from shoal.recipe.source import read
from shoal.recoding.recoded import apply_recoding
from shoal.recoding.recodings import FullDomain, Grouping
from shoal.utility.research_value import ResearchValue

AGES = [[str(age), f"[{age // 10 * 10},{age // 10 * 10 + 9}]", "*"] for age in range(20, 50)]
TOWNS = [["Aby", "east", "*"], ["Eke", "east", "*"], ["Ry", "west", "*"], ["Ulm", "west", "*"]]


def score(table: Any, recoding: Any, **parameters: Any) -> Any:
    return ResearchValue(**parameters).score(apply_recoding(MemoryRows(table), recoding).price_stats())


def groups(*ids: int) -> Grouping:
    return Grouping(ids=np.array(ids, dtype=np.int32), groups=max(ids) + 1)


@settings(max_examples=20)
@given(st.data())
def test_classes_of_one_level_are_worth_what_the_level_is(data: st.DataObject) -> None:
    """Every value occurs, and every group is a whole node of the level, published as such."""
    rows = [(age, town) for age in range(20, 50, 3) for town in ("Aby", "Eke", "Ry", "Ulm")]
    extra = data.draw(st.lists(st.sampled_from(rows), max_size=20))
    frame = pl.DataFrame(rows + extra, schema=["age", "town"], orient="row")
    trees = {"age": [row for row in AGES if int(row[0]) % 3 == 2], "town": TOWNS}
    table = read(frame, quasi=["age", "town"], hierarchies=trees)
    levels = {"age": data.draw(st.integers(0, 2)), "town": data.draw(st.integers(0, 2))}
    rules = [
        {"column": "age", "boundary": data.draw(st.integers(22, 45)), "importance": 3},
        {"column": "town", "separate": data.draw(st.permutations(["Aby", "Eke", "Ry", "Ulm"]))[:2]},
        {"column": "town", "separate": ["east", "west"], "importance": 2},
    ]
    full = apply_recoding(MemoryRows(table), FullDomain(levels=levels))
    whole = score(table, FullDomain(levels=levels), rules=rules)
    local = score(table, Grouping(ids=full.classes, groups=full.n_classes), rules=rules)
    assert local.also == pytest.approx(whole.also, abs=1e-12)
    assert local.value == pytest.approx(whole.value, abs=1e-12)


def test_intervals_sets_and_values_by_hand() -> None:
    frame = pl.DataFrame({"age": [20, 21, 30, 39], "town": ["Aby", "Eke", "Ry", "Ulm"], "sex": list("fmfm")})
    table = read(frame, quasi=["age", "town", "sex"], hierarchies={"town": TOWNS})
    found = score(table, groups(0, 0, 1, 1), normalise=False)
    # Spans of 2 and 10 values over four records; two of two labels a node; sets of everything.
    assert found.also == pytest.approx({"age": 4 / (2 * 2 + 2 * 10), "town": 0.5, "sex": 0.0})
    by_hand = score(table, groups(0, 1, 2, 2), normalise=False, rv={"town": [8.0, 3.0, 0.0]})
    assert by_hand.also["town"] == pytest.approx((8 + 8 + 3 + 3) / 4)
    everything = score(table, groups(0, 0, 0, 0))
    assert everything.value == 0.0


@pytest.mark.parametrize("ids, kept", [((0, 0, 1, 1), 1.0), ((0, 1, 0, 1), 0.0)])
def test_a_rule_counts_where_no_cell_breaks_it(ids: tuple[int, ...], kept: float) -> None:
    frame = pl.DataFrame({"age": [20, 21, 30, 39]})
    table = read(frame, quasi=["age"])
    plain = score(table, groups(*ids)).value
    assert score(table, groups(*ids), rules=[{"column": "age", "boundary": 25}]).value == pytest.approx(plain * kept)


def test_a_column_of_missing_values_alone_has_a_value() -> None:
    nobody = pl.DataFrame({"q": pl.Series([None] * 3, dtype=pl.Date)})
    table = read(nobody, quasi=["q"], missing="value")
    assert np.isfinite(score(table, groups(0, 0, 0)).value)
