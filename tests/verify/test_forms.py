"""The gate looks at every kind of release cell by cell: what was changed on the way to it is never returned."""

from __future__ import annotations

import dataclasses
from collections.abc import Callable
from typing import Any

import numpy as np
import polars as pl
import pytest

import shoal
from shoal.data.rows import TableBatch
from shoal.engines.memory import MemoryRows
from shoal.errors import GateError
from shoal.release.publish import Buckets
from tests.test_kinds import CASES, people, release, table


@dataclasses.dataclass(frozen=True, eq=False, kw_only=True)
class Published:
    """A release on its way to the gate: its tables, and the input rows that their rows and sensitive values are of."""

    frame: pl.DataFrame
    source: np.ndarray
    apart: pl.DataFrame | None
    values_from: np.ndarray


Change = Callable[[Published], Published]


def framed(published: Published, **columns: pl.Series | pl.Expr) -> Published:
    return dataclasses.replace(published, frame=published.frame.with_columns(**columns))


def shifted_ages(published: Published) -> Published:
    return framed(published, age=pl.col("age") + 1)


def swapped_costs(published: Published) -> Published:
    return framed(published, cost=pl.col("cost").shift(1).fill_null(0.5))


def another_code(published: Published) -> Published:
    return framed(published, disease=pl.when(pl.int_range(pl.len()) == 0).then(pl.lit("x")).otherwise("disease"))


def true_values(published: Published) -> Published:
    return framed(published, disease=people()["disease"].gather(published.source))


def one_group(published: Published) -> Published:
    return framed(published, group=pl.lit(1, dtype=pl.Int64))


def other_values(published: Published) -> Published:
    assert published.apart is not None
    return dataclasses.replace(published, apart=published.apart.with_columns(disease=pl.col("disease").reverse()))


def in_order(published: Published) -> Published:
    """Sensitive values row by row beside those they belong to."""
    true = people().with_columns(group=pl.Series([0] * 90))[published.source]
    apart = true.select("group", "disease", "cost").with_columns(group=published.frame["group"])
    return dataclasses.replace(published, apart=apart, values_from=published.source)


def wrong_origin(published: Published) -> Published:
    return dataclasses.replace(published, values_from=np.roll(published.values_from, 1))


def lost_row(published: Published) -> Published:
    return dataclasses.replace(
        published, frame=published.frame[1:], source=published.source[1:], values_from=published.values_from[1:],
        apart=None if published.apart is None else published.apart[1:],
    )  # fmt: skip


def named(published: Published) -> Published:
    return framed(published, ward=people()["name"].gather(published.source))


def changing(monkeypatch: pytest.MonkeyPatch, change: Change) -> None:
    """Change whatever is published."""
    honest, grouped, valued = MemoryRows.published, Buckets.published, Buckets.valued
    found: list[Published] = []

    def plain(rows: MemoryRows, *given: Any) -> Any:
        ((batch, classes, frame),) = honest(rows, *given)
        made = change(Published(frame=frame, source=batch.rows, apart=None, values_from=batch.rows))
        yield TableBatch(rows.table, made.source), classes[-made.source.size :], made.frame

    def by_group(buckets: Buckets) -> Any:
        with monkeypatch.context() as patch:
            patch.setattr(MemoryRows, "published", honest)
            ((batch, classes, frame),) = grouped(buckets)
            ((values, _, apart),) = valued(buckets, frame.lazy())
        found.append(change(Published(frame=frame, source=batch.rows, apart=apart, values_from=values.rows)))
        yield TableBatch(batch.table, found[0].source), classes[-found[0].source.size :], found[0].frame

    def values(buckets: Buckets, judged: pl.LazyFrame) -> Any:
        rows = found[0].values_from
        yield TableBatch(buckets.rows.table, rows), buckets._ids[rows], found[0].apart

    monkeypatch.setattr(MemoryRows, "published", plain)
    monkeypatch.setattr(Buckets, "published", by_group)
    monkeypatch.setattr(Buckets, "valued", values)


@pytest.mark.parametrize(
    "kind, change",
    [
        *((kind, change) for kind in CASES for change in (shifted_ages, lost_row, named)),
        ("randomised", swapped_costs), ("microaggregated", swapped_costs), ("pseudonymised", swapped_costs),
        ("pseudonymised", another_code), ("pseudonymised", true_values),
        ("bucketised", one_group), ("bucketised", other_values), ("bucketised", in_order), ("bucketised", wrong_origin),
    ],
)  # fmt: skip
def test_nothing_changed_passes_the_gate(kind: str, change: Change, monkeypatch: pytest.MonkeyPatch) -> None:
    release(kind)
    changing(monkeypatch, change)
    with pytest.raises(GateError):
        release(kind)


def test_a_kind_that_nobody_accepted_does_not_pass(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("shoal.release.prepare.refuse_measured", lambda found, acknowledged: None)
    with pytest.raises(GateError, match="W-RA-LINK"):
        release("randomised", acknowledge=["W-NEUTRAL"])


@pytest.mark.parametrize("kind", CASES)
def test_hierarchies_orders_and_domains_do_not_get_in_the_way(kind: str, tmp_path: Any) -> None:
    ages = [[str(age), f"{age // 10 * 10}s", "*"] for age in range(20, 70)]
    with_trees = table(
        people().with_columns(level=pl.Series(["low", "mid", "high"] * 30), step=pl.Series([1.5, 2.5, 4.0] * 30)),
        quasi=["age", "sex", "level", "step"], hierarchies={"age": ages, "sex": [["f", "*"], ["m", "*"]]},
        settings={"level": {"order": ["low", "mid", "high"]}, "step": {"domain": [0, 10]}},
    )  # fmt: skip
    algorithm, codes = CASES[kind]
    made = shoal.anonymize(with_trees, algorithm=algorithm, acknowledge=[*codes, "W-NEUTRAL"], seed=1)
    made.write(tmp_path / "out")
    assert shoal.verify_release(tmp_path / "out").passed
