"""All kernels made ready ahead of their first use, by small runs of everything that calls one.

What is compiled depends on the types of arrays alone, never on values, so that invented people serve for everybody's.
"""

from __future__ import annotations

import functools
import os
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import ProcessPoolExecutor, as_completed
from multiprocessing import get_context
from typing import Any

import numpy as np

from shoal.catalogue import OURS, make, names, origin
from shoal.census.generate import generate
from shoal.census.hierarchies import hierarchies
from shoal.errors import InternalError, ShoalError
from shoal.kernels.cores import cores, use_cores
from shoal.kernels.tiers import compile_for_tier
from shoal.table.packing import Places

_MODELS = [{"name": "k", "k": 3}, {"name": "distinct-l", "l": 3}]
_SETTINGS: dict[str, list[dict[str, Any]]] = {
    "mondrian": [{}, {"cut": "widest"}, {"polish": "lm", "polish_rounds": 2}, {"cut": "info-gain"}],
    "optimal": [{}, {"repeat": True}, {"measure": "dm", "suppression_limit": 0.0}],
    "k-members": [{}, {"suppression_limit": 0.0}], "microaggregation": [{}, {"method": "univariate"}],
    "alpha-k": [{"alpha": 0.9, "k": 3}], "anatomy": [{"l": 2}, {"grouping": "round-robin"}],
    "upc": [{"utility": 0.4, "protection": 0.9, "leftover_scope": scope} for scope in ("near", "all")],
    "toc": [{}, {"listing": "printed"}, {"listing": "printed", "linkage": "cluster"}],
    "personalised": [{"p": 0.9, "guard_level": 0}], "m-invariant": [{"m": 2}], "auto": [{"sample": 100}],
    "k-optimize": [{"nodes": 1}], "genetic": [{"evaluations": 5}], "rv-distributed": [{"max_strings": 9}],
    "local-suppression": [{}, {"k": 3, "stars": "wildcard"}], "record-swapping": [{"geography": ["postcode"]}],
}  # fmt: skip
# For columns of many values, too.
_WIDE: dict[str, list[dict[str, Any]]] = {"mondrian": [{"cut": "widest"}, {"cut": "info-gain"}]}
# These suppress nobody, and promise nothing or less.
_UNMODELLED = (
    "graded", "mapping", "table-transform", "random", "swapping", "condensation", "pram", "noise", "shuffling",
    "record-swapping",
)
_KINDS = ("trees", "flat", "people", "numbers", "one")
_SMALL, _LARGE = 400, 70_000  # the large one is past what a single block of rows holds
_FAST = ("mondrian", "random", "toc", "anatomy", "microaggregation")


def warm(progress: Callable[[int, int, str], None]) -> None:
    """Compile all kernels that are not compiled yet, on all cores, for all processors of this one's tier."""
    jobs = list(_jobs())
    first, *rest = jobs  # what all others need, once instead of on every core
    with ProcessPoolExecutor(min(cores(), len(rest)), get_context("spawn"), _alone) as pool:
        progress(1, len(jobs), pool.submit(_work, first).result())
        for done, job in enumerate(as_completed([pool.submit(_work, job) for job in rest]), start=2):
            progress(done, len(jobs), job.result())


def _jobs() -> Iterator[tuple[str, dict[str, Any], Sequence[str]]]:
    """What is run, by which settings, on which tables: first what all others need, then what takes longest."""
    yield "mondrian", {}, ("trees",)
    ours = [name for name in names("algorithm") if origin("algorithm", name) == OURS]
    every = [(name, settings, _KINDS) for name in ours for settings in _SETTINGS.get(name, [{}])]
    yield from sorted(every, key=lambda job: "polish" not in job[1])
    for name in _FAST:
        known = [_SETTINGS.get(name, [{}])[0], *_WIDE.get(name, [])]
        yield from ((name, settings, ("large",)) for settings in known)
    yield from ((name, {}, ()) for name in _OTHERS)


def _alone() -> None:
    """Begin a process, before it loads numba."""
    os.environ.update(compile_for_tier())
    use_cores(1)


def _work(job: tuple[str, dict[str, Any], Sequence[str]]) -> str:
    name, settings, kinds = job
    if name in _OTHERS:
        _OTHERS[name]()
        return name
    made = [_release(name, settings, _table(kind), _MODELS[:count]) for kind in kinds for count in (1, 2)]
    if not [one for one in made if one is not None]:
        raise InternalError(f"'{name}' released none of the tables that are to compile its kernels")
    return name


@functools.cache
def _table(kind: str) -> Any:
    """Invented people: with hierarchies or without, by people, with a sensitive number, by one number, or many."""
    from shoal.io.source import read

    rows = generate(_LARGE if kind == "large" else _SMALL, seed=1)
    quasi = ["age", "postcode", "education", *{"large": ["income"], "flat": ["sex"]}.get(kind, [])]
    if kind == "one":
        quasi = ["age"]
    sensitive = ["income"] if kind in ("numbers", "people") else ["diagnosis"]
    trees = {name: tree for name, tree in hierarchies().items() if name in (*quasi, *sensitive)}
    if kind not in ("flat", "one"):
        trees |= {"age": {"widths": [5, 20]}}
    used = {*quasi, *sensitive, "person"} if kind == "people" else {*quasi, *sensitive}
    texts = {"postcode": {"type": "categorical"}} if "postcode" in used else {}
    return read(
        rows.select(sorted(used)), quasi=quasi, sensitive=sensitive, hierarchies=trees, missing="drop",
        settings=texts, subject="person" if kind == "people" else None,
    )  # fmt: skip


def _release(name: str, settings: dict[str, Any], table: Any, models: Sequence[dict[str, Any]] = _MODELS) -> Any:
    """A release, None where a method does not go with a table or models: the next has what it needs."""
    from shoal.judging.refusals import plain_codes
    from shoal.pipeline import anonymize

    codes = [*plain_codes(), *(f"W-UNMODELLED:{one.name}" for one in table.sensitive)]
    if settings.get("grouping") == "round-robin":
        models = [{"name": "eps-m", "eps": 1.0, "m": 2}]
    elif name in (*_UNMODELLED, "anatomy") or settings.get("stars") == "wildcard":
        models = []
    limit = {} if name in _UNMODELLED else {"suppression_limit": 1.0}
    try:
        spec = make("algorithm", {"name": name, **limit, **settings})
        asked = [make("model", model) for model in models]
        return anonymize(table, algorithm=spec, models=asked, acknowledge=codes, seed=1)
    except ShoalError:
        return None


def _attack() -> None:
    from shoal.attacks.run import attack

    for name in ("mondrian", "optimal", "random", "anatomy", "microaggregation", "mapping"):
        for kind in _KINDS:
            release = _release(name, _SETTINGS.get(name, [{}])[0], _table(kind))
            if release is not None:
                attack(release)


def _count() -> None:
    """What engines call, and a release of items."""
    from shoal.io.source import read
    from shoal.pipeline import anonymize

    Places(np.zeros((1, 1), dtype=np.int64)).of(np.zeros((1, 1), dtype=np.int64))
    rows = generate(_SMALL, seed=1).select("sex", has="diagnosis").drop_nulls()
    table = read(rows, quasi=["sex"], sensitive=["has"], settings={"has": {"items": "|"}})
    anonymize(table, models=["k=3", "k-m=3"], seed=1)


def _measure() -> None:
    from shoal.evaluation.run import evaluate

    for name in ("mondrian", "optimal", "random", "anatomy"):
        release = _release(name, _SETTINGS.get(name, [{}])[0], _table("trees"))
        if release is not None:
            evaluate(release)


def _assess() -> None:
    from shoal.risk.assess import assess
    from shoal.risk.audit import audit_classes
    from shoal.risk.classes import counted_rows

    for kind in _KINDS:
        assess(_table(kind), suda=3, fraction=0.1)
        audit_classes(counted_rows(_table(kind)))


_OTHERS: dict[str, Callable[[], None]] = {"attacks": _attack, "measures": _measure, "risk": _assess, "engines": _count}
