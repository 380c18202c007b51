"""The parts of m-invariant: what is eligible, how buckets are filled and cut, and what cannot be kept apart."""

from __future__ import annotations

import numpy as np
import polars as pl
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import shoal
from shoal.algorithms.m_invariance import split
from shoal.algorithms.m_invariance_buckets import assign, balance, eligible
from shoal.errors import InfeasibleError, ParameterError
from shoal.vault.registry import Registry

COUNTS = st.lists(st.integers(0, 40), min_size=1, max_size=9).map(np.array)


@settings(max_examples=20, deadline=None)
@given(counts=COUNTS, m=st.integers(2, 5))
def test_buckets_take_everybody_who_is_eligible(counts: np.ndarray, m: int) -> None:
    kept = eligible(counts, m)
    caps = [cap for cap in range(int(counts.max()) + 1) if np.minimum(counts, cap).sum() >= m * cap]
    assert np.array_equal(kept, np.minimum(counts, max(caps)))
    plan = assign(kept, m)
    assert np.array_equal(np.bincount(plan.value, plan.each, minlength=counts.size), kept)
    assert (np.bincount(plan.bucket) >= m).all()
    assert np.unique(np.stack([plan.bucket, plan.value]), axis=1).shape[1] == plan.value.size
    assert np.unique(np.stack([plan.bucket, plan.each]), axis=1).shape[1] == np.unique(plan.bucket).size


def test_new_people_even_buckets_out_or_buckets_shrink() -> None:
    bucket, value = np.array([0, 0, 1, 1]), np.array([0, 1, 1, 2])
    have, supply = np.array([3, 1, 2, 1]), np.array([0, 1, 5])
    plan = balance(bucket, value, have, supply, fake=False)
    assert plan.each.tolist() == [2, 2, 2, 2]
    assert plan.fresh.tolist() == [0, 1, 0, 1]
    made = balance(bucket, value, have, supply, fake=True)
    assert made.each.tolist() == [3, 3, 2, 2]
    assert made.fresh.tolist() == [0, 1, 0, 1]  # one more of value 1 has to be made up


@settings(max_examples=20, deadline=None)
@given(seed=st.integers(0, 1000), times=st.lists(st.integers(1, 9), min_size=1, max_size=4))
def test_groups_have_one_record_of_each_value(seed: int, times: list[int]) -> None:
    rng = np.random.default_rng(seed)
    node = np.concatenate([np.full(3 * each, place) for place, each in enumerate(times)])
    value = np.concatenate([np.repeat(np.arange(3) + place, each) for place, each in enumerate(times)])
    points = rng.integers(0, 20, (2, node.size))
    group = split(node, value, points, np.array([1.0, 0.5]))
    assert np.bincount(group).tolist() == [3] * sum(times)
    assert np.unique(np.stack([group, value]), axis=1).shape[1] == node.size
    assert np.unique(np.stack([group, node]), axis=1).shape[1] == sum(times)


def test_neighbours_are_grouped() -> None:
    frame = pl.DataFrame({"age": [*range(40), *range(100, 140)], "s": ["a", "b"] * 40})
    table = shoal.read(frame, quasi=["age"], sensitive=["s"])
    release = shoal.anonymize(table, algorithm=shoal.MInvariant(m=2), seed=1)
    assert release.manifest["classes"] | {"digest": None} == {"count": 40, "smallest": 2, "digest": None}
    assert release.measure("lm").value < 0.02


def test_equal_cells_of_other_values_are_joined_or_suppressed() -> None:
    """Everybody has the same quasi-identifiers, so that all are one class, and nine of ten people fit into it."""
    frame = pl.DataFrame({"age": [30] * 10, "s": list("aaaabbbbcc")})
    table = shoal.read(frame, quasi=["age"], sensitive=["s"])
    with pytest.raises(InfeasibleError, match="suppression_limit is 0"):
        shoal.anonymize(table, algorithm=shoal.MInvariant(m=2), seed=1)
    release = shoal.anonymize(table, algorithm=shoal.MInvariant(m=2, suppression_limit=0.5), seed=1)
    assert release.verdict[0].holds
    assert len(set(release.frame["s"].value_counts()["count"])) == 1


@pytest.mark.parametrize("fake", [True, False])
def test_whose_value_changed_is_suppressed(fake: bool) -> None:
    frame = pl.DataFrame({"who": list("pqrstu"), "age": [1, 2, 3, 4, 5, 6], "s": list("ababab")})
    roles = {"subject": "who", "quasi": ["age"], "sensitive": ["s"]}
    first = shoal.anonymize(shoal.read(frame, **roles), algorithm=shoal.MInvariant(m=2), seed=1)
    registry = Registry(source="x").with_release(first, "one")
    later = shoal.read(frame.with_columns(s=pl.Series(list("cbabab"))), **roles)
    method = shoal.MInvariant(m=2, counterfeits=fake, suppression_limit=0.5)
    second = shoal.anonymize(later, algorithm=method, history=registry.history_of(later), seed=1)
    assert "c" not in second.frame["s"].to_list()
    counts = second.evidence["counts"]
    assert (counts["counterfeits"], counts["suppressed"]) == ((1, 1) if fake else (0, 2))


def test_counterfeits_need_a_single_value_to_make_up() -> None:
    frame = pl.DataFrame({"q": [1, 2], "s": ["a", "b"], "n": [1, 1]})
    table = shoal.read(frame, quasi=["q"], sensitive=["s"], neutral=["n"])
    with pytest.raises(ParameterError, match="other columns"):
        shoal.anonymize(table, algorithm=shoal.MInvariant(m=2, counterfeits=True))
    with pytest.raises(ParameterError, match="true or false"):
        shoal.MInvariant(m=2, counterfeits="yes")  # type: ignore[arg-type]
    with pytest.raises(ParameterError, match="needs the model"):
        shoal.anonymize(table, algorithm="m-invariant", models=[shoal.DistinctL(l=2)], acknowledge=["W-NO-K"])


@pytest.mark.parametrize("kind", ["integer", "real", "date", "boolean", "written date"])
def test_counterfeits_of_values_that_nobody_has_any_more(kind: str) -> None:
    """The value of whoever left is no longer in the table's dictionary, and its type has to be that of the column."""
    dates = pl.Series(["2020-01-02", "2021-03-04", "2019-05-06"]).str.to_date()
    values = {
        "integer": pl.Series([5, 10, 7]), "real": pl.Series([0.5, 10.25, 7.0]), "date": dates,
        "boolean": pl.Series([True, True, False]), "written date": dates.dt.to_string("%d.%m.%Y"),
    }  # fmt: skip
    frame = pl.DataFrame({"who": [1, 2, 3], "age": [10, 15, 16], "s": values[kind]})
    frame = frame.filter(pl.col("who") != 1) if kind == "boolean" else frame
    settings = {"s": {"type": "date", "format": "%d.%m.%Y"}} if kind == "written date" else {}
    registry = Registry(source="x")
    for one in (frame, frame.head(frame.height - 1)):
        table = shoal.read(one, subject="who", quasi=["age"], sensitive=["s"], settings=settings)
        method = shoal.MInvariant(m=2, counterfeits=True)
        release = shoal.anonymize(table, algorithm=method, history=registry.history_of(table))
        registry = registry.with_release(release, "r")
    assert release.frame["s"].dtype == frame["s"].dtype
    wanted = dates.dt.to_string() if kind == "written date" else frame["s"]
    assert sorted(release.frame["s"].to_list()) == sorted(wanted.to_list())
