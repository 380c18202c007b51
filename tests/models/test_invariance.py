"""The model m-invariance on hand-made and random classes, judged twice: by statistics and by the gate."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np
import polars as pl
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import shoal
from shoal.data.domain import History, broken_classes, set_ids
from shoal.data.keys import Keys
from shoal.engines.memory import MemoryRows
from shoal.errors import ParameterError
from shoal.models.personalised import MInvariance
from shoal.models.suppression import enforce
from shoal.recoding.publish import Output
from shoal.recoding.recoded import apply_recoding
from shoal.recoding.recodings import Grouping
from shoal.release.manifest import describe
from shoal.risk.attacks.run import attack
from shoal.vault.registry import Registry
from shoal.verify.gate import gate
from shoal.verify.manifest import read_claims
from shoal.verify.report import GateCase
from tests.models.judging import judge_of, judged
from tests.models.published import publish


@pytest.mark.parametrize(
    "classes,values",
    [
        ([["a", "b"], ["a", "b", "c"]], [2, 3]),
        ([["a", "b", "a", "b"]], [2]),  # two groups of the same values
        ([["a", "b", "b"]], [0]),
        ([["a"]], [1]),
        ([["a", "b", None]], [2]),
        ([[None, None], ["a", "b"]], [np.nan, 2]),
    ],
)
def test_classes(classes: Any, values: Any) -> None:
    found = judged(classes, {"name": "m-invariance", "m": 2})
    assert np.array_equal(found.values, np.array(values, dtype=float), equal_nan=True)
    assert found.ok.tolist() == [value != value or value >= 2 for value in found.values.tolist()]


def test_people_of_several_rows_and_several_columns_are_refused() -> None:
    frame = pl.DataFrame({"who": ["p", "p"], "q": [1, 2], "s": ["a", "b"], "t": ["a", "b"]})
    table = shoal.read(frame, subject="who", quasi=["q"], sensitive=["s"], drop=["t"])
    with pytest.raises(ParameterError, match="keep one row a person"):
        MInvariance(m=2).resolved(table.domain)
    with pytest.raises(ParameterError, match="set its 'on'"):
        MInvariance(m=2).resolved(shoal.read(frame, quasi=["q"], sensitive=["s", "t"], drop=["who"]))


def history_of(signatures: list[list[str] | None]) -> History:
    """A history with a signature a row."""
    texts = sorted({text for one in signatures for text in one or ()})
    members = [[texts.index(text) for text in one or ()] for one in signatures]
    return History(
        column="s",
        signature=np.array([-1 if one is None else place for place, one in enumerate(signatures)], dtype=np.int32),
        indptr=np.cumsum([0, *map(len, members)]),
        members=np.array([place for one in members for place in one], dtype=np.int64),
        texts=texts,
    )


@settings(max_examples=25, deadline=None)
@given(data=st.data())
def test_both_judges_agree_with_the_definition(data: st.DataObject) -> None:
    n = data.draw(st.integers(2, 9))
    values = data.draw(st.lists(st.sampled_from("abc"), min_size=n, max_size=n))
    ids = np.array(data.draw(st.lists(st.integers(0, 2), min_size=n, max_size=n)), dtype=np.int32)
    _, ids = np.unique(ids, return_inverse=True)
    few = st.lists(st.sampled_from("abcd"), unique=True, max_size=3)
    signatures = data.draw(st.lists(st.one_of(st.none(), few, st.just(["a", "b"])), min_size=n, max_size=n))
    # Values of the quasi-identifier are the classes, so that groups and classes are the same.
    table = shoal.read(pl.DataFrame({"q": [f"g{one}" for one in ids], "s": values}), quasi=["q"], sensitive=["s"])
    expected = []
    for group in range(int(ids.max()) + 1):
        rows = np.flatnonzero(ids == group)
        counts = [[values[row] for row in rows].count(value) for value in set(np.array(values)[rows])]
        same = all(signatures[row] is None or set(signatures[row] or ()) == set(np.array(values)[rows]) for row in rows)
        expected.append(same and len(counts) >= 2 and min(counts) == max(counts))
    history = history_of(signatures)
    column = table.columns["s"]
    broken = broken_classes(history, column.texts, ids, len(expected), table.codes["s"], np.zeros(column.card))
    assert broken.tolist() == [
        any(
            signatures[row] is not None and set(signatures[row] or ()) != set(np.array(values)[ids == group])
            for row in np.flatnonzero(ids == group)
        )
        for group in range(len(expected))
    ]
    arguments: Any = {"algorithm": "none", "models": [MInvariance(m=2)], "history": history, "seed": 1}
    if all(expected):
        release = shoal.anonymize(table, **arguments)
        assert [verdict.holds for verdict in release.verdict] == [True, True]
    else:
        with pytest.raises(shoal.ShoalError):
            shoal.anonymize(table, **arguments)
        # The gate itself, on a release that was not enforced.
        assert not _gate_holds(table, history, np.asarray(ids, dtype=np.int32))


def _gate_holds(table: Any, history: History, ids: np.ndarray) -> bool:
    released = apply_recoding(MemoryRows(table), Grouping(ids=ids, groups=int(ids.max()) + 1))
    frame, source = publish(released, Keys.from_seed(7), suppressed="drop", order="shuffled")
    models = [MInvariance(m=2, on="s")]
    manifest = describe(table.domain, models, version="0", output=Output())
    case = GateCase(
        original=table.frame, released=frame, source=source, suppressed=np.empty(0, dtype=int), n_read=table.n,
        n_dropped=0, identifiers=table.frame.select([]), subject=None, manifest=manifest, history=history.lists(),
    )  # fmt: skip
    claimed = replace(case, manifest={**manifest, "counterfeits": 1})
    assert not gate(claimed).passed  # nobody made anything up
    return gate(case).passed


def test_failing_classes_are_suppressed_within_the_limit() -> None:
    frame = pl.DataFrame({"q": ["g", "g", "h", "h"], "s": ["a", "b", "a", "b"]})
    table = shoal.read(frame, quasi=["q"], sensitive=["s"])
    history = history_of([["a", "b"], None, ["a", "c"], None])
    table = table.remembering(history)
    released = apply_recoding(MemoryRows(table), Grouping(ids=np.array([0, 0, 1, 1], dtype=np.int32), groups=2))
    kept = enforce(released, judge_of(table, MInvariance(m=2, on="s")), 0.5)
    assert kept.classes.tolist() == [0, 0, -1, -1]


def test_equal_sets_have_equal_numbers() -> None:
    found = set_ids(np.array([0, 0, 1, 1, 3, 4, 4]), np.array([1, 12, 12, 1, 1, 11, 2]), 5)
    assert found[0] == found[1]
    assert found[2] == -1
    assert len({found[0], found[3], found[4]}) == 3


def test_counterfeits_need_the_model_that_they_serve() -> None:
    manifest: Any = {
        "columns": [], "models": [], "suppressed": "drop", "order": "shuffled", "people": False, "counterfeits": 2,
    }  # fmt: skip
    with pytest.raises(shoal.ShoalError, match="counterfeit"):
        read_claims(manifest)


def test_intersecting_two_invariant_releases_tells_no_more_than_one_of_them() -> None:
    """`shoal attack --also`: people of both releases, of whom nobody's value may stand out beyond 1/m."""
    rng = np.random.default_rng(4)
    ages, values = rng.integers(20, 60, 300), rng.choice(list("abcdef"), 300)
    frame = pl.DataFrame({"who": np.arange(300), "age": ages, "s": values})
    later = pl.concat([frame.head(260), frame.with_columns(who=pl.col("who") + 500).head(40)])
    m, registry, pair = 3, Registry(source="x"), {}
    for name in ("m-invariant", "mondrian"):
        for one in (frame, later):
            table = shoal.read(one, subject="who", quasi=["age"], sensitive=["s"])
            method: Any = shoal.Mondrian(k=3) if name == "mondrian" else shoal.MInvariant(m=m, suppression_limit=0.5)
            history = None if name == "mondrian" else registry.history_of(table)
            release = shoal.anonymize(
                table, algorithm=method, acknowledge=["W-UNMODELLED:s"], seed=1, history=history
            )
            registry = registry if name == "mondrian" else registry.with_release(release, name)
            pair.setdefault(name, []).append(release)
    found = {}
    for name, (first, second) in pair.items():
        results = {one.name: one for one in attack(second, others=[(first.frame, first.manifest)], seed=1)}
        (found[name],) = results["intersection"].figures
        if name == "m-invariant":
            assert results["intersection"].also["sizes"]["s"]["intersection"] >= m
    assert found["m-invariant"].value == 0.0 <= 1 / m
    assert found["mondrian"].value > 0.0
