"""Data that polish looks at while it puts records in other groups (native/cluster/relocate.hpp)."""

from __future__ import annotations

from collections import namedtuple

from shoal.kernels.judge.rules import Rules
from shoal.kernels.judge.segments import Sensitive
from shoal.kernels.price.cells import Prices

# codes: (columns, n) int32, below 0 for unknown sensitive values; near: (n, c) int32 neighbours, -1 at the end; order:
# int32, the input row of each record; zone: int32, of each group; uint8 flags of records, quiet: it had nothing to
# gain; calm: vain regroupings; touched: its group has changed.
Scene = namedtuple("Scene", "codes near order zone quiet calm touched")
# k: fewest records of a group; widest: largest mean price of a column (infinity: any);
# largest: groups of more records are left alone; pool, tries: records of a regrouping, and how often it is tried.
Limits = namedtuple("Limits", "k widest largest pool tries")
# The rules, what they look at, and prices in which all columns weigh the same, for the limit on their mean. None where
# the number of records decides alone.
Judged = tuple[Rules, Sensitive, Prices] | None
