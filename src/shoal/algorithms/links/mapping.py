"""Mapping tables for categorical sensitive attributes (Poovammal & Ponnavaikko, Sec. 4.2)."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any, ClassVar

from shoal.algorithms.base import Algorithm, Problem
from shoal.algorithms.links.graded import columns_on, every_code, rewritten
from shoal.recoding.coding_methods import Prefixes
from shoal.recoding.kinds import PSEUDONYMISED, Kind
from shoal.recoding.recodings import Coded


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
