"""Poovammal & Ponnavaikko: graded grouping and mapping tables."""
