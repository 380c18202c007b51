"""Guidance of K-Members and K-Members-p: which columns decide, which break ties, and how close sensitive values are."""

from __future__ import annotations

from collections import namedtuple

# A column's part: its loss decides; its loss breaks ties; its spread counts in favour; its range diversity decides.
COST, TIE, SPREAD, PAIRS = range(4)

# role: int64, one a column. By code, from at (int64, columns + 1): known (uint8, 0: no value), and int64 the policy's
# place, low and high end of its range.
Guide = namedtuple("Guide", "role known axis low high at")
