"""The public surface is a promise: a name comes or goes only on purpose."""

from __future__ import annotations

import shoal

NAMES = {
    "AlphaK", "AlphaKComplete", "AlphaKGeneral", "AlphaKSimple", "Auto", "BetaLikeness", "BottomUp", "ColumnSpec",
    "DeltaDisclosure", "DeltaPresence", "DistinctL", "KMAnonymity", "KMap", "KWildcard", "LocalSuppression",
    "EntropyL", "EpsM", "Genetic", "Hierarchy", "Incognito", "KAnonymity", "KE", "KMembers", "KMembersP", "KOptimize",
    "MaxRange", "Mondrian", "RPlusTree", "SetPartition",
    "Condensation", "Noise", "Pram", "RecordSwapping", "Shuffling", "Swapping",
    "NoAlgorithm", "Optimal", "PSensitive", "RangeConfidence", "RangeDiversity", "RecursiveCL", "Release", "Samarati",
    "ShoalError", "TCloseness", "TOC", "TopDown", "TopDownSubtree", "UPC", "VERSION", "Variance", "WorstGroupUtility",
    "Anatomy", "Graded", "MInvariance", "MInvariant", "Microaggregation", "Personalised", "PersonalisedAnonymity",
    "RandomAnonymisation", "ResearchClusters", "ResearchDistributed", "ResearchGlobal", "ResearchHybrid",
    "ResearchLocal", "TableTransform", "ValueMapping", "Workload",
    "anonymize", "assess", "attack", "attack_frame", "audit", "compare", "connect", "discover", "estimate", "evaluate",
    "example_census", "open_rows", "read", "report", "run", "value_levels", "values_csv", "verify_release",
    "workload_gain",
}  # fmt: skip


def test_public_names() -> None:
    assert set(shoal.__all__) == NAMES
    assert set(dir(shoal)) == NAMES


def test_every_public_name_loads() -> None:
    for name in NAMES:
        assert getattr(shoal, name) is not None
