"""The public surface is a promise: a name comes or goes only on purpose."""

from __future__ import annotations

import shoal

NAMES = {
    "AlphaKComplete", "AlphaKGeneral", "AlphaKSimple", "ColumnSpec", "DistinctL", "EntropyL", "EpsM", "Hierarchy",
    "Incognito", "KAnonymity", "KE", "MaxRange", "Mondrian", "NoAlgorithm", "Optimal", "PSensitive", "RecursiveCL",
    "Release", "Samarati", "ShoalError", "TCloseness", "TopDownSubtree", "VERSION", "Variance", "anonymize", "audit",
    "example_census", "read", "run", "verify_release",
}  # fmt: skip


def test_public_names() -> None:
    assert set(shoal.__all__) == NAMES
    assert set(dir(shoal)) == NAMES


def test_every_public_name_loads() -> None:
    for name in NAMES:
        assert getattr(shoal, name) is not None
