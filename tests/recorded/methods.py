"""Release one table by every algorithm on every engine that serves it, with settings that tell the methods apart.

No class of the table satisfies the models as it was read, so a method that generalises nothing keeps no row: its
record would fall below :data:`LEAST`. A method without models that changes nothing would equal :data:`AS_READ`.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from copy import deepcopy
from pathlib import Path
from typing import Any

import polars as pl

import shoal
from shoal.engines.spark_session import java_version
from shoal.io.census_hierarchies import hierarchies
from shoal.registry import names
from tests.engines.server import Server, binaries, running
from tests.engines.session import started
from tests.recorded.digests import digests
from tests.soak.cases import REGISTRY, SOURCE
from tests.soak.run import attempt, remember

Spec = dict[str, Any]
ROWS, LEAST = 400, 60  # rows drawn of the census; the share that every record keeps, in per cent
AS_READ = "as-read"  # the record of the rows as they were read, from which all others differ
ENGINES = ("memory", "duckdb", "postgres", "spark")
# On the frequency table, or on the values of single columns: what Spark serves.
COUNTED = {
    "samarati", "incognito", "optimal", "rv-global", "rv-local", "rv-hybrid", "rv-distributed", "top-down-subtree",
    "k-optimize", "set-partition", "genetic", "none", "mondrian", "mapping", "graded", "table-transform", "random",
}  # fmt: skip

QUASI = ["age", "sex", "postcode", "education"]
MODELS: list[Spec] = [{"name": "k", "k": 3}, {"name": "distinct-l", "l": 2, "on": "diagnosis"}]
# Methods of the lattice that could choose the same node have aims or limits of their own: Samarati the lowest node and
# Incognito the least loss, and those of the largest research value different shares that may be suppressed.
SETTINGS: dict[str, Spec] = {
    "alpha-k": {"alpha": 0.7, "k": 3, "on": "diagnosis"},
    "upc": {"utility": 0.6, "protection": 0.8},
    "samarati": {"suppression_limit": 0.3},
    "incognito": {"suppression_limit": 0.3, "measure": "lm"},
    "optimal": {"suppression_limit": 0.3, "measure": "dm"},
    "rv-global": {"suppression_limit": 0.3},
    "rv-local": {"suppression_limit": 0.3},
    "rv-hybrid": {"suppression_limit": 0.15},
    "rv-distributed": {"suppression_limit": 0.1, "max_strings": 9},
    "top-down-subtree": {"suppression_limit": 0.1},
    "k-optimize": {"suppression_limit": 0.2, "nodes": 5},
    "set-partition": {"suppression_limit": 0.4, "order": "ordered"},
    "genetic": {"suppression_limit": 0.3, "population": 6, "evaluations": 40},
    "anatomy": {"l": 3, "on": "diagnosis", "leftovers": "suppress", "suppression_limit": 0.3},
    "microaggregation": {"suppression_limit": 0.2},
    "personalised": {"suppression_limit": 0.1},
    "condensation": {"size": 4},
    "pram": {"stay": 0.6},
    "noise": {"size": 0.4},
    "record-swapping": {"geography": ["postcode"]},
    "m-invariant": {"suppression_limit": 0.4},
    "auto": {"sample": 60, "candidates": [{"name": "mondrian", "polish": "lm"}, {"name": "r-tree"}]},
    "none": {"levels": {"age": 4, "postcode": 2, "education": 2}, "suppression_limit": 0.4},
}  # fmt: skip
# No model holds in what these release, or they look after one of their own.
BARE = {
    "random", "graded", "mapping", "table-transform", "swapping", "condensation", "pram", "noise", "record-swapping",
    "shuffling", AS_READ,
}  # fmt: skip
OWN_MODELS: dict[str, list[Spec]] = {
    "alpha-k": [],
    "personalised": [{"name": "k", "k": 2}, {"name": "personalised", "p": 0.6, "on": "diagnosis"}],
    "m-invariant": [{"name": "m-invariance", "m": 2}],
}
CODES = ["W-NEUTRAL", "W-ROWS", "W-UNMODELLED:income"]
BARE_CODES = ["W-NO-K", "W-RA-LINK", "W-PP-REV", "W-TIGHT", "W-PERTURBED", "W-UNMODELLED:diagnosis"]
OWN_CODES = {"anatomy": ["W-EXACT-QI"], "m-invariant": ["W-NO-K"], AS_READ: [*BARE_CODES, "W-EXACT-QI"]}


def served(name: str) -> tuple[str, ...]:
    """The engines that serve an algorithm."""
    if name == "m-invariant":
        return ENGINES[:1]
    return ENGINES if name in {*COUNTED, AS_READ} else ENGINES[:-1]


def methods() -> list[str]:
    return [*names("algorithm"), AS_READ]


def people() -> pl.DataFrame:
    """One row a person, with a key, a guard for some, and missing cells."""
    census = shoal.example_census(ROWS).unique("person", keep="first", maintain_order=True)
    rows = census.select("name", *QUASI, "diagnosis", "income", "visits").with_row_index("line", offset=101)
    return rows.with_columns(guard=pl.when(pl.col("line") % 7 == 0).then("diagnosis"))


def recipe(name: str) -> Spec:
    """The recipe of a method, without engine and output."""
    trees = hierarchies()
    given: Spec = {
        "seed": 1, "acknowledge": CODES + OWN_CODES.get(name, BARE_CODES if name in BARE else []),
        "source": {"name": SOURCE, "path": "people.csv", "missing": "value"},
        "roles": {
            "key": "line", "identifiers": ["name"], "quasi": QUASI, "sensitive": ["diagnosis", "income"],
            "neutral": ["visits"], "drop": ["guard"],
        },
        "hierarchies": {
            "age": {"widths": [5, 10, 20, 40]}, "postcode": {"prefix": [3, 2, 1]}, "education": trees["education"],
        },
        "columns": {"postcode": {"type": "categorical"}, "income": {"type": "numeric"}},
        "models": [] if name in BARE else OWN_MODELS.get(name, MODELS),
        "algorithm": {"name": "none" if name == AS_READ else name, **SETTINGS.get(name, {})},
        "output": {"discard_secret": True},
    }  # fmt: skip
    given = deepcopy(given)
    if name == "personalised":
        given["roles"] |= {"guard": "guard", "drop": []}
        given["hierarchies"]["diagnosis"] = trees["diagnosis"]
    if name == "m-invariant":
        given["roles"] |= {"sensitive": ["diagnosis"], "drop": ["guard", "income"]}
        given["registry"] = {"file": REGISTRY}
        given["hierarchies"] = {}  # ranges and sets, since few nodes of trees hold one bucket alone
    if name == AS_READ:
        given["columns"]["age"] = {"type": "numeric", "snap": "off"}
    return given


def release(name: str, engine: str, folder: Path, server: Server | None = None) -> str:
    """Release the table by a method; the server is needed by the engine ``postgres``.

    Returns
    -------
    str
        Digests of data and manifest, and the share of rows that were kept, in per cent; or the sentence that refuses.
    """
    rows, given = people(), recipe(name)
    source = folder / "people.csv"
    rows.write_csv(source)
    given["source"]["path"] = str(source)
    if engine == "postgres":
        assert server is not None
        server.fill("public.people", pl.read_csv(source, infer_schema=False))
        given["source"] |= {"url": server.url(), "table": "public.people"}
        del given["source"]["path"]
    if "registry" in given:
        given["registry"]["file"] = str(folder / REGISTRY)
    given["output"]["folder"] = str(folder / engine)
    given["engine"] = {"name": engine} | ({} if engine == "memory" else {"scratch": str(folder)})
    key = remember(folder) if "registry" in given else None
    code, said = attempt(lambda: shoal.run(given, key=key))
    if code:
        return said
    kept = pl.read_csv(folder / engine / "release.csv", infer_schema=False).height
    return f"{digests(folder / engine)} {100 * kept // rows.height}"


@contextmanager
def every_engine() -> Iterator[dict[str, Server | None]]:
    """The engines that there are programs for, each with its server if it has one."""
    with ExitStack() as stack:
        found: dict[str, Server | None] = {"memory": None, "duckdb": None}
        programs = binaries()
        if programs is not None:
            found["postgres"] = stack.enter_context(running(programs))
        if (java_version() or 0) >= 17:
            stack.enter_context(started())
            found["spark"] = None
        yield found
