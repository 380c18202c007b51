"""What a risk assessment hands back: plain data, with everything about single records kept apart."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass, field
from typing import Any

import numpy as np

from shoal.results import Risk


@dataclass(frozen=True, kw_only=True)
class Contribution:
    """What leaving some quasi-identifiers out would change.

    Attributes
    ----------
    columns
        The quasi-identifiers left out.
    mean, unique
        Mean prosecutor risk and share of unique records without them.
    mean_drop, unique_drop
        By how much that is less than with them.
    """

    columns: tuple[str, ...]
    mean: float
    unique: float
    mean_drop: float
    unique_drop: float


@dataclass(frozen=True, kw_only=True)
class FoundSet:
    """A set of columns that singles people out, and no part of which does.

    Attributes
    ----------
    people, share
        Who stands alone on it: how many, and their share of all people.
    """

    columns: tuple[str, ...]
    people: int
    share: float


@dataclass(frozen=True, kw_only=True)
class SudaSummary:
    """Minimal sample uniques of a table.

    Attributes
    ----------
    most
        Largest number of keys that was searched.
    by_size
        Number of minimal sample uniques by their number of keys.
    records
        Rows with at least one.
    contributions
        Share of the sum of all scores that comes from sets with each key; these shares overlap.
    """

    most: int
    by_size: Mapping[int, int]
    records: int
    contributions: Mapping[str, float]


@dataclass(frozen=True, kw_only=True, eq=False)
class RecordRisks:
    """One entry a row, for the publisher alone; None where a figure was not asked for.

    Where an engine keeps the rows, only the thousand at most risk are here, in any order.

    Attributes
    ----------
    numbers
        Row number in the source, from 1.
    prosecutor, journalist, household
        Probability of re-identification.
    suda, dis
        SUDA and DIS-SUDA scores.
    """

    numbers: np.ndarray
    prosecutor: np.ndarray
    journalist: np.ndarray | None = None
    household: np.ndarray | None = None
    suda: np.ndarray | None = None
    dis: np.ndarray | None = None


@dataclass(frozen=True, kw_only=True, eq=False)
class RiskReport:
    """What `shoal.assess` found.

    Attributes
    ----------
    rows, records
        Rows, and what risks are averaged over: rows, or people (once a class) where there is a subject column.
    threshold
        Above it a record counts as at risk.
    population, population_size
        How the population is known (``"table"``, ``"fraction"``, ``"weights"`` or None), and its size.
    figures
        By name, such as ``"prosecutor-max"``.
    class_sizes
        Number of classes by size.
    curves
        By kind of attacker: pairs of a risk and the share of records with that risk or a higher one.
    contributions
        One a quasi-identifier (and one a pair where asked for), the largest drop first.
    sensitive
        By sensitive attribute: l, t, alpha and further figures of the worst class (see `shoal.audit`).
    discovered
        Minimal sets of columns that single people out, None where they were not looked for.
    by_record
        Private, and not printed.
    """

    name: str | None
    rows: int
    records: int
    people: bool
    quasi: Sequence[str]
    threshold: float
    population: str | None
    population_size: float | None
    figures: Mapping[str, Risk]
    class_sizes: Mapping[int, int]
    curves: Mapping[str, Sequence[tuple[float, float]]]
    contributions: Sequence[Contribution]
    sensitive: Mapping[str, Mapping[str, Any]]
    suda: SudaSummary | None
    discovered: Sequence[FoundSet] | None = None
    by_record: RecordRisks = field(repr=False)

    def __repr__(self) -> str:
        worst, mean = (self.figures[f"prosecutor-{name}"].value for name in ("max", "mean"))
        return f"RiskReport({self.rows} rows, quasi={list(self.quasi)}, prosecutor max={worst:.3g}, mean={mean:.3g})"

    def riskiest(self, count: int) -> np.ndarray:
        """Places of the rows at most risk: by SUDA score among those equally easy to find, then in row order."""
        one = self.by_record
        risk = one.prosecutor if one.journalist is None else one.journalist
        score = np.zeros(risk.size) if one.suda is None else one.suda
        return np.lexsort((one.numbers, -score, -risk))[:count]

    def as_dict(self) -> dict[str, Any]:
        """Plain data for JSON, without anything about single records."""
        data = {name: getattr(self, name) for name in self.__dataclass_fields__ if name != "by_record"}
        data["figures"] = {name: asdict(figure) for name, figure in self.figures.items()}
        data["contributions"] = [asdict(one) for one in self.contributions]
        data["discovered"] = None if self.discovered is None else [asdict(one) for one in self.discovered]
        data["suda"] = None if self.suda is None else asdict(self.suda)
        return data
