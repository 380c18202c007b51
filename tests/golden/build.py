"""From the worked examples to tables, releases and judgements."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any

import numpy as np
import polars as pl

from shoal.data.classes import RowIds
from shoal.data.table import Table
from shoal.engines.memory import MemoryEngine, MemoryRows
from shoal.kernels.grouping import group_rows
from shoal.models.feasibility import whole_reference
from shoal.models.judge import Judge, Judgement
from shoal.recipe.source import read
from shoal.recoding.cells import IntervalCells
from shoal.recoding.recoded import Released, apply_recoding
from shoal.recoding.recodings import Grouping
from shoal.registry import load, make
from shoal.results import Score

ENGINE = MemoryEngine()


def printed(frame: pl.DataFrame, sensitive: Sequence[str]) -> Table:
    """A printed table: every other column a quasi-identifier whose cells are compared as they stand."""
    quasi = [name for name in frame.columns if name not in sensitive]
    return read(
        frame, quasi=quasi, sensitive=sensitive, settings={name: {"type": "categorical"} for name in quasi}
    )


def of_groups(groups: Sequence[Sequence[Any]]) -> Table:
    """Groups of sensitive values, with nothing else known about the records."""
    rows = [(str(place), value) for place, values in enumerate(groups) for value in values]
    return printed(pl.DataFrame(rows, schema=["group", "value"], orient="row"), ["value"])


def judged(table: Table, **model: Any) -> Judgement:
    """One model on the classes of equal cells, which are numbered by their first row."""
    made = make("model", model)
    judge = Judge([made], whole_reference(ENGINE.open(table), [made]))
    ids, first, _ = group_rows(table.quasi_codes, np.array([column.card for column in table.quasi]))
    (found,) = judge.judge(ENGINE.open(table).stats(RowIds(ids, first.size), judge.attributes))
    return found


def judged_release(released: Released, **model: Any) -> Judgement:
    """One model on the classes of a release."""
    made = make("model", model)
    judge = Judge([made], whole_reference(ENGINE.open(released.table), [made]))
    (found,) = judge.judge(
        ENGINE.open(released.table).stats(RowIds(released.classes, released.n_classes), judge.attributes)
    )
    return found


def release(table: Table, groups: Sequence[Sequence[int]]) -> Released:
    """Records in groups, each generalised to its extent."""
    ids = np.full(table.n, -1, dtype=np.int32)
    for group, rows in enumerate(groups):
        ids[list(rows)] = group
    return apply_recoding(MemoryRows(table), Grouping(ids=ids, groups=len(groups)))


def printed_release(
    table: Table, groups: Sequence[Sequence[int]], bounds: Mapping[str, Sequence[tuple[int, int]]]
) -> Released:
    """Records in classes whose intervals are given, because they are wider than their members' extents."""
    made = {}
    for name, ends in bounds.items():
        column = table.columns[name]
        low, high = np.searchsorted(column.numbers, np.array(ends).T).astype(np.int32)
        made[name] = IntervalCells.of(column, low, high)
    return replace(release(table, groups), cells=made)


def score(released: Released, name: str, **parameters: Any) -> Score:
    """Price a release by one measure."""
    return load("measure", name)(**parameters).score(released.price_stats())


def cells(released: Released, column: str) -> list[str]:
    """The published cells of one column, a class after another."""
    return released.cells[column].texts().to_list()
