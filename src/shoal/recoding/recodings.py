"""What an algorithm hands over: frozen data that says how to generalise, and nothing about how it was found."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np
import polars as pl


@dataclass(frozen=True, eq=False, kw_only=True)
class Grouping:
    """Records in groups; each group is generalised to the extent of its members.

    Attributes
    ----------
    ids
        int32 group of each row, -1 for a suppressed one.
    groups
        Number of groups.
    notes
        What the algorithm says about its own work, for the evidence.
    counterfeits
        Records that the algorithm made up, None for none.
    """

    ids: np.ndarray
    groups: int
    notes: Mapping[str, Any] = field(default_factory=dict)
    counterfeits: Counterfeits | None = None


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
class FullDomain:
    """One level a column, the same for every record.

    Attributes
    ----------
    levels
        Column to level; 0 leaves values as they are. Columns without a hierarchy have levels 0 and 1 (``*``).
    notes
        What the algorithm says about its own work, for the evidence.
    """

    levels: Mapping[str, int]
    notes: Mapping[str, Any] = field(default_factory=dict, compare=False)


@dataclass(frozen=True, eq=False, kw_only=True)
class Subtree:
    """One node a value of every column, and the same node for all values below it (full-subtree recoding).

    Attributes
    ----------
    nodes
        Column to int64 node ids of its hierarchy, one a leaf code.
    sensitive
        Sensitive columns released as nodes: column to int64 node ids of its hierarchy, one a row.
    notes
        What the algorithm says about its own work, for the evidence.
    """

    nodes: Mapping[str, np.ndarray]
    sensitive: Mapping[str, np.ndarray] = field(default_factory=dict)
    notes: Mapping[str, Any] = field(default_factory=dict)


@dataclass(frozen=True, eq=False, kw_only=True)
class Rewritten:
    """Values replaced record by record; nothing is generalised.

    Attributes
    ----------
    kind
        ``"randomised"``, ``"pseudonymised"`` or ``"microaggregated"``.
    quasi
        Randomised quasi-identifiers: column to int32 codes of its own dictionary, one a row.
    columns
        Column to what is published instead of its values, one entry a row.
    ids
        Microaggregated: int32 group of each row, -1 for a suppressed one; else None.
    secrets
        What undoes the rewriting. It goes to a vault, never into a release.
    notes
        What the algorithm says about its own work, for the evidence.
    """

    kind: str
    quasi: Mapping[str, np.ndarray] = field(default_factory=dict)
    columns: Mapping[str, pl.Series] = field(default_factory=dict)
    ids: np.ndarray | None = None
    secrets: Sequence[Any] = ()
    notes: Mapping[str, Any] = field(default_factory=dict)


@dataclass(frozen=True, eq=False, kw_only=True)
class Bucketed:
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
    notes
        What the algorithm says about its own work, for the evidence.
    """

    ids: np.ndarray
    groups: int
    publication: str = "tables"
    notes: Mapping[str, Any] = field(default_factory=dict)


Recoding = Grouping | FullDomain | Subtree | Rewritten | Bucketed
