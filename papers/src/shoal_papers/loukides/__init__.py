"""Loukides: trade-offs (TOC) and guarantees (UPC)."""
