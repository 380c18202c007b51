"""Sensitive attributes of rows, for kernels that judge groups while they grow or cut them."""

from __future__ import annotations

from collections import namedtuple

# codes: int32 (attributes, rows); people: uint8 (attributes), 1 where an attribute is counted by subjects; subjects:
# int32 (rows), or empty when rows are people; n_subjects: how many there are.
Sensitive = namedtuple("Sensitive", "codes people subjects n_subjects")
