"""Carry items out, one after the other: skip what is done, save each as it comes, count what failed."""

from __future__ import annotations

import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import Any

from shoal.errors import InputError
from shoal.registry import load, working
from shoal_papers.base import Context, Item, Paper
from shoal_papers.data import Data
from shoal_papers.store import Store, run_key

# Told the item, the step and the share of the item that is done.
Progress = Callable[[Item, str, float | None], None]


@dataclass(frozen=True, kw_only=True)
class Done:
    """One item of a run: its record, whether it was on record already, and its hard claims that do not hold."""

    item: Item
    record: dict[str, Any]
    skipped: bool
    broken: list[str] = field(default_factory=list)


def chosen_items(paper: str, wanted: Sequence[str] = ()) -> list[tuple[Paper, Item]]:
    """Items of a paper, or of all of them, in order; without names, every one.

    Of all papers, those that cannot be loaded are warned about and left out.
    """
    if paper == "all":
        known = working("paper")
        if not known:
            raise InputError(
                "No paper is registered: run pip install shoal-papers again, so that its papers are known."
            )
        return [(one, item) for name in known for one in [load("paper", name)] for item in one.items]
    one = load("paper", paper)
    return [(one, item) for item in dict.fromkeys(one.item(name) for name in wanted) or one.items]


def reproduce(
    items: Sequence[tuple[Paper, Item]],
    store: Store,
    *,
    data: Data,
    seed: int = 1,
    quick: bool = False,
    again: bool = False,
    progress: Progress = lambda item, step, share: None,
) -> list[Done]:
    """Run items and save each; one whose record has the same key is not run again.

    Data that is missing is an error before anything runs.
    """
    prints = {item.key: data.fingerprint(item.needs) for _, item in items}
    store.prepare()
    done = []
    for paper, item in items:
        seeds = item.seeds(seed, quick)
        key = run_key(item, seeds=seeds, quick=quick, data=prints[item.key])
        record = None if again else store.finished(item, key)
        skipped = record is not None
        if record is None:
            record = _run(paper, item, store, data, key, seeds, quick, progress)
            store.write_index()
        done.append(Done(item=item, record=record, skipped=skipped, broken=_broken(record)))
    return done


def _broken(record: dict[str, Any]) -> list[str]:
    """Hard claims that were not seen to hold."""
    return [one["text"] for one in record["claims"] if one["kind"] == "hard" and one["verdict"] != "holds"]


def _run(
    paper: Paper, item: Item, store: Store, data: Data, key: str, seeds: tuple[int, ...], quick: bool,
    progress: Progress,
) -> dict[str, Any]:  # fmt: skip
    data.used.clear()
    started = time.perf_counter()
    context = Context(
        parameters=item.settings(quick), seeds=seeds, quick=quick, data=data,
        progress=lambda step, share: progress(item, step, share),
    )  # fmt: skip
    outcome = item.carry_out(context)
    progress(item, "drawing", 1.0)
    facts = {
        "key": key, "parameters": context.parameters, "seeds": seeds, "quick": quick, "data": data.used,
        "seconds": round(time.perf_counter() - started, 2),
    }  # fmt: skip
    return store.save(paper, item, outcome, facts)
