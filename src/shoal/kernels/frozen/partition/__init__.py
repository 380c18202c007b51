"""Cutting sets of rows in two."""
