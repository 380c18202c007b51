"""What was counted as a source was read is not asked of its database again."""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np
import polars as pl
import pytest

import shoal
from shoal.data.classes import Cells, Everybody
from shoal.data.stats import counted_by_rows
from shoal.data.table import Table
from shoal.engines.memory import MemoryRows
from shoal.engines.sql_rows import CountedRows


class Asked:
    """A database of two columns of codes that remembers what it was asked."""

    def __init__(self, table: Table) -> None:
        self.queries: list[str] = []
        self._keys = table.codes["age"].astype(np.int64) * table.columns["sex"].card + table.codes["sex"]

    def ask(self, query: str) -> dict[str, np.ndarray]:
        self.queries.append(query)
        keys, counts = np.unique(self._keys, return_counts=True)
        if query.startswith("SELECT count(*)"):
            return {"n": np.array([keys.size])}
        most = int(query.rpartition(" LIMIT ")[2]) if " LIMIT " in query else keys.size
        return {"k0": keys[:most][::-1], "n": counts[:most][::-1]}

    def send(self, name: str, columns: Mapping[str, np.ndarray]) -> None:
        raise AssertionError("nothing is sent")


PEOPLE = pl.DataFrame({
    "age": [20, 30, 30, 40, 20, 20], "sex": ["f", "m", "f", "m", "f", "m"],
    "disease": ["flu", "cold", None, "flu", "flu", "asthma"],
})  # fmt: skip


def opened(people: pl.DataFrame = PEOPLE) -> tuple[Table, Asked, CountedRows]:
    table = shoal.read(people, quasi=["age", "sex"], sensitive=["disease"], missing="value")
    database = Asked(table)
    return table, database, CountedRows(table.domain, database, {"age": 0, "sex": 1, "disease": 2})


def test_all_rows_as_one_class_follow_from_what_is_known() -> None:
    table, database, rows = opened()
    one = table.attribute(["disease"])
    mine, theirs = rows.stats(Everybody(), [one]), MemoryRows(table).stats(Everybody(), [one])
    assert mine.sizes.tolist() == mine.rows.tolist() == theirs.sizes.tolist() == [6]
    for part in ("indptr", "codes", "counts", "known"):
        ours = getattr(mine.histograms[one.key], part)
        assert ours.tolist() == getattr(theirs.histograms[one.key], part).tolist()
    assert rows.people_with("age").tolist() == [3, 2, 1]
    assert database.queries == []


def test_cells_come_where_they_are_few_and_are_counted_where_they_are_many() -> None:
    table, database, rows = opened()
    assert (rows.holds_cells(3), rows.n_cells(), rows.holds_cells(4)) == (False, 5, False)
    assert len(database.queries) == 2
    assert [rows.holds_cells(most) for most in (5, 100, 4)] == [True, True, False]
    mine, theirs = rows.frequency([]), MemoryRows(table).frequency([])
    assert (mine.codes.tolist(), mine.rows.tolist()) == (theirs.codes.tolist(), theirs.rows.tolist())
    assert (rows.n_cells(), len(database.queries)) == (5, 3)


def test_values_of_quasi_identifiers_in_classes_follow_from_the_cells() -> None:
    table, database, rows = opened()
    wanted = [counted_by_rows(table.columns[name]) for name in ("age", "sex")]
    rows.frequency([])
    classes = Cells(np.array([1, 0, -1, 1, 0], dtype=np.int32), 2)
    mine, theirs = rows.stats(classes, wanted), MemoryRows(table).stats(classes, wanted)
    for one in wanted:
        for part in ("indptr", "codes", "counts", "known"):
            ours = getattr(mine.histograms[one.key], part)
            assert ours.tolist() == getattr(theirs.histograms[one.key], part).tolist()
    assert len(database.queries) == 1


def test_rows_are_looked_through_as_often_as_pairs_ask_for(monkeypatch: pytest.MonkeyPatch) -> None:
    """However many rows the cells have, and however many values most of them cannot have."""
    alone = pl.DataFrame({"age": range(50, 70), "sex": ["f"] * 20, "disease": ["flu"] * 20})
    table, _, rows = opened(pl.concat([*([PEOPLE.head(1)] * 100), PEOPLE, alone]))
    one, words = table.attribute(["disease"]), rows._cells[0][0]
    assert rows.frequency([]).rows.size * one.card == 100
    monkeypatch.setattr("shoal.data.classes._ROWS", 10)
    for most, parts in ((28, 1), (27, 3)):
        monkeypatch.setattr("shoal.engines.sql_rows.PAIRS", most)
        found = [part for part, _ in rows._asked_in(one, words)]
        assert len(found) == parts
        assert np.concatenate([np.arange(words.size)[part] for part in found]).tolist() == list(range(words.size))
