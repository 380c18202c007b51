"""Counting rows, groups, sets of items and answers of queries."""
