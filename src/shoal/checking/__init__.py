"""A recipe held against its source before anything runs: everything that a run would refuse, and what it would take."""
