"""Compiled loops: arrays in, arrays out. Nothing here knows a column's name or a record's value."""
