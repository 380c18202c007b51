"""Whether errors may name values: not in a process whose messages are kept where no cell may be."""

from __future__ import annotations

_silent = False


def name_no_values() -> None:
    """Let no error of this process name a value from now on: it is written down where no cell may be."""
    global _silent
    _silent = True


def names_values() -> bool:
    """Whether errors may name values of quasi-identifiers."""
    return not _silent
