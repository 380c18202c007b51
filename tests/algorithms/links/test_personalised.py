"""Personalised anonymity: every breach recomputed by the verifier's own predicate, on random tables and by hand."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from itertools import permutations, product
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from shoal import registry
from shoal.algorithms.base import Problem
from shoal.algorithms.links.personalised import PersonalisedAnonymity
from shoal.data.classes import RowIds
from shoal.data.guards import guards_of
from shoal.data.hierarchy import Hierarchy
from shoal.data.table import Table
from shoal.errors import InfeasibleError, ParameterError, PolicyError
from shoal.models.feasibility import vacuous
from shoal.models.personalised import Personalised
from shoal.recipe.source import read
from shoal.recoding.recodings import Subtree
from shoal.release.entry import anonymize, verify_release
from shoal.verify.terms.personalised import breach_probabilities
from tests.algorithms.lattice.lattices import Case, tree
from tests.test_adult import COLUMNS, QUASI

ILLNESS = [
    ["flu", "lungs", "*"], ["asthma", "lungs", "*"], ["ulcer", "stomach", "*"], ["gastritis", "stomach", "*"],
    ["polyp", "stomach", "*"], ["none", "*"],
]  # fmt: skip
ABOVE = {path[0]: path for path in ILLNESS}


@pytest.fixture(autouse=True, scope="module")
def registered() -> Iterator[None]:
    """The model under its name, for as long as these tests run, where the registry does not have it yet."""
    models = registry._TABLE["model"]
    had = "personalised" in models
    if not had:
        models["personalised"] = ("shoal.models.personalised:Personalised", "Nobody is found under what they guard.")
    yield
    if not had:
        del models["personalised"]


def posed(table: Table, algorithm: PersonalisedAnonymity, *models: dict[str, Any]) -> Problem:
    return Case(table, [*models, *(model.parameters() for model in algorithm.models())]).problem()


def assert_kept(
    paths: Any,
    values: pl.Series,
    labels: pl.Series,
    guards: pl.Series,
    classes: np.ndarray,
    p: float,
    people: np.ndarray | None = None,
) -> None:
    """Released labels lie above their values, and nobody's breach is likelier than p; unknown values take no part."""
    above = {path[0]: path for path in paths}
    pairs = zip(values.to_list(), labels.to_list(), strict=True)
    assert all(value is None or label in above[value] for value, label in pairs)
    known = pl.select(pl.when(values.is_not_null()).then(labels)).to_series()
    assert (breach_probabilities(paths, known, guards, classes, people) <= p + 1e-12).all()


def classes_of(table: Table, found: Subtree) -> np.ndarray:
    """Classes of equal quasi-identifier nodes."""
    cells = np.stack([found.nodes[one.name][table.codes[one.name]] for one in table.quasi])
    return np.unique(cells, axis=1, return_inverse=True)[1].ravel()


def labels_of(table: Table, found: Subtree, name: str) -> pl.Series:
    hierarchy = table.columns[name].hierarchy
    assert hierarchy is not None
    return pl.Series([hierarchy.node_labels[node] for node in found.sensitive[name]])


@st.composite
def guarded(draw: st.DrawFn, people: bool | None = None) -> tuple[Table, pl.Series]:
    """A table with random hierarchies, and guards at or above everybody's value, or none."""
    rng = np.random.default_rng(draw(st.integers(0, 2**32 - 1)))
    n = draw(st.integers(1, 30))
    data: dict[str, Any] = {}
    trees: dict[str, Any] = {"s": ILLNESS}
    for place, leaves in enumerate(draw(st.lists(st.integers(2, 6), min_size=1, max_size=3))):
        name = f"q{place}"
        trees[name] = tree(rng, name, leaves, 2)
        data[name] = [f"{name}{code}" for code in rng.integers(0, leaves, n)]
    values = rng.choice([*ABOVE], n).tolist()
    data["s"] = [None if rng.random() < 0.1 else value for value in values]
    wants = [rng.choice([*ABOVE[value][:2], ""]) if value in ABOVE else "" for value in data["s"]]
    data["guard"] = [want if want != "*" else "" for want in wants]
    quasi = [name for name in data if name.startswith("q")]
    roles: dict[str, Any] = {"quasi": quasi, "sensitive": ["s"], "guard": "guard"}
    if draw(st.booleans()) if people is None else people:
        data["who"] = [f"p{code}" for code in rng.integers(0, max(1, n // 2), n)]
        roles["subject"] = "who"
    frame = pl.DataFrame(data, schema_overrides={"s": pl.String, "guard": pl.String})
    return read(frame, hierarchies=trees, missing="value", **roles), frame["guard"].replace("", None)


@settings(max_examples=30)
@given(guarded(), st.sampled_from([0.2, 0.34, 0.5, 0.75, 1.0]), st.sampled_from([1, 2, 3]))
def test_no_breach_is_likelier_than_p(case: tuple[Table, pl.Series], p: float, k: int) -> None:
    table, guards = case
    algorithm = PersonalisedAnonymity(p=p, k=k)
    try:
        found = algorithm.run(posed(table, algorithm))
    except InfeasibleError:
        assert p < 1.0 or table.n < k or table.subjects is not None
        return
    classes = classes_of(table, found)
    paths, labels = table.columns["s"].hierarchy.rows(), labels_of(table, found, "s")
    assert_kept(paths, table.frame["s"], labels, guards, classes, p, table.subjects)
    if table.subjects is None:
        assert np.bincount(classes).min() >= k
    assert ("warning" in found.notes) == (k == 1)
    # The model says the same of the released nodes as the verifier does.
    worst = guards_of(table, "s", None).worst(classes, int(classes.max()) + 1, found.sensitive["s"])
    known = pl.select(pl.when(table.frame["s"].is_not_null()).then(labels)).to_series()
    theirs = breach_probabilities(paths, known, guards, classes, table.subjects)
    for g in range(worst.size):
        mine = theirs[classes == g].max()
        assert (np.isnan(worst[g]) and mine == 0) or worst[g] == pytest.approx(mine, abs=1e-12)


@settings(max_examples=20)
@given(guarded(people=False), st.integers(0, 1))
def test_everybody_may_guard_a_level(case: tuple[Table, pl.Series], level: int) -> None:
    table, _ = case
    algorithm = PersonalisedAnonymity(p=0.5, guard_level=level, on="s")
    found = algorithm.run(posed(table, algorithm))
    rows = {path[0]: path for path in table.columns["s"].hierarchy.rows()}
    guards = pl.Series([None if value is None else rows[value][level] for value in table.frame["s"]], dtype=pl.String)
    assert_kept(
        [*rows.values()], table.frame["s"], labels_of(table, found, "s"), guards, classes_of(table, found), 0.5
    )


def enumerated(released: list[str], owners: list[str], guards: list[str | None]) -> list[float]:
    """Each record's breach, from every way to hand the cells of one class to its records and leaves to the cells."""
    leaves = {label: [path[0] for path in ILLNESS if label in path] for path in ILLNESS for label in path}
    totals, hits = 0.0, [0.0] * len(released)
    for order in permutations(released):
        weight = float(np.prod([1 / len(leaves[label]) for label in order]))
        for world in product(*(leaves[label] for label in order)):
            totals += weight
            for record, guard in enumerate(guards):
                mine = [leaf for leaf, owner in zip(world, owners, strict=True) if owner == owners[record]]
                hits[record] += weight * (guard is not None and any(leaf in leaves[guard] for leaf in mine))
    return [hit / totals for hit in hits]


@settings(max_examples=25)
@given(st.data())
def test_the_verifiers_probabilities_are_the_enumerated_ones(data: Any) -> None:
    n = data.draw(st.integers(1, 4))
    labels = sorted({label for path in ILLNESS for label in path})
    released = data.draw(st.lists(st.sampled_from(labels), min_size=n, max_size=n))
    guards = data.draw(st.lists(st.sampled_from([None, *labels]), min_size=n, max_size=n))
    owners = data.draw(st.lists(st.sampled_from("pq"), min_size=n, max_size=n))
    found = breach_probabilities(
        ILLNESS, pl.Series(released), pl.Series(guards, dtype=pl.String), np.zeros(n, dtype=np.int64), np.array(owners)
    )
    assert found == pytest.approx(enumerated(released, owners, guards), abs=1e-12)


def small(values: list[str], guards: list[str | None], q: list[str] | None = None, **roles: Any) -> Table:
    frame = pl.DataFrame({"q": q or ["x"] * len(values), "s": values, "guard": pl.Series(guards, dtype=pl.String)})
    trees = {"s": ILLNESS, "q": [["x", "*"], ["y", "*"]]}
    return read(frame, **({"quasi": ["q"], "sensitive": ["s"], "guard": "guard", "hierarchies": trees} | roles))


def test_only_what_must_be_is_lifted() -> None:
    """Two of four have flu and one of them minds: a half is allowed, so nothing is lifted; less, and one of them is."""
    table = small(["flu", "flu", "ulcer", "none"], ["flu", None, None, None])
    for p, lifted in ((0.5, 0), (0.4, 1)):
        algorithm = PersonalisedAnonymity(p=p)
        found = algorithm.run(posed(table, algorithm))
        assert found.notes["lifted"] == lifted
        assert labels_of(table, found, "s").to_list().count("lungs") == lifted


def test_without_guards_nothing_is_lifted_and_rows_are_exact() -> None:
    table = small(["flu", "asthma", "ulcer", "none"], [None] * 4, q=["x", "x", "y", "y"])
    algorithm = PersonalisedAnonymity(p=0.1)
    found = algorithm.run(posed(table, algorithm))
    assert labels_of(table, found, "s").to_list() == table.frame["s"].to_list()
    assert np.unique(classes_of(table, found)).size == 2
    assert "may be unique" in found.notes["warning"]


def test_splitting_stops_where_lifting_would_cost_more() -> None:
    """Split, everybody with flu would stand alone with others who have it, and all would have to be lifted."""
    table = small(["flu"] * 4 + ["none"] * 8, ["flu"] * 4 + [None] * 8, q=["x"] * 4 + ["y"] * 8)
    algorithm = PersonalisedAnonymity(p=0.34)
    found = algorithm.run(posed(table, algorithm))
    assert found.notes["steps"] in (0, 1)
    assert_kept(
        ILLNESS, table.frame["s"], labels_of(table, found, "s"), table.frame["guard"], classes_of(table, found), 0.34
    )


@pytest.mark.parametrize("p", [0, -0.1, 1.01, "half", True])
def test_p_must_be_a_probability(p: Any) -> None:
    with pytest.raises(ParameterError, match="'p' of Personalised"):
        PersonalisedAnonymity(p=p)


def test_bad_parameters() -> None:
    with pytest.raises(ParameterError, match="at least 1"):
        PersonalisedAnonymity(p=0.5, k=0)
    with pytest.raises(ParameterError, match="need its 'p'"):
        PersonalisedAnonymity(guard_level=1)
    with pytest.raises(ParameterError, match="single sensitive column"):
        Personalised(p=0.5, on=["a", "b"])  # type: ignore[arg-type]
    table = small(["flu", "none"], [None, None])
    with pytest.raises(ParameterError, match="needs the model of that name once, and there are 0"):
        PersonalisedAnonymity().run(posed(table, PersonalisedAnonymity(), {"name": "k", "k": 2}))


def test_bad_guards() -> None:
    algorithm = PersonalisedAnonymity(p=0.5)
    with pytest.raises(PolicyError, match="1 records guard a node") as caught:
        algorithm.run(posed(small(["flu", "ulcer"], ["stomach", None]), algorithm))
    assert "ulcer" not in str(caught.value)
    assert "flu" not in str(caught.value)
    with pytest.raises(PolicyError, match="2 cells of the guard column 'guard' are no node"):
        algorithm.run(posed(small(["flu", "ulcer"], ["lung", "gut"]), algorithm))
    with pytest.raises(ParameterError, match="role 'guard'"):
        algorithm.run(posed(small(["flu", "ulcer"], [None, None], guard=None, drop=["guard"]), algorithm))
    level = PersonalisedAnonymity(p=0.5, guard_level=4)
    with pytest.raises(ParameterError, match="above the root"):
        level.run(posed(small(["flu", "ulcer"], [None, None]), level))
    flat = small(["flu", "ulcer"], ["flu", None], hierarchies={"q": [["x", "*"]]})
    with pytest.raises(ParameterError, match="needs a hierarchy of the sensitive column"):
        algorithm.run(posed(flat, algorithm))


def test_the_root_cannot_be_guarded() -> None:
    table = small(["flu", "ulcer", "none"], ["*", None, None])
    algorithm = PersonalisedAnonymity(p=0.9)
    with pytest.raises(InfeasibleError, match="still has probability 1"):
        algorithm.run(posed(table, algorithm))


def test_guards_are_never_released() -> None:
    table = small(["flu", "ulcer"], ["lungs", None])
    assert "guard" not in table.schema.released
    assert "guard" not in table.columns


def test_the_model_judges_breaches_and_nothing_else() -> None:
    table = small(["flu", "flu", "ulcer", "none"], ["lungs", None, None, None])
    problem = Case(table, [{"name": "personalised", "p": 0.4}]).problem()
    ids = np.zeros(4, dtype=np.int32)
    stats = problem.rows.stats(RowIds(ids, 1), problem.judge.attributes)
    assert problem.judge.ok(stats).all()
    breaches = {("s", -1): guards_of(table, "s", None).worst(ids, 1)}
    (judgement,) = problem.judge.judge(replace(stats, breaches=breaches))
    assert (judgement.worst, judgement.limit, judgement.on) == (0.5, 0.4, ("s",))
    assert not judgement.ok.all()


def test_a_certainty_allowed_is_no_promise() -> None:
    table = small(["flu", "ulcer"], ["lungs", None])
    problem = Case(table, [{"name": "personalised", "p": 1}]).problem()
    assert [on for _, on in vacuous(problem.judge, 1.0)] == [("s",)]
    assert vacuous(Case(table, [{"name": "personalised", "p": 0.9}]).problem().judge, 1.0) == []


def test_adult(adult: Path) -> None:
    """Every tenth person guards the group of occupations that theirs belongs to."""
    files = {name: str(adult.parent / f"adult_hierarchy_{name}.csv") for name in (*QUASI, "occupation")}
    plain = read(
        adult, columns=COLUMNS, missing_markers=["?"], missing="drop", quasi=QUASI, sensitive=["occupation"],
        drop=[name for name in COLUMNS if name not in (*QUASI, "occupation")], hierarchies=files,
    )  # fmt: skip
    paths = plain.columns["occupation"].hierarchy.rows()
    above = {path[0]: path[1] for path in paths}
    guards = pl.Series([above[value] if row % 10 == 0 else None for row, value in enumerate(plain.frame["occupation"])])
    table = read(
        plain.frame.select(*QUASI, "occupation").with_columns(guard=guards), quasi=QUASI, sensitive=["occupation"],
        guard="guard", hierarchies=files,
    )  # fmt: skip
    algorithm = PersonalisedAnonymity(p=0.5, k=5)
    found = algorithm.run(posed(table, algorithm))
    classes = classes_of(table, found)
    assert np.bincount(classes).min() >= 5
    assert_kept(
        paths, table.frame["occupation"], labels_of(table, found, "occupation"), guards, classes, 0.5
    )
    assert found.notes["lifted"] < table.n / 2
    assert found.notes["steps"] >= 4


def test_numbers_are_lifted_to_nodes_too(tmp_path: Path) -> None:
    incomes = [1, 2, 3, 4, 5, 6, 7, 8] * 3
    frame = pl.DataFrame(
        {"age": [20, 21, 22, 23, 30, 31, 32, 33] * 3, "income": incomes, "guard": list(map(str, incomes))}
    )
    pairs = [[str(i), f"[{i - (i - 1) % 2},{i + i % 2}]", "[1,4]" if i <= 4 else "[5,8]", "*"] for i in range(1, 9)]
    trees = {"income": Hierarchy.from_rows("income", pairs), "age": {"widths": [10]}}
    table = read(frame, quasi=["age"], sensitive=["income"], guard="guard", hierarchies=trees)
    promise = Personalised(p=0.25)
    release = anonymize(table, algorithm=PersonalisedAnonymity(), models=[promise], seed=1, acknowledge=["W-NO-K"])
    assert any("[" in cell for cell in release.frame["income"])
    assert verify_release(release.write(tmp_path / "out")).passed
