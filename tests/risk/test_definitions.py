"""The audit against the definitions as published, which are pycanon's too, each written out over lists."""

from __future__ import annotations

import math
from collections import Counter, defaultdict
from collections.abc import Sequence
from typing import Any

import polars as pl
import pytest
from hypothesis import given
from hypothesis import strategies as st

from shoal.risk.audit import audit

Row = tuple[str, str, str, int]


def classes_of(rows: Sequence[Row]) -> list[list[Row]]:
    """Rows that agree on both quasi-identifiers."""
    found = defaultdict(list)
    for row in rows:
        found[row[:2]].append(row)
    return list(found.values())


def k_anonymity(rows: Sequence[Row]) -> int:
    """Size of the smallest class (Sweeney 2002)."""
    return min(len(one) for one in classes_of(rows))


def distinct_l(rows: Sequence[Row], place: int) -> int:
    """Fewest different values in a class (Machanavajjhala et al. 2007)."""
    return min(len({row[place] for row in one}) for one in classes_of(rows))


def entropy_l(rows: Sequence[Row], place: int) -> float:
    """The l of which the smallest entropy of a class is the logarithm (the same paper)."""
    entropies = []
    for one in classes_of(rows):
        counts = Counter(row[place] for row in one)
        entropies.append(-sum(many / len(one) * math.log(many / len(one)) for many in counts.values()))
    return math.exp(min(entropies))


def alpha(rows: Sequence[Row], place: int) -> float:
    """Largest share of one value in a class (Wong et al. 2006, every value sensitive)."""
    return max(max(Counter(row[place] for row in one).values()) / len(one) for one in classes_of(rows))


def closeness(rows: Sequence[Row], place: int, ordered: bool) -> float:
    """Largest earth mover's distance of a class from the table (Li, Li & Venkatasubramanian 2007, section 4)."""
    values = sorted({row[place] for row in rows})
    table = Counter(row[place] for row in rows)
    distances = []
    for one in classes_of(rows):
        mine = Counter(row[place] for row in one)
        gaps = [mine[value] / len(one) - table[value] / len(rows) for value in values]
        if ordered:
            moved = sum(abs(sum(gaps[: at + 1])) for at in range(len(gaps)))
            distances.append(moved / (len(values) - 1) if len(values) > 1 else 0.0)
        else:
            distances.append(sum(map(abs, gaps)) / 2)
    return max(distances)


def compare(rows: Sequence[Row]) -> None:
    schema = {"q0": pl.String, "q1": pl.String, "disease": pl.String, "amount": pl.Int64}
    found = audit(
        pl.DataFrame(rows, schema=schema, orient="row"), quasi=["q0", "q1"], sensitive=["disease", "amount"]
    ).own_value
    assert (found.k, found.classes) == (k_anonymity(rows), len(classes_of(rows)))
    for name, place in (("disease", 2), ("amount", 3)):
        mine = found.sensitive[name]
        assert mine.distinct_l == distinct_l(rows, place)
        assert mine.entropy_l == pytest.approx(entropy_l(rows, place))
        assert mine.alpha == pytest.approx(alpha(rows, place))
        assert mine.distance == ("ordered" if name == "amount" else "equal")
        assert mine.t == pytest.approx(closeness(rows, place, ordered=name == "amount"), abs=1e-9)


# Salaries 3 to 11 in three classes, as the paper on t-closeness has them.
SALARIES: list[Row] = [
    ("476**", "2*", "gastric ulcer", 3), ("476**", "2*", "gastritis", 4), ("476**", "2*", "stomach cancer", 5),
    ("4790*", ">=40", "gastritis", 6), ("4790*", ">=40", "flu", 11), ("4790*", ">=40", "bronchitis", 8),
    ("476**", "3*", "bronchitis", 7), ("476**", "3*", "pneumonia", 9), ("476**", "3*", "stomach cancer", 10),
]  # fmt: skip


def test_the_salaries_of_the_paper() -> None:
    compare(SALARIES)
    # The paper gives 0.375 for {3, 4, 5}; no class is further away.
    assert closeness(SALARIES, 3, ordered=True) == pytest.approx(0.375)
    assert (k_anonymity(SALARIES), distinct_l(SALARIES, 2), alpha(SALARIES, 2)) == (3, 3, pytest.approx(1 / 3))
    assert entropy_l(SALARIES, 2) == pytest.approx(3)


@pytest.mark.parametrize(
    "rows, k, l, a, t",
    [
        # One class is the table: nothing is further from it than itself.
        ([("a", "x", "flu", 1), ("a", "x", "cold", 2)], 2, 2, 1 / 2, 0.0),
        # A class of one value out of two, half of the table each.
        ([("a", "x", "flu", 1)] * 2 + [("b", "x", "cold", 2)] * 2, 2, 1, 1.0, 1 / 2),
        # {flu 2, cold 1} and {cold 1} in a table of two each.
        ([("a", "x", "flu", 1)] * 2 + [("a", "x", "cold", 2), ("b", "x", "cold", 2)], 1, 1, 1.0, 1 / 2),
        # {flu 3, cold 1} twice and {flu 2, cold 2} once: 8/12 of the table have flu.
        ([("a", "x", "flu", 1), ("b", "x", "flu", 1)] * 3 + [("a", "x", "cold", 2), ("b", "x", "cold", 2)]
         + [("b", "y", "flu", 1), ("b", "y", "cold", 2)] * 2, 4, 2, 3 / 4, 1 / 6),
        ([("a", "x", "flu", 1)] * 3, 3, 1, 1.0, 0.0),
    ],
    ids=["one class", "two of one value", "a record alone", "three classes", "one value"],
)  # fmt: skip
def test_tables_made_by_hand(rows: list[Row], k: int, l: int, a: float, t: float) -> None:  # noqa: E741
    compare(rows)
    assert (k_anonymity(rows), distinct_l(rows, 2)) == (k, l)
    assert (alpha(rows, 2), closeness(rows, 2, ordered=False)) == (pytest.approx(a), pytest.approx(t))


def tables() -> st.SearchStrategy[list[Any]]:
    row = st.tuples(
        st.sampled_from("abc"), st.sampled_from("xy"), st.sampled_from(["flu", "cold", "gout", "mumps"]),
        st.sampled_from([-3, 0, 1, 5, 40]),
    )  # fmt: skip
    return st.lists(row, min_size=1, max_size=40)


@given(tables())
def test_random_tables(rows: list[Row]) -> None:
    compare(rows)
