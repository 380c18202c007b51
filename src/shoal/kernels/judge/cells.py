"""Histograms of the cells of a frequency table, for kernels that judge groups of cells."""

from __future__ import annotations

from collections import namedtuple

# codes, counts: int32 and int64, the cells' histograms, an attribute after another; at: int64 (attributes, cells + 1),
# where those of each cell begin; rows: int64 (cells), rows of each cell.
Tallies = namedtuple("Tallies", "codes counts at rows")
