"""k-map and delta-presence: examples by hand, plain references, runs by several methods, and what is refused."""

from __future__ import annotations

import math
from dataclasses import replace
from typing import Any

import numpy as np
import polars as pl
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import shoal
from shoal.engines.memory import MemoryRows
from shoal.errors import HierarchyError, InfeasibleError, InputError, ParameterError, SchemaError, VerificationError
from shoal.models.feasibility import whole_reference
from shoal.models.judge import Judge
from shoal.models.size import size_needed
from shoal.models.suppression import enforce
from shoal.recoding.population_match import matching_people, with_population
from shoal.recoding.recoded import apply_recoding
from shoal.recoding.recodings import FullDomain, Grouping
from shoal.registry import make
from shoal.verify.manifest import read_claims
from shoal.verify.terms.base import limit
from shoal.verify.terms.size import too_few
from tests.verify.cases import manifest

TREE = [["1001", "10..", "*"], ["1002", "10..", "*"], ["2001", "20..", "*"]]
# Whoever is drawn is of the population too.
PEOPLE = pl.DataFrame(
    {
        "age": [20, 21, 22, 23, 30, 31, 32, 40],
        "sex": ["f", "f", "m", "f", "m", "m", "f", "x"],
        "zip": ["1001", "1002", "1001", "1001", "2001", "2001", "2001", "1001"],
    }
)
DRAWN = PEOPLE[[0, 2, 4, 5]].with_columns(s=pl.Series(["a", "b", "a", "b"]))
ACCEPTED = ["W-UNMODELLED:s", "W-NO-K"]


def drawn(**options: Any) -> Any:
    given = {"quasi": ["age", "sex", "zip"], "sensitive": ["s"], "hierarchies": {"zip": TREE}, "population": PEOPLE}
    return shoal.read(DRAWN, **{**given, **options})


def matched(table: Any, recoding: Any) -> list[int]:
    released = apply_recoding(MemoryRows(table), recoding)
    return matching_people(list(released.cells.values()), released.n_classes, table.domain.population).tolist()


def test_people_match_by_every_cell() -> None:
    """[20,22], *, 1001: not 21, who lives elsewhere, nor 23 and 40. [30,31], m, 2001: not 32, nor any woman."""
    table = drawn()
    assert table.domain.population.people == 8
    assert matched(table, Grouping(ids=np.array([0, 0, 1, 1], dtype=np.int32), groups=2)) == [2, 2]


def test_a_star_covers_values_that_the_table_does_not_know() -> None:
    """Nobody in the table is of sex x, so that {f|m} is all there is there, and is written as it is."""
    table = drawn()
    everybody = {"age": 1, "sex": 1, "zip": 2}
    assert matched(table, FullDomain(levels=everybody)) == [8]
    assert matched(table, FullDomain(levels={"age": 1, "sex": 0, "zip": 2})) == [4, 3]


def test_missing_values_match_missing_cells_alone() -> None:
    people = PEOPLE.with_columns(sex=pl.Series(["f", None, None, "f", "m", "m", "f", "x"]))
    table = shoal.read(
        people[[0, 2, 4, 5]].with_columns(DRAWN["s"]), quasi=["age", "sex"], sensitive=["s"], missing="value",
        drop=["zip"], population=people,
    )  # fmt: skip
    assert matched(table, FullDomain(levels={"age": 1, "sex": 0})) == [3, 2, 2]


def naive(cells: dict[str, Any], people: pl.DataFrame) -> int:
    """People of the population who match one class, from the released texts."""

    def inside(cell: Any, value: Any) -> bool:
        if cell == "*":
            return True
        if cell.startswith("["):
            low, high = cell[1:-1].split(",")
            return float(low) <= value <= float(high)
        return str(value) in cell.strip("{}").split("|")

    return sum(all(inside(str(cells[name]), row[name]) for name in cells) for row in people.iter_rows(named=True))


@settings(max_examples=25)
@given(st.lists(st.tuples(st.integers(0, 9), st.sampled_from("abc")), min_size=3, max_size=20), st.data())
def test_counts_are_those_of_the_released_cells(rows: list[tuple[int, str]], data: st.DataObject) -> None:
    people = pl.DataFrame({"n": [n for n, _ in rows], "q": [q for _, q in rows]})
    size = data.draw(st.integers(2, len(rows)))
    table = shoal.read(people[:size].with_columns(s=pl.lit("s")), quasi=["n", "q"], sensitive=["s"], population=people)
    groups = data.draw(st.lists(st.integers(0, 2), min_size=size, max_size=size))
    _, ids = np.unique(groups, return_inverse=True)
    released = apply_recoding(MemoryRows(table), Grouping(ids=ids.astype(np.int32), groups=int(ids.max()) + 1))
    texts = {name: column.texts() for name, column in released.cells.items()}
    found = matching_people(list(released.cells.values()), released.n_classes, table.domain.population)
    expected = [naive({name: texts[name][g] for name in texts}, people) for g in range(released.n_classes)]
    assert found.tolist() == expected


def odds(texts: dict[str, Any], sizes: list[int], people: pl.DataFrame) -> list[float]:
    """Of whoever matches each class, the largest sum of the shares of the classes that they match."""
    cells = [{name: texts[name][g] for name in texts} for g in range(len(sizes))]
    shares = [size / naive(one, people) for size, one in zip(sizes, cells, strict=True)]
    matched = [[g for g, one in enumerate(cells) if naive(one, people[[row]])] for row in range(people.height)]
    return [max(sum(shares[g] for g in mine) for mine in matched if at in mine) for at in range(len(sizes))]


@settings(max_examples=25)
@given(st.lists(st.tuples(st.integers(0, 9), st.sampled_from("abc")), min_size=4, max_size=20), st.data())
def test_shares_of_all_classes_that_somebody_matches_add_up(rows: list[tuple[int, str]], data: st.DataObject) -> None:
    people = pl.DataFrame({"n": [n for n, _ in rows], "q": [q for _, q in rows]})
    size = data.draw(st.integers(2, len(rows)))
    table = shoal.read(people[:size].with_columns(s=pl.lit("s")), quasi=["n", "q"], sensitive=["s"], population=people)
    groups = data.draw(st.lists(st.integers(0, 3), min_size=size, max_size=size))
    _, ids = np.unique(groups, return_inverse=True)
    released = apply_recoding(MemoryRows(table), Grouping(ids=ids.astype(np.int32), groups=int(ids.max()) + 1))
    texts = {name: column.texts() for name, column in released.cells.items()}
    stats = with_population(
        released.rows.stats(released.classmap, []), list(released.cells.values()), table.domain.population,
        presence=True,
    )  # fmt: skip
    expected = odds(texts, stats.sizes.tolist(), people)
    assert stats.presence.tolist() == pytest.approx(expected)
    for delta, fits in ((max(expected), True), (max(expected) * 0.99, False)):
        model = shoal.DeltaPresence(delta_max=min(delta, 1.0), delta_min=0.0001)
        assert Judge([model], whole_reference(released.rows, [model])).ok(stats).all() == (fits and delta <= 1)


def test_nobody_is_surely_there_because_two_classes_cover_them() -> None:
    """Everybody of 27 is in the data: 6 of 20 who match [20,27], and 6 of 20 who match [27,35]."""
    people = pl.DataFrame({"age": [20] * 10 + [27] * 10 + [35] * 10})
    drawn = pl.concat([people[[0]], people[10:20], people[[20]]]).with_columns(s=pl.Series(["a", "b"] * 6))
    table = shoal.read(drawn, quasi=["age"], sensitive=["s"], population=people)
    released = apply_recoding(MemoryRows(table), Grouping(ids=np.repeat([0, 1], 6).astype(np.int32), groups=2))
    assert list(released.cells["age"].texts()) == ["[20,27]", "[27,35]"]
    for high, fits in ((0.6, True), (0.59, False)):
        models = [shoal.DeltaPresence(delta_max=high, delta_min=0.3)]
        judge = Judge(models, whole_reference(released.rows, models))
        if fits:
            assert enforce(released, judge, 0.0).n_classes == 2
        else:
            with pytest.raises(InfeasibleError, match="delta-presence"):
                enforce(released, judge, 0.9)


@pytest.mark.parametrize(
    "k, fraction, size",
    [(5, 0.1, 2), (5, 0.5, 4), (5, 1.0, 5), (2, 0.01, 1), (10, 0.05, 2), (3, 0.9, 3), (1000, 0.1, 116)],
)
def test_the_size_that_speaks_for_k_people(k: int, fraction: float, size: int) -> None:
    """More than s successes in k draws are at most 5 % likely from s = size on."""
    beyond = [
        sum(math.comb(k, n) * fraction**n * (1 - fraction) ** (k - n) for n in range(s + 1, k + 1))
        for s in (size - 1, size)
    ]
    assert beyond[1] <= 0.05
    assert size == 1 or beyond[0] > 0.05
    assert size_needed(k, fraction, 0.05) == size
    model = {"name": "k-map", "k": k, "fraction": fraction, "significance": 0.05}
    assert limit(model) == size
    assert too_few(size, model) == pytest.approx(beyond[1], abs=1e-9)


@settings(max_examples=25)
@given(st.integers(2, 60), st.floats(0.01, 1.0), st.floats(0.001, 0.5))
def test_both_estimate_the_same_size(k: int, fraction: float, significance: float) -> None:
    model = {"name": "k-map", "k": k, "fraction": fraction, "significance": significance}
    assert make("model", model).size_limit() == limit(model)


def census() -> tuple[Any, pl.DataFrame]:
    people = shoal.example_census(300).select("age", "sex")
    return people[:90].with_columns(s=pl.Series(["a", "b", "c"] * 30)), people


@pytest.mark.parametrize("algorithm", [shoal.Mondrian(), shoal.TopDown(), shoal.Optimal()])
@pytest.mark.parametrize(
    "model, by",
    [
        (shoal.KMap(k=9), "attested"),
        (shoal.KMap(k=9, fraction=0.3), "rechecked"),
        (shoal.DeltaPresence(delta_max=0.45, delta_min=0.1), "attested"),
    ],
)
def test_releases_pass_the_gate(algorithm: Any, model: Any, by: str) -> None:
    frame, people = census()
    ages = [[str(age), f"{age // 10}.", "*"] for age in sorted(set(people["age"]))]
    trees = {"age": ages, "sex": [[sex, "*"] for sex in sorted(set(people["sex"]))]}
    found = trees if algorithm.name == "optimal" else {}
    table = shoal.read(frame, quasi=["age", "sex"], sensitive=["s"], hierarchies=found, population=people)
    algorithm = replace(algorithm, suppression_limit=0.6)
    release = shoal.anonymize(table, algorithm=algorithm, models=[model], acknowledge=ACCEPTED, seed=1)
    assert release.released.n_classes > 1
    (verdict,) = release.verdict
    assert (verdict.holds, verdict.by) == (True, by)
    assert release.manifest["verdicts"][0]["value"] == (verdict.value if by == "rechecked" else None)
    membership = "Whether a person is in the data: nothing here hides membership."
    assert (membership in release.manifest["not_protected"]) == (model.name == "k-map")
    if model.name == "delta-presence" or by == "attested":
        classes = release.frame.group_by("age", "sex").len()
        for row in classes.iter_rows(named=True):
            cells = {name: row[name] for name in ("age", "sex")}
            if algorithm.name != "optimal":
                there = naive(cells, people)
                figure = there if model.name == "k-map" else row["len"] / there
                assert figure >= 9 if model.name == "k-map" else 0.1 <= figure <= 0.45


def test_k_map_needs_no_class_of_k() -> None:
    frame, people = census()
    table = shoal.read(frame, quasi=["age", "sex"], sensitive=["s"], population=people)
    algorithm = shoal.Mondrian(suppression_limit=0.5)
    release = shoal.anonymize(table, algorithm=algorithm, models=[shoal.KMap(k=9)], acknowledge=ACCEPTED, seed=1)
    assert release.manifest["classes"]["smallest"] < 9


def test_a_class_that_fails_is_refused_at_the_limit() -> None:
    """Own levels: (20, f, 1001) and the like match one person each, two of which are asked for."""
    table = drawn()
    arguments: dict[str, Any] = {"algorithm": shoal.NoAlgorithm(levels={"age": 1, "sex": 1}), "acknowledge": ACCEPTED}
    # 1001: 20, 22, 23 and 40; 2001: 30, 31 and 32.
    for k, fits in ((3, True), (4, False)):
        if fits:
            assert shoal.anonymize(table, models=[shoal.KMap(k=k)], **arguments).verdict[0].value == 3
        else:
            with pytest.raises(InfeasibleError):
                shoal.anonymize(table, models=[shoal.KMap(k=k)], **arguments)
    # 2 of 4 and 2 of 3 are in the data.
    for low, high, fits in ((0.5, 0.67, True), (0.51, 0.67, False), (0.5, 0.66, False)):
        model = shoal.DeltaPresence(delta_min=low, delta_max=high)
        if fits:
            assert shoal.anonymize(table, models=[model], **arguments).verdict[0].value == pytest.approx(2 / 3)
        else:
            with pytest.raises(InfeasibleError):
                shoal.anonymize(table, models=[model], **arguments)


def test_what_is_refused() -> None:
    with pytest.raises(ParameterError, match="needs the population that the table was drawn from"):
        shoal.anonymize(drawn(population=None), models=[shoal.KMap(k=2)], acknowledge=ACCEPTED)
    with pytest.raises(ParameterError, match="needs the population"):
        shoal.anonymize(drawn(population=None), models=[shoal.DeltaPresence(delta_max=0.5)], acknowledge=ACCEPTED)
    with pytest.raises(InfeasibleError, match="k = 9 cannot be met: the population has only 8 people"):
        shoal.anonymize(drawn(), models=[shoal.KMap(k=9)], acknowledge=ACCEPTED)
    with pytest.raises(SchemaError, match="The population has no column 'sex': did you mean its 'sexe'"):
        drawn(population=PEOPLE.rename({"sex": "sexe"}))
    with pytest.raises(HierarchyError, match="The hierarchy of 'zip' lacks 1 values of the population"):
        drawn(population=PEOPLE.with_columns(zip=pl.Series(["1001"] * 7 + ["9999"])))
    with pytest.raises(InputError, match="The population cannot be read as the table is: Column 'age' is numeric"):
        drawn(population=PEOPLE.with_columns(age=pl.Series(["20"] * 7 + ["old"])))
    table = drawn(settings={"age": {"style": "representative"}})
    with pytest.raises(ParameterError, match="are representatives"):
        shoal.anonymize(table, models=[shoal.KMap(k=2)], acknowledge=ACCEPTED)
    with pytest.raises(ParameterError, match="is about generalised cells"):
        shoal.anonymize(drawn(), algorithm=shoal.Microaggregation(k=2), models=[shoal.KMap(k=2)], acknowledge=ACCEPTED)


@pytest.mark.parametrize(
    "given, message",
    [
        ({"k": 2, "significance": 0.1}, "give the 'fraction' too"),
        ({"k": 2, "fraction": 0}, "'fraction'"),
        ({"k": 2, "fraction": 0.1, "significance": 0.6}, "'significance'"),
        ({"delta_max": 0.2, "delta_min": 0.3}, "above its 'delta_max'"),
        ({"delta_max": 1}, "No class can fail"),
        ({"delta_max": 0}, "'delta_max'"),
    ],
)
def test_impossible_parameters(given: dict[str, Any], message: str) -> None:
    with pytest.raises(ParameterError, match=message):
        make("model", {"name": "k-map" if "k" in given else "delta-presence", **given})


def test_builders_build_for_both_tables() -> None:
    people = PEOPLE.with_columns(zip=pl.Series(["1001", "1002", "1001", "1003", "2001", "2001", "2002", "9001"]))
    table = drawn(population=people, hierarchies={"zip": {"prefix": [2]}})
    assert matched(table, FullDomain(levels={"age": 1, "sex": 1, "zip": 1})) == [4, 3]


def test_a_recipe_names_the_population(tmp_path: Any) -> None:
    frame, people = census()
    frame.write_csv(tmp_path / "drawn.csv")
    people.write_csv(tmp_path / "people.csv")
    recipe = tmp_path / "recipe.toml"
    recipe.write_text(
        'acknowledge = ["W-UNMODELLED:s"]\nseed = 1\n[source]\npath = "drawn.csv"\npopulation = "people.csv"\n'
        '[roles]\nquasi = ["age", "sex"]\nsensitive = ["s"]\n[[models]]\nname = "k-map"\nk = 5\n'
        '[algorithm]\nname = "mondrian"\nsuppression_limit = 0.5\n'
    )
    release = shoal.run(recipe)
    assert release.manifest["models"] == [{"name": "k-map", "k": 5}]
    assert shoal.verify_release(tmp_path / "out").passed


def test_limits_in_the_wrong_order_are_no_claim() -> None:
    columns = [
        {"name": "q", "role": "quasi", "type": "categorical", "cells": "set"},
        {"name": "s", "role": "sensitive", "type": "categorical", "cells": "value"},
    ]
    for low, fits in ((0.5, True), (0.51, False)):
        model = {"name": "delta-presence", "delta_min": low, "delta_max": 0.5}
        if fits:
            assert read_claims(manifest(columns, [model]))
        else:
            with pytest.raises(VerificationError, match="impossible 'delta_min'"):
                read_claims(manifest(columns, [model]))


@pytest.mark.parametrize("name", ["k-members-p", "k-members", "mondrian", "optimal"])
def test_a_node_over_all_values_covers_nobody_without_a_value(name: str) -> None:
    """Whoever has no age is under the root alone, although all ages of the table are below '[0,39]', too."""
    people = pl.DataFrame({"age": [20, 21, 30, 31], "s": ["x", "y", "x", "y"]})
    everybody = pl.DataFrame({"age": [20, 21, 30, 31, 25, None, None, None, None]})
    trees = {"age": {"widths": [10, 40]}}
    table = shoal.read(people, quasi=["age"], sensitive=["s"], population=everybody, hierarchies=trees)
    codes = ["W-NO-K", "W-UNMODELLED:s"]
    with pytest.raises(InfeasibleError, match="No class satisfies the models"):  # and not the gate
        shoal.anonymize(table, algorithm=name, models=[shoal.DeltaPresence(0.6)], seed=1, acknowledge=codes)
