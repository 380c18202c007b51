"""Sensitive attributes of rows, for kernels that judge groups while they grow or cut them."""

from __future__ import annotations

from collections import namedtuple

# codes: (attributes, rows) int32; people: uint8, 1 where an attribute is counted by subjects; subjects: int32 a row,
# empty when rows are people.
Sensitive = namedtuple("Sensitive", "codes people subjects n_subjects")
