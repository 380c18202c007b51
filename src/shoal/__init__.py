"""Shoal publishes microdata so that the people in it stay hidden and the data stays useful.

Examples
--------
>>> import shoal
>>> people = shoal.example_census(200).select("name", "person", "age", "sex", "diagnosis")
>>> table = shoal.read(people, identifiers=["name"], subject="person", quasi=["age", "sex"], sensitive=["diagnosis"])
>>> release = shoal.anonymize(table, algorithm=shoal.Mondrian(k=5), models=[shoal.DistinctL(l=2)], seed=1)
>>> release.manifest["statement"]
'distinct 2-diverse on diagnosis, 5-anonymous'

Names load what they need when they are first used, so that importing this package is cheap.
"""

from __future__ import annotations

from importlib import import_module
from typing import Any

_HOMES = {
    "read": "shoal.recipe.source",
    "anonymize": "shoal.release.entry",
    "run": "shoal.release.run",
    "open_rows": "shoal.release.entry",
    "workload_gain": "shoal.release.compare.sweep",
    "verify_release": "shoal.release.entry",
    "connect": "shoal.client",
    "report": "shoal.release.dossier",
    "attack": "shoal.risk.attacks.run",
    "attack_frame": "shoal.risk.attacks.files",
    "audit": "shoal.risk.audit",
    "evaluate": "shoal.utility.evaluate",
    "estimate": "shoal.release.entry",
    "compare": "shoal.release.compare.run",
    "assess": "shoal.risk.assess",
    "discover": "shoal.risk.uniqueness",
    "example_census": "shoal.io.census:generate",
    "Hierarchy": "shoal.data.hierarchy",
    "Release": "shoal.results",
    "ColumnSpec": "shoal.data.schema",
    "Workload": "shoal.data.workload",
    "Mondrian": "shoal.algorithms.mondrian",
    "Auto": "shoal.algorithms.auto",
    "NoAlgorithm": "shoal.algorithms.none",
    "Optimal": "shoal.algorithms.lattice.optimal",
    "Samarati": "shoal.algorithms.lattice.samarati",
    "Incognito": "shoal.algorithms.lattice.incognito",
    "value_levels": "shoal.utility.research_table",
    "values_csv": "shoal.recipe.research_values",
    "ResearchGlobal": "shoal.algorithms.research.methods",
    "ResearchLocal": "shoal.algorithms.research.methods",
    "ResearchHybrid": "shoal.algorithms.research.methods",
    "ResearchClusters": "shoal.algorithms.research.clusters",
    "ResearchDistributed": "shoal.algorithms.research.distributed",
    "RPlusTree": "shoal.algorithms.r_tree",
    "KOptimize": "shoal.algorithms.blocks.k_optimize",
    "SetPartition": "shoal.algorithms.blocks.set_partition",
    "Genetic": "shoal.algorithms.blocks.genetic",
    "TopDownSubtree": "shoal.algorithms.subtree",
    "KMembers": "shoal.algorithms.cluster.k_members",
    "KMembersP": "shoal.algorithms.cluster.k_members",
    "BottomUp": "shoal.algorithms.cluster.local_recoding",
    "TopDown": "shoal.algorithms.cluster.local_recoding",
    "AlphaK": "shoal.algorithms.cluster.alpha_k",
    "TOC": "shoal.algorithms.cluster.toc",
    "UPC": "shoal.algorithms.cluster.upc",
    "RandomAnonymisation": "shoal.algorithms.links.random",
    "Graded": "shoal.algorithms.links.pseudonyms",
    "ValueMapping": "shoal.algorithms.links.pseudonyms",
    "TableTransform": "shoal.algorithms.links.pseudonyms",
    "Anatomy": "shoal.algorithms.links.anatomy",
    "LocalSuppression": "shoal.algorithms.local_suppression",
    "Noise": "shoal.algorithms.links.noise",
    "Pram": "shoal.algorithms.links.pram",
    "RecordSwapping": "shoal.algorithms.links.swapping",
    "Shuffling": "shoal.algorithms.links.noise",
    "Swapping": "shoal.algorithms.links.swapping",
    "Condensation": "shoal.algorithms.links.microaggregation",
    "Microaggregation": "shoal.algorithms.links.microaggregation",
    "PersonalisedAnonymity": "shoal.algorithms.links.personalised",
    "MInvariant": "shoal.algorithms.m_invariance",
    "KAnonymity": "shoal.models.size",
    "DistinctL": "shoal.models.diversity",
    "EntropyL": "shoal.models.diversity",
    "RecursiveCL": "shoal.models.diversity",
    "PSensitive": "shoal.models.diversity",
    "KMAnonymity": "shoal.models.size",
    "KWildcard": "shoal.models.size",
    "KMap": "shoal.models.size",
    "DeltaPresence": "shoal.models.size",
    "TCloseness": "shoal.models.closeness",
    "BetaLikeness": "shoal.models.closeness",
    "DeltaDisclosure": "shoal.models.closeness",
    "AlphaKSimple": "shoal.models.diversity",
    "AlphaKGeneral": "shoal.models.diversity",
    "AlphaKComplete": "shoal.models.diversity",
    "KE": "shoal.models.numeric",
    "Variance": "shoal.models.numeric",
    "EpsM": "shoal.models.numeric",
    "MaxRange": "shoal.models.numeric",
    "RangeDiversity": "shoal.models.ranges",
    "RangeConfidence": "shoal.models.ranges",
    "WorstGroupUtility": "shoal.models.ranges",
    "Personalised": "shoal.models.personalised",
    "MInvariance": "shoal.models.personalised",
}
_ALSO = {"ShoalError": "shoal.errors", "VERSION": "shoal.registry"}

__all__ = [*_HOMES, *_ALSO]


def __getattr__(name: str) -> Any:
    home = _HOMES.get(name) or _ALSO.get(name)
    if home is None:
        raise AttributeError(f"module 'shoal' has no attribute '{name}'")
    module, _, attribute = home.partition(":")
    return getattr(import_module(module), attribute or name)


def __dir__() -> list[str]:
    return sorted(__all__)
