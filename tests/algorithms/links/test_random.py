"""Random anonymisation: what it may touch, that draws belong to rows, its statistics over many seeds, bad input."""

from __future__ import annotations

import dataclasses
from itertools import combinations
from typing import Any

import numpy as np
import polars as pl
import pytest
from hypothesis import assume, given, settings
from hypothesis import strategies as st

from shoal.algorithms.base import Problem
from shoal.algorithms.links.random import RandomAnonymisation
from shoal.data.keys import Keys
from shoal.data.table import Table
from shoal.errors import InfeasibleError, ParameterError
from shoal.recipe.source import read
from shoal.recoding.randomised import Randomised, describe_randomised
from shoal.utility.bias import relative_bias
from shoal.utility.posterior import posterior
from tests.algorithms.lattice.lattices import Case
from tests.strategies import frames

SEEDS = 2000


def problem(table: Table, seed: int = 1) -> Problem:
    return dataclasses.replace(Case(table, []).problem(), keys=Keys.from_seed(seed))


def randomise(table: Table, seed: int = 1, **parameters: Any) -> Randomised:
    return describe_randomised(table, RandomAnonymisation(**parameters).run(problem(table, seed)))


def small(n: int = 40, seed: int = 5, **roles: Any) -> Table:
    """Three dependent columns and a sensitive one that depends on them."""
    rng = np.random.default_rng(seed)
    a = rng.choice(4, n, p=[0.4, 0.3, 0.2, 0.1])
    b = np.where(rng.random(n) < 0.6, a % 3, rng.integers(0, 3, n))
    c = np.where(rng.random(n) < 0.5, b, rng.integers(0, 2, n))
    s = np.where(rng.random(n) < 0.5, a % 2, rng.integers(0, 3, n))
    columns = {name: [f"{name}{code}" for code in codes] for name, codes in zip("abcs", (a, b, c, s), strict=True)}
    frame = pl.DataFrame(columns | {"id": [f"r{i}" for i in range(n)]})
    return read(frame, quasi=["a", "b", "c"], sensitive=["s"], key="id", **roles)


@settings(max_examples=20)
@given(frames(), st.integers(0, 5), st.data())
def test_only_what_it_may_touch(case: Any, seed: int, data: st.DataObject) -> None:
    frame, roles = case
    table = read(frame, **roles)
    before = frame.clone()
    able = sum(int(np.count_nonzero(column.frequencies) > 1) for column in table.quasi)
    assume(able > 0)
    algorithm = RandomAnonymisation(redraw=data.draw(st.integers(1, able)))
    recoding = algorithm.run(problem(table, seed))
    assert recoding.kind.name == "randomised"
    assert list(recoding.quasi) == list(table.schema.quasi)
    changed = np.zeros(table.n, dtype=int)
    for column in table.quasi:
        codes = recoding.quasi[column.name]
        assert codes.dtype == np.int32
        # Missing is a value like any other: it may be drawn where it occurs, and nowhere else.
        assert set(codes.tolist()) <= set(table.codes[column.name].tolist())
        changed += codes != table.codes[column.name]
    assert changed.max() <= algorithm.redraw
    again = algorithm.run(problem(table, seed))
    assert all(np.array_equal(again.quasi[name], codes) for name, codes in recoding.quasi.items())
    assert frame.equals(before)
    assert np.array_equal(table.quasi_codes, read(frame, **roles).quasi_codes)


@pytest.mark.parametrize("parameters", [{}, {"redraw": 2}, {"redraw": 3}, {"p": "optimal"}, {"p": {"a": 1.0}}])
def test_draws_belong_to_the_row_not_to_its_place(parameters: dict[str, Any]) -> None:
    table = small(200)
    order = np.random.default_rng(2).permutation(table.n)
    moved = read(table.frame[order], quasi=["a", "b", "c"], sensitive=["s"], key="id")
    assert np.array_equal(randomise(table, **parameters).after[:, order], randomise(moved, **parameters).after)


def test_seeds_differ_and_the_sensitive_column_is_not_in_the_recoding() -> None:
    table = small()
    recoding = RandomAnonymisation().run(problem(table))
    assert "s" not in recoding.quasi
    assert set(recoding.quasi) == set(table.schema.quasi)
    assert not np.array_equal(randomise(table, 1).after, randomise(table, 2).after)


@pytest.mark.parametrize("parameters", [{}, {"p": "optimal"}, {"redraw": 2}, {"p": {"a": 0.7, "c": 0.3}}])
def test_counts_over_many_seeds_follow_equation_10(parameters: dict[str, Any]) -> None:
    """Single values are unbiased and pairs follow eq. (10), both within four standard errors of the exact variance."""
    table = small()
    made = [randomise(table, seed, **parameters) for seed in range(SEEDS)]
    after = {name: np.stack([one.after[j] for one in made]) for j, name in enumerate("abc")}
    after["s"] = np.broadcast_to(table.codes["s"], (SEEDS, table.n))
    queries = [{name: code} for name in "abc" for code in range(table.columns[name].card)]
    queries += [
        {one: i, two: j}
        for one, two in combinations("abcs", 2)
        for i in range(table.columns[one].card)
        for j in range(table.columns[two].card)
    ]
    tested = 0
    for query in queries:
        named = {name: table.columns[name].texts[code] for name, code in query.items()}
        exact = relative_bias(made[0], named)
        if exact is None:
            continue
        found = np.logical_and.reduce([after[name] == code for name, code in query.items()]).mean(axis=1)
        difference = found / exact.support - 1.0
        error = 4.0 * np.sqrt(exact.variance / SEEDS) + 1e-12
        assert abs(difference.mean() - exact.expected) <= error, named
        assert difference.var() == pytest.approx(exact.variance, rel=0.2, abs=1e-12), named
        if len(query) == 1:
            assert exact.expected == pytest.approx(0.0, abs=1e-12)
        assert difference[0] == pytest.approx(exact.observed)
        tested += 1
    assert tested > 25


def test_redrawing_everything_leaves_no_association() -> None:
    """With lambda = m the expected count of any combination is that of independent columns."""
    table = small()
    described = randomise(table, redraw=3)
    query = {"a": "a0", "b": "b0", "s": "s0"}
    found = relative_bias(described, query)
    assert found is not None
    shares = [np.mean(table.frame[name].to_numpy() == value) for name, value in query.items()]
    assert found.support * (1 + found.expected) == pytest.approx(np.prod(shares), abs=1e-12)


def test_constant_columns_are_left_out_and_noted() -> None:
    frame = pl.DataFrame({"a": list("xyxy"), "b": ["same"] * 4})
    table = read(frame, quasi=["a", "b"])
    recoding = RandomAnonymisation().run(problem(table))
    assert recoding.notes["p"] == {"a": 1.0, "b": 0.0}
    assert recoding.notes["warnings"] == ["Columns with a single value were left out of the draw: b."]
    kept = RandomAnonymisation(keep_constant=True).run(problem(table))
    assert kept.notes["p"] == {"a": 0.5, "b": 0.5}
    assert "without effect" in kept.notes["warnings"][0]
    with pytest.raises(ParameterError, match="a 'p' for 'b', which has a single value"):
        RandomAnonymisation(p={"a": 0.5, "b": 0.5}).run(problem(table))
    with pytest.raises(ParameterError, match="at most the 1 quasi-identifiers that can be redrawn. Got 2"):
        RandomAnonymisation(redraw=2).run(problem(table))
    with pytest.raises(InfeasibleError, match="nothing to redraw"):
        RandomAnonymisation().run(problem(read(frame[:1], quasi=["a", "b"])))


def test_missing_is_a_value_like_any_other() -> None:
    frame = pl.DataFrame({"a": [None, 1] * 500, "b": list("xy") * 500})
    described = randomise(read(frame, quasi=["a", "b"], missing="value"))
    drawn = described.after[0][described.before[0] != described.after[0]]
    assert set(drawn.tolist()) == {0, 1}


@pytest.mark.parametrize(
    "parameters, message",
    [
        ({"redraw": 0}, "whole number of at least 1"),
        ({"redraw": 1.5}, "whole number of at least 1"),
        ({"p": "best"}, "one of uniform, optimal"),
        ({"p": {"a": 0.5, "b": 0.6}}, "must sum to 1. Got 1.1"),
        ({"p": {}}, "must sum to 1. Got 0"),
        ({"p": {"a": 1.0 + 1e-8}}, "a number from 0 to 1"),
        ({"p": {"a": 1.0, "b": 1e-8}}, "must sum to 1"),
        ({"p": {"a": -0.5, "b": 1.5}}, "a number from 0 to 1"),
        ({"p": {"a": float("nan")}}, "a number from 0 to 1"),
        ({"redraw": 2, "p": "optimal"}, "every set of columns is equally likely"),
        ({"redraw": 2, "p": {"a": 1.0}}, "every set of columns is equally likely"),
        ({"keep_constant": 1}, "must be true or false"),
        ({"suppression_limit": 2}, "suppression_limit"),
    ],
)
def test_bad_parameters(parameters: dict[str, Any], message: str) -> None:
    with pytest.raises(ParameterError, match=message):
        RandomAnonymisation(**parameters)


@pytest.mark.parametrize(
    "parameters, message",
    [
        ({"redraw": 4}, "at most the 3 quasi-identifiers"),
        ({"p": {"aa": 1.0}}, "a 'p' for 'aa', which is not a quasi-identifier"),
        ({"p": {"s": 1.0}}, "a 'p' for 's', which is not a quasi-identifier"),
    ],
)
def test_parameters_that_do_not_fit_the_table(parameters: dict[str, Any], message: str) -> None:
    with pytest.raises(ParameterError, match=message):
        RandomAnonymisation(**parameters).run(problem(small()))


def test_a_column_with_probability_0_is_never_touched() -> None:
    described = randomise(small(500), p={"a": 0.5, "b": 0.5 + 1e-10, "c": 0.0})
    assert np.array_equal(described.before[2], described.after[2])
    assert described.p.tolist() == pytest.approx([0.5, 0.5, 0.0])


def test_a_whole_number_may_be_a_float() -> None:
    assert np.array_equal(randomise(small(), redraw=2.0).after, randomise(small(), redraw=2).after)


def test_specs_compare_hash_and_go_into_recipes() -> None:
    one, other = RandomAnonymisation(p={"a": 0.5, "b": 0.5}), RandomAnonymisation(p={"b": 0.5, "a": 0.5})
    assert one == other
    assert hash(one) == hash(other)
    assert RandomAnonymisation(**{k: v for k, v in one.parameters().items() if k != "name"}) == one


def test_the_best_p_is_used_in_thousandths() -> None:
    """It is published, and more digits would tell how the input's columns are distributed."""
    table = small()
    exact, _ = RandomAnonymisation(p="optimal").chances(table)
    used = np.array(list(RandomAnonymisation(p="optimal").run(problem(table)).chances.values()))
    assert used * 1000 == pytest.approx(np.round(used * 1000))
    assert used.sum() == pytest.approx(1.0)
    assert np.abs(used - exact).max() <= 1e-3


def tried(method: RandomAnonymisation, table: Table) -> tuple[Any, list[dict[str, Any]]]:
    made = method.run(problem(table))
    return made, made.notes["tried"]


def test_as_little_is_redrawn_as_the_measured_posterior_allows() -> None:
    table = small(300)
    measured = {}
    for parameters in ({"redraw": 1}, {"p": "optimal"}, {"redraw": 2}, {"redraw": 3}):
        known = posterior(randomise(table, **parameters))
        measured[tuple(parameters.items())[0]] = float(known.top @ known.vectors.released / 300)
    for limit in (0.9, *(value + 1e-9 for value in measured.values())):
        made, steps = tried(RandomAnonymisation(redraw="auto", max_posterior=limit), table)
        assert steps[-1]["posterior"] <= limit
        assert all(step["posterior"] > limit for step in steps[:-1])
        assert (made.redraw, dict(made.chances)) == (steps[-1]["redraw"], steps[-1]["p"])
        name = ("redraw", made.redraw) if len(set(made.chances.values())) == 1 else ("p", "optimal")
        assert measured[name] == pytest.approx(steps[-1]["posterior"])
    with pytest.raises(InfeasibleError, match="the least is .*, with redraw = 3; raise 'max_posterior'"):
        RandomAnonymisation(redraw="auto", max_posterior=min(measured.values()) - 1e-6).run(problem(table))


def test_a_limit_on_the_posterior_holds_for_what_was_set() -> None:
    table = small(300)
    made, steps = tried(RandomAnonymisation(redraw=2, max_posterior=0.95), table)
    assert made.redraw == 2
    assert len(steps) == 1
    with pytest.raises(InfeasibleError, match="The worst posterior is not within 0.2"):
        RandomAnonymisation(max_posterior=0.2, posterior_of="worst").run(problem(table))


@pytest.mark.parametrize(
    "parameters, told",
    [
        ({"redraw": "auto"}, "within a 'max_posterior'"),
        ({"redraw": "all"}, "'redraw'"),
        ({"redraw": "auto", "max_posterior": 0.3, "p": "optimal"}, "leave out 'p'"),
        ({"max_posterior": 0.0}, "'max_posterior'"),
        ({"max_posterior": 0.3, "posterior_of": "median"}, "one of mean, worst"),
    ],
)
def test_limits_on_the_posterior_that_say_nothing(parameters: dict[str, Any], told: str) -> None:
    with pytest.raises(ParameterError, match=told):
        RandomAnonymisation(**parameters)
