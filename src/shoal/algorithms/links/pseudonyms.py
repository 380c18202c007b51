"""Graded grouping of numeric sensitive attributes (Poovammal & Ponnavaikko, Sec. 4.1)."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, ClassVar

import numpy as np
import polars as pl

from shoal.algorithms.base import Algorithm, Problem
from shoal.data.column import Column
from shoal.data.domain import Domain
from shoal.errors import ParameterError
from shoal.params import nearest
from shoal.recoding.coding_methods import Grades, Prefixes, is_number
from shoal.recoding.kinds import GRADED, MAPPING, PSEUDONYMISED, Kind
from shoal.recoding.recodings import Coded

WARNING = (
    "Pseudonymised, not anonymised: quasi-identifiers are untouched, so every link to a person stays, and the codes "
    "can be read back by rank or by frequency."
)
_FEW = 3
_CODINGS = {"graded": GRADED, "mapped": MAPPING}


@dataclass(frozen=True, kw_only=True)
class Graded(Grades, Algorithm):
    """Replace every number by the name of its category plus its place within it; order and shape stay.

    Reversible pseudonymisation (``W-PP-REV``): whoever has a sample of the true values sorts both and reads most codes.

    Parameters
    ----------
    on
        The sensitive columns to grade; by default every numeric or date one.

    Examples
    --------
    >>> Graded(on="income", categories=4).parameters()["max_rule"]
    'scaled'
    """

    name: ClassVar[str] = "graded"
    kind: ClassVar[Kind] = PSEUDONYMISED
    on: Any = field(default=None, hash=False)

    def __post_init__(self) -> None:
        Algorithm.__post_init__(self)
        Grades.__post_init__(self)

    @property
    def from_cells(self) -> bool:
        """How often each value occurs is all that it looks at."""
        return True

    def run(self, problem: Problem) -> Coded:
        """Grade the columns asked for; all others stay as they are."""
        chosen = columns_on(problem.domain, self.on, self.name, numeric=True)
        self.check_columns([column.name for column in chosen])
        problem.progress("grading")
        made = [self.grade(column, every_code(column), problem.codes.get(column.name)) for column in chosen]
        return rewritten({"graded": made})


def every_code(column: Column) -> np.ndarray:
    """int32, the codes of a column's dictionary."""
    return np.arange(column.card, dtype=np.int32)


def rewritten(parts: Mapping[str, Sequence[tuple[pl.Series, Any, dict[str, Any]]]]) -> Coded:
    """A pseudonymised recoding of coded columns, by the method that made them."""
    made = [one for several in parts.values() for one in several]
    notes: dict[str, Any] = {method: {one[0].name: one[2] for one in several} for method, several in parts.items()}
    warnings = [WARNING]
    few = [name for name, note in notes.get("graded", {}).items() if note["categories"] < _FEW]
    if few:
        warnings.append(f"Column '{few[0]}' has fewer than {_FEW} categories: its codes are close to a straight line.")
    return Coded(
        columns={series.name: series for series, _, _ in made},
        coded={one[0].name: _CODINGS[method].name for method, several in parts.items() for one in several},
        secrets=[secret for _, secret, _ in made],
        notes={"codes": [PSEUDONYMISED.code], "warnings": warnings, **notes},
    )


def columns_on(domain: Domain, on: Any, method: str, *, numeric: bool) -> list[Column]:
    """The sensitive columns a method is for, or those asked for after checking that they fit it."""
    if on is None:
        fitting = [column for column in domain.sensitive if is_number(column) == numeric]
        if not fitting:
            what = "number or date" if numeric else "category"
            raise ParameterError(f"'{method}' finds no sensitive column of that sort: it needs a {what}.")
        return fitting
    found = []
    for name in [on] if isinstance(on, str) else list(on):
        if name not in domain.schema.sensitive:
            near = nearest(str(name), domain.schema.sensitive)
            hint = f" Did you mean '{near}'?" if near else ""
            raise ParameterError(f"'{method}' is for sensitive columns, and '{name}' is none.{hint}")
        column = domain.columns[name]
        if numeric and not is_number(column):
            raise ParameterError(f"'graded' is for numbers and dates, and '{name}' is {column.type}: use 'mapping'.")
        found.append(column)
    return found


# ----------------------------------------
# Mapping tables for categorical sensitive attributes (Poovammal & Ponnavaikko, Sec. 4.2).


@dataclass(frozen=True, kw_only=True)
class ValueMapping(Prefixes, Algorithm):
    """Replace every category by a code with a random number, the same for equal values; frequencies stay.

    Reversible pseudonymisation (``W-PP-REV``): whoever knows how common the values are reads the common codes.

    Parameters
    ----------
    on
        The sensitive columns to map; by default every one that is neither number nor date.

    Examples
    --------
    >>> ValueMapping(prefix="illness").parameters()
    {'name': 'mapping', 'suppression_limit': 0.0, 'prefix': 'illness'}
    """

    name: ClassVar[str] = "mapping"
    kind: ClassVar[Kind] = PSEUDONYMISED
    on: Any = field(default=None, hash=False)

    @property
    def from_cells(self) -> bool:
        """How often each value occurs is all that it looks at."""
        return True

    def run(self, problem: Problem) -> Coded:
        """Map the columns asked for; all others stay as they are."""
        chosen = columns_on(problem.domain, self.on, self.name, numeric=False)
        self.check_prefixes([column.name for column in chosen])
        problem.progress("mapping")
        keys, given = problem.keys, problem.codes
        made = [self.map(column, every_code(column), keys, given.get(column.name)) for column in chosen]
        return rewritten({"mapped": made})


# ----------------------------------------
# The whole-table transformation of Poovammal & Ponnavaikko, Sec. 4.3.


@dataclass(frozen=True, kw_only=True)
class TableTransform(Grades, Prefixes, Algorithm):
    """Grade every numeric sensitive attribute and map every other; linear time.

    Identifiers are gone before any algorithm sees the table; quasi-identifiers and neutral columns stay as they are, so
    linkage is 100 % and this is pseudonymisation of the sensitive attributes only (``W-PP-REV``).

    Examples
    --------
    >>> TableTransform(categories=4).parameters()["name"]
    'table-transform'
    """

    name: ClassVar[str] = "table-transform"
    kind: ClassVar[Kind] = PSEUDONYMISED

    def __post_init__(self) -> None:
        Algorithm.__post_init__(self)
        Grades.__post_init__(self)

    @property
    def from_cells(self) -> bool:
        """How often each value occurs is all that it looks at."""
        return True

    def run(self, problem: Problem) -> Coded:
        """Transform every sensitive column."""
        sensitive = problem.domain.sensitive
        if not sensitive:
            raise ParameterError("'table-transform' needs a sensitive column: name one under 'sensitive'.")
        numbers = [column for column in sensitive if is_number(column)]
        texts = [column for column in sensitive if not is_number(column)]
        self.check_columns([column.name for column in numbers])
        self.check_prefixes([column.name for column in texts])
        problem.progress("mapping")
        keys, given = problem.keys, problem.codes
        mapped = [self.map(column, every_code(column), keys, given.get(column.name)) for column in texts]
        problem.progress("grading")
        graded = [self.grade(column, every_code(column), given.get(column.name)) for column in numbers]
        return rewritten({"mapped": mapped, "graded": graded})
