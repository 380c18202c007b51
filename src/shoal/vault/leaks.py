"""How much of mappings and gradings is known from the answers so far.

What is known is a set of codes whose values were told. It is measured on the released table alone: the bits of a record
that they tell, as a share of all bits of its code, so that a refusal by it tells nothing that a researcher could not
work out. Whoever knows all codes of a mapping but one knows that too; what follows from codes of a grading is in
:mod:`shoal.vault.grading_inference`.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np
import polars as pl

from shoal.recoding.grading import GradingTable
from shoal.recoding.secrets import MappingTable, Secret
from shoal.risk.attacks.decoding import frequency_guesses, rank_guesses
from shoal.vault.protocol.recount import Counter, Tally
from shoal.vault.protocol.statements import GRADING, Released

Code = float | str
_SAMPLES = 100


@dataclass(frozen=True)
class Known:
    """Codes whose values somebody was told, by column."""

    codes: Mapping[str, frozenset[Code]]

    @classmethod
    def of(cls, points: Iterable[tuple[str, Code]] = ()) -> Known:
        """From pairs of column and code."""
        found: dict[str, set[Code]] = {}
        for column, code in points:
            found.setdefault(column, set()).add(code)
        return cls({column: frozenset(codes) for column, codes in found.items()})

    def __or__(self, other: Known) -> Known:
        columns = {*self.codes, *other.codes}
        return Known({name: self.in_column(name) | other.in_column(name) for name in columns})

    def in_column(self, column: str) -> frozenset[Code]:
        """Codes of one column."""
        return self.codes.get(column, frozenset())

    def renamed(self, columns: Mapping[str, str]) -> Known:
        """Codes of some columns, by other names: ``{new: old}``."""
        return Known.of((new, code) for new, old in columns.items() for code in self.in_column(old))

    def plain(self) -> dict[str, list[Code]]:
        """In JSON's types."""
        return {column: sorted(codes, key=str) for column, codes in sorted(self.codes.items())}

    @classmethod
    def of_plain(cls, plain: Mapping[str, Iterable[Any]]) -> Known:
        """What :meth:`plain` gave."""
        return cls.of((column, code) for column, codes in plain.items() for code in codes)


NOTHING = Known({})


@dataclass(frozen=True, kw_only=True)
class Leak:
    """What is known of one column.

    Attributes
    ----------
    codes, told, implied
        Different codes, those whose value was told, and those that follow: the last one of a mapping, and of a grading
        the others of a category, and categories that leave each other no room.
    bits, of
        Bits of a record's code that are known, and that there are.
    read
        Share of records whose code is known.
    widest
        Share of records in the widest stretch of codes that nothing is known of.
    guessed
        Share of records that are read, as may be expected, by whoever also takes it that no value is missing between
        two categories of a grading.
    """

    column: str
    kind: str
    codes: int
    told: int
    implied: int
    bits: float
    of: float
    read: float
    widest: float
    guessed: float

    @property
    def share(self) -> float:
        """Of the bits of a record's code, how many are known; 1 where there were none."""
        return min(1.0, self.bits / self.of) if self.of > 0 else 1.0

    @property
    def sentence(self) -> str:
        """In words."""
        also = f", and {self.implied:,} that follow from them" if self.implied else ""
        more = f" ({self.guessed:.0%} if no value is missing between categories)" if self.guessed > self.read else ""
        return (
            f"{self.told:,} of {self.codes:,} codes of column '{self.column}' were told{also}: {self.share:.0%} of "
            f"what is to be known of a record's code ({self.bits:.2f} of {self.of:.2f} bits), and all of it for "
            f"{self.read:.0%} of the records{more}."
        )


def leaks(known: Known, counter: Tally) -> list[Leak]:
    """What is known of every coded column of a release."""
    return [leak(column, known, counter) for column in counter.coded]


def leak(column: str, known: Known, counter: Tally) -> Leak:
    """What is known of one column."""
    codes, counts = counter.codes(column)
    shares = counts / max(counts.sum(), 1)
    kind = counter.coded[column]
    told = _told(column, known, codes)
    sure, cell = _known(column, known, counter)
    cells = np.unique(cell, return_inverse=True)[1]
    mass = np.bincount(cells, weights=shares) if len(codes) else np.zeros(1)
    unsure = np.bincount(cells, weights=shares * ~sure) if len(codes) else np.zeros(1)
    return Leak(
        column=column,
        kind=kind,
        codes=len(codes),
        told=int(told.sum()),
        implied=int((sure & ~told).sum()),
        bits=_entropy(mass),
        of=_entropy(shares),
        read=float(shares[sure].sum()),
        widest=float(unsure.max()),
        guessed=float(shares @ (counter.steps(column).guess(sure) if kind == GRADING else sure)),
    )


def _told(column: str, known: Known, codes: np.ndarray) -> np.ndarray:
    return np.isin(codes, list(known.in_column(column))) if len(codes) else np.zeros(0, dtype=bool)


def _known(column: str, known: Known, counter: Tally) -> tuple[np.ndarray, np.ndarray]:
    """Which codes are known, those told and what follows, and the cell that each is known to be in.

    Codes of a grading that were told of another release, and that this one lacks, tell of those that it has.
    """
    codes, _ = counter.codes(column)
    if counter.coded[column] != GRADING:
        told = _told(column, known, codes)
        sure = told | (len(told) - told.sum() <= 1)
        return sure, np.where(sure, np.arange(len(codes)) + 1, 0)
    steps = counter.steps(column, known.in_column(column))
    sure = steps.follow(_told(column, known, steps.codes))
    cell = 2 * np.cumsum(sure) - sure  # what is between two that are known lies between their values
    own = np.isin(steps.codes, codes)
    return sure[own], cell[own]


def _entropy(shares: np.ndarray) -> float:
    positive = shares[shares > 0]
    return float(abs((positive * np.log2(positive)).sum()))


@dataclass(frozen=True, kw_only=True)
class Gain:
    """Share of records that rank or frequency matching reads, without and with what the answers told."""

    column: str
    attack: str
    sample: int
    without: float
    given: float

    @property
    def sentence(self) -> str:
        """In words."""
        return (
            f"{self.attack.capitalize()} of column '{self.column}' against {self.sample:,} true values reads "
            f"{self.without:.0%} of the records without the answers, and {self.given:.0%} with them."
        )


def gain(
    secret: Secret, released: Released, known: Known, generator: np.random.Generator, *, share: float = 0.01
) -> Gain:
    """What an attacker with a sample of true values gains from the answers; on the trusted side alone.

    Parameters
    ----------
    share
        Size of the sample, as a share of the records.
    """
    cells = released.frame[secret.column].drop_nulls()
    counter = Counter(released)
    codes, counts = counter.codes(secret.column)
    sure, _ = _known(secret.column, known, counter)
    size = max(1, round(share * len(cells)))
    n = int(counts.sum())
    rank = isinstance(secret, GradingTable)
    values = _truth(secret, codes)
    found = np.zeros((_SAMPLES, 2))
    for sample in range(_SAMPLES):
        held = generator.multivariate_hypergeometric(counts, size)
        for place, given in enumerate((np.zeros(len(codes), dtype=bool), sure)):
            guess = _ranked(counts, held, values, given) if rank else _counted(counts, held, given, generator)
            right = guess == (values if rank else np.arange(len(codes)))
            found[sample, place] = (counts - held) @ right / max(n - size, 1)
    without, helped = found.mean(axis=0)
    attack = "rank matching" if rank else "frequency matching"
    return Gain(column=secret.column, attack=attack, sample=size, without=float(without), given=float(helped))


def _truth(secret: Secret, codes: np.ndarray) -> np.ndarray:
    """The true values behind codes, as numbers in the same order."""
    if isinstance(secret, MappingTable):
        return np.arange(len(codes), dtype=np.float64)
    decoded = secret.decode(pl.Series(codes))
    return decoded.cast(pl.Float64).to_numpy() if decoded.dtype != pl.Date else decoded.to_physical().to_numpy()


def _ranked(counts: np.ndarray, held: np.ndarray, values: np.ndarray, sure: np.ndarray) -> np.ndarray:
    """Rank matching between what is known: a stretch of codes is matched with the sample's values in that stretch."""
    guess = np.where(sure, values, np.nan)
    stretch = 2 * np.cumsum(sure) - sure
    for one in np.unique(stretch[~sure]):
        here = stretch == one
        inside = held * here
        if inside.any():
            guess[here] = rank_guesses(counts[here], np.repeat(values, inside))
    return guess


def _counted(counts: np.ndarray, held: np.ndarray, sure: np.ndarray, generator: np.random.Generator) -> np.ndarray:
    """Frequency matching of what is not known."""
    guess = np.where(sure, np.arange(len(counts)), -1)
    rest = np.flatnonzero(~sure)
    if len(rest):
        found = frequency_guesses(counts[rest], held[rest], generator)
        guess[rest] = np.where(found >= 0, rest[found], -1)
    return guess
