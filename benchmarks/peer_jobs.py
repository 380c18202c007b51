"""One job of the comparison with peers, in a process of its own: ``python peer_jobs.py JOB DATA RELEASE OPTIONS``.

It runs under the peers' interpreter as well as under ours, so nothing but the standard library is imported before
the job is known. What it prints is one JSON object: seconds of every call, peak memory, and what was measured.
"""

from __future__ import annotations

import json
import resource
import sys
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any


def anonypy(data: str, release: str, options: dict[str, Any]) -> dict[str, Any]:
    """Mondrian of anonypy: a row of the result stands for as many records as its ``count`` says."""
    import pandas as pd
    from anonypy import Preserver

    frame = _pandas(data, options)
    preserver = Preserver(frame, options["quasi"], options["sensitive"])
    seconds, rows = _timed(lambda: preserver.anonymize_k_anonymity(options["k"]), options["repeats"])
    pd.DataFrame(rows)[[*options["quasi"], "count"]].to_csv(release, index=False)
    return {"seconds": seconds}


def pycanon(data: str, release: str, options: dict[str, Any]) -> dict[str, Any]:
    """The figures of pycanon, each timed alone."""
    from pycanon import anonymity

    frame = _pandas(data, options)
    quasi, sensitive = options["quasi"], [options["sensitive"]]
    jobs: dict[str, Callable[[], Any]] = {
        "k": lambda: anonymity.k_anonymity(frame, quasi),
        "distinct l": lambda: anonymity.l_diversity(frame, quasi, sensitive),
        "entropy l": lambda: anonymity.entropy_l_diversity(frame, quasi, sensitive),
        "t": lambda: anonymity.t_closeness(frame, quasi, sensitive),
        "alpha": lambda: anonymity.alpha_k_anonymity(frame, quasi, sensitive)[0],
    }
    found = {name: _timed(job, options["repeats"]) for name, job in jobs.items()}
    return {
        "seconds": [sum(calls) for calls in zip(*(seconds for seconds, _ in found.values()), strict=True)],
        "figures": {name: [min(seconds), float(value)] for name, (seconds, value) in found.items()},
    }


def shoal(data: str, release: str, options: dict[str, Any]) -> dict[str, Any]:
    """Our Mondrian, from a frame in memory to a gated release, or its search alone."""
    from shoal.algorithms.base import Problem
    from shoal.algorithms.mondrian import Mondrian
    from shoal.data.keys import Keys
    from shoal.engines.memory import MemoryEngine
    from shoal.models.feasibility import whole_reference
    from shoal.models.judge import Judge
    from shoal.models.size import KAnonymity
    from shoal.recipe.source import read
    from shoal.release.entry import anonymize

    frame, algorithm = _polars(data, options), Mondrian(k=options["k"], cut=options["cut"])
    types = {name: {"type": "numeric" if name in options["numeric"] else "categorical"} for name in options["quasi"]}

    def whole() -> Any:
        table = read(frame, quasi=options["quasi"], sensitive=[options["sensitive"]], settings=types)
        return anonymize(table, algorithm=algorithm, seed=1, acknowledge=[f"W-UNMODELLED:{options['sensitive']}"])

    if options["search"]:
        table = read(frame, quasi=options["quasi"], sensitive=[options["sensitive"]], settings=types)
        models, engine = [KAnonymity(k=options["k"])], MemoryEngine()
        judge = Judge(models, whole_reference(engine.open(table), models))
        problem = Problem(rows=engine.open(table), judge=judge, keys=Keys.from_seed(1))
        seconds, _ = _timed(lambda: algorithm.run(problem), options["repeats"])
        return {"seconds": seconds}
    seconds, made = _timed(whole, options["repeats"])
    made.frame.select(options["quasi"]).write_csv(release)
    return {"seconds": seconds}


def shoal_audit(data: str, release: str, options: dict[str, Any]) -> dict[str, Any]:
    """Our audit, which gives all its figures together."""
    from shoal.risk.audit import audit

    frame, sensitive = _polars(data, options), options["sensitive"]
    seconds, found = _timed(
        lambda: audit(frame, quasi=options["quasi"], sensitive=[sensitive]), options["repeats"]
    )
    of = found.own_value.sensitive[sensitive]
    values = {"k": found.own_value.k, "distinct l": of.distinct_l, "entropy l": of.entropy_l, "t": of.t}
    values["alpha"] = of.alpha
    return {"seconds": seconds, "figures": {name: [None, float(value)] for name, value in values.items()}}


def _pandas(data: str, options: dict[str, Any]) -> Any:
    import pandas as pd

    text = {name: str for name in [*options["quasi"], options["sensitive"]] if name not in options["numeric"]}
    frame = pd.read_csv(data, dtype=text, keep_default_na=False)
    return frame.astype({name: "category" for name in text if name in options["quasi"]})


def _polars(data: str, options: dict[str, Any]) -> Any:
    import polars as pl

    text = {name: pl.String for name in [*options["quasi"], options["sensitive"]] if name not in options["numeric"]}
    return pl.read_csv(data, schema_overrides=text)


def _timed(work: Callable[[], Any], repeats: int) -> tuple[list[float], Any]:
    seconds, result = [], None
    for _ in range(repeats):
        start = time.perf_counter()
        result = work()
        seconds.append(time.perf_counter() - start)
    return seconds, result


def _peak() -> int:
    """Peak memory of this process in bytes."""
    status = Path("/proc/self/status")
    if status.exists():
        # getrusage would count what the parent held when it started us.
        line = next(line for line in status.read_text().splitlines() if line.startswith("VmHWM"))
        return int(line.split()[1]) * 1024
    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    return peak if sys.platform == "darwin" else peak * 1024


JOBS = {"anonypy": anonypy, "pycanon": pycanon, "shoal": shoal, "shoal audit": shoal_audit}

if __name__ == "__main__":
    job, data_file, release_file, given = sys.argv[1:]
    answer = JOBS[job](data_file, release_file, json.loads(given))
    print(json.dumps(answer | {"memory": _peak()}))
