"""Sweeping algorithms and parameters over one table: what each release would keep, hide and give away."""
