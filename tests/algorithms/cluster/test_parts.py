"""What the clustering methods share: subspaces, cores, sizes, and a release that verifies."""

from __future__ import annotations

from typing import Any

import numpy as np
import polars as pl
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import shoal
from shoal.algorithms.cluster.records import Parts, equal_records, local_values
from shoal.algorithms.prices import prices_of
from shoal.data.table import Table, take_rows
from shoal.errors import InfeasibleError
from shoal.kernels.cores import use_cores
from shoal.kernels.median_split import halve
from shoal.recipe.source import read
from shoal.registry import make
from shoal.verify.recheck import recheck
from tests.algorithms.cluster.naive import as_sets, grouped
from tests.strategies import frames
from tests.table.random_tables import Case, cases

SPECS: list[dict[str, Any]] = [
    {"name": "k-members"},
    {"name": "k-members", "seeds": "random", "loss": "spread"},
    {"name": "k-members-p"},
    {"name": "k-members-p", "objective": "range-diversity"},
    {"name": "bottom-up"},
    {"name": "top-down"},
    {"name": "alpha-k"},
]
ALPHA = [{"name": "alpha-k-general", "alpha": 0.9, "k": 4}]


def name_of(spec: dict[str, Any]) -> str:
    return "-".join(map(str, spec.values()))


@pytest.fixture(scope="module")
def people() -> Table:
    rng = np.random.default_rng(3)
    n = 700
    frame = pl.DataFrame(
        {
            "age": rng.integers(18, 90, n), "pay": rng.normal(0, 20, n).round(), "job": rng.choice(list("abcdefg"), n),
            "town": rng.choice(list("uvwxyz"), n), "s": rng.choice(list("lmno"), n),
        }
    )  # fmt: skip
    towns = [[town, "west" if town < "x" else "east", "*"] for town in "uvwxyz"]
    return read(frame, quasi=["age", "pay", "job", "town"], sensitive=["s"], hierarchies={"town": towns})


@pytest.mark.parametrize("spec", SPECS, ids=name_of)
def test_subspaces_are_worked_on_by_themselves(people: Table, spec: dict[str, Any]) -> None:
    found = grouped(people, ALPHA, make("algorithm", spec | {"prepartition": 60}))
    order, starts = halve(np.ascontiguousarray(people.quasi_codes.T), prices_of(people.domain), 60)
    assert (found.notes["prepartition"], found.notes["subspaces"]) == (60, starts.size - 1)
    assert found.notes["clusters"] == found.groups
    assert found.notes["mean_size"] == pytest.approx(people.n / found.groups)
    part = np.empty(people.n, dtype=np.int64)
    part[order] = np.repeat(np.arange(starts.size - 1), np.diff(starts))
    if spec["name"] != "alpha-k":  # what alpha-k cannot merge within a subspace may join another
        assert all(len({part[row] for row in group}) == 1 for group in as_sets(found))
    if spec["name"] in ("k-members", "k-members-p", "bottom-up"):  # top-down draws by place
        for first, last in zip(starts[:-1], starts[1:], strict=True):
            rows = order[first:last]
            alone = grouped(take_rows(people, rows), ALPHA, make("algorithm", spec))
            mine = {frozenset(rows[list(group)].tolist()) for group in as_sets(alone)}
            assert mine <= as_sets(found)


@pytest.mark.parametrize("spec", SPECS, ids=name_of)
@pytest.mark.parametrize("size", [None, 50])
def test_one_core_and_two_give_the_same_groups(people: Table, spec: dict[str, Any], size: int | None) -> None:
    given_size = {} if size is None else {"prepartition": size}
    found = []
    for threads in (1, 3):
        use_cores(threads)
        try:
            found.append(grouped(people, ALPHA, make("algorithm", spec | given_size)).ids)
        finally:
            use_cores(None)
    assert (found[0] == found[1]).all()


@pytest.mark.parametrize("spec", SPECS, ids=name_of)
@pytest.mark.parametrize("k", [2, 7, 350, 700])
def test_sizes(people: Table, spec: dict[str, Any], k: int) -> None:
    found = grouped(people, [{"name": "alpha-k-general", "alpha": 0.9, "k": k}], make("algorithm", spec))
    sizes = np.bincount(found.ids)
    assert sizes.sum() == people.n
    assert sizes.min() >= k
    if spec["name"] != "top-down" and not found.notes.get("merged_beyond_rule_1"):
        assert sizes.max() <= 2 * k - 1


@settings(max_examples=25)
@given(
    case=frames(), spec=st.sampled_from(SPECS), size=st.sampled_from([None, 3, 8]), seed=st.integers(0, 9),
    alpha=st.sampled_from([0.5, 0.7, 1.0]), limit=st.sampled_from([0.0, 0.4]),
)  # fmt: skip
def test_releases_verify(case: Any, spec: Any, size: Any, seed: int, alpha: float, limit: float) -> None:
    frame, roles = case
    before = frame.clone()
    table = shoal.read(frame, **roles)
    options = spec | ({} if size is None else {"prepartition": size}) | {"suppression_limit": limit}
    arguments: dict[str, Any] = {
        "algorithm": make("algorithm", options),
        "models": [make("model", {"name": "alpha-k-general", "alpha": alpha, "k": 3})],
        "acknowledge": ["W-UNMODELLED:s"],
    }
    try:
        release = shoal.anonymize(table, seed=seed, **arguments)
    except InfeasibleError:
        return
    assert frame.equals(before)
    assert shoal.anonymize(shoal.read(frame, **roles), seed=seed, **arguments).frame.equals(release.frame)
    report = recheck(release.frame, {**release.manifest, "data": {"rows": release.frame.height}})
    assert report.passed, [check for check in report.checks if not check.passed]


@settings(max_examples=20, deadline=None)
@given(case=cases(rows=(1, 14), sensitive=(0, 0)), cuts=st.lists(st.integers(1, 13), max_size=3, unique=True))
def test_each_part_numbers_its_own_records_and_values(case: Case, cuts: list[int]) -> None:
    table = case.table()
    starts = np.array(sorted({0, *(cut for cut in cuts if cut < case.n), case.n}), dtype=np.int64)
    parts = Parts(np.arange(case.n, dtype=np.int32), np.ascontiguousarray(table.quasi_codes.T), starts)
    number = parts.numbers()
    cards = np.array([column.card for column in table.quasi])
    places, entry_at, owner = equal_records(parts, table.quasi_codes, cards)
    found = [tuple(places[a:b].tolist()) for a, b in zip(entry_at[:-1], entry_at[1:], strict=True)]
    expected: dict[Any, list[int]] = {}
    for place in range(case.n):
        expected.setdefault((number[place], *table.quasi_codes[:, place].tolist()), []).append(place)
    assert sorted(found) == sorted(tuple(entry) for entry in expected.values())
    assert [number[entry[0]] for entry in found] == owner.tolist() == sorted(owner.tolist())
    local, values, value_at = local_values(number, parts.count, table.quasi_codes, cards)
    for place in range(case.n):
        for a in range(cards.size):
            mine = values[value_at[number[place], a] : value_at[number[place], a + 1]]
            assert mine.tolist() == sorted(set(table.quasi_codes[a, number == number[place]].tolist()))
            assert mine[local[a, place]] == table.quasi_codes[a, place]
