"""What an algorithm hands over: frozen data that says how to generalise, and nothing about how it was found."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np
import polars as pl

from shoal.data.classes import Cells, RowIds, class_numbers
from shoal.recoding.kinds import BUCKETISED, GENERALISED, MICROAGGREGATED, PERTURBED, PSEUDONYMISED, RANDOMISED, Kind
from shoal.recoding.rewriting import Redrawing


@dataclass(frozen=True, kw_only=True)
class Recoding:
    """What every recoding says.

    Attributes
    ----------
    kind
        Kind of the release that it makes.
    notes
        What the algorithm says about its own work, for the evidence.
    secrets
        What undoes it. It goes to a vault, never into a release.
    counterfeits
        Records that the algorithm made up, None for none.
    """

    kind: Kind = field(default=GENERALISED, repr=False, compare=False)
    notes: Mapping[str, Any] = field(default_factory=dict, compare=False)
    secrets: Sequence[Any] = field(default=(), repr=False, compare=False)
    counterfeits: Counterfeits | None = field(default=None, repr=False, compare=False)

    @property
    def lifted(self) -> Mapping[str, np.ndarray]:
        """Sensitive columns released as nodes above their values: column to node ids, one a row."""
        return {}

    @property
    def public(self) -> Mapping[str, Any]:
        """What readers need to know about it to check the release, for the manifest."""
        return {}

    @property
    def of_columns(self) -> Mapping[str, Mapping[str, Any]]:
        """The same of single columns, by their names."""
        return {}

    @property
    def left_open(self) -> Sequence[str]:
        """Sentences on what it does not protect, beside those of its kind."""
        return ()


@dataclass(frozen=True, eq=False, kw_only=True)
class Grouping(Recoding):
    """Records in groups; each group is generalised to the extent of its members.

    Attributes
    ----------
    ids
        int32 group of each row, -1 for a suppressed one; other integers are converted.
    groups
        Number of groups.
    """

    ids: np.ndarray
    groups: int

    def __post_init__(self) -> None:
        object.__setattr__(self, "ids", class_numbers(self.ids))

    @property
    def classmap(self) -> RowIds:
        """Which group a row is in."""
        return RowIds(self.ids, self.groups)


@dataclass(frozen=True, eq=False, kw_only=True)
class Starred(Grouping):
    """Records in groups whose values are published as they are or as ``*``, cell by cell (local suppression).

    Attributes
    ----------
    stars
        Quasi-identifier to the groups, as flags, in which it is suppressed; elsewhere its members agree.
    levels
        Level at which each column is published where it is not suppressed.
    """

    stars: Mapping[str, np.ndarray]
    levels: Mapping[str, int] = field(default_factory=dict)


@dataclass(frozen=True, eq=False, kw_only=True)
class CellGrouping(Recoding):
    """Cells of the frequency table in groups, so that equal rows are together; as `Grouping` otherwise.

    Attributes
    ----------
    ids
        int32 group of each cell, -1 for a suppressed one; other integers are converted.
    groups
        Number of groups.
    """

    ids: np.ndarray
    groups: int

    def __post_init__(self) -> None:
        object.__setattr__(self, "ids", class_numbers(self.ids))

    @property
    def classmap(self) -> Cells:
        """Which group a cell is in."""
        return Cells(self.ids, self.groups)


@dataclass(frozen=True, eq=False, kw_only=True)
class Counterfeits:
    """Records that a method made up, so that classes keep values whose people left.

    Attributes
    ----------
    ids
        int32 group of each.
    column, texts
        The sensitive column, and the value of each in it.
    """

    ids: np.ndarray
    column: str
    texts: pl.Series


@dataclass(frozen=True, kw_only=True)
class FullDomain(Recoding):
    """One level a column, the same for every record.

    Attributes
    ----------
    levels
        Column to level; 0 leaves values as they are. Columns without a hierarchy have levels 0 and 1 (``*``).
    """

    levels: Mapping[str, int]


@dataclass(frozen=True, eq=False, kw_only=True)
class Subtree(Recoding):
    """One node a value of every column, and the same node for all values below it (full-subtree recoding).

    Attributes
    ----------
    nodes
        Column to int64 node ids of its hierarchy, one a leaf code. Without a hierarchy: the codes themselves, or for
        all of them the number beyond, which is everything.
    sensitive
        Sensitive columns released as nodes: column to int64 node ids of its hierarchy, one a row.
    """

    nodes: Mapping[str, np.ndarray]
    sensitive: Mapping[str, np.ndarray] = field(default_factory=dict)

    @property
    def lifted(self) -> Mapping[str, np.ndarray]:
        """Sensitive columns released as nodes."""
        return self.sensitive


@dataclass(frozen=True, eq=False, kw_only=True)
class Blocks(Recoding):
    """One block a value of every column, the same for every record (set-partitioning recoding).

    Attributes
    ----------
    blocks
        Column to int32 block numbers, one a code: runs of ordered columns, nodes of hierarchies, any sets of flat ones.
    """

    blocks: Mapping[str, np.ndarray]


@dataclass(frozen=True, eq=False, kw_only=True)
class Redrawn(Recoding):
    """Quasi-identifiers redrawn at random, record by record.

    Attributes
    ----------
    quasi
        Quasi-identifier to int32 codes of its own dictionary, one a row; empty where rows come in batches.
    redrawing
        Who draws them.
    chances
        Quasi-identifier to the probability that it is the first one redrawn.
    redraw
        How many are redrawn in every record.
    """

    kind: Kind = field(default=RANDOMISED, repr=False, compare=False)
    quasi: Mapping[str, np.ndarray]
    redrawing: Redrawing
    chances: Mapping[str, float]
    redraw: int

    @property
    def public(self) -> Mapping[str, Any]:
        """How many are redrawn."""
        return {"redraw": self.redraw}

    @property
    def of_columns(self) -> Mapping[str, Mapping[str, Any]]:
        """How likely each is to be redrawn, which whoever counts on the release has to know."""
        return {name: {"p": chance} for name, chance in self.chances.items()}


@dataclass(frozen=True, eq=False, kw_only=True)
class Coded(Recoding):
    """Codes in the place of values; quasi-identifiers stay as they are, unless they are coded.

    Attributes
    ----------
    columns
        Column to what is published instead of its values, one entry a code of its dictionary.
    coded
        Column to the name of its coding (:mod:`shoal.recoding.kinds`).
    """

    kind: Kind = field(default=PSEUDONYMISED, repr=False, compare=False)
    columns: Mapping[str, pl.Series]
    coded: Mapping[str, str]


@dataclass(frozen=True, eq=False, kw_only=True)
class Averaged(Recoding):
    """Means, medians or modes of groups in the place of quasi-identifiers.

    Attributes
    ----------
    ids
        int32 group of each row, -1 for a suppressed one.
    columns
        Quasi-identifier to what is published instead of its values, one entry a group.
    """

    kind: Kind = field(default=MICROAGGREGATED, repr=False, compare=False)
    ids: np.ndarray
    columns: Mapping[str, pl.Series]


@dataclass(frozen=True, eq=False, kw_only=True)
class Perturbed(Recoding):
    """Quasi-identifiers that are not their records' own: swapped between them, or made up anew.

    Attributes
    ----------
    columns
        Quasi-identifier to what is published instead of its values, one entry a row.
    places, true
        Quasi-identifier to where that lies, and where the record's own value does, float64, one entry a row: numbers or
        days, codes of other columns.
    perturbation
        ``"swapped"``, ``"shuffled"``: every column has the values that it had. ``"condensed"``: records are made up
        from moments.
        ``"pram"`` and ``"invariant-pram"``: categories are redrawn by a matrix, under which in the latter case each is
        expected as often as before. ``"noise"``: numbers have noise added.
    told
        Quasi-identifier to what readers need to know about it, for the manifest.
    """

    kind: Kind = field(default=PERTURBED, repr=False, compare=False)
    columns: Mapping[str, pl.Series]
    places: Mapping[str, np.ndarray]
    true: Mapping[str, np.ndarray]
    perturbation: str
    told: Mapping[str, Mapping[str, Any]] = field(default_factory=dict)

    @property
    def of_columns(self) -> Mapping[str, Mapping[str, Any]]:
        """How likely values are kept, or how much noise there is."""
        return self.told

    @property
    def public(self) -> Mapping[str, Any]:
        """How records were perturbed."""
        return {"perturbation": self.perturbation}


@dataclass(frozen=True, eq=False, kw_only=True)
class Bucketed(Recoding):
    """Records in groups whose quasi-identifiers stay exact and whose sensitive values are separated from them.

    Attributes
    ----------
    ids
        int32 group of each row, -1 for a suppressed one.
    groups
        Number of groups.
    publication
        ``"tables"``: quasi-identifiers with group numbers, and sensitive values with group numbers;
        ``"permuted"``: one table, sensitive values shuffled within each group.
    leftovers
        What became of records that fit in no group: ``"suppress"`` or ``"join"``; None where all had to fit.
    """

    kind: Kind = field(default=BUCKETISED, repr=False, compare=False)
    ids: np.ndarray
    groups: int
    publication: str = "tables"
    leftovers: str | None = None

    @property
    def public(self) -> Mapping[str, Any]:
        """How the two sides are published, and the rule for leftovers where there is one."""
        rule = {} if self.leftovers is None else {"leftovers": self.leftovers}
        return {"publication": self.publication, **rule}

    @property
    def left_open(self) -> Sequence[str]:
        """That being left out tells something, where it does."""
        if self.leftovers != "suppress":
            return ()
        return (
            "Who was left out: whoever is known to be in the source and not in the release has one of the commonest "
            "values.",
        )
