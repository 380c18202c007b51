"""What a run takes, and what it would refuse in the end, told by runs on samples of the rows."""

from __future__ import annotations

import math
import sys
import time
from collections.abc import Callable, Collection
from dataclasses import dataclass, replace
from functools import partial
from typing import TYPE_CHECKING, Any

from shoal.errors import InfeasibleError, RefusalError, ShoalError

if TYPE_CHECKING:
    from shoal.data.table import Table
    from shoal.recipe.recipe import Recipe

SIZES = (1000, 2000, 4000)
# What a run on a source read by an engine takes, beside reading it once.
_PASSES = 3.0
# A difference in time below this is noise, in seconds; and what a row takes at least, to be recoded, gated and written.
_NOISE = 0.05
_EACH = 2e-5
_STEEPEST = 2.0
_ROW, _CELL = 64, 24  # bytes of a record that is grouped


@dataclass(frozen=True, kw_only=True)
class Foreseen:
    """About how many seconds and bytes a run takes, judged by how many rows, and what it refused of them.

    Either is None where nobody can tell.

    ``whole`` says that these were all rows, so that a run refuses the same.
    """

    seconds: float | None
    memory: int | None
    sample: int
    refused: list[ShoalError]
    whole: bool

    def data(self) -> dict[str, Any]:
        """As plain data."""
        likely = [] if self.whole else [str(one) for one in self.refused]
        return {"seconds": self.seconds, "bytes": self.memory, "sample": self.sample, "likely": likely}


def foresee(
    recipe: Recipe, table: Table, reading: float, accepted: Collection[str], step: Callable[[str], None]
) -> Foreseen:
    """Run a recipe on samples of its rows, as if everything refused so far had been accepted.

    Parameters
    ----------
    reading
        Seconds that it took to read the table.
    """
    sizes = [size for size in SIZES if size < table.n] or [table.n]
    if len(sizes) < len(SIZES):
        sizes = [*sizes, table.n] if sizes[-1] < table.n else sizes
    taken: list[tuple[int, float]] = []
    refused: list[ShoalError] = []
    for size in [sizes[0], *sizes]:  # the first loads what every run needs
        step(f"trying {size:,} rows")
        seconds, refused = _tried(recipe, partial(_on_table, _sample(table, size), size == table.n), accepted)
        if seconds is not None:
            taken.append((size, seconds))
    whole = sizes[-1] == table.n
    if not whole:  # what a few rows cannot do, all of them may
        refused = [one for one in refused if isinstance(one, RefusalError)]
    return Foreseen(
        seconds=None if not taken else reading + _grown(taken[1:] or taken, table.n),
        memory=_memory(table), sample=sizes[-1], refused=refused, whole=whole,
    )  # fmt: skip


def foreseen_stream(
    recipe: Recipe, rows: int, reading: float, memory: int, accepted: Collection[str], attempt: Callable[[Recipe], None]
) -> Foreseen:
    """The same where an engine keeps the rows: by the time that reading took, and the memory that it may take.

    Parameters
    ----------
    attempt
        Carries out a recipe on all rows without writing a release; few of them are tried so.
    """
    whole = rows <= SIZES[-1]
    refused = _tried(recipe, attempt, accepted)[1] if whole else []
    return Foreseen(
        seconds=reading * (1 + _PASSES), memory=memory, sample=rows if whole else 0, refused=refused, whole=whole
    )


def _sample(table: Table, size: int) -> Table:
    """Some rows, spread over the table; all rows of a person where people have several."""
    import numpy as np

    from shoal.data.table import take_rows

    if size >= table.n:
        return table
    if table.subjects is None:
        rows = np.linspace(0, table.n - 1, size).astype(np.int64)
    else:
        people = int(table.subjects.max()) + 1
        kept = np.linspace(0, people - 1, max(1, people * size // table.n)).astype(np.int64)
        rows = np.flatnonzero(np.isin(table.subjects, kept))
    found = replace(take_rows(table, rows), n_read=rows.size, n_dropped=0, dropped=None)
    if found.subjects is None:
        return found
    left, subjects = np.unique(found.subjects, return_inverse=True)
    return replace(found, subjects=subjects.astype(np.int32)).knowing(n_subjects=left.size)


def _tried(
    recipe: Recipe, attempt: Callable[[Recipe], None], accepted: Collection[str]
) -> tuple[float | None, list[ShoalError]]:
    """How long a run takes, None where it comes to no end, and what it refuses on the way."""
    found: list[ShoalError] = []
    codes = set(accepted) | set(recipe.acknowledge)
    while True:
        started = time.perf_counter()
        try:
            attempt(recipe.accepting(codes))
        except RefusalError as error:
            found.append(error)
            if set(error.codes) <= codes:
                return None, found
            codes |= set(error.codes)
        except ShoalError as error:
            return None, [*found, error]
        else:
            return time.perf_counter() - started, found


def _on_table(table: Table, whole: bool, recipe: Recipe) -> None:
    """Run on some rows; limits are held against the ``whole``: fewer rows are easier to find."""
    from shoal.release.entry import anonymize_table
    from shoal.risk.attacks.limits import refuse_over_limits

    made = anonymize_table(recipe, table)
    if recipe.limits and whole:
        refuse_over_limits(recipe.limits, made)


def _grown(taken: list[tuple[int, float]], n: int) -> float:
    """Seconds for all rows: a start, and a power of their number between 1 and 2 that the samples tell."""
    size, last = taken[-1]
    if len(taken) < 2 or size >= n:
        return last
    before, less = taken[-2]
    power = 1.0
    if len(taken) > 2 and less - taken[-3][1] > _NOISE:
        growth = max(last - less, _NOISE) / (less - taken[-3][1])
        power = min(max(math.log2(growth), 1.0), _STEEPEST)
    each = max(last - less, 0.0) / (size**power - before**power)
    return last + max(each * (n**power - size**power), _EACH * (n - size))


def _memory(table: Table) -> int | None:
    """Bytes: what reading took at its peak, a copy of the rows for the release and one for the gate, and the groups."""
    peak = peak_bytes()
    groups = table.n * (_CELL * len(table.columns) + _ROW)
    return None if peak is None else int(peak + 2 * table.kept.estimated_size() + groups)


def peak_bytes() -> int | None:
    """The most memory that this process has taken so far, None on a system that does not tell."""
    try:
        import resource
    except ImportError:  # of Windows
        return None
    unit = 1 if sys.platform == "darwin" else 1024
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * unit


def hopeless(problems: Collection[ShoalError]) -> bool:
    """Whether no run can come to an end, whatever is accepted."""
    return any(isinstance(one, InfeasibleError) or not isinstance(one, RefusalError) for one in problems)
