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
    "value_levels": "shoal.utility.research_table",
    "values_csv": "shoal.recipe.research_values",
    "ShoalError": "shoal.errors",
    "VERSION": "shoal.registry",
}


def _homes() -> dict[str, str]:
    """Return where every public name is: those above, and the classes of our algorithms and models."""
    from shoal.registry import classes

    return {**_HOMES, **classes("algorithm"), **classes("model")}


def __getattr__(name: str) -> Any:
    if name == "__all__":
        return list(_homes())
    home = _HOMES.get(name) or _homes().get(name)
    if home is None:
        raise AttributeError(f"module 'shoal' has no attribute '{name}'")
    module, _, attribute = home.partition(":")
    return getattr(import_module(module), attribute or name)


def __dir__() -> list[str]:
    return sorted(_homes())
