"""Loukides' clustering methods on his Tables 3.5 to 3.10, rows in table order."""

from __future__ import annotations

from collections.abc import Callable
from fractions import Fraction
from typing import Any

import numpy as np
import polars as pl
import pytest

from shoal.algorithms.base import Problem
from shoal.algorithms.cluster.toc import TOC, delta_candidates
from shoal.algorithms.cluster.upc import UPC
from shoal.algorithms.prices import prices_of, quasi_columns, weighted
from shoal.data.keys import Keys
from shoal.engines.memory import MemoryRows
from shoal.errors import InfeasibleError
from shoal.kernels.median_split import halve
from shoal.models.feasibility import whole_reference
from shoal.models.judge import Judge
from shoal.models.size import KAnonymity
from shoal.recipe.source import read
from shoal.recoding.recoded import apply_recoding
from shoal.registry import make
from tests.golden import data
from tests.golden.build import ENGINE, cells, release, score

QUASI = ["age", "height", "postcode"]
TABLE = read(data.LO_TABLE_3_8, quasi=QUASI, sensitive=["salary"])


def problem_of(table: Any, *models: Any) -> Problem:
    judge = Judge(list(models), whole_reference(ENGINE.open(table), list(models)))
    return Problem(rows=ENGINE.open(table), judge=judge, keys=Keys.from_seed(1, identity=True))


def groups_of(ids: np.ndarray) -> list[list[int]]:
    return sorted(np.flatnonzero(ids == group).tolist() for group in range(ids.max(initial=-1) + 1))


def toc(delta: float, **options: Any) -> list[list[int]]:
    """Algorithm 1 alone: no pre-partitioning, leftovers suppressed."""
    spec = TOC(
        listing="printed",
        delta=delta, prepartition=False, seeds="order", leftover="suppress", suppression_limit=1.0, **options
    )
    return groups_of(spec.group(problem_of(TABLE, KAnonymity(k=2))).ids)


def al_02() -> bool:
    with pytest.raises(InfeasibleError, match="larger delta"):
        toc(0.03)
    return True


def prepartition(raw: bool) -> list[list[int]]:
    codes = np.ascontiguousarray(TABLE.quasi_codes.T)
    columns = quasi_columns(TABLE.domain)
    widths = [column.width for column in columns]
    order, starts = halve(codes, weighted(columns, widths if raw else TABLE.domain.quasi_weights, TABLE.n), 2)
    return [sorted(order[a:b].tolist()) for a, b in zip(starts[:-1], starts[1:], strict=True)]


def literal(rows: list[int]) -> list[list[int]]:
    """Steps 4 and 5 as they are printed: up to the lower median, and above it."""
    if len(rows) < 4:
        return [rows]
    values = {name: data.LO_TABLE_3_8[name].to_list() for name in QUASI}
    name = max(QUASI, key=lambda one: np.ptp([values[one][row] for row in rows]))
    median = sorted(values[name][row] for row in rows)[(len(rows) - 1) // 2]
    left = [row for row in rows if values[name][row] <= median]
    right = [row for row in rows if row not in left]
    return literal(left) + literal(right) if min(len(left), len(right)) >= 2 else [rows]


def subspaces_of(n: int, size: int) -> int:
    rng = np.random.default_rng(1)
    table = read(pl.DataFrame({"a": rng.integers(0, 74, n), "b": rng.integers(0, 5, n)}), quasi=["a", "b"])
    return halve(np.ascontiguousarray(table.quasi_codes.T), prices_of(table.domain), size)[1].size - 1


def bound(n: int, s: int, m: int) -> Fraction:
    """Theorem 3.3.1: UM with pre-partitioning over UM without."""
    return (n // s) * (Fraction(1, n // (2 * s - 1)) + m - 1)


def test_upc_asks_for_no_protection_below_the_smallest_class_that_can_have_it() -> None:
    """AL-17: P = 0.3 takes four records."""
    table = read(pl.DataFrame({"a": [1] * 9, "s": list("abcdefghi")}), quasi=["a"], sensitive=["s"])
    specs = [{"name": "worst-group-utility", "u": 1.0}, {"name": "range-diversity", "p": 0.3}]
    problem = problem_of(table, KAnonymity(k=2), *(make("model", spec) for spec in specs))
    assert UPC().group(problem).notes["fewest"] == 4


VECTORS: dict[str, tuple[Callable[[], Any], Any]] = {
    "LU-38": (lambda: prepartition(raw=True), data.TABLE_3_9),
    "LU-39": (lambda: prepartition(raw=False), data.TABLE_3_10),
    "LU-40": (lambda: literal(list(range(8))), [[0, 1, 2], [3, 4], [5, 6, 7]]),
    "LU-41": (lambda: subspaces_of(30162, 50), 512),
    "AL-01": (lambda: toc(0.05), data.TABLE_3_10),
    "AL-02": (al_02, True),
    "AL-03": (lambda: toc(1.0), [list(range(8))]),
    "AL-04": (lambda: delta_candidates(2), [1 / 8, 3 / 8, 5 / 8, 7 / 8]),
}
COVERED = set(VECTORS)


@pytest.mark.parametrize("name", VECTORS)
def test_vector(name: str) -> None:
    compute, expected = VECTORS[name]
    assert compute() == expected


def test_the_tables_worst_case_keeps_within_the_bound() -> None:
    """Raw ranges put the records of Table 3.9 together, which no choice of clusters within can mend."""
    options: dict[str, Any] = {"delta": 1.0, "size": 2, "scale": "raw", "leftover": "suppress"}
    found = TOC(listing="printed", **options).group(problem_of(TABLE, KAnonymity(k=2)))
    assert groups_of(found.ids) == data.TABLE_3_9
    released = [apply_recoding(MemoryRows(TABLE), found), release(TABLE, data.TABLE_3_10)]
    with_it, without = (score(one, "um").value for one in released)
    assert with_it / without == pytest.approx(9)
    assert with_it / without <= bound(8, 2, 3)
    assert cells(released[0], "height") == ["[170,175]"] * 4
    assert cells(released[1], "age") == ["[10,15]", "[15,20]", "[20,25]", "[25,30]"]
