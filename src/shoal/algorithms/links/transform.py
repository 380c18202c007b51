"""The whole-table transformation of Poovammal & Ponnavaikko, Sec. 4.3."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

from shoal.algorithms.base import Algorithm, Problem
from shoal.algorithms.links.graded import every_code, rewritten
from shoal.errors import ParameterError
from shoal.recoding.coding_methods import Grades, Prefixes, is_number
from shoal.recoding.kinds import PSEUDONYMISED, Kind
from shoal.recoding.recodings import Coded


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
