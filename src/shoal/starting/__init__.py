"""From a raw file to a first recipe: how it is written, what its columns hold, and what could be done about it."""
