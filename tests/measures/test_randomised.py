"""Measures of random anonymisation against brute force over all pairs of vectors, on small random tables."""

from __future__ import annotations

import math
from collections import Counter
from itertools import combinations
from types import SimpleNamespace
from typing import Any

import numpy as np
import polars as pl
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from shoal.algorithms.links.random import RandomAnonymisation
from shoal.engines.memory import MemoryRows
from shoal.errors import ParameterError
from shoal.recipe.source import read
from shoal.recoding.kinds import RANDOMISED
from shoal.recoding.randomised import Randomised
from shoal.recoding.recoded import apply_recoding
from shoal.recoding.recodings import FullDomain
from shoal.registry import load, names
from shoal.results import Score
from shoal.risk.attacks.randomised import recover
from shoal.utility import posterior as exact
from shoal.utility.bias import confidence, lift, relative_bias, support
from shoal.utility.posterior import candidates, posterior
from shoal.utility.randomised import amplification, amplification_with_prior
from tests.algorithms.links.test_random import problem, randomise, small

NAMES = ["pa", "gamma", "inference-probability", "bias"]


@st.composite
def releases(draw: st.DrawFn, *, one: bool = False) -> Randomised:
    """Small tables of up to four columns with few values, some of which are never redrawn."""
    rng = np.random.default_rng(draw(st.integers(0, 2**32 - 1)))
    n, m = draw(st.integers(2, 14)), draw(st.integers(1, 4))
    # Two values at least a column, so that all can be redrawn.
    columns = {f"q{j}": ["v0", "v1", *(f"v{c}" for c in rng.integers(0, 3, n))] for j in range(m)}
    frame = pl.DataFrame(columns | {"s": [f"s{c}" for c in rng.integers(0, 3, n + 2)]})
    table = read(frame, quasi=list(columns), sensitive=["s"])
    redraw = 1 if one else draw(st.integers(1, m))
    p: Any = "uniform"
    if redraw == 1 and draw(st.booleans()):
        weights = rng.random(m) * (rng.random(m) < 0.7) + np.eye(m)[0]
        p = {name: float(one) for name, one in zip(columns, weights / weights.sum(), strict=True)}
    return randomise(table, draw(st.integers(0, 50)), redraw=redraw, p=p)


class Naive:
    """Every vector of the input, and the probability that it becomes a released one, set of columns by set."""

    def __init__(self, described: Randomised) -> None:
        self.described = described
        self.n, self.m = described.table.n, len(described.columns)
        self.before = [tuple(row) for row in described.before.T.tolist()]
        self.after = [tuple(row) for row in described.after.T.tolist()]
        self.counts = Counter(self.before)
        drawn = described.drawn.tolist()
        sets = list(combinations(drawn, described.redraw))
        chance = [described.p[s[0]] if described.redraw == 1 else 1 / len(sets) for s in sets]
        self.sets = list(zip(sets, chance, strict=True))

    def share(self, column: int, code: int) -> float:
        return sum(row[column] == code for row in self.before) / self.n

    def chance(self, one: tuple, other: tuple) -> float:
        total = 0.0
        for chosen, p in self.sets:
            if all(one[j] == other[j] for j in range(self.m) if j not in chosen):
                total += p * math.prod(self.share(j, other[j]) for j in chosen)
        return total

    def posterior(self, released: tuple) -> dict[tuple, float]:
        weights = {one: count * self.chance(one, released) for one, count in self.counts.items()}
        whole = sum(weights.values())
        return {one: weight / whole for one, weight in weights.items() if weight > 0}


def stats_of(described: Any, suppressed: int = 0) -> Any:
    return SimpleNamespace(kind=RANDOMISED, channel=described, n=described.table.n, n_suppressed=suppressed)


def score(described: Randomised, name: str, **parameters: Any) -> Score:
    return load("measure", name)(**parameters).score(stats_of(described))


@settings(max_examples=25)
@given(releases())
def test_posterior_is_bayes(described: Randomised) -> None:
    naive, known = Naive(described), posterior(described)
    found, top = recover(described, known), known.top[described.released_of]
    for i, (one, other) in enumerate(zip(naive.before, naive.after, strict=True)):
        expected = naive.posterior(other)
        best = max(expected.values())
        likeliest = [v for v, p in expected.items() if p >= best * (1 - 1e-9)]
        assert sum(expected.values()) == pytest.approx(1.0)
        assert found.truth[i] == pytest.approx(expected[one])
        assert top[i] == pytest.approx(best)
        assert found.recovered[i] == pytest.approx((one in likeliest) / len(likeliest))
        assert found.own[i] == pytest.approx(naive.chance(one, other))
    value = score(described, "inference-probability")
    assert value.value == pytest.approx(max(top))
    assert value.also["mean"] == pytest.approx(top.mean())


@settings(max_examples=20)
@given(releases(), st.integers(0, 100))
def test_candidates_of_one_vector(described: Randomised, pick: int) -> None:
    naive = Naive(described)
    released = naive.after[pick % naive.n]
    columns = described.columns
    frame = candidates(described, {c.name: c.texts[code] for c, code in zip(columns, released, strict=True)})
    found = {tuple(row[:-1]): row[-1] for row in frame.rows()}
    texts = {
        tuple(c.texts[code] for c, code in zip(columns, one, strict=True)): p
        for one, p in naive.posterior(released).items()
    }
    assert found == pytest.approx(texts)
    assert frame["probability"].sum() == pytest.approx(1.0)


@settings(max_examples=20)
@given(releases())
def test_gamma_is_the_largest_ratio(described: Randomised) -> None:
    naive, found = Naive(described), amplification(described)
    for i, other in enumerate(naive.after):
        chances = [naive.chance(one, other) for one in naive.counts]
        able = [chance for chance in chances if chance > 0]
        mine = described.released_of[i]
        assert found.finite[mine] == pytest.approx(max(able) / min(able))
        assert found.infinite[mine] == (len(able) < len(chances))
    value = score(described, "gamma")
    if found.infinite.any():
        assert (value.value, "infinite" in (value.reason or "")) == (None, True)
        assert 0 < value.also["infinite records"] <= 1
    else:
        assert value.value == pytest.approx(value.also["finite"])
    assert value.also["finite"] == pytest.approx(found.finite.max())


@settings(max_examples=20)
@given(releases(one=True))
def test_gamma_with_the_prior(described: Randomised) -> None:
    naive, found = Naive(described), amplification_with_prior(described)
    for i, other in enumerate(naive.after):
        own = naive.counts.get(other, 0) * naive.chance(other, other)
        weights = [count * naive.chance(one, other) for one, count in naive.counts.items() if one != other]
        ratios = [max(own / weight, weight / own) for weight in weights if weight > 0 and own > 0]
        assert found.infinite[described.released_of[i]] == (own == 0)
        if own > 0:
            assert found.finite[described.released_of[i]] == pytest.approx(max(ratios, default=1.0))


@settings(max_examples=20)
@given(releases(), st.data())
def test_bias_is_exact(described: Randomised, data: st.DataObject) -> None:
    naive = Naive(described)
    names = [column.name for column in described.columns]
    chosen = data.draw(st.lists(st.sampled_from([*names, "s"]), unique=True))
    row = data.draw(st.integers(0, naive.n - 1))
    query = {name: described.table.frame[name][row] for name in chosen}
    found = relative_bias(described, query)
    assert found is not None
    codes = {names.index(name): described.before[names.index(name)][row] for name in chosen if name in names}
    total = spread = 0.0
    for i, one in enumerate(naive.before):
        p = 0.0
        if "s" not in query or described.table.frame["s"][i] == query["s"]:
            for columns, chance in naive.sets:
                if all(one[j] == code for j, code in codes.items() if j not in columns):
                    p += chance * math.prod(naive.share(j, codes[j]) for j in columns if j in codes)
        total += p
        spread += p * (1 - p)
    base = found.support * naive.n
    assert found.expected == pytest.approx(total / base - 1, abs=1e-9)
    assert found.variance == pytest.approx(spread / base**2, abs=1e-9)
    value = score(described, "bias", query=query)
    assert value.value == pytest.approx(abs(found.expected))
    assert value.also["variance"] == found.variance


def test_equation_10_by_lifts() -> None:
    table = small()
    described = randomise(table)
    for query in ({"a": "a0", "b": "b0"}, {"a": "a1", "b": "b1", "c": "c1", "s": "s0"}):
        found = relative_bias(described, query)
        assert found is not None
        lifts = [lift(MemoryRows(table), query, name) for name in query if name != "s"]
        assert found.expected == pytest.approx(sum(1 / one - 1 for one in lifts if one) / 3)


def test_bias_of_all_pairs_is_their_weighted_mean() -> None:
    table = small()
    for parameters in ({}, {"redraw": 2}, {"p": {"a": 0.9, "b": 0.1}}):
        described = randomise(table, **parameters)
        means = []
        for name in "abc":
            pairs = table.frame.group_by(name, "s").len().rows()
            found = [(relative_bias(described, {name: value, "s": s}), count) for value, s, count in pairs]
            means.append(sum(one.relative * count for one, count in found if one) / table.n)
        value = score(described, "bias")
        assert value.value == pytest.approx(np.mean(means))
        assert value.also["worst pair"] == pytest.approx(max(means))


def test_optimal_p_has_the_largest_pa() -> None:
    table = small()
    best = score(randomise(table, p="optimal"), "pa")
    assert best.value == pytest.approx(best.also["largest"], rel=1e-4)
    for p in ("uniform", {"a": 0.2, "b": 0.3, "c": 0.5}, {"a": 1.0}):
        assert score(randomise(table, p=p), "pa").value < best.value
    assert score(randomise(table, redraw=2), "pa").also["largest"] is None


@pytest.mark.parametrize("name", [name for name in names("measure") if name not in NAMES])
def test_no_loss_is_read_off_noise(name: str) -> None:
    table = small()
    released = apply_recoding(MemoryRows(table), RandomAnonymisation().run(problem(table)))
    found = load("measure", name)().score(released.price_stats())
    assert found.value is None
    assert "redrawn at random" in (found.reason or "")


@pytest.mark.parametrize("name", NAMES)
def test_other_kinds_of_release_have_no_figure_but_a_reason(name: str) -> None:
    released = apply_recoding(MemoryRows(small()), FullDomain(levels={}))
    found = load("measure", name)().score(released.price_stats())
    assert (found.value, found.reason) == (None, "nothing was redrawn at random")


def test_what_is_undefined_says_why(monkeypatch: pytest.MonkeyPatch) -> None:
    table = small()
    described = randomise(table, redraw=2)
    assert score(described, "gamma", prior=True).reason == "gamma with a prior is defined for redraw = 1 only"
    assert score(described, "bias", query={"a": "nowhere"}).reason == "no record has the query's values"
    alone = randomise(read(table.frame.drop("s", "id"), quasi=["a", "b", "c"]))
    assert score(alone, "bias").reason == "there is no sensitive attribute"
    monkeypatch.setattr(exact, "LIMIT", 3)
    for name in ("gamma", "inference-probability"):
        assert "needs 7 sets of columns" in (score(described, name).reason or "")
    with pytest.raises(ParameterError, match="needs 7 sets of columns"):
        posterior(described)


def test_queries_support_and_confidence() -> None:
    table = small()
    assert support(MemoryRows(table), {}) == 1.0
    assert support(MemoryRows(table), {"a": "never"}) == 0.0
    assert confidence(MemoryRows(table), {"a": "never"}, {"b": "b0"}) is None
    assert lift(MemoryRows(table), {"a": "never", "b": "b0"}, "b") is None
    assert confidence(MemoryRows(table), {"a": "a0"}, {"a": "a0"}) == 1.0
    with pytest.raises(ParameterError, match="names 'ss', which is neither"):
        support(MemoryRows(table), {"ss": "s0"})
    with pytest.raises(ParameterError, match="no value of 'b'"):
        lift(MemoryRows(table), {"a": "a0"}, "b")
    with pytest.raises(ParameterError, match="map columns to values"):
        load("measure", "bias")(query="a")
    with pytest.raises(ParameterError, match="true or false"):
        load("measure", "gamma")(prior="yes")


def test_vectors_must_be_whole_and_known() -> None:
    described = randomise(small())
    whole = {"a": "a0", "b": "b0", "c": "c0"}
    with pytest.raises(ParameterError, match="'d' is not a quasi-identifier"):
        candidates(described, whole | {"d": 1})
    with pytest.raises(ParameterError, match="'c' has none"):
        candidates(described, {"a": "a0", "b": "b0"})
    with pytest.raises(ParameterError, match="'c' never has the value"):
        candidates(described, whole | {"c": "x"})


def test_numbers_and_missing_values_can_be_asked_for() -> None:
    frame = pl.DataFrame({"a": [1, 1, 2, None], "b": list("xxyy")})
    described = randomise(read(frame, quasi=["a", "b"], missing="value"))
    assert support(MemoryRows(described.table), {"a": 1, "b": "x"}) == 0.5
    assert support(MemoryRows(described.table), {"a": None}) == 0.25
    assert candidates(described, {"a": None, "b": "y"}).height >= 1
