"""What an algorithm is given and what it gives back."""

from __future__ import annotations

import dataclasses
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, ClassVar

import numpy as np

from shoal.data.domain import Domain
from shoal.data.keys import Keys
from shoal.data.rows import ArrayRows, Rows, in_memory
from shoal.data.table import Table
from shoal.kernels.rules import Sensitive
from shoal.models.base import Model, Reference
from shoal.models.judge import Judge
from shoal.params import real, whole
from shoal.recoding.kinds import GENERALISED, Kind
from shoal.recoding.recodings import Recoding
from shoal.recoding.secrets import Secret

# Stream of the order in which ties are broken.
TIES = "ties"


@dataclass(frozen=True, eq=False, kw_only=True)
class Problem:
    """Rows, the models their classes must satisfy, and the means to work on them.

    Attributes
    ----------
    codes
        Mappings and gradings that are given, by column, for methods that code.
    """

    rows: Rows
    judge: Judge
    keys: Keys
    codes: Mapping[str, Secret] = field(default_factory=dict)
    progress: Callable[[str], None] = lambda step: None

    @property
    def domain(self) -> Domain:
        """Roles, dictionaries and counts: all that methods on the frequency table need."""
        return self.rows.domain

    @property
    def memory(self) -> ArrayRows:
        """The rows as arrays, for methods that group records one by one."""
        return in_memory(self.rows)

    @property
    def table(self) -> Table:
        """The table in memory."""
        return self.memory.table

    @property
    def shuffled(self) -> np.ndarray:
        """Row numbers in the keyed order in which ties are broken."""
        return self.keys.shuffle(TIES, self.table.row_keys)


@dataclass(frozen=True, kw_only=True)
class Algorithm:
    """A method with its parameters; the constructor only stores and checks them.

    Attributes
    ----------
    suppression_limit
        Largest share of rows that may be suppressed after recoding.
    max_suppressed
        The same as a number of rows. Beside a ``suppression_limit`` above 0 both hold.

    Class attributes
    ----------------
    kind
        Kind of the releases that it makes, which says what warning code they need.
    """

    name: ClassVar[str]
    shorthand: ClassVar[Sequence[str]] = ()
    kind: ClassVar[Kind] = GENERALISED
    suppression_limit: float = 0.0
    max_suppressed: int | None = None

    def __post_init__(self) -> None:
        name = type(self).__name__
        real(name, "suppression_limit", self.suppression_limit, low=0.0, high=1.0)
        if self.max_suppressed is not None:
            whole(name, "max_suppressed", self.max_suppressed, least=0)

    def share_allowed(self, n: int) -> float:
        """Largest share of ``n`` rows that may be suppressed."""
        if self.max_suppressed is None:
            return self.suppression_limit
        share = min(1.0, self.max_suppressed / max(n, 1))
        return min(share, self.suppression_limit) if self.suppression_limit > 0 else share

    def rows_allowed(self, n: int) -> int:
        """How many of ``n`` rows may be suppressed."""
        return int(self.share_allowed(n) * n + 1e-9)

    @property
    def limit_words(self) -> str:
        """What limits suppression, for messages."""
        share = f"the suppression_limit is {self.suppression_limit:.2%}"
        if self.max_suppressed is None:
            return share
        return f"max_suppressed is {self.max_suppressed}" + (f" and {share}" if self.suppression_limit > 0 else "")

    @property
    def judges_sets(self) -> bool:
        """Whether it can do with classes of several sets of quasi-identifiers that each hold alone."""
        return False

    @property
    def from_cells(self) -> bool:
        """Whether the frequency table is all that it looks at, so that any engine can serve it."""
        return False

    def by_cells(self, domain: Domain) -> bool:
        """The same of one table: people do not add up over cells."""
        return self.from_cells

    @property
    def in_parts(self) -> bool:
        """Whether parts of the rows can be grouped by themselves, where they do not all fit into memory."""
        return False

    @property
    def part_rows(self) -> int | None:
        """Rows that a part has at most, whatever memory holds: of a method whose time grows with their square."""
        return None

    @property
    def parting(self) -> Algorithm:
        """The method that groups each part."""
        return self

    def dealt(self, domain: Domain) -> tuple[Sequence[str], int] | None:
        """Of a method whose parts are not cut along quasi-identifiers: what all rows are dealt out by, row by row.

        These are sensitive columns, and how many different values of them each group has to have.
        """
        return None

    def put_together(self, grouping: Recoding, order: Callable[[], np.ndarray]) -> Recoding:
        """What becomes of the groups of all parts; ``order`` gives all rows in the keyed order that breaks ties."""
        return grouping

    @property
    def invents(self) -> bool:
        """Whether it may make records up, which can make up for those that are lacking."""
        return False

    @property
    def research(self) -> dict[str, Any]:
        """What it says that levels are worth to researchers, as the measure ``rv`` takes it; empty if nothing."""
        return {}

    def parameters(self) -> dict[str, Any]:
        """The algorithm as a recipe writes it."""
        given = {f.name: getattr(self, f.name) for f in dataclasses.fields(self) if f.name not in self.shorthand}
        return {"name": self.name} | {key: value for key, value in given.items() if value is not None}

    def models(self) -> list[Model]:
        """Models that constructor arguments such as ``k`` stand for."""
        return []

    def refuse(self, reference: Reference) -> None:
        """Say in its own words, before it runs, what the whole table shows to be impossible; models say the rest."""

    def run(self, problem: Problem) -> Recoding:
        """Group the records of a table."""
        raise NotImplementedError


def shuffled_codes(problem: Problem) -> tuple[np.ndarray, np.ndarray]:
    """The keyed order of the rows (int32), and their quasi-identifier codes in that order, a row a record.

    Moving rows is what takes the time, so codes are as narrow as they can be.
    """
    table = problem.table
    order = problem.shuffled.astype(np.int32)
    narrow = np.int16 if max(column.card for column in table.quasi) < 1 << 15 else np.int32
    rows = np.empty((table.n, len(table.quasi)), dtype=narrow)
    for place, column in enumerate(table.quasi):
        rows[:, place] = table.codes[column.name]
    return order, rows.take(order, axis=0)  # one jump in memory a row, not one a cell


def sensitive_codes(problem: Problem) -> Sensitive:
    """The attributes the models look at, packed for the kernels."""
    attributes = problem.judge.attributes
    n = problem.table.n
    values = [problem.table.values(one) for one in attributes]
    codes = np.stack(values) if values else np.empty((0, n), dtype=np.int32)
    subjects = problem.table.subjects
    return Sensitive(
        codes=codes,
        people=np.array([one.people for one in attributes], dtype=np.uint8),
        subjects=np.empty(0, dtype=np.int32) if subjects is None else subjects,
        n_subjects=problem.table.n_subjects,
    )
