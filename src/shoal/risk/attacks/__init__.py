"""Attacks on releases: what somebody with other data finds out."""
