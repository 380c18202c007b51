"""Nodes of generalisation lattices."""
