"""Kinds of closeness of two values, as sensitive ranges use them (native/judge/ranges.hpp)."""

from __future__ import annotations

# How close two values are: by their distance, by the leaves under their common ancestor, or equal or not.
POSITIONS, LEAVES, EQUAL = range(3)
