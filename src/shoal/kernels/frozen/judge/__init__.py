"""Conditions that models ask of a group."""
