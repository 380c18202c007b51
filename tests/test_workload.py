"""A declared workload: what it asks of columns by hand, what groups make of it, and what it is worth."""

from __future__ import annotations

import json
import math
from datetime import date
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import shoal
from shoal.algorithms.prices import prices_of, quasi_weights
from shoal.cli.main import execute
from shoal.data.table import Table
from shoal.data.workload import Cuts
from shoal.errors import DomainError, InputError, ParameterError, SchemaError, UserError
from shoal.recipe.recipe import dump_recipe, parse_recipe
from shoal.registry import load, make
from shoal.utility.base import search_prices
from shoal.utility.features import Boundaries, kept_share
from shoal.utility.reading import read_release
from shoal.utility.workload import information, preferences, told, with_preferences
from shoal.verify.recheck import recheck
from tests.kernels.test_cells import cells_of

PETS = [
    ["cat", "mammal", "*"], ["cow", "mammal", "*"], ["dog", "mammal", "*"],
    ["carp", "fish", "*"], ["trout", "fish", "*"],
]  # fmt: skip
ALGORITHMS: list[dict[str, Any]] = [
    {"name": "mondrian", "cut": "best"}, {"name": "mondrian"}, {"name": "k-members"}, {"name": "top-down"},
    {"name": "toc", "utility_weight": 1, "protection_weight": 0}, {"name": "optimal"}, {"name": "rv-global"},
    {"name": "top-down-subtree"},
]  # fmt: skip


def people(workload: Any = None, *, n: int = 120, interval: bool = False) -> Table:
    """Ages 20 to 59 in equal numbers, with a pet and an income that follows the age from 33 on."""
    age = [20 + i % 40 for i in range(n)]
    frame = pl.DataFrame({
        "age": age,
        "pet": [PETS[(7 * i) % 5][0] for i in range(n)],
        "income": ["high" if a >= 33 else "low" for a in age],
    })  # fmt: skip
    rows = [[str(a), f"{a // 10 * 10}s", "*"] for a in range(20, 60)]
    hierarchies: dict[str, Any] = {"pet": PETS} if interval else {"pet": PETS, "age": rows}
    return shoal.read(
        frame, quasi=["age", "pet"], neutral=["income"], hierarchies=hierarchies, workload=workload,
        settings={"age": {"snap": "off"}} if interval else {},
    )  # fmt: skip


def release_of(table: Table, algorithm: dict[str, Any], k: int = 8) -> shoal.Release:
    return shoal.anonymize(
        table, algorithm=make("algorithm", algorithm), models=[shoal.KAnonymity(k=k)], seed=1,
        acknowledge=["W-NEUTRAL", "W-TIGHT"],
    )  # fmt: skip


def kept(release: shoal.Release, column: str, value: Any) -> float:
    return kept_share(read_release(release).features[column], value)


@pytest.mark.parametrize(
    ("workload", "error", "said"),
    [
        ({"target": "incme"}, SchemaError, "Did you mean 'income'"),
        ({"boundaries": {"agee": [30]}}, SchemaError, "Did you mean 'age'"),
        ({"boundaries": {"income": [30]}}, SchemaError, "not a quasi-identifier"),
        ({"boundaries": {"age": [20]}}, DomainError, "one side of it"),
        ({"boundaries": {"age": [60]}}, DomainError, "one side of it"),
        ({"boundaries": {"age": ["soon"]}}, DomainError, "not in its domain"),
        ({"boundaries": {"pet": ["fishes"]}}, DomainError, "did you mean 'fish'"),
        ({"boundaries": {"pet": ["*"]}}, DomainError, "one side of it"),
        ({"boundaries": {"age": 30}}, ParameterError, "must be a list"),
        ({"queries": ["age in [30"]}, InputError, "Query 1"),
        ({"queries": ["agee = 30"]}, InputError, "Did you mean 'age'"),
        ({"queries": "missing.txt"}, InputError, "check the path"),
        ({"targets": "income"}, ParameterError, "Did you mean 'target'"),
        ({"strength": 2.0}, ParameterError, "nothing in the workload"),
        ({"target": "income", "strength": 0}, ParameterError, "strength"),
    ],
)
def test_mistakes_are_said_in_one_sentence(workload: Any, error: type[UserError], said: str) -> None:
    with pytest.raises(error, match=said.replace("*", ".")):
        preferences(people(workload))


@pytest.mark.parametrize("outside", [20, 19, 59.5, 60])
def test_a_boundary_outside_the_domain_of_an_interval_column(outside: float) -> None:
    with pytest.raises(DomainError, match="outside its domain"):
        people({"boundaries": {"age": [outside]}}, interval=True)
    assert people({"boundaries": {"age": [20.5, 59]}}, interval=True).domain.workload is not None


def test_a_flat_column_has_no_boundaries() -> None:
    frame = pl.DataFrame({"city": ["a", "b"] * 5})
    with pytest.raises(SchemaError, match="no order"):
        shoal.read(frame, quasi=["city"], workload={"boundaries": {"city": ["a"]}})


def test_weights_of_queries_by_hand() -> None:
    table = people({"queries": ["age in [30, 39] and pet = fish", 'age = "20s"', "income = low"]})
    found = preferences(table)
    fish = 2 / 5
    use = np.array([(1 - 1 / 4) + (1 - 1 / 4), 1 - fish])
    expected = 0.3 + 0.7 * use / use.mean()
    assert list(found.weights.values()) == pytest.approx(expected.tolist())
    assert np.mean(list(found.weights.values())) == pytest.approx(1.0)
    # Codes of the ages' hierarchy begin at 20; both queries of ages end between 29 and 30.
    assert dict(zip(found.cuts["age"].at, found.cuts["age"].toll, strict=True)) == pytest.approx({10: 2 / 3, 20: 1 / 3})
    assert dict(zip(found.cuts["pet"].at, found.cuts["pet"].toll, strict=True)) == pytest.approx({3: 1 / 3})


def test_weights_of_a_target_by_hand() -> None:
    table = people({"target": "income", "strength": 2.0}, interval=True)
    found = preferences(table)
    # Age tells everything (one cut at 33), a pet nothing: its leaves do not even earn a cut.
    assert found.cuts["age"].at.tolist() == [13.0]
    share = 39 / 120
    bits = -share * math.log2(share) - (1 - share) * math.log2(1 - share)
    classes = (table.frame["income"] == "high").to_numpy().astype(np.int64)
    told_by_age, _, gains = told(table.columns["age"], table.codes["age"], classes)
    chance = 1 / (2 * 120 * math.log(2))
    assert told_by_age == pytest.approx(bits - chance)
    assert gains.tolist() == pytest.approx([bits])
    assert found.cuts["age"].toll.tolist() == pytest.approx([2.0 * bits / (bits - chance)])
    assert set(found.cuts) == {"age"}
    assert found.weights == pytest.approx({"age": 1.7, "pet": 0.3})


def test_cuts_of_dates_ordinals_reals_and_columns_with_missing_cells() -> None:
    frame = pl.DataFrame({
        "born": [date(2000, 1, 1), date(2000, 1, 5), date(2000, 2, 1), None] * 5,
        "size": ["s", "m", "l", None] * 5,
        "score": [0.5, 1.25, 2.0, None] * 5,
        "pet": ["cat", "cow", "carp", None] * 5,
    })  # fmt: skip
    workload = {
        "boundaries": {"born": [date(2000, 1, 10), "2000-02-01"], "size": ["m"], "score": [1.5], "pet": [["cow"]]},
        "queries": ["score in [0, 1.5] and size in [s, m]", "born in [2000-01-02, 2000-03-01] and pet = mammal"],
    }
    table = shoal.read(
        frame, quasi=["born", "size", "score", "pet"], missing="value", hierarchies={"pet": PETS},
        settings={"size": {"order": ["s", "m", "l"]}}, workload=workload,
    )  # fmt: skip
    found = {name: dict(zip(cuts.at, cuts.toll, strict=True)) for name, cuts in preferences(table).cuts.items()}
    assert found["born"] == {4: 0.5, 9: 1, 31: 1}
    assert found["size"] == {1: 1, 2: 0.5}
    # The boundary lies between values; the query ends before the next value.
    assert found["score"] == {1: 1, 1.5: 0.5}
    assert found["pet"] == {1: 1, 2: 1, 3: 0.5}
    release = release_of(table, {"name": "mondrian", "cut": "best"}, k=5)
    assert kept(release, "size", "m") == 1.0


def test_information_is_nothing_where_columns_are_independent() -> None:
    assert information(np.array([[10.0, 20.0], [20.0, 40.0]])) == 0.0
    assert information(np.array([[10.0, 0.0], [0.0, 10.0]])) == pytest.approx(1.0 - 1 / (40 * math.log(2)))


def test_the_users_weights_are_multiplied() -> None:
    table = people({"boundaries": {"age": [33]}})
    doubled = shoal.read(
        table.frame, quasi=["age", "pet"], neutral=["income"], hierarchies={"pet": PETS}, weights={"age": 2},
        workload=shoal.Workload(queries=["pet = cat"]),
    )  # fmt: skip
    assert with_preferences(doubled).domain.quasi_weights.tolist() == pytest.approx([0.6, 1.7])
    assert with_preferences(table).domain.quasi_weights.tolist() == [1.0, 1.0]


@given(st.lists(st.tuples(st.integers(1, 39), st.floats(0.01, 3.0)), min_size=1, max_size=5), st.booleans())
@settings(max_examples=20, deadline=None)
def test_every_price_pays_the_tolls_that_its_cell_crosses(given_cuts: list[tuple[int, float]], interval: bool) -> None:
    """Weighted prices of cells are what they were plus the tolls, in every table of prices there is."""
    plain = people(interval=interval)
    cuts = {"age": Cuts.of(*zip(*given_cuts, strict=True))}
    table = plain.knowing(cuts=cuts)
    old, new = prices_of(plain.domain), prices_of(table.domain)
    # In shares of what a whole cell of the column costs without tolls.
    units = [(p.one / quasi_weights(one.domain).sum()) for p, one in ((old, plain), (new, table))]
    column = plain.columns["age"]
    for low, high in [(0, 0), (3, 4), (0, 39), (8, 21), (20, 29)]:
        first, last = low, high
        if not interval and low != high:
            assert column.hierarchy is not None
            level = int(column.hierarchy.common_level(np.array(low), np.array(high)))
            under = np.flatnonzero(column.hierarchy.ancestors[level] == column.hierarchy.ancestors[level, low])
            first, last = int(under[0]), int(under[-1])
        tolls = sum(toll for at, toll in given_cuts if first < at <= last)
        before, after = (
            cells_of(p, 0, np.array([low]), np.array([high]))[0] / unit
            for p, unit in zip((old, new), units, strict=True)
        )
        assert after == pytest.approx(before + tolls)
    if not interval:
        before, after = (search_prices(load("measure", "lm")(), one.domain) for one in (plain, table))
        assert before is not None
        assert after is not None
        extra = cuts["age"].levels(column)
        assert np.allclose(after.leaf[0], before.leaf[0] + extra)
        assert np.allclose(after.full[0], before.full[0] + cuts["age"].total)
        assert np.array_equal(after.leaf[1], before.leaf[1])


@pytest.mark.parametrize("method", ["mondrian", "k-members", "toc", "top-down"])
def test_groups_end_at_a_planted_boundary(method: str) -> None:
    """There are 48 people below 36 and 72 from 36 on, so that groups of 8 can end there."""
    own = {"mondrian": {"cut": "best"}, "toc": {"utility_weight": 1, "protection_weight": 0}}
    algorithm = {"name": method, **own.get(method, {})}
    workload = {"boundaries": {"age": [36]}, "strength": 3}
    without, with_it = (kept(release_of(people(one, interval=True), algorithm), "age", 36) for one in (None, workload))
    assert without < 1.0
    assert with_it == 1.0


def test_full_domain_searches_leave_a_planted_boundary_alone() -> None:
    """Keeping fish apart from mammals costs lm more than starring pets does, so only the toll decides."""
    frame = pl.DataFrame({"age": [i % 40 + 20 for i in range(80)], "pet": [PETS[i % 5][0] for i in range(80)]})
    rows = [[str(a), f"{a // 10}x", f"{(a - 20) // 20} of 2", "*"] for a in range(20, 60)]
    levels = {}
    for name, workload in (("plain", None), ("aware", {"boundaries": {"pet": ["fish"]}})):
        table = shoal.read(frame, quasi=["age", "pet"], hierarchies={"age": rows, "pet": PETS}, workload=workload)
        for method in ("optimal", "rv-global", "top-down-subtree"):
            found = release_of(table, {"name": method}, k=20)
            levels[method, name] = kept(found, "pet", "fish")
    assert levels["optimal", "plain"] == 0.0
    assert levels["optimal", "aware"] == 1.0
    assert all(levels[method, "aware"] == 1.0 for method in ("rv-global", "top-down-subtree"))


@pytest.mark.parametrize("algorithm", ALGORITHMS, ids=lambda spec: "-".join(map(str, spec.values())))
def test_releases_with_a_workload_hold_their_promises_and_repeat(algorithm: dict[str, Any]) -> None:
    workload = {"queries": ["age in [30, 39] and pet = fish"], "target": "income", "boundaries": {"age": [33]}}
    table = people(workload, interval=False)
    one, other = (release_of(table, algorithm) for _ in range(2))
    assert one.frame.equals(other.frame)
    assert recheck(one.frame, {**one.manifest, "data": {"rows": one.frame.height}}).passed
    assert "workload" not in json.dumps(one.manifest)
    assert one.evidence["workload"]["declared"]["target"] == "income"
    # The figures are those of the user's own weights, so that releases can be compared.
    assert one.released.table.domain.quasi_weights.tolist() == [1.0, 1.0]


def test_a_limit_on_spreads_is_held_against_prices_without_tolls() -> None:
    workload = {"boundaries": {"age": [33]}, "strength": 5}
    table = people(workload, interval=True)
    release = shoal.anonymize(
        table, algorithm=shoal.Mondrian(cut="best", polish="lm"), seed=1, acknowledge=["W-NEUTRAL", "W-TIGHT"],
        models=[shoal.KAnonymity(k=4), shoal.WorstGroupUtility(u=0.5)],
    )  # fmt: skip
    assert release.measure("wgu").value <= 0.5 + 1e-9


def test_the_gain_of_a_workload() -> None:
    workload = {"queries": ["age in [33, 47]", "age in [20, 32]"], "target": "income", "boundaries": {"age": [33, 48]}}
    found = {
        gain.figure: gain
        for gain in shoal.workload_gain(
            people(workload, interval=True), algorithm=shoal.Mondrian(cut="best", k=8), seed=1,
            acknowledge=["W-NEUTRAL", "W-TIGHT"],
        )
    }  # fmt: skip
    assert found["query error"].before > 0.0
    assert found["query error"].after == pytest.approx(0.0)
    assert found["boundaries kept"].after == 1.0 > found["boundaries kept"].before
    assert found["accuracy naive-bayes"].after >= found["accuracy naive-bayes"].before
    assert found["lm"].after >= found["lm"].before
    with pytest.raises(ParameterError, match="no workload"):
        shoal.workload_gain(people())


def test_boundaries_of_a_release_as_an_evaluation() -> None:
    reading = read_release(release_of(people(), {"name": "optimal"}))
    (finding,) = Boundaries(boundaries={"age": [30, 33], "pet": [["cat", "cow"]]}).run(reading)
    assert set(finding.also) == {"age 30", "age 33", "pet ['cat', 'cow']"}
    assert finding.value == pytest.approx(np.mean(list(finding.also.values())))
    assert Boundaries().refusal(reading) is not None
    with pytest.raises(ParameterError, match="did you mean 'age'"):
        Boundaries(boundaries={"agee": [30]}).run(reading)


RECIPE = """
seed = 1
acknowledge = ["W-NEUTRAL"]

[source]
path = "people.csv"

[roles]
quasi = ["age", "pet"]
neutral = ["income"]

[workload]
queries = "queries.txt"
target = "income"

[workload.boundaries]
age = [33]

[[models]]
name = "k"
k = 8

[algorithm]
name = "mondrian"
cut = "best"
"""


def test_a_recipe_carries_a_workload(tmp_path: Path) -> None:
    people().frame.write_csv(tmp_path / "people.csv")
    (tmp_path / "queries.txt").write_text("# counts of the yearly report\n\nage in [20, 32]\nage in [33, 59]\n")
    (tmp_path / "recipe.toml").write_text(RECIPE)
    recipe = parse_recipe(RECIPE)
    assert parse_recipe(dump_recipe(recipe)) == recipe
    assert "strength" not in dump_recipe(recipe)
    assert execute(["run", str(tmp_path / "recipe.toml"), "--json"]) == 0
    facts = json.loads((tmp_path / "out.evidence" / "evidence.json").read_text())
    assert facts["workload"]["declared"]["queries"] == ["age in [20, 32]", "age in [33, 59]"]
    # One boundary, both queries and the target all end at 33.
    assert [at for at, _ in facts["workload"]["cuts"]["age"]] == [13.0]


@pytest.mark.parametrize(
    ("changed", "said"),
    [
        ('target = "incme"', "Did you mean 'income'"),
        ('targt = "income"', "Did you mean 'target'"),
        ('queries = "nowhere.txt"', "check the path"),
        ("queries = [1]", "list of queries"),
        ('boundaries = { age = [99] }', "outside its domain"),
        ('boundaries = { age = 33 }', "such as { age = [28, 65] }"),
        ("strength = -1", "above 0"),
    ],
)
def test_mistakes_in_a_recipe_exit_with_2(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], changed: str, said: str
) -> None:
    people().frame.write_csv(tmp_path / "people.csv")
    start, rest = RECIPE.split("[workload]")[0], RECIPE.split("age = [33]")[1]
    (tmp_path / "recipe.toml").write_text(f"{start}[workload]\n{changed}\n{rest}")
    assert execute(["run", str(tmp_path / "recipe.toml"), "--json"]) == 2
    assert said in json.loads(capsys.readouterr().out)["error"]["message"]
    assert not (tmp_path / "out").exists()
