"""Histograms of the cells of a frequency table, for kernels that judge groups of cells."""

from __future__ import annotations

from collections import namedtuple

# codes, counts: the cells' histograms, an attribute after another; at: (attributes, cells + 1) int64, where those of
# each cell begin; rows: int64 of each cell.
Tallies = namedtuple("Tallies", "codes counts at rows")
