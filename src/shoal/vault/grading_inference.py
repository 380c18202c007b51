"""What follows from codes of a grading whose values were told, by what the release alone shows.

Codes rise evenly within a category: two that are told give all others. Whole numbers, days, and numbers of so many
digits leave more: their places in a category are whole multiples of one step, which the codes show, so that one of them
gives the others, step by step. And where a category between two that are known takes all the room that they leave, it
can lie nowhere else. Nothing here has a grading.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from fractions import Fraction
from functools import cached_property

import numpy as np

# Membership of a category's maximum, but under the rule 'table8', where it is 1.
_TOP = 0.999
_NEAR = 1e-9
# What is more likely than this to be a coincidence is no step; what is less likely needs no counting.
_CHANCE = 0.01
_ROOM = 0.001
_GAPS = 64
# Differences of fractions lose digits, more of them the narrower a category is.
_ERRORS = (1e-13, 1e-11, 1e-9)


@dataclass(frozen=True)
class Category:
    """Codes of one category.

    Attributes
    ----------
    members
        Their places among all codes of the column.
    stepped
        Whether the step of its codes shows, so that one gives the others.
    width
        Steps from its lowest to its highest value, the least that there can be; None where there are none.
    """

    members: np.ndarray
    stepped: bool
    width: int | None


class Steps:
    """Categories of a column's codes, as whoever has the release sees them.

    Parameters
    ----------
    codes
        Different codes, ascending.
    """

    def __init__(self, codes: np.ndarray) -> None:
        self.codes = codes

    @cached_property
    def categories(self) -> list[Category]:
        """In their order; a code that may be the top of one and the start of the next is in both."""
        name = np.floor(self.codes + _NEAR)
        place = self.codes - name
        closed = bool((np.abs(place - _TOP) <= _NEAR).any())  # so no maximum has a membership of 1
        found = []
        for one in np.unique(name):
            inside = name == one
            above = (np.abs(self.codes - one - 1.0) <= _NEAR) & (not closed)
            members = np.flatnonzero(inside | above) if (place[inside] > _NEAR).any() else np.flatnonzero(inside)
            found.append(_category(members, self.codes[members] - one, float(np.spacing(one + 1.0))))
        return found

    def follow(self, told: np.ndarray) -> np.ndarray:
        """Which codes are known, given which were told."""
        sure = told.copy()
        while True:
            before = int(sure.sum())
            for one in self.categories:
                if sure[one.members].sum() >= (1 if one.stepped else 2):
                    sure[one.members] = True
            for low, high in self._stretches(sure):
                if self._density(low, high) ** (high - low) >= _ROOM:
                    for one in self.categories[low + 1 : high]:
                        sure[one.members] = True
            if int(sure.sum()) == before:
                return sure

    def guess(self, sure: np.ndarray) -> np.ndarray:
        """How likely each code is read by whoever takes it that no value is missing between two categories."""
        likely = np.where(sure, 1.0, 0.0)
        order = range(len(self.categories))
        for places in (order, reversed(order)):
            reach, last = 0.0, None
            for place in places:
                one = self.categories[place]
                near = 0.0 if last is None else reach * self._density(min(place, last), max(place, last))
                reach = 1.0 if sure[one.members].all() else near if one.width is not None else 0.0
                likely[one.members] = np.maximum(likely[one.members], reach)
                last = place
        return likely

    def _stretches(self, sure: np.ndarray) -> list[tuple[int, int]]:
        """Known categories with others between them, all of which have steps."""
        known = [place for place, one in enumerate(self.categories) if sure[one.members].all()]
        apart = [(low, high) for low, high in zip(known, known[1:], strict=False) if high > low + 1]
        return [pair for pair in apart if all(one.width is not None for one in self.categories[pair[0] + 1 : pair[1]])]

    def _density(self, low: int, high: int) -> float:
        """Of the values that some categories have room for, how many there are: so often is the next one taken."""
        stepped = [one for one in self.categories[low : high + 1] if one.width is not None]
        room = sum((one.width or 0) + 1 for one in stepped)
        return min(1.0, sum(len(one.members) for one in stepped) / room) if room else 0.0


def _category(members: np.ndarray, place: np.ndarray, spacing: float) -> Category:
    """What the memberships of a category show, whichever of the rules made them."""
    top = np.abs(place - _TOP) <= _NEAR
    widths = []
    for shares in (place / _TOP, np.where(top, 1.0, place)):
        inner = shares[(shares > _NEAR) & (shares < 1.0 - _NEAR)]
        if not len(inner):
            return Category(members, stepped=False, width=len(members) - 1)
        for error in (2.0 * spacing, *_ERRORS):
            if (width := _lattice(inner, error)) is not None:
                widths.append(width)
                break
    return Category(members, stepped=bool(widths), width=min(widths, default=None))


def _lattice(shares: np.ndarray, error: float) -> int | None:
    """The least number of which all shares are multiples of one over it, within an error; None where chance does it."""
    points = np.unique(np.concatenate([[0.0], shares, [1.0]]))
    steps = _by_gaps(points, error)
    while True:
        off = np.abs(shares * steps - np.rint(shares * steps)) > 2.0 * error * steps
        # So many lattices with fewer points would fit as many numbers drawn at random.
        if math.log(steps) + len(shares) * math.log(4.0 * error * steps) > math.log(_CHANCE):
            return None
        if not off.any():
            return steps
        steps *= _denominator(float(shares[off][0] * steps) % 1.0, 2.0 * error * steps)


def _by_gaps(points: np.ndarray, error: float) -> int:
    """How many steps there are by the smallest gaps between points, which are few steps each; 1 where none shows."""
    gaps = np.sort(np.diff(points))
    gaps = gaps[gaps > 8.0 * error][:_GAPS]
    if not len(gaps):
        return 1
    parts, least = 1, float(gaps[0])
    for gap in gaps[1:]:
        ratio = float(gap) / least
        doubt = 4.0 * error * (1.0 + ratio) / least * parts
        if doubt > 0.02:
            return 1
        part = ratio * parts
        if abs(part - round(part)) > doubt:
            parts *= _denominator(part % 1.0, doubt)
    step, doubt = least / parts, 2.0 * error / least
    base = points[int(np.diff(points).argmin())]
    far = np.sort(np.abs(points - base))
    while (reached := far[(far * doubt / step < 0.1) & (2.0 * error / np.maximum(far, error) < doubt)]).size:
        step = float(reached[-1]) / round(float(reached[-1]) / step)
        doubt = 2.0 * error / float(reached[-1])
    return max(1, round(1.0 / step)) if doubt / step < 0.1 else 1


def _denominator(x: float, error: float) -> int:
    """Of the simplest fraction within an error of a number that is not whole."""
    low, high = Fraction(x) - Fraction(error), Fraction(x) + Fraction(error)
    parts: list[int] = []
    while True:
        whole = math.floor(low)
        if whole == low or whole + 1 <= high:
            parts.append(whole if whole == low else whole + 1)
            break
        parts.append(whole)
        low, high = 1 / (high - whole), 1 / (low - whole)
    found = Fraction(parts.pop())
    while parts:
        found = parts.pop() + 1 / found
    return max(2, found.denominator)
