"""Set-partitioning recodings: every column's values in blocks, the same for every record."""
