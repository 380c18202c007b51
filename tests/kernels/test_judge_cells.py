"""Judging cells by their histograms gives what judging their rows does."""

from __future__ import annotations

import numpy as np
from hypothesis import given, settings
from hypothesis import strategies as st

from shoal.algorithms.base import sensitive_codes
from shoal.algorithms.mondrian import tallies_of
from shoal.data.classes import Cells
from shoal.kernels import _native
from tests.algorithms.lattice.lattices import MODELS, Case, cases


@settings(max_examples=25)
@given(cases([specs for specs in MODELS if len(specs) > 1 or "on" in specs[0]], people=False), st.data())
def test_cells_are_judged_as_their_rows_are(case: Case, data: st.DataObject) -> None:
    problem = case.problem()
    judge = problem.judge
    if not judge.attributes:
        return
    frequency = problem.rows.frequency(judge.attributes)
    count = frequency.rows.size
    chosen = np.array(data.draw(st.lists(st.integers(0, count - 1), min_size=1, unique=True)), dtype=np.int32)
    member = np.isin(problem.memory.ids(Cells(np.arange(count, dtype=np.int32), count)), chosen)
    rows = np.flatnonzero(member).astype(np.int32)
    tallies, plain = tallies_of(frequency, judge.attributes), sensitive_codes(problem)
    freed = np.zeros(judge.rules.op.size, dtype=np.uint8)
    values, expected = np.empty(freed.size), np.empty(freed.size)
    _native.probe_rule_values(chosen, (judge.rules, None, tallies), values)
    _native.probe_rule_values(rows, (judge.rules, plain, None), expected)
    np.testing.assert_array_equal(values, expected)
    ok = _native.probe_rules_hold(chosen, (judge.rules, None, tallies), freed, values)
    assert ok == _native.probe_rules_hold(rows, (judge.rules, plain, None), freed, expected)
