"""Ways to deal the sensitive values of every class to its members, and how likely each is given what is forbidden."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from itertools import product

import numpy as np

# All combinations of ways are looked at where there are no more than this.
_ALL = 4096
# Cells of ways that are listed one by one, over all classes.
_LISTED = 1 << 18
# Chances below this are lost in rounding.
LEAST = 1e-11


@dataclass(frozen=True, eq=False)
class Dealing:
    """Ways of every class: all of them where there are few, drawn ones elsewhere.

    Attributes
    ----------
    classes
        Class of each row, from 0.
    values
        Number of each row's combination of values.
    ways
        Ways looked at, one number a class.
    every
        Flags of the classes of which these are all there are.
    """

    classes: np.ndarray
    values: np.ndarray
    ways: np.ndarray
    every: np.ndarray
    members: list[np.ndarray]
    generator: Callable[[], np.random.Generator]

    @classmethod
    def of(
        cls, classes: np.ndarray, values: np.ndarray, draws: int, generator: Callable[[], np.random.Generator]
    ) -> Dealing:
        """Count the ways of every class; classes of more than ``draws`` are drawn from so often."""
        order = np.argsort(classes, kind="stable")
        bounds = np.flatnonzero(np.diff(classes[order], prepend=-1, append=-1))
        members = np.split(order, bounds[1:-1])
        logs = _log_ways(classes, values)
        ways = np.rint(np.exp(np.minimum(logs, 50.0)))
        few = np.flatnonzero((logs <= math.log(draws) + 1e-6) & (ways > 1))
        few = few[np.argsort(ways[few] * np.diff(bounds)[few], kind="stable")]
        few = few[np.cumsum(ways[few] * np.diff(bounds)[few]) <= _LISTED]
        every = ways <= 1
        every[few] = True
        return cls(classes, values, np.where(every, ways, draws).astype(np.int64), every, members, generator)

    def apart(self) -> Iterator[np.ndarray]:
        """The ways of all classes side by side: the row that each row has its values from, until no class has more.

        A class that has no more ways is dealt something; every call gives the same.
        """
        generator = self.generator()
        listed = self._side_by_side()
        for number in range(int(self.ways.max(initial=1))):
            source = np.arange(self.classes.size) if self.every.all() else self._drawn(generator)
            if number < len(listed):
                rows, place = listed[number]
                source[rows] = place
            yield source

    def _side_by_side(self) -> list[tuple[np.ndarray, np.ndarray]]:
        """For the first way, the second and so on, rows of the classes that are listed and where their values are."""
        found: list[list[tuple[np.ndarray, np.ndarray]]] = []
        for one in np.flatnonzero(self.every & (self.ways > 1)).tolist():
            for number, place in enumerate(self._listed(one)):
                if number == len(found):
                    found.append([])
                found[number].append((self.members[one], place))
        return [tuple(map(np.concatenate, zip(*several, strict=True))) for several in found]  # type: ignore[misc]

    def together(self, draws: int) -> tuple[bool, Iterator[np.ndarray]]:
        """Whether these are all combinations of ways, and the combinations; drawn where there are too many."""
        if self.every.all() and np.log(self.ways).sum() <= math.log(_ALL) + 1e-6:
            return True, self._combined()
        generator = self.generator()
        return False, (self._drawn(generator) for _ in range(draws))

    def _combined(self) -> Iterator[np.ndarray]:
        ways = [self._listed(one) for one in range(len(self.members))]
        for chosen in product(*ways):
            source = np.empty(self.classes.size, dtype=np.int64)
            for rows, place in zip(self.members, chosen, strict=True):
                source[rows] = place
            yield source

    def _drawn(self, generator: np.random.Generator) -> np.ndarray:
        """Values dealt at random within every class."""
        dealt = np.lexsort((generator.random(self.classes.size), self.classes))
        source = np.empty(self.classes.size, dtype=np.int64)
        source[np.argsort(self.classes, kind="stable")] = dealt
        return source

    def _listed(self, one: int) -> list[np.ndarray]:
        rows = self.members[one]
        have = rows[np.argsort(self.values[rows], kind="stable")]
        found = []
        for way in arrangements(sorted(self.values[rows].tolist())):
            place = np.empty(rows.size, dtype=np.int64)
            place[np.argsort(np.array(way), kind="stable")] = have
            found.append(place)
        return found


def _log_ways(classes: np.ndarray, values: np.ndarray) -> np.ndarray:
    """Log of the number of different ways of every class."""
    sizes = np.bincount(classes)
    _, first, counts = np.unique(classes.astype(np.int64) * (int(values.max(initial=0)) + 1) + values,
                                 return_index=True, return_counts=True)  # fmt: skip
    logs = np.concatenate([[0.0], np.cumsum(np.log(np.arange(1, sizes.max(initial=1) + 1)))])
    return logs[sizes] - np.bincount(classes[first], weights=logs[counts], minlength=sizes.size)


def arrangements(values: list[int]) -> Iterator[tuple[int, ...]]:
    """Distinct orders of a multiset."""
    if not values:
        yield ()
    for place, value in enumerate(values):
        if place and values[place - 1] == value:
            continue
        for rest in arrangements(values[:place] + values[place + 1 :]):
            yield (value, *rest)


def weigh(masks: np.ndarray, ways: np.ndarray, bits: int) -> tuple[np.ndarray, float]:
    """Probability of every way of every class, given that over all classes every bit is set by some class.

    Classes are independent of each other but for that, so no combination of their ways is ever listed: the chance that
    no class sets any of some bits is a product over classes, and the rest is inclusion and exclusion.

    Parameters
    ----------
    masks
        int64 (ways, classes): bits that each way sets.
    ways
        How many ways each class has; further entries of ``masks`` count nothing.

    Returns
    -------
    tuple
        Weights of the same shape that add up to 1 a class, and the chance that all bits are set.
        O(classes * (ways + bits * 2^bits)).
    """
    most, classes = masks.shape
    width = 1 << bits
    valid = np.arange(most)[:, None] < ways
    of = np.broadcast_to(np.arange(classes), masks.shape)[valid]
    share = np.bincount(of * width + masks[valid], minlength=classes * width).reshape(classes, width) / ways[:, None]
    # Chance that a class sets only bits of a set, then logs so that thousands of classes can be multiplied.
    within = _subset_sums(share, bits)
    zero = within <= 0.0
    logs = np.log(np.where(zero, 1.0, within))
    total, zeros = logs.sum(axis=0), zero.sum(axis=0)
    others = np.where(zeros - zero > 0, 0.0, np.exp(total - logs))
    signs = (-1.0) ** np.bitwise_count(np.arange(width))
    # By bits that must be set by others: the sum over their subsets of the chance that these are left unset.
    needed = np.maximum(_subset_sums(others[:, ::-1] * signs, bits), 0.0)
    weight = np.where(valid, needed[np.arange(classes), (width - 1) ^ masks], 0.0)
    sums = weight.sum(axis=0)
    fit = float((signs * np.where(zeros > 0, 0.0, np.exp(total))[::-1]).sum())
    return weight / np.where(sums > 0, sums, 1.0), fit


def _subset_sums(table: np.ndarray, bits: int) -> np.ndarray:
    """For every set of bits (the last axis) the sum over its subsets."""
    found = table.copy()
    places = np.arange(table.shape[-1])
    for bit in range(bits):
        have = places[places >> bit & 1 == 1]
        found[..., have] += found[..., have ^ (1 << bit)]
    return found
