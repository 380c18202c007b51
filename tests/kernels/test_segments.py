"""Judging one set of rows while groups grow gives what judging whole groupings gives."""

from __future__ import annotations

from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from shoal.algorithms.base import sensitive_codes
from shoal.data.classes import RowIds
from shoal.engines.memory import MemoryEngine
from shoal.kernels import _native
from shoal.kernels.rules import DISTINCT
from shoal.models.feasibility import whole_reference
from shoal.models.judge import Judge
from shoal.registry import make
from tests.table.random_tables import Case, cases, groupings

ENGINE = MemoryEngine()
MODELS: list[list[dict[str, Any]]] = [
    [{"name": "k", "k": 2}],
    [{"name": "distinct-l", "l": 2}],
    [{"name": "k", "k": 2}, {"name": "p-sensitive", "p": 3, "k": 2}],
    [{"name": "k", "k": 3}, {"name": "distinct-l", "l": 2}, {"name": "entropy-l", "l": 1.5}],
    [{"name": "recursive-cl", "c": 2, "l": 2}, {"name": "t-closeness", "t": 0.3}],
    [{"name": "alpha-k-general", "alpha": 0.6, "k": 2}, {"name": "p-sensitive", "p": 2, "k": 2}],
    [{"name": "t-closeness", "t": 0.4, "distance": "kl"}, {"name": "max-range", "limit": 0.5}],
    [{"name": "range-diversity", "p": 0.8}],
]


@pytest.mark.reference("probe_rule_values", "probe_rules_hold")
@settings(max_examples=25)
@given(st.data(), st.sampled_from(MODELS), st.booleans())
def test_segments_are_judged_as_groups_are(data: st.DataObject, specs: list[dict[str, Any]], people: bool) -> None:
    case: Case = data.draw(cases(sensitive=(1, 2), quasi=(1, 1), subjects=people))
    ids = data.draw(groupings(case.n))
    table = case.table()
    models = [make("model", spec) for spec in specs]
    judge = Judge(models, whole_reference(ENGINE.open(table), models))
    packed = sensitive_codes(SimpleNamespace(judge=judge, table=table))  # type: ignore[arg-type]
    groups = int(ids.max(initial=-1)) + 1
    stats = ENGINE.open(table).stats(RowIds(ids, groups), judge.attributes)
    ok = judge.ok(stats)
    found = judge.judge(stats)
    nothing = np.zeros(judge.rules.op.size, dtype=np.uint8)
    for group in range(groups):
        rows = np.flatnonzero(ids == group).astype(np.int32)
        values = np.empty(judge.rules.op.size)
        assert _native.probe_rules_hold(rows, (judge.rules, packed, None), nothing, values) == ok[group]
        _native.probe_rule_values(rows, (judge.rules, packed, None), values)
        for r in np.flatnonzero(judge.rules.op == DISTINCT) if not people else ():
            mine = packed.codes[judge.rules.attr[r], rows]
            known = {code for code in mine.tolist() if not judge.attributes[judge.rules.attr[r]].unknown[code]}
            assert np.array_equal(values[r], len(known) or np.nan, equal_nan=True)
        if len(found) == 1 and found[0].model.name == "k":
            assert values[0] == found[0].values[group]
        # Freeing every rule leaves only the cheap test of size.
        free = np.ones(judge.rules.op.size, dtype=np.uint8)
        assert _native.probe_rules_hold(rows, (judge.rules, packed, None), free, values) == (rows.size >= judge.k)


@pytest.mark.reference("probe_failing")
@pytest.mark.parametrize(
    "values,fails",
    [
        ([0.9, np.nan], True),
        ([0.4, 0.5], False),
        ([np.nan, np.nan], False),
        ([1.0, 0.2], True),
    ],
)
def test_averaged_conditions(values: list[float], fails: bool) -> None:
    """The mean S-diversity over the attributes that a class says anything about, at most one half."""
    models = [make("model", {"name": "k", "k": k}) for k in (2, 3)]
    rules = Judge(models, None).rules._replace(
        combine=np.array([2, 0]), sense=np.array([1, 1]), limit=np.array([0.5, 0.5])
    )
    assert _native.probe_failing(rules, np.array(values), 0) is fails
    assert _native.probe_failing(rules, np.array(values), 1) is False
