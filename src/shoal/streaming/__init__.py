"""Releases of sources that need not fit into memory."""
