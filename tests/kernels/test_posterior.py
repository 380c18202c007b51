"""Kernels of the exact posterior against plain loops over sets, pairs and people."""

from __future__ import annotations

from itertools import combinations
from math import prod

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from shoal.kernels.posterior import (
    guess_values,
    guess_without,
    own_chances,
    reach,
    reach_all,
    spread_scores,
    summarise,
    weigh,
)


def chance(weights: np.ndarray, must: set[int], redraw: int) -> float:
    """Sum the weights of all sets of columns that contain some, at a scale of 0.5."""
    sets = (chosen for chosen in combinations(range(weights.size), redraw) if must <= set(chosen))
    return sum(0.5 * prod(weights[j] for j in chosen) for chosen in sets)


@pytest.mark.reference("reach", "reach_all")
@given(st.integers(0, 2**32 - 1), st.integers(1, 6), st.data())
def test_reach_sums_over_all_sets(seed: int, columns: int, data: st.DataObject) -> None:
    weights = np.random.default_rng(seed).random(columns)
    redraw = data.draw(st.integers(1, columns))
    inside = np.array(data.draw(st.lists(st.booleans(), min_size=columns, max_size=columns)), dtype=np.uint8)
    must = set(np.flatnonzero(inside).tolist())
    expected = chance(weights, must, redraw)
    assert reach(weights, inside, redraw, 0.5, np.empty(redraw + 1)) == pytest.approx(expected, abs=1e-12)
    assert reach_all(weights[None, :], inside, redraw, 0.5) == pytest.approx([expected], abs=1e-12)


@pytest.mark.reference("own_chances")
@pytest.mark.parametrize("kind", [np.int32, np.int64])
@given(seed=st.integers(0, 2**32 - 1), columns=st.integers(1, 5), n=st.integers(1, 12))
def test_own_chances(kind: type, seed: int, columns: int, n: int) -> None:
    rng = np.random.default_rng(seed)
    redraw, weights, released = int(rng.integers(1, columns + 1)), rng.random((4, columns)), rng.integers(0, 4, n)
    before, after = rng.integers(0, 2, (2, columns, n)).astype(np.int32)
    found = own_chances(weights, before, after, released.astype(kind), redraw, 0.5)
    for i in range(n):
        must = set(np.flatnonzero(before[:, i] != after[:, i]).tolist())
        assert found[i] == pytest.approx(chance(weights[released[i]], must, redraw), abs=1e-12)


@pytest.mark.reference("weigh")
@pytest.mark.parametrize("kind", [np.int32, np.int64])
@given(seed=st.integers(0, 2**32 - 1), columns=st.integers(1, 4), n=st.integers(1, 10))
def test_weigh_one_set_after_the_other(kind: type, seed: int, columns: int, n: int) -> None:
    """Candidates are listed one by one; weights of eighths are exact, so that ties are."""
    rng = np.random.default_rng(seed)
    redraw, weights = int(rng.integers(1, columns + 1)), rng.integers(1, 3, (n, columns)) / 8
    total, top, tied = np.zeros(n), np.zeros(n), np.zeros(n, dtype=np.int64)
    totals, candidates = [0.0] * n, [[0.0] for _ in range(n)]
    for inside in rng.integers(0, 2, (3, columns)).astype(np.uint8):
        theirs, counts = rng.integers(0, 4, 9), rng.integers(1, 4, 9)
        ours = rng.integers(0, 5, n)
        weigh(
            weights, inside, redraw, 0.5, ours.astype(kind), summarise(theirs.astype(kind), counts, 5), total, top, tied
        )
        must = set(np.flatnonzero(inside).tolist())
        for r in range(n):
            mine = counts[theirs == ours[r]]
            price = chance(weights[r], must, redraw)
            if len(must) == redraw:
                totals[r] += price * int(mine.sum())
            # Of one set only its heaviest candidates are looked at.
            candidates[r] += [price * int(count) for count in mine if count == mine.max()]
    assert total == pytest.approx(totals, abs=1e-12)
    for r in range(n):
        assert top[r] == max(candidates[r])
        if top[r] > 0:
            assert tied[r] == candidates[r].count(max(candidates[r]))


@pytest.mark.reference("summarise")
@given(st.lists(st.tuples(st.integers(0, 4), st.integers(1, 3)), min_size=1, max_size=30))
def test_summarise(vectors: list[tuple[int, int]]) -> None:
    buckets, counts = np.array(vectors).T
    records, most, ties = summarise(buckets, counts, 5)
    for bucket in range(5):
        here = [count for at, count in vectors if at == bucket]
        top = max(here, default=0)
        assert (records[bucket], most[bucket], ties[bucket]) == (sum(here), top, here.count(top) if here else 0)


@pytest.mark.reference("spread_scores")
@given(st.integers(0, 2**32 - 1), st.integers(1, 8), st.integers(1, 8), st.integers(1, 20))
def test_spread_scores(seed: int, n_people: int, n_vectors: int, n: int) -> None:
    rng = np.random.default_rng(seed)
    people, buckets = rng.integers(0, 5, n_people), rng.integers(0, 5, n_vectors)
    gains, released, values = rng.random(n_vectors), rng.integers(0, n_vectors, n), rng.integers(0, 3, n)
    scores, slot_of = rng.random((n_people, 3)), np.full(5, -1, dtype=np.int32)
    expected = scores.copy()
    for person, bucket in enumerate(people):
        for vector, value in zip(released, values, strict=True):
            if buckets[vector] == bucket:
                expected[person, value] += gains[vector]
    spread_scores(people, slot_of, buckets, gains, released, values, scores)
    assert np.allclose(scores, expected)
    assert (slot_of == -1).all()


@pytest.mark.reference("guess_values")
@given(st.integers(0, 2**32 - 1), st.integers(1, 6), st.integers(1, 4))
def test_guess_values(seed: int, people: int, card: int) -> None:
    rng = np.random.default_rng(seed)
    scores, hits = rng.integers(0, 3, (people, card)).astype(float), rng.integers(0, 4, (people, card))
    confidence, right = guess_values(scores, hits)
    for person in range(people):
        best = [value for value in range(card) if scores[person, value] == scores[person].max()]
        assert right[person] == pytest.approx(np.mean([hits[person, value] for value in best]))
        whole = scores[person].sum()
        assert confidence[person] == pytest.approx(scores[person].max() / whole if whole else 0.0)


@pytest.mark.reference("guess_without")
@given(st.integers(0, 2**32 - 1), st.integers(1, 15), st.integers(1, 4))
def test_guess_without(seed: int, n: int, card: int) -> None:
    rng = np.random.default_rng(seed)
    person, values = rng.integers(0, 3, n), rng.integers(0, card, n)
    scores = rng.integers(0, 2, (3, card)).astype(float)
    np.add.at(scores, (person, values), 2.0)
    prior = rng.random(card)
    found = guess_without(scores, person, values, 2.0, prior)
    for i in range(n):
        votes = scores[person[i]].copy()
        votes[values[i]] -= 2.0
        best = np.flatnonzero(votes == votes.max())
        expected = prior[values[i]] if not votes.any() else float(values[i] in best) / best.size
        assert found[i] == pytest.approx(expected)
