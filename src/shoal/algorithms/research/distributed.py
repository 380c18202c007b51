"""The string of the largest research value where all strings are too many to list: blocks of columns (15.7)."""

from __future__ import annotations

import heapq
from dataclasses import dataclass
from typing import ClassVar

import numpy as np

from shoal.algorithms.lattice.verdicts import infeasible
from shoal.algorithms.research.base import ResearchSearch
from shoal.algorithms.research.methods import halve
from shoal.algorithms.research.search import Search, Strings
from shoal.errors import ParameterError
from shoal.params import whole

# Rank of a combination (minus value, columns at their root, levels), and the strings picked so far.
Entry = tuple[float, int, tuple[int, ...], tuple[int, ...]]


@dataclass(frozen=True, kw_only=True)
class ResearchDistributed(ResearchSearch):
    """List the possible strings of each block of columns, then combine them in descending research value.

    Parameters
    ----------
    max_strings
        Strings to list at most for one block.

    Examples
    --------
    >>> ResearchDistributed(max_strings=5000).max_strings
    5000
    """

    name: ClassVar[str] = "rv-distributed"
    max_strings: int = 10_000

    def __post_init__(self) -> None:
        super().__post_init__()
        object.__setattr__(self, "max_strings", whole(self.name, "max_strings", self.max_strings, least=1))

    def search(self, search: Search) -> None:
        """The first combination that passes is the optimum; with limited time, something to release comes before."""
        if self.seconds is not None:
            halve(search, "corrected", lambda levels: search.try_string(levels).passes)
            climb(search)
        combine(search, [Block(search, columns) for columns in split(search, self.max_strings)])


def split(search: Search, most: int) -> list[list[int]]:
    """Columns in blocks of at most so many strings, in their order."""
    blocks: list[list[int]] = []
    size = most + 1
    for a, levels in enumerate(search.kept):
        if len(levels) > most:
            raise ParameterError(
                f"The column '{search.checker.columns[a].name}' alone has {len(levels)} levels, and 'max_strings' is "
                f"{most}: raise it."
            )
        size *= len(levels)
        if size > most:
            blocks.append([])
            size = len(levels)
        blocks[-1].append(a)
    return blocks


class Block:
    """The strings of some columns that a full string may hold, best first.

    A block's string is tested with all other columns at their root. It goes only if that fails for good: a full
    string may need one that is more general, or worth less, than the block's best.

    Attributes
    ----------
    levels, rv, roots
        Levels (strings, columns), research value and columns at their root.
    """

    def __init__(self, search: Search, columns: list[int]) -> None:
        self.columns = columns
        possible = Strings(search, columns)
        undecided = Strings(search, columns)
        while len(undecided) and not search.late:
            string = undecided.middle()
            tested = search.test(with_roots(search, columns, string))
            if tested.hopeless:
                possible.drop(possible.more_specific(string))
                undecided.drop(undecided.more_specific(string))
            elif tested.passes:
                # Were a more general string to fail for good, this one would fail too.
                undecided.drop(undecided.more_general(string))
            else:
                undecided.drop((undecided.levels == string).all(axis=1))
        if not len(possible):
            raise infeasible(search.checker.problem, search.allowed)
        roots = (possible.levels == np.array(search.heights)[columns]).sum(axis=1)
        order = np.lexsort([*possible.levels.T[::-1], roots, -possible.rv])
        self.levels, self.rv, self.roots = possible.levels[order], possible.rv[order], roots[order]


def with_roots(search: Search, columns: list[int], string: np.ndarray) -> np.ndarray:
    """A full string: some columns at given levels, the others at their root."""
    levels = np.array(search.heights)
    levels[columns] = string
    return levels


def climb(search: Search) -> None:
    """Move one column at a time to a level worth more while the string still passes."""
    best = None
    while search.successes and search.successes[0] is not best and not search.late:
        best = search.successes[0]
        levels = list(best.levels)
        steps = [
            (float(search.values[a][level] - search.values[a][levels[a]]), a, level)
            for a, kept in enumerate(search.kept)
            for level in kept
        ]
        better = sorted((step for step in steps if step[0] > 0), reverse=True)
        for _, a, level in better:
            if search.late or search.try_string([*levels[:a], level, *levels[a + 1 :]]).passes:
                break


def combine(search: Search, blocks: list[Block]) -> None:
    """Test combinations in descending order of value until as many have passed as are looked for.

    An entry of the heap fixes the strings of its first blocks and stands for the best of all combinations that begin
    so: the one with the best string of every other block. Two or more fixed blocks are tested before the next is
    fixed, since if they fail for good with everything else at its root, so does every combination.
    """
    failed = np.empty((0, len(search.heights)), dtype=np.int64)
    heap = [_entry(search, blocks, (0,))]
    while heap:
        last = search.last
        if last is not None and last.rank <= heap[0][:3]:
            return
        if search.late:
            search.bound = -heap[0][0]
            return
        *_, picks = heapq.heappop(heap)
        if picks[-1] + 1 < len(blocks[len(picks) - 1].rv):
            heapq.heappush(heap, _entry(search, blocks, (*picks[:-1], picks[-1] + 1)))
        full = len(picks) == len(blocks)
        if len(picks) == 1 and not full:
            heapq.heappush(heap, _entry(search, blocks, (*picks, 0)))
            continue
        levels = np.array(search.heights)
        for block, pick in zip(blocks, picks, strict=False):
            levels[block.columns] = block.levels[pick]
        fixed = sum(int(block.roots[pick]) for block, pick in zip(blocks, picks, strict=False))
        if not search.admits(fixed) or (levels <= failed).all(axis=1).any():
            continue
        tested = search.try_string(levels) if full else search.test(levels)
        if tested.hopeless:
            failed = np.concatenate([failed, widest_failure(search, levels)[None, :]])
        elif not full:
            heapq.heappush(heap, _entry(search, blocks, (*picks, 0)))


def widest_failure(search: Search, levels: np.ndarray) -> np.ndarray:
    """The same failure with as many columns at their root as still show it: it rules out more than the string does."""
    for a, height in enumerate(search.heights):
        if levels[a] < height:
            raised = levels.copy()
            raised[a] = height
            if search.test(raised).hopeless:
                levels = raised
    return levels


def _entry(search: Search, blocks: list[Block], picks: tuple[int, ...]) -> Entry:
    """Rank of the best combination that begins so, and how it begins."""
    whole_picks = (*picks, *(0 for _ in blocks[len(picks) :]))
    chosen = list(zip(blocks, whole_picks, strict=True))
    levels = tuple(int(level) for block, pick in chosen for level in block.levels[pick])
    return -search.value(levels), sum(int(block.roots[pick]) for block, pick in chosen), levels, picks
