"""Questions to the trusted side, what they cost, and what was answered."""
