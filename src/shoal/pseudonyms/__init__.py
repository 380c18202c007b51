"""Codes in the place of values, and the secrets that turn them back: tokens, shifted dates, grades, mappings."""
