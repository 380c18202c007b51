"""Growing, merging and mending groups of near records."""
