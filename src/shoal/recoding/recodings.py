"""What an algorithm hands over: frozen data that says how to generalise, and nothing about how it was found."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

import numpy as np


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
    """

    ids: np.ndarray
    groups: int
    notes: Mapping[str, Any] = field(default_factory=dict)


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
    notes
        What the algorithm says about its own work, for the evidence.
    """

    nodes: Mapping[str, np.ndarray]
    notes: Mapping[str, Any] = field(default_factory=dict)


Recoding = Grouping | FullDomain | Subtree
