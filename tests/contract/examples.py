"""One small table, and for every registered name an example of it that has to work there.

Whoever registers a name gives it an example here: the tests of this folder fail for each one forgotten.
"""

from __future__ import annotations

from typing import Any

import polars as pl

import shoal
from shoal.registry import make
from tests.conftest import THOROUGH

Spec = dict[str, Any]
QUASI = ["age", "sex", "zip"]

ALGORITHMS: list[Spec] = [
    {"name": "mondrian"},
    {"name": "mondrian", "mode": "relaxed"},
    {"name": "mondrian", "cut": "widest"},
    {"name": "mondrian", "cut": "widest", "mode": "relaxed"},
    {"name": "mondrian", "polish": "0.7 lm + 0.3 range-diversity", "polish_rounds": 2},
    {"name": "mondrian", "fallback_lt": True, "suppression_limit": 0.5},
    {"name": "mondrian", "mode": "relaxed", "polish": "lm"},
    {"name": "mondrian", "polish": "arx-loss", "polish_rounds": 2, "suppression_limit": 0.5},
    {"name": "mondrian", "cut": "info-gain"},
    {"name": "mondrian", "cut": "info-gain", "target": "s", "mode": "relaxed", "suppression_limit": 0.5},
    {"name": "mondrian", "cut": "lsd", "target": "n"},
    {"name": "auto", "sample": 10, "candidates": [{"name": "mondrian", "cut": "best"}, {"name": "top-down"}]},
    {"name": "none", "suppression_limit": 1.0},
    {"name": "samarati"},
    {"name": "samarati", "suppression_limit": 0.3, "prefer": "min-suppression", "all_minimal": True},
    {"name": "incognito"},
    {"name": "incognito", "suppression_limit": 0.3, "measure": "lm"},
    {"name": "optimal"},
    {"name": "optimal", "suppression_limit": 1.0, "measure": "dm", "seconds": 1e-9},
    {"name": "optimal", "suppression_limit": 0.2, "measure": "arx-loss", "repeat": True},
    {"name": "optimal", "suppression_limit": 0.2, "repeat": True, "polish": "ilm"},
    {"name": "top-down-subtree"},
    {"name": "top-down-subtree", "suppression_limit": 0.5, "measure": "entropy"},
    {"name": "r-tree"},
    {"name": "r-tree", "capacity": 7, "suppression_limit": 0.3, "polish": "lm"},
    {"name": "k-optimize", "nodes": 10},
    {"name": "k-optimize", "measure": "lm", "nodes": 4, "suppression_limit": 0.3},
    {"name": "k-optimize", "measure": "cm", "nodes": 4, "max_suppressed": 12},
    {"name": "set-partition"},
    {"name": "set-partition", "order": "ordered", "suppression_limit": 0.3},
    {"name": "genetic", "population": 8, "evaluations": 30},
    {"name": "genetic", "measure": "dm", "population": 8, "evaluations": 30, "suppression_limit": 0.5},
    {"name": "rv-global", "suppression_limit": 0.2},
    {"name": "rv-local", "weights": "association"},
    {"name": "rv-local", "variant": "printed", "suppression_limit": 0.5},
    {"name": "rv-hybrid", "normalise": False, "suppression_limit": 1.0},
    {"name": "rv-cluster"},
    {"name": "rv-cluster", "polish": None, "seeds": "random", "suppression_limit": 0.3},
    {"name": "rv-distributed", "max_strings": 9, "suppression_limit": 0.2},
    {"name": "k-members"},
    {"name": "k-members", "seeds": "random", "loss": "spread", "prepartition": 5},
    {"name": "k-members", "loss": "byun"},
    {"name": "k-members-p", "suppression_limit": 0.3},
    {"name": "k-members-p", "objective": "range-diversity", "seeds": "random", "prepartition": 4},
    {"name": "bottom-up"},
    {"name": "bottom-up", "prepartition": 6, "suppression_limit": 0.2},
    {"name": "top-down"},
    {"name": "top-down", "prepartition": 5},
    {"name": "alpha-k", "alpha": 0.7, "k": 2},
    {"name": "alpha-k", "alpha": 0.7, "k": 2, "prepartition": 6, "suppression_limit": 0.5},
    {"name": "toc"},
    {"name": "toc", "protection": "mpm", "utility_weight": 0.25, "protection_weight": 0.75},
    {"name": "toc", "listing": "printed", "linkage": "cluster"},
    {"name": "toc", "listing": "printed", "delta": 0.6, "size": 4},
    {
        "name": "toc", "listing": "printed", "delta": 0.75, "size": 6, "max_size": 5, "scale": "raw",
        "assign": "increment", "seeds": "order",
    },
    {
        "name": "toc", "listing": "printed", "utility_weight": 1.0, "protection_weight": 0.0, "prepartition": False,
        "score": "weighted",
        "with_replacement": True, "leftover": "suppress", "suppression_limit": 0.9, "fallback": "single",
    },
    {"name": "upc", "utility": 0.4, "protection": 0.6},
    {"name": "upc", "utility": 0.4, "protection": 0.6, "max_size": 5, "assign": "increment", "leftover_scope": "near"},
    {"name": "upc", "utility": 0.4, "protection": 0.6, "listing": "printed"},
    {"name": "upc", "utility": 0.4, "protection": 0.6, "listing": "corrected", "polish": "lm"},
    {"name": "local-suppression"},
    {"name": "local-suppression", "importance": ["sex", "age"], "polish": "none", "suppression_limit": 0.3},
    {"name": "local-suppression", "k": 3, "stars": "wildcard", "importance": {"sex": 3}},
    {"name": "random"},
    {"name": "random", "redraw": 1, "p": "optimal", "keep_constant": True},
    {"name": "random", "redraw": "auto", "max_posterior": 1.0, "posterior_of": "worst"},
    {"name": "mapping"},
    {"name": "mapping", "prefix": "code", "suppression_limit": 0.9},
    {"name": "graded"},
    {"name": "table-transform", "suppression_limit": 0.9},
    {"name": "anatomy", "l": 2},
    {"name": "anatomy", "l": 2, "publication": "permuted"},
    {"name": "anatomy", "l": 3, "leftovers": "suppress", "suppression_limit": 1.0},
    {"name": "anatomy", "l": 3, "leftovers": "join", "publication": "permuted"},
    {"name": "anatomy", "l": 1.2, "grouping": "entropy-mondrian", "suppression_limit": 0.5},
    {"name": "anatomy", "grouping": {"name": "mondrian"}, "publication": "permuted", "suppression_limit": 0.5},
    {"name": "personalised", "p": 0.6, "guard_level": 0},
    {"name": "personalised", "p": 0.7, "guard_level": 1, "k": 2, "suppression_limit": 0.5},
    {"name": "m-invariant", "m": 2, "suppression_limit": 0.9},
    {"name": "m-invariant", "m": 2, "counterfeits": True, "suppression_limit": 0.5},
    {"name": "swapping"},
    {"name": "swapping", "window": 0.3, "columns": ["age"]},
    {"name": "condensation", "size": 4},
    {"name": "pram"},
    {"name": "pram", "columns": ["sex"], "strata": ["zip"], "stay": 0.5},
    {"name": "pram", "matrix": {"sex": {"f": {"f": 0.7, "m": 0.3}, "m": {"f": 0.1, "m": 0.9}}}},
    {"name": "shuffling"},
    {"name": "record-swapping", "geography": ["zip"], "similar": ["sex"], "rate": 0.5},
    {"name": "noise"},
    {"name": "noise", "size": 0.5, "correlated": True, "columns": ["age"]},
    {"name": "microaggregation"},
    {"name": "microaggregation", "suppression_limit": 0.5},
]  # fmt: skip
# What each kind of release is made by.
KINDS = {
    "random": "randomised", "mapping": "pseudonymised", "graded": "pseudonymised", "table-transform": "pseudonymised",
    "anatomy": "bucketised", "microaggregation": "microaggregated", "swapping": "perturbed",
    "condensation": "perturbed", "pram": "perturbed", "noise": "perturbed",
    "shuffling": "perturbed", "record-swapping": "perturbed",
}  # fmt: skip
# Those that search the levels of hierarchies.
NEED_TREES = {
    "samarati", "incognito", "optimal", "top-down-subtree", "rv-global", "rv-local", "rv-hybrid", "rv-distributed",
    "personalised",
}  # fmt: skip
# Codes that rise with their values are for numbers.
NEED_NUMBERS = {"graded", "table-transform"}
# Their codes accept that no model holds.
UNMODELLED = (
    "random", "mapping", "graded", "table-transform", "swapping", "condensation", "pram", "noise", "shuffling",
    "record-swapping",
)
# Those that bring the models on sensitive values that they keep.
OWN_MODELS = ("personalised", "m-invariant")
CODES = ["W-NO-K", "W-RA-LINK", "W-PP-REV", "W-EXACT-QI", "W-PERTURBED", "W-UNMODELLED:s", "W-UNMODELLED:n"]

# Each in the company of 'k'; 'on' names the texts or the numbers.
MODELS: list[Spec] = [
    {"name": "k", "k": 3},
    {"name": "k-m", "k": 2, "m": 2, "on": "s"},
    {"name": "k-wildcard", "k": 4},
    {"name": "k-map", "k": 6},
    {"name": "k-map", "k": 6, "fraction": 0.2},
    {"name": "delta-presence", "delta_max": 0.6, "delta_min": 0.1},
    {"name": "distinct-l", "l": 2, "on": "s"},
    {"name": "entropy-l", "l": 1.5, "on": "s"},
    {"name": "recursive-cl", "c": 2.0, "l": 2, "on": "s"},
    {"name": "t-closeness", "t": 0.4, "on": "s"},
    {"name": "t-closeness", "t": 0.4, "on": "n"},
    {"name": "beta-likeness", "beta": 2.5, "on": "s"},
    {"name": "beta-likeness", "beta": 2.5, "variant": "enhanced", "on": "s"},
    {"name": "delta-disclosure", "delta": 2.0, "on": "s"},
    {"name": "alpha-k-simple", "alpha": 0.7, "k": 2, "value": "flu", "on": "s"},
    {"name": "alpha-k-general", "alpha": 0.7, "k": 2, "on": "s"},
    {"name": "alpha-k-complete", "alpha": {"flu": 0.6}, "k": 2, "default": 0.8, "on": "s"},
    {"name": "p-sensitive", "p": 2, "k": 3, "on": "s"},
    {"name": "k-e", "k": 2, "e": 5, "on": "n"},
    {"name": "variance", "v": 2.0, "on": "n"},
    {"name": "eps-m", "eps": 3, "m": 2, "on": "n"},
    {"name": "max-range", "limit": 0.8, "on": "s"},
    {"name": "range-diversity", "p": 0.7, "on": "s"},
    {"name": "range-confidence", "p": 0.75, "on": "s"},
    {"name": "worst-group-utility", "u": 0.6},
    {"name": "personalised", "p": 0.8, "on": "s"},
    {"name": "m-invariance", "m": 2, "on": "s"},
]


def people(rows: int = 48) -> pl.DataFrame:
    """A key, three quasi-identifiers with ties, four illnesses, a number, and a node that everybody guards.

    The last dozen are three people four times over as far as their quasi-identifiers go.
    """
    illness = ["flu", "gout", "cold", "burn"]
    places = range(rows)
    alike = [place if place < rows - 12 else rows - 12 + place % 3 for place in places]
    return pl.DataFrame(
        {
            "id": [f"key {place}" for place in places],
            "age": [20 + 7 * place % 23 for place in alike],
            "sex": ["f" if 5 * place % 7 < 4 else "m" for place in alike],
            "zip": [f"{1000 + 111 * (place % 5) + place % 3}" for place in alike],
            "s": [illness[(place * place + place // 5) % 4] for place in places],
            "n": [10 * (13 * place % 17) for place in places],
        }
    ).with_columns(guard=pl.col("s"))


def trees(frame: pl.DataFrame) -> dict[str, Any]:
    """Hierarchies of its quasi-identifiers."""
    return {
        "age": [[str(age), f"{age // 10 * 10}s", "*"] for age in sorted(set(frame["age"]))],
        "sex": [[sex, "*"] for sex in sorted(set(frame["sex"]))],
        "zip": [[code, code[:2] + "..", "*"] for code in sorted(set(frame["zip"]))],
    }


ILLNESS = [["flu", "caught", "*"], ["cold", "caught", "*"], ["gout", "other", "*"], ["burn", "other", "*"]]


def read(
    frame: pl.DataFrame, name: str = "", *, numbers: bool = False, guard: bool = False, population: bool = False,
    items: bool = False,
) -> Any:  # fmt: skip
    """The table as an algorithm of this name needs it; of its population it is every other person.

    With ``items`` everybody has two illnesses.
    """
    given = set(frame.columns)
    if items:
        frame = frame.with_columns(s=pl.col("s") + ";" + pl.col("s").reverse())
    sensitive = ["s", "n"] if numbers or name in NEED_NUMBERS else ["s"]
    found = trees(frame) if name in NEED_TREES else {}
    if name == "personalised" or guard:
        found["s"] = ILLNESS
    return shoal.read(
        frame, key="id", quasi=QUASI, sensitive=sensitive, hierarchies=found, guard="guard" if guard else None,
        population=pl.concat([frame, frame]) if population else None,
        settings={"s": {"items": ";"}} if items else None,
        drop=sorted(given - {"id", *QUASI, *sensitive, *(["guard"] if guard else [])}),
    )  # fmt: skip


def needs_numbers(spec: Spec) -> bool:
    """Whether the table has to have the sensitive number."""
    return spec["name"] in NEED_NUMBERS or spec.get("target") == "n"


def models_for(spec: Spec) -> list[Spec]:
    """Models that an algorithm is run with."""
    name = spec["name"]
    if spec.get("stars") == "wildcard":
        return []
    if name in OWN_MODELS or name in UNMODELLED or name == "anatomy":
        return []
    return [{"name": "k", "k": 3}]


def release(spec: Spec, frame: pl.DataFrame | None = None, **more: Any) -> shoal.Release:
    """The example, released by an algorithm."""
    frame = people() if frame is None else frame
    arguments: dict[str, Any] = {"seed": 5, "acknowledge": CODES} | more
    models = arguments.pop("models", models_for(spec))
    table = arguments.pop("table", None) or read(frame, spec["name"], numbers=needs_numbers(spec))
    return shoal.anonymize(
        table, algorithm=make("algorithm", spec), models=[make("model", one) for one in models], **arguments
    )


def some(specs: list[Spec]) -> list[Spec]:
    """One of every name, which has more settings than the first; all of them in a thorough run."""
    return specs if THOROUGH else list({spec["name"]: spec for spec in specs}.values())


def label(spec: Spec) -> str:
    """What a test of this example is called."""
    rest = [f"{key}={value}" for key, value in spec.items() if key not in ("name", "on", "candidates")]
    return " ".join([spec["name"], *rest])
