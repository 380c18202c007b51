"""Blocks of values by the book: every recoding there is, on tables small enough to list them all."""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Iterator, Sequence
from itertools import product
from typing import Any

import numpy as np
import polars as pl

import shoal
from shoal.algorithms.base import Problem
from shoal.data.keys import Keys
from shoal.data.table import Table
from shoal.engines.memory import MemoryEngine
from shoal.models.feasibility import whole_reference
from shoal.models.judge import Judge
from shoal.registry import make

TREE = [["a", "ab", "*"], ["b", "ab", "*"], ["c", "cd", "*"], ["d", "cd", "*"]]
# The subtree cuts of that hierarchy, as blocks of its leaves.
SUBTREES = [["abcd"], ["ab", "cd"], ["a", "b", "cd"], ["ab", "c", "d"], ["a", "b", "c", "d"]]
Partition = list[frozenset[Any]]


def people(seed: int, *, tree: bool) -> tuple[pl.DataFrame, Table]:
    """A small random table: a number, a letter (with a hierarchy if asked for), a category and a label."""
    random = np.random.default_rng(seed)
    rows = int(random.integers(6, 24))
    frame = pl.DataFrame(
        {
            "n": random.choice([1, 2, 4, 9], rows).tolist(),
            "x": random.choice(list("abcd"), rows).tolist(),
            "f": random.choice(list("uvw"), rows).tolist(),
            "s": random.choice(["yes", "no", "so"], rows).tolist(),
        }
    )
    trees = {"x": TREE} if tree else {}
    return frame, shoal.read(frame, quasi=["n", "x", "f"], sensitive=["s"], hierarchies=trees)


def problem_of(table: Table, models: Sequence[dict[str, Any]], engine: Any = None) -> Problem:
    """The table as an algorithm is given it."""
    made = [make("model", one) for one in models]
    rows = (engine or MemoryEngine()).open(table)
    return Problem(rows=rows, judge=Judge(made, whole_reference(rows, made)), keys=Keys.from_seed(1))


def runs(values: Sequence[Any]) -> Iterator[Partition]:
    """Every way to cut ordered values into runs."""
    for cuts in product([False, True], repeat=len(values) - 1):
        found = [[values[0]]]
        for value, cut in zip(values[1:], cuts, strict=True):
            found = [*found, [value]] if cut else [*found[:-1], [*found[-1], value]]
        yield [frozenset(block) for block in found]


def partitions(values: Sequence[Any]) -> Iterator[Partition]:
    """Every way to put values in sets."""
    if not values:
        yield []
        return
    for rest in partitions(values[1:]):
        yield [frozenset(values[:1]), *rest]
        for place, block in enumerate(rest):
            yield [*rest[:place], block | {values[0]}, *rest[place + 1 :]]


def recodings(frame: pl.DataFrame, *, tree: bool) -> Iterator[list[Partition]]:
    """Every recoding of the three columns into runs, or nodes of the hierarchy."""
    letters = (
        [[frozenset(block) for block in cut] for cut in SUBTREES] if tree else list(runs(sorted(set(frame["x"]))))
    )
    yield from map(list, product(runs(sorted(set(frame["n"]))), letters, runs(sorted(set(frame["f"])))))


def spread(values: Sequence[Any], block: frozenset[Any], *, tree: bool) -> float:
    """Loss of one block: width over range, or values less one over all values less one."""
    if len(block) == 1:
        return 0.0
    if isinstance(values[0], int):
        return (max(block) - min(block)) / (max(values) - min(values))
    return (len(block) - 1) / ((4 if tree else len(set(values))) - 1)


def judged(frame: pl.DataFrame, cut: list[Partition], k: int, distinct: int, *, tree: bool) -> dict[str, float]:
    """What a recoding comes to: suppressed rows and every measure, suppressed rows at their full price."""
    of = [{value: block for block in mine for value in block} for mine in cut]
    classes = defaultdict(list)
    for row in frame.iter_rows():
        classes[tuple(where[value] for where, value in zip(of, row, strict=False))].append(row)
    n, lost, dm, cm, lm = frame.height, 0, 0.0, 0.0, 0.0
    for cells, rows in classes.items():
        labels = Counter(row[3] for row in rows)
        if len(rows) < k or len(labels) < distinct:
            lost += len(rows)
            continue
        dm += len(rows) ** 2
        cm += len(rows) - max(labels.values())
        spreads = [
            spread(frame[name].to_list(), cell, tree=tree and name == "x")
            for name, cell in zip("nxf", cells, strict=True)
        ]
        lm += len(rows) * sum(spreads) / 3
    return {"lost": lost, "dm": dm + n * lost, "cm": (cm + lost) / n, "lm": (lm + lost) / n}


def as_partitions(table: Table, blocks: Any) -> list[Partition]:
    """An algorithm's blocks, as sets of values."""
    found = []
    for column in table.quasi:
        values = column.texts.to_list() if column.numbers is None else column.numbers.tolist()
        sets = defaultdict(set)
        for value, block in zip(values, blocks[column.name].tolist(), strict=True):
            sets[block].add(value)
        found.append([frozenset(one) for one in sets.values()])
    return found
