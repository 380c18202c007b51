"""Small random tables of every column kind, for property tests of models, measures and kernels."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from datetime import date
from typing import Any

import numpy as np
import polars as pl
from hypothesis import strategies as st

from shoal.data.table import Table, crowded
from shoal.recipe.source import read

INTEGERS = [-3, 0, 1, 2, 7, 40]
REALS = [-1.5, 0.0, 0.25, 2.0, 3.75, 10.125]
DATES = ["1999-12-31", "2000-01-01", "2000-03-01", "2001-01-01", "2023-06-30", "2024-02-29"]
ORDER = ["never", "seldom", "often", "daily", "always"]
LEAVES = ["ash", "bay", "elm", "fir", "oak", "yew"]
LETTERS = list("abcdef")
VALUES: Mapping[str, list[Any]] = {
    "integer": INTEGERS, "real": REALS, "date": DATES, "ordinal": ORDER, "tree": LEAVES, "flat": LETTERS,
}  # fmt: skip
DTYPES = {"integer": pl.Int64, "real": pl.Float64}
KINDS = tuple(VALUES)


@dataclass(frozen=True)
class Case:
    """A table as plain Python data: values (None: missing) by column, and how to read them."""

    data: Mapping[str, list[Any]]
    kinds: Mapping[str, str]
    quasi: Sequence[str]
    sensitive: Sequence[str]
    hierarchies: Mapping[str, list[list[str]]] = field(default_factory=dict)
    non_answers: Mapping[str, Sequence[str]] = field(default_factory=dict)
    weights: Mapping[str, float] = field(default_factory=dict)
    subject: Sequence[str] | None = None

    @property
    def n(self) -> int:
        return len(next(iter(self.data.values())))

    def frame(self) -> pl.DataFrame:
        columns = [
            pl.Series(name, values, dtype=DTYPES.get(self.kinds[name], pl.String))
            for name, values in self.data.items()
        ]
        return pl.DataFrame(columns + ([] if self.subject is None else [pl.Series("who", self.subject)]))

    def settings(self) -> dict[str, dict[str, Any]]:
        made: dict[str, dict[str, Any]] = {}
        for name, kind in self.kinds.items():
            settings: dict[str, Any] = {"type": {"integer": "numeric", "real": "numeric"}.get(kind)}
            if kind == "date":
                settings["type"] = "date"
            if kind == "ordinal":
                settings |= {"type": "ordinal", "order": ORDER}
            if kind in ("flat", "tree"):
                settings["type"] = "categorical"
            settings["non_answers"] = self.non_answers.get(name, ())
            made[name] = settings
        return made

    def table(self) -> Table:
        return read(
            self.frame(), quasi=self.quasi, sensitive=self.sensitive, settings=self.settings(),
            hierarchies=self.hierarchies, weights=self.weights, missing="value",
            subject=None if self.subject is None else "who",
        )  # fmt: skip


@st.composite
def hierarchy_rows(draw: st.DrawFn, leaves: Sequence[str] = LEAVES) -> list[list[str]]:
    """Paths of a random tree of one to three levels above its leaves, not necessarily depth-first."""
    depth = draw(st.integers(1, 3))
    paths = [[leaf] for leaf in draw(st.permutations(leaves))]
    for level in range(1, depth):
        parents: dict[str, str] = {}
        for path in paths:
            if path[-1] not in parents:
                parents[path[-1]] = f"n{level}.{draw(st.integers(0, 2))}"
            path.append(parents[path[-1]])
    return [[*path, "*"] for path in paths]


@st.composite
def cases(
    draw: st.DrawFn,
    *,
    rows: tuple[int, int] = (1, 14),
    quasi: tuple[int, int] = (1, 3),
    sensitive: tuple[int, int] = (0, 2),
    sensitive_kinds: Sequence[str] = KINDS,
    missing: bool = True,
    non_answers: bool = True,
    subjects: bool = False,
) -> Case:
    """Tables with constants, repeats, missing cells and declared non-answers."""
    n = draw(st.integers(*rows))
    n_quasi, n_sensitive = draw(st.integers(*quasi)), draw(st.integers(*sensitive))
    kinds, data, trees, silent = {}, {}, {}, {}
    for place in range(n_quasi + n_sensitive):
        name = f"q{place}" if place < n_quasi else f"s{place - n_quasi}"
        kind = draw(st.sampled_from(KINDS if place < n_quasi else sensitive_kinds))
        width = draw(st.integers(1, len(VALUES[kind])))
        choices = VALUES[kind][:width] + ([None] if missing and draw(st.booleans()) else [])
        data[name] = draw(st.lists(st.sampled_from(choices), min_size=n, max_size=n))
        kinds[name] = kind
        if kind == "tree":
            trees[name] = draw(hierarchy_rows())
        if place >= n_quasi and non_answers and draw(st.booleans()):
            silent[name] = [str(VALUES[kind][0])]
    people = st.lists(st.sampled_from([f"p{i}" for i in range(max(n, 2))]), min_size=n, max_size=n)
    return Case(
        data=data, kinds=kinds, hierarchies=trees, non_answers=silent,
        quasi=[name for name in data if name.startswith("q")],
        sensitive=[name for name in data if name.startswith("s")],
        weights={name: draw(st.sampled_from([0.5, 1.0, 2.0])) for name in data if name.startswith("q")},
        subject=draw(people) if subjects else None,
    )  # fmt: skip


@st.composite
def groupings(draw: st.DrawFn, n: int, *, suppressed: bool = True) -> np.ndarray:
    """Group numbers without gaps, -1 for suppressed rows."""
    raw = draw(st.lists(st.integers(-1 if suppressed else 0, 4), min_size=n, max_size=n))
    number = {group: place for place, group in enumerate(sorted({group for group in raw if group >= 0}))}
    return np.array([number.get(group, -1) for group in raw], dtype=np.int32)


def day(text: str) -> int:
    """Days since 1970 of an ISO date."""
    return date.fromisoformat(text).toordinal() - date(1970, 1, 1).toordinal()


def crowded_table(table: Table, size: int) -> Table:
    """A table in which a value is published as the end of an interval if so many people have it."""
    return replace(table, domain=crowded(table.domain, size, table.people_with))
