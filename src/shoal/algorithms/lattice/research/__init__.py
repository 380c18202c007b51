"""Full-domain searches for the largest research value (Morton et al.; algorithms.md 15)."""
