"""What the verifier lets through as bucketised, and what it does not."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import polars as pl
import pytest

from shoal.verify.kinds.bucketised import _mixed
from tests.verify.whole import check_bucketised

CLAIMS = {
    "group": "group",
    "columns": [
        {"name": "age", "role": "quasi", "type": "numeric"},
        {"name": "ward", "role": "neutral", "type": "categorical"},
        {"name": "illness", "role": "sensitive", "type": "categorical"},
        {"name": "cost", "role": "sensitive", "type": "numeric"},
    ],
}
N = 24
ORIGINAL = pl.DataFrame(
    {
        "name": [f"person {row}" for row in range(N)],
        "age": range(20, 20 + N),
        "ward": ["north", "south"] * (N // 2),
        "illness": ["flu", "cold", "asthma"] * (N // 3),
        "cost": [row * 1.5 for row in range(N)],
    }
)
SOURCE = np.random.default_rng(1).permutation(N)
GROUP = SOURCE // 3
ROWS = ORIGINAL[SOURCE].with_columns(group=pl.Series(GROUP))


def two() -> dict[str, pl.DataFrame]:
    """Quasi-identifiers in one order, values in another."""
    values = ROWS.select("group", "illness", "cost").sort("group", "illness")
    return {"quasi": ROWS.select("group", "age", "ward"), "sensitive": values}


def one() -> pl.DataFrame:
    """One table, sensitive values in another order within each group."""
    place = np.empty(N, dtype=np.int64)
    place[np.argsort(GROUP, kind="stable")] = np.arange(N)
    return two()["quasi"].with_columns(two()["sensitive"][place].drop("group"))


def failed(released: Any, source: np.ndarray = SOURCE) -> list[str]:
    return [check.name for check in check_bucketised(ORIGINAL, released, source, CLAIMS) if not check.passed]


def test_good_releases_pass() -> None:
    assert failed(two()) == []
    assert failed(one()) == []
    assert failed({name: frame.cast(pl.String) for name, frame in two().items()}) == []


def test_suppressed_rows_may_be_away() -> None:
    kept = GROUP != 0
    tables = {name: frame.filter(pl.col("group") != 0) for name, frame in two().items()}
    assert failed(tables, SOURCE[kept]) == []


def swap_between_groups(tables: dict[str, pl.DataFrame]) -> None:
    tables["sensitive"] = tables["sensitive"].with_columns(cost=pl.col("cost").reverse())


def other_group(tables: dict[str, pl.DataFrame]) -> None:
    tables["sensitive"] = tables["sensitive"].with_columns(group=pl.Series([7, *tables["sensitive"]["group"][1:]]))


def blurred(tables: dict[str, pl.DataFrame]) -> None:
    tables["quasi"] = tables["quasi"].with_columns(age=pl.col("age") // 10 * 10)


def record_number(tables: dict[str, pl.DataFrame]) -> None:
    """As Tables 2.12 and 2.13 of Loukides 2008: a number of the record in both."""
    tables["quasi"] = tables["quasi"].with_columns(id=pl.Series(SOURCE))
    tables["sensitive"] = tables["sensitive"].with_columns(id=pl.Series(np.arange(N)))


def same_order(tables: dict[str, pl.DataFrame]) -> None:
    tables["sensitive"] = ROWS.select("group", "illness", "cost")


def shorter(tables: dict[str, pl.DataFrame]) -> None:
    tables["sensitive"] = tables["sensitive"][:-1]


@pytest.mark.parametrize(
    ("damage", "names"),
    [
        (swap_between_groups, ["group values"]),
        (other_group, ["group sizes", "group values"]),
        (blurred, ["exact rows"]),
        (record_number, ["tables"]),
        (same_order, ["apart"]),
        (shorter, ["tables"]),
    ],
)
def test_bad_releases_fail(damage: Callable[[dict[str, pl.DataFrame]], None], names: list[str]) -> None:
    tables = two()
    damage(tables)
    assert failed(tables) == names


def test_one_table_that_permutes_nothing_fails() -> None:
    assert failed(ROWS.drop("name")) == ["apart"]


def test_source_rows_must_be_different_rows() -> None:
    assert failed(two(), np.zeros(N, dtype=np.int64)) == ["tables"]
    assert failed(two(), SOURCE + 5) == ["tables"]


def test_details_hold_no_value() -> None:
    tables = two()
    swap_between_groups(tables)
    for check in check_bucketised(ORIGINAL, tables, SOURCE, CLAIMS):
        assert not any(value in check.detail for value in ("flu", "cold", "asthma", "person"))


def ruled(rule: str, released: Any, source: np.ndarray = SOURCE, on: Any = "illness") -> tuple[bool, str]:
    """What is said of the rule for leftovers."""
    claims = CLAIMS | {"leftovers": rule, "models": [{"name": "alpha-k-general", "alpha": 0.3, "k": 3, "on": on}]}
    found = {check.name: check for check in check_bucketised(ORIGINAL, released, source, claims)}
    return found["leftovers"].passed, found["leftovers"].detail


def test_who_fits_in_no_group_joins_one_where_the_manifest_says_so() -> None:
    assert ruled("join", two()) == (True, "Everybody is in a group: who fitted in none joined one.")
    away = SOURCE < N - 3
    some = two()
    some = {"quasi": some["quasi"].filter(pl.Series(away)), "sensitive": some["sensitive"].filter(pl.col("group") < 7)}
    assert ruled("join", some, SOURCE[away])[0] is False


def test_no_value_stands_twice_where_leftovers_are_left_out() -> None:
    assert ruled("suppress", two())[0]
    wide = {name: frame.with_columns(pl.col("group") // 2) for name, frame in two().items()}
    assert ruled("suppress", wide)[1].startswith("12 values stand twice in a group")
    assert ruled("suppress", wide, on="cost")[0]
    assert ruled("suppress", wide, on=["illness", "cost"])[0]


def test_no_two_values_stand_twice_together_where_they_are_one_attribute() -> None:
    """Illness and ward repeat after six rows: together in groups of twelve, each alone in groups of six already."""
    columns = [entry | ({"role": "sensitive"} if entry["name"] == "ward" else {}) for entry in CLAIMS["columns"]]
    on = ["illness", "ward"]
    claims = {
        "group": "group", "columns": columns, "leftovers": "suppress",
        "models": [{"name": "alpha-k-general", "alpha": 0.1, "k": 6, "on": on}],
    }  # fmt: skip
    for rows, unknown, twice in ((6, "", 0), (12, "", 12), (12, "flu", 8)):
        whole = ROWS.with_columns(group=pl.Series(SOURCE // rows))
        values = whole.select("group", "illness", "ward", "cost").sort("group", "illness", "cost")
        known = [entry | ({"non_answers": [unknown]} if entry["name"] == "illness" else {}) for entry in columns]
        tables = {"quasi": whole.select("group", "age"), "sensitive": values}
        found = check_bucketised(ORIGINAL, tables, SOURCE, claims | {"columns": known})
        (told,) = (check for check in found if check.name == "leftovers")
        assert told.passed == (twice == 0)
        assert twice == 0 or told.detail.startswith(f"{twice} values stand twice in a group")


def test_orders_are_told_apart_by_splitmix() -> None:
    """The first five numbers of the generator from 1234567: any weaker mixing would let orders look alike."""
    known = [6457827717110365317, 3203168211198807973, 9817491932198370423, 4593380528125082431, 16408922859458223821]
    assert _mixed(np.arange(1, 6), np.full(5, 1234566)).tolist() == known


@pytest.mark.parametrize("side, column", [("quasi", "age"), ("sensitive", "cost"), ("sensitive", "group")])
def test_a_table_that_lacks_a_column(side: str, column: str) -> None:
    assert failed(two() | {side: two()[side].drop(column)}) == ["tables"]
