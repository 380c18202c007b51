"""K-Members and K-Members-p against references that look at every record, every time."""

from __future__ import annotations

from typing import Any

import polars as pl
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import shoal
from shoal.algorithms.cluster.k_members import KMembers, KMembersP
from shoal.data.policies import set_policies
from shoal.errors import ParameterError
from shoal.recipe.source import read
from tests.algorithms.cluster.naive import as_sets, grouped, increase, k_members, loss
from tests.table.random_tables import ORDER, Case, cases, day

TREE_KINDS = ("integer", "date", "ordinal", "tree", "flat")
SENSITIVE_ONE = 1 << 30


@pytest.mark.reference("cluster_members")
@settings(max_examples=25, deadline=None)
@given(
    case=cases(rows=(2, 14), sensitive=(0, 0)), k=st.integers(2, 5), furthest=st.booleans(),
    name=st.sampled_from(["height", "spread", "byun"]),
)  # fmt: skip
def test_members_equal_the_reference(case: Case, k: int, furthest: bool, name: str) -> None:
    k = min(k, case.n)
    cost = loss(case, name)
    expected = k_members(
        case.n, k, cost, cost, lambda cluster, i: increase(cost, cluster, [i]), furthest=furthest
    )  # fmt: skip
    algorithm = KMembers(seeds="furthest" if furthest else "random", loss=name)
    found = grouped(case.table(), [{"name": "k", "k": k}], algorithm)
    assert as_sets(found) == {frozenset(cluster) for cluster in expected}
    assert found.notes["leftovers"] == case.n % k
    assert found.notes["clusters"] == case.n // k


class SensitiveReference:
    """Known values of one sensitive column: how far apart they are, and which are in whose range."""

    def __init__(self, case: Case, name: str, columns: int, ranges: Any) -> None:
        self.kind = case.kinds[name]
        silent = case.non_answers.get(name, ())
        self.values = [None if value is None or str(value) in silent else self.axis(value) for value in case.data[name]]
        known = [value for value in self.values if value is not None]
        self.domain = list(range(len(ORDER))) if self.kind == "ordinal" else sorted(set(known))
        self.rows = {row[0]: row for row in case.hierarchies.get(name, [])}
        self.unit = SENSITIVE_ONE / columns
        self.ranges = ranges

    def axis(self, value: Any) -> Any:
        if self.kind == "date":
            return day(value)
        return ORDER.index(value) if self.kind == "ordinal" else value

    def spread(self, values: set[Any]) -> int:
        """Ticks of 1 - S-diversity."""
        known = values - {None}
        if len(known) < 2:
            return 0
        if self.kind == "tree":
            level = next(at for at in range(9) if len({self.rows[value][at] for value in known}) == 1)
            label = self.rows[next(iter(known))][level]
            share = (sum(row[level] == label for row in self.rows.values()) - 1) / (len(self.rows) - 1)
        elif self.kind == "flat":
            share = (len(known) - 1) / (len(self.domain) - 1)
        else:
            share = (max(known) - min(known)) / (self.domain[-1] - self.domain[0])
        return round(share * self.unit)

    def of(self, rows: list[int]) -> set[Any]:
        return {self.values[row] for row in rows}

    def pairs(self, rows: list[int]) -> int:
        """Range diversity in ticks: mean over ordered pairs of closeness inside the first one's range."""
        known = [self.values[row] for row in rows if self.values[row] is not None]
        inside = [(u, x) for u in known for x in known if self.ranges(u, x)]
        near = sum(round(self.unit) - self.spread({u, x}) for u, x in inside)
        return int(near / len(known) ** 2 + 0.5) if known else 0


@settings(max_examples=25, deadline=None)
@given(
    case=cases(rows=(2, 12), sensitive=(1, 2), sensitive_kinds=TREE_KINDS), k=st.integers(2, 4),
    furthest=st.booleans(), pairs=st.booleans(), levels=st.booleans(),
)  # fmt: skip
def test_members_p_equal_the_reference(case: Case, k: int, furthest: bool, pairs: bool, levels: bool) -> None:
    k = min(k, case.n)
    table, columns = case.table(), []
    for name in case.sensitive:
        if case.kinds[name] == "tree" and levels:
            table = set_policies(table, {name: {"level": 1}})
            rows = {row[0]: row for row in case.hierarchies[name]}
            same = lambda u, x, rows=rows: rows[u][1] == rows[x][1]  # noqa: E731
        elif case.kinds[name] == "integer" and levels:
            table = set_policies(table, {name: [[-9, 1], [2, 99]]})
            same = lambda u, x: (u <= 1) == (x <= 1)  # noqa: E731
        else:
            same = lambda u, x: u == x  # noqa: E731
        columns.append(SensitiveReference(case, name, len(case.sensitive), same))
    cost = loss(case, "height")

    def spread(rows: list[int]) -> int:
        return sum(column.spread(column.of(rows)) for column in columns)

    def protection(rows: list[int]) -> int:
        return sum(column.pairs(rows) for column in columns) if pairs else -spread(rows)

    def distance(rows: list[int]) -> int:
        both = [column for column in columns if None not in column.of(rows)]
        return sum(column.spread(column.of(rows)) for column in both)

    expected = k_members(
        case.n, k, distance, lambda rows: (protection(rows), cost(rows)),
        lambda cluster, i: (protection([*cluster, i]) - protection(cluster), increase(cost, cluster, [i])),
        furthest=furthest,
    )  # fmt: skip
    algorithm = KMembersP(
        objective="range-diversity" if pairs else "s-diversity", seeds="furthest" if furthest else "random"
    )
    assert as_sets(grouped(table, [{"name": "k", "k": k}], algorithm)) == {frozenset(one) for one in expected}


@pytest.mark.parametrize(
    ("made", "said"),
    [
        (lambda: KMembers(seeds="nearest"), "furthest, random"),
        (lambda: KMembers(loss="penalty"), "height, spread, byun"),
        (lambda: KMembers(k=5, prepartition=4), "at least k = 5"),
        (lambda: KMembers(prepartition=1), "whole number of at least 2"),
        (lambda: KMembersP(objective="diversity"), "s-diversity"),
    ],
)
def test_bad_parameters(made: Any, said: str) -> None:
    with pytest.raises(ParameterError, match=said):
        made()


def test_subspaces_must_have_room_for_the_models_k() -> None:
    table = read(pl.DataFrame({"a": range(20)}), quasi=["a"])
    with pytest.raises(ParameterError, match="at least k = 6"):
        shoal.anonymize(table, algorithm=KMembers(prepartition=5), models=[shoal.KAnonymity(k=6)])


def test_protection_needs_a_sensitive_attribute() -> None:
    table = read(pl.DataFrame({"a": [1, 2, 3]}), quasi=["a"])
    with pytest.raises(ParameterError, match="sensitive"):
        shoal.anonymize(table, algorithm=KMembersP(k=2))


def test_protection_spreads_what_loss_would_bunch() -> None:
    frame = pl.DataFrame({"a": [0, 0, 1, 1] * 4, "s": ["x", "x", "y", "y"] * 4})
    table = read(frame, quasi=["a"], sensitive=["s"])
    for algorithm, distinct in ((KMembers(k=4), 1), (KMembersP(k=4), 2)):
        release = shoal.anonymize(table, algorithm=algorithm, seed=1, acknowledge=["W-UNMODELLED:s"])
        aligned = release.aligned().select("a", "s")
        assert set(aligned.group_by("a").agg(pl.col("s").n_unique())["s"]) == {distinct}
