"""Kinds of release: one frozen object a kind, with all that the other rooms ask about it."""
